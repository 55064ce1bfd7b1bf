//! Programs that tests need beside Rust: found, or installed from Debian's packages where we may.

use std::{
    env, fs,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A program and what brings it.
struct Prerequisite {
    /// What it is needed for, as the user is told.
    purpose: &'static str,
    package: &'static str,
    present: fn() -> bool,
}

const PREREQUISITES: &[Prerequisite] = &[
    Prerequisite {
        purpose: "a C compiler, for the bundled SQLite",
        package: "build-essential",
        present: || on_path("cc"),
    },
    Prerequisite {
        purpose: "a temporary PostgreSQL for tests",
        package: "postgresql",
        present: postgres_present,
    },
    Prerequisite {
        purpose: "a pooler in front of PostgreSQL for tests",
        package: "pgbouncer",
        present: || on_path("pgbouncer") || fs::exists("/usr/sbin/pgbouncer").unwrap_or(false),
    },
    Prerequisite {
        purpose: "a temporary Redis for tests",
        package: "redis-server",
        present: || on_path("redis-server"),
    },
    Prerequisite {
        purpose: "Java, for a temporary QuestDB for tests",
        package: "default-jre-headless",
        present: || on_path("java"),
    },
    Prerequisite {
        purpose: "Maven, which fetches QuestDB for tests",
        package: "maven",
        present: || on_path("mvn"),
    },
    Prerequisite {
        purpose: "Go, which builds the NATS server of tests",
        package: "golang-go",
        present: || on_path("go"),
    },
    Prerequisite { purpose: "curl, which the documents type", package: "curl", present: || on_path("curl") },
    Prerequisite {
        purpose: "SQLite's shell, which the documents type",
        package: "sqlite3",
        present: || on_path("sqlite3"),
    },
    Prerequisite {
        purpose: "OpenSSL's commands, which the documents type",
        package: "openssl",
        present: || on_path("openssl"),
    },
    Prerequisite {
        purpose: "network namespaces, machines of tests of load tests on several",
        package: "iproute2",
        present: || on_path("ip") || fs::exists("/usr/sbin/ip").unwrap_or(false),
    },
    Prerequisite { purpose: "Node.js, for the web pages", package: "nodejs", present: || on_path("node") },
    Prerequisite { purpose: "npm, for the web pages", package: "npm", present: || on_path("npm") },
    Prerequisite {
        purpose: "a browser, for tests of the pages",
        package: "chromium",
        present: || ["chromium", "chromium-browser", "google-chrome"].iter().any(|name| on_path(name)),
    },
    Prerequisite {
        purpose: "wrk, to cross-check the load generator",
        package: "wrk",
        present: || on_path("wrk"),
    },
    Prerequisite {
        purpose: "promtool, for the alerts in deploy/",
        package: "prometheus",
        present: || on_path("promtool"),
    },
    Prerequisite {
        purpose: "systemd-analyze, for the unit in deploy/",
        package: "systemd",
        present: || on_path("systemd-analyze"),
    },
];

/// Installs what is missing. An error says the exact command when we may not.
pub(crate) fn provide() -> Result<()> {
    let missing: Vec<&Prerequisite> = PREREQUISITES.iter().filter(|needed| !(needed.present)()).collect();
    if missing.is_empty() {
        println!("all programs that the tests need are here");
        return Ok(());
    }
    for needed in &missing {
        println!("missing: {} (package {})", needed.purpose, needed.package);
    }
    let packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    let Some(prefix) = privilege() else {
        bail!(
            "{} missing and not allowed to install; run:\n  sudo apt-get update && sudo apt-get install -y {}",
            packages.join(", "),
            packages.join(" ")
        );
    };
    if !on_path("apt-get") {
        bail!("{} missing, and there is no apt-get to bring them; install them by hand", packages.join(", "));
    }
    apt(prefix, &["update", "-q"])?;
    let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
    arguments.extend(&packages);
    apt(prefix, &arguments)?;
    match missing.iter().find(|needed| !(needed.present)()) {
        Some(needed) => {
            bail!("package {} is installed, yet this is still missing: {}", needed.package, needed.purpose)
        }
        None => Ok(()),
    }
}

/// The words before `apt-get`: none for root, `sudo -n` where that asks no password, `None` otherwise.
fn privilege() -> Option<&'static [&'static str]> {
    let identity = Command::new("id").arg("-u").output().ok()?;
    if identity.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    let sudo = Command::new("sudo")
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    sudo.success().then_some(&["sudo", "-n"])
}

fn apt(prefix: &[&str], arguments: &[&str]) -> Result<()> {
    let mut words: Vec<&str> = prefix.to_vec();
    // Through env(1), because sudo may drop the caller's environment.
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    words.extend(arguments);
    println!("$ {}", words.join(" "));
    let status = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", words[0]))?;
    if !status.success() {
        bail!("`{}` failed with {status}", words.join(" "));
    }
    Ok(())
}

/// Where `testkit` looks: `PRONY_PG_BIN`, Debian's directories, `PATH`.
fn postgres_present() -> bool {
    if env::var_os("PRONY_PG_BIN").is_some() {
        return true;
    }
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions = debian.map(|entry| entry.path().join("bin/initdb"));
    versions.any(|program| program.is_file()) || on_path("initdb")
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-anywhere"));
    }
}
