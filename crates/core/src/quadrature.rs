//! One-dimensional integrals of the smooth functions that occur in closed forms.

/// Non-negative abscissae of the 15-point Kronrod rule on [-1, 1] and their weights; every second abscissa is one of
/// the Gauss rule. Digits of QUADPACK's dqk15.
const KRONROD: [(f64, f64); 8] = [
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_55),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9),
    (0.0, 0.209_482_141_084_727_82),
];
/// Weights of the Gauss rule, for nodes 1, 3, 5 and 7.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];

/// Integrates over one panel: the Kronrod value and its distance from the Gauss value.
fn panel(f: &impl Fn(f64) -> f64, a: f64, b: f64) -> (f64, f64) {
    let (centre, half) = (0.5 * (a + b), 0.5 * (b - a));
    let middle = f(centre);
    let (mut kronrod, mut gauss) = (KRONROD[7].1 * middle, GAUSS[3] * middle);
    for (i, (node, weight)) in KRONROD[..7].iter().enumerate() {
        let pair = f(centre - half * node) + f(centre + half * node);
        kronrod += weight * pair;
        if i % 2 == 1 {
            gauss += GAUSS[i / 2] * pair;
        }
    }
    (kronrod * half, ((kronrod - gauss) * half).abs())
}

/// Largest number of halvings in one integral. After it the remaining panels are accepted as they are,
/// since rounding then limits their accuracy.
const MOST_HALVINGS: u32 = 300;

/// Largest number of first panels. A million take a third of a second and 40 MB.
const MOST_PANELS: f64 = 1e6;

/// Computes $\int_a^b f$ by adaptive Gauss-Kronrod quadrature.
///
/// `[a, b]` is first cut into panels no wider than `width`, which must be small enough not to miss a
/// peak. A panel is halved until its estimated error is below `tol` times the sum of the absolute values
/// of the integral over the first panels; for a non-negative integrand that sum is the integral itself.
///
/// NaN where `[a, b]` is more than a million times as wide as a panel.
pub fn integrate(f: impl Fn(f64) -> f64, a: f64, b: f64, width: f64, tol: f64) -> f64 {
    let panels = ((b - a) / width).ceil();
    if panels.is_nan() || panels < 1.0 {
        return 0.0;
    }
    if panels > MOST_PANELS {
        return f64::NAN;
    }
    let ends: Vec<f64> = (0..=panels as usize).map(|i| a + (b - a) * i as f64 / panels).collect();
    integrate_panels(f, &ends, tol)
}

/// Computes $\int f$ from the first to the last of the increasing `ends` as [`integrate`] does, with first panels between
/// them: for an integrand whose steps and kinks have known places.
///
/// ```
/// use attnlab_core::quadrature::integrate_panels;
/// // |x - 1/3| has a kink, at which panels end.
/// let integral = integrate_panels(|x: f64| (x - 1.0 / 3.0).abs(), &[0.0, 1.0 / 3.0, 1.0], 1e-8);
/// assert!((integral - 5.0 / 18.0).abs() < 1e-15);
/// ```
pub fn integrate_panels(f: impl Fn(f64) -> f64, ends: &[f64], tol: f64) -> f64 {
    let mut open: Vec<_> = ends.windows(2).map(|ends| (ends[0], ends[1], panel(&f, ends[0], ends[1]))).collect();
    let whole: f64 = open.iter().map(|(_, _, (value, _))| value.abs()).sum();
    let (mut sum, mut halvings) = (0.0, 0);
    while let Some((a, b, (value, error))) = open.pop() {
        if error <= tol * whole || halvings == MOST_HALVINGS {
            sum += value;
            continue;
        }
        halvings += 1;
        let middle = 0.5 * (a + b);
        open.push((a, middle, panel(&f, a, middle)));
        open.push((middle, b, panel(&f, middle, b)));
    }
    sum
}

/// How much wider each panel of [`panels_about`] is than the one before it.
const GROWTH: f64 = 4.0;

/// Computes the ends of panels from `a` to `b` for [`integrate_panels`], of an integrand that changes about `place`, in
/// [a, b], over the width `first`: panels begin there with that width, and each is four times as wide as the one before
/// it, but none (rounding aside) is wider than `widest`. What is of width w at a distance of some w from the place is then
/// not missed, however small w is.
///
/// The integral over them is NaN where an argument but `first` is not finite, or [a, b] is more than a million times as
/// wide as `widest`; it is 0 where b < a.
///
/// ```
/// use attnlab_core::quadrature::{integrate_panels, panels_about};
/// // Nearly all of e^{-x/w}/w lies within the first 1e-7 of [0, 1].
/// let w = 1e-9;
/// let density = |x: f64| (-x / w).exp() / w;
/// let integral = integrate_panels(density, &panels_about((0.0, 1.0), 0.0, w, 0.5), 1e-12);
/// assert!((integral - 1.0).abs() < 1e-12);
/// ```
pub fn panels_about((a, b): (f64, f64), place: f64, first: f64, widest: f64) -> Vec<f64> {
    if b < a {
        return vec![];
    }
    if ![a, b, place, widest].iter().all(|x| x.is_finite()) || (b - a) / widest > MOST_PANELS {
        return vec![f64::NAN; 2];
    }
    let place = place.clamp(a, b);
    // No panel is lost to rounding.
    let first = first.min(widest).max(2.0 * f64::EPSILON * place.abs()).max(f64::MIN_POSITIVE);
    let grow = |end: f64| {
        let (mut last, mut width, mut ends) = (place, first, vec![]);
        while last != end {
            let next = last + width.copysign(end - last);
            // The last panel is what is left, and it is all where even the widest is lost to rounding.
            last = if next != last && (next - place).abs() < (end - place).abs() { next } else { end };
            ends.push(last);
            width = (GROWTH * width).min(widest);
        }
        ends
    };
    grow(a).into_iter().rev().chain([place]).chain(grow(b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_and_sharp_integrands() {
        let normal = |x: f64| (-0.5 * x * x).exp();
        let exact = (2.0 * std::f64::consts::PI).sqrt();
        let integral = integrate(normal, -12.0, 12.0, 0.5, 1e-10);
        assert!((integral / exact - 1.0).abs() < 1e-13);
        // A step of width 1e-4 at an irrational place: int_{-1}^1 sigmoid((x - c)/w) = 1 - c.
        let (c, w) = (1.0 / std::f64::consts::E, 1e-4);
        let step = |x: f64| 1.0 / (1.0 + (-(x - c) / w).exp());
        let integral = integrate(step, -1.0, 1.0, 0.5, 1e-10);
        assert!((integral - (1.0 - c)).abs() < 1e-9, "{integral}");
        assert_eq!(integrate(normal, 1.0, 1.0, 0.5, 1e-10), 0.0);
        // No memory holds so many panels.
        assert!(integrate(normal, -1e30, 1e30, 0.5, 1e-10).is_nan());
        // Exact for polynomials of degree 22 in one panel.
        let integral = integrate(|x| x.powi(22), 0.0, 1.0, 2.0, 1e-3);
        assert!((integral - 1.0 / 23.0).abs() < 1e-15);
    }

    #[test]
    fn panels_grow_from_their_place() {
        assert_eq!(panels_about((-1.0, 4.5), 0.0, 0.25, 2.0), [-1.0, -0.25, 0.0, 0.25, 1.25, 3.25, 4.5]);
        assert_eq!(panels_about((1.0, 2.0), 1.0, 9.0, 3.0), [1.0, 2.0]);
        assert_eq!(panels_about((1.0, 1.0), 1.0, 0.1, 2.0), [1.0]);
        assert!(panels_about((2.0, 1.0), 1.0, 0.1, 2.0).is_empty());
        // Narrower than the spacing of f64 there.
        for (range, place, widest) in [((1e20, 1e20 + 1e6), 1e20, 1e3), ((0.0, 1.0), 0.5, 0.1)] {
            let ends = panels_about(range, place, 1e-300, widest);
            assert!(ends.is_sorted_by(|a, b| a < b) && ends.len() < 70, "{ends:?}");
            assert_eq!((ends[0], ends[ends.len() - 1]), range);
        }
    }

    #[test]
    fn panels_without_sense_give_nan() {
        let integral =
            |range, place, first, widest| integrate_panels(|_| 1.0, &panels_about(range, place, first, widest), 1e-9);
        assert!(integral((0.0, f64::INFINITY), 0.0, 1.0, 1.0).is_nan());
        assert!(integral((0.0, 1.0), f64::NAN, 1.0, 1.0).is_nan());
        assert!(integral((0.0, 1e9), 0.0, 1.0, 1.0).is_nan());
        assert!((integral((0.0, 1.0), 0.0, 0.0, 1.0) - 1.0).abs() < 1e-12);
        assert_eq!(integral((1.0, 0.0), 0.0, 0.1, 1.0), 0.0);
    }
}
