//! The stage `deploy`: alerts and unit of `deploy/`, held against the programs that read them. The metrics that they name are held
//! against a server's by a test of the binary, `prony/tests/deploy.rs`.

use std::{env, fs, path::Path};

use anyhow::{Context, Result};

use crate::{counts::Counts, stages::run_command};

const UNIT: &str = "deploy/systemd/prony.service";
/// A program that is on every machine: those that a unit starts have to be there when it is checked.
const STAND_IN: &str = "/bin/true";
/// What `systemd-analyze security` may give at most, in tenths.
const EXPOSURE: &str = "--threshold=20";

/// Every check to its end; true when all passed.
pub(crate) fn check(root: &Path) -> Result<(bool, Counts)> {
    // The name of a unit is that of its file.
    let directory = env::temp_dir().join(format!("prony-deploy-{}", std::process::id()));
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let unit = directory.join("prony.service");
    let outcome = copy_unit(root, &unit).and_then(|()| check_all(root, &unit.to_string_lossy()));
    let _ = fs::remove_dir_all(&directory);
    outcome
}

fn copy_unit(root: &Path, to: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join(UNIT)).with_context(|| format!("cannot read {UNIT}"))?;
    fs::write(to, with_stand_ins(&text)).with_context(|| format!("cannot write {}", to.display()))
}

/// The unit with another program in each `ExecStart=` and the like, and the same arguments.
fn with_stand_ins(unit: &str) -> String {
    let mut copy = String::new();
    for line in unit.lines() {
        let parts = line.split_once("=/").filter(|(key, _)| key.starts_with("Exec"));
        let replaced = parts.and_then(|(key, command)| {
            let (_, arguments) = command.split_once(' ')?;
            Some(format!("{key}={STAND_IN} {arguments}"))
        });
        copy.push_str(replaced.as_deref().unwrap_or(line));
        copy.push('\n');
    }
    copy
}

fn check_all(root: &Path, unit: &str) -> Result<(bool, Counts)> {
    let commands: [&[&str]; 5] = [
        &["promtool", "check", "rules", "deploy/prometheus/alerts.yml"],
        &["promtool", "test", "rules", "deploy/prometheus/alerts.test.yml"],
        &["promtool", "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml"],
        &["systemd-analyze", "verify", "--man=no", unit],
        &["systemd-analyze", "security", "--offline=yes", EXPOSURE, unit],
    ];
    let mut counts = Counts::default();
    for command in commands {
        let (succeeded, _) = run_command(root, command)?;
        counts += Counts { passed: u64::from(succeeded), failed: u64::from(!succeeded), skipped: 0 };
    }
    Ok((counts.failed == 0, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_unit_are_stood_in_for() {
        let unit = "[Service]\nType=notify\nExecStart=/opt/prony serve --config a\nWorkingDirectory=/var/lib/prony\n";
        let copy = unit.replace("/opt/prony", STAND_IN);
        assert_eq!(with_stand_ins(unit), copy);
    }
}
