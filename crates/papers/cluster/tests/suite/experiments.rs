//! The experiments: rows do not depend on threads, figures hold what the rows say, and rows agree with the theory.

use attnlab_cluster::theory::{long_context, modes, pair};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::run::Row;
use attnlab_lab::sheet_test::assert_reproducible;
use attnlab_networks::transformer::Recordings;
use attnlab_networks::{Transformer, Windows, text};
use ndarray::s;

/// The tiny random Llama whose forward pass is held to that of its reference implementation, and a text.
macro_rules! files {
    () => {
        concat!(
            "network = '",
            env!("CARGO_MANIFEST_DIR"),
            "/crates/networks/tests/data/llama.gguf'\n",
            "text = '",
            env!("CARGO_MANIFEST_DIR"),
            "/crates/networks/tests/data/passage.txt'"
        )
    };
}

/// Rows of an experiment, with settings of a second or two at most. Rows and figures do not depend on threads, and every
/// panel shows something.
fn rows(id: &str, set: &str) -> Vec<Row> {
    let catalogue = Catalogue::new().with(attnlab_cluster::room());
    let experiment = catalogue.experiment(id).unwrap().configure(true, None, &set.parse().unwrap()).unwrap();
    let (rows, figures) = assert_reproducible(&*experiment, 5, tempfile::tempdir().unwrap().path());
    for panel in figures.iter().flat_map(|figure| &figure.panels) {
        assert!(panel.points().filter(|point| point.y.is_finite()).count() > 1, "{id}: {}", panel.title);
    }
    rows
}

/// Groups merge, and the energy of a gradient flow rises to that of one point.
#[test]
fn energy_rises() {
    let set = "trials = 2\ncircle_tokens = 12\nsphere_tokens = 8\ncircle_betas = [4.0]\nsphere_betas = [4.0]\n\
               until = 1e3\npoints = 9";
    for row in rows("cluster_trajectories", set) {
        let energy = row.series("energy").unwrap();
        assert!(energy.windows(2).all(|w| w[1] >= w[0] - 1e-6), "{energy:?}");
        assert!(energy[8] <= 1.0 + 1e-12);
        let groups = row.series("groups").unwrap();
        assert!(groups[8] < groups[0], "{groups:?}");
        let tokens = row.parameter("n").unwrap() as usize;
        assert_eq!(row.series("cluster").unwrap().len(), tokens);
        assert_eq!(row.series("angle").unwrap().len(), 9 * tokens);
    }
}

#[test]
fn the_closest_pair_follows_its_law() {
    let [mass_i, mass_j] = [0.1, 0.3];
    let set = "trials = 2\npoints = 26\nbetas = [60.0]\nratios = [1.0, 3.0]\nduration_betas = [20.0, 100.0]";
    for row in rows("cluster_pair", set) {
        if row.word("part").unwrap() == "path" {
            // At β = 60 all that the law leaves out is below e^{-β(1 - cos θ)} while θ > 0.5.
            for (k, angle) in row.series("angle").unwrap().iter().enumerate() {
                let s = 0.5 * (k + 1) as f64 / 26.0;
                let law = pair::angle(0.8, mass_i, mass_j, s);
                assert!(law < 0.5 || (angle - law).abs() < 0.02, "{s}: {angle} {law}");
            }
            continue;
        }
        let [beta, a, b] = ["beta", "mass_i", "mass_j"].map(|name| row.parameter(name).unwrap());
        let (time, law) = (row.number("time").unwrap(), pair::duration(beta, 0.8, 0.4, a, b));
        let tolerance = if beta < 50.0 { 0.2 } else { 0.02 };
        assert!((time / law - 1.0).abs() < tolerance, "{beta} {a} {b}: {time} {law}");
    }
}

#[test]
fn a_token_keeps_itself_above_the_transition() {
    let transition = long_context::transition(4.0);
    let set = "trials = 2\ncontexts = [50, 200]\ngammas = [0.2, 2.0]\npairs = 20";
    for row in rows("cluster_long_contexts", set) {
        let (weight, gamma) = (row.number("own").unwrap(), row.parameter("gamma").unwrap());
        assert!(if gamma < transition { weight < 0.2 } else { weight > 0.8 }, "{gamma}: {weight}");
    }
}

/// With the softmax the count is that of the fastest mode, 2 at β = 2 and 4 at β = 8, up to a factor of 2 that the draw has.
#[test]
fn first_clusters_are_as_many_as_the_fastest_mode() {
    for row in rows("cluster_first", "trials = 2\ntokens = 200\nbetas = [2.0, 8.0]") {
        let (count, fastest) = (row.number("count").unwrap(), modes::fastest(row.parameter("beta").unwrap()) as f64);
        assert!(count >= 1.0 && row.number("time").unwrap() < 10.0, "{row:?}");
        if row.word("model").unwrap() == "sa" {
            assert!((0.5 * fastest..=2.0 * fastest).contains(&count), "{count} {fastest}");
        }
    }
}

/// The printed bound holds at every layer, for residuals from the mean too, and small ones are cubed.
#[test]
fn residuals_stay_below_the_bound() {
    for row in rows("cluster_collapse", "trials = 2\ndim = 8\nlayers = 3\ntokens = 12\ncontexts = [8, 32]") {
        let (residuals, constants) = (row.series("residual").unwrap(), row.series("constant").unwrap());
        for (pair, constant) in residuals.windows(2).zip(&constants) {
            let ratio = pair[1] / (constant * pair[0].powi(3));
            assert!(ratio <= 1.0, "{pair:?} {constant}");
            // Between 6e-6 and 3e-5 in Python for n = 32 and d = 16.
            assert!(pair[0] > 1.0 || ratio > 1e-7, "{pair:?} {constant}");
        }
    }
}

/// The tokens of a network are those of its forward pass, the law starts from its embedding, and uniform tokens are what
/// chance alone gives.
#[test]
fn a_network_is_measured_at_every_place() {
    let rows = rows("cluster_network", concat!("trials = 2\nwindow = 24\nbetas = [2.0]\n", files!()));
    let of = |variant: &str| rows.iter().find(|row| row.word("variant").unwrap() == variant).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/networks/tests/data/");
    let network = Transformer::open(format!("{folder}llama.gguf").as_ref()).unwrap();
    let passage = text::read(format!("{folder}passage.txt").as_ref(), 1 << 20, "").unwrap();
    let windows =
        Windows::of_text(&passage, &network.tokenizer().unwrap(), network.architecture(), [24, 24, 1]).unwrap();
    let pass = network.forward(windows.ids(), &Recordings::all()).unwrap();
    let places = std::iter::once(&pass.embedding).chain(pass.layers.iter().map(|layer| &layer.residual));
    for (place, stream) in places.enumerate() {
        // Term by term, without the first token.
        let z = stream.as_ref().unwrap().slice(s![.., 1..]).mapv(f64::from);
        let (n, mut energy, mut sum, mut closest) = (z.ncols(), 0.0, 0.0, f64::INFINITY);
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (z.column(i), z.column(j));
                let cosine = a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt();
                energy += (4.0 * (cosine - 1.0)).exp() / (n * n) as f64;
                if i != j {
                    sum += cosine / (n * (n - 1)) as f64;
                }
                if windows.ids()[i + 1] != windows.ids()[j + 1] {
                    closest = f64::min(closest, cosine.acos());
                }
            }
        }
        let recorded = |name: &str| of("trained").series(name).unwrap()[place];
        for (name, plain) in [("energy", energy), ("mean_cosine", sum), ("closest", closest)] {
            assert!((recorded(name) - plain).abs() < 1e-9, "{name} at {place}: {} {plain}", recorded(name));
        }
    }
    for name in ["groups", "energy", "effective_rank", "closest", "neighbour", "mean_cosine"] {
        let [trained, law] = ["trained", "law"].map(|variant| of(variant).series(name).unwrap());
        assert!((trained[0] - law[0]).abs() < 1e-9 * trained[0].abs(), "{name}: {trained:?} {law:?}");
        assert_eq!(trained.len(), network.architecture().layers + 1);
        assert_eq!(trained.len(), law.len());
        assert_eq!(of("uniform").series(name).unwrap().len(), 1);
    }
    // The mean of 253 cosines of variance 1/d, nearly independent.
    let d = network.architecture().width as f64;
    let chance = of("uniform").series("mean_cosine").unwrap()[0];
    assert!(chance.abs() < 5.0 / (253.0 * d).sqrt(), "{chance}");
}

#[test]
fn a_network_and_a_text_are_asked_for() {
    let catalogue = Catalogue::new().with(attnlab_cluster::room());
    let refused = |set: &str| {
        let experiment = catalogue.experiment("cluster_network").unwrap().configure(true, None, &set.parse().unwrap());
        experiment.unwrap().ready().unwrap_err().to_string()
    };
    assert_eq!(refused(""), "network = \"\": must be a path. Give it with --set network=PATH");
    assert_eq!(refused("network = 'n'"), "text = \"\": must be a path. Give it with --set text=PATH");
    for (set, part) in [
        ("trials = 4000\nwindow = 24\n", "trials = 4000: must be at most "),
        ("window = 24\nskip = 30\n", "window = 24: must be at least "),
        ("window = 100000\n", "window = 100000: must be at most the context"),
    ] {
        let message = refused(&format!("{set}{}", files!()));
        assert!(message.starts_with(part), "{message}");
    }
}
