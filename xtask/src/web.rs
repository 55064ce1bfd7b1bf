//! The checks of the pages: types, then audits and a browser against a server of the sample database.

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{counts::Counts, stages::run_command};

const READY: &str = "listening on http://";
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
const SAMPLE: &str = "sqlite:crates/testkit/data/chinook/chinook.sqlite";

/// Needs the `prony` program of the build stage.
pub(crate) fn check(root: &Path) -> Result<(bool, Counts)> {
    let directory = root.join("web");
    let installed = run_command(&directory, &["npm", "ci", "--no-audit", "--no-fund"])?;
    if !installed.0 {
        return Ok(installed);
    }
    let server = Server::start(root)?;
    let endpoint = format!("{}/graphql", server.url);
    let checks: [&[&str]; 3] = [
        &["npm", "run", "check"],
        &["npm", "run", "test:audit", "--", &endpoint],
        &["npm", "run", "test:browser", "--", &server.url],
    ];
    let mut total = (true, Counts::default());
    for words in checks {
        let (succeeded, mut counts) = run_command(&directory, words)?;
        if counts == Counts::default() {
            // A check that counts nothing is one test.
            counts.passed = u64::from(succeeded);
            counts.failed = u64::from(!succeeded);
        }
        total.0 &= succeeded;
        total.1 += counts;
    }
    Ok(total)
}

/// `prony serve` on a free port; killed on drop.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(root: &Path) -> Result<Self> {
        // Cargo puts it beside this program, wherever that is.
        let program =
            env::current_exe().context("cannot find this program's own file")?.with_file_name("prony");
        let log = program.with_file_name("web-check.log");
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(&program)
            .args(["serve", SAMPLE, "--listen", "127.0.0.1:0"])
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot run {}; the build stage makes it", program.display()))?;
        let mut server = Self { child, url: String::new() };
        let started = Instant::now();
        loop {
            let ended = server.child.try_wait()?;
            let text = fs::read_to_string(&log)?;
            if let Some(url) = ready_url(&text) {
                server.url = url;
                return Ok(server);
            }
            if ended.is_some() || started.elapsed() > PATIENCE {
                bail!("prony serve did not listen:\n{text}");
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ready_url(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains(READY))?;
    let address = line.split(READY).nth(1)?.split([' ', '"', '/']).next()?;
    log.ends_with('\n').then(|| format!("http://{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_in_the_log() {
        let log = "INFO serving\nINFO listening on http://127.0.0.1:4321\n";
        assert_eq!(ready_url(log).as_deref(), Some("http://127.0.0.1:4321"));
        assert_eq!(ready_url("INFO serving\n"), None);
    }
}
