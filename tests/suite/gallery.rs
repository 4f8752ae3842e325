//! Numbers in the pages beside the gallery are those of the pictures' tables.

use std::path::Path;

/// One line of the table behind a picture.
#[derive(Clone)]
struct Mark {
    panel: String,
    series: String,
    x: f64,
    y: f64,
    low: f64,
    high: f64,
}

fn number(record: &csv::StringRecord, column: usize) -> f64 {
    record[column].parse().unwrap_or(f64::NAN)
}

/// The table behind a picture of the gallery.
fn table(name: &str) -> Vec<Mark> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("plots/{name}.csv"));
    let mut table = csv::Reader::from_path(path).unwrap();
    assert_eq!(
        table
            .headers()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
            .join(" "),
        "panel title series x_name x y_name y value_name value low high interval"
    );
    let mark = |record: csv::Result<csv::StringRecord>| {
        let record = record.unwrap();
        Mark {
            panel: record[0].into(),
            series: record[2].into(),
            x: number(&record, 4),
            y: number(&record, 6),
            low: number(&record, 9),
            high: number(&record, 10),
        }
    };
    table.records().map(mark).collect()
}

/// The marks of one series of one panel; at least one.
fn series(table: &[Mark], panel: &str, series: &str) -> Vec<Mark> {
    let found = table
        .iter()
        .filter(|m| m.panel == panel && m.series == series);
    let found: Vec<Mark> = found.cloned().collect();
    assert!(!found.is_empty(), "panel {panel} has no series {series:?}");
    found
}

/// A number as the pages write it: with so many digits and no zero before the point.
fn written(x: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", x.abs());
    let sign = if x < 0.0 { "−" } else { "" };
    format!("{sign}{}", text.strip_prefix('0').unwrap_or(&text))
}

/// The least and the largest of some numbers: ".061 to .080".
fn span(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
        (l.min(x), h.max(x))
    });
    format!("{} to {}", written(low, digits), written(high, digits))
}

/// Number in words, as the pages write it.
fn count(marks: &[Mark], holds: impl Fn(&Mark) -> bool) -> &'static str {
    let words = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight",
    ];
    words[marks.iter().filter(|m| holds(m)).count()]
}

/// Requires these words in a page, whatever its line breaks.
fn assert_says(page: &str, words: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(words), "{page} must say: {words}");
}

const JOMA: &str = "docs/training-joma.md";

#[test]
fn table_1_of_joma() {
    let (fast, slow) = (table("joma_table1"), table("joma_table1_rate_1e-5"));
    let above = |m: &Mark| m.low > 0.0;
    let below = |m: &Mark| m.high < 0.0;

    let untrained = series(&fast, "a", "untrained");
    let span_0 = span(untrained.iter().map(|m| m.y), 2);
    assert_says(JOMA, &format!("untrained network has {span_0} in layer 0"));
    for noise in series(&fast, "a", "noise units") {
        assert_eq!(written(noise.y, 2), ".63");
    }
    assert_says(JOMA, "is already .63 at C = 20");

    let gain = series(&fast, "c", "gain");
    let lost = span(gain.iter().map(|m| -m.y), 3);
    let cells = count(&gain, below);
    assert_says(
        JOMA,
        &format!("by {lost}; the interval is below 0 in {cells} of four cells"),
    );

    let gain = series(&fast, "d", "gain");
    let gained = span(gain.iter().map(|m| m.y), 3);
    assert_eq!(count(&gain, above), "four");
    assert_says(
        JOMA,
        &format!("adds {gained} at η = 10⁻⁴, with the interval above 0 in all four cells"),
    );
    let gain = series(&slow, "d", "gain");
    let gained = span(gain.iter().map(|m| m.y), 3);
    let cells = count(&gain, above);
    assert_says(
        JOMA,
        &format!("at 10⁻⁵ by {gained}, above 0 in {cells} of four"),
    );

    let permuted = series(&fast, "d", "gain of permuted latents");
    let gained = span(permuted.iter().map(|m| m.y), 3);
    assert_says(JOMA, &format!("gain {gained} in layer 1 (η = 10⁻⁴)"));
    let difference = |panel| {
        [
            series(&fast, panel, "difference"),
            series(&slow, panel, "difference"),
        ]
        .concat()
    };
    let cells = count(&difference("d"), above);
    assert_says(
        JOMA,
        &format!("above 0 in {cells} of the eight cases of layer 1"),
    );
    assert_eq!(count(&difference("c"), below), "eight");
    assert_says(JOMA, "In layer 0 all eight are below 0");
}

#[test]
fn entropy_while_a_text_is_learnt() {
    let controls = table("joma_text_controls");
    // Ticks: 1 as trained, 2 attention frozen, 3 linear units, 4 shuffled text.
    let at = |what: &str, tick: f64| {
        let marks = series(&controls, "c", what);
        marks.iter().find(|m| (m.x - tick).abs() < 0.3).unwrap().y
    };
    let least = 0.1;
    for what in ["drop", "rebound"] {
        assert!(at(what, 1.0) > least && at(what, 3.0) > least, "{what}");
        assert!(
            at(what, 2.0) < least,
            "{what} without training of queries and keys"
        );
        let share = at(what, 4.0) / at(what, 1.0);
        assert!(
            (0.35..0.65).contains(&share),
            "about half of the {what}: {share}"
        );
    }

    let theorem = table("joma_text_theorem1");
    let drift = |name: &str| series(&theorem, "a", name).last().unwrap().y;
    let whole = drift("step size η");
    assert_eq!(format!("{whole:.3}"), "0.001", "a thousandth");
    assert!((drift("η/2") / whole - 0.5).abs() < 0.05, "half of that");
    assert_eq!(
        format!("{:.1}", drift("control: .55 Σv²")),
        "0.1",
        "a tenth"
    );
}

#[test]
fn order_of_association() {
    let marks = table("joma_association");
    let says = |label: &str| {
        let all = series(&marks, "d", label);
        let first = &all[0];
        for control in &all[1..3] {
            assert!(control.low < 0.0 && control.high > 0.0, "{label}");
        }
        (
            written(first.y, 2),
            written(first.low, 2),
            written(first.high, 2),
        )
    };
    let (value, low, high) = says("label: parent");
    let words = format!(
        "rank correlation {value} after a tenth of it, with a 95 % interval from {low} to {high}"
    );
    assert_says(JOMA, &words);
    let (value, low, high) = says("label: class");
    assert_says(JOMA, &format!("{value} (from {low} to {high})"));
}

#[test]
fn pattern_superposition() {
    let marks = table("joma_patterns");
    let ends = |name: &str| {
        let all = series(&marks, "a", name);
        (all[0].y, all.last().unwrap().y)
    };
    let (before, after) = ends("units with two patterns or more");
    assert_eq!((before, format!("{after:.1}").as_str()), (0.0, "0.5"));
    let (before, after) = ends("the same, queries permuted");
    assert_eq!(before, 0.0);
    let words = format!(
        "with the queries permuted {} of them do, and none before training",
        written(after, 2)
    );
    assert_says(JOMA, &words);
}
