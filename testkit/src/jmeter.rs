//! Apache JMeter with the WebSocket samplers of its best known plug-in: its programs come from Maven Central, once, and run with the
//! machine's Java.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};
use thiserror::Error;

/// Runs with Java 8 and later.
pub const VERSION: &str = "5.6.3";
/// Its folder in the home of the user, with the number of the layout that this file makes.
const FOLDER: &str = ".m2/prony-jmeter-5.6.3-1";
/// The memory that JMeter's own start script gives it.
const HEAP: [&str; 3] = ["-Xms1g", "-Xmx1g", "-XX:MaxMetaspaceSize=256m"];
const POM: &str = include_str!("jmeter-pom.xml");

/// Why there is no JMeter.
#[derive(Debug, Error)]
pub enum JMeterError {
    #[error("cannot start mvn ({source}), which fetches JMeter; `apt-get install maven` brings it")]
    ProgramMissing { source: io::Error },
    #[error("Maven could not fetch org.apache.jmeter:ApacheJMeter:{VERSION}. It says:\n{output}")]
    NotFetched { output: String },
    #[error("JMeter has written no rows. It says:\n{output}")]
    NoRows { output: String },
    #[error("cannot {action}: {source}")]
    Io { action: &'static str, source: io::Error },
}

/// An installed JMeter.
#[derive(Debug, Clone)]
pub struct JMeter {
    home: PathBuf,
}

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> JMeterError {
    move |source| JMeterError::Io { action, source }
}

impl JMeter {
    /// Fetches it where it is not there yet: by one process at a time, as Maven wants it.
    ///
    /// # Errors
    /// Maven is missing, or cannot fetch it.
    pub fn fetch() -> Result<Self, JMeterError> {
        let home = env::var_os("HOME").map_or_else(env::temp_dir, PathBuf::from).join(FOLDER);
        let jmeter = Self { home };
        if jmeter.program().is_file() {
            return Ok(jmeter);
        }
        let lock = File::create(env::temp_dir().join("prony-jmeter.lock")).map_err(failed("make a lock"))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed("lock a file")(error.into()))?;
        if !jmeter.program().is_file() {
            jmeter.install()?;
        }
        Ok(jmeter)
    }

    /// What starts it; made last.
    fn program(&self) -> PathBuf {
        self.home.join("bin/ApacheJMeter.jar")
    }

    fn install(&self) -> Result<(), JMeterError> {
        let library = self.home.join("lib");
        fs::create_dir_all(library.join("ext")).map_err(failed("make JMeter's folders"))?;
        fs::create_dir_all(library.join("junit")).map_err(failed("make JMeter's folders"))?;
        let pom = self.home.join("pom.xml");
        fs::write(&pom, POM).map_err(failed("write Maven's project"))?;
        maven(&pom, "copy-dependencies", &library, &[])?;
        // Its settings are in an archive of their own.
        maven(&pom, "unpack-dependencies", &self.home, &["-DincludeArtifactIds=ApacheJMeter_config"])?;
        for entry in fs::read_dir(&library).map_err(failed("read JMeter's folder"))? {
            let path = entry.map_err(failed("read JMeter's folder"))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Elements are found in `ext` only.
            if name.starts_with("ApacheJMeter_") || name.starts_with("jmeter-websocket") {
                fs::rename(&path, library.join("ext").join(&name)).map_err(failed("move a library"))?;
            }
        }
        let program = library.join(format!("ApacheJMeter-{VERSION}.jar"));
        fs::rename(program, self.program()).map_err(failed("move JMeter's program"))
    }

    /// `java … -n`: without its window, with the memory that it has by itself.
    pub fn command(&self) -> Command {
        let mut command = Command::new("java");
        command.args(HEAP).arg("-Djava.awt.headless=true").arg("-jar").arg(self.program()).arg("-n");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a plan in its folder; gives the rows.
    ///
    /// # Errors
    /// JMeter does not start, or writes no rows: then with its log.
    pub fn run(&self, plan: &Path, arguments: &[String]) -> Result<String, JMeterError> {
        let directory = tempfile::tempdir().map_err(failed("make a temporary directory"))?;
        let (rows, log) = (directory.path().join("out.jtl"), directory.path().join("jmeter.log"));
        let output = self
            .command()
            .current_dir(plan.parent().unwrap_or(Path::new(".")))
            .arg("-t")
            .arg(plan)
            .arg("-l")
            .arg(&rows)
            .arg("-j")
            .arg(&log)
            .args(arguments)
            .output()
            .map_err(failed("start java"))?;
        fs::read_to_string(&rows).map_err(|_| {
            let log = fs::read_to_string(&log).unwrap_or_default();
            let output = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            JMeterError::NoRows { output: output + &log }
        })
    }
}

fn maven(pom: &Path, goal: &str, folder: &Path, more: &[&str]) -> Result<(), JMeterError> {
    let output = Command::new("mvn")
        .args(["--batch-mode", "--quiet", "-f"])
        .arg(pom)
        .arg(format!("org.apache.maven.plugins:maven-dependency-plugin:3.6.1:{goal}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .args(more)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| JMeterError::ProgramMissing { source })?;
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    Err(JMeterError::NotFetched { output })
}
