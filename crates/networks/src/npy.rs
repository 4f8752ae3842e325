//! NumPy files in and out.

use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use attnlab_core::npy::{self, Element, Header, shape_text};
use attnlab_lab::run::{files, memory};
use half::f16;
use ndarray::{Array, Array2, Array3, ArrayD, Dimension, Ix1};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Reads a matrix of float16, float32 (both widened) or float64, in C or Fortran order and either byte order.
///
/// # Errors
/// A file that is missing or no NumPy file, another type, another number of dimensions, truncated
/// data, or an entry that is NaN or infinite (with its place).
pub fn matrix(name: &str, path: &Path) -> Result<Array2<f64>> {
    let values: Array2<f64> = floats(name, path)?;
    if let Some(((i, j), x)) = values.indexed_iter().find(|(_, x)| !x.is_finite()) {
        let requirement = format!("must be a finite number, in {}", path.display());
        return Err(Error::invalid(format!("{name}[{i}, {j}]"), x, requirement));
    }
    Ok(values)
}

/// Reads an array of three dimensions as [`matrix`] does, with entries that may be NaN or infinite.
///
/// # Errors
/// As [`matrix`], entries aside.
pub fn stack(name: &str, path: &Path) -> Result<Array3<f64>> {
    floats(name, path)
}

/// Reads labels of any integer type.
///
/// # Errors
/// As [`matrix`].
pub fn labels(name: &str, path: &Path) -> Result<Vec<i128>> {
    let mut file = Npy::open(name, path)?.of_dimension::<Ix1>()?;
    let labels = file.header.integers(&mut file.reader).map_err(|e| file.problem(e.to_string()))?;
    Ok(labels.ok_or_else(|| file.wrong_type("an integer type", "y.astype('int64')"))?.into_iter().collect())
}

/// Writes a matrix such as Z (d, N) as a NumPy file of float64 in C order.
///
/// # Errors
/// When the file exists and `force` is not given, or cannot be written.
pub fn write(path: &Path, values: &Array2<f64>, force: bool) -> Result<()> {
    let standard = values.as_standard_layout();
    files::write_whole(path, force, |w| npy::write(&standard, w))
}

/// Returns the shape of the array in a file, from its header alone.
///
/// # Errors
/// A file that is missing, no NumPy file, or shorter than its header says.
pub fn shape(name: &str, path: &Path) -> Result<Vec<usize>> {
    Ok(Npy::open(name, path)?.header.shape)
}

fn floats<D: Dimension>(name: &str, path: &Path) -> Result<Array<f64, D>> {
    let mut file = Npy::open(name, path)?.of_dimension::<D>()?;
    let values = match file.header.kind() {
        "f8" => file.read::<f64>()?,
        "f4" => file.read::<f32>()?.mapv(f64::from),
        "f2" => {
            // The same bits as whole numbers.
            file.header.dtype = file.header.dtype.replace("f2", "u2");
            file.read::<u16>()?.mapv(|bits| f16::from_bits(bits).to_f64())
        }
        kind => {
            let example = match kind {
                // NumPy has no bfloat16 and stores its bytes as those of an unknown type.
                "V2" | "bfloat16" => {
                    "z.float().numpy() in PyTorch, z.astype('float32') in JAX, as NumPy has no bfloat16; of this file, \
                     np.frombuffer(open(FILE, 'rb').read()[START:], ml_dtypes.bfloat16).reshape(SHAPE).astype('float32')"
                        .replace("FILE", &format!("'{}'", path.display()))
                        .replace("START", &file.header.start.to_string())
                        .replace("SHAPE", &shape_text(&file.header.shape))
                }
                "O" => "np.stack(z.tolist()).astype('float64'), after np.load(.., allow_pickle=True)".into(),
                kind if kind.starts_with('c') => "z.real or abs(z)".into(),
                _ => "z.astype('float64')".into(),
            };
            return Err(file.wrong_type("float16, float32 or float64", &example));
        }
    };
    values.into_dimensionality::<D>().map_err(|e| file.problem(e.to_string()))
}

/// A NumPy file whose header has been checked against its length, so that reading cannot ask for
/// more memory than there are bytes.
struct Npy<'a> {
    name: &'a str,
    path: &'a Path,
    header: Header,
    /// Reader at the first byte of the data.
    reader: BufReader<File>,
}

impl<'a> Npy<'a> {
    fn open(name: &'a str, path: &'a Path) -> Result<Self> {
        let unreadable = |e| Error::io(path, e, format!("Write the name of a NumPy file for {name}"));
        let file = input::open(name, path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut reader = BufReader::new(file);
        let header = Header::read(&mut reader)
            .map_err(|e| Error::Content { path: path.to_path_buf(), problem: e.to_string() })?;
        let file = Npy { name, path, header, reader };
        let there = length.saturating_sub(file.header.start);
        if file.header.data_bytes().is_some_and(|bytes| bytes != there) {
            let shape = shape_text(&file.header.shape);
            return Err(file.problem(format!(
                "{there} bytes of data do not fill the shape {shape} of its header: is the file complete?"
            )));
        }
        // The file's bytes, widened to f64, and one copy.
        memory::ensure(&format!("reading {}", path.display()), there.saturating_mul(4))?;
        Ok(file)
    }

    /// Refuses an array of another number of dimensions, or without entries.
    fn of_dimension<D: Dimension>(self) -> Result<Self> {
        let shape = &self.header.shape;
        if D::NDIM != Some(shape.len()) || shape.contains(&0) {
            let expected = match D::NDIM {
                Some(1) => "(N,), one label per token",
                Some(2) => "two dimensions, (d, N) for tokens and (d, p) for a basis, none of them 0",
                _ => "three dimensions, (layers, N, d) or (layers, d, N), none of them 0",
            };
            let shape = shape_text(shape);
            return Err(Error::shape(self.name, format_args!("{shape}"), expected));
        }
        Ok(self)
    }

    fn read<T: Element>(&mut self) -> Result<ArrayD<T>> {
        self.header.data(&mut self.reader).map_err(|e| self.problem(e.to_string()))
    }

    fn problem(&self, problem: String) -> Error {
        Error::Content { path: self.path.to_path_buf(), problem }
    }

    fn wrong_type(&self, allowed: &str, example: &str) -> Error {
        let (name, kind) = (self.name, self.header.kind());
        self.problem(format!("{name} has the NumPy type {kind}, expected {allowed}: write {example}"))
    }
}
