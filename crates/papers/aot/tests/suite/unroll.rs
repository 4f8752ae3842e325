//! `unroll` from Rust: the numbers of the plain layer, and data that do not fit.

use attnlab_aot::unroll::{Data, unroll, unroll_with};
use attnlab_core::Error;
use attnlab_core::rng::Streams;
use attnlab_theory::attention::streaming::Cpu;
use attnlab_theory::attention::{Mssa, Softmax};
use attnlab_theory::measure::snr;
use attnlab_theory::sample::Mixture;
use ndarray::Array2;

fn data() -> Data {
    let mixture = Mixture::balanced(40, 2, 10, 0.2).unwrap();
    let draw = mixture.draw(&Streams::new(1, "tests.unroll", 0, 0)).unwrap();
    Data::new(draw.tokens, draw.bases, draw.labels).unwrap()
}

#[test]
fn layers_are_those_of_the_plain_definition() {
    let (data, layer) = (data(), Mssa::new(Softmax, 0.5));
    let report = unroll(&data, &layer, 2).unwrap();
    let mut z = data.tokens.clone();
    for (l, row) in report.layers.iter().enumerate() {
        assert_eq!(row.layer, l as u64);
        for (a, b) in row.snr.iter().zip(snr(z.view(), &data.bases, &data.labels)) {
            assert!((a / b - 1.0).abs() < 1e-12, "{l}: {a} {b}");
        }
        if l < 2 {
            z = layer.apply(z.view(), &data.bases).unwrap();
        }
    }
    assert!((&report.tokens - &z).iter().all(|x| x.abs() < 1e-12));
}

#[test]
fn layers_are_shown_as_they_come_and_may_end_the_run() {
    let (data, layer) = (data(), Mssa::new(Softmax, 0.5));
    let mut shown = vec![];
    let report = unroll_with(&data, &layer, 3, Some(&Cpu), &mut |row| {
        shown.push(row.clone());
        Ok(())
    });
    assert_eq!(shown, report.unwrap().layers);
    let mut last_layer = 0;
    let ended = unroll_with(&data, &layer, 3, None, &mut |row| {
        last_layer = row.layer;
        if last_layer == 1 { Err(Error::undefined("enough")) } else { Ok(()) }
    });
    assert!(ended.is_err() && last_layer == 1);
}

#[test]
fn data_that_do_not_fit_are_refused_by_name() {
    let Data { tokens, bases, labels, .. } = data();
    let refused = |bases: &[&Array2<f64>], labels: &[usize]| {
        let bases = bases.iter().map(|u| (*u).clone()).collect();
        Data::new(tokens.clone(), bases, labels.to_vec()).unwrap_err().to_string()
    };
    let [u, v] = [&bases[0], &bases[1]];
    let message = refused(&[u, v], &labels[1..]);
    assert_eq!(message, "labels has shape (39,), expected (40,), one label per token");
    let message = refused(&[u], &labels);
    assert_eq!(message, "labels[20] = 1: must be a whole number from 0 to 0, one per basis");
    let message = refused(&[u, &(2.0 * v)], &labels);
    assert!(message.starts_with("|U'U - I| of bases[1] = 3.0e0: must be at most 1e-5"), "{message}");
    let message = refused(&[u, &v.t().to_owned()], &labels);
    assert!(message.starts_with("bases[1] has shape (10, 20), expected (d, p) with d = 20"), "{message}");
    let message = refused(&[u, v, u], &labels);
    assert!(message.starts_with("columns of the bases = 30: must be at most d = 20"), "{message}");
}
