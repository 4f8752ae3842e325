//! The depth to which AoT Theorem 1 holds, over noise and size. With `--tokens N` instead: the exact
//! horizon of one draw of that size, every column, as `attnlab horizon` finds it.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let catalogue = attnlab::catalogue();
    let of_one_draw = |a: &OsString| a == "--tokens" || a.to_string_lossy().starts_with("--tokens=");
    if std::env::args_os().any(|a| of_one_draw(&a)) {
        let command: [OsString; 2] = ["attnlab".into(), "horizon".into()];
        let rest = std::env::args_os().skip(1);
        return ExitCode::from(attnlab::cli::run(&catalogue, command.into_iter().chain(rest)));
    }
    attnlab::experiment_main("theorem1_horizon")
}
