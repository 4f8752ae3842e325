//! Normalisation of channels.

use crate::image::Image;
use attnlab_core::error::{Error, Result, require_shape};
use ndarray::Axis;

/// Computes (x − mean) / deviation in each channel, of intensities: levels are divided by 255 first, so that means and
/// deviations are those of numbers in [0, 1].
///
/// # Errors
/// [`Error::Shape`] for other than one mean and one deviation per channel; [`Error::Invalid`] for a mean that is not
/// finite or a deviation that is not a finite number > 0.
pub fn normalise(image: &Image, means: &[f32], deviations: &[f32]) -> Result<Image> {
    let channels = image.dim().0;
    for (name, values) in [("means", means), ("deviations", deviations)] {
        let expected = format!("({channels},), one for each channel of the image");
        require_shape(values.len() == channels, name, [values.len()], expected)?;
    }
    validate(means, deviations)?;
    let mut values = image.intensities();
    for (c, mut channel) in values.axis_iter_mut(Axis(0)).enumerate() {
        channel.mapv_inplace(|x| (x - means[c]) / deviations[c]);
    }
    Image::from_floats(values)
}

/// Refuses means that are not finite and deviations that are not finite numbers > 0.
pub(super) fn validate(means: &[f32], deviations: &[f32]) -> Result<()> {
    if let Some(mean) = means.iter().find(|mean| !mean.is_finite()) {
        return Err(Error::invalid("mean", mean, "must be a finite number"));
    }
    if let Some(wrong) = deviations.iter().find(|d| !(**d > 0.0 && d.is_finite())) {
        return Err(Error::invalid("deviation", wrong, "must be a finite number > 0"));
    }
    Ok(())
}
