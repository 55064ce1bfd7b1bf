//! The shell of somebody who reads a page: an empty folder, one bash for all blocks, and the servers that they start, on free ports.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{NatsServer, TestDatabase, free_port, nats};
use tempfile::TempDir;

use crate::{
    command::{EXAMPLE, Kind, bare, shortened},
    compare::Said,
    pages::root,
};

/// Printed behind the output of each block.
const END: &str = "=== end of the block ===";
/// Commands that have failed, with their statuses.
const FAILURES: &str = "failures";
/// Servers end with this shell, also where its process is killed: then its input ends. Terminals show errors, and curl
/// shows there how far it is only where it writes into a file.
const BEGIN: &str = r#"
exec 2>&1
declare -A servers
trap 'kill -9 "${servers[@]}" $(jobs -p) 2>/dev/null' EXIT
status=0
shorten() { sed -i -E 's/\bduration = "[^"]*"/duration = "1s"/g; s/^warm_up = .*/warm_up = "200ms"/' *.toml examples/plans/*.toml 2>/dev/null || true; }
trap 'printf "%s %s\n" $? "${BASH_COMMAND%%[[:cntrl:]]*}" >> "$FAILURES"' ERR
curl() { command curl --silent --show-error "$@"; }
stop() {
  [ -z "${servers[$1]}" ] || { kill -$2 "${servers[$1]}"; wait "${servers[$1]}"; } 2>/dev/null || true
  unset "servers[$1]"
}
await_port() {
  for n in $(seq 600); do
    if (: > /dev/tcp/127.0.0.1/$1) 2>/dev/null; then echo 'listening on it'; break; fi
    sleep 0.1
  done
}
await() {
  for n in $(seq 600); do
    if grep -qs 'listening on' "$2" || ! kill -0 "${servers[$1]}" 2>/dev/null; then break; fi
    sleep 0.1
  done
}
"#;
/// Of what the pages serve.
const PORTS: [(&str, u16); 5] = [
    ("example donuts", 3000),
    ("example music", 3001),
    ("example starwars", 3002),
    ("series", 8668),
    ("graph:", 7243),
];
const PORT: u16 = 8080;
/// Compiled into the examples of `prony-server`, so it is the same here.
const EXAMPLES_PORT: u16 = 4000;
const HOSTS: [&str; 5] = ["127.0.0.1:", "localhost:", "0.0.0.0:", OTHERS[0], OTHERS[1]];
/// Other machines of pages, for which this one stands.
const OTHERS: [&str; 2] = ["10.0.0.1:", "10.0.0.9:"];
const NATS_PORT: u16 = 4222;
/// For a block of a page: a program that is not optimised is slow on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// For events that a page shows.
const PATIENCE_OF_EVENTS: Duration = Duration::from_secs(20);

/// A stream of events, and what the page shows of it.
#[derive(Debug)]
struct Stream {
    log: PathBuf,
    shown: String,
    place: String,
}

pub(crate) struct Shell {
    bash: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: TempDir,
    /// What is typed, and what servers and streams print.
    notes: TempDir,
    /// Ports of the page, and those that stand for them here.
    ports: BTreeMap<u16, u16>,
    /// Of the last server, as the page has it.
    port: u16,
    streams: Vec<Stream>,
    typed: usize,
    /// Where the page has one; it ends with the shell.
    _nats: Option<NatsServer>,
}

impl Shell {
    /// For a page of this text.
    pub(crate) fn new(page: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let notes = tempfile::tempdir().expect("a temporary folder");
        let binaries = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("it is in a folder");
        let mut path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
        let nats = page.contains("nats-server").then(NatsServer::start);
        if nats.is_some() {
            let folder = nats::program().parent().expect("it is in a folder").display().to_string();
            path = format!("{folder}:{path}");
        }
        let mut bash = Command::new("bash");
        // Where clients of PostgreSQL look by themselves.
        if page.contains("createdb ") {
            let database = TestDatabase::create();
            let port = database.cluster().port().to_string();
            bash.env("PGHOST", "127.0.0.1").env("PGPORT", port).env("PGUSER", "postgres");
        }
        let mut bash = bash
            .args(["--noprofile", "--norc"])
            .current_dir(folder.path())
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("FAILURES", notes.path().join(FAILURES))
            .env_remove("GITHUB_STEP_SUMMARY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash can be started");
        let mut input = bash.stdin.take().expect("it is piped");
        let output = BufReader::new(bash.stdout.take().expect("it is piped"));
        input.write_all(BEGIN.as_bytes()).expect("bash reads");
        let ports = PORTS.iter().map(|(_, port)| *port).chain([PORT]).chain(named_ports(page));
        let ports = ports.filter(|port| *port != EXAMPLES_PORT).map(|port| (port, free_port()));
        let ports = ports.chain(nats.iter().map(|nats| (NATS_PORT, nats.port()))).collect();
        let streams = Vec::new();
        Self { bash, input, output, folder, notes, ports, port: PORT, streams, typed: 0, _nats: nats }
    }

    /// Keeps a block in a file.
    pub(crate) fn keep(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be written");
        fs::write(path, self.as_here(text)).expect("the folder can be written");
    }

    /// Copies a folder of the repository to where a reader who has cloned it sees it.
    pub(crate) fn copy_examples(&self) {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        for kind in ["plans", "wrk"] {
            for entry in fs::read_dir(examples.join(kind)).expect("there are examples") {
                let path = entry.expect("it can be listed").path();
                if let Ok(text) = fs::read_to_string(&path) {
                    let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
                    self.keep(&format!("examples/{kind}/{name}"), &text);
                }
            }
        }
    }

    /// A page's text with the ports of this shell.
    pub(crate) fn as_here(&self, text: &str) -> String {
        let mut changed = String::new();
        let mut rest = text;
        while let Some((at, host)) = next_host(rest) {
            let (before, after) = rest.split_at(at + host.len());
            let digits = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
            let port = after[..digits].parse().ok().and_then(|port: u16| self.ports.get(&port));
            let other = OTHERS.iter().find_map(|other| before.strip_suffix(other));
            changed += &other.map_or_else(|| before.to_owned(), |before| format!("{before}{}", HOSTS[0]));
            changed += &port.map_or_else(|| after[..digits].to_owned(), u16::to_string);
            rest = &after[digits..];
        }
        changed + rest
    }

    /// Types commands; `shown` is what the page shows of them, at `place`.
    pub(crate) fn run(&mut self, commands: &[String], shown: Option<&str>, place: &str) -> Said {
        let (mut script, mut log) = (String::new(), None);
        for command in commands {
            match Kind::of(command) {
                Kind::Server => log = Some(self.start(command, shown.unwrap_or_default(), &mut script)),
                Kind::Stream => self.listen(command, &mut script),
                Kind::Background => {
                    let _ = writeln!(
                        script,
                        "{} > {} 2>&1 &",
                        bare(command),
                        self.log_of("background").display()
                    );
                }
                Kind::Kill => {
                    let _ = writeln!(script, "stop {} KILL", self.port);
                }
                Kind::Measurement => {
                    script += "shorten\n";
                    script += &shortened(command);
                }
                Kind::Other => script += &command.replace("echo $?", "echo $status"),
            }
        }
        let mut output = self.typed(&script);
        // The first lines of a stream, and what it shows from then on.
        if let (Some(shown), Some(stream)) =
            (shown.filter(|shown| shown.starts_with(':')), self.streams.last_mut())
        {
            (stream.shown, stream.place) = (shown.trim().to_owned(), place.to_owned());
            shown.clone_into(&mut output);
        }
        let log = log.map(|log| fs::read_to_string(log).expect("the server has a log"));
        Said { output, log: log.unwrap_or_default() }
    }

    /// Commands that have failed since this was asked last, each behind its status.
    pub(crate) fn failures(&self) -> Vec<String> {
        let file = self.notes.path().join(FAILURES);
        let failures = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        failures.lines().map(str::to_owned).collect()
    }

    /// Asks the last server a query of GraphQL.
    pub(crate) fn ask(&mut self, query: &str) -> Said {
        let body = serde_json::json!({ "query": query }).to_string();
        let file = self.notes.path().join("query.json");
        fs::write(&file, body).expect("the folder can be written");
        let output = self.typed(&format!(
            "curl http://127.0.0.1:{}/graphql -H 'content-type: application/json' -d @{}\n",
            self.port,
            file.display()
        ));
        Said { output, log: String::new() }
    }

    /// Waits until streams have printed what the page shows of them; an error is one that has not.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        for stream in self.streams.drain(..).filter(|stream| !stream.shown.is_empty()) {
            loop {
                let printed = fs::read_to_string(&stream.log).unwrap_or_default();
                if printed.trim().starts_with(&stream.shown) {
                    break;
                }
                if begun.elapsed() > PATIENCE_OF_EVENTS {
                    return Err(format!("{}\nshown:\n{}\n\nprinted:\n{printed}", stream.place, stream.shown));
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Starts a server in the place of the one that has its port, and waits for it; gives its log.
    fn start(&mut self, command: &str, shown: &str, script: &mut String) -> PathBuf {
        let command = bare(command);
        if let Some(example) = command.strip_prefix(EXAMPLE) {
            return self.start_example(example, script);
        }
        let told =
            shown.lines().find_map(|line| line.rsplit_once("listening on http://127.0.0.1:")?.1.parse().ok());
        let listens = command.split_once("--listen ").map(|(_, address)| address);
        let listens = listens.and_then(|address| named_ports(address).next());
        let config = fs::read_to_string(self.folder.path().join("prony.toml")).unwrap_or_default();
        let served = if command.contains("--config") { config.as_str() } else { command };
        let usual = PORTS.iter().find(|(what, _)| served.contains(what)).map_or(PORT, |(_, port)| *port);
        self.port = listens.or(told).unwrap_or(usual);
        let log = self.log_of(&format!("server-{}", self.port));
        let listen =
            if listens.is_some() { String::new() } else { format!("--listen 127.0.0.1:{}", self.port) };
        let (port, named) = (self.port, log.display());
        let _ = writeln!(script, "stop {port} TERM\n{command} {listen} > {named} 2>&1 & servers[{port}]=$!");
        let _ = writeln!(script, "await {port} {named}");
        log
    }

    /// Starts an example of `prony-server`, which has been built with the workspace, or is now.
    fn start_example(&mut self, name: &str, script: &mut String) -> PathBuf {
        self.port = EXAMPLES_PORT;
        let binaries = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("it is in a folder");
        let (program, log) =
            (binaries.join("examples").join(name), self.notes.path().join(format!("{name}.log")));
        if !program.exists() {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "-p", "prony-server", "--example", name]).current_dir(root());
            let built = cargo.status().expect("Cargo can be started");
            assert!(built.success(), "the example {name} can be built");
        }
        let (port, named) = (self.port, log.display());
        let _ =
            writeln!(script, "stop {port} TERM\n{} > {named} 2>&1 & servers[{port}]=$!", program.display());
        let _ = writeln!(script, "await_port {port} >> {named}");
        log
    }

    /// Of what is typed now.
    fn log_of(&self, name: &str) -> PathBuf {
        self.notes.path().join(format!("{name}-{}.log", self.typed))
    }

    /// Leaves a stream open until the page ends.
    fn listen(&mut self, command: &str, script: &mut String) {
        let log = self.log_of(&format!("stream-{}", self.streams.len()));
        let (command, named) = (bare(command), log.display());
        // Its first bytes say that it is open. A reader is slower than the schema of a graph, which follows what was written to it.
        let _ = writeln!(
            script,
            "for again in $(seq 50); do {command} > {named} & stream=$!
               for n in $(seq 100); do [ -s {named} ] && break; sleep 0.1; done; sleep 0.2
               grep -q GRAPHQL_VALIDATION_FAILED {named} || break; wait $stream || true
             done"
        );
        self.streams.push(Stream { log, shown: String::new(), place: String::new() });
    }

    /// Has bash read a file, so that no command of it reads what is typed later.
    fn typed(&mut self, script: &str) -> String {
        self.typed += 1;
        let file = self.notes.path().join(format!("typed-{}.sh", self.typed));
        // What is read has its own status, which is no command's.
        fs::write(&file, self.as_here(script) + "\nstatus=$?\n").expect("the folder can be written");
        writeln!(self.input, ". {} < /dev/null; printf '\\n%s\\n' '{END}'", file.display())
            .expect("bash reads");
        let (mut output, begun) = (String::new(), Instant::now());
        loop {
            assert!(begun.elapsed() < PATIENCE, "this does not end:\n{script}\nso far:\n{output}");
            let mut line = Vec::new();
            self.output.read_until(b'\n', &mut line).expect("bash writes");
            let line = String::from_utf8_lossy(&line);
            assert!(!line.is_empty(), "bash has ended at:\n{script}\nit said:\n{output}");
            if line.trim_end() == END {
                return output;
            }
            output += &line;
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The trap ends the servers.
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

/// Where the next address begins that has a port.
fn next_host(text: &str) -> Option<(usize, &'static str)> {
    HOSTS.iter().filter_map(|host| text.find(host).map(|at| (at, *host))).min()
}

/// The ports of addresses of this machine in a text.
fn named_ports(text: &str) -> impl Iterator<Item = u16> {
    HOSTS.iter().flat_map(move |host| text.split(host).skip(1)).filter_map(|rest| {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}
