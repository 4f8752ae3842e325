//! Available memory, and the refusal of work that needs more.

use attnlab_core::error::{Error, Result};
pub use attnlab_core::format::size;
use std::path::{Component, Path};

/// Memory (bytes) assumed where the system does not report it: more than the machines that this runs on
/// have, so that only obvious mistakes (`tokens=1e12`) are refused.
const UNKNOWN: u64 = 1 << 40;

/// Returns the memory (bytes) that this process may still take without swapping: the least of what the system has
/// available, what its control groups (version 1 or 2, with those around them), `ulimit -v` and `ulimit -d`, and
/// Slurm leave; None where the system reports nothing.
pub fn available() -> Option<u64> {
    let variable = |name: &str| std::env::var(name).ok();
    left(Path::new("/proc"), Path::new("/sys/fs/cgroup"), &variable)
}

/// Computes [`available`] from the files and variables of a system.
fn left(proc: &Path, cgroup: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let free = kib_of(&proc.join("meminfo"), "MemAvailable:")?;
    let grouped = group_room(proc, cgroup);
    let all = [grouped, address_room(proc), slurm_room(proc, variable)];
    Some(all.into_iter().flatten().fold(free, u64::min))
}

/// Reads a line `NAME  123 kB` of a file in /proc, in bytes.
fn kib_of(path: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Returns the memory (bytes) that the limits of the control groups of this process leave: of its own and of those
/// that contain it.
fn group_room(proc: &Path, root: &Path) -> Option<u64> {
    // One line per hierarchy: 0::/path in version 2, 9:memory:/path in version 1.
    let groups = std::fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let mut rooms = vec![];
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (base, names) = match controllers {
            "" => (root.to_path_buf(), ["memory.max", "memory.current"]),
            list if list.split(',').any(|name| name == "memory") => {
                (root.join("memory"), ["memory.limit_in_bytes", "memory.usage_in_bytes"])
            }
            _ => continue,
        };
        rooms.extend(rooms_upwards(&base, path, names));
    }
    // A container often sees its own group as the root, whatever the path says.
    rooms.extend(room_at(root, ["memory.max", "memory.current"]));
    rooms.into_iter().min()
}

fn rooms_upwards(base: &Path, path: &str, names: [&str; 2]) -> Vec<u64> {
    let inner = Path::new(path.trim_start_matches('/'));
    // A path with .. is outside of what this process sees.
    let plain = |part: Component| matches!(part, Component::Normal(_));
    if !inner.components().all(plain) {
        return vec![];
    }
    let folders = inner.ancestors().map(|part| base.join(part));
    folders.filter_map(|folder| room_at(&folder, names)).collect()
}

fn room_at(folder: &Path, [limit, used]: [&str; 2]) -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        // "max" in version 2 is no limit, nor is the nearly largest number of version 1.
        text.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)
    };
    Some(read(limit)?.saturating_sub(read(used)?))
}

/// Address space (bytes) that a thread takes for itself: faer's buffer for products, and its stack.
const THREAD: u64 = 68 << 20;

/// Returns the address space (bytes) that `ulimit -v` and `ulimit -d` leave to the threads' work.
fn address_room(proc: &Path) -> Option<u64> {
    let limits = std::fs::read_to_string(proc.join("self/limits")).ok()?;
    let soft = |name: &str| -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        // "unlimited" is no number.
        line.split_whitespace().next()?.parse().ok()
    };
    let status = proc.join("self/status");
    let threads = THREAD * rayon::current_num_threads() as u64;
    let room = |limit: Option<u64>, used: &str| -> Option<u64> {
        Some(limit?.saturating_sub(kib_of(&status, used).unwrap_or(0) + threads))
    };
    let rooms = [room(soft("Max address space"), "VmSize:"), room(soft("Max data size"), "VmData:")];
    rooms.into_iter().flatten().min()
}

/// Returns the memory (bytes) of a job of Slurm that this process does not hold yet. A node may not enforce it by a
/// control group, but kill jobs that exceed it.
fn slurm_room(proc: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { variable(name)?.trim().parse().ok() };
    let each = || number("SLURM_MEM_PER_CPU")?.checked_mul(number("SLURM_CPUS_ON_NODE")?);
    // In megabytes; 0 is the whole node.
    let limit = number("SLURM_MEM_PER_NODE").or_else(each).filter(|mb| *mb > 0)?;
    let held = kib_of(&proc.join("self/status"), "VmRSS:").unwrap_or(0);
    Some(limit.saturating_mul(1 << 20).saturating_sub(held))
}

/// Refuses `work` whose peak memory, `needed` bytes, exceeds the available memory.
///
/// # Errors
/// [`Error::Memory`] with the needed and the available memory.
pub fn ensure(work: &str, needed: u64) -> Result<()> {
    // Nothing is left where the limit is below what the threads take: no work fits then.
    refuse_above(work, needed.max(1), available().unwrap_or(UNKNOWN))
}

fn refuse_above(work: &str, needed: u64, available: u64) -> Result<()> {
    if needed <= available {
        return Ok(());
    }
    Err(Error::Memory { work: work.to_string(), needed: size(needed), available: size(available) })
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

    /// Files as Linux, containers and Slurm show them.
    #[test]
    fn the_least_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, cgroup) = (folder.path().join("proc"), folder.path().join("cgroup"));
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let none = |_: &str| None;
        let now = || left(&proc, &cgroup, &none);
        assert_eq!(now(), None);
        write(&proc.join("meminfo"), "MemTotal: 9 kB\nMemAvailable:  8000000 kB\n");
        write(&proc.join("self/status"), "VmSize:\t 1000 kB\nVmData: 500 kB\nVmRSS: 100 kB\n");
        assert_eq!(now(), Some(8_000_000 * 1024));
        // Version 2: the group itself has no limit, the one around it has.
        write(&proc.join("self/cgroup"), "0::/job_7/step\n");
        write(&cgroup.join("job_7/step/memory.max"), "max\n");
        write(&cgroup.join("job_7/step/memory.current"), "5\n");
        write(&cgroup.join("job_7/memory.max"), "4000000000\n");
        write(&cgroup.join("job_7/memory.current"), "1000000000\n");
        assert_eq!(now(), Some(3_000_000_000));
        // Version 1, among other controllers.
        write(&proc.join("self/cgroup"), "4:cpu:/x\n9:hugetlb,memory:/slurm/uid_1\n");
        write(&cgroup.join("memory/slurm/memory.limit_in_bytes"), "2500000000\n");
        write(&cgroup.join("memory/slurm/memory.usage_in_bytes"), "500000000\n");
        write(&cgroup.join("memory/memory.limit_in_bytes"), "9223372036854771712\n");
        write(&cgroup.join("memory/memory.usage_in_bytes"), "1\n");
        assert_eq!(now(), Some(2_000_000_000));
        // A container whose group is the root that it sees.
        write(&cgroup.join("memory.max"), "1900000000\n");
        write(&cgroup.join("memory.current"), "0\n");
        assert_eq!(now(), Some(1_900_000_000));
        // ulimit -v, in bytes.
        let threads = THREAD * rayon::current_num_threads() as u64;
        let limits = format!(
            "Limit  Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\n\
             Max address space  {}  unlimited  bytes\n",
            1_801_024_000 + threads
        );
        write(&proc.join("self/limits"), &limits);
        assert_eq!(now(), Some(1_800_000_000));
        let job = |name: &str| match name {
            "SLURM_MEM_PER_CPU" => Some("500".into()),
            "SLURM_CPUS_ON_NODE" => Some("3".into()),
            _ => None,
        };
        let slurm = left(&proc, &cgroup, &job);
        assert_eq!(slurm, Some(1500 * (1 << 20) - 100 * 1024));
        // A path that leads out of sight is left alone.
        write(&proc.join("self/cgroup"), "0::/../other\n");
        assert_eq!(now(), Some(1_800_000_000));
    }

    #[test]
    fn only_what_does_not_fit_is_refused() {
        assert!(refuse_above("a trial", 10, 10).is_ok());
        assert_eq!(
            refuse_above("a trial", 2_000_000_000, 1_000_000_000).unwrap_err().to_string(),
            "a trial needs 2.0 GB of memory and 1.0 GB is available: write smaller parameters, or \
             use a larger machine"
        );
    }
}
