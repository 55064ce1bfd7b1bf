//! `cargo xtask deb`: a Debian package of the program with its manual pages, completions and units, by cargo-deb. What the package has is
//! listed in `prony/Cargo.toml`.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    release::{PACKAGE, output, target_directory},
    stages::run_command,
};

/// Made by the program, where `prony/Cargo.toml` names them: in the root's `target`, wherever else cargo builds.
const MANUAL_PAGES: &str = "target/man";
const COMPLETIONS: &str = "target/prony.bash";

/// True when all went well.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let has_packer = Command::new("cargo").args(["deb", "--version"]).output();
    if !has_packer.is_ok_and(|said| said.status.success()) {
        bail!("cargo-deb makes the package and is not here; run: cargo install cargo-deb --locked");
    }
    if !run_command(root, &["cargo", "build", "--release", "--locked", "--package", PACKAGE])?.succeeded {
        return Ok(false);
    }
    let program = target_directory(root).join("release").join(PACKAGE);
    add_generated(root, &program.to_string_lossy())?;
    Ok(run_command(root, &["cargo", "deb", "--package", PACKAGE, "--no-build"])?.succeeded)
}

/// What the program writes of itself.
fn add_generated(root: &Path, program: &str) -> Result<()> {
    // A page of a command that is gone must not stay.
    let _ = fs::remove_dir_all(root.join(MANUAL_PAGES));
    output(root, &[program, "man", MANUAL_PAGES])?;
    let completions = output(root, &[program, "completions", "bash"])?;
    fs::write(root.join(COMPLETIONS), completions).with_context(|| format!("cannot write {COMPLETIONS}"))
}

#[cfg(test)]
mod tests {
    use std::{env, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn what_a_package_has_of_the_program_is_made_where_its_list_looks() {
        let root = env::temp_dir().join(format!("prony-deb-{}", std::process::id()));
        fs::create_dir_all(root.join(MANUAL_PAGES)).unwrap();
        fs::write(root.join(MANUAL_PAGES).join("prony-gone.1"), "").unwrap();
        let program = root.join("program");
        let script =
            "#!/bin/sh\ncase $1 in man) mkdir -p $2; touch $2/prony.1;; completions) echo of $2;; esac\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        add_generated(&root, &program.to_string_lossy()).unwrap();
        let pages = fs::read_dir(root.join(MANUAL_PAGES)).unwrap().map(|page| page.unwrap().file_name());
        assert_eq!(pages.collect::<Vec<_>>(), ["prony.1"]);
        assert_eq!(fs::read_to_string(root.join(COMPLETIONS)).unwrap(), "of bash\n");
        fs::remove_dir_all(&root).unwrap();
        let list = fs::read_to_string(crate::root().join("prony/Cargo.toml")).unwrap();
        for made in [format!("../{MANUAL_PAGES}/*.1"), format!("../{COMPLETIONS}")] {
            assert!(list.contains(&format!("[\"{made}\", ")), "prony/Cargo.toml does not name {made}");
        }
    }
}
