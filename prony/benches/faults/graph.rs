//! Faults of a graph and of the process that serves it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use prony_testkit::{PronyProcess, free_port, process::Signal};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    TARGET_CORE,
    clients::{Call, Clients, Fate},
    table::Row,
};

const BEFORE: Duration = Duration::from_secs(6);
/// Of faults that last.
const LASTS: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(6);

/// Nodes that are read at a time.
const PAGE: usize = 50_000;

struct Site {
    directory: TempDir,
    address: SocketAddr,
    process: Option<PronyProcess>,
}

type Harm = fn(&mut Site);

pub(crate) fn faults(each: &mut dyn FnMut(Row)) {
    let all: [(&str, Harm); 6] = [
        ("the process is killed (SIGKILL), and started again at once", |site| {
            site.signal(Signal::KILL);
            site.restart();
        }),
        ("it is stopped in order (SIGTERM), and started again", |site| {
            site.signal(Signal::TERM);
            site.restart();
        }),
        ("it stands still for 3 s (SIGSTOP)", |site| {
            site.signal(Signal::STOP);
            thread::sleep(LASTS);
            site.signal(Signal::CONT);
        }),
        ("the disk is full for 3 s (no file may grow)", |site| {
            site.limit_files(Some(site.largest_file() + (64 << 10)));
            thread::sleep(LASTS);
            site.limit_files(None);
        }),
        ("a sync fails once (EIO), and the process is started again after 3 s", |site| {
            let mut injection = site.fail_a_sync();
            thread::sleep(LASTS);
            let _ = injection.kill();
            let _ = injection.wait();
            site.signal(Signal::TERM);
            site.restart();
        }),
        ("every sync takes 50 ms longer for 3 s", |site| {
            let mut injection = site.trace("delay_enter=50000");
            thread::sleep(LASTS);
            let _ = injection.kill();
            let _ = injection.wait();
        }),
    ];
    for (name, harm) in all {
        let mut site = Site::start();
        let clients = Clients::start(site.address, CreateNode);
        thread::sleep(BEFORE);
        let begin = clients.elapsed();
        harm(&mut site);
        thread::sleep(AFTER);
        let written = clients.stop();
        each(Row::of(name, begin, &written, &site.keys()));
    }
}

impl Site {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut site = Self { directory, address, process: None };
        site.restart();
        site
    }

    /// Starts the server, once the one before has ended.
    fn restart(&mut self) {
        if let Some(process) = self.process.take() {
            process.wait();
        }
        let graph = format!("graph:{}", self.directory.path().join("rage").display());
        let listen = self.address.to_string();
        let binary = env!("CARGO_BIN_EXE_prony");
        let arguments = [
            "-c",
            TARGET_CORE,
            binary,
            "serve",
            &graph,
            "--listen",
            &listen,
            "--cpus",
            "1",
            "--grace-ms",
            "2000",
        ];
        let mut process = PronyProcess::start("taskset", arguments);
        process.wait_for_url();
        self.process = Some(process);
    }

    fn pid(&self) -> u32 {
        self.process.as_ref().expect("it is served").id()
    }

    fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("it is served").signal(signal);
    }

    fn largest_file(&self) -> u64 {
        let files = fs::read_dir(self.directory.path().join("rage")).expect("a graph has a folder");
        files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).max().unwrap_or(0)
    }

    /// How large files may grow, which the server meets as it meets a full disk.
    fn limit_files(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.pid() as i32).expect("no process has the number 0");
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Some(pid), Resource::Fsize, limit).expect("of our own process");
    }

    fn fail_a_sync(&self) -> Child {
        self.trace("error=EIO:when=1")
    }

    /// Has syncs of the server's files go as strace(1) is told with `--inject`.
    fn trace(&self, what: &str) -> Child {
        let tracer = Command::new("strace")
            .args(["-f", "-q", "--seccomp-bpf", "-e", "trace=fdatasync,fsync", "-o", "/dev/null"])
            .args(["-e", &format!("inject=fdatasync,fsync:{what}"), "-p", &self.pid().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        tracer.expect("strace is needed (Debian: strace)")
    }

    /// Of all nodes that are there.
    fn keys(&self) -> Vec<u64> {
        let mut all = Vec::new();
        loop {
            let path = format!("/db/rage/nodes/User?skip={}&limit={PAGE}", all.len());
            let nodes: Value = serde_json::from_str(&self.get(&path)).expect("nodes are JSON");
            let nodes = nodes.as_array().expect("nodes are a list");
            all.extend(nodes.iter().map(|node| {
                node["key"].as_str().and_then(|key| key.parse::<u64>().ok()).expect("keys are numbers here")
            }));
            if nodes.len() < PAGE {
                return all;
            }
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it is served");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        let (_, body) = response.split_once("\r\n\r\n").expect("a response has a head");
        body.to_owned()
    }
}

struct CreateNode;

impl Call for CreateNode {
    fn request(&self, key: u64) -> Vec<u8> {
        format!("POST /db/rage/node/User/{key} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n")
            .into_bytes()
    }

    fn fate(&self, status: u16, body: &str) -> Fate {
        let what = format!("{status} {}", body.chars().take(60).collect::<String>().trim_matches('"'));
        match status {
            201 => Fate::Acknowledged,
            _ if body.contains("unknown") => Fate::Unknown(what),
            _ => Fate::Refused(what),
        }
    }
}
