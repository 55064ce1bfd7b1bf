//! The folder of what is built: whether it is new, and whether there is room for it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// How it is built where it is built once. What increments save for later, and lines of frames, are only time and disk lost; the program has
/// its documentation from the first, so that it is not built again for the pages.
pub(crate) const BUILT_ONCE: [(&str, &str); 3] =
    [("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "none"), ("PRONY_DOCS", "on")];
/// What all stages take, from nothing.
const BUILD_GIB: f64 = 13.0;

/// Whether nothing but this program has been built by increments: in a fresh clone, and in continuous integration.
pub(crate) fn is_built_once() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        env::var_os("CI").is_some() || has_none_but("xtask", &folder().join("debug/incremental"))
    })
}

/// Says so where the stages may fail for want of room.
pub(crate) fn warn_of_little_room(root: &Path) {
    let Some(free) = free_gib(root) else { return };
    if is_built_once() && free < BUILD_GIB {
        println!(
            "warning: {free:.1} GiB are free; a build from nothing and all tests take about {BUILD_GIB} GiB"
        );
    }
}

fn folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

fn has_none_but(prefix: &str, folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().all(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
}

fn free_gib(path: &Path) -> Option<f64> {
    let output = Command::new("df").arg("-Pk").arg(path).output().ok()?;
    free_of(&String::from_utf8_lossy(&output.stdout))
}

/// The fourth column of the second line (POSIX.1-2017, df).
fn free_of(text: &str) -> Option<f64> {
    let kib: f64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_new_until_others_build_in_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(has_none_but("xtask", &folder.path().join("not-there")));
        fs::create_dir(folder.path().join("xtask-1ab")).unwrap();
        assert!(has_none_but("xtask", folder.path()));
        fs::create_dir(folder.path().join("prony-2cd")).unwrap();
        assert!(!has_none_but("xtask", folder.path()));
    }

    #[test]
    fn free_room_is_what_df_says() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 263174212 92274688 4928307 95% /\n";
        assert_eq!(free_of(text).map(|free| (free * 10.0).round()), Some(47.0));
        assert_eq!(free_of("nonsense"), None);
    }
}
