//! NumPy files in and out.

use attnlab_core::error::{Error, Result};
use attnlab_core::npy::check_header;
use attnlab_lab::run::{files, memory};
use ndarray::{Array1, Array2, ArrayD, Ix1, Ix2};
use ndarray_npy::npy::header::Header;
use ndarray_npy::{ReadNpyExt, ReadableElement, WriteNpyExt};
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;

/// Reads a matrix of float32 (widened) or float64, in C or Fortran order and either byte order.
///
/// # Errors
/// A file that is missing or no NumPy file, another type, another number of dimensions, truncated
/// data, or an entry that is NaN or infinite (with its place).
pub fn matrix(name: &str, path: &Path) -> Result<Array2<f64>> {
    let file = Npy::open(name, path)?.of_dimensions(2)?;
    let values = match file.kind.as_str() {
        "f8" => file.read::<f64>()?,
        "f4" => file.read::<f32>()?.mapv(f64::from),
        _ => return Err(file.wrong_type("float32 or float64", "z.astype('float64')")),
    };
    let values: Array2<f64> = values.into_dimensionality::<Ix2>().map_err(|e| file.problem(e.to_string()))?;
    if let Some(((i, j), x)) = values.indexed_iter().find(|(_, x)| !x.is_finite()) {
        return Err(Error::invalid(
            format!("{name}[{i}, {j}]"),
            x,
            format!("must be a finite number, in {}", path.display()),
        ));
    }
    Ok(values)
}

/// Reads labels of any integer type.
///
/// # Errors
/// As [`matrix`].
pub fn labels(name: &str, path: &Path) -> Result<Vec<i128>> {
    let file = Npy::open(name, path)?.of_dimensions(1)?;
    match file.kind.as_str() {
        "i1" => file.integers::<i8>(),
        "i2" => file.integers::<i16>(),
        "i4" => file.integers::<i32>(),
        "i8" => file.integers::<i64>(),
        "u1" => file.integers::<u8>(),
        "u2" => file.integers::<u16>(),
        "u4" => file.integers::<u32>(),
        "u8" => file.integers::<u64>(),
        _ => Err(file.wrong_type("an integer type", "y.astype('int64')")),
    }
}

/// Writes a matrix such as Z (d, N) as a NumPy file of float64 in C order.
///
/// # Errors
/// When the file exists and `force` is not given, or cannot be written.
pub fn write(path: &Path, values: &Array2<f64>, force: bool) -> Result<()> {
    let standard = values.as_standard_layout();
    files::write_whole(path, force, |w| standard.write_npy(w).map_err(std::io::Error::other))
}

/// Returns the shape of the array in a file, from its header alone.
///
/// # Errors
/// A file that is missing, no NumPy file, or shorter than its header says.
pub fn shape(name: &str, path: &Path) -> Result<Vec<usize>> {
    Ok(Npy::open(name, path)?.shape)
}

/// A NumPy file whose header has been checked against its length, so that reading cannot ask for
/// more memory than there are bytes.
struct Npy<'a> {
    name: &'a str,
    path: &'a Path,
    /// Type without byte order: "f8", "i4", ..
    kind: String,
    shape: Vec<usize>,
}

impl<'a> Npy<'a> {
    fn open(name: &'a str, path: &'a Path) -> Result<Self> {
        let advice = || format!("Write the name of a NumPy file for {name}");
        let file = File::open(path).map_err(|e| Error::io(path, e, advice()))?;
        let length = file.metadata().map_err(|e| Error::io(path, e, advice()))?.len();
        let mut reader = BufReader::new(file);
        let problem = |problem: String| Error::Content { path: path.to_path_buf(), problem };
        check_header(&mut reader).map_err(problem)?;
        let header = Header::from_reader(&mut reader)
            .map_err(|e| problem(format!("no NumPy file (numpy.save makes one): {e}")))?;
        let start = reader.stream_position().map_err(|e| Error::io(path, e, advice()))?;
        let descriptor = header.type_descriptor.to_string();
        let kind = descriptor.trim_matches(['\'', '<', '>', '|', '=']).to_string();
        let file = Npy { name, path, kind, shape: header.shape.clone() };
        let width = file.kind.get(1..).and_then(|w| w.parse::<u64>().ok());
        let bytes = header.shape.iter().try_fold(width.unwrap_or(1), |all, n| all.checked_mul(*n as u64));
        let there = length.saturating_sub(start);
        if width.is_some() && bytes != Some(there) {
            let shape = Shape(&header.shape);
            return Err(file.problem(format!(
                "{there} bytes of data do not fill the shape {shape:?} of its header: is the file \
                 complete?"
            )));
        }
        // The file's bytes, widened to f64, and one copy.
        memory::ensure(&format!("reading {}", path.display()), there.saturating_mul(4))?;
        Ok(file)
    }

    /// Refuses an array of another number of dimensions, or without entries.
    fn of_dimensions(self, dimensions: usize) -> Result<Self> {
        if self.shape.len() != dimensions || self.shape.contains(&0) {
            let expected = match dimensions {
                1 => "(N,), one label per token",
                _ => "two dimensions, (d, N) for tokens and (d, p) for a basis, none of them 0",
            };
            return Err(Error::shape(self.name, Shape(&self.shape), expected));
        }
        Ok(self)
    }

    fn read<T: ReadableElement>(&self) -> Result<ArrayD<T>> {
        let file = File::open(self.path).map_err(|e| Error::io(self.path, e, "Is it still there?"))?;
        ArrayD::read_npy(BufReader::new(file)).map_err(|e| self.problem(e.to_string()))
    }

    fn integers<T: ReadableElement + Into<i128>>(&self) -> Result<Vec<i128>> {
        let values: Array1<T> = self.read()?.into_dimensionality::<Ix1>().map_err(|e| self.problem(e.to_string()))?;
        Ok(values.into_iter().map(Into::into).collect())
    }

    fn problem(&self, problem: String) -> Error {
        Error::Content { path: self.path.to_path_buf(), problem }
    }

    fn wrong_type(&self, allowed: &str, example: &str) -> Error {
        self.problem(format!("{} has the NumPy type {}, expected {allowed}: write {example}", self.name, self.kind))
    }
}

/// A shape as NumPy prints it: (3,), (2, 4).
struct Shape<'a>(&'a [usize]);

impl std::fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [one] => write!(f, "({one},)"),
            all => {
                let all: Vec<_> = all.iter().map(usize::to_string).collect();
                write!(f, "({})", all.join(", "))
            }
        }
    }
}
