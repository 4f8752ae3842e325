//! Checkpoints: the tensors of a network by name.

use crate::foreign;
use crate::gguf::remove_later_parts;
use crate::index::{INDEX, ShardIndex};
use crate::names::fits;
use crate::tensors::{TensorFile, content, require_content, unreadable};
use crate::training;
use attnlab_core::error::{Error, Result};
use ndarray::{Array2, ArrayD};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The tensors of a network, in one file or in all files of a folder.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    files: Vec<TensorFile>,
    /// Number of the file of every tensor.
    places: BTreeMap<String, usize>,
}

/// Computes SHA-256 in hexadecimal.
///
/// ```
/// // The first test vector of FIPS 180-4.
/// assert!(attnlab_networks::sha256(b"abc").starts_with("ba7816bf8f01cfea"));
/// ```
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Checkpoint {
    /// Opens a safetensors, GGUF or NumPy file, or a folder whose files of one kind are the shards of a checkpoint: those
    /// that `model.safetensors.index.json` names, or all without it. Of the checkpoints of a training in this laboratory the
    /// newest is taken, without the averages of its optimiser. Only headers are read.
    ///
    /// # Errors
    /// A path without such files; a file that is cut short or whose header contradicts itself or the length of the
    /// file; a tensor that two files have; two files of a folder that could both be its network.
    pub fn open(path: &Path) -> Result<Self> {
        let mut checkpoint = Checkpoint { path: path.to_path_buf(), files: vec![], places: BTreeMap::new() };
        let index = if path.is_dir() { ShardIndex::of_folder(path)? } else { None };
        let trained = training::newest(path)?;
        let shards = match (&index, &trained) {
            (Some(index), _) => index.files(),
            (None, Some(checkpoint)) => vec![checkpoint.tensors.clone()],
            (None, None) => files(path)?,
        };
        ensure_one(path, &index, &shards)?;
        for file in shards {
            let file = TensorFile::open(&file)?;
            let parameter = |name: &&String| {
                let mut averages = training::AVERAGES.iter();
                trained.is_none() || !averages.any(|a| name.starts_with(a))
            };
            for name in file.names().iter().filter(parameter) {
                if let Some(other) = checkpoint.places.insert(name.clone(), checkpoint.files.len()) {
                    let other = checkpoint.files.get(other).map(|other| other.path().display().to_string());
                    let shown = other.unwrap_or("the same file".into());
                    let problem = format!("the tensor {name} must be in one file; {shown} has it too");
                    return Err(content(file.path(), problem));
                }
            }
            checkpoint.files.push(file);
        }
        if let Some(index) = index {
            let file = |(name, i): (&String, &usize)| Some((name.clone(), checkpoint.files.get(*i)?.path()));
            index.ensure(&checkpoint.places.iter().filter_map(file).collect())?;
        }
        Ok(checkpoint)
    }

    /// Opens the checkpoints at some paths: by their steps if all have one and no two the same, otherwise in the order
    /// given. A folder whose files have tensors of the same names holds a checkpoint per file, and a folder of folders
    /// one per folder.
    ///
    /// # Errors
    /// As [`Checkpoint::open`]; a path that is given twice; two paths whose names have the same step; paths of which some
    /// have a step and are not in its order; a folder that holds files and folders of checkpoints.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let mut places: Vec<PathBuf> = vec![];
        for path in paths {
            for path in below(path)? {
                require_content(!places.contains(&path), &path, "must be given once")?;
                places.push(path);
            }
        }
        let mut by_step: BTreeMap<u64, &PathBuf> = BTreeMap::new();
        for path in &places {
            let Some(step) = crate::names::own_step(path) else { continue };
            if let Some(other) = by_step.insert(step, path) {
                let problem = format!(
                    "step = {step}: must be that of one checkpoint; {} has it too. Give one of the two, or rename one",
                    other.display()
                );
                return Err(content(path, problem));
            }
        }
        let steps = crate::steps(&places).unwrap_or_default();
        let distinct: BTreeSet<&u64> = steps.iter().collect();
        if distinct.len() == places.len() {
            let mut stepped: Vec<(u64, PathBuf)> = steps.into_iter().zip(places).collect();
            stepped.sort_by_key(|(step, _)| *step);
            places = stepped.into_iter().map(|(_, path)| path).collect();
        } else {
            ensure_ascending(&places)?;
        }
        places.iter().map(|path| Checkpoint::open(path)).collect()
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Returns the names that fit one of some patterns, in which `*` stands for any characters; sorted, with numbers by
    /// their size.
    pub fn matching(&self, patterns: &[impl AsRef<str>]) -> Vec<String> {
        let fitting = |name: &&str| patterns.iter().any(|p| fits(p.as_ref(), name));
        let mut names: Vec<String> = self.names().filter(fitting).map(String::from).collect();
        names.sort_by_key(|name| (crate::kind(name), crate::numbers(name), name.clone()));
        names
    }

    /// Returns the shape of a tensor.
    ///
    /// # Errors
    /// When there is no such tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>> {
        self.file(name)?.shape(name)
    }

    /// Reads a matrix of F64, F32, F16 or BF16 (the last not from a NumPy file; of quantised types too from GGUF),
    /// widened to f64.
    ///
    /// # Errors
    /// When there is no such tensor, or it is not a matrix of one of these types; an entry that is not finite, with
    /// its place; a matrix that the memory cannot hold.
    pub fn matrix(&self, name: &str) -> Result<Array2<f64>> {
        self.file(name)?.matrix(name)
    }

    /// Reads a tensor of any shape in f32: F32 as it is, F16 and BF16 widened, F64 rounded, quantised types as
    /// [`gguf`](crate::gguf) says.
    ///
    /// # Errors
    /// When there is no such tensor, or it is not of one of these types; an entry that is not finite in f32, with its
    /// place; a tensor that the memory cannot hold.
    pub fn values(&self, name: &str) -> Result<ArrayD<f32>> {
        self.file(name)?.values(name)
    }

    /// Computes the SHA-256 of the stored bytes of a tensor, in hexadecimal.
    ///
    /// # Errors
    /// When there is no such tensor, or it cannot be read.
    pub fn hash(&self, name: &str) -> Result<String> {
        Ok(sha256(&self.file(name)?.bytes(name)?))
    }

    /// Computes SHA-256 over the names and the stored bytes of all tensors, in hexadecimal.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn digest(&self) -> Result<String> {
        let mut text = String::new();
        for name in self.matching(&["*"]) {
            text.push_str(&format!("{name} {}\n", self.hash(&name)?));
        }
        Ok(sha256(text.as_bytes()))
    }

    /// Refuses two checkpoints that have equal tensors under all of some names: they are one and the same, whatever
    /// their steps say.
    ///
    /// # Errors
    /// Names both; a tensor that cannot be read.
    pub fn ensure_distinct(checkpoints: &[Self], names: &[String]) -> Result<()> {
        // Nearly always the first tensor tells them apart.
        let mut groups: Vec<Vec<&Checkpoint>> = vec![checkpoints.iter().collect()];
        for name in names {
            let mut split = vec![];
            for group in groups {
                let mut by_hash: BTreeMap<String, Vec<&Checkpoint>> = BTreeMap::new();
                for checkpoint in group {
                    by_hash.entry(checkpoint.hash(name)?).or_default().push(checkpoint);
                }
                split.extend(by_hash.into_values().filter(|equal| equal.len() > 1));
            }
            groups = split;
        }
        let Some([first, second, ..]) = groups.first().map(Vec::as_slice) else { return Ok(()) };
        let problem = format!(
            "must differ from {}; all {} matrices are equal. Remove one of the two, or choose matrices that were trained",
            first.path.display(),
            names.len()
        );
        Err(content(&second.path, problem))
    }

    fn file(&self, name: &str) -> Result<&TensorFile> {
        let place = self.places.get(name).and_then(|i| self.files.get(*i));
        place.ok_or_else(|| Error::unknown("tensor", name, self.names()))
    }
}

/// Refuses checkpoints that stay in the order given although the steps of some say another.
fn ensure_ascending(places: &[PathBuf]) -> Result<()> {
    let stepped: Vec<(u64, &PathBuf)> = places.iter().filter_map(|path| Some((crate::step(path)?, path))).collect();
    let Some((before, after)) = stepped.iter().zip(stepped.iter().skip(1)).find(|(before, after)| before.0 > after.0)
    else {
        return Ok(());
    };
    let problem = format!(
        "step = {}: must be above that of {}, {}, which comes before it; not all names have a step of their own. Give the \
         paths one by one in their order",
        after.0,
        before.1.display(),
        before.0
    );
    Err(content(after.1, problem))
}

/// The paths of the checkpoints at a path, by name.
fn below(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let files = files_in(path)?;
    let mut folders = entries(path)?;
    folders.retain(|p| p.is_dir() && files_in(p).is_ok_and(|files| !files.is_empty()));
    if files.is_empty() && folders.is_empty() {
        let inner = || entries(path).ok()?.iter().filter(|p| p.is_dir()).find_map(|p| foreign::of_files(p));
        let known = foreign::of_files(path).or_else(inner).or_else(|| foreign::refusal_of_folder(path));
        let problem = "must hold .safetensors, .gguf or .npy files, or folders with such files";
        return Err(content(path, known.unwrap_or_else(|| problem.into())));
    }
    if files.is_empty() {
        return Ok(folders);
    }
    let problem = "must hold files or folders of checkpoints, not both. Give the folders by name";
    require_content(folders.is_empty(), path, problem)?;
    if path.join(INDEX).is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut names = BTreeSet::new();
    for file in &files {
        if !TensorFile::open(file)?.names().into_iter().all(|name| names.insert(name)) {
            // Not the shards of one checkpoint.
            return Ok(files);
        }
    }
    Ok(vec![path.to_path_buf()])
}

/// The files of the checkpoint at a path.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        // A path that does not exist is refused when it is opened.
        return Ok(vec![path.to_path_buf()]);
    }
    let files = files_in(path)?;
    if files.is_empty() {
        let problem = || "must hold .safetensors, .gguf or .npy files".into();
        return Err(content(path, foreign::refusal_of_folder(path).unwrap_or_else(problem)));
    }
    Ok(files)
}

/// Refuses a folder with two files that could both be its network; `files` are those that would be read.
fn ensure_one(folder: &Path, index: &Option<ShardIndex>, files: &[PathBuf]) -> Result<()> {
    let whole = folder.join("model.safetensors");
    let (first, second) = match index {
        Some(index) if whole.is_file() && !files.contains(&whole) => (index.path.clone(), whole),
        Some(_) => return Ok(()),
        None => {
            // The shards of one network have one name but for their number.
            let name = |file: &PathBuf| {
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                match stem.rsplit_once("-of-").and_then(|(first, _)| first.rsplit_once('-')) {
                    Some((name, number)) if number.parse::<u64>().is_ok() => format!("{name}-of"),
                    _ => stem,
                }
            };
            let is_network = |file: &&PathBuf| file.extension().is_some_and(|e| e == "safetensors" || e == "gguf");
            let mut networks: Vec<&PathBuf> = files.iter().filter(is_network).collect();
            networks.dedup_by_key(|file| name(file));
            let original = networks.iter().any(|file| name(file).starts_with("consolidated"));
            match networks[..] {
                [first, second, ..] if original || folder.join("config.json").is_file() => {
                    (first.clone(), second.clone())
                }
                _ => return Ok(()),
            }
        }
    };
    let problem = format!(
        "must hold one network; {} and {} could both be it. Move one of them to another folder",
        first.display(),
        second.display()
    );
    Err(content(folder, problem))
}

/// The files with tensors in a folder: those of safetensors or, without any, of GGUF or, without any, of NumPy.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = entries(folder)?;
    files.retain(|p| p.is_file() && TensorFile::is_known(p));
    for kind in ["safetensors", "gguf"] {
        let of_kind = |p: &PathBuf| p.extension().is_some_and(|e| e == kind);
        if files.iter().any(of_kind) {
            files.retain(of_kind);
        }
    }
    remove_later_parts(&mut files);
    Ok(files)
}

/// The paths in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = |list: std::fs::ReadDir| list.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).and_then(paths).map_err(|e| unreadable(folder, e))?;
    paths.sort();
    Ok(paths)
}
