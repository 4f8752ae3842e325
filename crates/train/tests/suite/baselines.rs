//! Baselines of in-context regression, and its prompts.

use attnlab_core::rng::Streams;
use attnlab_theory::sample::{Functions, InContext, Regression, Shift};
use attnlab_train::baseline::{RegressionBaseline, lasso};
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

fn law(functions: Functions, dim: usize, points: usize, shift: Shift) -> InContext {
    InContext { functions, dim, points, active: dim, shift }
}

fn prompt(law: &InContext, seed: u64) -> Regression {
    law.draw(&Streams::new(seed, "baselines", 0, 0))
}

/// numpy 2: `X = np.array([[1,2,-1,.5,3],[0,1,1,-2,1],[2,0,1,1,-1.]])`, `y = np.array([1,-2,.5,3,0.])`,
/// for k in 0..5: `np.linalg.lstsq(X[:,:k].T, y[:k], rcond=None)[0] @ X[:,k]`; ridge with λ = .7:
/// `X[:,:k] @ np.linalg.solve(X[:,:k].T @ X[:,:k] + .7*np.eye(k), y[:k]) @ X[:,k]`.
#[test]
fn least_squares_and_ridge_are_numpy_s() {
    let x = array![[1.0, 2.0, -1.0, 0.5, 3.0], [0.0, 1.0, 1.0, -2.0, 1.0], [2.0, 0.0, 1.0, 1.0, -1.0]];
    let y = array![1.0, -2.0, 0.5, 3.0, 0.0];
    for (baseline, expected) in
        [(RegressionBaseline::LeastSquares, LEAST_SQUARES), (RegressionBaseline::Ridge { noise_var: 0.7 }, RIDGE)]
    {
        let predicted = baseline.predictions(x.view(), y.view()).unwrap();
        for (predicted, expected) in predicted.iter().zip(expected) {
            assert!((predicted - expected).abs() < 1e-12, "{baseline:?}: {predicted} {expected}");
        }
    }
}

const LEAST_SQUARES: [f64; 5] = [0.0, 0.4, 0.9999999999999991, 2.2142857142857135, -3.552375152253351];
const RIDGE: [f64; 5] = [0.0, 0.3508771929824561, 0.8108108108108109, 1.562135469321098, -3.140548454013564];

#[test]
fn neighbours_and_averaging_by_hand() {
    let x = array![[0.0, 1.0, 5.0, 6.0, 0.4]];
    let y = array![1.0, 2.0, 30.0, 40.0, 0.0];
    let predicted = |b: RegressionBaseline| b.predictions(x.view(), y.view()).unwrap().to_vec();
    // Of 0, 1, 5, 6 the nearest three to .4 are 0, 1, 5; while there are fewer, all count.
    assert_eq!(predicted(RegressionBaseline::Neighbours { count: 3 }), [0.0, 1.0, 1.5, 11.0, 11.0]);
    // Mean of y x, times x.
    let slope = (0.0 + 2.0 + 150.0 + 240.0) / 4.0;
    assert!((predicted(RegressionBaseline::Averaging)[4] - slope * 0.4).abs() < 1e-12);
}

/// w minimises the Lasso objective exactly when |X(y - Xᵀw)/k| ≤ α, with equality and the sign of w_j
/// where w_j ≠ 0: a certificate that does not depend on how w was found.
fn assert_lasso_optimal(x: &Array2<f64>, y: &Array1<f64>, alpha: f64, w: &Array1<f64>) {
    let slopes = x.dot(&(y - &x.t().dot(w))) / y.len() as f64;
    let size = 1.0 + y.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
    // The duality gap is 1e-10 of the objective; slopes are then right to about its root.
    let tolerance = 2e-4 * size;
    for (slope, w) in slopes.iter().zip(w) {
        assert!(slope.abs() <= alpha + tolerance, "{slope} {alpha}");
        assert!(*w == 0.0 || (slope - alpha * w.signum()).abs() < tolerance, "{slope} {alpha} {w}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn lasso_meets_its_optimality_conditions(seed in 0_u64..1000, k in 1_usize..30, log in -4.0_f64..0.0) {
        let drawn = prompt(&law(Functions::SparseLinear { nonzero: 3 }, 8, k, Shift::Noise(0.3)), seed);
        let alpha = 10_f64.powf(log);
        let w = lasso(drawn.inputs.view(), drawn.labels.view(), alpha, Array1::zeros(8).view());
        assert_lasso_optimal(&drawn.inputs, &drawn.labels, alpha, &w);
    }

    #[test]
    fn least_squares_knows_the_function_after_d_examples(seed in 0_u64..1000, dim in 1_usize..8) {
        let drawn = prompt(&law(Functions::Linear, dim, dim + 4, Shift::None), seed);
        let errors = RegressionBaseline::LeastSquares.errors(&drawn).unwrap();
        for error in errors.iter().skip(dim) {
            // Square Gaussian matrices may be nearly singular.
            prop_assert!(*error < 1e-6, "{errors}");
        }
    }
}

/// Before d examples the min-norm interpolant's expected error is (d - k): the part of w outside the
/// span of k Gaussian inputs, w and x being isotropic.
#[test]
fn least_squares_has_its_closed_form() {
    let (d, n) = (6, 4000);
    let law = law(Functions::Linear, d, 8, Shift::None);
    let errors = |seed| RegressionBaseline::LeastSquares.errors(&prompt(&law, seed)).unwrap();
    let sums = (0..n).map(errors).fold(Array1::<f64>::zeros(8), |sums, errors| sums + errors);
    for (k, sum) in sums.iter().enumerate() {
        let (mean, expected) = (sum / n as f64, d.saturating_sub(k) as f64);
        // Squares of products of normals: standard deviation below three times the mean.
        let tolerance = 5.0 * 3.0 * expected / (n as f64).sqrt() + 1e-6;
        assert!((mean - expected).abs() < tolerance, "{k}: {mean} {expected}");
    }
}

/// With noise the Bayes estimator is best on average; least squares after d examples is far off.
#[test]
fn bayes_is_best_under_noise() {
    let law = law(Functions::Linear, 5, 20, Shift::Noise(1.0));
    let mean = |b: RegressionBaseline| -> Array1<f64> {
        (0..400).map(|s| b.errors(&prompt(&law, s)).unwrap()).fold(Array1::zeros(20), |a, e| a + e) / 400.0
    };
    let [bayes, plain] = [RegressionBaseline::Ridge { noise_var: 1.0 }, RegressionBaseline::LeastSquares].map(mean);
    assert!(bayes.iter().zip(&plain).all(|(b, p)| *b <= 1.02 * p), "{bayes} {plain}");
    assert!(plain[5] > 2.0 * bayes[5]);
}

#[test]
fn shifts_are_what_they_say() {
    let draw = |shift| prompt(&law(Functions::Linear, 4, 50, shift), 3);
    let plain = draw(Shift::None);
    let scaled = draw(Shift::Scale(3.0));
    assert!((&scaled.inputs - &(&plain.inputs * 3.0)).iter().all(|x| x.abs() < 1e-12));
    assert_eq!(scaled.weights, plain.weights);
    let noisy = draw(Shift::Noise(0.5));
    assert_eq!(noisy.answers, plain.answers);
    assert!(noisy.labels != noisy.answers);
    // A longer prompt begins as a shorter one does.
    let short = prompt(&law(Functions::Linear, 4, 10, Shift::None), 3);
    assert_eq!(short.inputs, plain.inputs.slice(ndarray::s![.., ..10]));
    // Skewed: trace d, eigenvalues as 1, 1/4, 1/9, 1/16.
    let x = prompt(&law(Functions::Linear, 4, 200_000, Shift::Skewed), 0).inputs;
    let covariance = x.dot(&x.t()) / 200_000.0;
    let (values, _) = attnlab_core::linalg::symmetric_eigen(covariance.view()).unwrap();
    let trace: f64 = (1..=4).map(|j| 1.0 / (j * j) as f64).sum();
    for (j, value) in values.iter().rev().enumerate() {
        let expected = 4.0 / trace / ((j + 1) * (j + 1)) as f64;
        assert!((value / expected - 1.0).abs() < 0.03, "{value} {expected}");
    }
}

#[test]
fn sparse_functions_keep_their_coordinates() {
    for seed in 0..50 {
        let mut l = law(Functions::SparseLinear { nonzero: 3 }, 10, 5, Shift::None);
        l.active = 6;
        let drawn = prompt(&l, seed);
        let support: Vec<usize> = (0..10).filter(|j| drawn.weights[*j] != 0.0).collect();
        assert_eq!(support.len(), 3);
        assert!(support.iter().all(|j| *j < 6), "{support:?}");
        assert!(drawn.inputs.slice(ndarray::s![6.., ..]).iter().all(|x| *x == 0.0));
    }
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let wrong = |change: fn(&mut InContext)| {
        let mut l = law(Functions::SparseLinear { nonzero: 3 }, 10, 5, Shift::None);
        change(&mut l);
        l.validate().unwrap_err().to_string()
    };
    assert!(wrong(|l| l.active = 11).contains("active = 11"));
    assert!(wrong(|l| l.points = 0).contains("points = 0"));
    assert!(wrong(|l| l.functions = Functions::SparseLinear { nonzero: 11 }).contains("nonzero"));
    assert!(wrong(|l| l.shift = Shift::Scale(-1.0)).contains("scale = -1"));
    assert!(wrong(|l| l.shift = Shift::Noise(f64::NAN)).contains("noise"));
    let shapes = RegressionBaseline::Averaging.predictions(Array2::zeros((2, 3)).view(), Array1::zeros(4).view());
    assert!(shapes.unwrap_err().to_string().contains("labels"));
}
