//! The stage `deploy`: alerts and units of `deploy/`, held against the programs that read them. The metrics that they name are held
//! against a server's by a test of the binary, `prony/tests/deploy.rs`.

use std::{env, fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    counts::Counts,
    stages::{Ran, run_command},
};

const UNITS: [&str; 2] = ["deploy/systemd/prony.service", "deploy/systemd/prony-worker.service"];
/// A program that is on every machine: those that a unit starts have to be there when it is checked.
const STAND_IN: &str = "/bin/true";
/// What `systemd-analyze security` may give at most, in tenths.
const EXPOSURE: &str = "--threshold=20";

/// Every check to its end; true when all passed.
pub(crate) fn check(root: &Path) -> Result<Ran> {
    // The name of a unit is that of its file.
    let directory = env::temp_dir().join(format!("prony-deploy-{}", std::process::id()));
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let outcome = copy_units(root, &directory).and_then(|units| check_all(root, &units));
    let _ = fs::remove_dir_all(&directory);
    outcome
}

fn copy_units(root: &Path, directory: &Path) -> Result<Vec<String>> {
    let copy = |unit: &str| {
        let text = fs::read_to_string(root.join(unit)).with_context(|| format!("cannot read {unit}"))?;
        let to = directory.join(Path::new(unit).file_name().unwrap_or_default());
        fs::write(&to, with_stand_ins(&text)).with_context(|| format!("cannot write {}", to.display()))?;
        Ok(to.to_string_lossy().into_owned())
    };
    UNITS.into_iter().map(copy).collect()
}

/// The unit with another program in each `ExecStart=` and the like, and the same arguments.
fn with_stand_ins(unit: &str) -> String {
    let mut copy = String::new();
    for line in unit.lines() {
        let parts = line.split_once('=').filter(|(key, _)| key.starts_with("Exec"));
        let replaced = parts.and_then(|(key, command)| {
            let (_, arguments) = command.split_once(' ')?;
            Some(format!("{key}={STAND_IN} {arguments}"))
        });
        copy.push_str(replaced.as_deref().unwrap_or(line));
        copy.push('\n');
    }
    copy
}

fn check_all(root: &Path, units: &[String]) -> Result<Ran> {
    let mut commands = vec![
        vec!["promtool", "check", "rules", "deploy/prometheus/alerts.yml"],
        vec!["promtool", "test", "rules", "deploy/prometheus/alerts.test.yml"],
        vec!["promtool", "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml"],
    ];
    for unit in units {
        commands.push(vec!["systemd-analyze", "verify", "--man=no", unit]);
        commands.push(vec!["systemd-analyze", "security", "--offline=yes", EXPOSURE, unit]);
    }
    let mut counts = Counts::default();
    for command in commands {
        let succeeded = run_command(root, &command)?.succeeded;
        counts += Counts { passed: u64::from(succeeded), failed: u64::from(!succeeded), skipped: 0 };
    }
    Ok(Ran { succeeded: counts.failed == 0, counts, ..Ran::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_unit_are_stood_in_for() {
        let unit = "[Service]\nType=notify\nExecStart=/opt/prony serve --config a\nExecReload=prony b\nWorkingDirectory=/var/lib/prony\n";
        let copy = unit.replace("/opt/prony", STAND_IN).replace("prony b", &format!("{STAND_IN} b"));
        assert_eq!(with_stand_ins(unit), copy);
    }
}
