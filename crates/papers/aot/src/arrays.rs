//! Arrays of activations in files: NumPy and safetensors, one array per layer.

use attnlab_core::input;
use attnlab_lab::prelude::*;
use attnlab_networks::{Checkpoint, npy};
use ndarray::{Array2, Axis};
use std::path::PathBuf;

/// Side of an array on which its tokens are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TokensAre {
    /// (d, N): every column is a token, as in the papers
    Columns,
    /// (N, d): every row is a token, as networks store them
    Rows,
}

/// One array of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// Name for people: file, tensor and layer as far as they tell arrays apart.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its tensor in a safetensors file; the name of a NumPy file.
    pub tensor: String,
    /// Index along the first of three axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// d and N.
    pub shape: (usize, usize),
    /// SHA-256 of the stored bytes: rows of a file that has changed since are not taken for its own.
    pub hash: String,
}

impl Array {
    /// Reads the tokens, (d, N).
    ///
    /// # Errors
    /// A file that has changed since it was listed; entries that are not finite, with their place.
    pub fn read(&self, orientation: TokensAre) -> Result<Array2<f64>> {
        let matrix = match self.layer {
            None => Checkpoint::open(&self.path)?.matrix(&self.tensor)?,
            Some(layer) => self.slice(layer)?,
        };
        Ok(match orientation {
            TokensAre::Columns => matrix,
            TokensAre::Rows => matrix.reversed_axes(),
        })
    }

    /// One layer of a NumPy file of three dimensions.
    fn slice(&self, layer: usize) -> Result<Array2<f64>> {
        let layers = npy::stack("activations", &self.path)?;
        let matrix = layers.index_axis(Axis(0), layer.min(layers.len_of(Axis(0)) - 1));
        if let Some(((i, j), x)) = matrix.indexed_iter().find(|(_, x)| !x.is_finite()) {
            let name = format!("activations[{layer}, {i}, {j}]");
            return Err(Error::invalid(name, x, format!("must be a finite number, in {}", self.path.display())));
        }
        Ok(matrix.to_owned())
    }
}

/// Lists the arrays of some files, in their order: those of a safetensors file by their names, those of a NumPy file
/// of three dimensions along its first axis.
///
/// # Errors
/// No file; a file that cannot be read, a folder, a tensor of other than two dimensions (three in a NumPy file), fewer
/// than four tokens.
pub fn list(paths: &[PathBuf], orientation: TokensAre) -> Result<Vec<Array>> {
    let mut arrays: Vec<Array> = vec![];
    for path in paths {
        if path.is_dir() {
            let problem = "must be a file of activations; a folder is a checkpoint".into();
            return Err(Error::Content { path: path.clone(), problem });
        }
        input::note("activations", path);
        let file = Checkpoint::open(path)?;
        for tensor in file.matching(&["*"]) {
            let shape = file.shape(&tensor)?;
            let numpy = path.extension().is_some_and(|e| e == "npy");
            let sides = |rows: usize, columns: usize| match orientation {
                TokensAre::Columns => (rows, columns),
                TokensAre::Rows => (columns, rows),
            };
            let hash = file.hash(&tensor)?;
            let mut add = |layer, (d, n): (usize, usize)| {
                let expected = "at least one dimension and four tokens; is --tokens-are right?";
                require_shape(d > 0 && n >= 4, &tensor, &shape, expected)?;
                let (path, tensor, hash) = (path.clone(), tensor.clone(), hash.clone());
                arrays.push(Array { name: String::new(), path, tensor, layer, shape: (d, n), hash });
                Ok::<(), Error>(())
            };
            match shape[..] {
                [rows, columns] => add(None, sides(rows, columns))?,
                [layers, rows, columns] if numpy => {
                    (0..layers).try_for_each(|l| add(Some(l), sides(rows, columns)))?;
                }
                _ => {
                    let expected = "a matrix of tokens, or in a NumPy file (layers, N, d) or (layers, d, N)";
                    return Err(Error::shape(&tensor, &shape, expected));
                }
            }
        }
    }
    let names: Vec<String> = (0..arrays.len()).map(|i| name(&arrays, i)).collect();
    for (array, name) in arrays.iter_mut().zip(names) {
        array.name = name;
    }
    require(!arrays.is_empty(), "activations", "[]", "must hold at least one array")?;
    Ok(arrays)
}

/// The name of an array among others: its file without ending, with the folder where another file has the same name;
/// its tensor where the file has several, and its layer.
fn name(arrays: &[Array], i: usize) -> String {
    let array = &arrays[i];
    let same_stem = |a: &&Array| a.path.file_stem() == array.path.file_stem();
    let alone = arrays.iter().filter(same_stem).all(|a| a.path == array.path);
    let mut name = match alone {
        true => array.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        false => array.path.with_extension("").display().to_string(),
    };
    if arrays.iter().any(|a| a.path == array.path && a.tensor != array.tensor) {
        name.push_str(&format!(":{}", array.tensor));
    }
    array.layer.map_or(name.clone(), |layer| format!("{name}[{layer}]"))
}
