//! Texts as they are in the wild: gzip is unpacked, a byte order mark is no text, a line ends in LF, and other encodings
//! are named.

use crate::tensors::content;
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::Path;

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// UTF-8's byte order mark, U+FEFF.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Byte order marks of other encodings, the longer before those with which they begin, and their names.
const OTHER: [(&[u8], &str); 4] = [
    (b"\xff\xfe\0\0", "UTF-32LE"),
    (b"\0\0\xfe\xff", "UTF-32BE"),
    (b"\xff\xfe", "UTF-16LE"),
    (b"\xfe\xff", "UTF-16BE"),
];

/// Reads the bytes of a file of text of at most `most` bytes; gzip is unpacked, to at most `most` bytes too.
///
/// # Errors
/// A file that cannot be read, with this advice; one that is larger; a broken gzip file.
pub fn read_bytes(path: &Path, most: u64, advice: &'static str) -> Result<Vec<u8>> {
    let length = std::fs::metadata(path).map_err(|e| Error::io(path, e, advice))?.len();
    let large = |has: String| content(path, format!("must have at most {most} bytes; it has {has}. Give a part of it"));
    if length > most {
        return Err(large(length.to_string()));
    }
    let mut bytes = vec![];
    let file = input::open("text", path).map_err(|e| Error::io(path, e, advice))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, e, advice))?;
    if bytes.starts_with(&GZIP) {
        let mut text = vec![];
        let unpacked = MultiGzDecoder::new(&bytes[..]).take(most + 1).read_to_end(&mut text);
        unpacked.map_err(|e| {
            content(path, format!("must be a whole gzip file; it begins as one ({e}). Fetch the file again"))
        })?;
        bytes = text;
    }
    match bytes.len() as u64 > most {
        true => Err(large("more".into())),
        false => Ok(bytes),
    }
}

/// Decodes the bytes of a file, UTF-8, without a byte order mark at its beginning; CR LF becomes LF, as when Python opens
/// a text.
///
/// ```
/// use attnlab_networks::text;
/// let path = "p.txt".as_ref();
/// assert_eq!(text::decode(path, b"\xef\xbb\xbfa text\r\n".to_vec())?, "a text\n");
/// let refused = text::decode(path, b"\xff\xfea\0".to_vec()).unwrap_err();
/// assert!(refused.to_string().contains("iconv -f UTF-16 -t UTF-8"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
///
/// # Errors
/// UTF-16 and UTF-32, by their marks, with the command that converts them; bytes that are no UTF-8, with their line
/// and offset.
pub fn decode(path: &Path, mut bytes: Vec<u8>) -> Result<String> {
    let name = path.display();
    if let Some((_, encoding)) = OTHER.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        // iconv reads the order of the bytes from the mark, and leaves the mark out.
        let general = &encoding[..6];
        let problem = format!(
            "encoding = {encoding}: must be UTF-8. Convert it: iconv -f {general} -t UTF-8 \"{name}\" > \"{name}.utf8\""
        );
        return Err(content(path, problem));
    }
    let mark = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    bytes.drain(..mark);
    let text = String::from_utf8(bytes).map_err(|e| {
        let offset = e.utf8_error().valid_up_to();
        let bytes = e.as_bytes();
        let line = bytes[..offset].iter().filter(|b| **b == b'\n').count() + 1;
        let byte = bytes.get(offset).copied().unwrap_or_default();
        let problem = format!(
            "line {line}: must be UTF-8 text; byte {} of the text, 0x{byte:02x}, is not. Convert it, from Latin-1 \
             for example: iconv -f ISO-8859-1 -t UTF-8 \"{name}\" > \"{name}.utf8\"",
            mark + offset
        );
        content(path, problem)
    })?;
    Ok(if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text })
}

/// Reads a text: [`read_bytes`], decoded by [`decode`].
///
/// # Errors
/// Those of both.
pub fn read(path: &Path, most: u64, advice: &'static str) -> Result<String> {
    decode(path, read_bytes(path, most, advice)?)
}
