//! Tokens as particles: the fast path against the definition, threads, closed solutions, and the flow at full size.

use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_theory::attention::{Mask, Mssa, Softmax};
use attnlab_theory::dynamics::flow::{Flow, Method};
use attnlab_theory::particles::{LayerNorm, Normalisation, Particles, cosines, directions, of_state, to_state};
use ndarray::{Array1, Array2, array};

fn tokens(d: usize, n: usize, seed: u64) -> Array2<f64> {
    let streams = Streams::new(seed, "particles", 0, 0);
    let x = normal_matrix(d, n, &mut streams.part("tokens", 0));
    directions(x.view()).unwrap()
}

/// Every combination of model, mask, normalisation, masses and matrices.
fn laws(beta: f64, d: usize, n: usize) -> Vec<Particles> {
    let streams = Streams::new(9, "particles", 0, 1);
    let matrix = |name| normal_matrix(d, d, &mut streams.part(name, 0));
    let masses: Array1<f64> = (0..n).map(|i| 0.1 + (i % 7) as f64).collect();
    let mut laws = vec![];
    for normalisation in Normalisation::ALL {
        for mask in [Mask::None, Mask::Causal] {
            for layer_norm in [LayerNorm::Post, LayerNorm::Pre] {
                let law = Particles::new(beta, normalisation).masked(mask).normalised(layer_norm);
                laws.push(law.clone());
                laws.push(law.clone().weighted(masses.clone()));
                laws.push(Particles { query_key: Some(matrix("qk")), value: Some(matrix("v")), ..law });
            }
        }
    }
    laws
}

#[test]
fn the_fast_path_is_the_definition() {
    // Sizes around the blocks of 512 and 16, and of 32 rows.
    for (d, n) in [(1, 1), (1, 5), (2, 16), (3, 33), (3, 513), (8, 200), (40, 30)] {
        let x = tokens(d, n, 1) * 1.7;
        for beta in [0.0, 0.7, -2.0, 30.0] {
            for law in laws(beta, d, n) {
                let plain = law.velocity_plain(x.view()).unwrap();
                let fast = law.velocity(x.view()).unwrap();
                // A projection may cancel all of the attention.
                let free = law.clone().normalised(LayerNorm::Pre).velocity_plain(x.view()).unwrap();
                let scale = free.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
                // Scores up to 190 (β = 30, d = 40) are rounded by some 4e-14, and so are their exponentials.
                let gap = (&plain - &fast).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!(gap <= 2e-13 * scale, "{d} {n} {beta} {law:?}: {gap} of {scale}");
            }
        }
    }
}

/// Many tokens: the weight of a pair is computed once for both. Sizes around the tiles of 256, with an odd and an even
/// number of them; below 2048 tokens every weight is computed where it is used.
#[test]
fn halved_products_are_the_definition() {
    for (d, n) in [(3, 2047), (3, 2048), (2, 2303), (9, 2305)] {
        let x = tokens(d, n, 5) * 0.6;
        let masses: Array1<f64> = (0..n).map(|i| (i % 7) as f64).collect();
        for (normalisation, beta) in [(Normalisation::Softmax, 9.0), (Normalisation::Uniform, -2.0)] {
            let law = Particles::new(beta, normalisation);
            let value = normal_matrix(d, d, &mut Streams::new(9, "particles", 0, 2).part("v", 0));
            for law in [
                law.clone(),
                law.clone().weighted(masses.clone()).normalised(LayerNorm::Pre),
                law.clone().weighted(masses.clone()),
                Particles { value: Some(value), ..law },
            ] {
                let (plain, fast) = (law.velocity_plain(x.view()).unwrap(), law.velocity(x.view()).unwrap());
                let gap = (&plain - &fast).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                // Sums of 2300 weights, each rounded by some 1e-15 of itself, in another order.
                assert!(gap <= 2e-13, "{d} {n} {beta} {law:?}: {gap}");
            }
        }
    }
    // Scores as deep as these are not halved.
    let x = tokens(3, 2048, 6);
    let law = Particles::new(900.0, Normalisation::Softmax);
    let (plain, fast) = (law.velocity_plain(x.view()).unwrap(), law.velocity(x.view()).unwrap());
    assert!((&plain - &fast).iter().all(|v| v.abs() < 2e-12));
}

/// Where shifted weights would underflow, the largest score of a row is found first.
#[test]
fn deep_scores_do_not_underflow() {
    let x = array![[1.0, -1.0, 0.6], [0.0, 0.0, 0.8]];
    // The heaviest tokens have mass 0: the second token sees scores far below the bound alone.
    let law = Particles::new(900.0, Normalisation::Softmax).weighted(array![1.0, 0.0, 1.0]);
    let plain = law.velocity_plain(x.view()).unwrap();
    let fast = law.velocity(x.view()).unwrap();
    assert!(plain.iter().all(|v| v.is_finite()) && plain[[1, 1]] > 0.5);
    assert!((&plain - &fast).iter().all(|v| v.abs() < 1e-12), "{plain} {fast}");
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let d = 3;
    for (n, law) in [1500, 2500].into_iter().flat_map(|n| laws(4.0, d, n).into_iter().map(move |law| (n, law))) {
        let state = tokens(d, n, 2);
        let on = |threads| crate::on_threads(threads, || law.velocity(state.view()).unwrap());
        let serial = on(1);
        for threads in [2, 3, 7] {
            assert!(serial == on(threads), "{law:?}: {threads} threads");
        }
    }
}

/// A_i is the output of the library's softmax attention on √β θ, divided by √β.
#[test]
fn attention_is_that_of_the_streaming_layer() {
    let x = tokens(5, 300, 3);
    for (mask, beta) in [(Mask::None, 2.0_f64), (Mask::Causal, 9.0)] {
        let law = Particles::new(beta, Normalisation::Softmax).masked(mask).normalised(LayerNorm::Pre);
        let layer = Mssa { mask, ..Mssa::new(Softmax, 1.0) };
        let scaled = &x * beta.sqrt();
        let output = layer.stream_head(scaled.view()).unwrap().output / beta.sqrt();
        assert!((&law.velocity(x.view()).unwrap() - &output).iter().all(|v| v.abs() < 1e-13));
    }
}

/// A velocity of e^{−β(1−ρ)} has all its digits, although the token gives itself a weight of almost 1.
#[test]
fn slow_velocities_keep_their_digits() {
    let (beta, angle) = (80.0, 1.4_f64);
    let x = array![[1.0, angle.cos()], [0.0, angle.sin()]];
    let law = Particles::new(beta, Normalisation::Softmax);
    let weight = (beta * (angle.cos() - 1.0)).exp();
    let expected = weight / (1.0 + weight) * angle.sin();
    for velocity in [law.velocity(x.view()).unwrap(), law.velocity_plain(x.view()).unwrap()] {
        assert!((velocity[[1, 0]] / expected - 1.0).abs() < 1e-12, "{velocity}");
    }
}

/// Times far below the first step of the integrator.
#[test]
fn short_times() {
    let x = tokens(3, 6, 7);
    let start = to_state(x.view());
    let law = Particles::new(1.0, Normalisation::Softmax);
    let flow = law.flow(6, 3).unwrap();
    let velocity = to_state(law.velocity(x.view()).unwrap().view());
    for rtol in [1e-7, 1e-9, 1e-10] {
        for t in [1e-9, 1e-5, 1e-4, 1e-3, 0.03, 0.1] {
            let path = Flow::new(Method::Tsit45).within(rtol).run(&flow, &start, &[t]).unwrap();
            for (end, (start, v)) in path.end().iter().zip(start.iter().zip(&velocity)) {
                assert!((end - start - t * v).abs() <= 3.0 * t * t + 1e-12, "{rtol} {t}: {:?}", path.end());
            }
        }
    }
}

/// Two tokens of equal mass on a circle at β = 0: θ' = −sin θ, so tan(θ/2) falls like e^{−t}.
#[test]
fn two_tokens_follow_their_closed_form() {
    let (start, t) = (2.0_f64, 1.5_f64);
    let x = array![[1.0, start.cos()], [0.0, start.sin()]];
    let flow = Particles::new(0.0, Normalisation::Softmax).flow(2, 2).unwrap();
    let path = Flow::new(Method::Tsit45).run(&flow, &to_state(x.view()), &[t]).unwrap();
    let end = of_state(path.end(), 2).unwrap();
    let cosine = cosines(end.view()).unwrap()[[0, 1]];
    let expected = 2.0 * ((0.5 * start).tan() * (-t).exp()).atan();
    assert!((cosine.acos() - expected).abs() < 1e-9, "{}", cosine.acos());
    // Post-LN conserves lengths; the first of causal tokens rests.
    assert!(end.columns().into_iter().all(|c| (c.dot(&c) - 1.0).abs() < 1e-9));
    let velocity = Particles::new(1.0, Normalisation::Softmax).masked(Mask::Causal).velocity(x.view()).unwrap();
    assert!(velocity.column(0).iter().all(|v| v.abs() < 1e-15));
}

#[test]
fn laws_that_do_not_fit_are_refused() {
    let x = tokens(2, 3, 4);
    let law = |masses: Array1<f64>| Particles::new(1.0, Normalisation::Softmax).weighted(masses);
    for (law, beginning) in [
        (law(array![1.0, 1.0]), "masses"),
        (law(array![1.0, -1.0, 2.0]), "masses[1] = -1"),
        (law(array![0.0, 0.0, 0.0]), "sum of masses = 0"),
        (law(array![0.0, 1.0, 1.0]).masked(Mask::Causal), "masses[0] = 0"),
        (Particles::new(f64::NAN, Normalisation::Uniform), "beta = NaN"),
        (Particles { value: Some(Array2::eye(3)), ..Particles::new(1.0, Normalisation::Uniform) }, "value"),
    ] {
        let message = law.velocity(x.view()).unwrap_err().to_string();
        assert!(message.contains(beginning), "{message}");
        assert!(law.velocity_plain(x.view()).is_err() && law.flow(3, 2).is_err());
    }
    let mut zero = x;
    zero.column_mut(1).fill(0.0);
    let law = Particles::new(1.0, Normalisation::Softmax);
    assert!(law.velocity(zero.view()).unwrap_err().to_string().contains("length of token 1 = 0"));
}
