//! What the build scripts of the crates that embed pages share: a copy of what they are made of, npm, and its outcome.

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs a script of `web/package.json` on a copy of `inputs` in the output folder, so that the source tree stays as it
/// is, and returns where what it made stands. `made` is below the copy.
pub(crate) fn build(inputs: &[&str], script: &str, made: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let web = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../web");
    println!("cargo::rerun-if-env-changed=PRONY_WEB");
    for input in inputs.iter().chain(&["embed.rs"]) {
        println!("cargo::rerun-if-changed={}", web.join(input).display());
    }
    if env::var("PRONY_WEB").is_ok_and(|value| value == "off") {
        return Err("PRONY_WEB=off".into());
    }
    let copy = PathBuf::from(env::var("OUT_DIR")?).join("web");
    for input in inputs {
        copy_all(&web.join(input), &copy.join(input))?;
    }
    let lock = fs::read(copy.join("package-lock.json"))?;
    let installed = copy.join("installed-lock.json");
    if fs::read(&installed).ok().as_deref() != Some(lock.as_slice()) {
        npm(&copy, &["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"])?;
        fs::write(installed, lock)?;
    }
    npm(&copy, &["run", script])?;
    let made = copy.join(made);
    if made.is_file() { Ok(made) } else { Err(format!("npm built no {}", made.display()).into()) }
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
