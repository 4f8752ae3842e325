//! The report in a real browser: it is drawn, sorted and filtered by clicks, and complains of nothing.
//! Needs chromium (Debian: `apt install chromium`), or the path of one in CHROMIUM; skipped without.

use crate::common::{limit, output_of, skipped};
use assert_cmd::Command;
use attnlab::claim::VerdictKind;
use attnlab::figure::{Axis, Cell, Figure, Heat, Panel};
use attnlab::report::{Checked, MutantResult, Picture, Report, html};
use attnlab::run::{CheckOptions, Origin, Silent, check};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

/// The browser of these tests, or the reason why there is none.
static BROWSER: LazyLock<Result<PathBuf, String>> = LazyLock::new(find_browser);

/// Returns the browser that CHROMIUM names; without it, the first of the search path, if it can draw an empty page.
fn find_browser() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Ok(path.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&search).collect();
    let browser = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or("no chromium here (apt install chromium, or set CHROMIUM)")?;
    let profile = tempfile::tempdir().map_err(|e| e.to_string())?;
    let tried = headless(&browser, profile.path(), "about:blank", &["--dump-dom"])
        .timeout(limit())
        .output()
        .map_err(|e| format!("{}: {e}", browser.display()))?;
    if !tried.status.success() {
        let log = String::from_utf8_lossy(&tried.stderr).trim().to_string();
        return Err(format!("{} draws no empty page: {log}", browser.display()));
    }
    Ok(browser)
}

/// Returns the browser for a test; says that the test is skipped where there is none.
fn browser(test: &str) -> Option<&'static Path> {
    match &*BROWSER {
        Ok(path) => Some(path.as_path()),
        Err(reason) => {
            skipped(test, reason);
            None
        }
    }
}

fn headless(browser: &Path, profile: &Path, address: &str, more: &[&str]) -> Command {
    let mut command = Command::new(browser);
    command
        // No sandbox: CI runs as root, and the page is our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg(address);
    command
}

/// Shows a page. Panics if one of its scripts fails; a browser has other messages of its own.
fn show(browser: &Path, profile: &Path, page: &Path, more: &[&str]) -> Output {
    let address = format!("file://{}", page.display());
    let output = output_of(&mut headless(browser, profile, &address, more)).unwrap();
    let log = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(output.status.success(), "{log}");
    assert!(!log.contains("Uncaught"), "{log}");
    output
}

/// Four verdicts on real claims, with numbers of their own.
fn page() -> String {
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let options = CheckOptions { trials: Some(3), ..CheckOptions::default() };
    let first = check(&*claim, &Default::default(), &options, &Silent).unwrap();
    let other = |id: &str, verdict, trials| {
        let mut report = first.clone();
        report.claim = id.into();
        let claim = crate::common::claim(id);
        report.source = claim.sheet().source();
        (report.verdict, report.expected, report.trials) = (verdict, verdict, trials);
        Checked::here(&claim, report)
    };
    let checks = [
        other("aot.lemma1", VerdictKind::Supported, 40),
        other("aot.theorem1", VerdictKind::Refuted, 7),
        other("aot.lemma3", VerdictKind::Refuted, 200),
        Checked::here(&claim, first.clone()),
    ];
    let mutants = [MutantResult {
        claim: "aot.lemma1".into(),
        name: "halved".into(),
        says: "half of it, $\\frac{1}{2}$".into(),
        seeds: 3,
        refuted: 3,
        first: checks[1].clone(),
    }];
    let cell = |i, j| Cell::of((i + 2 * j) as f64).hatched_if(i == j);
    let heat = Heat::over(&[1.0, 2.0], &[1.0, 2.0], Axis::linear("P"), cell);
    let panel = Panel::new("", Axis::linear("*x*"), Axis::linear("*y*")).coloured(heat);
    let picture = Picture {
        figure: Figure::column("map", "A map", vec![panel]).captioned("of four cells"),
        seed: 0,
        origins: vec![Origin::here("attnlab run map".into())],
    };
    html(&Report {
        command: "attnlab report",
        checks: &checks,
        mutants: &mutants,
        tables: &[],
        pictures: &[picture],
        audit: None,
    })
    .unwrap()
}

/// Clicks and types as a reader would, and writes down what is seen after each step.
const PROBE: &str = r##"<script>
const seen = [];
const look = () => seen.push([...document.querySelectorAll("#verdicts tbody tr")]
  .filter((r) => r.getBoundingClientRect().height > 0).map((r) => r.querySelector("a").textContent));
const press = (selector, text) => [...document.querySelectorAll(selector)]
  .find((e) => e.textContent.startsWith(text)).click();
const type = (text) => { const f = document.getElementById("filter"); f.value = text; f.dispatchEvent(new Event("input")); };
look();
press("#verdicts thead button", "Trials"); look();
press("#verdicts thead button", "Trials"); look();
press("#verdicts thead button", "Claim"); look();
press(".chip", "refuted"); look();
type("lemma 3"); look();
press(".chip", "all"); type(""); look();
const card = document.getElementById("claim-1");
const folded = card.open;
press("#verdicts tbody a", "aot.theorem1");
setTimeout(() => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({ seen, folded, open: card.open,
    formula: document.querySelector("blockquote math").getBoundingClientRect().width,
    svg: document.querySelector("figure svg").getBoundingClientRect().height });
  document.body.append(out);
}, 100);
</script></body>"##;

#[test]
fn the_table_is_sorted_and_filtered_by_clicks() {
    let Some(browser) = browser("browser::the_table_is_sorted_and_filtered_by_clicks") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (file, profile) = (folder.path().join("probe.html"), folder.path().join("profile"));
    std::fs::write(&file, page().replace("</body>", PROBE)).unwrap();
    let output = show(browser, &profile, &file, &["--dump-dom"]);
    let dom = String::from_utf8(output.stdout).unwrap();
    let probe = dom.split_once("<pre id=\"probe\">").expect("no probe in the page").1;
    let probe: Value = serde_json::from_str(probe.split_once("</pre>").unwrap().0).unwrap();
    let (one, two, three, four) = ("aot.lemma1", "aot.theorem1", "aot.lemma3", "aot.mssa_is_mhsa");
    let expected = serde_json::json!([
        [one, two, three, four],
        [four, two, one, three], // 3, 7, 40, 200 trials
        [three, one, two, four],
        [one, three, four, two],
        [three, two],
        [three],
        [one, three, four, two],
    ]);
    assert_eq!(probe["seen"], expected);
    assert_eq!((&probe["folded"], &probe["open"]), (&false.into(), &true.into()));
    assert!(probe["formula"].as_f64() > Some(20.0) && probe["svg"].as_f64() > Some(100.0), "{probe}");
}

#[test]
fn the_report_is_drawn() {
    let Some(browser) = browser("browser::the_report_is_drawn") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    let shot = |name: &str, text: &str| -> Vec<u8> {
        let (file, picture) = (folder.path().join(name), folder.path().join(format!("{name}.png")));
        std::fs::write(&file, text).unwrap();
        let screenshot = format!("--screenshot={}", picture.display());
        let more = [screenshot.as_str(), "--window-size=1200,1600"];
        show(browser, &profile, &file, &more);
        std::fs::read(picture).unwrap()
    };
    let report = shot("report.html", &page());
    let blank = shot("blank.html", "<!DOCTYPE html><html><body></body></html>");
    // The size is in bytes 16..24 of a PNG; an empty page of the same size is compressed to almost nothing.
    assert_eq!(&report[16..24], &blank[16..24]);
    assert!(report.len() > 8 * blank.len(), "{} {}", report.len(), blank.len());
}
