//! `attnlab inspect`: findings on draws, every option, bad input.

use crate::catalogue;
use crate::drawn::{Files, command};
use attnlab_aot::arrays::{TokensAre, list};
use attnlab_aot::horizon::horizon_of_tokens;
use attnlab_aot::inspect::{Controls, How, PowerOptions, Stages, inspect, inspect_layers, inspect_place};
use attnlab_aot::unroll::Data;
use attnlab_core::npy;
use attnlab_core::rng::Streams;
use attnlab_lab::run::{Lines, Silent, store};
use attnlab_theory::attention::streaming::Cpu;
use attnlab_theory::fit::Options;
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, Array3, s};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn an_inspection_finds_the_draw_and_writes_everything() {
    let files = Files::small();
    let z = files.path_of("z.npy");
    let rows = files.inspected(&["--activations", &z, "--tokens-are", "columns"]).unwrap();
    let data = &rows[0].data;
    assert_eq!((&data["dims"], &data["counts"]), (&json!([40, 40]), &json!([200, 200])));
    assert_eq!(data["verdict"], "consistent");
    assert!((rows[0].number("delta").unwrap() / 0.05 - 1.0).abs() < 0.05);
    // The printed hypotheses of Theorem 1, with the margins of the claim.
    let tokens = &data["hypotheses"]["tokens (11)"];
    let needed = 8.0 * std::f64::consts::PI * 4.0 * 400.0_f64.ln().powi(3);
    assert!((tokens["margin"].as_f64().unwrap() - (400.0 - needed)).abs() < 1e-9);
    assert_eq!((&tokens["holds"], data["hypotheses"].as_object().unwrap().len()), (&json!(false), 5));
    for control in ["permuted", "gaussian"] {
        assert_eq!(data[control]["verdict"], "not-such-a-mixture", "{control}");
    }
    assert_eq!(data["labels"]["theta_crit"], 1.0);
    for name in ["rows.jsonl", "rows.csv", "inspect.html", "inspect.png", "inspect.csv"] {
        assert!(Path::new(&files.path_of("inspected")).join(name).exists(), "{name}");
    }
    let page = files.page();
    let summary = "1 array: 1 of 1 consistent with Definition 1, 0 not such a mixture, 0 undecided.";
    for word in [summary, "Hypotheses of Theorem 1", "N &gt;= 8 pi K^2 log^3 N", "not such a mixture", "<svg"] {
        assert!(page.contains(word), "{word}");
    }
    let again =
        ["inspect", "--activations", &z, "--tokens-are", "columns", "--json", "--out", &files.path_of("inspected")];
    command(&again).unwrap();
    assert_eq!(store::read(Path::new(&files.path_of("inspected"))).unwrap().rows, rows);
}

/// With the bases and labels of the draw, the horizon is that of `horizon`.
#[test]
fn known_bases_give_the_horizon_of_the_draw() {
    let files = Files::small();
    let [z, u, v, y] = ["z.npy", "u0.npy", "u1.npy", "y.npy"].map(|name| files.path_of(name));
    let known = ["--activations", &z, "--tokens-are", "columns", "--bases", &u, &v, "--labels", &y];
    let rows = files.inspected(&known).unwrap();
    let expected = horizon_of_tokens(&Cpu, &files.data(), 0.5, 0.55, &Silent).unwrap();
    assert_eq!(rows[0].number("theta_crit").unwrap(), expected.theta_crit.unwrap());
    assert_eq!(rows[0].data["verdict"], "consistent");
    let wrong = [&known[..4], &["--bases", &u, &u, "--labels", &y]].concat();
    assert!(files.inspected(&wrong).unwrap_err().contains("jointly orthonormal"));
    let few = [&known[..4], &["--bases", &u, "--labels", &y]].concat();
    assert!(files.inspected(&few).unwrap_err().contains("labels[200] = 1"));
}

/// Rows are tokens, a third axis is layers, the scale and the mean are taken out on request.
/// A wrong call leaves no folder behind, and one with results as it was, with --force too.
#[test]
fn refusals_come_before_the_folder() {
    let files = Files::small();
    let z = files.path_of("z.npy");
    let tokens = files.data().tokens;
    let zeros = files.written("zeros.npy", &Array2::zeros(tokens.dim()));
    let mut one_nan = tokens.clone();
    one_nan[[2, 3]] = f64::NAN;
    let nan = files.written("nan.npy", &one_nan);
    let doubled = files.written("doubled.npy", &(2.0 * &files.data().bases[0]));
    let (labels, last) = (files.path_of("y.npy"), files.path_of("u1.npy"));
    let inspected = files.path_of("kept");
    command(&["inspect", "--activations", &z, "--tokens-are", "columns", "--no-controls", "--out", &inspected])
        .unwrap();
    let results = || {
        let mut files: Vec<_> = fs::read_dir(&inspected).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect::<Vec<_>>()
    };
    let before = results();
    for (activations, options, problem) in [
        (&z, vec!["--clusters", "500"], "clusters = 500"),
        (&z, vec!["--most-clusters", "201"], "most-clusters = 201"),
        (&zeros, vec![], "must not all be zero"),
        (&nan, vec![], "NaN"),
        (&z, vec!["--tau", "2"], "tau = 2"),
        (&z, vec!["--bases", &last, "--labels", &labels], "labels"),
    ] {
        for (out, force) in [(&files.path_of("runs/new"), false), (&inspected, true)] {
            let words = ["inspect", "--activations", activations, "--tokens-are", "columns", "--out", out];
            let words = [&words[..], &options, if force { &["--force"] } else { &[] }].concat();
            let refused = command(&words).unwrap_err();
            assert!(refused.contains(problem), "{refused}");
            assert!(!Path::new(&files.path_of("runs")).exists(), "{problem}");
            assert!(results() == before, "{problem}");
        }
    }
    // Found by the fit alone: what was begun is taken back.
    let bases = ["--bases", &doubled, &last, "--labels", &labels];
    let words =
        [&["inspect", "--activations", &z, "--tokens-are", "columns", "--out", &files.path_of("runs/new")], &bases[..]];
    assert!(command(&words.concat()).unwrap_err().contains("orthonormal columns"));
    assert!(!Path::new(&files.path_of("runs")).exists());
}

/// A number of clusters that one array does not allow, in dimensions or in tokens, leaves the others their verdicts. The
/// array says why in its row, on the page and on the terminal.
#[test]
fn an_impossible_number_of_clusters_ends_no_other_array() {
    let files = Files::small();
    let tokens = files.data().tokens;
    let flat = files.written("flat.npy", &tokens.slice(s![..2, ..]).to_owned());
    let short = files.written("short.npy", &tokens.slice(s![.., ..5]).to_owned());
    let options = ["--tokens-are", "columns", "--clusters", "3", "--power-draws", "0", "--no-controls"];
    let z = files.path_of("z.npy");
    let rows = files.inspected(&[&["--activations", &flat, &short, &z][..], &options].concat()).unwrap();
    let page = files.page();
    for (row, reason) in rows.iter().zip([
        "clusters = 3: must leave tokens in every cluster; the tokens span 2 dimensions, and every cluster needs one",
        "clusters = 3: must be a whole number from 1 to 2, half the number of tokens",
    ]) {
        assert_eq!((&row.data["verdict"], &row.data["reasons"]), (&json!("undecided"), &json!([reason])));
        assert!(!row.data.contains_key("clusters") && page.contains(reason), "{reason}");
    }
    assert_eq!((&rows[2].data["clusters"], &rows[2].data["tokens"]), (&json!(3), &json!(400)));
    // Where none can be fitted, that is an error, and an array alone leaves no folder behind.
    for (arrays, problem) in [
        (&[&flat, &flat][..], "arrays = 2: at least one must be fitted; the first says: clusters = 3"),
        (&[&short, &short][..], "half the number of tokens"),
        (&[&flat][..], "the tokens span 2 dimensions"),
    ] {
        let out = files.path_of(if arrays.len() == 1 { "runs/new" } else { "inspected" });
        let arrays: Vec<&str> = arrays.iter().map(|name| name.as_str()).collect();
        let words = [&["inspect", "--out", &out, "--force", "--activations"][..], &arrays, &options].concat();
        let refused = command(&words).unwrap_err();
        assert!(refused.contains(problem), "{refused}");
    }
    assert!(!Path::new(&files.path_of("runs")).exists());
}

/// Numbers of clusters that the search cannot try are in the row, and on the page, with the reason.
#[test]
fn impossible_numbers_of_clusters_are_shown() {
    let files = Files::sampled(&["--tokens", "120", "--dim", "2", "--delta", "0.1"]);
    let z = files.path_of("z.npy");
    let options = ["--tokens-are", "columns", "--power-draws", "0", "--no-controls"];
    let rows = files.inspected(&[&["--activations", z.as_str()][..], &options].concat()).unwrap();
    let reason = "5 to 16: the tokens span 4 dimensions, and every cluster needs one";
    assert_eq!(rows[0].data["clusters_impossible"], json!([reason]));
    assert!(files.page().contains(&format!("2 (not possible: {reason})")));
}

/// Repeated tokens are no draw of a continuous law, whatever the power, and none is measured.
#[test]
fn a_rejection_that_is_certain_needs_no_draws() {
    let files = Files::small();
    let two = files.data().tokens.select(ndarray::Axis(1), &(0..64).map(|i| i % 2).collect::<Vec<_>>());
    let path = files.written("two.npy", &two);
    let rows = files.inspected(&["--activations", &path, "--tokens-are", "columns", "--no-controls"]).unwrap();
    let data = &rows[0].data;
    assert_eq!(data["verdict"], "not-such-a-mixture");
    assert!(data["reasons"][0].as_str().unwrap().starts_with("only 2 of 64 tokens are different"), "{data:?}");
    for name in ["power", "power_low", "power_high", "power_draws", "power_of"] {
        assert!(data[name].is_null(), "{name}");
    }
    assert!(files.page().contains("not measured"));
}

/// Every K of a fit, every draw and every fit of a control is a line.
#[test]
fn an_inspection_reports_its_steps() {
    let tokens = Mixture::balanced(160, 2, 8, 0.1).unwrap().draw(&Streams::new(1, "t", 0, 0)).unwrap().tokens;
    let lines = Lines::default();
    let stages = Stages { name: "array z", progress: &lines };
    let how = How { power: PowerOptions { draws: 20, network: None }, ..How::default() };
    let streams = Streams::new(2, "t", 0, 0);
    let inspected = inspect_place(tokens.view(), &how, &streams, stages).unwrap();
    assert!(inspected.refusal.is_none() && inspected.mean.is_none());
    // Nobody who looks on changes the findings.
    assert_eq!(inspected.findings, inspect(tokens.view(), &how, &streams).unwrap());
    let lines = lines.lines();
    assert!(lines.iter().all(|line| line.ends_with(" left")), "{lines:?}");
    for (stage, last) in [("fit", "7 of 18"), ("power", "6 of 6"), ("coordinates permuted", ""), ("Gaussian", "")] {
        let of_stage = lines.iter().filter(|line| line.starts_with(&format!("array z, {stage}: step ")));
        let (first, end) = (of_stage.clone().next().unwrap(), of_stage.clone().next_back().unwrap());
        assert!(first.contains("step 1 of ") && end.contains(&format!("{last}, ")), "{lines:?}");
    }
}

#[test]
fn orientation_layers_scale_and_mean() {
    let files = Files::small();
    let z = files.data().tokens;
    let layers = Array3::from_shape_fn((2, 400, 80), |(l, i, j)| z[[j, i]] * (1.0 + l as f64) + l as f64);
    let path = files.path_of("layers.npy");
    npy::write(&layers, fs::File::create(&path).unwrap()).unwrap();
    let three = list(&[path.clone().into()], TokensAre::Rows).unwrap();
    assert_eq!((three[1].name.as_str(), three[1].shape), ("layers[1]", (80, 400)));
    let plain = ["--activations", path.as_str(), "--tokens-are", "rows", "--no-controls", "--power-draws", "0"];
    let rows = files.inspected(&plain).unwrap();
    assert_eq!(rows[0].data["verdict"], "consistent");
    assert_eq!(rows[1].data["verdict"], "not-such-a-mixture");
    assert!(!rows[0].data.contains_key("permuted"));
    let options = ["--scale", "fitted", "--centre", "--clusters", "2", "--eta", "0.3", "--tau", "0.6"];
    let more = ["--level", "0.9", "--test-level", "0.05", "--seed", "7"];
    let rows = files.inspected(&[&plain[..], &options[..], &more[..]].concat()).unwrap();
    assert!((rows[1].number("scale").unwrap() / 2.0 - 1.0).abs() < 0.05);
    assert_eq!(rows[1].data["dims"], json!([40, 40]));
    let [first, second] = [0, 1].map(|i| rows[i].number("theta_crit").unwrap());
    assert!((first / second - 1.0).abs() < 0.2, "{first} {second}");
    let few = files.inspected(&[&plain[..], &["--most-clusters", "1"]].concat()).unwrap();
    assert_eq!(few[0].data["clusters"], 1);
}

/// Six draws of six show a power above one half: its row, its words on the page, and the interval of the horizon. The
/// mixture is large enough for the horizon in the fitted bases to be near that in those of the draw.
#[test]
fn a_verdict_has_a_power_and_a_horizon_an_interval() {
    let files = Files::small();
    let z = files.path_of("z.npy");
    let given = ["--activations", z.as_str(), "--tokens-are", "columns", "--no-controls"];
    let rows = files.inspected(&given).unwrap();
    let data = &rows[0].data;
    assert_eq!((&data["power"], &data["power_draws"]), (&json!(1.0), &json!(6)));
    assert!((data["power_low"].as_f64().unwrap() - 0.025_f64.powf(1.0 / 6.0)).abs() < 1e-12);
    assert!(data["power_of"].as_str().unwrap().starts_with("K = 2, p = 40, N_k = 200, delta = 0.0"));
    assert_eq!(data["horizon_of"], "fitted subspaces");
    let [low, fitted, high] = ["theta_crit_low", "theta_crit", "theta_crit_high"].map(|n| data[n].as_f64().unwrap());
    assert!(low < high && low / 1.3 < fitted && fitted < 1.3 * high, "{low} {fitted} {high}");
    let exact = horizon_of_tokens(&Cpu, &files.data(), 0.5, 0.55, &Silent).unwrap().theta_crit.unwrap();
    assert!(low <= exact && exact <= high, "{low} {exact} {high}");
    let page = files.page();
    assert!(page.contains("of true mixtures of K = 2, p = 40, N_k = 200"));

    let rows = files.inspected(&[&given[..], &["--power-draws", "0"]].concat()).unwrap();
    let data = &rows[0].data;
    assert!(data["power"].is_null() && data["power_draws"].is_null() && data["theta_crit_low"].is_null());
    assert!(files.page().contains("not measured"));
    let few = files.inspected(&[&given[..], &["--power-draws", "5"]].concat()).unwrap_err();
    assert!(few.contains("power-draws = 5: must be 0, which measures no power, or at least 6"), "{few}");
    let rows = files.inspected(&[&given[..], &["--most-clusters", "1"]].concat()).unwrap();
    assert_eq!(rows[0].data["verdict"], "undecided");
    let reason = rows[0].data["reasons"][0].as_str().unwrap();
    assert!(reason.contains("ended at its limit, 1 clusters: try --most-clusters 4"), "{reason}");
}

/// Fitted bases give another horizon than those of the draw, by a quarter and more with few tokens. Of ten draws with 1.5 and 3
/// tokens a dimension, at most two lie outside their interval at 95 % (P = 0.01).
#[test]
fn the_interval_of_a_horizon_holds_that_with_the_true_bases() {
    let sizes = [
        Mixture { ambient: 40, ..Mixture::balanced(24, 2, 8, 0.05).unwrap() },
        Mixture::balanced(60, 2, 10, 0.1).unwrap(),
    ];
    let options = Options { most_clusters: 4, ..Options::default() };
    let power = PowerOptions { draws: 6, network: None };
    let how = How { controls: Controls::None, options, power, ..How::default() };
    let mut outside = vec![];
    for trial in 0..10 {
        let draw = sizes[trial as usize % 2].draw(&Streams::new(3, "horizon", 0, trial)).unwrap();
        let findings = inspect(draw.tokens.view(), &how, &Streams::new(4, "t", 0, trial)).unwrap();
        let [low, high] = ["theta_crit_low", "theta_crit_high"].map(|name| findings[name].as_f64());
        let Some((low, high)) = low.zip(high) else { continue };
        let data = Data::new(draw.tokens, draw.bases, draw.labels).unwrap();
        let exact = horizon_of_tokens(&Cpu, &data, 0.5, 0.55, &Silent).unwrap().theta_crit.unwrap();
        outside.push(!(low..=high).contains(&exact));
    }
    assert!(outside.len() >= 6, "{outside:?}");
    assert!(outside.iter().filter(|o| **o).count() <= 2, "{outside:?}");
}

#[test]
fn the_seam_takes_layers_in_memory() {
    let draw = |trial| Mixture::balanced(160, 2, 8, 0.1).unwrap().draw(&Streams::new(1, "t", 0, trial)).unwrap();
    let layers = (0..2).map(|l| Ok((format!("layer {l}"), draw(l).tokens)));
    let mut shown = vec![];
    let streams = Streams::new(2, "t", 0, 0);
    let mut show = |name: String, data: serde_json::Map<String, Value>| {
        shown.push((name, data["dims"].clone()));
        Ok(())
    };
    inspect_layers(layers, &How::default(), &streams, &mut show).unwrap();
    assert_eq!(shown, [("layer 0".to_string(), json!([8, 8])), ("layer 1".to_string(), json!([8, 8]))]);
    let bad = How { tau: 1.5, ..How::default() };
    assert!(inspect(draw(0).tokens.view(), &bad, &streams).unwrap_err().to_string().contains("tau = 1.5"));
    let nan = Array2::from_elem((4, 9), f64::NAN);
    assert!(inspect(nan.view(), &How::default(), &streams).unwrap_err().to_string().contains("tokens[0, 0]"));
}

/// The examples of the help texts run as they are written, on files of their names, and a network on few tokens.
#[test]
fn examples_of_the_help_run() {
    let files = Files::sampled(&["--tokens", "160", "--dim", "8", "--delta", "0.1"]);
    let rows = files.data().tokens.reversed_axes();
    files.written("layer1.npy", &rows.as_standard_layout().to_owned());
    let data: Vec<u8> = rows.iter().flat_map(|x| x.to_le_bytes()).collect();
    let header = json!({"states": {"dtype": "F64", "shape": [160, 16], "data_offsets": [0, data.len()]}}).to_string();
    let safetensors = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(files.path_of("states.safetensors"), safetensors).unwrap();
    fs::copy(crate::data("passage.txt"), files.path_of("book.txt")).unwrap();
    let llama = crate::data("llama.gguf");
    let mut ran = 0;
    for name in ["sample", "inspect"] {
        let catalogue = catalogue();
        let command_of = catalogue.commands().find(|c| c.describe().get_name() == name).unwrap();
        let help = command_of.describe().render_long_help().to_string();
        for line in help.lines().filter(|l| l.trim().starts_with("attnlab ")) {
            let words = line.trim().split(" is that of").next().unwrap();
            let mut arguments: Vec<String> = vec![];
            for word in words.split_whitespace().skip(1) {
                match word {
                    // The network of these examples has 32 tokens of context.
                    "SmolLM2-135M" | "all-MiniLM-L6-v2" => arguments.push(llama.to_str().unwrap().into()),
                    "512" => arguments.push("24".into()),
                    "4096" => arguments.push("96".into()),
                    "layer*.npy" => arguments.push(files.path_of("layer1.npy")),
                    "runs/draw/u*.npy" => {
                        arguments.extend([files.path_of("runs/draw/u0.npy"), files.path_of("runs/draw/u1.npy")])
                    }
                    word if word.contains('.') && !word.starts_with(char::is_numeric) && !word.starts_with("aot.") => {
                        arguments.push(files.path_of(word));
                    }
                    word if word.starts_with("runs/") => arguments.push(files.path_of(word)),
                    word => arguments.push(word.to_string()),
                }
            }
            if name == "inspect" {
                arguments.extend(["--out".into(), files.path_of(&format!("runs/inspect{ran}"))]);
                if line.contains("--text") && !line.contains("--tokens") {
                    arguments.extend(["--tokens", "96", "--window", "24"].map(String::from));
                }
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            command(&arguments).unwrap_or_else(|e| panic!("{line}: {e}"));
            ran += 1;
        }
    }
    assert_eq!(ran, 11);
}
