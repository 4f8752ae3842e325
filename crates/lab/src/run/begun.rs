//! Files that a run has begun, taken back where it fails before its first row.

use super::store::{CHECKPOINTS, Manifest, Owner, Shard};
use super::{Origin, TrainingCurve};
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders that a run adds before its first row.
///
/// Trials may refuse their settings or inputs. A call that fails so leaves nothing behind, and a folder that held a run
/// stays as it was.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// Files that were not there before.
    files: Vec<PathBuf>,
    /// Folders that were not there before, the innermost first.
    folders: Vec<PathBuf>,
    /// Folder of the checkpoints.
    checkpoints: PathBuf,
    /// Flag: that folder was there before, and is left as it is.
    had_checkpoints: bool,
}

impl Begun {
    /// Notes what a run will add to `folder`: nothing where the folder holds a run already, and nothing for a shard,
    /// beside which others may write.
    pub(super) fn in_folder(folder: &Path, shard: Shard) -> Self {
        let mut files = [Manifest::FILE.to_string(), shard.file()].map(|name| folder.join(name)).to_vec();
        if !shard.is_whole() || files.iter().any(|file| file.exists()) {
            return Begun::default();
        }
        // The lock goes last, since another process may begin once it is gone.
        let beside = [Origin::FILE, Owner::FILE].map(|name| folder.join(name));
        files.extend(beside.into_iter().filter(|file| !file.exists()));
        let named = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let folders = named.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
        let checkpoints = folder.join(CHECKPOINTS);
        let had_checkpoints = checkpoints.exists();
        Begun { files, folders, checkpoints, had_checkpoints }
    }

    /// Takes back what was added, unless a row or a checkpoint was written; files of checkpoints may have been begun and
    /// be empty. What cannot be removed stays.
    pub(super) fn take_back(&self) {
        let rows = |file: &PathBuf| file.extension().is_some_and(|e| e == "jsonl");
        let empty = |file: &PathBuf| fs::metadata(file).map_or(true, |file| file.len() == 0);
        let written = self.had_checkpoints || !is_without_checkpoints(&self.checkpoints);
        if self.checkpoints.exists() && written || !self.files.iter().filter(|file| rows(file)).all(empty) {
            return;
        }
        if self.checkpoints.exists() && fs::remove_dir_all(&self.checkpoints).is_err() {
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

/// Returns `true` for a folder in which, at any depth, is nothing but folders, empty files and curves, from which no
/// training can go on.
fn is_without_checkpoints(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))).is_ok_and(|(path, kind)| match kind.is_dir() {
            true => is_without_checkpoints(&path),
            false => kind.is_file() && (kind.len() == 0 || path.ends_with(TrainingCurve::FILE)),
        })
    })
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
        let fail = |shard: Shard| {
            let begun = Begun::in_folder(&out, shard);
            begin();
            begun.take_back();
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
        // A checkpoint that was begun goes too, and one that was written stays with its run.
        let files =
            [("scores.jsonl", "", false), (TrainingCurve::FILE, "{}", false), ("scores.jsonl", "[1.0]\n", true)];
        for (name, text, left) in files {
            let begun = Begun::in_folder(&out, Shard::WHOLE);
            begin();
            let trial = out.join(CHECKPOINTS).join("0-0");
            fs::create_dir_all(&trial).unwrap();
            fs::write(trial.join(name), text).unwrap();
            begun.take_back();
            assert_eq!(out.join(Manifest::FILE).exists(), left);
            assert_eq!(trial.exists(), left);
        }
        fs::remove_dir_all(&out).unwrap();
        // Checkpoints that were there before are not of this run.
        fs::create_dir_all(out.join(CHECKPOINTS)).unwrap();
        fail(Shard::WHOLE);
        assert!(out.join(CHECKPOINTS).exists());
        fs::remove_dir_all(&out).unwrap();
        // A folder with other files keeps them.
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("notes.txt"), "").unwrap();
        fail(Shard::WHOLE);
        assert!(out.join("notes.txt").exists() && !out.join(Manifest::FILE).exists());
        // Other shards may write beside a shard.
        fail("0/2".parse().unwrap());
        assert!(out.join(Manifest::FILE).exists());
    }
}
