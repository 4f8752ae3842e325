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

/// Adds functions of this crate to a Python module, by their Rust modules.
macro_rules! add_functions {
    ($to:ident, $($module:ident: $($function:ident)*;)*) => {
        $($($to.add_function(wrap_pyfunction!($module::$function, $to)?)?;)*)*
    };
}

/// The compiled part of the package.
#[pymodule]
fn _attnlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    attnlab::state_build();
    background::loaded_by();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("build", attnlab::build::here().to_string())?;
    module.add_class::<checks::Checked>()?;
    module.add_class::<stream::Stream>()?;
    add_functions! { module,
        arrays: unroll horizon_of_draw horizon_of_tokens sample;
        inspection: inspect_tokens;
        background: end;
        checks: check_claim judge_on_arrays run_trial verdict_of_rows write_report;
        registry: register forget list show glossary evaluate cell command echo;
        runs: run_sweep size_of_sweep merge run_experiment evaluate_network read_rows read_cells read_run figures_of
            sweep_schema;
    }
    Ok(())
}
