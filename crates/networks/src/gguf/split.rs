//! Files of one network in several parts, as `llama-gguf-split` writes them: `NAME-00001-of-00003.gguf` and so on. The
//! first part has the settings, and every part the tensors that its header names.

use super::Gguf;
use crate::tensors::{content, require_content};
use attnlab_core::error::Result;
use attnlab_core::input;
use std::path::{Path, PathBuf};

/// Name of a part: NAME-00002-of-00003.gguf.
struct PartName {
    folder: PathBuf,
    name: String,
    /// Number of the part, from 1.
    number: u64,
    count: u64,
}

impl PartName {
    /// Reads the name of a file; None if it is not that of a part.
    fn parse(path: &Path) -> Option<Self> {
        let (rest, count) = path.file_name()?.to_str()?.strip_suffix(".gguf")?.rsplit_once("-of-")?;
        let (name, number) = rest.rsplit_once('-')?;
        let is_number = |digits: &&str| digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit());
        let whole = |digits: &str| Some(digits).filter(is_number)?.parse().ok();
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Some(PartName { folder, name: name.into(), number: whole(number)?, count: whole(count)? })
    }

    /// Returns the path of another part.
    fn part(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}-{number:05}-of-{:05}.gguf", self.name, self.count))
    }
}

/// Removes the parts whose part before is in the list: of a split file the first remains.
pub(crate) fn remove_later_parts(files: &mut Vec<PathBuf>) {
    let listed = files.clone();
    files.retain(|file| match PartName::parse(file) {
        Some(part) if part.number > 1 => !listed.contains(&part.part(part.number - 1)),
        _ => true,
    });
}

/// Adds the tensors of all other parts to the first part of a split file; another file remains as it is.
pub(super) fn joined(mut first: Gguf) -> Result<Gguf> {
    let path = first.path.clone();
    let bad = |problem: String| Err(content(&path, problem));
    let count = whole(&first, "split.count")?.unwrap_or(1);
    if count <= 1 {
        return Ok(first);
    }
    let name = PartName::parse(&path).filter(|name| name.count == count);
    let number = whole(&first, "split.no")?.unwrap_or(0);
    if number != 0 {
        let unknown = || format!("NAME-00001-of-{count:05}.gguf");
        let part = name.map_or_else(unknown, |name| name.part(1).display().to_string());
        return bad(format!(
            "split.no = {number}: must be 0; this is a later part of a split file. Give the first, {part}"
        ));
    }
    let Some(name) = name.filter(|name| name.number == 1) else {
        return bad(format!(
            "split.count = {count}: the first part must be named NAME-00001-of-{count:05}.gguf; the others are found by \
             it. Give the file its old name"
        ));
    };
    for number in 1..count {
        let path = name.part(number + 1);
        if !input::is_file("GGUF", &path) {
            return bad(format!(
                "split.count = {count}: all parts must be beside the first; {} is not there. Copy the missing part",
                path.display()
            ));
        }
        let part = Gguf::single(&path)?;
        for (key, expected) in [("split.no", number), ("split.count", count)] {
            let value = whole(&part, key)?;
            if value != Some(expected) {
                let value = value.map_or("absent".into(), |v| v.to_string());
                let problem = format!("{key} = {value}: must be {expected}. Take all parts from one download");
                return Err(content(&path, problem));
            }
        }
        for (name, tensor) in part.tensors {
            if let Some(other) = first.tensors.insert(name.clone(), tensor) {
                let problem = format!("the tensor {name} must be in one part; {} has it too", other.file.display());
                return Err(content(&path, problem));
            }
        }
    }
    let tensors = first.tensors.len() as u64;
    match whole(&first, "split.tensors.count")? {
        Some(announced) if announced != tensors => bad(format!(
            "split.tensors.count = {announced}: must be the number of tensors in all parts, {tensors}. Take all parts \
             from one download"
        )),
        _ => Ok(first),
    }
}

/// Returns a whole number of the settings, if it is there.
fn whole(file: &Gguf, name: &str) -> Result<Option<u64>> {
    let Some(value) = file.metadata.get(name) else { return Ok(None) };
    let whole = value.whole();
    require_content(whole.is_some(), &file.path, format!("{name}: must be a whole number, at least 0"))?;
    Ok(whole)
}
