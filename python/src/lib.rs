//! Python module `attnlab._attnlab`: what the package `attnlab` is made of. Its functions take every argument; names,
//! defaults and documentation are in `python/attnlab`.

mod arrays;
mod background;
mod checks;
mod claims;
mod convert;
mod inspection;
mod registry;
mod runs;
mod stream;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule]
fn _attnlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    attnlab::state_build();
    background::loaded_by();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("build", attnlab::build::here().to_string())?;
    module.add_class::<checks::Checked>()?;
    module.add_class::<stream::Stream>()?;
    module.add_function(wrap_pyfunction!(arrays::unroll, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::horizon_of_draw, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::horizon_of_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::sample, module)?)?;
    module.add_function(wrap_pyfunction!(inspection::inspect_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(background::end, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_claim, module)?)?;
    module.add_function(wrap_pyfunction!(checks::judge_on_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(checks::run_trial, module)?)?;
    module.add_function(wrap_pyfunction!(checks::verdict_of_rows, module)?)?;
    module.add_function(wrap_pyfunction!(checks::write_report, module)?)?;
    module.add_function(wrap_pyfunction!(registry::register, module)?)?;
    module.add_function(wrap_pyfunction!(registry::forget, module)?)?;
    module.add_function(wrap_pyfunction!(registry::list, module)?)?;
    module.add_function(wrap_pyfunction!(registry::show, module)?)?;
    module.add_function(wrap_pyfunction!(registry::glossary, module)?)?;
    module.add_function(wrap_pyfunction!(registry::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(registry::cell, module)?)?;
    module.add_function(wrap_pyfunction!(registry::command, module)?)?;
    module.add_function(wrap_pyfunction!(registry::echo, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(runs::size_of_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(runs::merge, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(runs::evaluate_network, module)?)?;
    module.add_function(wrap_pyfunction!(runs::read_rows, module)?)?;
    module.add_function(wrap_pyfunction!(runs::read_cells, module)?)?;
    module.add_function(wrap_pyfunction!(runs::read_run, module)?)?;
    module.add_function(wrap_pyfunction!(runs::figures_of, module)?)?;
    module.add_function(wrap_pyfunction!(runs::sweep_schema, module)?)?;
    Ok(())
}
