//! Finding PostgreSQL's server binaries: `PRONY_PG_BIN`, Debian's versioned directories, `PATH`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::PostgresError;

/// The environment variable that names the directory of `postgres` and `initdb`.
const BINARIES_VARIABLE: &str = "PRONY_PG_BIN";
const DEBIAN_ROOT: &str = "/usr/lib/postgresql";

/// The directory that holds `initdb` and `postgres`, the newest version where there are several.
pub(super) fn find() -> Result<PathBuf, PostgresError> {
    if let Some(given) = env::var_os(BINARIES_VARIABLE) {
        let given = PathBuf::from(given);
        return complete(&given)
            .then(|| given.clone())
            .ok_or_else(|| missing(&format!("{} ({BINARIES_VARIABLE})", given.display())));
    }
    newest(Path::new(DEBIAN_ROOT))
        .or_else(|| env::split_paths(&env::var_os("PATH")?).find(|directory| complete(directory)))
        .ok_or_else(|| missing(&format!("{DEBIAN_ROOT}/*/bin or PATH")))
}

fn missing(searched: &str) -> PostgresError {
    PostgresError::BinariesMissing { searched: searched.to_owned() }
}

fn newest(root: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(root).ok()?;
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let directory = entry.path().join("bin");
            complete(&directory).then_some((version, directory))
        })
        .max_by_key(|(version, _)| *version)
        .map(|(_, directory)| directory)
}

fn complete(directory: &Path) -> bool {
    directory.join("initdb").is_file() && directory.join("postgres").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let root = tempfile::tempdir().unwrap();
        for (version, programs) in [("9", 2), ("15", 2), ("16", 1), ("old", 2)] {
            let directory = root.path().join(version).join("bin");
            fs::create_dir_all(&directory).unwrap();
            for program in ["initdb", "postgres"].iter().take(programs) {
                fs::write(directory.join(program), "").unwrap();
            }
        }
        assert_eq!(newest(root.path()), Some(root.path().join("15/bin")));
        assert_eq!(newest(&root.path().join("nothing")), None);
    }

    #[test]
    fn the_error_says_how_to_get_them() {
        let text = missing("/nowhere").to_string();
        assert!(text.contains("apt-get install postgresql") && text.contains("cargo xtask test"), "{text}");
    }
}
