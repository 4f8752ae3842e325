//! JPEG and PNG into pixels.
//!
//! Conversions: palettes are expanded; 16-bit levels v become (v + 128) / 257, which is v · 255 / 65535 rounded to
//! nearest; a pixel of opacity α is laid over white, (α c + (255 − α) 255) / 255 rounded to nearest (torchvision
//! instead drops α); CMYK and YCCK JPEG become RGB in the decoder. Colour profiles and the orientation tag of cameras
//! are ignored.

use crate::files::{content, in_file, read_whole};
use crate::image::Image;
use attnlab_core::error::{Error, Result};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use ndarray::Array3;
use std::io::Cursor;
use std::path::Path;

/// Largest number of pixels of an image: 8192 × 8192. Decoding takes at most 16 bytes of memory for each, 1 GiB.
pub const MAX_PIXELS: u64 = 1 << 26;

/// Largest length of an image file (bytes): 256 MiB, that of the largest image without compression and some more.
pub const MAX_FILE_BYTES: u64 = 1 << 28;

/// Largest ratio of the pixels of a file, in its own bits per pixel, to the bytes that encode them. Deflate, inside PNG,
/// reaches 1032. JPEG spends at least one bit on every block of 8 × 8: with 4 × 4 subsampled colours 18 bits for 3072
/// bytes, 1365.
pub const MAX_EXPANSION: u64 = 2048;

/// Reads a JPEG or PNG file.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Content`] for one that is larger than [`MAX_FILE_BYTES`], or as
/// [`decode`].
pub fn read(path: &Path) -> Result<Image> {
    let bytes = read_whole(path, MAX_FILE_BYTES)?;
    decode(&bytes).map_err(|e| in_file(path, e))
}

/// Decodes a JPEG or PNG image, which is recognised by its first bytes.
///
/// # Errors
/// [`Error::Invalid`] for another format, broken data, more than [`MAX_PIXELS`] pixels, or an announced size of more than
/// [`MAX_EXPANSION`] times the bytes that are there; nothing is allocated for it.
pub fn decode(bytes: &[u8]) -> Result<Image> {
    let broken = |e: image::ImageError| {
        let requirement = format!("must be whole ({e}). Remove it, or write it again");
        Error::invalid("image", "broken", requirement)
    };
    let format = match image::guess_format(bytes) {
        Ok(format @ (ImageFormat::Jpeg | ImageFormat::Png)) => format,
        _ => {
            let first: Vec<String> = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect();
            let requirement = "must be those of JPEG (ff d8 ff) or PNG (89 50 4e 47). Convert the image";
            return Err(Error::invalid("first bytes", first.join(" "), requirement));
        }
    };
    let mut limits = Limits::default();
    limits.max_image_width = u32::try_from(MAX_PIXELS).ok();
    limits.max_image_height = limits.max_image_width;
    // Beside the pixels a decoder holds its own rows or coefficients (2 bytes, up to 4 channels).
    limits.max_alloc = Some(16 * MAX_PIXELS);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    let bits = u64::from(decoder.original_color_type().bits_per_pixel());
    let size = format!("{width} x {height}");
    if pixels > MAX_PIXELS {
        let requirement = format!("must have at most {MAX_PIXELS} pixels. Resize the image");
        return Err(Error::invalid("size", size, requirement));
    }
    // With at most 2^26 pixels and 64 bits for each the product is below 2^32.
    if pixels * bits / 8 > MAX_EXPANSION.saturating_mul(bytes.len() as u64) {
        let requirement = format!(
            "must be at most {MAX_EXPANSION} times the {} bytes that encode it; no encoder compresses more. Write the \
             image again",
            bytes.len()
        );
        return Err(Error::invalid("size", size, requirement));
    }
    if format == ImageFormat::Jpeg && !ends(bytes) {
        let requirement = "must be whole (it has no end). Remove it, or write it again";
        return Err(Error::invalid("image", "broken", requirement));
    }
    let image = DynamicImage::from_decoder(decoder).map_err(broken)?;
    pixels_of(&image)
}

/// Returns `true` if a JPEG file has its end (ff d9) after the last start of a scan (ff da). The decoder takes a file that
/// is cut short, and fills what is missing with grey.
fn ends(bytes: &[u8]) -> bool {
    let last = |marker: u8| bytes.windows(2).rposition(|pair| pair == [0xff, marker]);
    last(0xd9) > last(0xda)
}

/// Converts to levels, without opacity.
fn pixels_of(image: &DynamicImage) -> Result<Image> {
    let (height, width) = (image.height() as usize, image.width() as usize);
    let wide = |v: u16| ((u32::from(v) + 128) / 257) as u8;
    let levels: Vec<u8> = match image {
        DynamicImage::ImageLuma8(image) => return planes(image.as_raw(), height, width, 1),
        DynamicImage::ImageRgb8(image) => return planes(image.as_raw(), height, width, 3),
        DynamicImage::ImageLumaA8(image) => over_white(image.as_raw(), 1),
        DynamicImage::ImageRgba8(image) => over_white(image.as_raw(), 3),
        DynamicImage::ImageLuma16(image) => image.as_raw().iter().map(|v| wide(*v)).collect(),
        DynamicImage::ImageRgb16(image) => image.as_raw().iter().map(|v| wide(*v)).collect(),
        DynamicImage::ImageLumaA16(image) => {
            let levels: Vec<u8> = image.as_raw().iter().map(|v| wide(*v)).collect();
            over_white(&levels, 1)
        }
        DynamicImage::ImageRgba16(image) => {
            let levels: Vec<u8> = image.as_raw().iter().map(|v| wide(*v)).collect();
            over_white(&levels, 3)
        }
        other => {
            let found = format!("{:?}", other.color());
            let requirement = "must be grey or RGB of 8 or 16 bits, with or without alpha. Convert the image";
            return Err(Error::invalid("colour type", found, requirement));
        }
    };
    let channels = levels.len() / (height * width).max(1);
    planes(&levels, height, width, channels)
}

/// Lays pixels of `channels` colours and an opacity over white.
fn over_white(levels: &[u8], channels: usize) -> Vec<u8> {
    let mut made = Vec::with_capacity(levels.len() / (channels + 1) * channels);
    for pixel in levels.chunks_exact(channels + 1) {
        let (alpha, colours) = (u32::from(pixel[channels]), &pixel[..channels]);
        let blend = |c: &u8| {
            let sum = alpha * u32::from(*c) + (255 - alpha) * 255;
            ((sum + 127) / 255) as u8
        };
        made.extend(colours.iter().map(blend));
    }
    made
}

/// Makes an image of pixels whose channels lie side by side.
fn planes(levels: &[u8], height: usize, width: usize, channels: usize) -> Result<Image> {
    let pixel = |(c, y, x): (usize, usize, usize)| levels[(y * width + x) * channels + c];
    if levels.len() != channels * height * width {
        let shape = [height, width, channels];
        return Err(Error::shape("image", shape, "as many pixels as announced"));
    }
    Image::from_bytes(Array3::from_shape_fn((channels, height, width), pixel))
}

/// Names an entry of an archive in an error.
pub(crate) fn in_entry(path: &Path, entry: &str, error: Error) -> Error {
    content(path, format!("entry '{entry}': {error}"))
}
