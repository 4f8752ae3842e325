//! An image as tokens: each patch of p × p pixels becomes a column.

use attnlab_core::error::{Result, require, require_shape};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3};
use serde::{Deserialize, Serialize};

/// Order of the numbers inside a patch. A network that was trained elsewhere needs the one it was trained with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchOrder {
    /// (channel, row, column): number (c p + y) p + x. It is that of a convolution's kernel, as in ViT, DeiT and timm.
    ChannelsFirst,
    /// (row, column, channel): number (y p + x) C + c. It is that of `vit-pytorch` and of CRATE and AoT, which build on it.
    ChannelsLast,
}

impl PatchOrder {
    /// Computes the place of a number in a patch of `p` × `p` pixels of `channels`.
    fn place(self, channels: usize, p: usize, (c, y, x): (usize, usize, usize)) -> usize {
        match self {
            PatchOrder::ChannelsFirst => (c * p + y) * p + x,
            PatchOrder::ChannelsLast => (y * p + x) * channels + c,
        }
    }
}

/// Cuts an image (channels, height, width) into patches of `p` × `p` pixels: a matrix (C p², N) whose columns are the
/// patches in raster order, rows from top to bottom and each from left to right, N = (height / p)(width / p).
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) when p is 0 or does not divide both sides.
pub fn patches(image: ArrayView3<f32>, p: usize, order: PatchOrder) -> Result<Array2<f32>> {
    let (channels, height, width) = image.dim();
    check(p, height, width)?;
    let across = width / p;
    let mut tokens = Array2::zeros((channels * p * p, (height / p) * across));
    for ((c, y, x), value) in image.indexed_iter() {
        let row = order.place(channels, p, (c, y % p, x % p));
        tokens[(row, (y / p) * across + x / p)] = *value;
    }
    Ok(tokens)
}

/// Puts patches back together: the inverse of [`patches`] for an image of `height` × `width`.
///
/// # Errors
/// As [`patches`]; [`Error::Shape`](attnlab_core::Error::Shape) for a matrix that is not (C p², N).
pub fn from_patches(
    tokens: ArrayView2<f32>,
    height: usize,
    width: usize,
    p: usize,
    order: PatchOrder,
) -> Result<Array3<f32>> {
    check(p, height, width)?;
    let (length, count) = tokens.dim();
    let across = width / p;
    let needed = (height / p) * across;
    let fits = count == needed && length > 0 && length.is_multiple_of(p * p);
    let expected = format!("(C · {p} · {p}, {needed}) for an image of {height} x {width}");
    require_shape(fits, "tokens", (length, count), expected)?;
    let channels = length / (p * p);
    Ok(Array3::from_shape_fn((channels, height, width), |(c, y, x)| {
        let row = order.place(channels, p, (c, y % p, x % p));
        tokens[(row, (y / p) * across + x / p)]
    }))
}

fn check(p: usize, height: usize, width: usize) -> Result<()> {
    let divides = |side: usize| side > 0 && p > 0 && side.is_multiple_of(p);
    let requirement = format!("must divide both sides of the image, {height} x {width}. Resize or crop the image");
    require(divides(height) && divides(width), "patch", p, requirement)
}
