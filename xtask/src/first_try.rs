//! `cargo xtask first-try FILE`: how long it takes from an archive of the program, or from the program alone, to the first answer of an API, a
//! load test and its report. It types the README's commands in an empty folder, with an empty home and no variables of this shell; `curl`,
//! `sqlite3` and `tar` are the machine's.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

const PROGRAM: &str = "prony";
const README: &str = "README.md";
/// How the README types the program, and where it is served there.
const SERVE: &str = "\ncargo run --release -- serve ";
const README_ADDRESS: &str = "127.0.0.1:8080";
/// What `prony run` is given beside the address, and how the table calls it.
const LOAD: [&str; 4] = ["-c", "64", "-d", "10s"];
const LOAD_STEP: &str = "**a load test of ten seconds**";
const PAGE: &str = "results.html";
/// Of a run on a machine that does something else meanwhile: its figures cannot be believed, and the report says so.
const VOID: i32 = 3;
/// A server that takes longer has failed.
const START_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// `Ok(true)` when every step did what the README says.
pub(crate) fn run(root: &Path, file: &str) -> Result<bool> {
    let file = std::path::absolute(file).context("the current directory is gone")?;
    let readme = fs::read_to_string(root.join(README)).with_context(|| format!("cannot read {README}"))?;
    let commands = ReadmeCommands::of(&readme)?;
    let folder = env::temp_dir().join(format!("prony-first-try-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let laps = try_out(&folder, &file, &commands)
        .with_context(|| format!("what was done is in {}", folder.display()))?;
    print!("{}", table(if is_archive(&file) { "archive" } else { "program" }, &laps));
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(true)
}

/// What the README types on its way to the first answer.
#[derive(Debug, PartialEq, Eq)]
struct ReadmeCommands<'a> {
    /// Makes a database.
    database: &'a str,
    /// What is served.
    source: &'a str,
    /// Asks the server.
    question: &'a str,
    answer: &'a str,
}

impl<'a> ReadmeCommands<'a> {
    fn of(readme: &'a str) -> Result<Self> {
        let mut blocks = blocks(readme);
        let mut next = |language: &str, begin: &str| {
            blocks
                .find(|(known, text)| *known == language && text.starts_with(begin))
                .map(|(_, text)| text)
                .with_context(|| {
                    format!("{README} has no block `{language}` that begins with `{begin}` here")
                })
        };
        let first = next("sh", "sqlite3 ")?;
        let (database, source) = first
            .split_once(SERVE)
            .with_context(|| format!("{README} does not serve the database that it makes"))?;
        let (question, answer) = (next("sh", "curl ")?, next("json", "{")?);
        Ok(Self { database, source: source.trim(), question: question.trim(), answer: answer.trim() })
    }
}

/// Language and text of each fenced block.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// A step that is done.
#[derive(Debug, Clone, Copy)]
struct Lap {
    step: &'static str,
    since_begin: Duration,
}

fn try_out(folder: &Path, file: &Path, commands: &ReadmeCommands<'_>) -> Result<Vec<Lap>> {
    let began = Instant::now();
    let mut laps = Vec::new();
    let mut end = |step| laps.push(Lap { step, since_begin: began.elapsed() });
    let terminal = Terminal::with(folder, &unpack(folder, file)?)?;
    let (version, _) = terminal.run(&[PROGRAM, "--version"], &[0])?;
    if !version.starts_with("prony ") {
        bail!("{} says of itself `{}`, and is no prony", file.display(), version.trim());
    }
    end("unpacked");
    terminal.run(&["sh", "-c", commands.database], &[0])?;
    end("a database made");
    let server = RunningServer::start(&terminal, commands.source)?;
    let question = commands.question.replace(README_ADDRESS, &server.address);
    let (answer, _) = terminal.run(&["sh", "-c", &question], &[0])?;
    if answer.trim() != commands.answer {
        bail!("the server answered `{}`, and not `{}`", answer.trim(), commands.answer);
    }
    end("**the first nested answer of the API**");
    let target = format!("http://{}/health", server.address);
    let (said, code) = terminal.run(&[&[PROGRAM, "run", target.as_str()], &LOAD[..]].concat(), &[0, VOID])?;
    if code == VOID {
        eprintln!("the load test is void:\n{said}");
    }
    end(LOAD_STEP);
    terminal.run(&[PROGRAM, "report", "results", "--html", PAGE], &[0])?;
    if !fs::metadata(folder.join(PAGE)).is_ok_and(|page| page.len() > 0) {
        bail!("the report has written no page");
    }
    end("its report as a page");
    Ok(laps)
}

fn is_archive(file: &Path) -> bool {
    file.to_string_lossy().ends_with(".tar.gz")
}

/// The folder within `folder` where the program is from now on.
fn unpack(folder: &Path, file: &Path) -> Result<PathBuf> {
    if !is_archive(file) {
        let place = folder.join("program");
        fs::create_dir(&place).with_context(|| format!("cannot make {}", place.display()))?;
        symlink(file, place.join(PROGRAM)).with_context(|| format!("cannot link {}", file.display()))?;
        return Ok(place);
    }
    let status = Command::new("tar").arg("xzf").arg(file).current_dir(folder).stdin(Stdio::null()).status();
    if !status.context("cannot run tar")?.success() {
        bail!("{} cannot be unpacked", file.display());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut places = entries.flatten().map(|entry| entry.path());
    let found = places.find(|place| place.join(PROGRAM).is_file());
    found.with_context(|| format!("no folder of {} has a program `{PROGRAM}`", file.display()))
}

/// Where commands are typed: a folder, and the only variables that they have.
#[derive(Debug)]
struct Terminal {
    folder: PathBuf,
    home: PathBuf,
    path: OsString,
}

impl Terminal {
    /// With the program's folder first on the path.
    fn with(folder: &Path, program: &Path) -> Result<Self> {
        let home = folder.join("home");
        fs::create_dir(&home).with_context(|| format!("cannot make {}", home.display()))?;
        let known = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([program.to_owned()].into_iter().chain(env::split_paths(&known)))
            .context("the path cannot be written")?;
        Ok(Self { folder: folder.to_owned(), home, path })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command.env_clear().env("PATH", &self.path).env("HOME", &self.home).env("NO_COLOR", "1");
        command
    }

    /// What it prints, and its exit code, which is one of these.
    fn run(&self, words: &[&str], codes: &[i32]) -> Result<(String, i32)> {
        let output = self.command(words[0]).args(&words[1..]).output();
        let output = output.with_context(|| format!("cannot run {}", words[0]))?;
        let code = output.status.code().filter(|code| codes.contains(code));
        let Some(code) = code else {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` ended with {}: {}", words.join(" "), output.status, said.trim());
        };
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), code))
    }
}

/// `prony serve`, until it is dropped.
#[derive(Debug)]
struct RunningServer {
    process: Child,
    address: String,
}

impl RunningServer {
    /// Returns once it listens.
    fn start(terminal: &Terminal, source: &str) -> Result<Self> {
        let log = terminal.folder.join("serve.log");
        let said = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = terminal.command(PROGRAM);
        command.args(["serve", source, "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(said);
        let process = command.spawn().context("cannot run prony serve")?;
        let mut server = Self { process, address: String::new() };
        let began = Instant::now();
        while began.elapsed() < START_WITHIN {
            let said = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
            if let Some(address) = listening(&said) {
                address.clone_into(&mut server.address);
                return Ok(server);
            }
            if let Some(status) = server.process.try_wait().context("cannot look after prony serve")? {
                bail!("prony serve ended with {status}: {}", said.trim());
            }
            thread::sleep(LOOK_EVERY);
        }
        bail!("prony serve does not listen after {} s", START_WITHIN.as_secs())
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Where it has ended by itself there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address in a server's log, once its line is whole.
fn listening(log: &str) -> Option<&str> {
    let (_, rest) = log.split_once("listening on http://")?;
    Some(rest.split_once('\n')?.0.trim())
}

/// As `docs/building.md` shows it.
fn table(what: &str, laps: &[Lap]) -> String {
    let mut text = format!("| since the {what} was there | |\n|---|---:|\n");
    for Lap { step, since_begin } in laps {
        let seconds = format!("{:.1} s", since_begin.as_secs_f64());
        // What a first try is for is in bold.
        let bold = if step.starts_with("**") { "**" } else { "" };
        let _ = writeln!(text, "| {step} | {bold}{seconds}{bold} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_commands_are_those_of_the_readme() {
        let readme = fs::read_to_string(crate::root().join(README)).unwrap();
        let commands = ReadmeCommands::of(&readme).unwrap();
        let ReadmeCommands { database, source, question, answer } = commands;
        assert!(database.starts_with("sqlite3 shop.db \"") && database.ends_with(";\""), "{database}");
        assert_eq!(source, "sqlite:shop.db");
        assert!(question.contains(&format!("curl -s http://{README_ADDRESS}/graphql ")), "{question}");
        assert!(answer.starts_with("{\"data\":{\"customers\":[{") && answer.ends_with('}'), "{answer}");
    }

    #[test]
    fn a_block_that_is_missing_is_named() {
        let first = "\n```sh\nsqlite3 a.db \"…\"\ncargo run --release -- serve sqlite:a.db\n```\n";
        let question = "\n```sh\ncurl a\n```\n";
        for (readme, said) in [
            (String::new(), "no block `sh` that begins with `sqlite3 `"),
            (question.to_owned(), "no block `sh` that begins with `sqlite3 `"),
            ("\n```sh\nsqlite3 a.db\n```\n".to_owned(), "does not serve the database"),
            (first.to_owned(), "no block `sh` that begins with `curl `"),
            (format!("{first}{question}"), "no block `json` that begins with `{`"),
        ] {
            let error = ReadmeCommands::of(&readme).unwrap_err().to_string();
            assert!(error.contains(said), "{readme}: {error}");
        }
        let readme = format!("{first}{question}\n```json\n{{}}\n```\n");
        let commands = ReadmeCommands {
            database: "sqlite3 a.db \"…\"",
            source: "sqlite:a.db",
            question: "curl a",
            answer: "{}",
        };
        assert_eq!(ReadmeCommands::of(&readme).unwrap(), commands);
    }

    #[test]
    fn what_is_no_prony_is_not_tried() {
        let folder = tempfile::tempdir().unwrap();
        let commands = ReadmeCommands { database: "", source: "", question: "", answer: "" };
        let error = try_out(folder.path(), Path::new("/bin/true"), &commands).unwrap_err().to_string();
        assert!(error.ends_with("and is no prony"), "{error}");
    }

    #[test]
    fn commands_have_no_variables_but_those_of_the_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let terminal = Terminal::with(folder.path(), Path::new("/first")).unwrap();
        let (said, code) = terminal
            .run(&["sh", "-c", "echo \"${PATH%%:*} ${HOME##*/} [$CARGO_MANIFEST_DIR]\"; exit 3"], &[0, 3])
            .unwrap();
        assert_eq!((said.as_str(), code), ("/first home []\n", 3));
        let error = terminal.run(&["sh", "-c", "echo why >&2; exit 1"], &[0]).unwrap_err().to_string();
        assert!(error.ends_with("exit status: 1: why"), "{error}");
    }

    #[test]
    fn the_address_is_read_once_its_line_is_whole() {
        let log = "INFO serving a source source=\"shop\"\nINFO listening on http://127.0.0.1:4";
        assert_eq!(listening(log), None);
        assert_eq!(listening(&format!("{log}1357\n")), Some("127.0.0.1:41357"));
    }

    #[test]
    fn the_table_is_that_of_the_document() {
        let lap = |step, millis| Lap { step, since_begin: Duration::from_millis(millis) };
        let laps = [lap("unpacked", 1040), lap(LOAD_STEP, 11_290)];
        expect![[r"
            | since the archive was there | |
            |---|---:|
            | unpacked | 1.0 s |
            | **a load test of ten seconds** | **11.3 s** |
        "]]
        .assert_eq(&table("archive", &laps));
    }
}
