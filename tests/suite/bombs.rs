//! Small inputs that ask for a great deal: each is refused in under a second and 100 MB, or does its work.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The most that a refusal may take; undefended, these inputs take seconds to hours, and gigabytes.
const TIME: Duration = Duration::from_secs(1);
const MEMORY: u64 = 100_000_000;

/// Exit status and standard error of a process, its time, and the most memory (bytes) that the system saw it hold.
struct Seen {
    code: Option<i32>,
    error: String,
    time: Duration,
    memory: u64,
}

fn run(arguments: &[&str]) -> Seen {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attnlab"));
    command.args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut bytes = vec![];
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        memory = memory.max(most_held(&status));
        std::thread::sleep(Duration::from_millis(2));
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
    };
    let time = begun.elapsed();
    let error = String::from_utf8_lossy(&said.join().unwrap()).into_owned();
    Seen { code, error, time, memory }
}

/// The most memory (bytes) that a process has held, 0 where the system does not say.
fn most_held(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Asserts a refusal with exit status 2 that contains these words, within time and memory. A machine that is busy
/// with something else gets three tries for the time.
fn defused(arguments: &[&str], words: &str) {
    let mut seen = run(arguments);
    for _ in 0..2 {
        if seen.time > TIME {
            seen = run(arguments);
        }
    }
    let error = &seen.error;
    let short: Vec<&str> = arguments.iter().map(|a| &a[..a.len().min(60)]).collect();
    assert_eq!(seen.code, Some(2), "{short:?}: {error}");
    assert!(error.contains(words), "{short:?}: {error}");
    assert!(error.len() < 3000, "{short:?}: a message of {} bytes", error.len());
    assert!(seen.time < TIME, "{short:?}: {:?}", seen.time);
    assert!(seen.memory < MEMORY, "{short:?}: {} bytes", seen.memory);
}

/// A NumPy file of version 1.0 with this header and no data.
fn numpy(path: &Path, header: &str) {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn arrays_that_announce_more_than_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let z = folder.path().join("z.npy");
    let out = folder.path().join("out").display().to_string();
    let name = z.display().to_string();
    let nested = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': {}4{}, }}\n",
        "(".repeat(30_000),
        ")".repeat(30_000)
    );
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (16384, 32768), }\n";
    let overflowing = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n";
    for (header, words) in [(nested.as_str(), "z.npy"), (huge, "z.npy"), (overflowing, "z.npy")] {
        numpy(&z, header);
        for arguments in [
            &["unroll", "--tokens", &name, "--bases", &name, "--labels", &name][..],
            &["inspect", "--activations", &name, "--tokens-are", "columns", "--out", &out],
        ] {
            defused(arguments, words);
        }
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn sweep_files_that_ask_for_depth_or_length() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.toml").display().to_string();
    let out = folder.path().join("out").display().to_string();
    let terms = format!("delta = \"0.1{}\"", " + 1".repeat(100_000));
    let brackets = format!("delta = \"{}1{}\"", "(".repeat(100_000), ")".repeat(100_000));
    let signs = format!("delta = \"{}1\"", "-".repeat(100_000));
    let powers = format!("delta = \"2{}\"", "^2".repeat(100_000));
    let lists = format!("tokens = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let chain: String =
        (0..30_000).map(|i| format!("a{i} = \"a{} + 1\"\n", i + 1)).chain(["a30000 = [1]\n".to_string()]).collect();
    let cells = "tokens = { from = 10, to = 1e9, steps = 100000 }\ndim = { from = 1, to = 1e9, steps = 100000 }";
    let steps = "delta = { from = 0, to = 1, steps = 18446744073709551615 }";
    for axes in [&terms, &brackets, &signs, &powers, &lists, &chain, cells, steps] {
        let text = format!("claim = 'aot.theorem1_bounded'\n[axes]\n{axes}\n");
        fs::write(&map, text).unwrap();
        defused(&["sweep", &map, "--out", &out], "map.toml");
        assert!(!Path::new(&out).exists());
    }
}

/// Runs a small sweep; its file and its folder.
fn finished(folder: &Path) -> (String, PathBuf) {
    let map = folder.join("map.toml").display().to_string();
    let out = folder.join("out");
    let text = "claim = 'aot.theorem1_bounded'\ntrials = 2\n[axes]\ntokens = [40]\n";
    fs::write(&map, text).unwrap();
    let done = run(&["sweep", &map, "--out", &out.display().to_string()]);
    assert_eq!(done.code, Some(0), "{}", done.error);
    (map, out)
}

#[test]
fn rows_and_manifests_of_great_depth() {
    let folder = tempfile::tempdir().unwrap();
    let (map, out) = finished(folder.path());
    let name = out.display().to_string();
    let deep = format!("{}{}\n", "[".repeat(1 << 20), "]".repeat(1 << 20));
    for file in ["rows.jsonl", "run.json"] {
        let kept = fs::read(out.join(file)).unwrap();
        fs::write(out.join(file), &deep).unwrap();
        for arguments in [
            &["export", &name][..],
            &["report", &name, "--out", &format!("{name}/report.html")],
            &["merge", &name, "--out", &format!("{name}-merged")],
            &["sweep", &map, "--out", &name],
        ] {
            defused(arguments, file);
        }
        fs::write(out.join(file), kept).unwrap();
    }
}

#[test]
fn settings_that_need_more_than_there_is() {
    for (claim, setting, words) in [
        // 32 TB of products.
        ("denoise.convex", "n=2000000", "n = 2000000"),
        ("aot.theorem1", "tokens=1000000000", "memory"),
        ("joma.theorem1_exp", "step=1e-300", "step"),
    ] {
        defused(&["check", claim, "--set", setting], words);
    }
}

/// A closed form far outside its usual range has a value or says where its domain ends.
#[test]
fn closed_forms_at_extreme_arguments() {
    for arguments in [
        &["joma.f", "--set", "mu=1e300", "--set", "r=0.5"][..],
        &["joma.f", "--set", "mu=1e9", "--set", "r=0.5"],
        &["aot.horizon_theta", "--set", "delta=3"],
    ] {
        let arguments: Vec<&str> = ["eval"].iter().chain(arguments).copied().collect();
        let seen = run(&arguments);
        assert!(matches!(seen.code, Some(0 | 2)), "{arguments:?}");
        assert!(seen.time < 5 * TIME, "{arguments:?}: {:?}", seen.time);
        assert!(seen.memory < MEMORY, "{arguments:?}: {}", seen.memory);
    }
}

/// A trial of minutes: the limit of time ends the command and names the settings.
#[test]
fn a_long_trial_ends_with_its_settings_named() {
    let arguments = [
        "check",
        "aot.theorem1",
        "--set",
        "tokens=40000",
        "--set",
        "dim=1500",
        "--beyond-hypotheses",
        "--time-limit",
        "1",
    ];
    let seen = run(&arguments);
    assert_eq!(seen.code, Some(3), "{}", seen.error);
    assert!(seen.error.contains("tokens = 40000"), "{}", seen.error);
    assert!(seen.time < Duration::from_secs(10), "{:?}", seen.time);
}

/// Equal steps end at their last value whatever rounding does on the way.
#[test]
fn a_thousand_whole_steps_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.toml").display().to_string();
    let out = folder.path().join("out").display().to_string();
    let text = "claim = 'aot.mssa_is_mhsa'\ntrials = 1\n[axes]\n\
                tokens = { from = 1, to = 1000, steps = 1000 }\n[set]\ndim = 2\nclusters = 1\n";
    fs::write(&map, text).unwrap();
    let seen = run(&["sweep", &map, "--out", &out]);
    let error = &seen.error;
    assert!(matches!(seen.code, Some(0 | 1)), "{error}");
    let rows = fs::read_to_string(Path::new(&out).join("rows.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 1000);
    assert!(rows.contains("\"tokens\":1000"));
}

/// `--force` replaces tables, never the rows that they come from.
#[test]
fn rows_are_never_replaced_by_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let (_, out) = finished(folder.path());
    let name = out.display().to_string();
    let rows = fs::read(out.join("rows.jsonl")).unwrap();
    let target = out.join("rows.jsonl").display().to_string();
    let seen = run(&["export", &name, "--force", "--out", &target]);
    assert_eq!(seen.code, Some(2));
    assert!(rows == fs::read(out.join("rows.jsonl")).unwrap());
}

/// Everything that is printed reaches its reader, or the command says that it did not.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_every_verb() {
    for arguments in [
        &["--help"][..],
        &["list"],
        &["check", "--help"],
        &["show", "aot.theorem1"],
        &["eval", "aot.min_tokens"],
        &["glossary"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_attnlab"));
        let status = command.args(arguments).stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

/// Limits of the system on memory and threads are errors that say what to change, or leave enough.
#[cfg(target_os = "linux")]
#[test]
fn limits_of_the_system_are_met() {
    let program = env!("CARGO_BIN_EXE_attnlab");
    for kib in [100_000, 200_000, 400_000, 800_000, 1_600_000] {
        let script = format!("ulimit -v {kib}; exec '{program}' check aot.mssa_is_mhsa");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(2) => assert!(error.contains("memory") || error.contains("threads"), "{error}"),
            other => panic!("{kib} KiB: {other:?}: {error}"),
        }
    }
    // The limit on processes does not bind root, and to be somebody else takes a tool that may be missing.
    let script = format!(
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=1 '{program}' check \
         aot.mssa_is_mhsa"
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("panicked"), "{error}");
    if output.status.code() == Some(2) {
        assert!(error.contains("threads"), "{error}");
    } else {
        println!("the limit on processes was not tried: {error}");
    }
}
