//! Figure 9 of JoMA: G(y), critical points, and the dynamics near one. Settings: `joma_critical.toml`
//! beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("joma_critical")
}
