//! Types of tensors in GGUF files: blocks of quantised numbers with shared scales.
//!
//! The layouts are those of ggml (`ggml-common.h`, `ggml-quants.c`); scales are little-endian f16.

use half::{bf16, f16};

/// Type of a tensor by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockType(u32);

/// A known type: blocks of `bytes` bytes, each of `entries` numbers.
pub(super) struct BlockFormat {
    pub(super) entries: usize,
    pub(super) bytes: usize,
    /// Appends the numbers of whole blocks.
    pub(super) widen: fn(&[u8], &mut Vec<f32>),
}

impl BlockType {
    pub(super) fn new(number: u32) -> Self {
        BlockType(number)
    }

    /// Returns the name of the type, or its number.
    pub(super) fn name(self) -> String {
        const NAMES: [&str; 31] = [
            "F32", "F16", "Q4_0", "Q4_1", "", "", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
            "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16",
            "I32", "I64", "F64", "IQ1_M", "BF16",
        ];
        match NAMES.get(self.0 as usize) {
            Some(name) if !name.is_empty() => (*name).into(),
            _ => format!("number {}", self.0),
        }
    }

    /// Returns the layout of a type that can be read.
    pub(super) fn format(self) -> Option<BlockFormat> {
        let format = |entries, bytes, widen| Some(BlockFormat { entries, bytes, widen });
        match self.0 {
            0 => format(1, 4, |b, to| each(b, to, |b| [f32::from_le_bytes(*b)])),
            1 => format(1, 2, |b, to| each(b, to, |b| [f16::from_le_bytes(*b).to_f32()])),
            2 => format(32, 18, |b, to| each(b, to, q4_0)),
            3 => format(32, 20, |b, to| each(b, to, q4_1)),
            8 => format(32, 34, |b, to| each(b, to, q8_0)),
            12 => format(256, 144, |b, to| each(b, to, q4_k)),
            14 => format(256, 210, |b, to| each(b, to, q6_k)),
            28 => format(1, 8, |b, to| each(b, to, |b| [f64::from_le_bytes(*b) as f32])),
            30 => format(1, 2, |b, to| each(b, to, |b| [bf16::from_le_bytes(*b).to_f32()])),
            _ => None,
        }
    }
}

/// Appends the numbers of blocks of B bytes and N numbers each.
fn each<const B: usize, const N: usize>(bytes: &[u8], to: &mut Vec<f32>, widen: impl Fn(&[u8; B]) -> [f32; N]) {
    for block in bytes.as_chunks::<B>().0 {
        to.extend(widen(block));
    }
}

/// Reads the f16 at a place of a block.
fn scale(block: &[u8], start: usize) -> f32 {
    f16::from_le_bytes([block[start], block[start + 1]]).to_f32()
}

/// d (q - 8), q of 4 bits: low halves first.
fn q4_0(block: &[u8; 18]) -> [f32; 32] {
    let d = scale(block, 0);
    nibbles(&block[2..], |q| d * (f32::from(q) - 8.0))
}

/// d q + m.
fn q4_1(block: &[u8; 20]) -> [f32; 32] {
    let (d, m) = (scale(block, 0), scale(block, 2));
    nibbles(&block[4..], |q| d * f32::from(q) + m)
}

/// d q, q of 8 bits with sign.
fn q8_0(block: &[u8; 34]) -> [f32; 32] {
    let d = scale(block, 0);
    std::array::from_fn(|i| d * f32::from(block[2 + i] as i8))
}

/// The low halves of 16 bytes, then the high ones.
fn nibbles(bytes: &[u8], value: impl Fn(u8) -> f32) -> [f32; 32] {
    std::array::from_fn(|i| match i < 16 {
        true => value(bytes[i] & 15),
        false => value(bytes[i - 16] >> 4),
    })
}

/// Eight parts of 32 numbers d s q - e m, with s and m of 6 bits per part and q of 4 bits.
fn q4_k(block: &[u8; 144]) -> [f32; 256] {
    let (d, e) = (scale(block, 0), scale(block, 2));
    let packed = &block[4..16];
    let parts: [(f32, f32); 8] = std::array::from_fn(|i| {
        let (s, m) = match i < 4 {
            true => (packed[i] & 63, packed[i + 4] & 63),
            false => {
                ((packed[i + 4] & 15) | ((packed[i - 4] >> 6) << 4), (packed[i + 4] >> 4) | ((packed[i] >> 6) << 4))
            }
        };
        (d * f32::from(s), e * f32::from(m))
    });
    // 32 bytes hold two parts: low halves, high halves.
    std::array::from_fn(|i| {
        let part = i / 32;
        let byte = block[16 + 32 * (part / 2) + i % 32];
        let q = if part % 2 == 0 { byte & 15 } else { byte >> 4 };
        parts[part].0 * f32::from(q) - parts[part].1
    })
}

/// Sixteen parts of 16 numbers d s (q - 32), with s of 8 bits with sign and q of 6 bits: 4 low ones, then 2 high ones.
fn q6_k(block: &[u8; 210]) -> [f32; 256] {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let d = scale(block, 208);
    std::array::from_fn(|i| {
        // Halves of 128 numbers, each in four quarters of 32.
        let (half, quarter, l) = (i / 128, i % 128 / 32, i % 32);
        let byte = low[64 * half + 32 * (quarter % 2) + l];
        let four = if quarter < 2 { byte & 15 } else { byte >> 4 };
        let two = (high[32 * half + l] >> (2 * quarter)) & 3;
        let q = f32::from(four | (two << 4)) - 32.0;
        d * f32::from(scales[i / 16] as i8) * q
    })
}
