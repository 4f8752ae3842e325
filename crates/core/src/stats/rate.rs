//! Rates: the exponent b of y ≈ c x^b as a slope on log-log axes, with its interval.

use super::{Estimate, mean, t_quantile, validate_level};
use crate::error::{Result, require, require_shape};

/// Estimates the exponent b in y ≈ c x^b: the least-squares slope of log y over log x with its Student
/// interval (exact for independent normal errors of log y with equal spread).
///
/// # Errors
/// If there are fewer than three points, lists of different length, values that are not positive and
/// finite, or only one distinct x.
///
/// ```
/// // scipy.stats.linregress(log([1, 2, 4, 8]), log([3, 5, 13, 24])): slope 1.0379, stderr 0.0836
/// let e = attnlab_core::stats::log_log_slope(&[1.0, 2.0, 4.0, 8.0], &[3.0, 5.0, 13.0, 24.0], 0.95)?;
/// assert!((e.value - 1.0378511623253732).abs() < 1e-12);
/// assert!((e.high - e.value - 0.35976777643722074).abs() < 1e-8);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn log_log_slope(x: &[f64], y: &[f64], level: f64) -> Result<Estimate> {
    Ok(PowerLaw::fit(x, y, level)?.slope)
}

/// The power law y ≈ c x^b, fitted on log-log axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// The exponent b with its interval.
    pub slope: Estimate,
    /// Means of log x and log y.
    centre: (f64, f64),
    /// Standard error of the line at the centre, and of the slope, each times the t quantile.
    half: (f64, f64),
}

impl PowerLaw {
    /// Fits the least-squares line; see [`log_log_slope`].
    ///
    /// # Errors
    /// As [`log_log_slope`].
    pub fn fit(x: &[f64], y: &[f64], level: f64) -> Result<Self> {
        validate_level(level)?;
        let (lengths, expected) = ((x.len(), y.len()), "two lists of equal length >= 3");
        require_shape(x.len() == y.len() && x.len() >= 3, "points of a rate", lengths, expected)?;
        let allowed = "must be positive finite numbers only";
        x.iter().chain(y).try_for_each(|v| require(*v > 0.0 && v.is_finite(), "points of a rate", v, allowed))?;
        let [x, y] = [x, y].map(|values| values.iter().map(|v| v.ln()).collect::<Vec<_>>());
        let n = x.len() as f64;
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let sxx: f64 = x.iter().map(|v| (v - mean_x).powi(2)).sum();
        require(sxx != 0.0, "points of a rate", x[0].exp(), "must be at least two different x")?;
        let slope = x.iter().zip(&y).map(|(a, b)| (a - mean_x) * (b - mean_y)).sum::<f64>() / sxx;
        let residual = |(a, b): (&f64, &f64)| (b - mean_y - slope * (a - mean_x)).powi(2);
        let variance = x.iter().zip(&y).map(residual).sum::<f64>() / (n - 2.0);
        let t = t_quantile(n - 2.0, 0.5 + level / 2.0)?;
        let half = (t * (variance / n).sqrt(), t * (variance / sxx).sqrt());
        Ok(PowerLaw {
            slope: Estimate { value: slope, low: slope - half.1, high: slope + half.1, level },
            centre: (mean_x, mean_y),
            half,
        })
    }

    /// Evaluates the fitted line at x, with the pointwise interval for the line (not for a new point).
    ///
    /// ```
    /// use attnlab_core::stats::PowerLaw;
    /// let law = PowerLaw::fit(&[1.0, 2.0, 4.0, 8.0], &[3.0, 5.0, 13.0, 24.0], 0.95)?;
    /// // numpy.polyfit and the textbook standard error with scipy.stats.t.ppf(.975, 2), at log 4.
    /// let fitted = law.evaluate(4.0);
    /// assert!((fitted.value.ln() - 2.47245515073127).abs() < 1e-12);
    /// assert!((fitted.high.ln() - fitted.value.ln() - 0.30541710243346987).abs() < 1e-8);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn evaluate(&self, x: f64) -> Estimate {
        let far = x.ln() - self.centre.0;
        let value = self.centre.1 + self.slope.value * far;
        let half = self.half.0.hypot(self.half.1 * far);
        Estimate { value: value.exp(), low: (value - half).exp(), high: (value + half).exp(), level: self.slope.level }
    }
}

/// Estimates the exponent b in E y ≈ c x^b from independent repetitions `samples[i][j]` of y at `x[j]`:
/// the log-log slope of the means over i, with the jackknife interval over i. Unlike a mean of exponents
/// it is not biased by the scatter of log y, and values at different x may depend on each other.
///
/// # Errors
/// As [`log_log_slope`], or if there are fewer than two repetitions.
///
/// ```
/// use attnlab_core::stats::log_log_slope_of_means;
/// let samples = [vec![4.0, 2.0, 1.0], vec![12.0, 6.0, 3.0], vec![8.0, 4.0, 2.0]];
/// // Every repetition is c / x: the slope is -1 whichever is left out.
/// let e = log_log_slope_of_means(&[1.0, 2.0, 4.0], &samples, 0.95)?;
/// // The slope is a ratio of sums of three products of logarithms, numbers up to 3.
/// assert!((e.value + 1.0).abs() < 32.0 * f64::EPSILON && e.high - e.low < 1e-12);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn log_log_slope_of_means(x: &[f64], samples: &[Vec<f64>], level: f64) -> Result<Estimate> {
    for row in samples {
        require_shape(row.len() == x.len(), "repetition", row.len(), format!("one value for each of {} x", x.len()))?;
    }
    let n = samples.len() as f64;
    let sum: Vec<f64> = (0..x.len()).map(|j| samples.iter().map(|row| row[j]).sum()).collect();
    let slope = |means: Vec<f64>| log_log_slope(x, &means, level).map(|e| e.value);
    let whole = slope(sum.iter().map(|s| s / n).collect())?;
    let without = |row: &Vec<f64>| {
        let means = sum.iter().zip(row).map(|(s, y)| (s - y) / (n - 1.0)).collect();
        Ok(n * whole - (n - 1.0) * slope(means)?)
    };
    let pseudo: Vec<f64> = samples.iter().map(without).collect::<Result<_>>()?;
    // The mean of the pseudo-values is the estimate without its bias of order 1/n.
    mean(&pseudo, level)
}
