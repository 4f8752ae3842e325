//! Networks with written-out derivatives: against JAX's, against finite differences, and longer forms of a sequence.

use attnlab_core::rng::Streams;
use attnlab_joma::network::{Adam, Architecture, Batch, Dropout, Network, Start, Targets, clip};
use proptest::prelude::*;

/// The parameters of tests/reference/network.py.
fn patterned(architecture: Architecture) -> Network<f64> {
    let start = if architecture.projection { Start::Library { equal_blocks: true } } else { Start::FanIn };
    let mut network = Network::new(architecture, start, &Streams::new(0, "test", 0, 0)).unwrap();
    let layout = network.layout().clone();
    let flat = network.parameters_mut();
    for (i, x) in flat.iter_mut().enumerate() {
        *x = 0.3 * (1.7 * i as f64 + 0.2).sin();
    }
    for block in &layout.blocks {
        for norm in [block.norm1, block.norm2] {
            norm.gain.slice_mut(flat).iter_mut().for_each(|x| *x += 1.0);
        }
    }
    network
}

fn against((value, gradient): (f64, Vec<f64>), [loss, norm, along]: [f64; 3]) {
    let gradient_norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let dot: f64 = gradient.iter().enumerate().map(|(i, g)| g * (i as f64).cos()).sum();
    for (number, expected) in [(value, loss), (gradient_norm, norm), (dot, along)] {
        assert!((number - expected).abs() < 1e-10, "{number} {expected}");
    }
}

/// Values printed by tests/reference/network.py. The padding, five and two equal columns there, is one column here.
#[test]
fn loss_and_gradient_are_those_of_jax_latents() {
    let network = patterned(Architecture::latents(7, 6, 10, 3, 4));
    let mut batch = Batch::default();
    batch.push(&[6, 0, 3, 5], 5.0);
    batch.push(&[6, 1, 2, 4], 2.0);
    assert_eq!(network.parameters().len(), 874);
    let expected = [1.5277759309060086, 3.7488387270327634, 2.4116654529658343];
    against(network.loss_and_gradient(&batch, &Targets::last(&batch, &[1, 3], &[0.25, 0.75]), None), expected);
}

#[test]
fn loss_and_gradient_are_those_of_jax_text() {
    let network = patterned(Architecture::text(7, 6, 2));
    let batch = Batch::new(&[vec![0, 3, 5, 1], vec![2, 2, 6, 4]]);
    assert_eq!(network.parameters().len(), 643);
    let expected = [1.966369329055901, 0.8808589619464512, -0.009654583941410583];
    against(network.loss_and_gradient(&batch, &Targets::every(vec![3, 5, 1, 0, 2, 6, 4, 1]), None), expected);
}

/// The derivative along a random direction by central differences, whose error is of the order h² = 1e-10 plus
/// rounding 1e-16/h = 1e-11, except at a kink of ReLU.
fn by_differences(architecture: Architecture, dropout: f64, seed: u64) -> (f64, f64) {
    let network = patterned(architecture);
    let batch = Batch::new(&[vec![1, 4, 4, 2, 0], vec![3], vec![5, 6]]);
    let targets = Targets::every(vec![1, 0, 2, 3, 1, 0, 2, 3]);
    let streams = Streams::new(seed, "test", 0, 0);
    let mask = || (dropout > 0.0).then(|| Dropout::new(dropout, streams.part("dropout", 0)).unwrap());
    let (_, gradient) = network.loss_and_gradient(&batch, &targets, mask().as_mut());
    let direction: Vec<f64> = (0..gradient.len()).map(|i| ((i as f64 + 1.0) * (seed as f64 + 0.37)).sin()).collect();
    let h = 1e-5;
    let moved = |sign: f64| {
        let mut other = network.clone();
        other.parameters_mut().iter_mut().zip(&direction).for_each(|(x, v)| *x += sign * h * v);
        other.loss_and_gradient(&batch, &targets, mask().as_mut()).0
    };
    ((moved(1.0) - moved(-1.0)) / (2.0 * h), gradient.iter().zip(&direction).map(|(g, v)| g * v).sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn gradients_are_those_of_finite_differences(
        seed in 0..1000_u64,
        projection: bool,
        positions: bool,
        blocks in 1..4_usize,
        hidden in 1..9_usize,
        dropout in prop_oneof![Just(0.0), Just(0.3)],
    ) {
        // Linear units: no kinks.
        let sizes = Architecture { projection, positions, linear: true, ..Architecture::latents(7, 5, hidden, blocks, 4) };
        let (slope, along) = by_differences(sizes, dropout, seed);
        prop_assert!((slope - along).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} {along}");
    }
}

#[test]
fn one_column_of_padding_stands_for_many() {
    let network = patterned(Architecture::latents(7, 6, 10, 3, 4));
    let long = Batch::new(&[vec![6, 6, 6, 6, 0, 3]]);
    let mut short = Batch::default();
    short.push(&[6, 0, 3], 4.0);
    let [a, b] =
        [long, short].map(|batch| network.loss_and_gradient(&batch, &Targets::last(&batch, &[2], &[1.0]), None));
    assert!((a.0 - b.0).abs() < 1e-13);
    for (x, y) in a.1.iter().zip(&b.1) {
        assert!((x - y).abs() < 1e-13);
    }
}

/// A permutation of the classes with the rows of the read-out gives the same hidden units: labels shuffled over
/// distinct sequences cannot change what a trained network holds.
#[test]
fn shuffled_classes_are_another_name_of_the_same_network() {
    let network = patterned(Architecture::latents(7, 6, 10, 2, 4));
    let mut renamed = network.clone();
    let readout = renamed.layout().readout;
    let order = [2, 0, 3, 1];
    let (from, to) = (network.parameters(), renamed.parameters_mut());
    for (old, new) in order.iter().enumerate() {
        for slot in std::iter::once(readout.weight).chain(readout.bias) {
            slot.of_mut(to).row_mut(*new).assign(&slot.of(from).row(old).to_owned());
        }
    }
    let batch = Batch::new(&[vec![1, 2, 3], vec![0, 4], vec![5, 6]]);
    let classes = [0, 1, 3];
    let targets = Targets::last(&batch, &classes, &[0.5, 0.25, 0.25]);
    let others = Targets::last(&batch, &classes.map(|c| order[c]), &[0.5, 0.25, 0.25]);
    let (a, by_first) = network.loss_and_gradient(&batch, &targets, None);
    let (b, by_second) = renamed.loss_and_gradient(&batch, &others, None);
    assert!((a - b).abs() < 1e-14);
    let lower = network.layout().blocks[0].lower.weight;
    let (x, y) = (lower.slice(&by_first), lower.slice(&by_second));
    assert!(x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-14));
}

/// torch.optim.Adam([x], lr=0.1, weight_decay=0.5), x = 1, gradients 1, -2, 0.5. By hand: the first step is
/// 0.1 · sign(1.5); the others follow from the definition in exact arithmetic of the moments.
#[test]
fn adam_follows_its_definition() {
    let mut adam = Adam::new(0.1, 0.5, 1);
    let mut x = [1.0_f64];
    let (mut m, mut v, mut y) = (0.0_f64, 0.0_f64, 1.0_f64);
    for (t, g) in [1.0, -2.0, 0.5].into_iter().enumerate() {
        adam.step(&mut x, &[g]);
        let g = g + 0.5 * y;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        let k = t as i32 + 1;
        let (mean, square) = (m / (1.0 - 0.9_f64.powi(k)), v / (1.0 - 0.999_f64.powi(k)));
        y -= 0.1 * mean / (square.sqrt() + 1e-8);
        assert!((x[0] - y).abs() < 1e-12, "{} {y}", x[0]);
        if t == 0 {
            assert!((x[0] - 0.9).abs() < 1e-8);
        }
    }
}

#[test]
fn long_gradients_are_shortened_and_short_ones_kept() {
    let mut long = vec![3.0_f64, 4.0];
    assert_eq!(clip(&mut long, 0.5), 5.0);
    assert!((long[0] - 0.3).abs() < 1e-15 && (long[1] - 0.4).abs() < 1e-15);
    let mut short = vec![0.3_f64, 0.0];
    clip(&mut short, 0.5);
    assert_eq!(short, [0.3, 0.0]);
}

#[test]
fn results_do_not_depend_on_threads() {
    let sizes = Architecture::latents(50, 96, 64, 2, 10);
    let network = Network::<f32>::new(sizes, Start::FanIn, &Streams::new(3, "test", 0, 0)).unwrap();
    let sequences: Vec<Vec<usize>> = (0..10).map(|i| (0..20).map(|j| (7 * i + 3 * j) % 50).collect()).collect();
    let batch = Batch::new(&sequences);
    let targets = Targets::last(&batch, &(0..10).collect::<Vec<_>>(), &[0.1; 10]);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| network.loss_and_gradient(&batch, &targets, None))
    };
    assert_eq!(with(1), with(3));
}
