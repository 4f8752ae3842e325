//! Bombs: small files and single numbers that ask for all memory, or for years. Each is refused with a message that names
//! it, within limits that the system enforces.
//!
//! Images and their archives are in the tests of `crates/images`, since no command of the default build reads them.

use crate::cli_unroll::npy;
use crate::common::{CATALOGUE, names_word, output_of, root, skipped};
use attnlab::params::{Domain, Fallback, Params, Schema};
use attnlab::run::memory;
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;
use std::sync::LazyLock;

/// Limits of a refusal, as a shell sets them. 30 MB of data beside what a thread reserves: heap, stacks of threads and all
/// else that is private and writable, but neither the executable nor the address space that the allocator reserves for
/// every thread. 60 s of processor time, far more than a refusal takes on any machine: a limit against a hang, which other
/// programs do not use up.
static REFUSAL: LazyLock<String> =
    LazyLock::new(|| format!("ulimit -d {}; ulimit -t 60", 30_000 + memory::thread_bytes() / 1024));

/// Runs a program with these arguments in `folder`, within the limits.
#[track_caller]
fn within(limits: &str, folder: &Path, program: &Path, args: &[&str]) -> Output {
    let mut shell = assert_cmd::Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(program).args(args).current_dir(folder);
    output_of(&mut shell).unwrap()
}

/// Runs `attnlab` with one thread, whose stack is data too.
#[track_caller]
fn attnlab(limits: &str, folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let program = assert_cmd::cargo::cargo_bin("attnlab");
    let output = within(limits, folder, &program, &[args, &["--threads", "1"]].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The command is refused, and its message has every part and is not itself as long as the bomb.
#[track_caller]
fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let (status, error) = attnlab(&REFUSAL, folder, args);
    // Twice the longest expression of a sweep, which a message shows whole.
    const LONGEST: usize = 8000;
    let shown: String = error.chars().take(LONGEST).collect();
    assert!(matches!(status, Some(2 | 3)), "{args:?}: {status:?}: {shown}");
    assert!(parts.iter().all(|part| error.contains(part)), "{args:?}: {parts:?}: {shown}");
    assert!(error.chars().count() <= LONGEST, "{args:?}: {shown}");
}

#[test]
fn headers_of_numpy_files() {
    let folder = tempfile::tempdir().unwrap();
    let version = |version: u8, length: &[u8], header: &str| {
        [&b"\x93NUMPY"[..], &[version, 0], length, header.as_bytes()].concat()
    };
    let short = |header: &str| version(1, &u16::try_from(header.len()).unwrap().to_le_bytes(), header);
    let nested = |depth: usize| format!("{{'descr': {}1{}}}", "[".repeat(depth), "]".repeat(depth));
    for (bytes, part) in [
        (short(&nested(30)), "header = nested"),
        (short(&nested(30_000)), "header = nested"),
        (short(&"{'descr':".repeat(7000)), "header = nested"),
        (version(2, &[0xff; 4], "{"), "header = 4294967295 bytes"),
        (version(3, &(60_u32 << 20).to_le_bytes(), "{"), "header = 62914560 bytes"),
        (npy("<f8", false, "(4, 134217728)", &[0; 64]), "64 bytes of data do not fill the shape (4, 134217728)"),
        (npy("<f8", false, "(4294967296, 4294967296)", &[]), "(4294967296, 4294967296)"),
        (npy("<f8", false, "(4, 99999999999999999999)", &[0; 64]), "must be that of numpy.save"),
        (npy("<f8", false, "(0, 18446744073709551615)", &[]), "has shape (0, 18446744073709551615)"),
        (npy("<f99999999999", false, "(4, 4)", &[0; 128]), "do not fill the shape (4, 4)"),
    ] {
        fs::write(folder.path().join("z.npy"), bytes).unwrap();
        refused(folder.path(), &["unroll", "--tokens", "z.npy", "--bases", "z.npy", "--labels", "z.npy"], &[part]);
    }
}

#[test]
fn files_of_settings() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |axes: &str| format!("claim = \"aot.lemma1\"\ntrials = 1\n{axes}");
    let keys = |line: &str, count: usize| -> String { (0..count).map(|i| line.replace('#', &i.to_string())).collect() };
    let too_long = "at most 1048576 bytes";
    for (text, part) in [
        (sweep(&format!("[axes]\ndim = {}", "[".repeat(100_000))), "recursion depth"),
        (sweep(&format!("[set]\na = {}", "{a=".repeat(50_000))), "recursion depth"),
        (sweep(&format!("{} = 1\n", vec!["a"; 100_000].join("."))), "recursion limit"),
        (sweep(&format!("[set]\n{}", keys("k# = 1\n", 50_000))), "unknown parameter 'k0'"),
        (sweep(&format!("[set]\n{}", keys("k# = 1\n", 500_000))), too_long),
        (sweep(&format!("[axes]\n{}", keys("k# = [1, 2]\n", 50_000))), "unknown parameter 'k0'"),
        (sweep(&format!("[axes]\ndim = [{}]", "1,".repeat(3_000_000))), too_long),
        (sweep(&format!("x = \"\"\"{}", "a".repeat(50_000_000))), too_long),
        (sweep(&"\0".repeat(1_000_000)), "must be valid TOML"),
    ] {
        fs::write(folder.path().join("bomb.toml"), text).unwrap();
        refused(folder.path(), &["sweep", "bomb.toml"], &["bomb.toml", part]);
        refused(folder.path(), &["run", "snr_per_layer", "--config", "bomb.toml"], &[]);
    }
    for (text, part) in [
        ("[".repeat(1_000_000), "recursion limit"),
        ("{\"a\":".repeat(100_000), "recursion limit"),
        (format!("{{\"clusters\": {}}}", "9".repeat(1_000_000)), "number out of range"),
        ("{\"clusters\": 1e999999999}".into(), "number out of range"),
        (format!("{{{}\"a\": 1}}", keys("\"k#\": 1, ", 50_000)), "unknown parameter 'k0'"),
        (format!("{{\"clusters\": [{}1]}}", "1,".repeat(10_000_000)), too_long),
        (format!("{{\"clusters\": \"{}\"}}", "a".repeat(100_000_000)), too_long),
    ] {
        fs::write(folder.path().join("bomb.json"), text).unwrap();
        refused(folder.path(), &["eval", "aot.min_tokens", "--input", "bomb.json"], &[part]);
    }
    refused(folder.path(), &["sweep", "/dev/zero"], &["/dev/zero", too_long]);
    refused(folder.path(), &["eval", "aot.min_tokens", "--input", "/dev/zero"], &["/dev/zero", too_long]);
}

#[test]
fn axes_and_expressions_of_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let chain: String = (0..30_000).map(|i| format!("a{i} = \"a{} + 1\"\n", i + 1)).collect();
    let bytes = "bytes: must be at most 4000 bytes long";
    for (axes, part) in [
        (format!("dim = \"{}1\"", "1 + ".repeat(100_000)), bytes),
        (format!("dim = \"{}1{}\"", "(".repeat(100_000), ")".repeat(100_000)), bytes),
        (format!("dim = \"{}1{}\"", "(".repeat(1900), ")".repeat(1900)), "axes.dim"),
        (format!("dim = \"{}1\"", "-".repeat(3901)), "dim = -1"),
        (format!("dim = \"{}1\"", "2^".repeat(1900)), "axes.dim"),
        (format!("dim = \"max({}1)\"", "1,".repeat(100_000)), bytes),
        (format!("{chain}a30000 = [1]"), "a0"),
        ("dim = { from = 1, to = 1e9, steps = 1000001 }".into(), "axes.dim.steps = 1000001"),
        ("dim = { from = 1, to = 1e9, steps = 1e300 }".into(), "axes.dim.steps = 1e+300"),
        ("delta = { from = 1, to = 2, steps = 1001 }\nt = { from = 1, to = 2, steps = 1000 }".into(), "1000000 cells"),
        ("delta = { from = -1e308, to = 1e308, steps = 5 }".into(), "delta"),
        ("delta = [inf]".into(), "delta"),
        ("dim = [1e300]".into(), "dim"),
    ] {
        let text = format!("claim = \"aot.lemma1\"\ntrials = 1\n[axes]\n{axes}\n");
        fs::write(folder.path().join("bomb.toml"), text).unwrap();
        refused(folder.path(), &["sweep", "bomb.toml"], &["bomb.toml", part]);
    }
    // The values of a range between whole ends are whole.
    let text = "claim = \"aot.lemma1\"\ntrials = 1\n[axes]\ndim = { from = 1, to = 1000, steps = 1000 }\n";
    fs::write(folder.path().join("whole.toml"), text).unwrap();
    let (status, error) = attnlab(&REFUSAL, folder.path(), &["sweep", "whole.toml", "--shard", "0/1000"]);
    assert_eq!(status, Some(0), "{error}");
}

/// Headers and lists that announce more than is there, or are deep or long.
#[test]
fn files_of_networks() {
    let folder = tempfile::tempdir().unwrap();
    let data = root().join("crates/networks/tests/data/llama");
    let net = folder.path().join("net");
    fs::create_dir(&net).unwrap();
    let restore = || {
        for file in ["config.json", "model.safetensors"] {
            fs::copy(data.join(file), net.join(file)).unwrap();
        }
    };
    let safetensors = |length: u64, header: &str| [&length.to_le_bytes()[..], header.as_bytes()].concat();
    let whole = |header: &str| safetensors(header.len() as u64, header);
    let tensor = |shape: &str, end: u64| {
        whole(&format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}}}"))
    };
    for (bytes, part) in [
        (safetensors(1 << 63, "{}"), "announce a header of 9223372036854775808 bytes"),
        (safetensors(99_000_000, "{"), "announce a header of 99000000 bytes"),
        (whole(&" ".repeat(9 << 20)), "A header has at most 8388608"),
        (whole(&"{\"a\":".repeat(20_000)), "recursion limit"),
        (tensor("[18446744073709551615,18446744073709551615]", 4), "overflow"),
        (tensor("[4294967296]", 17_179_869_184), "announces 17179869184"),
    ] {
        fs::write(net.join("model.safetensors"), bytes).unwrap();
        refused(folder.path(), &["weights", "net"], &["net/model.safetensors", part]);
    }
    fs::write(folder.path().join("text.txt"), "the cat sat on the mat. ".repeat(100)).unwrap();
    let inspect = |path: &str, part: &str| refused(folder.path(), &["inspect", path, "--text", "text.txt"], &[part]);
    let config = fs::read_to_string(data.join("config.json")).unwrap();
    for name in ["num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"] {
        let mut settings: Value = serde_json::from_str(&config).unwrap();
        settings[name] = json!(10_u64.pow(15));
        restore();
        fs::write(net.join("config.json"), settings.to_string()).unwrap();
        inspect("net", &format!("{name} = 1000000000000000"));
    }
    for (file, bytes) in [("config.json", "[".repeat(1 << 20)), ("config.json", " ".repeat(17 << 20))] {
        restore();
        fs::write(net.join(file), bytes).unwrap();
        inspect("net", file);
    }
    let string = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let gguf = |tensors: u64, settings: u64, rest: &[u8]| {
        [&b"GGUF"[..], &3_u32.to_le_bytes(), &tensors.to_le_bytes(), &settings.to_le_bytes(), rest].concat()
    };
    let list = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    let array = |kind: u32, count: u64| [string("a"), 9_u32.to_le_bytes().to_vec(), list(kind, count)].concat();
    let square = [string("a"), 2_u32.to_le_bytes().to_vec(), [0, 0, 0, 0, 0, 1, 0, 0].repeat(2), vec![0; 12]];
    for (bytes, part) in [
        (gguf(1 << 63, 0, &[]), "announces 9223372036854775808 tensors"),
        (gguf(0, 1 << 63, &[]), "announces 9223372036854775808 settings"),
        (gguf(0, 1, &[0xff; 16]), "whole GGUF file"),
        (gguf(0, 1, &array(4, 1 << 61)), "announces 2305843009213693952 entries"),
        (gguf(0, 1, &[array(9, 1), list(9, 1).repeat(100_000)].concat()), "at most 8 deep"),
        (gguf(1, 0, &square.concat()), "[1099511627776, 1099511627776]"),
    ] {
        fs::write(folder.path().join("bomb.gguf"), bytes).unwrap();
        inspect("bomb.gguf", part);
    }
}

#[test]
fn numbers_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    for (line, parts) in [
        ("check aot.lemma1 --trials 1000000000000", ["trials = 1000000000000", "to 100000"]),
        ("check aot.lemma1 --trials 99999999999999999999", ["trials = 99999999999999999999", "whole number"]),
        ("check aot.lemma1 --mutants --mutant-seeds 1e15", ["mutant-seeds = ", "to 10000"]),
        ("check aot.lemma1 --threads 1000000", ["threads = 1000000", "to 1024"]),
        ("check aot.lemma1 --time-limit 1e300", ["time-limit = 1e300", "at most 1e9"]),
        ("check denoise.convex --set n=60000", ["MB of memory", "smaller parameters"]),
        ("check denoise.theorem3_1_finite --set n=100000", ["GB of memory", "smaller parameters"]),
        ("check aot.lemma2_12 --set columns=1e19", ["years", "fewer trials"]),
        ("check joma.theorem1_exp --set step=1e-300", ["step = ", "must be"]),
        ("run snr_per_layer --set tokens=1e15", ["tokens = 1000000000000000", "at most 10000000"]),
        ("run snr_per_layer --set layers=1e15", ["layers = 1000000000000000", "at most 10000000"]),
        ("reproduce --times 1000000000", ["times = 1000000000", "at most"]),
        ("horizon --tokens 1000000000000 --dim 1300", ["PB of memory", "smaller parameters"]),
        ("horizon --tokens 9007199254740992 --dim 9007199254740992", ["of memory", "smaller parameters"]),
        ("sample --tokens 1000000000000 --dim 9", ["TB of memory", "smaller parameters"]),
        (
            "eval aot.horizon_theta --set tokens=4 --set clusters=4 --set dim=4 --set delta=1e308 --set tau=0.5 \
          --set probability=0.5",
            ["delta = ", "1000000000000000000000000000000]"],
        ),
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        refused(folder.path(), &args, &parts);
    }
    // What once needed a number of steps or bytes that grows with these.
    for line in [
        "eval joma.f --set mu=1e300 --set r=0.5",
        "eval joma.f --set mu=1e9 --set r=0.5",
        "eval aot.horizon_theta --set tokens=2000 --set clusters=2 --set dim=900 --set delta=3 --set tau=0.55 \
         --set probability=0.5",
        "eval cluster.fastest_mode --set beta=1e8",
        "eval cluster.mode_growth --set beta=5e7 --set k=100000",
        "eval denoise.two_cluster_mmse --set n=4 --set R=1e30 --set weight=0.5 --set sigma0_2=1 --set sigma_z2=1",
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        let (status, error) = attnlab(&REFUSAL, folder.path(), &args);
        assert_eq!(status, Some(0), "{line}: {error}");
    }
}

/// Numbers that the system limits: a limit on files, on their size and on threads ends a command with a message, never with
/// a signal or a panic.
#[test]
fn limits_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let sample = ["sample", "--tokens", "100", "--clusters", "2", "--dim", "13", "--out", "draw", "--force"];
    let (status, error) = attnlab("ulimit -f 0", folder.path(), &sample);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("too large"), "{error}");
    // Files that this process has inherited would take the place of those that the loader opens.
    let closed = "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-";
    for files in 4..12 {
        let (status, error) = attnlab(&format!("{closed}; ulimit -n {files}"), folder.path(), &sample);
        assert!(matches!(status, Some(0 | 2)), "{files} files: {status:?}: {error}");
    }
    // Root made the folder.
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        return skipped("bombs::limits_of_the_system", "a limit on processes does not hold for root");
    }
    for args in [&["check", "aot.mssa_is_mhsa", "--trials", "2"][..], &["doctor"]] {
        let (status, error) = attnlab("ulimit -u 1", folder.path(), args);
        assert_eq!(status, Some(2), "{args:?}: {error}");
        assert!(error.contains("threads = 1: must be no more than the system starts"), "{args:?}: {error}");
    }
}

/// Name of the environment variable that is set within [`limited`].
const WITHIN: &str = "ATTNLAB_TEST_WITHIN_LIMITS";

/// Runs the body of a test in a process of its own, with 200 MB of data (the threads of the harness have stacks) beside what
/// two threads reserve for products, and ten minutes of processor time for all of its cases.
#[track_caller]
fn limited(test: &str, body: impl FnOnce()) {
    if std::env::var_os(WITHIN).is_some() {
        return body();
    }
    let data = 200_000 + 2 * memory::thread_bytes() / 1024;
    let limits = format!("export {WITHIN}=1 RAYON_NUM_THREADS=1; ulimit -d {data}; ulimit -t 600");
    let args = ["--exact", test, "--nocapture", "--test-threads", "1"];
    let output = within(&limits, Path::new("."), &std::env::current_exe().unwrap(), &args);
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && out.contains("1 passed"), "{out}{error}");
}

/// A value in the middle of a domain.
fn middle(domain: &Domain) -> Value {
    match domain {
        Domain::Whole(low, high) => 4_u64.clamp(*low, *high).into(),
        Domain::Number { low, high, .. } if low.is_finite() && high.is_finite() => (0.5 * (low + high)).into(),
        Domain::Number { low, high, .. } => (low + 1.0).max(1.0).min(*high).into(),
        Domain::Choice(words) => words[0].into(),
        Domain::Flag => true.into(),
        Domain::Vector(entry) => vec![middle(entry); 2].into(),
        Domain::Matrix(entry) => json!([[middle(entry), 0.0], [0.0, middle(entry)]]),
    }
}

/// Values at the ends of a domain, far within it, and outside.
fn extremes(domain: &Domain) -> Vec<Value> {
    match domain {
        Domain::Whole(low, high) => [*low, 100_000, 1 << 31, 1 << 53, *high].map(Value::from).to_vec(),
        Domain::Number { low, high, .. } => {
            let far = [-1e300, f64::from_bits(1), 1e-300, 1e-9, 1.0 - f64::EPSILON / 2.0, 1e9, 1e154, f64::MAX];
            far.into_iter().chain([*low, *high].into_iter().filter(|x| x.is_finite())).map(Value::from).collect()
        }
        Domain::Vector(entry) => extremes(entry).into_iter().map(|x| json!([x, middle(entry)])).collect(),
        Domain::Matrix(entry) => extremes(entry).into_iter().map(|x| json!([[x, 0.0], [0.0, x]])).collect(),
        Domain::Choice(_) | Domain::Flag => vec![],
    }
}

/// Settings in which one parameter is extreme and the required others are not.
fn extreme_settings(schema: &Schema) -> Vec<Map<String, Value>> {
    let required = schema.iter().filter(|spec| matches!(spec.default, Fallback::Required));
    let base: Map<String, Value> = required.map(|spec| (spec.name.to_string(), middle(&spec.domain))).collect();
    let cases = schema.iter().flat_map(|spec| extremes(&spec.domain).into_iter().map(|x| (spec.name, x)));
    let set = |(name, value): (&str, Value)| {
        let mut set = base.clone();
        set.insert(name.to_string(), value);
        set
    };
    cases.map(set).collect()
}

/// A closed form has a finite value, or a message that names a parameter.
#[test]
fn closed_forms_at_the_ends_of_their_domains() {
    limited("bombs::closed_forms_at_the_ends_of_their_domains", || {
        for formula in CATALOGUE.formulas() {
            let schema = (formula.schema)();
            for set in extreme_settings(&schema) {
                if let Err(error) = formula.evaluate(&set) {
                    let error = error.to_string();
                    let names = schema.iter().any(|spec| names_word(&error, spec.name));
                    assert!(names, "{}: {}: {error}", formula.id, Value::from(set));
                }
            }
        }
    });
}

/// Memory of a trial (bytes) that some machine may have.
const MOST_MEMORY: u64 = 1 << 40;

/// What a claim says before its first trial is said at once, at any setting.
#[test]
fn estimates_of_claims_at_the_ends_of_their_domains() {
    limited("bombs::estimates_of_claims_at_the_ends_of_their_domains", || {
        for claim in CATALOGUE.claims() {
            for set in extreme_settings(&claim.schema()) {
                let Ok(params) = Params::resolve(&claim.schema(), &set) else { continue };
                // A trial that no machine holds is refused before anything else is said.
                if claim.validate(&params).is_ok() && claim.memory(&params) < MOST_MEMORY {
                    let _ = (claim.default_trials(&params), claim.seconds(&params));
                    let _ = (claim.hypotheses(&params), claim.promised(&params));
                }
            }
        }
    });
}
