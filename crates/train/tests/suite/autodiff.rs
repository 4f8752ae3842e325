//! The hand-derived gradients of one-layer attention (in-context denoising) against reverse-mode
//! derivatives of the plain definition, computed by burn in f64.

use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_denoising::prompts::{Denoising, Dimension, Family, Prompt};
use attnlab_theory::dynamics::{Attention, Prompts, Weights, gradient};
use attnlab_train::model::{ComputeDevice, Tensor};
use ndarray::{Array2, Axis};

/// Small prompts of each family of the paper.
fn prompts(family: Family) -> Vec<Prompt> {
    let problem = Denoising { family, ambient: 6, context: 9, sigma_z2: 0.5 };
    let streams = Streams::new(1, "tests.autodiff", 0, 0);
    (0..7).map(|i| problem.draw(&streams.child("prompt", i)).unwrap()).collect()
}

fn families() -> [Family; 3] {
    let dim = Dimension::Fixed(3);
    [
        Family::Subspace { dim, sigma0_2: 2.0 },
        Family::Sphere { dim, radius: 1.5 },
        Family::Clusters { weights: vec![0.5, 0.3, 0.2], variances: vec![0.1; 3], radius: 1.0 },
    ]
}

fn tensor(a: &Array2<f64>) -> Tensor<2> {
    let (rows, columns) = a.dim();
    ComputeDevice::cpu_f64().tensor(a.iter().copied().collect(), [rows, columns])
}

fn array(t: &Tensor<2>) -> Array2<f64> {
    Array2::from_shape_vec((t.dims()[0], t.dims()[1]), t.try_to_vec_as::<f64>().unwrap()).unwrap()
}

/// The loss of the paper's Eqs. (5) and (6), written down once more, in tensors.
fn loss(attention: Attention, prompts: &[Prompt], kq: &Tensor<2>, pv: &Tensor<2>) -> Tensor<1> {
    let square = |p: &Prompt| {
        let x = tensor(&p.context);
        let query = tensor(&p.query.clone().insert_axis(Axis(1)));
        let target = tensor(&p.target.clone().insert_axis(Axis(1)));
        let scores = x.clone().transpose().matmul(kq.clone().matmul(query));
        let weights = match attention {
            Attention::Linear => scores.mul_scalar(1.0 / p.context.ncols() as f64),
            Attention::Softmax => {
                let raised = scores.exp();
                raised.clone() / raised.sum_dim(0)
            }
        };
        (pv.clone().matmul(x.matmul(weights)) - target).square().sum()
    };
    let mut squares = prompts.iter().map(square);
    let first = squares.next().unwrap();
    let count = prompts.len() * prompts[0].query.len();
    squares.fold(first, |a, b| a + b).mul_scalar(1.0 / count as f64)
}

#[test]
fn hand_derived_gradients_are_reverse_mode_s() {
    let streams = Streams::new(2, "tests.autodiff", 0, 0);
    let random = |name| normal_matrix(6, 6, &mut streams.part(name, 0)) * 0.4;
    let weights = Weights { kq: random("kq"), pv: random("pv") };
    for family in families() {
        let drawn = prompts(family);
        for attention in Attention::ALL {
            let draw = |i: u64| Ok(drawn[i as usize].clone());
            let (packed, _) = Prompts::<f64>::draw(drawn.len(), &[attention], draw, |_| Ok(())).unwrap();
            let which: Vec<usize> = (0..drawn.len()).collect();
            let (value, slope) = gradient(attention, &packed, &weights, &which).unwrap();
            let tracked = |w| tensor(w).autodiff().require_grad();
            let (kq, pv) = (tracked(&weights.kq), tracked(&weights.pv));
            let again = loss(attention, &drawn, &kq, &pv);
            let mut gradients = again.backward();
            let again = again.try_to_vec_as::<f64>().unwrap()[0];
            // Both sum some hundred numbers of size 1 in f64, in another order.
            assert!((value - again).abs() < 1e-13 * again, "{value} {again}");
            for (ours, theirs) in [(&slope.kq, &kq), (&slope.pv, &pv)] {
                let theirs = array(&theirs.grad_remove(&mut gradients).unwrap());
                let size = theirs.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
                for (a, b) in ours.iter().zip(&theirs) {
                    assert!((a - b).abs() < 1e-12 * size, "{attention:?} {a} {b}");
                }
            }
        }
    }
}
