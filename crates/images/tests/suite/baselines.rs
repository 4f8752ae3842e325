//! Baselines against scikit-learn's on its digits (`baselines.json`, made by `make_baselines.py`).

use crate::{data, pool};
use attnlab_core::error::Error;
use attnlab_images::baselines::{FitSettings, LinearClassifier, NearestNeighbours, top1};
use attnlab_images::{flattened, open};
use ndarray::{Array2, Axis, array};
use serde_json::Value;

/// Largest entry of the gradient at which the fit ends, of 650.
const TOLERANCE: f64 = 1e-12;

/// Largest difference of weights from scikit-learn's: along its flattest direction the objective has the curvature of the
/// ridge, at least 1e-4, so a gradient of TOLERANCE √650 moves weights by 3e-7; the reference is rounded to 1e-10.
const WEIGHT_MARGIN: f64 = 3e-7;

/// Largest difference of objectives: at a minimum second order in the difference of weights, and rounding.
const OBJECTIVE_MARGIN: f64 = 1e-11;

struct Digits {
    training: (Array2<f32>, Vec<usize>),
    test: (Array2<f32>, Vec<usize>),
    expected: Value,
}

impl Digits {
    /// Splits as the script does: images whose number leaves 2 on division by 3 are for the test.
    fn read() -> Self {
        let images = open(&data("digits.csv.gz")).unwrap().images;
        let features = flattened(images.as_ref()).unwrap();
        let part = |test: bool| {
            let indices: Vec<usize> = (0..images.count()).filter(|i| (i % 3 == 2) == test).collect();
            (features.select(Axis(1), &indices), indices.iter().map(|i| images.labels()[*i]).collect())
        };
        let text = std::fs::read_to_string(data("baselines.json")).unwrap();
        Digits { training: part(false), test: part(true), expected: serde_json::from_str(&text).unwrap() }
    }
}

fn text(labels: &[usize]) -> String {
    labels.iter().map(usize::to_string).collect()
}

#[test]
fn neighbours_predict_what_scikit_learn_predicts() {
    let digits = Digits::read();
    let (features, labels) = &digits.training;
    for k in [1, 3, 4, 10] {
        let model = NearestNeighbours::new(features.view(), labels, 10, k).unwrap();
        let predicted = model.predict(digits.test.0.view()).unwrap();
        assert_eq!(text(&predicted), digits.expected["neighbours"][k.to_string()], "k = {k}");
    }
}

/// The counts are those of the script: 586 of 599 at k = 1, .978297. The interval is that of
/// `scipy.stats.binomtest(586, 599).proportion_ci(.95, 'exact')`.
#[test]
fn accuracy_has_its_exact_interval() {
    let digits = Digits::read();
    let model = NearestNeighbours::new(digits.training.0.view(), &digits.training.1, 10, 1).unwrap();
    let predicted = model.predict(digits.test.0.view()).unwrap();
    let accuracy = top1(&predicted, &digits.test.1, 0.95).unwrap();
    assert_eq!(accuracy.value, 586.0 / 599.0);
    let (low, high) = (0.9631734096352482, 0.9883947494380818);
    assert!((accuracy.low - low).abs() < 1e-12 && (accuracy.high - high).abs() < 1e-12, "{accuracy:?}");
    assert!(top1(&predicted, &digits.test.1[1..], 0.95).is_err());
    assert!(top1(&[], &[], 0.95).is_err());
}

#[test]
fn the_linear_classifier_has_the_minimum_of_scikit_learn() {
    let digits = Digits::read();
    let (features, labels) = &digits.training;
    for ridge in ["0.01", "0.0001"] {
        let expected = &digits.expected["linear"][ridge];
        let ridge: f64 = ridge.parse().unwrap();
        let settings = FitSettings { tolerance: TOLERANCE, ..FitSettings::with_ridge(ridge) };
        let model = LinearClassifier::fit(features.view(), labels, 10, settings).unwrap();
        let weights = model.weights();
        let numbers = |name: &str| -> Vec<f64> {
            expected[name].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
        };
        let mut fitted = weights.row(3).slice(ndarray::s![..64]).to_vec();
        fitted.extend(weights.column(64));
        let expected_weights = [numbers("class_3"), numbers("intercepts")].concat();
        let worst = fitted.iter().zip(&expected_weights).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(worst < WEIGHT_MARGIN, "ridge {ridge}: weights differ by {worst:e}");
        let mut objective = 0.5 * ridge * weights.slice(ndarray::s![.., ..64]).iter().map(|x| x * x).sum::<f64>();
        for (scores, label) in model.scores(features.view()).unwrap().columns().into_iter().zip(labels) {
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            objective += (sum.ln() - scores[*label]) / labels.len() as f64;
        }
        let difference = (objective - expected["objective"].as_f64().unwrap()).abs();
        assert!(difference < OBJECTIVE_MARGIN, "ridge {ridge}: objectives differ by {difference:e}");
        let predicted = model.predict(digits.test.0.view()).unwrap();
        assert_eq!(text(&predicted), expected["predicted"]);
        println!("ridge {ridge}: weights differ by {worst:e}, objectives by {difference:e}");
    }
}

#[test]
fn ties_are_broken_by_the_stated_rule() {
    // Training images at -1, 1 and 3, with labels 1, 0 and 2.
    let features = array![[-1.0_f32, 1.0, 3.0]];
    let predict = |k, x: f32| {
        NearestNeighbours::new(features.view(), &[1, 0, 2], 3, k).unwrap().predict(array![[x]].view()).unwrap()[0]
    };
    // Equal distances: the smaller index. Equal votes: the smallest label.
    assert_eq!((predict(1, 0.0), predict(2, 0.0), predict(3, 2.9)), (1, 0, 0));
    // Two of the three are at distance 2 of 1: index 0 is taken before index 2.
    assert_eq!(predict(2, 1.0), 0);
    // Distances in f64: 1 + 2^-20 and 1 have squares that f32 cannot tell apart at 2^12.
    let close = array![[4096.0_f32, 4096.0], [1.0 + f32::EPSILON * 8.0, 1.0]];
    let model = NearestNeighbours::new(close.view(), &[0, 1], 2, 1).unwrap();
    assert_eq!(model.predict(array![[0.0_f32], [0.0]].view()).unwrap(), [1]);
}

#[test]
fn predictions_do_not_depend_on_threads() {
    let digits = Digits::read();
    let fit = || {
        let (features, labels) = &digits.training;
        let linear = LinearClassifier::fit(features.view(), labels, 10, FitSettings::with_ridge(1e-2)).unwrap();
        (linear, NearestNeighbours::new(features.view(), labels, 10, 3).unwrap().predict(digits.test.0.view()).unwrap())
    };
    assert_eq!(pool(1).install(fit), pool(3).install(fit));
}

#[test]
fn a_fit_that_stops_early_is_an_error() {
    let digits = Digits::read();
    let settings = FitSettings { steps: 2, ..FitSettings::with_ridge(1e-4) };
    let error = LinearClassifier::fit(digits.training.0.view(), &digits.training.1, 10, settings).unwrap_err();
    assert!(matches!(error, Error::NotConverged(_)));
    let text = error.to_string();
    assert!(text.starts_with("largest entry of the gradient = ") && text.contains("after 2 steps"), "{text}");
}

#[test]
fn wrong_features_and_settings_are_refused() {
    let features = array![[0.0_f32, 1.0], [2.0, 3.0]];
    let near = |labels: &[usize], k| NearestNeighbours::new(features.view(), labels, 2, k).unwrap_err().to_string();
    assert!(near(&[0, 1], 0).starts_with("k = 0: must be from 1"));
    assert!(near(&[0, 1], 3).starts_with("k = 3"));
    assert!(near(&[0], 1).contains("(2,), one for each column"));
    assert!(near(&[0, 2], 1).starts_with("label = 2"));
    let nan = array![[f32::NAN]];
    assert!(NearestNeighbours::new(nan.view(), &[0], 1, 1).is_err());
    let model = NearestNeighbours::new(features.view(), &[0, 1], 2, 1).unwrap();
    assert!(model.predict(nan.view()).unwrap_err().to_string().contains("(2, N)"));
    assert!(model.predict(array![[f32::NAN], [0.0]].view()).is_err());
    let fit = |ridge| LinearClassifier::fit(features.view(), &[0, 1], 2, FitSettings::with_ridge(ridge));
    assert!(fit(0.0).is_err() && fit(f64::NAN).is_err());
    let model = fit(0.1).unwrap();
    assert_eq!(model.predict(features.view()).unwrap(), [0, 1]);
    assert!(model.predict(nan.view()).is_err());
    let none = Array2::<f32>::zeros((2, 0));
    assert!(LinearClassifier::fit(none.view(), &[], 2, FitSettings::with_ridge(0.1)).is_err());
    assert!(model.predict(none.view()).unwrap().is_empty());
}
