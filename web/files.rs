//! What the build scripts of the crates that embed whole folders share: their files, and what each is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A path as a string literal of Rust.
pub(crate) fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// All files of a folder and those below it, in order; compressed forms stand beside what they are of.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    add(folder, &mut files)?;
    files.sort();
    Ok(files)
}

fn add(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add(&path, files)?;
        } else if !path.extension().is_some_and(|suffix| suffix == "gz" || suffix == "br") {
            files.push(path);
        }
    }
    Ok(())
}

pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "json" => "application/json; charset=utf-8",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
