//! The report is one file that shows every verdict with its evidence and needs nothing else.

use crate::common::CATALOGUE;
use attnlab::claim::{Source, VerdictKind};
use attnlab::figure::{Axis, Figure, Panel, Point, Series};
use attnlab::report::{Checked, Found, MutantResult, Picture, Report, html, keep, restore, site};
use attnlab::run::store::Manifest;
use attnlab::run::{CheckOptions, Origin, Row, Silent, check, mutants};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};

fn checked() -> Checked {
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let options = CheckOptions { trials: Some(8), seed: 9, ..CheckOptions::default() };
    Checked::here(&claim, check(&*claim, &Default::default(), &options, &Silent).unwrap())
}

/// Writes a report of these checks, with a mutant and a figure, in one of its forms.
fn written<T>(checks: &[Checked], write: impl FnOnce(&Report) -> T) -> T {
    let mutants = [MutantResult {
        claim: "aot.mssa_is_mhsa".into(),
        name: "scaled".into(),
        says: "a < b".into(),
        seeds: 4,
        refuted: 4,
        first: checks[0].clone(),
    }];
    let line = Series::measured("s", 0, vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)]);
    let panel = Panel::new("", Axis::linear("x"), Axis::linear("y")).with(line);
    let figure = Figure::column("line", "A line", vec![panel]).captioned("of *two* points, 10^{2}");
    let command = "attnlab check 'a' && echo <b>";
    let origins = vec![Origin::here("attnlab run line --seed 11".into())];
    let source = Some(Source { paper: checks[0].claim.sheet().paper, place: "Section 2.1, Eqs. (2), (5)" });
    let pictures = [Picture { figure, seed: 11, origins, source, claim: None }];
    let (tables, audit, catalogue) = (&[], None, &CATALOGUE);
    write(&Report { command, checks, mutants: &mutants, tables, pictures: &pictures, audit, catalogue })
}

fn page(checks: &[Checked]) -> String {
    written(checks, html).unwrap()
}

#[test]
fn verdicts_evidence_figures_and_command_are_there() {
    let page = page(std::slice::from_ref(&checked()));
    for part in [
        "aot.mssa_is_mhsa",
        "supported",
        "1 of 1 verdicts are the expected ones; 1 of 1 mutants",
        "largest_difference",
        "attnlab check 'a' &amp;&amp; echo &lt;b&gt;",
        "attnlab check aot.mssa_is_mhsa --seed 9 --trials 8",
        "<dt>Seed, time</dt><dd>9, ",
        "<dt>Seed</dt><dd>11</dd>",
        "attnlab run line --seed 11",
        "4 of 4 seeds [0.40, 1.00]", // scipy.stats.binomtest(4, 4).proportion_ci()
        "no trial failed",
        env!("CARGO_PKG_VERSION"),
        attnlab::run::machine().as_str(),
        "<math><msubsup><mi>W</mi><mi>Q</mi><mi>k</mi></msubsup>",
        "a &lt; b",
        "<svg ",
        "of <i>two</i> points, 10<sup>2</sup>",
        "line.csv",
        "id=\"aot.mssa_is_mhsa\"",
        "id=\"figure-line\"",
        "<optgroup label=\"Subjects\">",
        "<dt>Commit</dt>",
        "<dt>Written</dt>",
        "<title>supported: 1 [",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = page(&[checked()]);
    // Addresses of papers are links, which a reader may follow.
    let mut without_names = page.replace("http://www.w3.org/2000/svg", "");
    for paper in CATALOGUE.rooms().iter().flat_map(|room| room.papers).filter(|paper| !paper.link.is_empty()) {
        without_names = without_names.replace(paper.link, "");
    }
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!without_names.contains(outside), "{outside}");
    }
}

#[test]
fn a_surprise_is_marked() {
    let mut checked = checked();
    checked.report.verdict = VerdictKind::Refuted;
    let page = page(&[checked]);
    assert!(page.contains("claim surprise\"") && page.contains("0 of 1 verdicts"));
}

/// Returns the links of a page to pages of ours, in order.
fn internal(page: &str) -> Vec<&str> {
    let links = page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| !link.starts_with("https:")).collect()
}

#[test]
fn every_link_of_the_page_holds() {
    let page = page(&[checked()]);
    let links = internal(&page);
    assert!(links.contains(&"#aot.mssa_is_mhsa") && links.contains(&"#figure-line"), "{links:?}");
    for link in links {
        assert!(page.contains(&format!("id=\"{}\"", link.strip_prefix('#').unwrap())), "{link}");
    }
}

#[test]
fn every_link_of_the_site_holds_and_every_page_is_reached() {
    let files = written(&[checked(), checked()], |report| site(report, None)).unwrap();
    let files: BTreeMap<&str, &str> = files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    let mut reached = BTreeSet::from(["index.html", "explore.js"]);
    for (name, page) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        for link in internal(page) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { name } else { file };
            let target = files.get(file).unwrap_or_else(|| panic!("{name}: no file {link}"));
            assert!(anchor.is_empty() || target.contains(&format!("id=\"{anchor}\"")), "{name}: no {link}");
            reached.insert(file);
        }
    }
    assert_eq!(reached, files.keys().copied().collect());
    let claim = files["aot.mssa_is_mhsa-2.html"];
    for part in
        ["<blockquote", "<h3>Mutants</h3>", "4 of 4 seeds", "id=\"figure-line\"", "line.csv", "--seed 9 --trials 8"]
    {
        assert!(claim.contains(part), "no {part}");
    }
}

/// With the address of the page in a browser, a claim leads to its check there, with the settings of its command.
#[test]
fn a_claim_of_the_site_leads_to_the_page() {
    let claims = |runner| {
        let files = written(&[checked()], |report| site(report, runner)).unwrap();
        files.into_iter().find(|file| file.name == "aot.mssa_is_mhsa.html").unwrap().text
    };
    let link = "<a href=\"../page/index.html#check=aot.mssa_is_mhsa&amp;seed=9&amp;trials=8\">Run it yourself</a>";
    assert!(claims(Some("../page/index.html")).contains(link));
    assert!(!claims(None).contains("Run it yourself"));
}

/// A row keeps enough to show the verdict again, with the command that makes it.
#[test]
fn verdicts_survive_their_rows() {
    let claim = crate::common::claim("aot.lemma1");
    let options = CheckOptions { trials: Some(5), seed: 2, beyond_hypotheses: true, ..CheckOptions::default() };
    let report = check(&*claim, &Map::new(), &options, &Silent).unwrap();
    let manifest = Manifest::new("reproduce", 2, Map::new());
    let again = |verdict: &Found| {
        let (parameters, data) = keep(verdict);
        let row = Row::new(&manifest, 1, 0, parameters, data);
        restore(&serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap(), &CATALOGUE).unwrap()
    };
    let before = Found::Claim(Checked::here(&claim, report));
    let after = again(&before);
    assert_eq!(json!(before.report()), json!(after.report()));
    let Found::Claim(checked) = &after else { panic!("a verdict of another kind") };
    let command = &checked.origin.command;
    assert!(command.starts_with("attnlab check aot.lemma1 --seed 2"), "{command}");
    assert!(command.ends_with("--trials 5 --beyond-hypotheses"), "{command}");

    let options = CheckOptions { seed: 2, ..CheckOptions::default() };
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let (variants, reports) = (claim.mutants(), mutants(&*claim, &options, 2, &Silent).unwrap());
    let before = MutantResult::here(&variants[0], reports.into_iter().next().unwrap());
    let after = again(&Found::Mutant(before.clone()));
    let Found::Mutant(after) = after else { panic!("a verdict of another kind") };
    assert_eq!((after.seeds, after.refuted), (2, 2));
    assert_eq!((after.name, after.says), (before.name, before.says));
    assert_eq!(after.first.origin, before.first.origin);

    let mut foreign = Row::new(&manifest, 1, 0, Map::new(), Map::new());
    foreign.parameters.insert("claim".into(), "aot.lemma9/".into());
    let error = restore(&foreign, &CATALOGUE).err().unwrap().to_string();
    assert!(error.contains("aot.lemma9"), "{error}");
}

#[test]
fn a_card_stands_alone() {
    let card = attnlab::report::card(&checked(), &[]);
    for part in ["aot.mssa_is_mhsa", "class=\"verdict", "<math", "Promise", "<style>.attnlab {"] {
        assert!(card.contains(part), "no {part}");
    }
    let (head, _) = card.split_once("<summary>").unwrap();
    assert!(head.ends_with('>') && head.rsplit_once('<').unwrap().1.contains(" open "), "{head}");
}

/// The opener of the system gets the page; without one, a note says so and the page is written all the same.
#[cfg(target_os = "linux")]
#[test]
fn the_page_is_opened_in_the_browser() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (runs, page, programs) = (path("runs"), path("page.html"), path("programs"));
    let tau = ["reproduce", "--only", "aot.tau_interval", "--out", &runs];
    assert_eq!(crate::common::attnlab(&tau).output().unwrap().status.code(), Some(0));
    std::fs::create_dir(&programs).unwrap();
    let open = || {
        let output =
            crate::common::attnlab(&["report", &runs, "--out", &page, "--open"]).env("PATH", &programs).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(open(), format!("note: no program here opens {page}. Open it in a browser\n"));
    let (opener, opened) = (path("programs/xdg-open"), path("opened"));
    let script = path("script");
    std::fs::write(&script, format!("#!/bin/sh\nprintf %s \"$1\" > {opened}\n")).unwrap();
    // Another process makes the program: a copy of a file that this one has open for writing may be in a process that
    // another test is just starting, and such a file cannot be executed.
    assert!(std::process::Command::new("install").args(["-m", "755", &script, &opener]).status().unwrap().success());
    assert_eq!(open(), "");
    // The command does not wait for an opener that takes long, as on a busy machine.
    let begun = std::time::Instant::now();
    while std::fs::read_to_string(&opened).ok().as_ref() != Some(&page) {
        assert!(begun.elapsed() < crate::common::limit(), "{opened}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
