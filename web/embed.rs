//! What the build scripts of the crates that embed pages share: a copy of what they are made of, npm, and its outcome.

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What pages are made of.
pub(crate) struct Sources<'a> {
    /// From the folder of the crate that embeds them.
    pub(crate) root: &'a str,
    /// Below it; cargo watches them.
    pub(crate) inputs: &'a [&'a str],
    /// Below it, too: the folder with `package.json`, or nothing.
    pub(crate) package: &'a str,
}

/// Runs a script of the package on a copy of the inputs in the output folder, so that the source tree stays as it is, and
/// returns where what it made stands. `made` is below the package's copy.
pub(crate) fn build(sources: &Sources<'_>, script: &str, made: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(sources.root);
    println!("cargo::rerun-if-env-changed=PRONY_WEB");
    for input in sources.inputs {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    if env::var("PRONY_WEB").is_ok_and(|value| value == "off") {
        return Err("PRONY_WEB=off".into());
    }
    let copy = PathBuf::from(env::var("OUT_DIR")?).join("web");
    for input in sources.inputs {
        copy_all(&root.join(input), &copy.join(input))?;
    }
    let package = copy.join(sources.package);
    let lock = fs::read(package.join("package-lock.json"))?;
    let installed = package.join("installed-lock.json");
    if fs::read(&installed).ok().as_deref() != Some(lock.as_slice()) {
        npm(&package, &["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"])?;
        fs::write(installed, lock)?;
    }
    npm(&package, &["run", script])?;
    let made = package.join(made);
    if made.exists() { Ok(made) } else { Err(format!("npm built no {}", made.display()).into()) }
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new("npm").args(arguments).current_dir(folder).output().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            "npm is not installed".to_owned()
        } else {
            error.to_string()
        }
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("rror")).unwrap_or("it does not say why");
    Err(format!("`npm {}` failed: {first}", arguments.join(" ")).into())
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        return fs::copy(from, to).map(drop);
    }
    // What was removed in the source must not stay in the copy.
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
