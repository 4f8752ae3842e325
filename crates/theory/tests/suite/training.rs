//! Training of one-layer attention: the gradient, the optimisers, the loop.

use attnlab_core::linalg::{haar_basis, normal_matrix, product};
use attnlab_core::rng::Streams;
use attnlab_theory::attention::{linear_attention, softmax_attention};
use attnlab_theory::dynamics::{
    Attention, Example, Form, History, Optimiser, Prompts, Recipe, Weights, gradient, loss, outputs, train,
};
use attnlab_theory::measure::unit_tokens;
use ndarray::{Array2, Axis};
use proptest::prelude::*;

/// The kinds of clean tokens in prompts of these tests.
#[derive(Clone, Copy, Debug)]
enum Tokens {
    /// Gaussian on a random subspace of half the dimension, variance 2 in each direction.
    Subspace,
    /// On a sphere of radius 1.5 in such a subspace.
    Sphere,
    /// Around one of three points of length 1, with variance 0.1 in each direction.
    Points,
}

/// Prompts of `context` tokens in `ambient` dimensions; the query is one more token with noise of
/// variance 0.5, the target that token without it.
#[derive(Clone, Copy, Debug)]
struct Task {
    tokens: Tokens,
    ambient: usize,
    context: usize,
}

fn task(kind: usize, ambient: usize, context: usize) -> Task {
    let tokens = [Tokens::Subspace, Tokens::Sphere, Tokens::Points][kind];
    Task { tokens, ambient, context }
}

impl Task {
    /// The tokens as columns (n, L + 1), each prompt with a subspace or points of its own.
    fn clean(&self, streams: &Streams) -> Array2<f64> {
        let (n, count) = (self.ambient, self.context + 1);
        let normal = |rows| normal_matrix(rows, count, &mut streams.part("tokens", 0));
        let place = &mut streams.part("place", 0);
        match self.tokens {
            Tokens::Subspace | Tokens::Sphere => {
                let basis = haar_basis(n, n / 2, place).unwrap();
                let inside = match self.tokens {
                    Tokens::Sphere => unit_tokens(normal(n / 2).view()) * 1.5,
                    _ => normal(n / 2) * 2_f64.sqrt(),
                };
                product(basis.view(), inside.view())
            }
            Tokens::Points => {
                let points = unit_tokens(normal_matrix(n, 3, place).view());
                let near: Vec<usize> = (0..count).map(|t| t % 3).collect();
                points.select(Axis(1), &near) + normal(n) * 0.1_f64.sqrt()
            }
        }
    }

    fn draw(&self, streams: &Streams) -> Example {
        let clean = self.clean(streams);
        let target = clean.column(self.context).to_owned();
        let noise = normal_matrix(self.ambient, 1, &mut streams.part("noise", 0));
        Example {
            context: clean.slice(ndarray::s![.., ..self.context]).to_owned(),
            query: &target + &(&noise.column(0) * 0.5_f64.sqrt()),
            target,
        }
    }
}

fn drawn(task: &Task, count: u64, seed: u64) -> Vec<Example> {
    let streams = Streams::new(seed, "tests.training", 0, 0);
    (0..count).map(|i| task.draw(&streams.child("prompt", i))).collect()
}

fn packed<T: attnlab_core::linalg::Real>(prompts: &[Example]) -> Prompts<T> {
    Prompts::new(&Attention::ALL, prompts).unwrap()
}

fn random_weights(n: usize, size: f64, seed: u64) -> Weights<f64> {
    let streams = Streams::new(seed, "tests.training.weights", 0, 0);
    let matrix = |name| normal_matrix(n, n, &mut streams.part(name, 0)) * (size / (n as f64).sqrt());
    Weights { kq: matrix("kq"), pv: matrix("pv") }
}

/// The loss by the plain definitions, prompt by prompt.
fn plain_loss(attention: Attention, prompts: &[Example], w: &Weights<f64>) -> f64 {
    let error = |p: &Example| {
        let apply = match attention {
            Attention::Linear => linear_attention,
            Attention::Softmax => softmax_attention,
        };
        (apply(p.context.view(), w.pv.view(), w.kq.view(), p.query.view()) - &p.target).mapv(|x| x * x).sum()
    };
    let sum: f64 = prompts.iter().map(error).sum();
    sum / (prompts.len() * prompts[0].query.len()) as f64
}

fn moved(w: &Weights<f64>, d: &Weights<f64>, step: f64) -> Weights<f64> {
    Weights { kq: &w.kq + &(&d.kq * step), pv: &w.pv + &(&d.pv * step) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The hand-derived gradient along a random direction is the difference quotient of the plain
    /// loss, and the fast loss is the plain loss, for lengths on and off the block of 16 tokens.
    #[test]
    fn gradient_is_the_difference_quotient(
        kind in 0..3_usize, softmax: bool, n in 2..9_usize, context in 1..40_usize,
        count in 1..6_u64, size in 0.2..3.0_f64, seed: u64,
    ) {
        let attention = Attention::ALL[usize::from(softmax)];
        let prompts = drawn(&task(kind, n, context), count, seed);
        let fast = packed::<f64>(&prompts);
        let (w, direction) = (random_weights(n, size, seed), random_weights(n, 1.0, !seed));
        let which: Vec<usize> = (0..count as usize).collect();
        let (value, slope) = gradient(attention, &fast, &w, &which).unwrap();
        let plain = plain_loss(attention, &prompts, &w);
        prop_assert!((value - plain).abs() <= 1e-12 * plain.max(1.0), "{value} {plain}");
        prop_assert!((loss(attention, &fast, &w).unwrap() - plain).abs() <= 1e-12 * plain.max(1.0));
        // Central difference: error h²/6 of a third derivative, rounding 1e-16/h of the loss.
        let h = 1e-5;
        let loss_at = |step| plain_loss(attention, &prompts, &moved(&w, &direction, step));
        let quotient = (loss_at(h) - loss_at(-h)) / (2.0 * h);
        let along = (&slope.kq * &direction.kq).sum() + (&slope.pv * &direction.pv).sum();
        let size = plain.max(1.0) * (1.0 + along.abs());
        prop_assert!((along - quotient).abs() < 2e-6 * size, "{along} {quotient}");
    }

    /// A batch is the sum of its parts: gradients of a split batch average to the whole.
    #[test]
    fn gradients_add_up(softmax: bool, cut in 1..7_usize, seed: u64) {
        let attention = Attention::ALL[usize::from(softmax)];
        let fast = packed::<f64>(&drawn(&task(1, 4, 21), 8, seed));
        let w = random_weights(4, 1.0, seed);
        let part = |which: Vec<usize>| {
            let share = which.len() as f64 / 8.0;
            let (l, g) = gradient(attention, &fast, &w, &which).unwrap();
            (l * share, g.kq * share, g.pv * share)
        };
        let (whole, first, rest) = (part((0..8).collect()), part((0..cut).collect()), part((cut..8).collect()));
        prop_assert!((whole.0 - first.0 - rest.0).abs() < 1e-13);
        for (w, a, b) in [(&whole.1, &first.1, &rest.1), (&whole.2, &first.2, &rest.2)] {
            prop_assert!((w - a - b).iter().all(|x| x.abs() < 1e-13));
        }
    }
}

#[test]
fn single_precision_follows_double() {
    let prompts = drawn(&task(1, 8, 100), 30, 3);
    let w = random_weights(8, 2.0, 4);
    let single = Weights { kq: w.kq.mapv(|x| x as f32), pv: w.pv.mapv(|x| x as f32) };
    for attention in Attention::ALL {
        let which: Vec<usize> = (0..30).collect();
        let (a, slope) = gradient(attention, &packed::<f64>(&prompts), &w, &which).unwrap();
        let (b, short) = gradient(attention, &packed::<f32>(&prompts), &single, &which).unwrap();
        // Sums of some hundred terms of size 1 in f32.
        assert!((a - b).abs() < 1e-5 * a, "{a} {b}");
        let largest = slope.kq.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let gaps = slope.kq.iter().zip(&short.kq).map(|(a, b)| (a - f64::from(*b)).abs());
        assert!(gaps.fold(0.0, f64::max) < 1e-5 * largest);
    }
}

fn recipe(epochs: usize, optimiser: Optimiser, rate: f64) -> Recipe {
    Recipe { optimiser, rate, batch: None, ..Recipe::authors(epochs) }
}

/// Full-batch gradient descent with a small rate descends at every step: the loss is smooth.
#[test]
fn gradient_descent_descends() {
    let streams = Streams::new(1, "tests.training", 1, 0);
    for kind in 0..3 {
        let set = packed::<f64>(&drawn(&task(kind, 6, 30), 50, 7));
        for attention in Attention::ALL {
            let start = Weights::uniform(6, Form::Full, &streams);
            let how = recipe(60, Optimiser::GradientDescent, 0.05);
            let history = train(attention, [&set, &set], &start, Form::Full, &how, &streams).unwrap();
            let falls = history.train.windows(2).all(|l| l[1] < l[0]);
            assert!(falls, "{kind} {attention:?} {:?}", history.train);
            assert_eq!(history.train, history.test);
        }
    }
}

/// Linear attention depends on αβ alone, and the loss of given prompts is a parabola in it: the trained
/// scales reach its minimum. That minimum approaches the one of the law as the number of prompts grows.
#[test]
fn the_trained_product_is_the_closed_form() {
    let streams = Streams::new(2, "tests.training", 2, 0);
    let prompts = drawn(&task(0, 8, 60), 3000, 5);
    let set = packed::<f64>(&prompts);
    let start = Weights::uniform(8, Form::ScaledIdentity, &streams);
    let how = recipe(400, Optimiser::Adam, 0.02);
    let history = train(Attention::Linear, [&set, &set], &start, Form::ScaledIdentity, &how, &streams).unwrap();
    let off_diagonal = |w: &Array2<f64>| w.indexed_iter().all(|((i, j), x)| i == j || *x == 0.0);
    assert!(off_diagonal(&history.weights.kq) && off_diagonal(&history.weights.pv));
    let gamma = history.weights.alpha() * history.weights.beta();
    // Least squares: γ = Σ <Σ̂q, x> / Σ |Σ̂q|², from the outputs at α = β = 1.
    let read = outputs(Attention::Linear, &set, &Weights::scaled_identity(8, 1.0, 1.0)).unwrap();
    let exact = (&read * &set.targets()).sum() / (&read * &read).sum();
    assert!((gamma / exact - 1.0).abs() < 1e-6, "{gamma} {exact}");
    // Wick's theorem, for L = 60 tokens of variance v = 2 on d = 4 dimensions and noise of variance 0.5:
    // the loss is a parabola with minimum dv - γ dv² at γ = 1 / ((v + 0.5)(1 + (d + 1)/L)). The estimate
    // from 3000 prompts scatters by about 1 %; four times that.
    let law = 1.0 / (2.5 * (1.0 + 5.0 / 60.0));
    assert!((gamma / law - 1.0).abs() < 0.04, "{gamma} {law}");
    let expected = (8.0 - law * 16.0) / 8.0;
    let last = history.train.last().unwrap();
    assert!((last / expected - 1.0).abs() < 0.05, "{last} {expected}");
    assert!(history.drift().abs() < 1e-6);
}

fn small_run(threads: usize) -> History<f32> {
    crate::on_threads(threads, || {
        let streams = Streams::new(3, "tests.training", 3, 0);
        // Long enough that a batch is split among threads.
        let set = packed::<f32>(&drawn(&task(1, 16, 499), 160, 9));
        let start = Weights::uniform(16, Form::Full, &streams);
        train(Attention::Softmax, [&set, &set], &start, Form::Full, &Recipe::authors(2), &streams).unwrap()
    })
}

#[test]
fn threads_change_nothing() {
    let single = small_run(1);
    for threads in [2, 3, 7] {
        assert_eq!(small_run(threads), single);
    }
}

/// The orders of an epoch are permutations, differ between epochs, and are uniform: each prompt comes
/// first in its share of many epochs.
#[test]
fn orders_are_uniform_permutations() {
    let streams = Streams::new(4, "tests.training", 4, 0);
    let order = |epoch| attnlab_theory::dynamics::order(5, &streams, epoch);
    let mut first = [0; 5];
    for epoch in 0..5000 {
        let mut permutation = order(epoch);
        first[permutation[0]] += 1;
        permutation.sort_unstable();
        assert_eq!(permutation, [0, 1, 2, 3, 4]);
    }
    // 1000 ± 28.3 (binomial); five standard deviations.
    assert!(first.iter().all(|f| (1000_i32 - f).abs() < 142), "{first:?}");
    assert!((1..9).any(|e| order(e) != order(0)));
}

#[test]
fn bad_input_is_refused_in_words() {
    let streams = Streams::new(5, "tests.training", 5, 0);
    let set = packed::<f64>(&drawn(&task(0, 6, 30), 20, 1));
    let start = Weights::uniform(6, Form::Full, &streams);
    let run = |how: &Recipe, start: &Weights<f64>| {
        train(Attention::Linear, [&set, &set], start, Form::Full, how, &streams).unwrap_err().to_string()
    };
    let base = recipe(10, Optimiser::Adam, 0.01);
    let with = |change: fn(&mut Recipe)| {
        let mut how = base.clone();
        change(&mut how);
        run(&how, &start)
    };
    for (message, expected) in [
        (with(|r| r.epochs = 0), "epochs = 0: must be a whole number >= 1"),
        (with(|r| r.batch = Some(0)), "batch = 0: must be a whole number >= 1"),
        (with(|r| r.batch = Some(21)), "batch = 21: must be at most the 20 training prompts"),
        (with(|r| r.rate = f64::NAN), "rate = NaN: must be a finite number > 0"),
        (with(|r| r.decay = -1.0), "decay = -1: must be a finite number > 0"),
        (with(|r| r.milestones = vec![1.5]), "milestones = 1.5: must be shares in [0, 1]"),
        (
            run(&base, &Weights::uniform(5, Form::Full, &streams)),
            "W_KQ has shape (5, 5), expected (n, n) = (6, 6), the components of a token",
        ),
        (run(&base, &Weights::scaled_identity(6, 1.0, f64::INFINITY)), "W_KQ = inf: must be finite numbers only"),
    ] {
        assert_eq!(message, expected);
    }
    let draw = |i| Ok(task(0, 6, 30).draw(&streams.child("prompt", i)));
    let only = |count, kinds: &[Attention]| Prompts::<f64>::draw(count, kinds, draw, |_| Ok(()));
    assert!(only(0, &Attention::ALL).is_err() && only(3, &[]).is_err());
    let (linear, _) = only(3, &[Attention::Linear]).unwrap();
    let message = loss(Attention::Softmax, &linear, &start).unwrap_err().to_string();
    assert_eq!(message, "attention = softmax: must be one that the prompts were drawn for. Draw them for this one too");
    let ragged = |i| Ok(task(0, 6, 30 + i as usize).draw(&streams));
    let prompts = Prompts::<f64>::draw(2, &Attention::ALL, ragged, |_| Ok(()));
    assert_eq!(prompts.unwrap_err().to_string(), "context has shape (6, 31), expected (6, 30), as the first prompt");
    assert!(Attention::parse("sofmax").unwrap_err().to_string().contains("did you mean softmax?"));
    assert!(Form::parse("ful").is_err() && Optimiser::parse("sgd").is_err());
}

/// Runs that diverge or end worse than they began are errors, whose messages state the place and the setting to change.
#[test]
fn divergence_is_an_error() {
    let streams = Streams::new(6, "tests.training", 6, 0);
    let set = packed::<f32>(&drawn(&task(0, 6, 30), 20, 1));
    let start = Weights::uniform(6, Form::Full, &streams);
    let run = |rate: f64, epochs: usize| {
        let how = recipe(epochs, Optimiser::GradientDescent, rate);
        train(Attention::Linear, [&set, &set], &start, Form::Full, &how, &streams).unwrap_err().to_string()
    };
    let message = run(50.0, 100);
    assert!(message.starts_with("training diverged: the loss is "), "{message}");
    assert!(message.contains("the last finite loss was ") && message.contains(" steps"));
    assert!(message.ends_with("Write a smaller rate than 50"), "{message}");
    let message = run(1000.0, 1);
    assert!(message.starts_with("training did not converge: after 1 steps"), "{message}");
}
