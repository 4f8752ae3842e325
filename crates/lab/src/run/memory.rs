//! Available memory, and the refusal of work that needs more.

use attnlab_core::error::{Error, Result};
pub use attnlab_core::format::size;

/// Memory (bytes) assumed where the system does not report it: more than the machines that this runs on
/// have, so that only obvious mistakes (`tokens=1e12`) are refused.
const UNKNOWN: u64 = 1 << 40;

/// Returns the memory (bytes) available without swapping: Linux's estimate (`MemAvailable`), at most the
/// limit of the control group (containers, Slurm); None where the system does not report it.
pub fn available() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((kib * 1024).min(group_room().unwrap_or(u64::MAX)))
}

/// Returns the memory (bytes) that the limit of the control group leaves.
fn group_room() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse().ok()
    };
    Some(read("max")?.saturating_sub(read("current")?))
}

/// Refuses `work` whose peak memory, `needed` bytes, exceeds the available memory.
///
/// # Errors
/// [`Error::Memory`] with the needed and the available memory.
pub fn ensure(work: &str, needed: u64) -> Result<()> {
    refuse_above(work, needed, available().unwrap_or(UNKNOWN))
}

fn refuse_above(work: &str, needed: u64, available: u64) -> Result<()> {
    if needed <= available {
        return Ok(());
    }
    Err(Error::Memory {
        work: work.to_string(),
        needed: size(needed),
        available: size(available),
    })
}

/// Computes the product of sizes; on overflow it is [`u64::MAX`], which no memory holds.
pub fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |all, n| all.saturating_mul(*n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_saturate() {
        assert_eq!(product(&[2, 3, 8]), 48);
        assert_eq!(product(&[1 << 40, 1 << 40, 2]), u64::MAX);
    }

    #[test]
    fn only_what_does_not_fit_is_refused() {
        assert!(refuse_above("a trial", 10, 10).is_ok());
        assert_eq!(
            refuse_above("a trial", 2_000_000_000, 1_000_000_000)
                .unwrap_err()
                .to_string(),
            "a trial needs 2.0 GB of memory and 1.0 GB is available: write smaller parameters, or \
             use a larger machine"
        );
    }
}
