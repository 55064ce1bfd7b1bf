//! The gateway beside Hive Gateway (npm), each with a token, before the same upstream, on the same processor in turn.

use std::{
    fs,
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::free_port;

use crate::{
    ROUNDS, TARGET_CORE,
    gateway::OPERATIONS,
    statistics::print_table,
    study::{Constant, Run, Study, head, measure, row},
};

/// Until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn beside_hive() {
    let study = Study::new();
    let mut rows = vec![head("Hive Gateway")];
    for (name, query) in OPERATIONS {
        let body = study.answer(query);
        let upstream = Constant::start(&body);
        let gateway = study.serve(&upstream.url(), &[]);
        let peer = HiveGateway::start(&study, &upstream);
        let script = study.script(query);
        let mut rounds: [Vec<Run>; 2] = Default::default();
        for _ in 0..ROUNDS {
            rounds[0].push(measure(&peer.url, peer.child.id(), &script));
            rounds[1].push(measure(&gateway.url, gateway.pid(), &script));
        }
        rows.push(row(format!("{name}, {} bytes", body.len()), &rounds));
    }
    print_table(&rows);
}

/// In production mode, from `benches/peers/hive-gateway`.
struct HiveGateway {
    child: Child,
    url: String,
}

impl HiveGateway {
    fn start(study: &Study, upstream: &Constant) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/hive-gateway");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hive-gateway");
        if !folder.join("node_modules/.bin/hive-gateway").exists() {
            install(&source, &folder);
        }
        let port = free_port();
        let child = Command::new("taskset")
            .args(["-c", TARGET_CORE, "node", "node_modules/.bin/hive-gateway", "proxy"])
            .args(["-c", "gateway.config.mjs", "--schema"])
            .arg(&study.schema)
            .arg(format!("{}/graphql", upstream.url()))
            .current_dir(&folder)
            .env("PUBLIC_KEY", &study.credentials.public_key)
            .env("PORT", port.to_string())
            .env("NODE_ENV", "production")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("taskset and node can be started");
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < START_TIMEOUT, "Hive Gateway does not listen");
            thread::sleep(Duration::from_millis(100));
        }
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }
}

fn install(source: &Path, folder: &Path) {
    fs::create_dir_all(folder).expect("the build folder is writable");
    for file in ["package.json", "package-lock.json", ".npmrc", "gateway.config.mjs"] {
        fs::copy(source.join(file), folder.join(file)).expect("the peer's files can be copied");
    }
    let installed = Command::new("npm").arg("ci").current_dir(folder).stdout(Stdio::null()).status();
    assert!(installed.is_ok_and(|status| status.success()), "npm ci failed in {}", folder.display());
}

impl Drop for HiveGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
