//! `prony run FOLDER`: one run is of one file, so the files that are in it are named. The same for an archive, as k6 makes it of a script.

use std::{ffi::OsString, fs, path::Path};

use prony_runs::{Flags, Kind};

/// So many are named.
const NAMED: usize = 5;
/// Behind these a folder or an archive is what is to be run, and not their value.
const SWITCHES: [&str; 4] = ["--check", "--explain", "--quiet", "-q"];

/// Why a command line runs nothing, where it is that of a run and names a folder or an archive in the place of a file.
pub(crate) fn refusal(line: &[OsString]) -> Option<String> {
    let (command, rest) = line.get(1..)?.split_first()?;
    if command != "run" {
        return None;
    }
    let is_before_target = |at: usize| at == 0 || SWITCHES.iter().any(|switch| rest[at - 1] == *switch);
    let mut targets = (0..rest.len()).filter(|at| is_before_target(*at)).map(|at| Path::new(&rest[at]));
    targets.find_map(|path| {
        if path.is_dir() {
            return Some(described(path));
        }
        let shown = path.display();
        has_extension(path, "tar").then(|| {
            format!(
                "{shown} is an archive, and scripts are run: unpack it, tar xf {shown}, and run the script that lies below `file`"
            )
        })
    })
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

fn is_plan(name: &str) -> bool {
    has_extension(Path::new(name), "toml")
}

fn described(folder: &Path) -> String {
    let shown = folder.display();
    let mut files: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_plan(name) || matches!(Kind::of(name).flags, Flags::K6 | Flags::Jmeter))
        .collect();
    files.sort();
    let Some(first) = files.first() else {
        return format!(
            "{shown} is a folder, and has neither a plan (.toml, .jmx) nor a script (.js, .ts): name a file to run"
        );
    };
    let first = folder.join(first);
    let rest = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    files.truncate(NAMED);
    format!(
        "{shown} is a folder, and a run is of one file: prony run {}. It has {}{rest}",
        first.display(),
        files.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str], expected: Option<&str>) {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        assert_eq!(refusal(&line).as_deref(), expected, "{line:?}");
    }

    #[test]
    fn an_archive_of_k6_is_to_be_unpacked() {
        let said = "a.tar is an archive, and scripts are run: unpack it, tar xf a.tar, and run the script that lies below `file`";
        check(&["prony", "run", "a.tar", "-u", "5"], Some(said));
        check(&["prony", "run", "--check", "a.tar"], Some(said));
        check(&["prony", "run", "--output", "a.tar", "plan.toml"], None);
    }

    #[test]
    fn what_can_be_run_in_a_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let empty = format!(
            "{path} is a folder, and has neither a plan (.toml, .jmx) nor a script (.js, .ts): name a file to run"
        );
        check(&["prony", "run", path], Some(&empty));
        for name in ["b.js", "a.ts", "notes.md", "shop.jmx", "plan.toml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let some = format!(
            "{path} is a folder, and a run is of one file: prony run {path}/a.ts. It has a.ts, b.js, plan.toml, shop.jmx"
        );
        check(&["prony", "run", path], Some(&some));
        check(&["prony", "run", "--check", path, "-d", "5s"], Some(&some));
        for name in ["c.js", "d.js", "e.js"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let many = format!(
            "{path} is a folder, and a run is of one file: prony run {path}/a.ts. It has a.ts, b.js, c.js, d.js, e.js and 2 more"
        );
        check(&["prony", "run", path], Some(&many));
        // Where it is a flag's value, or something else's.
        check(&["prony", "run", "--output", path, "plan.toml"], None);
        check(&["prony", "report", path], None);
        check(&["prony", "run"], None);
    }
}
