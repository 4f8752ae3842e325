//! Tests of operators, samplers, dynamics and chains.

mod fit;
mod fit_level;
mod flow;
mod markov;
mod memory;
mod particles;
mod power;
mod sampling;
mod sparsemax;
mod streaming;
mod training;

/// Does some work on a pool of so many threads.
fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
