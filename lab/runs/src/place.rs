//! Where result files stand.

use std::iter;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Of the name in a file's name. File systems take 255 bytes, and the time, the ending and that of a file that is being written
/// stand behind it.
const NAME_BYTES_MAX: usize = 200;

/// `DIR/NAME-UNIXSECONDS.prony.json`, the name reduced to what every file system takes; with a number behind where that file is there,
/// of a run that began in the same second.
pub fn result_path(directory: &Path, name: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    free_path(directory, name, seconds)
}

fn free_path(directory: &Path, name: &str, seconds: u64) -> PathBuf {
    let is_safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let mut stem = String::new();
    for c in name.chars().map(|c| if is_safe(c) { c } else { '-' }) {
        if stem.len() + c.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        stem.push(c);
    }
    let stem = format!("{stem}-{seconds}");
    let further = (2_u64..).map(|number| format!("{stem}-{number}"));
    let mut paths =
        iter::once(stem.clone()).chain(further).map(|stem| directory.join(format!("{stem}.prony.json")));
    paths.find(|path| !path.exists()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::replace_file;

    #[test]
    fn runs_that_begin_in_the_same_second_have_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        for expected in ["shop-ü-7.prony.json", "shop-ü-7-2.prony.json", "shop-ü-7-3.prony.json"] {
            let path = free_path(folder.path(), "shop/ü", 7);
            assert_eq!(path, folder.path().join(expected));
            replace_file(&path, &expected).unwrap();
        }
        assert_eq!(free_path(folder.path(), "shop/ü", 8), folder.path().join("shop-ü-8.prony.json"));
    }

    #[test]
    fn a_name_that_is_too_long_for_a_file_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = result_path(folder.path(), &"größe ".repeat(60));
        replace_file(&path, &"a result").unwrap();
        assert!(path.exists());
    }
}
