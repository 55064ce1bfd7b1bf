//! Finds the programs of database servers: in PATH, and where distributions put those that are not in it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// They have a directory for each version of PostgreSQL: Debian's, Red Hat's.
const VERSION_ROOTS: [&str; 2] = ["/usr/lib/postgresql", "/usr"];

/// Where it is searched beside PATH, for people.
pub(super) const BESIDE_PATH: &str = "/usr/lib/postgresql/*/bin or /usr/pgsql-*/bin";

/// The directory that has all of these programs, of the newest version where there are several.
pub(super) fn find(programs: &[&str]) -> Option<PathBuf> {
    let of_path = env::var_os("PATH").unwrap_or_default();
    find_in(programs, env::split_paths(&of_path), &VERSION_ROOTS.map(Path::new))
}

fn find_in(
    programs: &[&str],
    directories: impl IntoIterator<Item = PathBuf>,
    roots: &[&Path],
) -> Option<PathBuf> {
    let has_all = |directory: &PathBuf| programs.iter().all(|program| directory.join(program).is_file());
    directories.into_iter().find(has_all).or_else(|| {
        let versions = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
        let newest = versions.filter_map(|entry| {
            let name = entry.file_name();
            // `15` of Debian, `pgsql-15` of Red Hat.
            let version: u32 = name.to_str()?.trim_start_matches("pgsql-").parse().ok()?;
            let directory = entry.path().join("bin");
            has_all(&directory).then_some((version, directory))
        });
        newest.max_by_key(|(version, _)| *version).map(|(_, directory)| directory)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_comes_first_and_then_the_newest_version_that_has_all() {
        let root = tempfile::tempdir().unwrap();
        let made = |directory: &str, programs: &[&str]| {
            let directory = root.path().join(directory);
            fs::create_dir_all(&directory).unwrap();
            for program in programs {
                fs::write(directory.join(program), "").unwrap();
            }
            directory
        };
        let both = ["initdb", "postgres"];
        made("9/bin", &both);
        let newest = made("pgsql-15/bin", &both);
        made("16/bin", &both[..1]);
        made("old/bin", &both);
        let in_path = made("path", &both);
        let none: [PathBuf; 0] = [];
        assert_eq!(find_in(&both, none.clone(), &[root.path()]), Some(newest));
        assert_eq!(find_in(&both, [in_path.clone()], &[root.path()]), Some(in_path));
        assert_eq!(find_in(&["mongod"], none, &[root.path(), Path::new("/nowhere")]), None);
    }
}
