//! Types of tensors in GGUF files: blocks of quantised numbers with shared scales.
//!
//! The layouts are those of ggml (`ggml-common.h`, `ggml-quants.c`); scales are little-endian f16.

use half::{bf16, f16};

/// Type of a tensor by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockType(pub(super) u32);

/// A known type: blocks of `bytes` bytes, each of `entries` numbers.
pub(super) struct BlockFormat {
    pub(super) entries: usize,
    pub(super) bytes: usize,
    /// Appends the numbers of whole blocks.
    pub(super) widen: fn(&[u8], &mut Vec<f32>),
}

impl BlockType {
    /// Returns the name of the type, or its number.
    pub(super) fn name(self) -> String {
        const NAMES: [&str; 41] = [
            "F32", "F16", "Q4_0", "Q4_1", "", "", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
            "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16",
            "I32", "I64", "F64", "IQ1_M", "BF16", "", "", "", "TQ1_0", "TQ2_0", "", "", "", "MXFP4", "NVFP4",
        ];
        match NAMES.get(self.0 as usize) {
            Some(name) if !name.is_empty() => (*name).into(),
            _ => format!("number {}", self.0),
        }
    }

    /// Returns the names of the types that can be read.
    pub(super) fn known() -> Vec<String> {
        (0..64).map(BlockType).filter(|kind| kind.format().is_some()).map(BlockType::name).collect()
    }

    /// Returns the layout of a type that can be read.
    pub(super) fn format(self) -> Option<BlockFormat> {
        let format = |entries, bytes, widen| Some(BlockFormat { entries, bytes, widen });
        match self.0 {
            0 => format(1, 4, |b, to| each(b, to, |b| [f32::from_le_bytes(*b)])),
            1 => format(1, 2, |b, to| each(b, to, |b| [f16::from_le_bytes(*b).to_f32()])),
            2 => format(32, 18, |b, to| each(b, to, q4_0)),
            3 => format(32, 20, |b, to| each(b, to, q4_1)),
            6 => format(32, 22, |b, to| each(b, to, q5_0)),
            7 => format(32, 24, |b, to| each(b, to, q5_1)),
            8 => format(32, 34, |b, to| each(b, to, q8_0)),
            10 => format(256, 84, |b, to| each(b, to, q2_k)),
            11 => format(256, 110, |b, to| each(b, to, q3_k)),
            12 => format(256, 144, |b, to| each(b, to, q4_k)),
            13 => format(256, 176, |b, to| each(b, to, q5_k)),
            14 => format(256, 210, |b, to| each(b, to, q6_k)),
            20 => format(32, 18, |b, to| each(b, to, iq4_nl)),
            23 => format(256, 136, |b, to| each(b, to, iq4_xs)),
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
fn nibbles<T>(bytes: &[u8], value: impl Fn(u8) -> T) -> [T; 32] {
    std::array::from_fn(|i| value(if i < 16 { bytes[i] & 15 } else { bytes[i - 16] >> 4 }))
}

/// d (q - 16), q of 5 bits: 4 low ones as in [`nibbles`], then the highest of all 32 numbers.
fn q5_0(block: &[u8; 22]) -> [f32; 32] {
    let d = scale(block, 0);
    fives(&block[2..], |q| d * (f32::from(q) - 16.0))
}

/// d q + m, q as in [`q5_0`].
fn q5_1(block: &[u8; 24]) -> [f32; 32] {
    let (d, m) = (scale(block, 0), scale(block, 2));
    fives(&block[4..], |q| d * f32::from(q) + m)
}

/// Numbers of 5 bits: the highest bits in 4 bytes, then the others in 16 bytes of halves.
fn fives(bytes: &[u8], value: impl Fn(u8) -> f32) -> [f32; 32] {
    let low = nibbles(&bytes[4..], |q| q);
    std::array::from_fn(|i| value(low[i] | (bit(bytes[i / 8], i % 8) << 4)))
}

/// Value (0 or 1) of a bit of a byte, the lowest being 0.
fn bit(byte: u8, place: usize) -> u8 {
    (byte >> place) & 1
}

/// Value (0 to 3) of a pair of bits of a byte, the lowest pair being 0.
fn pair(byte: u8, place: usize) -> u8 {
    (byte >> (2 * place)) & 3
}

/// Sixteen parts of 16 numbers d s q - e m, with s and m of 4 bits per part and q of 2 bits.
fn q2_k(block: &[u8; 84]) -> [f32; 256] {
    let (d, e) = (scale(block, 80), scale(block, 82));
    let parts: [(f32, f32); 16] = std::array::from_fn(|i| (d * f32::from(block[i] & 15), e * f32::from(block[i] >> 4)));
    std::array::from_fn(|i| {
        let (half, quarter, l) = (i / 128, i % 128 / 32, i % 32);
        let q = pair(block[16 + 32 * half + l], quarter);
        parts[i / 16].0 * f32::from(q) - parts[i / 16].1
    })
}

/// Sixteen parts of 16 numbers d (s - 32) (q - 4), with s of 6 bits per part and q of 3 bits: the highest, then 2 low
/// ones.
fn q3_k(block: &[u8; 110]) -> [f32; 256] {
    let (high, low, packed) = (&block[..32], &block[32..96], &block[96..108]);
    let d = scale(block, 108);
    let parts: [f32; 16] = std::array::from_fn(|i| {
        let byte = packed[i % 8];
        let four = if i < 8 { byte & 15 } else { byte >> 4 };
        d * (f32::from(four | (pair(packed[8 + i % 4], i / 4) << 4)) - 32.0)
    });
    std::array::from_fn(|i| {
        let (half, quarter, l) = (i / 128, i % 128 / 32, i % 32);
        let q = pair(low[32 * half + l], quarter) | (bit(high[l], 4 * half + quarter) << 2);
        parts[i / 16] * (f32::from(q) - 4.0)
    })
}

/// d s and e m of the eight parts of a block of Q4_K or Q5_K, with s and m of 6 bits in 12 bytes after d and e.
fn eight_parts(block: &[u8]) -> [(f32, f32); 8] {
    let (d, e) = (scale(block, 0), scale(block, 2));
    let packed = &block[4..16];
    std::array::from_fn(|i| {
        let (s, m) = if i < 4 {
            (packed[i] & 63, packed[i + 4] & 63)
        } else {
            ((packed[i + 4] & 15) | ((packed[i - 4] >> 6) << 4), (packed[i + 4] >> 4) | ((packed[i] >> 6) << 4))
        };
        (d * f32::from(s), e * f32::from(m))
    })
}

/// The 4 low bits of number i of eight parts of 32: 32 bytes hold two parts, low halves, then high ones.
fn four_bits(bytes: &[u8], i: usize) -> u8 {
    let part = i / 32;
    let byte = bytes[32 * (part / 2) + i % 32];
    if part.is_multiple_of(2) { byte & 15 } else { byte >> 4 }
}

/// Eight parts of 32 numbers d s q - e m, with q of 4 bits.
fn q4_k(block: &[u8; 144]) -> [f32; 256] {
    let parts = eight_parts(block);
    std::array::from_fn(|i| parts[i / 32].0 * f32::from(four_bits(&block[16..], i)) - parts[i / 32].1)
}

/// Eight parts of 32 numbers d s q - e m, with q of 5 bits: the highest, then 4 low ones.
fn q5_k(block: &[u8; 176]) -> [f32; 256] {
    let parts = eight_parts(block);
    std::array::from_fn(|i| {
        let q = four_bits(&block[48..], i) | (bit(block[16 + i % 32], i / 32) << 4);
        parts[i / 32].0 * f32::from(q) - parts[i / 32].1
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
        let q = f32::from(four | (pair(high[32 * half + l], quarter) << 4)) - 32.0;
        d * f32::from(scales[i / 16] as i8) * q
    })
}

/// Values of the 16 numbers of 4 bits in IQ4_NL and IQ4_XS.
const UNEVEN: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// d v(q), q of 4 bits.
fn iq4_nl(block: &[u8; 18]) -> [f32; 32] {
    let d = scale(block, 0);
    nibbles(&block[2..], |q| d * f32::from(UNEVEN[usize::from(q)]))
}

/// Eight parts of 32 numbers d (s - 32) v(q), with s of 6 bits per part (2 high ones, then 4 low ones) and q of 4 bits.
fn iq4_xs(block: &[u8; 136]) -> [f32; 256] {
    let d = scale(block, 0);
    let mut values = [0.0; 256];
    for (i, part) in values.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let four = (block[4 + i / 2] >> (4 * (i % 2))) & 15;
        let s = d * (f32::from(four | (pair(block[2 + i / 4], i % 4) << 4)) - 32.0);
        *part = nibbles(&block[8 + 16 * i..], |q| s * f32::from(UNEVEN[usize::from(q)]));
    }
    values
}
