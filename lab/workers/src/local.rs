//! A NATS server for trying it on one machine, on a free port of the loopback, which ends with this process. It lets in who knows its
//! token: whoever else is on the machine could hand its workers a script.

use crate::error::WorkersError;
use crate::figures::hexadecimal;
use crate::folder::private_folder;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// Ends the server when its standard input ends, which it does when this process is gone, however that came.
const UNTIL_INPUT_ENDS: &str = "\"$@\" </dev/null & read -r _; kill $! 2>/dev/null; wait";

/// Stopped when it is dropped, and when this process ends in any other way.
#[derive(Debug)]
pub struct LocalServer {
    shell: Child,
    url: String,
    folder: TempDir,
}

impl LocalServer {
    /// `program`: `nats-server`, or where it is.
    pub fn start(program: &Path) -> Result<Self, WorkersError> {
        let failed = |cause| WorkersError::Server { program: program.to_owned(), cause };
        // The shell would say on its own that there is none.
        let found =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map_err(failed)?;
        let folder = private_folder().map_err(failed)?;
        let token = fresh_token().map_err(failed)?;
        let configuration = folder.path().join("server.conf");
        // On the command line everybody could read it.
        write_configuration(&configuration, &token).map_err(failed)?;
        let shell = Command::new("/bin/sh")
            .args(["-c", UNTIL_INPUT_ENDS, "sh"])
            .arg(program)
            .args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"])
            .arg(folder.path())
            .arg("--config")
            .arg(&configuration)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of the terminal's process group: Ctrl-C ends the run, which still needs it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut server = Self { shell, url: String::new(), folder };
        server.url = server.wait(program)?.replacen("://", &format!("://{token}@"), 1);
        Ok(server)
    }

    /// With the token: nobody else is to see it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder that only this user may enter, and which is gone with the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where it says that it listens.
    fn wait(&mut self, program: &Path) -> Result<String, WorkersError> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(url) = listening(self.folder.path()).ok().flatten() {
                return Ok(url);
            }
            thread::sleep(POLL);
        }
        Err(WorkersError::ServerSilent { program: program.to_owned(), seconds: PATIENCE.as_secs() })
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn fresh_token() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hexadecimal(&random))
}

fn write_configuration(path: &Path, token: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "authorization {{ token: \"{token}\" }}")
}

/// Of the file that it writes when it listens: `{"nats": ["nats://127.0.0.1:PORT"]}`.
fn listening(folder: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ports") {
            let text = fs::read_to_string(path)?;
            let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            return Ok(ports["nats"][0].as_str().map(str::to_owned));
        }
    }
    Ok(None)
}
