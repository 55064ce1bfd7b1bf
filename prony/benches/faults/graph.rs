//! Faults of a graph and of the process that serves it.

use std::{net::SocketAddr, process::Command, thread, time::Duration};

use prony_testkit::{PronyProcess, free_port, process::Signal};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    PRONY, TARGET_CORE,
    clients::{Call, Fate},
    injection::{Fault, Found, LASTS, Sign, Site},
    syscalls::{Injection, threads_named},
};

/// Of a served graph: the thread that writes the log.
const LOG_THREAD: &str = "graph-log";
/// How large files may grow on the full disk: all of the graph's are larger.
const FULL_BYTES: u64 = 30_000;
/// Nodes that are read at a time, and what their JSON may have.
const PAGE: usize = 50_000;
const PAGE_BYTES: u64 = 64 << 20;
/// A fault of 3 s is felt for at least as long.
const FELT: Duration = Duration::from_millis(2_500);

pub(crate) struct Graph {
    directory: TempDir,
    address: SocketAddr,
    process: Option<PronyProcess>,
}

pub(crate) const FAULTS: [Fault<Graph>; 9] = [
    Fault {
        name: "the server is killed (SIGKILL), and started again at once",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| graph.restart(Signal::KILL),
    },
    Fault {
        name: "it is stopped in order (SIGTERM), and started again",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| graph.restart(Signal::TERM),
    },
    Fault {
        name: "it stands still for 3 s (SIGSTOP)",
        setting: (),
        sign: Sign::Interruption(FELT),
        harm: |graph| {
            graph.process().signal(Signal::STOP);
            thread::sleep(LASTS);
            graph.process().signal(Signal::CONT);
        },
    },
    Fault {
        name: "the disk is full for 3 s (no file may grow)",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| {
            graph.limit_files(Some(FULL_BYTES));
            thread::sleep(LASTS);
            graph.limit_files(None);
        },
    },
    Fault {
        name: "each write to the log fails for 3 s (EIO)",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| graph.while_injected("pwrite64", "error=EIO"),
    },
    Fault {
        name: "a sync fails once (EIO), and the server is started again after 3 s",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| {
            graph.while_injected("fdatasync", "error=EIO:when=1");
            graph.restart(Signal::TERM);
        },
    },
    Fault {
        name: "a sync fails once (EIO), and the server is killed after 3 s (SIGKILL) and started again",
        setting: (),
        sign: Sign::Failures,
        harm: |graph| {
            graph.while_injected("fdatasync", "error=EIO:when=1");
            graph.restart(Signal::KILL);
        },
    },
    Fault {
        name: "a sync takes 3 s",
        setting: (),
        sign: Sign::Interruption(FELT),
        harm: |graph| graph.while_injected("fdatasync", "delay_enter=3000000:when=1"),
    },
    Fault {
        name: "each sync takes 50 ms longer for 3 s",
        setting: (),
        sign: Sign::None,
        harm: |graph| graph.while_injected("fdatasync", "delay_enter=50000"),
    },
];

impl Site for Graph {
    type Setting = ();

    fn start((): ()) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut graph = Self { directory, address, process: None };
        graph.serve();
        let declared = ureq::post(graph.url("schema/nodes/User/properties/number/integer")).send_empty();
        assert!(declared.is_ok(), "a property is declared: {declared:?}");
        graph
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn call() -> impl Call {
        CreateNode
    }

    fn found(&mut self) -> Found {
        self.restart(Signal::KILL);
        let mut found = Found::default();
        loop {
            let path = format!("nodes/User?skip={}&limit={PAGE}", found.keys.len());
            let nodes = self.get(&path);
            let nodes = nodes.as_array().expect("nodes are a list");
            for node in nodes {
                let key = node["key"].as_str().and_then(|key| key.parse().ok());
                let key: u64 = key.expect("keys are numbers here");
                assert!(found.keys.insert(key), "a key is there once");
                found.in_part += usize::from(node["properties"]["number"].as_u64() != Some(key));
            }
            if nodes.len() < PAGE {
                return found;
            }
        }
    }
}

impl Graph {
    /// Starts the server, once the one before has ended.
    fn serve(&mut self) {
        if let Some(process) = self.process.take() {
            process.wait();
        }
        let mut command = Command::new("taskset");
        command.args(["-c", TARGET_CORE, PRONY, "serve"]);
        command.arg(format!("graph:{}", self.directory.path().join("rage").display()));
        command.args(["--listen", &self.address.to_string(), "--cpus", "1", "--grace-ms", "2000"]);
        let mut process = PronyProcess::start_command(command);
        process.wait_for_url();
        self.process = Some(process);
    }

    fn restart(&mut self, signal: Signal) {
        self.process().signal(signal);
        self.serve();
    }

    fn process(&self) -> &PronyProcess {
        self.process.as_ref().expect("it is served")
    }

    /// How large files may grow, which the server meets as it meets a full disk.
    fn limit_files(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.process().id().cast_signed());
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(pid, Resource::Fsize, limit).expect("of our own process");
    }

    /// For the length of a fault system calls of the log's thread go as strace is told.
    fn while_injected(&self, calls: &str, how: &str) {
        let threads = threads_named(self.process().id(), LOG_THREAD);
        let injection = Injection::begin(&threads, calls, how, None);
        thread::sleep(LASTS);
        injection.end();
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/db/rage/{path}", self.address)
    }

    fn get(&self, path: &str) -> Value {
        let response = ureq::get(self.url(path)).call();
        let mut response = response.unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = response.body_mut().with_config().limit(PAGE_BYTES).read_to_string();
        serde_json::from_str(&text.expect("it responds to the end")).expect("nodes are JSON")
    }
}

struct CreateNode;

impl Call for CreateNode {
    fn request(&self, key: u64) -> Vec<u8> {
        let body = format!("{{\"number\":{key}}}");
        let head = format!("POST /db/rage/node/User/{key} HTTP/1.1\r\nhost: localhost");
        format!("{head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    }

    fn fate(&self, status: u16, body: &str) -> Fate {
        let what = format!("{status}: {}", body.trim_matches('"'));
        match status {
            201 => Fate::Acknowledged,
            _ if body.contains("unknown") => Fate::Unknown(what),
            _ => Fate::Refused(what),
        }
    }
}
