//! Figure 9 of JoMA: G(y), critical points, and the dynamics near one.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "joma_critical")
}
