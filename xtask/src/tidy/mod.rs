//! The repository's own rules, checked as an ordinary test and by `cargo xtask tidy`: what prose states
//! about crates, files, calls and documents holds, or the line that breaks it is named.

mod calls;
mod circles;
mod dependencies;
mod documents;
mod edges;
mod names;
mod sizes;
mod text;

use std::{fmt, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

/// A file under version control (or about to be) that holds text.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// One broken rule: where, and what to do instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) path: String,
    /// From 1; 0 where the whole file is meant.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path)?;
        if self.line > 0 {
            write!(formatter, ":{}", self.line)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// All text files of the repository.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) files: Vec<SourceFile>,
    /// Paths of all files, texts or not.
    pub(crate) paths: Vec<String>,
}

impl Repository {
    /// Reads what git tracks or would add.
    fn read(root: &Path) -> Result<Self> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("cannot run git")?;
        if !output.status.success() {
            bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let listing = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
        let mut paths: Vec<String> = listing
            .split('\0')
            .filter(|path| !path.is_empty() && root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let texts = paths.iter().filter_map(|path| {
            // Files that are no text (images, databases) have no lines to check.
            let text = String::from_utf8(fs::read(root.join(path)).ok()?).ok()?;
            Some(SourceFile { path: path.clone(), text })
        });
        Ok(Self { files: texts.collect(), paths })
    }

    /// Rust files of crates and of xtask.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| has_extension(&file.path, "rs"))
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| has_extension(&file.path, "md"))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Of the files, and of the crates that are built in.
    fn violations(&self, root: &Path) -> Result<Vec<Violation>> {
        let mut all = edges::check(self)?;
        all.extend(dependencies::check(root)?);
        all.extend(sizes::check(self)?);
        all.extend(calls::check(self));
        all.extend(circles::check(self));
        all.extend(names::check(self));
        all.extend(text::check(self));
        all.extend(documents::check(self));
        all.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Ok(all)
    }
}

/// The crate that a path belongs to, and the rest of the path: `engine/server/src/lib.rs` is `server` and
/// `src/lib.rs`. None for what is in no crate of the product.
pub(crate) fn crate_of(path: &str) -> Option<(&str, &str)> {
    let (top, rest) = path.split_once('/')?;
    match top {
        "engine" | "lab" => rest.split_once('/'),
        "prony" | "site" | "testkit" => Some((top, rest)),
        _ => None,
    }
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Prints every violation. `Ok(true)` when there is none.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let violations = Repository::read(root)?.violations(root)?;
    for violation in &violations {
        println!("{violation}");
    }
    println!("tidy: {} violations", violations.len());
    Ok(violations.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository of these texts, for the checks' own tests.
    pub(super) fn repository(files: &[(&str, &str)]) -> Repository {
        let file = |(path, text): &(&str, &str)| SourceFile { path: (*path).into(), text: (*text).into() };
        let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        Repository { files: files.iter().map(file).collect(), paths }
    }

    pub(super) fn lines(violations: &[Violation]) -> String {
        violations.iter().map(|violation| violation.to_string() + "\n").collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let violations = Repository::read(&crate::root()).unwrap().violations(&crate::root()).unwrap();
        assert!(violations.is_empty(), "\n{}", lines(&violations));
    }
}
