//! Files that a run has begun, taken back where it fails before its first row.

use super::store::{CHECKPOINTS, Manifest, Shard};
use std::fs;
use std::path::{Path, PathBuf};

/// What a run adds to its folder before its first row.
///
/// Trials may refuse their settings or inputs. A call that fails so leaves nothing behind, and a folder that held a run
/// stays as it was.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// Files that were not there before.
    files: Vec<PathBuf>,
    /// Folders that were not there before, the innermost first.
    folders: Vec<PathBuf>,
    checkpoints: PathBuf,
}

impl Begun {
    /// Notes what a run will add to `folder`: nothing where the folder holds a run already, and nothing for a shard,
    /// beside which others may write.
    pub(super) fn in_folder(folder: &Path, shard: Shard) -> Self {
        let files = [Manifest::FILE.to_string(), shard.file()].map(|name| folder.join(name));
        if !shard.is_whole() || files.iter().any(|file| file.exists()) {
            return Begun::default();
        }
        let named = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let folders = named.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
        Begun { files: files.to_vec(), folders, checkpoints: folder.join(CHECKPOINTS) }
    }

    /// Takes back what was added, unless a row or a checkpoint was written. What cannot be removed stays.
    pub(super) fn take_back(&self) {
        let rows = |file: &PathBuf| file.extension().is_some_and(|e| e == "jsonl");
        let empty = |file: &PathBuf| fs::metadata(file).map_or(true, |file| file.len() == 0);
        if self.checkpoints.exists() || !self.files.iter().filter(|file| rows(file)).all(empty) {
            return;
        }
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // Only empty folders are removed.
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("runs/a");
        let begin = || {
            fs::create_dir_all(&out).unwrap();
            fs::write(out.join(Manifest::FILE), "{}").unwrap();
            fs::write(out.join(Shard::WHOLE.file()), "").unwrap();
        };
        let begun = Begun::in_folder(&out, Shard::WHOLE);
        begin();
        // Begun by now: an earlier run.
        Begun::in_folder(&out, Shard::WHOLE).take_back();
        assert!(out.join(Manifest::FILE).exists());
        fs::write(out.join(Shard::WHOLE.file()), "{}\n").unwrap();
        begun.take_back();
        assert!(out.join(Manifest::FILE).exists());
        fs::write(out.join(Shard::WHOLE.file()), "").unwrap();
        begun.take_back();
        assert!(!folder.path().join("runs").exists() && folder.path().exists());
        // A folder with other files keeps them.
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("notes.txt"), "").unwrap();
        let begun = Begun::in_folder(&out, Shard::WHOLE);
        begin();
        begun.take_back();
        assert!(out.join("notes.txt").exists() && !out.join(Manifest::FILE).exists());
        // Other shards may write beside a shard.
        let shard = "0/2".parse::<Shard>().unwrap();
        let begun = Begun::in_folder(&out, shard);
        begin();
        begun.take_back();
        assert!(out.join(Manifest::FILE).exists());
    }
}
