//! The report in a real browser: at three widths, light and dark, it is drawn, searched, sorted and filtered, and
//! complains of nothing.
//! Needs chromium (Debian: `apt install chromium`), or the path of one in CHROMIUM; skipped without.

use crate::common::{limit, output_of, skipped};
use assert_cmd::Command;
use attnlab::claim::{Params, Source, VerdictKind};
use attnlab::error::Result;
use attnlab::figure::{Axis, Cell, Figure, Heat, Panel, Point, Series};
use attnlab::report::{
    Checked, Live, MutantResult, Picture, Report, RunUnderWay, TrainingUnderWay, html, live_html, site,
};
use attnlab::run::{CheckOptions, Origin, Silent, TrainingCurve, check};
use attnlab::stats::Estimate;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

/// The browser of these tests, or the reason why there is none.
static BROWSER: LazyLock<std::result::Result<PathBuf, String>> = LazyLock::new(find_browser);

/// Returns the browser that CHROMIUM names; without it, the first of the search path, if it can draw an empty page.
fn find_browser() -> std::result::Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Ok(path.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
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
    let output = output_of(&mut headless(browser, profile, &format!("file://{}", page.display()), more)).unwrap();
    let log = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(output.status.success(), "{log}");
    assert!(!log.contains("Uncaught"), "{log}");
    output
}

/// Writes a report in one of its forms: four verdicts on real claims, with numbers of their own.
fn written<T>(write: impl FnOnce(&Report) -> Result<T>) -> T {
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let options = CheckOptions { trials: Some(3), ..CheckOptions::default() };
    let first = check(&*claim, &Default::default(), &options, &Silent).unwrap();
    let other = |id: &str, verdict, value: f64| {
        let mut report = first.clone();
        report.claim = id.into();
        let claim = crate::common::claim(id);
        report.source = claim.sheet().source();
        report.parameters = Params::resolve(&claim.schema(), &Default::default()).unwrap().as_json().clone();
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
    let cell = |i, j| Cell::of((i + 2 * j) as f64).hatched_if(i == j);
    let heat = Heat::over(&[1.0, 2.0], &[1.0, 2.0], Axis::linear("P"), cell);
    let axes = || Panel::new("", Axis::linear("*x*"), Axis::linear("*y*"));
    let line = axes().with(Series::measured("s", 0, vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)]));
    let picture = |figure: Figure, place| Picture {
        seed: 0,
        origins: vec![Origin::here(format!("attnlab run {}", figure.name))],
        figure: figure.captioned("of four cells"),
        source: Some(Source { paper: checks[1].claim.sheet().paper, place }),
        claim: None,
    };
    let pictures = [
        picture(Figure::page("map", "A map", 1, vec![axes().coloured(heat)]), "Theorem 1"),
        picture(Figure::column("line", "A line", vec![line]), "Figure 40"),
    ];
    write(&Report {
        command: "attnlab report",
        checks: &checks,
        mutants: &mutants,
        tables: &[],
        pictures: &pictures,
        audit: None,
        catalogue: &crate::common::CATALOGUE,
    })
    .unwrap()
}

/// Clicks and types as a reader would, and writes down what is shown after each step.
const PROBE: &str = r##"<script>{
const shown = (e) => e.getBoundingClientRect().height > 0;
const ids = () => [...document.querySelectorAll(".claim[id] summary code")].filter(shown).map((e) => e.textContent);
const steps = [];
const look = () => steps.push(ids());
const press = (verdict) => document.querySelector(`.chip[data-verdict="${verdict}"]`).click();
const set = (id, value, event) => { const f = document.getElementById(id); f.value = value; f.dispatchEvent(new Event(event)); };
const key = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const focused = () => document.activeElement.closest(".claim")?.id ?? document.activeElement.id;
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
const count = document.getElementById("shown").textContent;
location.hash = "#aot.lemma1";
setTimeout(() => {
  look();
  set("place", "PAPER", "change"); look();
  set("place", "unrolling", "change"); look();
  set("place", "", "change");
  const keys = ["j", "j", "k", "/"].map((name) => { key(name); return focused(); });
  const card = document.getElementById("aot.theorem1");
  const links = (root) => [...root.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href").slice(1));
  document.querySelectorAll("details").forEach((d) => (d.open = true));
  scrollTo(0, 900);
  parent.postMessage(JSON.stringify({ steps, figures, count, keys, closed, open: wide(), inner: innerWidth,
    unfolded: document.getElementById("aot.lemma1").open,
    broken: links(document).filter((id) => !document.getElementById(id)),
    to: links(card).filter((id) => id.startsWith("figure-")),
    back: links(document.getElementById("figure-map")).filter((id) => id === "aot.theorem1"),
    bar: document.getElementById("bar").getBoundingClientRect().top,
    page: style(":root", "backgroundColor"),
    ink: style("#figure-line svg > text", "fill"), ground: style("#figure-map svg > rect", "fill"),
    hatch: style("#figure-map svg g path[stroke]", "stroke"),
    formula: document.querySelector("blockquote math").getBoundingClientRect().width,
    svg: document.querySelector("figure svg").getBoundingClientRect().height }), "*");
}, 100);
}</script></body>"##;

/// A page with a frame of a width that the browser's own window may not have. SCRIPT has `tell`, which writes what it has
/// seen of the page in the frame into an element of its own.
const FRAME: &str = r##"<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>
<iframe style="border: 0; height: 900px; width: WIDTHpx"></iframe><script>
const frame = document.querySelector("iframe");
const tell = (text) => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = text;
  document.body.append(out);
};
SCRIPT
frame.src = "FRAMED";
</script></body></html>"##;

/// Opens a page of a folder in a frame of this width (pixels) and returns what the script tells.
fn told(browser: &Path, folder: &Path, page: &str, width: u32, script: &str, more: &[&str]) -> Value {
    let frame = FRAME.replace("WIDTH", &width.to_string()).replace("SCRIPT", script).replace("FRAMED", page);
    std::fs::write(folder.join("frame.html"), frame).unwrap();
    let options = [more, &["--allow-file-access-from-files", "--dump-dom", "--window-size=1500,1000"]].concat();
    let output = show(browser, &folder.join("profile"), &folder.join("frame.html"), &options);
    let dom = String::from_utf8(output.stdout).unwrap();
    let (_, probe) = dom.split_once("<pre id=\"probe\">").expect("no probe in the page");
    serde_json::from_str(probe.split_once("</pre>").unwrap().0).unwrap()
}

/// Opens the report with its probe at this width and returns what it tells.
fn probed(browser: &Path, width: u32, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let paper = crate::common::claim("aot.mssa_is_mhsa").sheet().paper.key;
    let probe = PROBE.replace("PAPER", &format!("paper-{paper}"));
    std::fs::write(folder.path().join("probe.html"), written(html).replace("</body>", &probe)).unwrap();
    let script = r#"addEventListener("message", (event) => tell(event.data));"#;
    told(browser, folder.path(), "probe.html", width, script, more)
}

/// Widths (pixels) of a telephone, a tablet and a screen.
const WIDTHS: [u32; 3] = [360, 768, 1400];

#[test]
fn the_report_is_explored_at_three_widths() {
    let Some(browser) = browser("browser::the_report_is_explored_at_three_widths") else { return };
    let (lemma1, theorem1, lemma3, mssa) = ("aot.lemma1", "aot.theorem1", "aot.lemma3", "aot.mssa_is_mhsa");
    for width in WIDTHS {
        let probe = probed(browser, width, &[]);
        let expected = json!([
            [lemma1, theorem1, lemma3, mssa],
            [lemma1, lemma3, mssa, theorem1],
            [theorem1, lemma3, mssa, lemma1],
            [mssa, lemma1, lemma3, theorem1], // three trials leave it open, which is a surprise
            [lemma1, theorem1, lemma3, mssa],
            [theorem1, lemma3],
            [lemma3],
            [lemma1, theorem1, lemma3, mssa],
            [mssa],
            [lemma1, theorem1, lemma3, mssa],
        ]);
        assert_eq!(probe["steps"], expected, "{width}");
        assert_eq!(probe["figures"], json!(["figure-map"]), "{width}");
        assert_eq!(probe["count"], "1 of 4 claims");
        assert_eq!(probe["keys"], json!([lemma1, theorem1, lemma1, "words"]));
        assert_eq!(probe["unfolded"], true);
        // Nothing is wider than the window, folded or not, and the bar sticks to its top.
        assert_eq!(probe["inner"], width);
        assert_eq!((&probe["closed"], &probe["open"]), (&json!(width), &json!(width)));
        assert_eq!(probe["bar"], 0, "{width}");
        assert_eq!(probe["broken"], json!([]));
        assert_eq!(probe["to"], json!(["figure-map"]));
        assert_eq!(probe["back"], json!(["aot.theorem1"]));
        assert!(probe["formula"].as_f64() > Some(20.0) && probe["svg"].as_f64() > Some(100.0), "{probe}");
    }
}

#[test]
fn the_report_follows_the_readers_choice_of_dark() {
    let Some(browser) = browser("browser::the_report_follows_the_readers_choice_of_dark") else { return };
    let light = |probe: &Value, name: &str| -> f64 {
        let numbers = probe[name].as_str().unwrap().split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|number| number.parse::<f64>().ok()).sum()
    };
    for (scheme, dark) in [(0, true), (1, false)] {
        let probe = probed(browser, WIDTHS[0], &[&format!("--blink-settings=preferredColorScheme={scheme}")]);
        // Figures follow: their text contrasts with the page, and the ground of a map is that of the page.
        let [page, ink, ground] = ["page", "ink", "ground"].map(|name| light(&probe, name));
        assert_eq!(page < ink, dark, "{probe}");
        assert!((page - ink).abs() > 400.0, "{probe}");
        assert_eq!(page, ground, "{probe}");
        // Hatching stays as it is over its cells.
        assert!(["rgb(30, 30, 30)", "rgb(255, 255, 255)"].contains(&probe["hatch"].as_str().unwrap()), "{probe}");
    }
}

/// Searches the index of a site, opens the claim that it finds, its figure, and the index again. Writes down name and
/// width of every page.
const WALK: &str = r##"
const links = [".claim:not([hidden]) > a", "a[href$='#figure-map']", "a.home"];
const pages = [];
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  const words = page.getElementById("words");
  if (words) {
    words.value = "SEARCHED";
    words.dispatchEvent(new Event("input"));
  }
  pages.push([frame.contentWindow.location.pathname.split("/").pop(), page.documentElement.scrollWidth]);
  const link = links.shift();
  if (link) return page.querySelector(link).click();
  tell(JSON.stringify(pages));
});"##;

#[test]
fn the_site_is_walked_by_clicks() {
    let Some(browser) = browser("browser::the_site_is_walked_by_clicks") else { return };
    let folder = tempfile::tempdir().unwrap();
    for file in written(|report| site(report, None)) {
        std::fs::write(folder.path().join(&file.name), file.text).unwrap();
    }
    let sheet = crate::common::claim("aot.theorem1").sheet();
    let (title, paper) = (&sheet.title, format!("paper-{}.html", sheet.paper.key));
    for width in WIDTHS {
        let pages = told(browser, folder.path(), "index.html", width, &WALK.replace("SEARCHED", title), &[]);
        let names = ["index.html", "aot.theorem1.html", &paper, "index.html"];
        assert_eq!(pages, json!(names.map(|name| json!([name, width]))));
    }
}

/// Explores a page that reloads itself, and writes down what is left of that after its own reload.
const RELOADED: &str = r##"
const view = () => {
  const page = frame.contentDocument;
  const shown = [...page.querySelectorAll(".claim[id]")].filter((claim) => !claim.hidden).map((claim) => claim.id);
  const open = [...page.querySelectorAll("details[open]")].map((part) => part.id || part.className);
  return { shown, open, order: page.getElementById("order").value, top: frame.contentWindow.scrollY,
    wide: page.documentElement.scrollWidth };
};
const views = [];
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  if (views.length === 0) {
    page.querySelector(".chip[data-verdict=refuted]").click();
    const order = page.getElementById("order");
    order.value = "name";
    order.dispatchEvent(new Event("change"));
    page.getElementById("aot.lemma3").open = true;
    page.querySelector("#figure-line details").open = true;
    frame.contentWindow.scrollTo(0, 400);
  }
  views.push(view());
  if (views.length >= 3) tell(JSON.stringify(views.slice(0, 3)));
});"##;

#[test]
fn a_page_that_reloads_itself_keeps_its_view() {
    let Some(browser) = browser("browser::a_page_that_reloads_itself_keeps_its_view") else { return };
    let curve = TrainingCurve::new(3000, &[600, 1200], &[2.0, 1.0], &[]);
    let run = RunUnderWay {
        folder: "/a/folder/with/a/name/that/is/longer/than/a/telephone/is/wide/and/has/no/space".into(),
        id: "toy".into(),
        rows: 3,
        wanted: 8,
        grown: UNIX_EPOCH,
        stale: true,
        trainings: vec![TrainingUnderWay { name: "network = toy, trial 0".into(), curve }],
        notes: vec![],
    };
    let live = Live { runs: &[run], every: Some(Duration::from_millis(500)) };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("live.html"), written(|report| live_html(report, &live))).unwrap();
    for width in WIDTHS {
        let views = told(browser, folder.path(), "live.html", width, RELOADED, &[]);
        let view = json!({ "shown": ["aot.lemma3", "aot.theorem1"], "open": ["aot.lemma3", "numbers"], "order": "name",
            "top": 400, "wide": width });
        assert_eq!(views, json!([view, view, view]));
    }
}

#[test]
fn the_report_is_drawn() {
    let Some(browser) = browser("browser::the_report_is_drawn") else { return };
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    let shot = |name: &str, text: &str| -> Vec<u8> {
        let (file, picture) = (folder.path().join(name), folder.path().join(format!("{name}.png")));
        std::fs::write(&file, text).unwrap();
        let screenshot = format!("--screenshot={}", picture.display());
        show(browser, &profile, &file, &[screenshot.as_str(), "--window-size=1200,1600"]);
        std::fs::read(picture).unwrap()
    };
    let report = shot("report.html", &written(html));
    let blank = shot("blank.html", "<!DOCTYPE html><html><body></body></html>");
    // The size is in bytes 16..24 of a PNG; an empty page of the same size is compressed to almost nothing.
    assert_eq!(&report[16..24], &blank[16..24]);
    assert!(report.len() > 8 * blank.len(), "{} {}", report.len(), blank.len());
}
