//! `cargo xtask release`: an archive of the binary with what belongs to it, its bill of materials, and checksums of both, in `target/dist`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    sbom::{Materials, bill},
    stages::run_command,
};

pub(crate) const PACKAGE: &str = "prony";
/// What lies beside the binary.
const BESIDE: [&str; 6] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "docs", "deploy"];
const SUMS: &str = "SHA256SUMS";

/// Packs `binary`, or what it builds where none is given. True when all went well.
pub(crate) fn run(root: &Path, binary: Option<&str>) -> Result<bool> {
    let binary = if let Some(given) = binary {
        std::path::absolute(given).context("the current directory is gone")?
    } else {
        if !run_command(root, &["cargo", "build", "--release", "--locked", "--package", PACKAGE])?.succeeded {
            return Ok(false);
        }
        target_directory(root).join("release").join(PACKAGE)
    };
    let version = output(root, &[&binary.to_string_lossy(), "--version"])?;
    let said = version.trim().strip_prefix("prony ").and_then(|version| version.split(' ').next());
    let Some(version) = said else {
        bail!("{} says of itself `{}`, and is no prony", binary.display(), version.trim());
    };
    let platform = platform(&output(root, &["rustc", "-vV"])?)?;
    let name = format!("{PACKAGE}-{version}-{platform}");
    let dist = target_directory(root).join("dist");
    let _ = fs::remove_dir_all(&dist);
    let folder = dist.join(&name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(&binary, folder.join(PACKAGE)).with_context(|| format!("cannot copy {}", binary.display()))?;
    let bill_name = format!("{name}.cdx.json");
    fs::write(dist.join(&bill_name), bill_of(root, &platform)?)
        .with_context(|| format!("cannot write {bill_name}"))?;
    let archive = format!("{name}.tar.gz");
    let folder = folder.to_string_lossy();
    let copied = run_command(root, &[&["cp", "-r"], &BESIDE[..], &[&*folder]].concat())?.succeeded;
    let packed = copied && run_command(&dist, &pack(&archive, &name, &commit_time(root)?))?.succeeded;
    fs::remove_dir_all(&*folder).with_context(|| format!("cannot remove {folder}"))?;
    if !packed {
        return Ok(false);
    }
    let sums = output(&dist, &["sha256sum", &archive, &bill_name])?;
    fs::write(dist.join(SUMS), &sums).with_context(|| format!("cannot write {SUMS}"))?;
    print!("{sums}");
    println!("in {}", dist.display());
    Ok(true)
}

/// The same files make the same archive: in the order of their names, of nobody, with the same rights, at the time of the commit.
fn pack<'a>(archive: &'a str, name: &'a str, time: &'a str) -> [&'a str; 11] {
    [
        "tar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u+rwX,go+rX,go-w",
        time,
        "--use-compress-program=gzip -9n",
        "-cf",
        archive,
        name,
    ]
}

fn commit_time(root: &Path) -> Result<String> {
    let seconds = output(root, &["git", "log", "-1", "--format=%ct"])?;
    Ok(format!("--mtime=@{}", seconds.trim()))
}

fn bill_of(root: &Path, platform: &str) -> Result<String> {
    let metadata = output(
        root,
        &["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", platform],
    )?;
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let (lock, npm_locks) =
        (read("Cargo.lock")?, [read("web/package-lock.json")?, read("site/package-lock.json")?]);
    bill(Materials { metadata: &metadata, lock: &lock, npm_locks: &npm_locks }, PACKAGE)
}

/// The line `host: x86_64-unknown-linux-gnu` of `rustc -vV`.
fn platform(said: &str) -> Result<String> {
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say for which platform it builds")?.to_owned())
}

pub(crate) fn target_directory(root: &Path) -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root.join(given.unwrap_or_else(|| PathBuf::from("target")))
}

pub(crate) fn output(directory: &Path, words: &[&str]) -> Result<String> {
    let ran = Command::new(words[0]).args(&words[1..]).current_dir(directory).output();
    let ran = ran.with_context(|| format!("cannot run {}", words[0]))?;
    if !ran.status.success() {
        bail!("`{}` failed: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr).trim());
    }
    String::from_utf8(ran.stdout).with_context(|| format!("{} writes no text", words[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_is_the_compilers_host() {
        let said = "rustc 1.90.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.90.0\n";
        assert_eq!(platform(said).unwrap(), "x86_64-unknown-linux-gnu");
        assert!(platform("rustc").is_err());
    }

    #[test]
    fn what_is_no_prony_is_not_packed() {
        let said = run(Path::new("."), Some("/bin/true")).unwrap_err().to_string();
        assert!(said.ends_with("and is no prony"), "{said}");
    }
}
