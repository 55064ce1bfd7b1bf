//! Which commit of git a folder is a checkout of, and which files change with it. The build script asks, and a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder as git knows it.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Its first 12 digits, or more where they are ambiguous.
    pub(crate) commit: String,
    /// Files of git, all of which are there: one of them changes where another commit is checked out or made.
    pub(crate) changes_with: Vec<PathBuf>,
}

/// None where `folder` is not the top of a checkout, such as a source that was unpacked somewhere in another project's.
pub(crate) fn of_checkout(folder: &Path) -> Option<Checkout> {
    let top = git(folder, &["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(folder).ok()? {
        return None;
    }
    let commit = git(folder, &["rev-parse", "--short=12", "HEAD"])?;
    let mut names = vec!["HEAD".to_owned(), "logs/HEAD".to_owned(), "packed-refs".to_owned()];
    // None where no branch is checked out.
    names.extend(git(folder, &["symbolic-ref", "--quiet", "HEAD"]));
    // In a worktree these are in several folders, which git knows.
    let path = |name: &String| Some(folder.join(git(folder, &["rev-parse", "--git-path", name])?));
    let changes_with = names.iter().filter_map(path).filter(|path| path.is_file()).collect();
    Some(Checkout { commit, changes_with })
}

/// What it prints, without the end of the line; none where it fails or is not installed.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim_end().to_owned())
}
