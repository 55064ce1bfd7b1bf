//! How much memory the process may have at most: the least of what its control groups grant (`memory.max` of version 2, cgroups(7),
//! `memory.limit_in_bytes` of version 1) and what the machine has.

use std::{
    fs,
    path::{Path, PathBuf},
};

const GROUPS: &str = "/sys/fs/cgroup";

/// None where the system does not say.
pub(super) fn bytes() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = files(&own, Path::new(GROUPS)).into_iter().filter_map(|file| {
        // `max` where nothing is said; version 1 has a number near 2^63 then, of which the machine has less.
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    of_groups.chain(machine).min()
}

/// The files that may have a limit: of each group of a process, and of those around it. In a container the paths are those of the
/// host, and what is mounted is the container's own group.
fn files(own: &str, root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.join("memory.max"), root.join("memory/memory.limit_in_bytes")];
    for line in own.lines() {
        // hierarchy:controllers:path
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (below, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        all.extend(path.ancestors().map(|group| below.join(group).join(file)));
    }
    all
}

/// Of the machine, from `/proc/meminfo`, which counts kibibytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_those_around_them_are_looked_at() {
        let own = "4:memory:/user/a\n3:cpu,cpuacct:/b\n0::/system.slice/prony.service\n";
        let found: Vec<_> =
            files(own, Path::new("/g")).into_iter().map(|file| file.display().to_string()).collect();
        let expected = [
            "/g/memory.max",
            "/g/memory/memory.limit_in_bytes",
            "/g/memory/user/a/memory.limit_in_bytes",
            "/g/memory/user/memory.limit_in_bytes",
            "/g/memory/memory.limit_in_bytes",
            "/g/system.slice/prony.service/memory.max",
            "/g/system.slice/memory.max",
            "/g/memory.max",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_machine_says_kibibytes() {
        assert_eq!(total("MemFree:  1 kB\nMemTotal:       16384 kB\nBuffers: 1 kB\n"), Some(16_777_216));
        assert_eq!(total("MemFree:  1 kB\n"), None);
    }
}
