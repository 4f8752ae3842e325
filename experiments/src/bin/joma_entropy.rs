//! Figure 4 of JoMA: salient components first, attention drops and rebounds.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("joma_entropy")
}
