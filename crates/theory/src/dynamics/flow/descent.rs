//! Plain gradient descent, for comparison with the flow.

use super::{Flow, Method, Path, VectorField, Watch, Watching};
use attnlab_core::error::{Error, Result};

/// Runs gradient descent $x \leftarrow x + \eta f(x)$, whose step k corresponds to the time $k\eta$ of
/// the flow. The returned states are those of the last step before each of the `times`; an event is
/// reported at the first step after it, without interpolation.
///
/// # Errors
/// If the step size is not positive, times or start are invalid, or the iteration diverges.
pub fn descend(field: &dyn VectorField, start: &[f64], eta: f64, times: &[f64], watch: Watch) -> Result<Path> {
    Flow::new(Method::Tsit45).validate(field, start, times)?;
    attnlab_core::error::positive("eta", eta)?;
    let event = watch.event;
    let side = |x: &[f64]| event.map_or(1.0, |event| event(x)).is_sign_positive();
    let (mut watching, mut x) = (Watching::new(watch), start.to_vec());
    let (mut rate, before) = (vec![0.0; start.len()], side(&x));
    let (mut states, mut crossing, mut steps) = (vec![], None, 0_usize);
    watching.look(0.0, &x);
    'times: for t in times {
        // Half a rounding error of slack lets t = k η take k steps.
        while (steps + 1) as f64 * eta <= t * (1.0 + f64::EPSILON) {
            field.rate(&x, &mut rate);
            x.iter_mut().zip(&rate).for_each(|(x, r)| *x += eta * r);
            steps += 1;
            let now = steps as f64 * eta;
            if !watching.look(now, &x) {
                return Err(Error::diverged(format!(
                    "gradient descent diverges after {steps} steps: choose a smaller eta \
                     than {eta}"
                )));
            }
            if side(&x) != before {
                crossing = Some((now, x));
                break 'times;
            }
        }
        states.push(x.clone());
    }
    let (times, drifts) = (times[..states.len()].to_vec(), watching.drifts);
    Ok(Path { times, states, event: crossing, steps, rejected: 0, evaluations: steps, drifts })
}
