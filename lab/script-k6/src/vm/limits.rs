//! What one thread's scripts may take before they are stopped.

/// Where the machine does not say how much memory it has.
const MEMORY_BYTES: usize = 4 << 30;
/// The part of the memory that is free which scripts may take: the target may run on the same machine.
const FREE_MEMORY_PARTS: usize = 2;
/// Far more than data of tests take, and soon reached by what grows without end.
const USER_MEMORY_BYTES: usize = 512 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// JavaScript's memory of all users on all threads. The user that wants more gets an exception.
    pub memory_bytes: usize,
    /// Of one user, and of setup, teardown and `handleSummary` each.
    pub user_memory_bytes: usize,
}

impl Limits {
    /// Half of the memory that is free, and 512 MiB for each user.
    pub fn of_machine() -> Self {
        let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
        let memory_bytes = free.map_or(MEMORY_BYTES, |free| free / FREE_MEMORY_PARTS);
        Self { memory_bytes, user_memory_bytes: USER_MEMORY_BYTES }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_machine()
    }
}

/// `MemAvailable` of Linux's `/proc/meminfo` in bytes.
fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_read_from_what_linux_says() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:       2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }
}
