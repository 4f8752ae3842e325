//! JPEG and PNG into pixels.
//!
//! Conversions: palettes are expanded; 16-bit levels v become (v + 128) / 257, which is v · 255 / 65535 rounded to
//! nearest; a pixel of opacity α is laid over white, (α c + (255 − α) 255) / 255 rounded to nearest (torchvision
//! instead drops α); CMYK and YCCK JPEG become RGB in the decoder. Colour profiles and the orientation tag of cameras
//! are ignored.

use crate::files::{in_file, read_whole};
use crate::image::Image;
use attnlab_core::error::{Error, Result, require};
use ndarray::Array3;
use std::io::Cursor;
use std::path::Path;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};

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
    decode(&read_whole(path, MAX_FILE_BYTES)?).map_err(|e| in_file(path, e))
}

/// Decodes a JPEG or PNG image, which is recognised by its first bytes.
///
/// # Errors
/// [`Error::Invalid`] for another format, broken data, more than [`MAX_PIXELS`] pixels, or an announced size of more than
/// [`MAX_EXPANSION`] times the bytes that are there; nothing is allocated for it.
pub fn decode(bytes: &[u8]) -> Result<Image> {
    if bytes.starts_with(JPEG) {
        return decode_jpeg(bytes);
    }
    if bytes.starts_with(PNG) {
        return decode_png(bytes);
    }
    let first: Vec<String> = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect();
    let requirement = "must be those of JPEG (ff d8 ff) or PNG (89 50 4e 47). Convert the image";
    Err(Error::invalid("first bytes", first.join(" "), requirement))
}

/// First bytes of a JPEG file.
const JPEG: &[u8] = &[0xff, 0xd8, 0xff];

/// First bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns `true` for the first bytes of one image in a common format, also one that [`decode`] refuses.
pub(crate) fn is_image(head: &[u8]) -> bool {
    let formats: [&[u8]; 9] = [JPEG, PNG, b"GIF87a", b"GIF89a", b"MM\0*", b"II*\0", b"BM", b"P5", b"P6"];
    formats.iter().any(|first| head.starts_with(first)) || head.get(8..12) == Some(b"WEBP")
}

fn decode_jpeg(bytes: &[u8]) -> Result<Image> {
    let broken = |e| not_whole(format!("Format error decoding Jpeg: {e}"));
    // The size is limited below.
    let options = DecoderOptions::default().set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let colours = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    let channels = colours.num_components();
    check_size(width as u64, height as u64, 8 * channels, bytes)?;
    // The decoder takes a file that is cut short, and fills what is missing with grey: the end (ff d9) must be there after
    // the last start of a scan (ff da).
    let last = |marker: u8| bytes.windows(2).rposition(|pair| pair == [0xff, marker]);
    if last(0xd9) <= last(0xda) {
        return Err(not_whole("it has no end"));
    }
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    planes(decoder.decode().map_err(broken)?, height, width, channels)
}

fn decode_png(bytes: &[u8]) -> Result<Image> {
    let broken = |e| match e {
        png::DecodingError::Format(_) => not_whole(format!("Format error decoding Png: {e}")),
        _ => not_whole(e),
    };
    // Beside the pixels the decoder holds its own rows and chunks.
    let limits = png::Limits { bytes: 16 * MAX_PIXELS as usize };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::EXPAND);
    let header = decoder.read_header_info().map_err(broken)?;
    let (width, height) = header.size();
    check_size(width.into(), height.into(), header.bits_per_pixel(), bytes)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    let mut levels = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let frame = reader.next_frame(&mut levels).map_err(broken)?;
    if frame.bit_depth == png::BitDepth::Sixteen {
        let narrow = |v: &[u8; 2]| ((u32::from(u16::from_be_bytes(*v)) + 128) / 257) as u8;
        levels = levels.as_chunks().0.iter().map(narrow).collect();
    }
    let mut channels = frame.color_type.samples();
    if matches!(frame.color_type, png::ColorType::GrayscaleAlpha | png::ColorType::Rgba) {
        channels -= 1;
        levels = over_white(&levels, channels);
    }
    planes(levels, height as usize, width as usize, channels)
}

fn not_whole(reason: impl std::fmt::Display) -> Error {
    Error::invalid("image", "broken", format!("must be whole ({reason}). Remove it, or write it again"))
}

/// Refuses a size that is too large, by itself or for the bytes that encode it in so many bits for each pixel.
fn check_size(width: u64, height: u64, bits: usize, bytes: &[u8]) -> Result<()> {
    let (pixels, size) = (width * height, format!("{width} x {height}"));
    require(pixels <= MAX_PIXELS, "size", &size, format!("must have at most {MAX_PIXELS} pixels. Resize the image"))?;
    let requirement = format!(
        "must be at most {MAX_EXPANSION} times the {} bytes that encode it; no encoder compresses more. Write the image \
         again",
        bytes.len()
    );
    // With at most 2^26 pixels and 64 bits for each the product is at most 2^32.
    let announced = pixels * bits as u64 / 8;
    require(announced <= MAX_EXPANSION.saturating_mul(bytes.len() as u64), "size", size, requirement)
}

/// Lays pixels of `channels` colours and an opacity over white.
fn over_white(levels: &[u8], channels: usize) -> Vec<u8> {
    let mut made = Vec::with_capacity(levels.len() / (channels + 1) * channels);
    for pixel in levels.chunks_exact(channels + 1) {
        let (alpha, colours) = (u32::from(pixel[channels]), &pixel[..channels]);
        made.extend(colours.iter().map(|c| ((alpha * u32::from(*c) + (255 - alpha) * 255 + 127) / 255) as u8));
    }
    made
}

/// Makes an image of pixels whose channels lie side by side.
fn planes(levels: Vec<u8>, height: usize, width: usize, channels: usize) -> Result<Image> {
    let shape = [height, width, channels];
    let levels = Array3::from_shape_vec(shape, levels)
        .map_err(|_| Error::shape("image", shape, "as many pixels as announced"))?;
    Image::from_bytes(levels.permuted_axes([2, 0, 1]))
}
