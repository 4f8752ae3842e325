//! Distributions over classes that a network is trained towards: smoothed labels and mix-up.

use crate::dataset::check_label;
use crate::image::Image;
use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::rng::Generator;
use rand_distr::{Beta, Distribution};

/// Returns the distribution (classes,) of a label with smoothing ε (Szegedy et al. 2016): (1 − ε) on the label and ε spread
/// uniformly over all classes, the label included, as in PyTorch.
///
/// # Errors
/// [`Error::Invalid`] for a label that is not below the number of classes, or ε outside [0, 1].
pub fn smoothed_label(label: usize, classes: usize, smoothing: f64) -> Result<Vec<f64>> {
    check_label(label, classes)?;
    require((0.0..=1.0).contains(&smoothing), "smoothing", smoothing, "must be a number in [0, 1]")?;
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
    let law = Beta::new(alpha, alpha).ok().filter(|_| (1e-3..=1e3).contains(&alpha));
    let refused = || Error::invalid("alpha", alpha, "must be 0, or a number from 0.001 to 1000");
    Ok(law.ok_or_else(refused)?.sample(generator))
}

/// Mixes two images with their targets (Zhang et al. 2018): λ x₁ + (1 − λ) x₂ for intensities, in f32, and for targets.
///
/// # Errors
/// [`Error::Invalid`] for λ outside [0, 1]; [`Error::Shape`] for images or targets of different sizes.
pub fn mix_up(first: (&Image, &[f64]), second: (&Image, &[f64]), weight: f64) -> Result<(Image, Vec<f64>)> {
    require((0.0..=1.0).contains(&weight), "weight", weight, "must be a number in [0, 1]")?;
    let (dim, classes) = (first.0.dim(), first.1.len());
    let expected = format!("{dim:?}, as the first image. Crop or resize before");
    require_shape(second.0.dim() == dim, "second image", second.0.dim(), expected)?;
    let expected = format!("({classes},), as the first target");
    require_shape(second.1.len() == classes, "second target", [second.1.len()], expected)?;
    let (first_share, second_share) = (weight as f32, (1.0 - weight) as f32);
    let mut pixels = first.0.intensities();
    pixels.zip_mut_with(&second.0.intensities(), |x, y| *x = first_share * *x + second_share * y);
    let target = first.1.iter().zip(second.1).map(|(x, y)| weight * x + (1.0 - weight) * y).collect();
    Ok((Image::from_floats(pixels)?, target))
}
