//! NumPy files of one array of numbers: header, reader and writer.
//!
//! A file begins with `\x93NUMPY`, a version, the length of the header and the header, a dictionary in Python's
//! notation; the numbers follow ([numpy.lib.format]). A file may be malformed: the header is bounded, its parser does
//! not recurse, and memory grows with the bytes that arrive, whatever the header announces.
//!
//! [numpy.lib.format]: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//!
//! ```
//! use attnlab_core::npy;
//! use ndarray::array;
//!
//! let mut file = vec![];
//! npy::write(&array![[1.0_f64, 2.0], [3.0, 4.0]], &mut file)?;
//! assert_eq!(npy::read::<f64>(&file[..])?, array![[1.0, 2.0], [3.0, 4.0]].into_dyn());
//! # Ok::<(), std::io::Error>(())
//! ```

use ndarray::{ArrayD, ArrayRef, Dimension, IxDyn, ShapeBuilder};
use std::io::{self, ErrorKind, Read, Write};

/// Largest header (bytes). That of an array of numbers has 118, or a few hundred with many axes; version 1.0 can
/// announce 64 KiB and later versions 4 GiB.
const MAX_HEADER_BYTES: u32 = 1 << 16;

/// Bytes of data that are converted at a time; a multiple of the width of every [`Element`].
const PIECE_BYTES: usize = 1 << 16;

/// Multiple of which the first byte of the data is (bytes).
const ALIGNMENT_BYTES: usize = 64;

/// Bytes before the header in version 1.0: magic string, version, length of the header.
const PREFIX_BYTES: usize = 10;

/// Type of the numbers of an array. The trait is sealed.
pub trait Element: sealed::Bytes {
    /// Name of the type without its byte order, such as `f8`.
    const KIND: &'static str;
}

mod sealed {
    /// Conversion of numbers to and from bytes.
    pub trait Bytes: Copy {
        /// Appends the numbers in `bytes`, which begin with their high byte if `big`.
        fn decode(bytes: &[u8], big: bool, numbers: &mut Vec<Self>);

        /// Appends the bytes of the number, the low byte first.
        fn encode(self, bytes: &mut Vec<u8>);
    }
}

macro_rules! elements {
    ($($number:ty: $kind:literal;)*) => {$(
        impl Element for $number {
            const KIND: &'static str = $kind;
        }

        impl sealed::Bytes for $number {
            fn decode(bytes: &[u8], big: bool, numbers: &mut Vec<Self>) {
                let items = bytes.as_chunks().0.iter();
                match big {
                    true => numbers.extend(items.map(|item| <$number>::from_be_bytes(*item))),
                    false => numbers.extend(items.map(|item| <$number>::from_le_bytes(*item))),
                }
            }

            fn encode(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}

elements! {
    i8: "i1";
    i16: "i2";
    i32: "i4";
    i64: "i8";
    u8: "u1";
    u16: "u2";
    u32: "u4";
    u64: "u8";
    f32: "f4";
    f64: "f8";
}

/// Header of a NumPy file: type, order and shape of its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type as the file names it, such as `<f8`, `|u1` or `|O`.
    pub dtype: String,
    /// Flag: the first index varies fastest (Fortran order), not the last (C order).
    pub fortran: bool,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// Number of bytes before the data.
    pub start: u64,
}

impl Header {
    /// Reads the header, and nothing of the data.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] with the problem, for a message that names the file; an error of the reader.
    ///
    /// ```
    /// use attnlab_core::npy::Header;
    /// let nested = b"\x93NUMPY\x01\x00\x10\x00[[[[[[[[[[[[[[[[";
    /// let refused = |bytes: &[u8]| Header::read(&mut &bytes[..]).unwrap_err().to_string();
    /// assert!(refused(nested).contains("nested"));
    /// assert!(refused(&nested[..20]).contains("16 bytes"));
    /// ```
    pub fn read(reader: &mut impl Read) -> io::Result<Self> {
        let no_numpy = "first bytes = others: must be those of numpy.save. Write the file again";
        let first = up_to(reader, PREFIX_BYTES)?;
        let [0x93, b'N', b'U', b'M', b'P', b'Y', major, minor, a, b] = first[..] else { return Err(invalid(no_numpy)) };
        let (length, prefix) = match (major, minor) {
            (1, 0) => (u32::from(u16::from_le_bytes([a, b])), PREFIX_BYTES),
            (2 | 3, 0) => match up_to(reader, 2)?[..] {
                [c, d] => (u32::from_le_bytes([a, b, c, d]), PREFIX_BYTES + 2),
                _ => return Err(invalid(no_numpy)),
            },
            _ => {
                return Err(invalid(format!(
                    "version = {major}.{minor}: must be 1.0, 2.0 or 3.0. Write the file again"
                )));
            }
        };
        let text = up_to(reader, length.min(MAX_HEADER_BYTES) as usize)?;
        if text.len() != length as usize {
            return Err(invalid(format!(
                "header = {length} bytes: must be in the file and at most {MAX_HEADER_BYTES}. Write the file again"
            )));
        }
        let (dtype, fortran, shape) = parse(&String::from_utf8_lossy(&text))?;
        Ok(Header { dtype, fortran, shape, start: prefix as u64 + u64::from(length) })
    }

    /// Returns the type without its byte order, such as `f8`, `u1` or `O`.
    pub fn kind(&self) -> &str {
        self.dtype.trim_start_matches(['<', '>', '|', '='])
    }

    /// Returns the number of bytes of data that the header announces, [`u64::MAX`] where it is larger; `None` for a
    /// type without a width, such as `O`.
    pub fn data_bytes(&self) -> Option<u64> {
        let width = self.kind().get(1..)?.parse::<u64>().ok()?;
        Some(self.bytes(width))
    }

    fn bytes(&self, width: u64) -> u64 {
        self.shape.iter().fold(width, |bytes, size| bytes.saturating_mul(*size as u64))
    }

    /// Reads the data, which must end where the reader ends.
    ///
    /// # Errors
    /// As [`read`](Header::read); another type of numbers, or no byte order of them; fewer or more data than announced.
    pub fn data<T: Element>(&self, reader: &mut impl Read) -> io::Result<ArrayD<T>> {
        let (width, kind) = (size_of::<T>(), T::KIND);
        let big = match self.dtype.strip_suffix(kind) {
            Some("<") => false,
            Some(">") => true,
            Some("|" | "") if width == 1 => false,
            _ => {
                let allowed = format!("must be {kind} of a byte order, < or >. Write the file with numpy.save");
                return Err(invalid(format!("type = {}: {allowed}", self.dtype)));
            }
        };
        let announced = self.bytes(width as u64);
        let unequal = |amount: &str| {
            invalid(format!(
                "data = {amount} bytes: must be {announced}, as the header announces. Write the file again"
            ))
        };
        let mut numbers = vec![];
        let mut left = announced;
        let mut piece = vec![0; left.min(PIECE_BYTES as u64) as usize];
        while left > 0 {
            let piece = &mut piece[..left.min(PIECE_BYTES as u64) as usize];
            reader.read_exact(piece).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => unequal("fewer"),
                _ => e,
            })?;
            T::decode(piece, big, &mut numbers);
            left -= piece.len() as u64;
        }
        if !up_to(reader, 1)?.is_empty() {
            return Err(unequal("more"));
        }
        ArrayD::from_shape_vec(IxDyn(&self.shape).set_f(self.fortran), numbers)
            .map_err(|e| invalid(format!("shape = {}: must fit into memory ({e})", shape_text(&self.shape))))
    }

    /// Reads the data of any type of integers as [`data`](Header::data) does; returns `None` for another type.
    ///
    /// # Errors
    /// As [`data`](Header::data).
    pub fn integers(&self, reader: &mut impl Read) -> io::Result<Option<ArrayD<i128>>> {
        let integers = match self.kind() {
            "i1" => self.data::<i8>(reader)?.mapv(i128::from),
            "i2" => self.data::<i16>(reader)?.mapv(i128::from),
            "i4" => self.data::<i32>(reader)?.mapv(i128::from),
            "i8" => self.data::<i64>(reader)?.mapv(i128::from),
            "u1" => self.data::<u8>(reader)?.mapv(i128::from),
            "u2" => self.data::<u16>(reader)?.mapv(i128::from),
            "u4" => self.data::<u32>(reader)?.mapv(i128::from),
            "u8" => self.data::<u64>(reader)?.mapv(i128::from),
            _ => return Ok(None),
        };
        Ok(Some(integers))
    }
}

/// Reads a file whose numbers have the type `T`, in C or Fortran order and either byte order.
///
/// # Errors
/// As [`Header::read`] and [`Header::data`].
pub fn read<T: Element>(mut reader: impl Read) -> io::Result<ArrayD<T>> {
    Header::read(&mut reader)?.data(&mut reader)
}

/// Writes an array in version 1.0 of the format, low bytes first: in Fortran order if it is stored so, else in C order.
///
/// # Errors
/// An error of the writer; [`ErrorKind::InvalidInput`] for thousands of axes, whose header would not fit into 64 KiB.
pub fn write<T: Element, D: Dimension>(array: &ArrayRef<T, D>, mut writer: impl Write) -> io::Result<()> {
    let transposed = array.view().reversed_axes();
    let fortran = !array.is_standard_layout() && transposed.is_standard_layout();
    let order = if size_of::<T>() == 1 { "|" } else { "<" };
    let header = format!(
        "{{'descr': '{order}{}', 'fortran_order': {}, 'shape': {}}}",
        T::KIND,
        if fortran { "True" } else { "False" },
        shape_text(array.shape())
    );
    // With its newline. A header that ends on a multiple is padded to the next one, as NumPy does.
    let blocks = (PREFIX_BYTES + header.len() + 1) / ALIGNMENT_BYTES + 1;
    let padded = blocks * ALIGNMENT_BYTES - PREFIX_BYTES;
    let length = u16::try_from(padded)
        .map_err(|_| io::Error::new(ErrorKind::InvalidInput, format!("axes = {}: must be fewer", array.ndim())))?;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.bytes());
    bytes.resize(blocks * ALIGNMENT_BYTES - 1, b' ');
    bytes.push(b'\n');
    let numbers = if fortran { transposed } else { array.view() };
    for number in &numbers {
        number.encode(&mut bytes);
        if bytes.len() >= PIECE_BYTES {
            writer.write_all(&bytes)?;
            bytes.clear();
        }
    }
    writer.write_all(&bytes)?;
    writer.flush()
}

/// Formats a shape as NumPy does: (), (3,), (2, 4).
pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Reads type, order and shape from the text of a header.
fn parse(text: &str) -> io::Result<(String, bool, Vec<usize>)> {
    let mut rest = Rest(text);
    rest.dictionary().ok_or_else(|| {
        if rest.0.trim_start().starts_with(['(', '[', '{']) {
            return invalid("header = nested: must be that of a simple array. Write one array of numbers");
        }
        let begin: String = text.trim().chars().take(80).collect();
        invalid(format!("header = {begin:?}: must be that of numpy.save. Write the file again"))
    })
}

/// Rest of a header that is not read yet. Every function returns `None` where the text is not the expected one.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Takes `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }` to the end of the text.
    fn dictionary(&mut self) -> Option<(String, bool, Vec<usize>)> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.take("{")?;
        while self.take("}").is_none() {
            let key = self.string()?;
            self.take(":")?;
            match key {
                "descr" => dtype = Some(self.string()?.to_string()),
                "fortran_order" => fortran = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return None,
            }
            if self.take(",").is_none() {
                self.take("}")?;
                break;
            }
        }
        self.0.trim().is_empty().then_some((dtype?, fortran?, shape?))
    }

    /// Takes white space, and a mark or word if it is next.
    fn take(&mut self, mark: &str) -> Option<()> {
        self.0 = self.0.trim_start();
        self.0 = self.0.strip_prefix(mark)?;
        Some(())
    }

    /// Takes a string in either quotes. Names of keys and types have no escapes, spaces or control characters.
    fn string(&mut self) -> Option<&'a str> {
        let quote = self.take("'").map(|()| '\'').or_else(|| self.take("\"").map(|()| '"'))?;
        let (text, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        text.bytes().all(|byte| byte.is_ascii_graphic()).then_some(text)
    }

    fn boolean(&mut self) -> Option<bool> {
        self.take("True").map(|()| true).or_else(|| self.take("False").map(|()| false))
    }

    /// Takes (), (3,) or (2, 4); (3) is a number in parentheses.
    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut sizes = vec![];
        self.take("(")?;
        while self.take(")").is_none() {
            sizes.push(self.size()?);
            if self.take(",").is_none() {
                self.take(")")?;
                return (sizes.len() > 1).then_some(sizes);
            }
        }
        Some(sizes)
    }

    fn size(&mut self) -> Option<usize> {
        let text = self.0.trim_start();
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let size = text[..text.len() - rest.len()].parse().ok()?;
        self.0 = rest;
        Some(size)
    }
}

/// Reads `count` bytes, or fewer at the end of the reader.
fn up_to(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn invalid(problem: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.into())
}
