//! `attnlab doctor`: properties of this machine and this build.

use attnlab_core::error::Result;
use attnlab_core::format::{number, table};
use attnlab_core::linalg::{Real, Threads, gemm};
use attnlab_core::stats::MAX_TRIALS;
use attnlab_gpu::backend;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::run::memory;
use ndarray::{Array2, ShapeBuilder};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  attnlab doctor
  attnlab doctor --threads 1 --json";

/// Show version, threads, vector units, linear algebra, GPUs, memory, disk and speed
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    /// Flag: the build is optimised; timings of a debug build mean little.
    optimised: bool,
    threads: usize,
    threads_available: usize,
    vector_units: Vec<&'static str>,
    linear_algebra: &'static str,
    gpu: backend::GpuReport,
    memory_available: Option<u64>,
    current_folder: Folder,
    temporary_folder: Folder,
    /// None where the memory is too small for products.
    product_rate: Option<Rate>,
    /// Largest number of trials with exact binomial intervals.
    exact_intervals_up_to: u64,
}

#[derive(Serialize)]
struct Folder {
    path: PathBuf,
    writable: bool,
}

/// Billions of floating-point operations per second in a product of two square matrices.
#[derive(Serialize)]
struct Rate {
    size: usize,
    f64_gflops: f64,
    f32_gflops: f64,
}

pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let report = examine();
    if args.json {
        out.json(&report)?;
    } else {
        lines(&report).iter().try_for_each(|l| out.line(l))?;
    }
    Ok(Status::Expected)
}

fn examine() -> Report {
    // Large enough for the full speed of the blocked kernel, small enough for one second in all.
    let size = 768;
    let room = memory::ensure("a product", 2 * 8 * (size * size) as u64);
    let rate = || Rate { size, f64_gflops: gflops::<f64>(size), f32_gflops: gflops::<f32>(size) };
    let product_rate = room.is_ok().then(rate);
    Report {
        version: env!("CARGO_PKG_VERSION"),
        optimised: !cfg!(debug_assertions),
        threads: rayon::current_num_threads(),
        threads_available: std::thread::available_parallelism().map_or(1, usize::from),
        vector_units: vector_units(),
        linear_algebra: if cfg!(feature = "lapack") { "BLAS/LAPACK (feature lapack)" } else { "faer (pure Rust)" },
        gpu: backend::report(),
        memory_available: memory::available(),
        current_folder: folder(Path::new(".")),
        temporary_folder: folder(&std::env::temp_dir()),
        product_rate,
        exact_intervals_up_to: MAX_TRIALS,
    }
}

#[cfg(target_arch = "x86_64")]
fn vector_units() -> Vec<&'static str> {
    let units = [
        ("sse2", is_x86_feature_detected!("sse2")),
        ("avx", is_x86_feature_detected!("avx")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ];
    units.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn vector_units() -> Vec<&'static str> {
    // NEON is a part of 64-bit ARM; other architectures are not examined.
    if cfg!(target_arch = "aarch64") { vec!["neon"] } else { vec![] }
}

/// Tests whether a folder is writable by making a file in it.
fn folder(path: &Path) -> Folder {
    let probe = path.join(format!(".attnlab-doctor-{}", std::process::id()));
    let writable = std::fs::write(&probe, b"probe").is_ok();
    // Fails where the file could not be made, so that there is nothing to remove.
    let _ = std::fs::remove_file(&probe);
    Folder { path: path.canonicalize().unwrap_or_else(|_| path.to_path_buf()), writable }
}

/// Measures the best rate (GFLOP/s) of the matrix products that fit into half a second.
fn gflops<T: Real>(size: usize) -> f64 {
    let entry = |(i, j): (usize, usize)| T::of_f64(((i * 31 + j * 17) % 13) as f64 / 13.0 - 0.5);
    let a = Array2::from_shape_fn((size, size).f(), entry);
    let mut c = Array2::zeros((size, size).f());
    let started = Instant::now();
    let mut best = f64::INFINITY;
    while started.elapsed() < Duration::from_millis(500) {
        let begun = Instant::now();
        gemm(T::one(), a.view(), a.view(), false, c.view_mut(), Threads::All);
        best = best.min(begun.elapsed().as_secs_f64());
    }
    2.0 * (size as f64).powi(3) / best / 1e9
}

fn lines(report: &Report) -> Vec<String> {
    let folder = |f: &Folder| {
        let state = if f.writable { "writable" } else { "NOT WRITABLE" };
        format!("{}, {state}", f.path.display())
    };
    let optimised = if report.optimised { "release build" } else { "debug build, use --release for timings" };
    let rate = |rate: &Rate| {
        let [f64_rate, f32_rate] = [rate.f64_gflops, rate.f32_gflops].map(|rate| number(rate.round()));
        format!("{f64_rate} GFLOP/s in f64, {f32_rate} in f32 ({n} x {n})", n = rate.size)
    };
    let rate = report.product_rate.as_ref().map_or("not measured: too little memory is available".into(), rate);
    let mut rows = vec![
        ("version", format!("attnlab {}, {optimised}", report.version)),
        ("threads", format!("{} of {}", report.threads, report.threads_available)),
        ("vector units", report.vector_units.join(", ")),
        ("linear algebra", report.linear_algebra.to_string()),
        ("memory", report.memory_available.map_or("unknown".into(), |b| format!("{} available", memory::size(b)))),
        ("current folder", folder(&report.current_folder)),
        ("temporary folder", folder(&report.temporary_folder)),
        ("matrix products", rate),
        ("exact intervals", format!("up to {} trials", report.exact_intervals_up_to)),
    ];
    rows.splice(4..4, report.gpu.lines.iter().cloned());
    table(&rows.into_iter().map(|(name, text): (&str, String)| vec![name.to_string(), text]).collect::<Vec<_>>())
}
