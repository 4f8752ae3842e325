//! Operations that map each level of a channel by a table, as Pillow's `ImageOps` has them.

use crate::image::Image;
use attnlab_core::error::{Result, require};
use ndarray::{ArrayViewMut2, Axis};

/// Stretches each channel linearly so that its least level becomes 0 and its largest 255.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities.
pub fn auto_contrast(image: &Image) -> Result<Image> {
    by_channel(image, |counts| {
        let low = counts.iter().position(|count| *count > 0).unwrap_or(0);
        let high = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        if high <= low {
            return identity();
        }
        let scale = 255.0 / (high - low) as f64;
        let offset = -(low as f64) * scale;
        std::array::from_fn(|level| (level as f64 * scale + offset).clamp(0.0, 255.0) as u8)
    })
}

/// Equalises the histogram of each channel.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities.
pub fn equalise(image: &Image) -> Result<Image> {
    by_channel(image, |counts| {
        let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let step = counts[..last].iter().sum::<usize>() / 255;
        if step == 0 {
            return identity();
        }
        let mut sum = step / 2;
        std::array::from_fn(|level| {
            let mapped = (sum / step).min(255) as u8;
            sum += counts[level];
            mapped
        })
    })
}

/// Keeps the upper `bits` binary places of every level, 0 to 8.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities, or more than 8 bits.
pub fn posterise(image: &Image, bits: u32) -> Result<Image> {
    require(bits <= 8, "bits", bits, "must be a whole number from 0 to 8")?;
    let mask = (0xff00_u32 >> bits) as u8;
    by_channel(image, |_| std::array::from_fn(|level| level as u8 & mask))
}

/// Inverts every level that is not below the threshold (levels).
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities, or a threshold that is NaN.
pub fn solarise(image: &Image, threshold: f64) -> Result<Image> {
    require(!threshold.is_nan(), "threshold", threshold, "must be a number")?;
    let table = |level: usize| if (level as f64) < threshold { level as u8 } else { 255 - level as u8 };
    by_channel(image, |_| std::array::from_fn(table))
}

/// Makes a table from the histogram of each channel, and maps the channel by it.
fn by_channel(image: &Image, table: impl Fn(&[usize; 256]) -> [u8; 256]) -> Result<Image> {
    let mut levels = image.levels()?.to_owned();
    let map = |mut channel: ArrayViewMut2<u8>| {
        let mut counts = [0; 256];
        for level in &channel {
            counts[usize::from(*level)] += 1;
        }
        let table = table(&counts);
        channel.mapv_inplace(|level| table[usize::from(level)]);
    };
    levels.axis_iter_mut(Axis(0)).for_each(map);
    Image::from_bytes(levels)
}

fn identity() -> [u8; 256] {
    std::array::from_fn(|level| level as u8)
}
