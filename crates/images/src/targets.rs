//! Distributions over classes that a network is trained towards: smoothed labels and mix-up.

use crate::dataset::check_label;
use crate::image::Image;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Generator;
use rand_distr::{Beta, Distribution};

/// Returns the distribution (classes,) of a label with smoothing ε (Szegedy et al. 2016): (1 − ε) on the label and ε spread
/// uniformly over all classes, the label included, as in PyTorch.
///
/// # Errors
/// [`Error::Invalid`] for a label that is not below the number of classes, or ε outside [0, 1].
pub fn smoothed_label(label: usize, classes: usize, smoothing: f64) -> Result<Vec<f64>> {
    check_label(label, classes)?;
    if !(0.0..=1.0).contains(&smoothing) {
        return Err(Error::invalid("smoothing", smoothing, "must be a number in [0, 1]"));
    }
    let mut target = vec![smoothing / classes as f64; classes];
    target[label] += 1.0 - smoothing;
    Ok(target)
}

/// Draws the weight λ of mix-up from Beta(α, α); for α = 0, which means no mix-up, it is 1.
///
/// # Errors
/// [`Error::Invalid`] unless α is 0 or from 0.001 to 1000, where the sampler of the Beta law is accurate.
pub fn mix_up_weight(alpha: f64, generator: &mut Generator) -> Result<f64> {
    if alpha == 0.0 {
        return Ok(1.0);
    }
    let law = if (1e-3..=1e3).contains(&alpha) { Beta::new(alpha, alpha).ok() } else { None };
    match law {
        Some(law) => Ok(law.sample(generator)),
        None => Err(Error::invalid("alpha", alpha, "must be 0, or a number from 0.001 to 1000")),
    }
}

/// Mixes two images with their targets (Zhang et al. 2018): λ x₁ + (1 − λ) x₂ for intensities, in f32, and for targets.
///
/// # Errors
/// [`Error::Invalid`] for λ outside [0, 1]; [`Error::Shape`] for images or targets of different sizes.
pub fn mix_up(first: (&Image, &[f64]), second: (&Image, &[f64]), weight: f64) -> Result<(Image, Vec<f64>)> {
    if !(0.0..=1.0).contains(&weight) {
        return Err(Error::invalid("weight", weight, "must be a number in [0, 1]"));
    }
    if first.0.dim() != second.0.dim() {
        let expected = format!("{:?}, as the first image. Crop or resize before", first.0.dim());
        return Err(Error::shape("second image", second.0.dim(), expected));
    }
    if first.1.len() != second.1.len() {
        let expected = format!("({},), as the first target", first.1.len());
        return Err(Error::shape("second target", [second.1.len()], expected));
    }
    let (here, there) = (weight as f32, (1.0 - weight) as f32);
    let mut pixels = first.0.intensities();
    pixels.zip_mut_with(&second.0.intensities(), |x, y| *x = here * *x + there * y);
    let mixed = |(x, y): (&f64, &f64)| weight * x + (1.0 - weight) * y;
    let target = first.1.iter().zip(second.1).map(mixed).collect();
    Ok((Image::from_floats(pixels)?, target))
}
