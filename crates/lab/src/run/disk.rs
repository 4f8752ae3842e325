//! Free space of a disk.

use std::path::Path;
use std::process::Command;

/// Returns the space (bytes) that the disk of a path has for this user, by `df` as POSIX defines it; None where there is
/// no such program. A path that does not exist yet is on the disk of the nearest folder above it that does.
pub fn available(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let there = absolute.ancestors().find(|folder| folder.exists())?;
    let output = Command::new("df").args(["-P", "-k", "--"]).arg(there).env("LC_ALL", "C").output().ok()?;
    available_from(&String::from_utf8_lossy(&output.stdout))
}

/// Reads the output of `df -P -k`: name, blocks of 1024 bytes, used, available, share, mount point. The name may hold
/// spaces; the share ends with `%`.
fn available_from(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.lines().nth(1)?.split_whitespace().collect();
    let share = words.iter().position(|word| word.ends_with('%') && word.len() > 1)?;
    let kib: u64 = words.get(share.checked_sub(1)?)?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_read() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n//host/my share 100 30 70 30% /mnt\n";
        assert_eq!(available_from(text), Some(70 * 1024));
        assert_eq!(available_from(""), None);
        assert_eq!(available_from("Filesystem\n- - -\n"), None);
    }
}
