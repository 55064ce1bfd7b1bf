//! Where result files stand.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `DIR/NAME-UNIXSECONDS.prony.json`, the name reduced to what every file system takes.
pub fn result_path(directory: &Path, name: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
    directory.join(format!("{name}-{seconds}.prony.json"))
}
