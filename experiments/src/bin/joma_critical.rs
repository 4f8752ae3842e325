//! Figure 9 of JoMA: G(y), critical points, and the dynamics near one.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("joma_critical")
}
