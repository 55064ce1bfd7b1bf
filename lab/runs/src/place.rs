//! Where result files stand.

use prony_load::part_file;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, iter};

/// Of the name in a file's name. File systems take 255 bytes, and the time, the ending and that of a file that is being written
/// stand behind it.
const NAME_BYTES_MAX: usize = 200;

/// `DIR/NAME-UNIXSECONDS.prony.json`, the name reduced to what every file system takes; with a number behind where that file is there,
/// of a run that began in the same second.
pub fn result_path(directory: &Path, name: &str) -> PathBuf {
    paths(directory, name, now_s()).find(|path| !path.exists()).unwrap_or_default()
}

/// As [`result_path`], and no other run takes it: until a result stands there, the file beside it that results are written to holds
/// the name.
#[derive(Debug)]
pub struct ReservedPath {
    path: PathBuf,
    /// False where nothing can be written; whoever writes the result says so.
    is_held: bool,
    /// Its folder was made for it.
    is_folder_new: bool,
}

impl ReservedPath {
    /// Nothing is left of it where no result is written until it is dropped.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self::at(directory, name, now_s())
    }

    fn at(directory: &Path, name: &str, seconds: u64) -> Self {
        let is_folder_new = !directory.exists();
        // Where it cannot be made, none of what follows can.
        let _ = fs::create_dir_all(directory);
        for path in paths(directory, name, seconds) {
            if path.exists() {
                continue;
            }
            match File::create_new(part_file(&path)) {
                // Another run has the name.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                // Another run had it, and its result has come to its place since this one looked.
                Ok(_) if path.exists() => {
                    let _ = fs::remove_file(part_file(&path));
                }
                held => return Self { path, is_held: held.is_ok(), is_folder_new },
            }
        }
        Self { path: PathBuf::new(), is_held: false, is_folder_new }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ReservedPath {
    /// Best effort: nothing depends on it.
    fn drop(&mut self) {
        let beside = part_file(&self.path);
        if self.is_held && fs::metadata(&beside).is_ok_and(|file| file.len() == 0) {
            let _ = fs::remove_file(beside);
        }
        if let Some(folder) = self.path.parent().filter(|_| self.is_folder_new) {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The first is the name without a number.
fn paths(directory: &Path, name: &str, seconds: u64) -> impl Iterator<Item = PathBuf> {
    let is_safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let mut stem = String::new();
    for c in name.chars().map(|c| if is_safe(c) { c } else { '-' }) {
        if stem.len() + c.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        stem.push(c);
    }
    let stem = format!("{stem}-{seconds}");
    let first = stem.clone();
    let further = (2_u64..).map(move |number| format!("{stem}-{number}"));
    iter::once(first).chain(further).map(|stem| directory.join(format!("{stem}.prony.json")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::replace_file;

    #[test]
    fn runs_that_begin_in_the_same_second_have_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        for expected in ["shop-ü-7.prony.json", "shop-ü-7-2.prony.json", "shop-ü-7-3.prony.json"] {
            let reserved = ReservedPath::at(folder.path(), "shop/ü", 7);
            assert_eq!(reserved.path(), folder.path().join(expected));
            replace_file(reserved.path(), &expected).unwrap();
        }
        let later = ReservedPath::at(folder.path(), "shop/ü", 8);
        assert_eq!(later.path(), folder.path().join("shop-ü-8.prony.json"));
    }

    /// A file stands there only after some seconds.
    #[test]
    fn runs_that_go_on_at_the_same_time_have_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        let [one, other, third] = [(); 3].map(|()| ReservedPath::at(&results, "shop", 7));
        assert_eq!(one.path(), results.join("shop-7.prony.json"));
        assert_eq!(other.path(), results.join("shop-7-2.prony.json"));
        assert_eq!(third.path(), results.join("shop-7-3.prony.json"));
        replace_file(other.path(), &"a result").unwrap();
        drop((one, other, third));
        let left: Vec<_> = fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["shop-7-2.prony.json"]);
        fs::remove_dir_all(&results).unwrap();
        drop(ReservedPath::at(&results, "shop", 7));
        assert!(!results.exists(), "of a run without a result nothing is left");
    }

    #[test]
    fn a_name_that_is_too_long_for_a_file_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = result_path(folder.path(), &"größe ".repeat(60));
        replace_file(&path, &"a result").unwrap();
        assert!(path.exists());
    }
}
