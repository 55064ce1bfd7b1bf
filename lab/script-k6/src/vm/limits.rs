//! What one thread's scripts may take before they are stopped.

/// Where the machine does not say how much memory it has.
const MEMORY_BYTES: usize = 4 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// JavaScript's memory on all threads, which have equal shares. The user that wants more of its thread's gets an
    /// exception.
    pub memory_bytes: usize,
}

impl Limits {
    /// Nine tenths of the memory that is free.
    pub fn of_machine() -> Self {
        let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
        let bytes = free.map_or(MEMORY_BYTES, |free| free / 10 * 9);
        Self { memory_bytes: bytes }
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
