//! LayerNorm and RMSNorm: one operation with its own backward pass on the CPU, a graph of primitive
//! operations on other devices.

use super::device::ComputeDevice;
use super::flex::{Number, at_type_of, sum, tensor, values};
use attnlab_theory::attention::streaming::at_full_width;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;
use rayon::prelude::*;

/// ε of both norms, PyTorch's default for LayerNorm.
const EPSILON: f64 = 1e-5;
/// Number of rows that a task takes. The derivatives of scale and shift are sums over tasks in their order.
const ROWS: usize = 64;

/// Computes scale · (x - mean)/σ + shift of every row of x (batch, tokens, d), or without the mean.
pub(super) fn graph(x: Tensor<3>, scale: Tensor<2>, shift: Option<Tensor<2>>, centred: bool) -> Tensor<3> {
    let x = if centred { x.clone() - x.mean_dim(2) } else { x };
    let square = x.clone().square().mean_dim(2);
    let scaled = x / square.add_scalar(EPSILON).sqrt() * scale.unsqueeze_dim(0);
    match shift {
        Some(shift) => scaled + shift.unsqueeze_dim(0),
        None => scaled,
    }
}

/// Computes the same as [`graph`] as one operation, on the CPU.
pub(super) fn fused(
    x: Tensor<3>,
    scale: Tensor<2>,
    shift: Option<Tensor<2>>,
    centred: bool,
    device: &ComputeDevice,
) -> Tensor<3> {
    let [_, d] = scale.dims();
    let shift = shift.unwrap_or_else(|| device.tensor(vec![0.0; d], [1, d]));
    let [x, scale, shift] = [x.into_dispatch(), scale.into_dispatch(), shift.into_dispatch()];
    Tensor::from_dispatch(Dispatch::fused_norm(x, scale, shift, centred))
}

#[backend_extension(Flex, Autodiff)]
trait FusedNorm: Backend {
    fn fused_norm(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        centred: bool,
    ) -> FloatTensor<Self>;
}

impl FusedNorm for Flex {
    fn fused_norm(x: FlexTensor, scale: FlexTensor, shift: FlexTensor, centred: bool) -> FlexTensor {
        let [x, scale, shift] = [x, scale, shift].map(|t| t.to_contiguous());
        at_type_of!(x, forward(&x, &scale, &shift, centred)).0
    }
}

impl<C: CheckpointStrategy> FusedNorm for Autodiff<Flex, C> {
    fn fused_norm(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        centred: bool,
    ) -> FloatTensor<Self> {
        let ((x, of_x), (scale, of_scale), (shift, of_shift)) =
            (x.into_parts(), scale.into_parts(), shift.into_parts());
        let [x, scale, shift] = [x, scale, shift].map(|t| t.to_contiguous());
        let (y, statistics) = at_type_of!(x, forward(&x, &scale, &shift, centred));
        match NormStep.prepare::<C>([of_x, of_scale, of_shift]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(Kept { x, scale, statistics, centred }, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}

/// The backward pass of the norm.
#[derive(Debug)]
struct NormStep;

/// Values of the forward pass that the backward pass needs.
#[derive(Clone, Debug)]
struct Kept {
    x: FlexTensor,
    scale: FlexTensor,
    /// Mean (0 without centring) and 1/σ of each row, (batch, tokens, 2).
    statistics: FlexTensor,
    centred: bool,
}

impl Backward<Flex, 3> for NormStep {
    type State = Kept;

    fn backward(self, ops: Ops<Kept, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let slope = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let derivatives = at_type_of!(ops.state.x, derivatives(&ops.state, &slope));
        for (parent, gradient) in ops.parents.into_iter().zip(derivatives) {
            if let Some(parent) = parent {
                gradients.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

fn forward<T: Number>(
    x: &FlexTensor,
    scale: &FlexTensor,
    shift: &FlexTensor,
    centred: bool,
) -> (FlexTensor, FlexTensor) {
    let (shape, (scale, shift)) = (x.shape(), (values::<T>(scale), values::<T>(shift)));
    let (x, d) = (values::<T>(x), scale.len());
    let share = T::of_f64(1.0 / d as f64);
    let mut y = vec![T::zero(); x.len()];
    let mut statistics = vec![T::zero(); 2 * (x.len() / d)];
    let tasks = y.par_chunks_mut(ROWS * d).zip(x.par_chunks(ROWS * d));
    tasks.zip(statistics.par_chunks_mut(2 * ROWS)).for_each(|((y, x), statistics)| {
        at_full_width(
            #[inline(always)]
            || {
                let (pairs, _) = statistics.as_chunks_mut::<2>();
                for ((y, x), pair) in y.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(pairs) {
                    let mean = if centred { sum(x, x, |x, _| x) * share } else { T::zero() };
                    let square = sum(x, x, |x, _| (x - mean) * (x - mean)) * share;
                    let inverse = (square + T::of_f64(EPSILON)).sqrt().recip();
                    *pair = [mean, inverse];
                    for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
                        *y = (*x - mean) * inverse * *scale + *shift;
                    }
                }
            },
        );
    });
    (tensor(y, shape.to_vec()), tensor(statistics, [shape[0], shape[1], 2]))
}

/// Computes the derivatives with respect to x, scale and shift.
fn derivatives<T: Number>(state: &Kept, slope: &FlexTensor) -> [FlexTensor; 3] {
    let (x, scale) = (values::<T>(&state.x), values::<T>(&state.scale));
    let (slope, statistics) = (values::<T>(slope), values::<T>(&state.statistics));
    let d = scale.len();
    let share = T::of_f64(1.0 / d as f64);
    let mut of_x = vec![T::zero(); x.len()];
    let tasks = of_x.par_chunks_mut(ROWS * d).zip(x.par_chunks(ROWS * d));
    let tasks = tasks.zip(slope.par_chunks(ROWS * d)).zip(statistics.par_chunks(2 * ROWS));
    let sums = tasks.map(|(((of_x, x), slope), statistics)| {
        let mut sums = vec![T::zero(); 2 * d];
        at_full_width(
            #[inline(always)]
            || {
                let (of_scale, of_shift) = sums.split_at_mut(d);
                let rows = of_x.chunks_exact_mut(d).zip(x.chunks_exact(d));
                let rows = rows.zip(slope.chunks_exact(d)).zip(statistics.as_chunks::<2>().0);
                for (((of_x, x), slope), [mean, inverse]) in rows {
                    // dŷ = dy · scale; of_x holds it for now.
                    for j in 0..d {
                        of_scale[j] += slope[j] * (x[j] - *mean) * *inverse;
                        of_shift[j] += slope[j];
                        of_x[j] = slope[j] * scale[j];
                    }
                    let unit = |x: T| (x - *mean) * *inverse;
                    let along = sum(of_x, x, |g, x| g * unit(x)) * share;
                    let level = if state.centred { sum(of_x, x, |g, _| g) * share } else { T::zero() };
                    for (g, x) in of_x.iter_mut().zip(x) {
                        *g = *inverse * (*g - level - unit(*x) * along);
                    }
                }
            },
        );
        sums
    });
    let sums: Vec<Vec<T>> = sums.collect();
    let mut total = vec![T::zero(); 2 * d];
    for sums in sums {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    let of_shift = total.split_off(d);
    [tensor(of_x, state.x.shape().to_vec()), tensor(total, [1, d]), tensor(of_shift, [1, d])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::rng::Streams;
    use rand::RngExt;

    fn numbers(name: &str, count: usize) -> Vec<f64> {
        let mut rng = Streams::new(16, "tests.norm", 0, 0).part(name, 0);
        (0..count).map(|_| rng.random_range(-2.0..1.0)).collect()
    }

    /// Returns values and derivatives with respect to x, scale and shift of Σ mix · norm.
    fn results(device: &ComputeDevice, [batch, n, d]: [usize; 3], form: usize) -> Vec<Vec<f64>> {
        let tracked = |name: &str, shape: [usize; 2]| {
            device.tensor(numbers(name, shape[0] * shape[1]), shape).autodiff().require_grad()
        };
        let (flat, scale) = (tracked("x", [batch * n, d]), tracked("scale", [1, d]));
        let shift = (form < 2).then(|| tracked("shift", [1, d]));
        let x = flat.clone().reshape([batch, n, d]);
        let y = match device.fuses {
            true => fused(x, scale.clone(), shift.clone(), form.is_multiple_of(2), device),
            false => graph(x, scale.clone(), shift.clone(), form.is_multiple_of(2)),
        };
        let mut gradients = (y.clone() * device.tensor(numbers("mix", batch * n * d), [batch, n, d])).sum().backward();
        let mut results = vec![y.try_to_vec_as::<f64>().unwrap()];
        for parameter in [Some(flat), Some(scale), shift].into_iter().flatten() {
            results.push(parameter.grad_remove(&mut gradients).unwrap().try_to_vec_as::<f64>().unwrap());
        }
        results
    }

    /// Rounding of sums of at most 200 terms of size one; 1/σ, at most 1/√ε = 316, multiplies it.
    const ROUNDING: f64 = 1e-11;
    /// The same for f32, for rows of more than two numbers, where σ is of size one.
    const ROUNDING_F32: f64 = 1e-4;

    #[test]
    fn fused_norms_are_the_graph() {
        let device = ComputeDevice::cpu_f64();
        let sizes = [[1, 1, 1], [2, 3, 7], [1, 64, 16], [5, 13, 33], [2, 97, 40]];
        for (sizes, form) in sizes.into_iter().flat_map(|s| (0..4).map(move |f| (s, f))) {
            let close = |values: &[Vec<f64>], expected: &[Vec<f64>], rounding: f64| {
                assert_eq!(values.len(), expected.len());
                for (values, expected) in values.iter().zip(expected) {
                    assert_eq!(values.len(), expected.len());
                    let size = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                    for (a, b) in values.iter().zip(expected) {
                        assert!((a - b).abs() <= rounding * size, "{sizes:?} {form}: {a} {b}");
                    }
                }
            };
            let expected = results(&device.clone().unfused(), sizes, form);
            close(&results(&device, sizes, form), &expected, ROUNDING);
            if sizes[2] > 2 {
                close(&results(&ComputeDevice::cpu(), sizes, form), &expected, ROUNDING_F32);
            }
        }
    }

    #[test]
    fn norms_do_not_depend_on_the_number_of_threads() {
        for device in [ComputeDevice::cpu(), ComputeDevice::cpu_f64()] {
            let [one, two, five] = [1, 2, 5].map(|threads| {
                let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
                builder.build().unwrap().install(|| results(&device, [3, 150, 24], 0))
            });
            assert!(one == two && one == five);
        }
    }
}
