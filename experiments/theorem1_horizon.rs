//! To which depth AoT Theorem 1 holds, over noise and size. Settings: `theorem1_horizon.toml` beside
//! this file. With `--tokens N` instead: the exact horizon of one draw of that size, every column,
//! as `attnlab horizon` finds it (`--help` after `--tokens N` shows what it takes).

fn main() -> std::process::ExitCode {
    let of_one_draw =
        |a: &std::ffi::OsString| a == "--tokens" || a.to_string_lossy().starts_with("--tokens=");
    if std::env::args_os().any(|a| of_one_draw(&a)) {
        return attnlab::cli::horizon_main();
    }
    attnlab::cli::experiment_main("theorem1_horizon")
}
