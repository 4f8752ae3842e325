//! Texts as they are in the wild: gzip is unpacked, a byte order mark is no text, a line ends in LF, and other encodings
//! and archives are named.

use crate::tensors::{content, require_content};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::Path;

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// First bytes of other archives, their names, and the command that unpacks one to standard output.
const ARCHIVES: [(&[u8], &str, &str); 4] = [
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "zstd -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// UTF-8's byte order mark, U+FEFF.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Byte order marks of other encodings, the longer before those with which they begin, and their names.
const OTHER: [(&[u8], &str); 4] = [
    (b"\xff\xfe\0\0", "UTF-32LE"),
    (b"\0\0\xfe\xff", "UTF-32BE"),
    (b"\xff\xfe", "UTF-16LE"),
    (b"\xfe\xff", "UTF-16BE"),
];

/// Bytes from the beginning of a text that tell UTF-16 without a mark.
const HEAD_BYTES: usize = 4096;

/// Reads the bytes of a file of text of at most `most` bytes; gzip is unpacked, to at most `most` bytes too.
///
/// # Errors
/// As [`regular`]; a file that is larger; a broken gzip file.
pub fn read_bytes(path: &Path, most: u64, advice: &'static str) -> Result<Vec<u8>> {
    let length = regular(path, advice)?;
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
    if bytes.len() as u64 > most { Err(large("more".into())) } else { Ok(bytes) }
}

/// Returns the length (bytes) of a file that can be read more than once.
///
/// # Errors
/// A path that cannot be read, with this advice; a pipe, socket or device.
pub fn regular(path: &Path, advice: &'static str) -> Result<u64> {
    let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e, advice))?;
    // The reader reports a folder.
    let problem = "must be a regular file; it is read more than once. Store what the pipe gives";
    require_content(metadata.is_file() || metadata.is_dir(), path, problem)?;
    Ok(metadata.len())
}

/// Decodes the bytes of a file, UTF-8, without a byte order mark at its beginning; CR LF and CR become LF, as when Python
/// opens a text.
///
/// ```
/// use attnlab_networks::text;
/// let path = "p.txt".as_ref();
/// assert_eq!(text::decode(path, b"\xef\xbb\xbfa text\r\nof lines\r".to_vec())?, "a text\nof lines\n");
/// let refused = text::decode(path, b"\xff\xfea\0".to_vec()).unwrap_err();
/// assert!(refused.to_string().contains("iconv -f UTF-16 -t UTF-8"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
///
/// # Errors
/// UTF-16 and UTF-32, by their marks or their zeros, with the command that converts them; archives other than gzip;
/// bytes that are no UTF-8, with their line and offset.
pub fn decode(path: &Path, mut bytes: Vec<u8>) -> Result<String> {
    let name = path.display();
    // What was unpacked is converted on its way.
    let packed = path.extension().is_some_and(|e| e == "gz");
    let convert = |from: &str| match packed {
        true => format!("gzip -dc \"{name}\" | iconv -f {from} -t UTF-8 > \"{name}.utf8\""),
        false => format!("iconv -f {from} -t UTF-8 \"{name}\" > \"{name}.utf8\""),
    };
    if let Some((_, archive, unpack)) = ARCHIVES.iter().find(|(first, ..)| bytes.starts_with(first)) {
        let problem = format!(
            "archive = {archive}: must be text, or text packed by gzip. Unpack it: {unpack} \"{name}\" > \"{name}.utf8\""
        );
        return Err(content(path, problem));
    }
    if let Some((_, encoding)) = OTHER.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        // iconv reads the order of the bytes from the mark, and leaves the mark out.
        let problem = format!("encoding = {encoding}: must be UTF-8. Convert it: {}", convert(&encoding[..6]));
        return Err(content(path, problem));
    }
    if let Some(encoding) = unmarked(&bytes) {
        let problem = format!("encoding = {encoding} without a mark: must be UTF-8. Convert it: {}", convert(encoding));
        return Err(content(path, problem));
    }
    let mark = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    bytes.drain(..mark);
    let text = String::from_utf8(bytes).map_err(|e| {
        let (offset, bytes) = (e.utf8_error().valid_up_to(), e.as_bytes());
        let line = bytes[..offset].iter().filter(|b| **b == b'\n').count() + 1;
        let byte = bytes.get(offset).copied().unwrap_or_default();
        let problem = format!(
            "line {line}: must be UTF-8 text; byte {} of the text, 0x{byte:02x}, is not. Convert it, from Latin-1 \
             for example: {}",
            mark + offset,
            convert("ISO-8859-1")
        );
        content(path, problem)
    })?;
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text })
}

/// Recognises UTF-16 without a mark by the zeros that every second byte of Latin letters is: a quarter of the first
/// [`HEAD_BYTES`] at least, all at places of one parity. UTF-8 has no zeros but for U+0000, which no text has.
fn unmarked(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let zeros = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    match (zeros(0), zeros(1)) {
        (0, low) if low > 0 && 4 * low >= head.len() => Some("UTF-16LE"),
        (high, 0) if high > 0 && 4 * high >= head.len() => Some("UTF-16BE"),
        _ => None,
    }
}

/// Reads a text: [`read_bytes`], decoded by [`decode`].
///
/// # Errors
/// Those of both.
pub fn read(path: &Path, most: u64, advice: &'static str) -> Result<String> {
    decode(path, read_bytes(path, most, advice)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_and_archives_are_named_with_a_command() {
        let utf16 = |bytes: fn(u16) -> [u8; 2]| "a text".encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        for (name, bytes, expected) in [
            ("p.txt", utf16(u16::to_le_bytes), "UTF-16LE without a mark: must be UTF-8. Convert it: iconv -f UTF-16LE"),
            ("p.txt", utf16(u16::to_be_bytes), "iconv -f UTF-16BE"),
            ("p.gz", b"\xff\xfea\0".to_vec(), "gzip -dc \"p.gz\" | iconv -f UTF-16 -t UTF-8"),
            ("p.gz", b"caf\xe9".to_vec(), "gzip -dc \"p.gz\" | iconv -f ISO-8859-1"),
            ("p.xz", b"\xfd7zXZ\0..".to_vec(), "archive = xz: must be text, or text packed by gzip. Unpack it: xz -dc"),
            ("p.zst", b"\x28\xb5\x2f\xfd..".to_vec(), "zstd -dc \"p.zst\""),
            ("p.bz2", b"BZh9\x31".to_vec(), "bzip2 -dc"),
            ("p.zip", b"PK\x03\x04..".to_vec(), "unzip -p"),
        ] {
            let refused = decode(name.as_ref(), bytes).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
        assert_eq!(decode("p.txt".as_ref(), "a\0 text".into()).unwrap(), "a\0 text");
    }

    #[test]
    #[cfg(unix)]
    fn what_can_be_read_once_alone_is_refused() {
        let refused = read("/dev/null".as_ref(), 10, "Give a file").unwrap_err().to_string();
        assert!(refused.contains("must be a regular file"), "{refused}");
    }
}
