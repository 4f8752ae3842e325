//! The report in a real browser: at three widths, light and dark, it is drawn, searched, sorted and filtered, and
//! complains of nothing.
//! Needs chromium (Debian: `apt install chromium`), or the path of one in CHROMIUM; skipped without.

use attnlab::claim::{Params, Source, VerdictKind};
use attnlab::figure::{Axis, Cell, Figure, Heat, Panel, Point, Series, Width};
use attnlab::report::{Checked, MutantResult, Origin, Picture, Report, html};
use attnlab::run::{CheckOptions, Silent, check};
use attnlab::stats::Estimate;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A browser that understands --headless; None where there is none.
fn browser() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Some(path.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let all = names.iter().flat_map(|n| folders.iter().map(move |f| f.join(n)));
    all.into_iter().find(|path| path.is_file())
}

fn headless(browser: &Path, profile: &Path, page: &Path, more: &[String]) -> Output {
    // No sandbox: CI runs as root, and the page is our own.
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(output.status.success(), "{log}");
    assert!(!log.contains("Uncaught") && !log.contains("CONSOLE"), "{log}");
    output
}

/// Widths of a telephone, a tablet and a screen.
const WIDTHS: [u32; 3] = [360, 768, 1400];

/// Four verdicts on real claims, with numbers of their own.
fn page() -> String {
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let options = CheckOptions { trials: Some(3), ..CheckOptions::default() };
    let first = check(&*claim, &Default::default(), &options, &Silent).unwrap();
    let other = |id: &str, verdict, value: f64| {
        let mut report = first.clone();
        report.claim = id.into();
        let claim = crate::common::claim(id);
        report.source = claim.sheet().source();
        let params = Params::resolve(&claim.schema(), &Default::default()).unwrap();
        report.parameters = params.as_json().clone();
        (report.verdict, report.expected) = (verdict, verdict);
        report.estimate = Estimate { value, low: value - 0.1, high: value, level: 0.95 };
        Checked::here(&claim, report)
    };
    let checks = [
        other("aot.lemma1", VerdictKind::Supported, 1.0),
        other("aot.theorem1", VerdictKind::Refuted, 0.2),
        other("aot.lemma3", VerdictKind::Refuted, 0.5),
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
    let heat = Heat::over(&[1.0, 2.0], &[1.0, 2.0], Axis::linear("P"), |i, j| Cell {
        hatched: i == j,
        ..Cell::of((i + 2 * j) as f64)
    });
    let axes = || Panel { x: Axis::linear("*x*"), y: Axis::linear("*y*"), ..Panel::default() };
    let map = Panel { heat: Some(heat), ..axes() };
    let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    let line = Panel { series: vec![Series::measured("s", 0, points)], ..axes() };
    let picture = |name: &str, width, panel, place| Picture {
        figure: Figure {
            name: name.into(),
            title: "A figure".into(),
            caption: "of four cells".into(),
            width,
            columns: 1,
            panels: vec![panel],
        },
        seed: 0,
        origins: vec![Origin::here(format!("attnlab run {name}"))],
        source: Some(Source { paper: checks[1].claim.sheet().paper, place }),
        claim: None,
    };
    html(&Report {
        command: "attnlab report",
        checks: &checks,
        mutants: &mutants,
        tables: &[],
        pictures: &[picture("map", Width::Page, map, "Theorem 1"), picture("line", Width::Column, line, "Figure 40")],
        audit: None,
        catalogue: &crate::common::CATALOGUE,
    })
    .unwrap()
}

/// Clicks and types as a reader would, and writes down what is seen after each step.
const PROBE: &str = r##"<script>{
const shown = (e) => e.getBoundingClientRect().height > 0;
const seen = [];
const look = () => seen.push([...document.querySelectorAll(".claim[id] summary code")].filter(shown).map((e) => e.textContent));
const press = (verdict) => document.querySelector(`.chip[data-verdict="${verdict}"]`).click();
const set = (id, value, event) => { const f = document.getElementById(id); f.value = value; f.dispatchEvent(new Event(event)); };
const wide = () => document.documentElement.scrollWidth;
const style = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
const closed = wide();
look();
set("order", "name", "change"); look();
set("order", "distance", "change"); look();
set("order", "verdict", "change"); look();
set("order", "", "change"); look();
press("refuted"); look();
const figures = [...document.querySelectorAll("figure")].filter(shown).map((f) => f.id);
set("words", "lemma3", "input"); look();
const said = document.getElementById("shown").textContent;
location.hash = "#aot.lemma1";
setTimeout(() => {
  look();
  set("place", "paper-" + "aot-2025", "change"); look();
  set("place", "unrolling", "change"); look();
  set("place", "", "change");
  const card = document.getElementById("aot.theorem1");
  const links = (root) => [...root.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href").slice(1));
  document.querySelectorAll("details").forEach((d) => (d.open = true));
  scrollTo(0, 900);
  parent.postMessage(JSON.stringify({ seen, figures, said, closed, open: wide(), inner: innerWidth,
    unfolded: document.getElementById("aot.lemma1").open,
    broken: links(document).filter((id) => !document.getElementById(id)),
    to: links(card).filter((id) => id.startsWith("figure-")),
    back: links(document.getElementById("figure-map")).filter((id) => id === "aot.theorem1"),
    bar: document.getElementById("bar").getBoundingClientRect().top,
    paper: style("body", "backgroundColor"),
    ink: style("figure.lines svg text", "fill"),
    formula: document.querySelector("blockquote math").getBoundingClientRect().width,
    svg: document.querySelector("figure svg").getBoundingClientRect().height }), "*");
}, 100);
}</script></body>"##;

/// A window of a width that the browser's own may not have, which writes down what the page in it tells.
const WINDOW: &str = r##"<!DOCTYPE html><html><body><iframe src="probe.html" style="border: 0; height: 900px; width: WIDTHpx">
</iframe><script>
addEventListener("message", (event) => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = event.data;
  document.body.append(out);
});
</script></body></html>"##;

/// Opens the page with its probe at this width and returns what it tells.
fn probed(browser: &Path, width: u32, more: &[String]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("probe.html"), page().replace("</body>", PROBE)).unwrap();
    let window = WINDOW.replace("WIDTH", &width.to_string());
    std::fs::write(path("window.html"), window).unwrap();
    let mut options = more.to_vec();
    options.extend(["--dump-dom".into(), "--window-size=1500,1000".into()]);
    let output = headless(browser, &path("profile"), &path("window.html"), &options);
    let dom = String::from_utf8(output.stdout).unwrap();
    let (_, found) = dom.split_once("<pre id=\"probe\">").expect("no probe in the page");
    serde_json::from_str(found.split_once("</pre>").unwrap().0).unwrap()
}

#[test]
fn the_report_is_explored_at_three_widths() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium here (apt install chromium, or set CHROMIUM)");
        return;
    };
    let (one, two, three, four) = ("aot.lemma1", "aot.theorem1", "aot.lemma3", "aot.mssa_is_mhsa");
    for width in WIDTHS {
        let found = probed(&browser, width, &[]);
        let expected = json!([
            [one, two, three, four],
            [one, three, four, two],
            [two, three, four, one],
            [four, one, three, two], // three trials leave it open, which is a surprise
            [one, two, three, four],
            [two, three],
            [three],
            [one, two, three, four],
            [four],
            [one, two, three, four],
        ]);
        assert_eq!(found["seen"], expected, "{width}");
        assert_eq!(found["figures"], json!(["figure-map"]), "{width}");
        assert_eq!(found["said"], "1 of 4 claims");
        assert_eq!(found["unfolded"], true);
        // Nothing is wider than the window, folded or not, and the bar sticks to its top.
        assert_eq!(found["inner"], width);
        assert_eq!((&found["closed"], &found["open"]), (&json!(width), &json!(width)));
        assert_eq!(found["bar"], 0, "{width}");
        assert_eq!(found["broken"], json!([]));
        assert_eq!(found["to"], json!(["figure-map"]));
        assert_eq!(found["back"], json!(["aot.theorem1"]));
        assert!(found["formula"].as_f64() > Some(20.0) && found["svg"].as_f64() > Some(100.0), "{found}");
    }
}

#[test]
fn the_report_follows_the_readers_choice_of_dark() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium here (apt install chromium, or set CHROMIUM)");
        return;
    };
    let luma = |found: &Value, name: &str| -> f64 {
        let text = found[name].as_str().unwrap().to_string();
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|n| n.parse::<f64>().ok()).sum()
    };
    for (scheme, dark) in [(0, true), (1, false)] {
        let choice = format!("--blink-settings=preferredColorScheme={scheme}");
        let found = probed(&browser, WIDTHS[0], &[choice]);
        // Figures of lines follow too: their text is lighter than the page, or darker.
        let (paper, ink) = (luma(&found, "paper"), luma(&found, "ink"));
        assert_eq!(paper < ink, dark, "{found}");
        assert!((paper - ink).abs() > 400.0, "{found}");
    }
}

#[test]
fn the_report_is_drawn() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium here (apt install chromium, or set CHROMIUM)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    let shot = |name: &str, text: &str| -> Vec<u8> {
        let (file, picture) = (folder.path().join(name), folder.path().join(format!("{name}.png")));
        std::fs::write(&file, text).unwrap();
        let more = [format!("--screenshot={}", picture.display()), "--window-size=1200,1600".into()];
        headless(&browser, &profile, &file, &more);
        std::fs::read(picture).unwrap()
    };
    let report = shot("report.html", &page());
    let blank = shot("blank.html", "<!DOCTYPE html><html><body></body></html>");
    // The size is in bytes 16..24 of a PNG; an empty page of that size is compressed to almost nothing.
    assert_eq!(&report[16..24], [0, 0, 4, 176, 0, 0, 6, 64]);
    assert!(report.len() > 8 * blank.len(), "{} {}", report.len(), blank.len());
}
