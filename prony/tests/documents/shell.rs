//! The shell of somebody who reads a page: a folder, one bash for all blocks, and the server that was started last, on a free port.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::free_port;
use tempfile::TempDir;

/// Printed behind the output of each block.
const END: &str = "=== end of the block ===";
/// What the commands print beside their output: how far curl is, and why it is not.
const ERRORS: &str = "errors.log";
/// Of `prony serve` in the pages, by what is served.
const PORTS: [(&str, u16); 2] = [("series", 8668), ("graph:", 7243)];
const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(60);

/// What a block has printed.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) output: String,
    /// Of the server that it has started.
    pub(crate) log: String,
}

pub(crate) struct Shell {
    bash: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: TempDir,
    /// Ports of the pages, and those that stand for them here.
    ports: BTreeMap<u16, u16>,
    /// Of the last server, as pages have it.
    port: u16,
    servers: usize,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let binaries = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("it is in a folder");
        let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
        let mut bash = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(folder.path())
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path().join(ERRORS)).expect("the folder can be written"))
            .spawn()
            .expect("bash can be started");
        let mut input = bash.stdin.take().expect("it is piped");
        let output = BufReader::new(bash.stdout.take().expect("it is piped"));
        // Also where this process is killed: then its input ends.
        input.write_all(b"server=; trap 'kill -9 $server 2>/dev/null' EXIT\n").expect("bash reads");
        Self { bash, input, output, folder, ports: BTreeMap::new(), port: PORT, servers: 0 }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("the folder can be written");
    }

    /// A page's text with the ports of this shell.
    pub(crate) fn as_here(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (of_page, here)| {
            ["127.0.0.1", "localhost"].iter().fold(text, |text, host| {
                text.replace(&format!("{host}:{of_page}"), &format!("{host}:{here}"))
            })
        })
    }

    /// Types a block; `shown` is what the page shows of it.
    pub(crate) fn run(&mut self, block: &str, shown: Option<&str>) -> Said {
        let block = block.replace("cargo run --release -- ", "prony ");
        let (mut script, mut log) = (String::new(), None);
        for line in block.lines() {
            if line.starts_with("kill -9 $(pgrep") {
                script += "kill -9 $server; wait $server 2>/dev/null; server=\n";
            } else if line.starts_with("prony serve") || line.starts_with("prony example") {
                let named = self.start(line.trim_end_matches(['&', ' ']), shown.unwrap_or(""));
                let (command, port) = (line.trim_end_matches(['&', ' ']), self.ports[&self.port]);
                script += "[ -n \"$server\" ] && kill $server && wait $server 2>/dev/null\n";
                let _ = writeln!(script, "{command} --listen 127.0.0.1:{port} > {named} 2>&1 & server=$!");
                let _ = writeln!(
                    script,
                    "for n in $(seq 600); do grep -q 'listening on' {named} && break; kill -0 $server || break; sleep 0.1; done"
                );
                log = Some(named);
            } else {
                script += line;
                script.push('\n');
            }
        }
        let output = self.typed(&self.as_here(&script));
        let log = log
            .map(|named| fs::read_to_string(self.folder.path().join(named)).expect("the server has a log"));
        Said { output, log: log.unwrap_or_default() }
    }

    /// Asks the last server a query of GraphQL.
    pub(crate) fn ask(&mut self, query: &str) -> Said {
        let body = serde_json::json!({ "query": query }).to_string();
        self.write("query.json", &body);
        let url = format!("http://127.0.0.1:{}/graphql", self.ports[&self.port]);
        let output =
            self.typed(&format!("curl -s {url} -H 'content-type: application/json' -d @query.json\n"));
        Said { output, log: String::new() }
    }

    /// Which port a server has in the page; gives its log's name.
    fn start(&mut self, command: &str, shown: &str) -> String {
        let told =
            shown.lines().find_map(|line| line.rsplit_once("listening on http://127.0.0.1:")?.1.parse().ok());
        let config = fs::read_to_string(self.folder.path().join("prony.toml")).unwrap_or_default();
        let served = if command.contains("--config") { config.as_str() } else { command };
        let usual = PORTS.iter().find(|(what, _)| served.contains(what)).map_or(PORT, |(_, port)| *port);
        self.port = told.unwrap_or(usual);
        self.ports.entry(self.port).or_insert_with(free_port);
        self.servers += 1;
        format!("server-{}.log", self.servers)
    }

    fn typed(&mut self, script: &str) -> String {
        write!(self.input, "{script}\nprintf '\\n%s\\n' '{END}'\n").expect("bash reads");
        let (mut output, begun) = (String::new(), Instant::now());
        loop {
            assert!(begun.elapsed() < PATIENCE, "this does not end:\n{script}\nso far:\n{output}");
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("bash writes UTF-8") == 0 {
                let errors = fs::read_to_string(self.folder.path().join(ERRORS)).unwrap_or_default();
                panic!("bash has ended at:\n{script}\nit said:\n{output}\n{errors}");
            }
            if line.trim_end() == END {
                return output;
            }
            output += &line;
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The trap ends the server.
        let _ = self.input.write_all(b"exit\n");
        for _ in 0..50 {
            if self.bash.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}

/// Times and sizes, which are others in each run, as `N`.
pub(crate) fn without_figures(text: &str) -> String {
    let mut shown = text.to_owned();
    for mark in ["milliseconds="] {
        if let Some((before, after)) = shown.clone().split_once(mark) {
            let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
            shown = format!("{before}{mark}N{after}");
        }
    }
    if let Some((before, after)) = shown.clone().split_once(" bytes") {
        let before = before.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
        shown = format!("{before} N bytes{after}");
    }
    shown
}
