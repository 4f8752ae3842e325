//! Headers of NumPy files, checked before a parser sees them.

use std::io::{Read, Seek};

/// Largest header of a NumPy file (bytes). Those of arrays of numbers have a few hundred.
const MAX_HEADER_BYTES: u64 = 1 << 16;

/// Largest number of opening brackets: a header of an array of numbers has `{` and `(`.
const MAX_BRACKETS: usize = 4;

/// Refuses a header that is not there, is longer than 64 KiB or has more than 4 opening brackets, and rewinds the reader.
/// The parser of the crate `ndarray-npy` takes memory for any announced length, and time that doubles with each further
/// bracket (measured: 20 of `[` 6 s, 16 of `{` over 20 s; 4 of either 1 ms).
///
/// # Errors
/// The problem, for a message that names the file.
///
/// ```
/// use attnlab_core::npy::check_header;
/// use std::io::Cursor;
/// let mut nested = b"\x93NUMPY\x01\x00\x10\x00[[[[[[[[[[[[[[[[".to_vec();
/// assert!(check_header(&mut Cursor::new(&nested)).unwrap_err().contains("nested"));
/// nested.truncate(20);
/// assert!(check_header(&mut Cursor::new(&nested)).unwrap_err().contains("16 bytes"));
/// ```
pub fn check_header(reader: &mut (impl Read + Seek)) -> Result<(), String> {
    let mut head = vec![];
    let read = reader.by_ref().take(12 + MAX_HEADER_BYTES).read_to_end(&mut head);
    read.map_err(|e| e.to_string())?;
    let (length, start) = match head[..] {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => (u64::from(u16::from_le_bytes([a, b])), 10),
        [0x93, b'N', b'U', b'M', b'P', b'Y', _, _, a, b, c, d, ..] => (u64::from(u32::from_le_bytes([a, b, c, d])), 12),
        _ => {
            let problem = "first bytes = others: must be those of numpy.save. Write the file again";
            return Err(problem.into());
        }
    };
    let there = (head.len() - start) as u64;
    if length > MAX_HEADER_BYTES || length > there {
        return Err(format!(
            "header = {length} bytes: must be in the file and at most {MAX_HEADER_BYTES}. Write the file again"
        ));
    }
    let brackets = |byte: &&u8| matches!(byte, b'(' | b'[' | b'{');
    let text = head.iter().skip(start).take(length as usize);
    if text.filter(brackets).count() > MAX_BRACKETS {
        let problem = "header = nested: must be that of a simple array. Write one array of numbers";
        return Err(problem.into());
    }
    reader.rewind().map_err(|e| e.to_string())
}
