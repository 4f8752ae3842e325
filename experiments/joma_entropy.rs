//! Figure 4 of JoMA: salient components first, attention drops and rebounds. Settings:
//! `joma_entropy.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("joma_entropy")
}
