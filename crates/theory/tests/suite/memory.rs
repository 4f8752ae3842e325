//! Tests of dense associative memory: the energy against its derivatives, minima against scipy, the
//! symmetry of the Jacobian.

use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_theory::attention::memory::{DenseMemory, SphericalHopfield, symmetry};
use attnlab_theory::attention::softmax_attention;
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

fn streams(trial: u64) -> Streams {
    Streams::new(7, "tests.memory", 0, trial)
}

fn normal(n: usize, count: usize, seed: u64, name: &str) -> Array2<f64> {
    normal_matrix(n, count, &mut streams(seed).part(name, 0))
}

fn norm(v: &Array1<f64>) -> f64 {
    v.dot(v).sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Gradient and Hessian are the derivatives of the energy, for both signs of both scales.
    #[test]
    fn derivatives(seed in 0_u64..1000, n in 1_usize..5, alpha in -2.0..2.0_f64, beta in -3.0..3.0_f64) {
        prop_assume!(alpha.abs() > 0.1 && beta.abs() > 0.1);
        let memory = DenseMemory::new(normal(n, 7, seed, "context").view(), alpha, beta).unwrap();
        let s = normal(n, 1, seed, "state").column(0).to_owned();
        let (gradient, hessian) = (memory.gradient(s.view()), memory.hessian(s.view()));
        for i in 0..n {
            let h = 1e-5;
            let moved_by = |h: f64| { let mut s = s.clone(); s[i] += h; s };
            let slope = (memory.energy(moved_by(h).view()) - memory.energy(moved_by(-h).view())) / (2.0 * h);
            prop_assert!((slope - gradient[i]).abs() < 1e-7);
            let slope = (memory.gradient(moved_by(h).view()) - memory.gradient(moved_by(-h).view())) / (2.0 * h);
            prop_assert!((slope - hessian.column(i)).iter().all(|x| x.abs() < 1e-6));
        }
    }

    /// A step of size α never raises the energy: the concave-convex procedure.
    #[test]
    fn descent_descends(seed in 0_u64..1000, beta in 0.1..50.0_f64, far in 0.0..10.0_f64) {
        let memory = DenseMemory::new(normal(3, 9, seed, "context").view(), 0.8, beta).unwrap();
        let start = normal(3, 1, seed, "state").column(0).to_owned() * far;
        let path = memory.descend(start.view(), 0.8, 30).unwrap();
        let energies: Vec<f64> = path.columns().into_iter().map(|s| memory.energy(s)).collect();
        for pair in energies.windows(2) {
            prop_assert!(pair[1] <= pair[0] + 1e-12 * (1.0 + pair[0].abs()), "{energies:?}");
        }
    }

    /// Minima are stationary, curved upwards, means of tokens, and every start has one.
    #[test]
    fn minima_are_minima(seed in 0_u64..200, n in 1_usize..6, beta in 0.1..40.0_f64) {
        let tokens = normal(n, 8, seed, "context");
        let memory = DenseMemory::new(tokens.view(), 1.5, beta).unwrap();
        let landscape = memory.minima_from((normal(n, 20, seed, "starts") * 2.0).view()).unwrap();
        prop_assert_eq!(landscape.basin.len(), 20);
        prop_assert_eq!(landscape.minima.iter().map(|m| m.starts).sum::<usize>(), 20);
        for minimum in &landscape.minima {
            prop_assert!(norm(&memory.gradient(minimum.state.view())) < 1e-10);
            prop_assert!(minimum.curvature > 0.0);
            prop_assert!((1.0 - 1e-9..=8.0 + 1e-9).contains(&minimum.shared_by));
            let weights = memory.weights(minimum.state.view());
            prop_assert!(norm(&(tokens.dot(&weights) * 1.5 - &minimum.state)) < 1e-10);
            prop_assert_eq!(minimum.token.is_some(), weights.iter().any(|w| *w > 0.5));
        }
        let energies: Vec<f64> = landscape.minima.iter().map(|m| m.energy).collect();
        prop_assert!(energies.is_sorted());
    }
}

fn five_tokens() -> Array2<f64> {
    array![[1.0, 0.6, -0.8, -0.1, 0.3], [0.0, 0.8, 0.6, -0.99, -0.9]]
}

/// scipy.optimize.minimize(E, s0, jac=G, method="BFGS", options={"gtol": 1e-13}) from 400 uniform s0
/// in [-1.3, 1.3]^2 and five Newton steps, with E(s) = s@s/2.4 - logsumexp(beta X.T@s)/beta.
#[test]
fn minima_agree_with_scipy() {
    // (beta, [s1, s2, energy, largest weight, 1 / sum of squares, least curvature])
    let cold = [
        [0.05328016674927985, -1.1487084280858944, -0.6447538861880932, 1.8562370409128688, 0.5591547413941961],
        [1.1767343218605917, 0.03979352106265223, -0.6059286942318665, 1.0977323745494836, 0.5918511287472106],
        [0.7411907893817387, 0.9169401313734126, -0.6056163278332966, 1.0940274472498648, 0.5933382116905731],
        [-0.9596173309142016, 0.720047660568383, -0.6000326947804658, 1.0004586485700726, 0.8301626087445054],
    ];
    let memory = DenseMemory::new(five_tokens().view(), 1.2, 7.0).unwrap();
    let on_grid = memory.minima_on_grid(40).unwrap();
    let from_starts = memory.minima_from(normal(2, 300, 0, "starts").view()).unwrap();
    for landscape in [&on_grid, &from_starts] {
        assert_eq!(landscape.minima.len(), cold.len());
        for (m, [x, y, energy, shared, curvature]) in landscape.minima.iter().zip(cold) {
            assert!((m.state[0] - x).abs() < 1e-9 && (m.state[1] - y).abs() < 1e-9, "{m:?}");
            assert!((m.energy - energy).abs() < 1e-13);
            assert!((m.shared_by - shared).abs() < 1e-8 && (m.curvature - curvature).abs() < 1e-8);
        }
    }
    let tokens: Vec<_> = on_grid.minima.iter().map(|m| m.token).collect();
    // The fourth and fifth token lie close together and share one minimum, where the fourth prevails.
    assert_eq!(tokens, [Some(3), Some(0), Some(1), Some(2)]);
    assert_eq!(on_grid.basin.len(), 1600);
    // Basins: the start beside each minimum ends there.
    for (i, m) in on_grid.minima.iter().enumerate() {
        let beside = (&m.state + &array![0.01, -0.01]).insert_axis(ndarray::Axis(1));
        let alone = memory.minima_from(beside.view()).unwrap();
        assert!(norm(&(&alone.minima[0].state - &on_grid.minima[i].state)) < 1e-9);
    }
}

/// For large β in ten dimensions every token is retrieved, from itself and from a start beside it.
#[test]
fn cold_memories_retrieve_their_tokens() {
    let tokens = normal(10, 30, 1, "context");
    let memory = DenseMemory::new(tokens.view(), 1.0, 20.0).unwrap();
    let beside = &tokens + &(normal(10, 30, 1, "beside") * 0.1);
    let landscape = memory.minima_from(beside.view()).unwrap();
    let mut retrieved: Vec<_> = landscape.minima.iter().filter_map(|m| m.token).collect();
    retrieved.sort_unstable();
    retrieved.dedup();
    // Short tokens lie in the basins of long ones: the score is <X_t, s>, not a distance.
    assert!(retrieved.len() >= 20, "{retrieved:?}");
    for (t, basin) in landscape.basin.iter().enumerate() {
        let m = &landscape.minima[*basin];
        if m.token == Some(t) {
            assert!(norm(&(&m.state - &tokens.column(t))) < 0.05, "{t} {m:?}");
        }
    }
}

/// A start on a saddle ends in a minimum beside it.
#[test]
fn saddles_are_left() {
    let memory = DenseMemory::new(array![[1.0, -1.0], [0.0, 0.0]].view(), 1.0, 3.0).unwrap();
    let landscape = memory.minima_from(array![[0.0], [0.4]].view()).unwrap();
    assert_eq!(landscape.minima.len(), 1);
    let x = landscape.minima[0].state[0];
    assert!(x.abs() > 0.9 && (x - (3.0 * x).tanh()).abs() < 1e-12);
}

#[test]
fn any_step_size_and_the_mirrored_scales() {
    let context = normal(3, 6, 2, "context");
    let s = array![0.3, -0.2, 0.9];
    let memory = DenseMemory::new(context.view(), 0.7, 1.9).unwrap();
    for gamma in [-0.3, 0.0, 0.2, 0.7, 2.0] {
        let step = memory.step(s.view(), gamma);
        let plain = &s - &(memory.gradient(s.view()) * gamma);
        assert!(norm(&(step - plain)) < 1e-14);
    }
    let (w_pv, w_kq) = (Array2::eye(3) * 0.7, Array2::eye(3) * 1.9);
    let layer = softmax_attention(context.view(), w_pv.view(), w_kq.view(), s.view());
    // Sums of a few terms of order one: ten roundings of 2e-16 and room.
    assert!(norm(&(memory.step(s.view(), 0.7) - layer)) < 1e-14);
    // alpha, beta -> -alpha, -beta mirrors the energy.
    let mirrored = DenseMemory::new(context.view(), -0.7, -1.9).unwrap();
    let gap = memory.energy(s.view()) + mirrored.energy((-&s).view());
    assert!(gap.abs() < 1e-14);
}

#[test]
fn the_jacobian_is_the_derivative_and_memories_come_from_weights() {
    let (x, m) = (normal(4, 9, 3, "context"), normal(4, 4, 3, "weights") * 0.5);
    let other = normal(4, 4, 3, "other") * 0.5;
    let s = array![0.4, -0.1, 0.8, 0.2];
    let jacobian = symmetry::jacobian(x.view(), m.view(), other.view(), s.view());
    let layer = |s: &Array1<f64>| softmax_attention(x.view(), m.view(), other.view(), s.view());
    for i in 0..4 {
        let output_at = |h: f64| {
            let mut s = s.clone();
            s[i] += h;
            layer(&s)
        };
        let slope = (output_at(1e-5) - output_at(-1e-5)) / 2e-5;
        assert!(norm(&(slope - jacobian.column(i))) < 1e-8);
    }
    assert_eq!(symmetry::asymmetry(Array2::<f64>::zeros((3, 3)).view()), 0.0);
    assert_eq!(symmetry::asymmetry(array![[0.0, 1.0], [-1.0, 0.0]].view()), 2.0);
    let scaled = &m.t() * -0.3;
    let memory = symmetry::memory(x.view(), m.view(), scaled.view(), 1e-12).unwrap().unwrap();
    let layer = softmax_attention(x.view(), m.view(), scaled.view(), s.view());
    assert!(norm(&(memory.attend(s.view()) - layer)) < 1e-14 && (memory.beta() + 0.3).abs() < 1e-14);
    let zero = Array2::zeros((4, 4));
    assert!(symmetry::memory(x.view(), m.view(), zero.view(), 1e-12).unwrap().is_none());
    assert!(symmetry::memory(x.view(), zero.view(), m.view(), 1e-12).unwrap().is_none());
}

#[test]
fn the_hopfield_energy_is_definite_where_its_least_curvature_is_positive() {
    let context = normal(5, 40, 4, "context");
    for gamma in [0.1, 2.0] {
        let model = SphericalHopfield::new(context.view(), gamma).unwrap();
        let least = model.least_curvature().unwrap();
        let s = normal(5, 1, 4, "state").column(0).to_owned();
        // The energy is at least least/2 |s|^2, and descent scales towards or away from zero.
        assert!(model.energy(s.view()) >= 0.5 * least * s.dot(&s) - 1e-12);
        let mut state = s.clone();
        for _ in 0..2000 {
            state = model.step(state.view(), 0.5 * gamma);
        }
        assert_eq!(norm(&state) < norm(&s), least > 0.0, "{gamma} {least}");
    }
}

#[test]
fn bad_input_names_what_is_wrong() {
    let tokens = five_tokens();
    let refused =
        |context: &Array2<f64>, alpha, beta| DenseMemory::new(context.view(), alpha, beta).unwrap_err().to_string();
    assert_eq!(refused(&Array2::zeros((2, 0)), 1.0, 1.0), "L = 0: must be a whole number >= 1");
    assert!(refused(&Array2::zeros((0, 2)), 1.0, 1.0).starts_with("context has shape (0, 2)"));
    assert!(refused(&array![[1.0, f64::NAN]], 1.0, 1.0).starts_with("context = NaN"));
    for bad in [0.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&tokens, bad, 1.0).starts_with("alpha = "));
        assert!(refused(&tokens, 1.0, bad).starts_with("beta = "));
    }
    let memory = DenseMemory::new(tokens.view(), 1.0, 2.0).unwrap();
    let message = |starts: Array2<f64>| memory.minima_from(starts.view()).unwrap_err().to_string();
    assert!(message(Array2::zeros((3, 1))).starts_with("state has shape 3"));
    assert!(message(array![[f64::NAN], [0.0]]).starts_with("state = NaN"));
    assert!(memory.descend(array![1.0].view(), 1.0, 3).is_err());
    assert!(memory.descend(array![1.0, 2.0].view(), f64::NAN, 3).is_err());
    assert!(memory.grid(1).unwrap_err().to_string().starts_with("side = 1"));
    let mirrored = DenseMemory::new(tokens.view(), -1.0, -2.0).unwrap();
    let message = mirrored.minima_on_grid(9).unwrap_err().to_string();
    assert!(message.starts_with("alpha = -1"), "{message}");
    let high = DenseMemory::new(Array2::ones((3, 2)).view(), 1.0, 1.0).unwrap();
    assert!(high.minima_on_grid(9).unwrap_err().to_string().contains("two dimensions"));
    // Overflow is an error, not an endless loop.
    let huge = DenseMemory::new(array![[1e200, -1e200]].view(), 1.0, 1.0).unwrap();
    assert!(huge.minima_from(array![[1e200]].view()).is_err());
    assert!(SphericalHopfield::new(tokens.view(), 0.0).is_err());
    let (fitting, wide) = (Array2::eye(2), Array2::eye(3));
    let test = |pv: &Array2<f64>, kq: &Array2<f64>, s: Array1<f64>| {
        symmetry::test(tokens.view(), pv.view(), kq.view(), s.view()).unwrap_err().to_string()
    };
    assert!(test(&wide, &fitting, array![0.0, 0.0]).starts_with("W_PV has shape (3, 3)"));
    assert!(test(&fitting, &(&fitting * f64::NAN), array![0.0, 0.0]).starts_with("W_KQ = NaN"));
    assert!(test(&fitting, &fitting, array![0.0]).starts_with("state has shape 1"));
}
