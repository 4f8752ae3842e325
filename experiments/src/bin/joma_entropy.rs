//! Figure 4 of JoMA: salient components first, attention drops and rebounds.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "joma_entropy")
}
