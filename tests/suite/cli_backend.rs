//! `--backend`: what it chooses, what it says, and that the answer is the same.

use crate::common::{attnlab, json_lines};
use serde_json::Value;

const HORIZON: [&str; 9] = ["horizon", "--tokens", "700", "--dim", "60", "--delta", "0.05", "--seed", "3"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&HORIZON[..], more].concat()
}

/// The command where no driver can be found.
#[cfg(feature = "gpu")]
fn without_driver(args: &[&str]) -> crate::common::Attnlab {
    let mut command = attnlab(args);
    // Two names of the same list, for old and new loaders.
    command.env("VK_ICD_FILENAMES", "/nowhere.json");
    command.env("VK_DRIVER_FILES", "/nowhere.json");
    command.env_remove("WGPU_ADAPTER_NAME");
    command
}

/// Returns the entries that do not depend on the machine.
fn answer(line: &Value) -> [&Value; 4] {
    ["theta_crit", "exact_updates", "witness", "predicted"].map(|key| &line[key])
}

#[test]
fn the_cpu_is_always_there() {
    let line = &json_lines(&with(&["--backend", "cpu", "--json"]))[0];
    assert_eq!(line["backend"], "cpu");
    assert!(line["theta_crit"].as_f64().unwrap() > 1.0);
}

#[cfg(not(feature = "gpu"))]
#[test]
fn a_build_without_gpu_says_how_to_build_with_it() {
    for backend in ["gpu", "gpu-f32"] {
        let message = format!(
            "backend = {backend}: must be auto or cpu; this attnlab was built without GPU support. Build it \
             with cargo build --release --features gpu, or write --backend cpu"
        );
        let output = attnlab(&with(&["--backend", backend])).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("error: {message}\n"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
    let auto = attnlab(&with(&["--json"])).output().unwrap();
    assert!(auto.status.success() && auto.stderr.is_empty());
    let line: Value = serde_json::from_slice(&auto.stdout).unwrap();
    let cpu = &json_lines(&with(&["--backend", "cpu", "--json"]))[0];
    assert_eq!(answer(&line), answer(cpu));
    let gpu = &json_lines(&["doctor", "--json"])[0]["gpu"];
    assert_eq!(gpu, &serde_json::json!({"built_in": false, "adapters": [], "auto": "cpu", "products": null}));
}

#[cfg(feature = "gpu")]
#[test]
fn without_a_driver_auto_takes_the_cpu_and_gpu_is_refused() {
    let auto = without_driver(&with(&["--json"])).output().unwrap();
    assert!(auto.status.success());
    assert_eq!(String::from_utf8_lossy(&auto.stderr), "no GPU found: computing on the CPU\n");
    let line: Value = serde_json::from_slice(&auto.stdout).unwrap();
    assert_eq!(line["backend"], "cpu");

    let gpu = without_driver(&with(&["--backend", "gpu"])).output().unwrap();
    assert_eq!(gpu.status.code(), Some(2));
    assert!(gpu.stdout.is_empty());
    assert_eq!(
        String::from_utf8_lossy(&gpu.stderr),
        "error: no GPU found: install the card's Vulkan driver (or mesa-vulkan-drivers, which \
         computes on the CPU), or write --backend cpu\n"
    );
    let doctor = without_driver(&["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!(report["gpu"], serde_json::json!({"built_in": true, "adapters": [], "auto": "cpu", "products": null}));
}

#[cfg(feature = "gpu")]
#[test]
fn an_adapter_that_is_not_there_is_named() {
    let mut command = attnlab(&with(&["--backend", "gpu"]));
    let output = command.env("WGPU_ADAPTER_NAME", "Voodoo 2").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).to_string();
    // Drivers may have said something of their own before.
    assert!(text.to_lowercase().contains("error: no gpu with 'voodoo 2' in its name (wgpu_adapter_name)"), "{text}");
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_gives_the_cpus_answer() {
    use attnlab::gpu::adapters;
    let adapters = adapters();
    if adapters.is_empty() {
        let must = std::env::var("ATTNLAB_REQUIRE_GPU").is_ok_and(|v| v == "1");
        assert!(!must, "ATTNLAB_REQUIRE_GPU=1, but there is no adapter");
        return crate::common::skipped("cli_backend::the_gpu_gives_the_cpus_answer", "no adapter");
    }
    let on_cpu = &json_lines(&with(&["--backend", "cpu", "--json"]))[0];
    let on_gpu = &json_lines(&with(&["--backend", "gpu", "--json"]))[0];
    assert_eq!(answer(on_cpu), answer(on_gpu));
    assert_eq!(on_gpu["backend"], adapters[0].name.as_str());
    // Programs on the CPU are used only when asked for.
    let auto = attnlab(&with(&["--json"])).output().unwrap();
    let line: Value = serde_json::from_slice(&auto.stdout).unwrap();
    let told = String::from_utf8_lossy(&auto.stderr).to_string();
    if adapters[0].software() {
        assert_eq!(line["backend"], "cpu");
        assert!(told.contains("--backend gpu uses it"), "{told}");
    } else {
        assert_eq!(line["backend"], adapters[0].name.as_str());
    }
    let doctor = &json_lines(&["doctor", "--json"])[0]["gpu"];
    assert_eq!(doctor["adapters"][0]["name"], adapters[0].name.as_str());
    assert_eq!(doctor["auto"], line["backend"]);
    assert!(doctor["adapters"][0]["largest_binding"].as_u64().unwrap() >= 128 << 20);
}
