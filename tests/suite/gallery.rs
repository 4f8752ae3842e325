//! Numbers in the pages beside the gallery are those of the pictures' tables.

use crate::common::root;

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
    let mut table = csv::Reader::from_path(root().join(format!("plots/{name}.csv"))).unwrap();
    assert_eq!(
        table.headers().unwrap().iter().collect::<Vec<_>>().join(" "),
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
    let marks: Vec<Mark> = table.iter().filter(|m| m.panel == panel && m.series == series).cloned().collect();
    assert!(!marks.is_empty(), "panel {panel} has no series {series:?}");
    marks
}

/// A number as the pages write it: with so many digits and no zero before the point.
fn written(x: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", x.abs());
    let sign = if x < 0.0 { "−" } else { "" };
    format!("{sign}{}", text.strip_prefix('0').unwrap_or(&text))
}

/// Value and ends of the interval of a mark, as the pages write them.
fn with_interval(mark: &Mark, digits: usize) -> [String; 3] {
    [mark.y, mark.low, mark.high].map(|x| written(x, digits))
}

/// The numbers of some marks, as a list.
fn listed<'a>(marks: impl IntoIterator<Item = &'a Mark>, digits: usize) -> String {
    marks.into_iter().map(|m| written(m.y, digits)).collect::<Vec<_>>().join(", ")
}

/// The least and the largest of some numbers: ".061 to .080".
fn span(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    format!("{} to {}", written(low, digits), written(high, digits))
}

/// Number in words, as the pages write it.
fn count(marks: &[Mark], holds: impl Fn(&Mark) -> bool) -> &'static str {
    let words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"];
    words[marks.iter().filter(|m| holds(m)).count()]
}

/// Requires these words in a page, whatever its line breaks.
fn assert_says(page: &str, words: &str) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
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
    assert_says(JOMA, &format!("by {lost}; the interval is below 0 in {cells} of four cells"));

    let gain = series(&fast, "d", "gain");
    let gained = span(gain.iter().map(|m| m.y), 3);
    assert_eq!(count(&gain, above), "four");
    assert_says(JOMA, &format!("adds {gained} at η = 10⁻⁴, with the interval above 0 in all four cells"));
    let gain = series(&slow, "d", "gain");
    let gained = span(gain.iter().map(|m| m.y), 3);
    let cells = count(&gain, above);
    assert_says(JOMA, &format!("at 10⁻⁵ by {gained}, above 0 in {cells} of four"));

    let gained = span(series(&fast, "d", "gain of permuted latents").iter().map(|m| m.y), 3);
    assert_says(JOMA, &format!("gain {gained} in layer 1 (η = 10⁻⁴)"));
    let difference = |panel| [series(&fast, panel, "difference"), series(&slow, panel, "difference")].concat();
    let cells = count(&difference("d"), above);
    assert_says(JOMA, &format!("above 0 in {cells} of the eight cases of layer 1"));
    assert_eq!(count(&difference("c"), below), "eight");
    assert_says(JOMA, "In layer 0 all eight are below 0");
}

/// The scores after 100 steps beside those of the paper after 10 000.
#[test]
fn table_1_of_joma_beside_the_printed_one() {
    let fast = table("joma_table1");
    let pairs = |panel: &str| -> Vec<(f64, f64)> {
        let trained = series(&fast, panel, "trained").into_iter().map(|m| m.y);
        trained.zip(series(&fast, panel, "as printed").into_iter().map(|m| m.y)).collect()
    };
    let scores = |panel: &str, name: &str| listed(&series(&fast, panel, name), 2);
    let lower = |panel: &str| pairs(panel).into_iter().map(|(t, p)| p - t).filter(|x| *x > 0.0).collect::<Vec<_>>();
    assert_eq!((lower("a").len(), lower("b").len()), (4, 3));
    let words = format!(
        "In layer 0 they are {} where the table has {}, in the order of the picture, lower by {} in all four cells; in \
         layer 1 they are {} where it has {}, lower by {} in three cells and higher in the fourth",
        scores("a", "trained"),
        scores("a", "as printed"),
        span(lower("a").into_iter(), 2),
        scores("b", "trained"),
        scores("b", "as printed"),
        span(lower("b").into_iter(), 2),
    );
    assert_says(JOMA, &words);
}

#[test]
fn further_controls_of_table_1() {
    let marks = series(&table("joma_table1_controls"), "f", "units of block 1");
    let (list, above) = (listed(&marks, 2), count(&marks, |m| m.low > 0.0));
    let words = "in the four cells, with the interval above 0 in";
    assert_says(JOMA, &format!("changes at width 128 and 3 seeds by {list} {words} {above}"));
}

#[test]
fn gains_on_noisy_trees() {
    let marks = table("joma_latents");
    // Bottom latents, then top latents; ρ = .8, then .95.
    let gains = [series(&marks, "c", "gain"), series(&marks, "d", "gain")].concat();
    let with_interval = |m| {
        let [y, low, high] = with_interval(m, 3);
        format!("{y} ({low} to {high})")
    };
    let words: Vec<String> = gains.iter().map(with_interval).collect();
    assert_says(
        JOMA,
        &format!(
            "training changes the score of the bottom latents by {} at ρ = .8 and {} at ρ = .95, that of the top ones by {} \
             and {}",
            words[0], words[1], words[2], words[3]
        ),
    );
    let above = gains.iter().filter(|m| m.low > 0.0).count();
    assert_eq!(above, 0, "no interval lies above 0");
}

/// "3 of 3 (29 to 100 %)".
fn trainings(mark: &Mark, of: f64) -> String {
    let percent = |x: f64| format!("{:.0}", 100.0 * x);
    let (low, high) = (percent(mark.low), percent(mark.high));
    format!("{:.0} of {of} ({low} to {high} %)", mark.y * of)
}

#[test]
fn shares_of_trainings_on_text() {
    // Layer 1 of 1, layers 1 and 2 of 2.
    let marks = table("joma_text");
    let one_layer = series(&marks, "c", "1 at 0.001");
    let two_layers = series(&marks, "c", "2 at 0.001");
    assert_says(JOMA, &format!("one layer does so in {}", trainings(&one_layer[0], 3.0)));
    assert_says(JOMA, &format!("the lower one shows it in {}", trainings(&two_layers[0], 3.0)));
    assert_says(JOMA, &format!("the paper has it, in {}", trainings(&two_layers[1], 3.0)));
    let controls = table("joma_text_controls");
    for (label, words) in [
        ("attention frozen", "never trained do not, in"),
        ("linear units", "linear units do as ReLU units do, in"),
        ("shuffled text", "nothing to attend to but frequencies, does, in"),
        ("another rate", "The pattern is there at twice the rate, in"),
    ] {
        assert_says(JOMA, &format!("{words} {}", trainings(&series(&controls, "d", label)[0], 3.0)));
    }
    let difference = &series(&controls, "f", "difference")[0];
    let [y, low, high] = with_interval(difference, 2);
    assert_says(JOMA, &format!("the rate differs by {y} nats ({low} to {high}, paired by seed)"));

    let places = table("joma_text_positions");
    let last = |name: &str| series(&places, "a", name).last().unwrap().y;
    let words = format!(
        "has {} nats at the last of 35 positions, where uniform attention has {}",
        written(last("at the least mean"), 2),
        written(last("uniform attention"), 2)
    );
    assert_says(JOMA, &words);
}

#[test]
fn entropy_while_a_text_is_learnt() {
    let controls = table("joma_text_controls");
    // Ticks: 1 as trained, 2 attention frozen, 3 linear units, 4 shuffled text.
    let change =
        |what: &str, tick: f64| series(&controls, "c", what).iter().find(|m| (m.x - tick).abs() < 0.3).unwrap().y;
    let least = 0.1;
    for what in ["drop", "rebound"] {
        assert!(change(what, 1.0) > least && change(what, 3.0) > least, "{what}");
        assert!(change(what, 2.0) < least, "{what} without training of queries and keys");
        let share = change(what, 4.0) / change(what, 1.0);
        assert!((0.35..0.65).contains(&share), "about half of the {what}: {share}");
    }

    let theorem = table("joma_text_theorem1");
    let drift = |name: &str| series(&theorem, "a", name).last().unwrap().y;
    let whole = drift("step size η");
    assert_eq!(format!("{whole:.3}"), "0.001", "a thousandth");
    assert!((drift("η/2") / whole - 0.5).abs() < 0.05, "half of that");
    assert_eq!(format!("{:.1}", drift("control: .55 Σv²")), "0.1", "a tenth");
}

#[test]
fn order_of_association() {
    let marks = table("joma_association");
    let correlation = |label: &str| {
        let points = series(&marks, "d", label);
        let first = &points[0];
        for control in &points[1..3] {
            assert!(control.low < 0.0 && control.high > 0.0, "{label}");
        }
        // Linear nodes, the third, show what the layer shows.
        assert!(points[3].low * points[3].high > 0.0 && points[3].y * first.y > 0.0);
        with_interval(first, 2)
    };
    let [value, low, high] = correlation("label: parent");
    let words = format!("rank correlation {value} after a tenth of it, with a 95 % interval from {low} to {high}");
    assert_says(JOMA, &words);
    let [value, low, high] = correlation("label: class");
    assert_says(JOMA, &format!("{value} (from {low} to {high})"));
    let linear = ["label: parent", "label: class"].map(|label| written(series(&marks, "d", label)[3].y, 2));
    assert_says(JOMA, &format!("linear nodes show the same order ({}, {})", linear[0], linear[1]));
    // Panel (f): the co-occurrences ascend, H = 4 to 1.
    for (label, words) in
        [("parent", "with the parent as label, where they are"), ("class", "with the class as label they are")]
    {
        let means = series(&marks, "f", &format!("label: {label}"));
        assert_says(JOMA, &format!("{words} {} for H = 1 to 4", listed(means.iter().rev(), 2)));
    }
    // Of the bands of panel (a) after a tenth of training only that of H = 1 is apart.
    let early = |height: u32| {
        let mark = series(&marks, "a", &format!("H = {height}")).into_iter().find(|m| m.x == 400.0).unwrap();
        (mark.low, mark.high)
    };
    for height in 2..5 {
        assert!(early(1).0 > early(height).1, "H = {height}");
        for other in 2..5 {
            assert!(early(height).0 < early(other).1, "{height} {other}");
        }
    }
}

#[test]
fn pattern_superposition() {
    let marks = table("joma_patterns");
    let ends = |name: &str| {
        let curve = series(&marks, "a", name);
        (curve[0].y, curve.last().unwrap().y)
    };
    let (before, after) = ends("units with two patterns or more");
    assert_eq!((before, format!("{after:.1}").as_str()), (0.0, "0.5"));
    let (before, after) = ends("the same, queries permuted");
    assert_eq!(before, 0.0);
    assert_says(JOMA, &format!("with the queries permuted {} of them do, and none before training", written(after, 2)));
}

/// Groups and effective rank at the embedding and after the last block, as they are and less the mean, and mean cosine.
#[test]
fn tokens_of_networks_as_particles() {
    const PAGE: &str = "docs/real-networks.md";
    let ends = |table: &[Mark], panel: &str, name: &str| {
        let marks = series(table, panel, name);
        [marks[0].y, marks.last().unwrap().y]
    };
    let whole = |x: f64| format!("{x:.0}");
    // Two digits, and whole numbers from 10 on.
    let rank = |x: f64| if x < 10.0 { format!("{x:.1}") } else { whole(x) };
    let cosine = |x: f64| if x < 0.995 { written(x, 2) } else { format!("{x:.1}") };
    for (network, words) in
        [("", "SmolLM2-135M, 255 tokens"), ("_minilm", "MiniLM, 255 tokens"), ("_aot_mssa", "AoT-MSSA, 127 tokens")]
    {
        let [plain, centred] = ["", "_centred"].map(|centred| table(&format!("cluster_network{network}{centred}")));
        for (name, words) in [("as given", words), ("random weights", "random weights")] {
            let of =
                |table: &[Mark], panel, write: &dyn Fn(f64) -> String| ends(table, panel, name).map(write).join(", ");
            let (groups, ranks) = (of(&plain, "a", &whole), of(&plain, "c", &rank));
            let cosines = of(&plain, "d", &cosine);
            let less_mean = [of(&centred, "a", &whole), of(&centred, "c", &rank)].join(" | ");
            assert_says(PAGE, &format!("| {words} | {groups} | {ranks} | {cosines} | {less_mean} |"));
        }
        let laws = |table: &[Mark], panel, write: &dyn Fn(f64) -> String| {
            ["1", "4", "9"].map(|beta| write(ends(table, panel, &format!("law, β = {beta}"))[1])).join("; ")
        };
        let (groups, ranks) = (laws(&plain, "a", &whole), laws(&plain, "c", &rank));
        let less_mean = [laws(&centred, "a", &whole), laws(&centred, "c", &rank)].join(" | ");
        let cosines = laws(&plain, "d", &cosine);
        assert_says(PAGE, &format!("| law, β = 1; 4; 9 | {groups} | {ranks} | {cosines} | {less_mean} |"));
    }
    let first =
        |network: &str, name: &str| series(&table(network), "a", name).iter().position(|mark| mark.y == 1.0).unwrap();
    let [smollm2, minilm] = ["cluster_network", "cluster_network_minilm"].map(|network| first(network, "law, β = 1"));
    assert_says(PAGE, &format!("(after {smollm2} of SmolLM2's 30 blocks, {minilm} of MiniLM's 6)"));
    let untrained = first("cluster_network", "random weights");
    assert_says(PAGE, &format!("architecture with random weights after {untrained}."));
    let angles = ends(&table("cluster_network_centred"), "f", "as given").map(|x| written(x, 2));
    let uniform = series(&table("cluster_network_centred"), "f", "uniform tokens")[0].y;
    assert_says(PAGE, &format!("from {} to {} radian (uniform tokens: {})", angles[0], angles[1], written(uniform, 2)));
}
