//! Available memory, and the refusal of work that needs more.

use attnlab_core::error::{Error, Result};
pub use attnlab_core::format::size;
use std::path::{Path, PathBuf};

/// Memory (bytes) assumed where the system does not report it: more than the machines that this runs on
/// have, so that only obvious mistakes (`tokens=1e12`) are refused; in a browser, where addresses have 32 bits, half of
/// what they reach.
const UNKNOWN: u64 = if cfg!(target_family = "wasm") { 1 << 31 } else { 1 << 40 };

/// Returns the memory (bytes) available without swapping: Linux's estimate (`MemAvailable`), at most what the
/// control groups of this process (containers, Slurm) and `ulimit -v` and `ulimit -d` leave; None where the system
/// reports none of them.
pub fn available() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    available_from(&read, rayon::current_num_threads)
}

/// Computes [`available`] from the texts of the system's files and the number of threads. A file that cannot be read
/// and a malformed number limit nothing: the result is an estimate, and the other files still bound it.
fn available_from(read: &dyn Fn(&Path) -> Option<String>, threads: fn() -> usize) -> Option<u64> {
    let text = |path: &str| read(Path::new(path)).unwrap_or_default();
    let system = kib_after(&text("/proc/meminfo"), "MemAvailable:");
    let groups = group_folders(&text("/proc/self/cgroup"))
        .into_iter()
        .filter_map(|(folder, files)| group_room(files, &|name: &str| read(&folder.join(name))));
    let reserved = || thread_bytes_from(read).saturating_mul(threads() as u64);
    let ulimit = ulimit_room(&text("/proc/self/limits"), &text("/proc/self/status"), reserved);
    groups.chain(system).chain(ulimit).min()
}

/// Files of a control group that report its memory, all in bytes.
struct GroupFiles {
    /// Folder of the hierarchy.
    root: &'static str,
    /// Limits of the group and those inside it together. The kernel kills above `memory.max`, and slows down and
    /// reclaims above `memory.high`.
    limits: &'static [&'static str],
    /// Memory charged to the group and to those inside it, page cache included.
    usage: &'static str,
    /// Lines of `memory.stat` with the part of the usage that the kernel frees before it kills a process. These are the
    /// parts that `MemAvailable` counts (`si_mem_available` in the kernel): pages of files, of which it frees those in
    /// use (`active_file`) after the others, and its own caches. Files in memory (tmpfs) and locked pages are in
    /// none of these lines.
    reclaimable: &'static [&'static str],
}

/// Files of version 1, whose `memory.stat` has no line for the kernel's caches. No limit is a number near 2^63.
static VERSION_1: GroupFiles = GroupFiles {
    root: "/sys/fs/cgroup/memory",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    reclaimable: &["total_inactive_file", "total_active_file"],
};

/// Files of version 2. No limit is the word `max`.
static VERSION_2: GroupFiles = GroupFiles {
    root: "/sys/fs/cgroup",
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    reclaimable: &["inactive_file", "active_file", "slab_reclaimable"],
};

/// Returns the folders of the control groups of a process and of those that contain them, with their files, from the
/// text of `/proc/self/cgroup`.
fn group_folders(text: &str) -> Vec<(PathBuf, &'static GroupFiles)> {
    let mut folders = vec![];
    for line in text.lines() {
        // `0::/path` in version 2, `9:memory:/path` in version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let files = match controllers {
            "" => &VERSION_2,
            list if list.split(',').any(|name| name == "memory") => &VERSION_1,
            _ => continue,
        };
        // A container sees its own group as the root, whatever the path says. With `..` the path leads out of sight.
        let path = path.trim_start_matches('/');
        let visible = if path.split('/').any(|part| part == "..") { "" } else { path };
        let root = Path::new(files.root);
        folders.extend(Path::new(visible).ancestors().map(|path| (root.join(path), files)));
    }
    folders
}

/// Computes the memory (bytes) that the limit of a control group leaves; None where it has no limit. `read` returns
/// the text of a file of the group.
fn group_room(files: &GroupFiles, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { read(name)?.trim().parse().ok() };
    let limit = files.limits.iter().filter_map(|name| number(name)).min()?;
    let stat = read("memory.stat").unwrap_or_default();
    let reclaimable =
        files.reclaimable.iter().filter_map(|name| number_after(&stat, name)).fold(0, u64::saturating_add);
    let used = number(files.usage).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
}

/// Returns the address space (bytes) that a thread reserves: two buffers of the size of the L3 cache for faer's products
/// (up to 300 MiB on servers; 32 are assumed where it is smaller or the system does not tell it), and its stack.
pub fn thread_bytes() -> u64 {
    thread_bytes_from(&|path: &Path| std::fs::read_to_string(path).ok())
}

fn thread_bytes_from(read: &dyn Fn(&Path) -> Option<String>) -> u64 {
    let kib = |text: String| text.trim().strip_suffix('K')?.parse::<u64>().ok();
    let cache = read(Path::new("/sys/devices/system/cpu/cpu0/cache/index3/size")).and_then(kib);
    cache.unwrap_or(0).max(32 << 10).saturating_mul(2 << 10).saturating_add(4 << 20)
}

/// Computes the memory (bytes) that `ulimit -v` and `ulimit -d` leave, from the texts of `/proc/self/limits` and
/// `/proc/self/status` and from what the threads reserve; None where there is no such limit.
fn ulimit_room(limits: &str, status: &str, reserved: impl Fn() -> u64) -> Option<u64> {
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")]
        .into_iter()
        .filter_map(|(limit, used)| {
            // The first number is the soft limit, which the kernel enforces; `unlimited` is no number.
            let limit = number_after(limits, limit)?;
            // A thread that has computed a product has its reserve among the data; others will add theirs.
            let to_come = reserved().saturating_sub(kib_after(status, "VmData:").unwrap_or(0));
            let used = kib_after(status, used).unwrap_or(0);
            Some(limit.saturating_sub(used.saturating_add(to_come)))
        })
        .min()
}

/// Reads the number that follows `name` at the start of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Reads the number of kB that follows `name` at the start of a line, in bytes.
fn kib_after(text: &str, name: &str) -> Option<u64> {
    number_after(text, name).map(|kib| kib.saturating_mul(1024))
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
    Err(Error::Memory { work: work.to_string(), needed: size(needed), available: size(available) })
}

/// Computes the product of sizes; on overflow it is [`u64::MAX`], which no memory holds.
pub fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |product, n| product.saturating_mul(*n))
}

/// Computes a sum of products of sizes, such as bytes, rows and columns of every array; on overflow it is [`u64::MAX`].
///
/// ```
/// use attnlab_lab::run::memory::total;
/// assert_eq!(total(&[&[8, 2, 3], &[4, 5]]), 68);
/// assert_eq!(total(&[&[8, 1 << 40, 1 << 40], &[4, 5]]), u64::MAX);
/// ```
pub fn total(products: &[&[u64]]) -> u64 {
    products.iter().fold(0, |total, sizes| total.saturating_add(product(sizes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_saturate() {
        assert_eq!(product(&[2, 3, 8]), 48);
        assert_eq!(product(&[1 << 40, 1 << 40, 2]), u64::MAX);
    }

    const MEMINFO: (&str, &str) = ("/proc/meminfo", "MemTotal:       9000000 kB\nMemAvailable:    8000000 kB\n");

    /// Computes the available memory on a system with these files and two threads.
    fn available_with(files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &Path| -> Option<String> {
            let file = files.iter().find(|file| Path::new(file.0) == path)?;
            Some(file.1.to_string())
        };
        available_from(&read, || 2)
    }

    #[test]
    fn a_system_without_limits_has_its_own_estimate() {
        assert_eq!(available_with(&[]), None);
        assert_eq!(available_with(&[MEMINFO]), Some(8_000_000 * 1024));
        let unlimited = [
            MEMINFO,
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "max\n"),
            ("/sys/fs/cgroup/memory.current", "7000000000\n"),
        ];
        assert_eq!(available_with(&unlimited), Some(8_000_000 * 1024));
    }

    #[test]
    fn page_cache_is_available() {
        let full_of_cache = [
            MEMINFO,
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "2000000000\n"),
            ("/sys/fs/cgroup/memory.current", "1990000000\n"),
            (
                "/sys/fs/cgroup/memory.stat",
                "anon 90000000\nfile 1700000000\nshmem 50000000\ninactive_anon 40000000\n\
                 inactive_file 1000000000\nactive_file 700000000\nslab_reclaimable 100000000\n\
                 slab_unreclaimable 5\nslab 100000005\n",
            ),
        ];
        assert_eq!(available_with(&full_of_cache), Some(1_810_000_000));
        // Without memory.stat all of the usage counts.
        assert_eq!(available_with(&full_of_cache[..4]), Some(10_000_000));
    }

    #[test]
    fn the_least_of_nested_limits_counts() {
        let outer = [
            MEMINFO,
            ("/proc/self/cgroup", "0::/job_7/step\n"),
            ("/sys/fs/cgroup/job_7/step/memory.max", "max\n"),
            ("/sys/fs/cgroup/job_7/step/memory.current", "500\n"),
            ("/sys/fs/cgroup/job_7/memory.max", "4000000000\n"),
            ("/sys/fs/cgroup/job_7/memory.current", "1000000000\n"),
            // Another job's limit is of no concern.
            ("/sys/fs/cgroup/job_8/memory.max", "1\n"),
        ];
        assert_eq!(available_with(&outer), Some(3_000_000_000));
        let inner = ("/sys/fs/cgroup/job_7/step/memory.high", "2000000000\n");
        let both = [&outer[..], &[inner]].concat();
        assert_eq!(available_with(&both), Some(1_999_999_500));
    }

    #[test]
    fn version_1_counts_the_totals() {
        let memory = "/sys/fs/cgroup/memory";
        let [limit, usage, stat] =
            ["limit_in_bytes", "usage_in_bytes", "stat"].map(|name| format!("{memory}/slurm/uid_1/memory.{name}"));
        let root_limit = format!("{memory}/memory.limit_in_bytes");
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "12:cpu,cpuacct:/x\n9:hugetlb,memory:/slurm/uid_1\n1:name=systemd:/x\n0::/x\n"),
            (limit.as_str(), "2500000000\n"),
            (usage.as_str(), "2000000000\n"),
            (
                stat.as_str(),
                "cache 1\ninactive_file 7\nactive_file 7\nhierarchical_memory_limit 2500000000\n\
                 total_inactive_file 1200000000\ntotal_active_file 300000000\n",
            ),
            (root_limit.as_str(), "9223372036854771712\n"),
        ];
        assert_eq!(available_with(&files), Some(2_000_000_000));
    }

    #[test]
    fn a_container_may_see_its_group_as_the_root() {
        for path in ["0::/docker/0123abcd\n", "0::/../other\n", "0::/\n"] {
            let files = [
                MEMINFO,
                ("/proc/self/cgroup", path),
                ("/sys/fs/cgroup/memory.max", "1900000000\n"),
                ("/sys/fs/cgroup/memory.current", "100000000\n"),
                ("/sys/fs/cgroup/../other/memory.max", "1\n"),
            ];
            assert_eq!(available_with(&files), Some(1_800_000_000), "{path}");
        }
    }

    #[test]
    fn ulimit_counts_what_the_threads_reserve() {
        const RESERVED: u64 = 136 << 20;
        let room = |limits: &str, status: &str| ulimit_room(limits, status, || RESERVED);
        let header = "Limit                     Soft Limit           Hard Limit           Units     \n";
        let unlimited = "Max data size             unlimited            unlimited            bytes     \n\
                         Max address space         unlimited            unlimited            bytes     \n";
        let status = "VmPeak:\t  600000 kB\nVmSize:\t  500000 kB\nVmData:\t  250000 kB\n";
        assert_eq!(room(&format!("{header}{unlimited}"), status), None);
        let space = unlimited.replacen("space         unlimited", "space         2000000000", 1);
        assert_eq!(room(&space, status), Some(2_000_000_000 - 512_000_000));
        let fresh = status.replace("250000", "2500");
        assert_eq!(room(&space, &fresh), Some(2_000_000_000 - 512_000_000 - (RESERVED - 2_560_000)));
        let data = space.replacen("size             unlimited", "size             900000000", 1);
        assert_eq!(room(&data, status), Some(900_000_000 - 256_000_000));
        assert_eq!(room(&data, ""), Some(900_000_000 - RESERVED));
        assert_eq!(room("Max address space 100000000 100000000 bytes", status), Some(0));
    }

    #[test]
    fn a_thread_reserves_twice_the_largest_cache() {
        for (size, reserved) in [(Some("307200K\n"), 604), (Some("1024K"), 68), (Some("lots"), 68), (None, 68)] {
            assert_eq!(thread_bytes_from(&|_| size.map(String::from)), reserved << 20, "{size:?}");
        }
    }

    #[test]
    fn malformed_files_limit_nothing() {
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "\n0\n0:\n:memory:\n0::\nmemory\n"),
            ("/sys/fs/cgroup/memory.max", "many\n"),
            ("/sys/fs/cgroup/memory.high", "-1\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""),
            ("/proc/self/limits", "Max address space\nMax data size lots\n"),
        ];
        assert_eq!(available_with(&files), Some(8_000_000 * 1024));
        // A limit without a usage is a bound all the same; a cache above the usage, read a moment later, is no error.
        let group = |usage: &str, stat: &str| {
            available_with(&[
                ("/proc/meminfo", "MemAvailable: lots kB\n"),
                ("/proc/self/cgroup", "0::/\n"),
                ("/sys/fs/cgroup/memory.max", "1000"),
                ("/sys/fs/cgroup/memory.current", usage),
                ("/sys/fs/cgroup/memory.stat", stat),
            ])
        };
        assert_eq!(group("?", ""), Some(1000));
        assert_eq!(group("400", "inactive_file\nactive_file x\n"), Some(600));
        let huge = format!("inactive_file {0}\nactive_file {0}\n", u64::MAX);
        assert_eq!(group("400", &huge), Some(1000));
        assert_eq!(group("4000", ""), Some(0));
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
