//! nginx as a target: one worker on its own processor, constant answers of some sizes, plain, over TLS and HTTP/2.

use crate::TARGET_CORE;
use prony_testkit::free_port;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Answers: the path and how many bytes of body it has.
pub(crate) const SIZES: [(&str, usize); 3] = [("/42", 42), ("/1k", 1_000), ("/64k", 64_000)];
/// What `/graphql` answers, whatever is asked.
const GRAPHQL_ANSWER: &str = r#"{"data":{"albums":[{"id":1,"title":"First","artist":{"name":"A"}},{"id":2,"title":"Second","artist":{"name":"B"}},{"id":3,"title":"Third","artist":{"name":"C"}}]}}"#;
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A running nginx; dropped, it ends and its directory goes.
pub(crate) struct Nginx {
    process: Child,
    directory: tempfile::TempDir,
    plain: u16,
    secure: u16,
    http2: u16,
}

impl Nginx {
    /// On its own processor.
    pub(crate) fn start() -> Self {
        Self::start_with(&["taskset", "-c", TARGET_CORE, "nginx"], "")
    }

    /// On whatever processor is free.
    pub(crate) fn start_unpinned() -> Self {
        Self::start_with(&["nginx"], "")
    }

    /// On its own processor; every path below `/db/` has this answer, of type JSON, whatever the method.
    pub(crate) fn start_answering(status: u16, json: &str) -> Self {
        Self::start_answering_below("/db/", status, json)
    }

    /// As [`start_answering`](Self::start_answering), for other paths.
    pub(crate) fn start_answering_below(prefix: &str, status: u16, json: &str) -> Self {
        assert!(!json.contains(['\'', '$', '\\']), "such an answer would have to be escaped: {json}");
        let location =
            format!("location {prefix} {{ default_type application/json; return {status} '{json}'; }}");
        Self::start_with(&["taskset", "-c", TARGET_CORE, "nginx"], &location)
    }

    /// On which it listens without TLS.
    #[allow(dead_code, reason = "each benchmark uses its part of this module")]
    pub(crate) fn port(&self) -> u16 {
        self.plain
    }

    /// Of the master, whose child works.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// On this processor, by a configuration of its own for its directory, in which a certificate is; `ports` are those on which it
    /// listens without TLS and with it, if it does.
    #[allow(dead_code, reason = "each benchmark uses its part of this module")]
    pub(crate) fn start_configured(
        core: &str,
        [plain, secure]: [u16; 2],
        configuration: impl FnOnce(&Path) -> String,
    ) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let text = configuration(directory.path());
        Self::spawn(&["taskset", "-c", core, "nginx"], directory, &text, [plain, secure, 0])
    }

    /// A file of its directory.
    #[allow(dead_code, reason = "each benchmark uses its part of this module")]
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn start_with(command: &[&str], location: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [plain, secure, http2] = std::array::from_fn(|_| free_port());
        for (path, size) in SIZES {
            fs::write(directory.path().join(&path[1..]), "x".repeat(size)).expect("room for small files");
        }
        fs::write(directory.path().join("zip.txt"), hexadecimals(64_000)).expect("room for small files");
        let configuration = configuration(directory.path(), plain, secure, http2, location);
        Self::spawn(command, directory, &configuration, [plain, secure, http2])
    }

    fn spawn(
        command: &[&str],
        directory: tempfile::TempDir,
        configuration: &str,
        [plain, secure, http2]: [u16; 3],
    ) -> Self {
        make_certificate(directory.path());
        fs::write(directory.path().join("nginx.conf"), configuration).expect("room for small files");
        let process = Command::new(command[0])
            .args(&command[1..])
            .arg("-p")
            .arg(directory.path())
            .args(["-c", "nginx.conf", "-e", "error.log"])
            .stderr(Stdio::null())
            .spawn()
            .expect("taskset and nginx are installed");
        let nginx = Self { process, directory, plain, secure, http2 };
        nginx.wait();
        nginx
    }

    fn wait(&self) {
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.plain)).is_err() {
            let log = fs::read_to_string(self.directory.path().join("error.log")).unwrap_or_default();
            assert!(begin.elapsed() < START_TIMEOUT, "nginx does not start:\n{log}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.plain)
    }

    pub(crate) fn tls_url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.secure)
    }

    /// HTTP/2 from the first byte.
    pub(crate) fn http2_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.http2)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let id = self.process.id().to_string();
        // SIGQUIT ends master and worker.
        let _ = Command::new("kill").args(["-QUIT", &id]).status();
        let _ = self.process.wait();
    }
}

/// Text that takes work to compress.
fn hexadecimals(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut text = String::new();
    while text.len() < bytes {
        // Constants of Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(text, "{:08x}", state >> 32).expect("writing into memory does not fail");
    }
    text
}

fn make_certificate(directory: &Path) {
    let status = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(directory)
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "openssl is needed to make a certificate");
}

fn configuration(directory: &Path, plain: u16, secure: u16, http2: u16, location: &str) -> String {
    let root = directory.display();
    let small = "x".repeat(42);
    format!(
        "worker_processes 1;
daemon off;
pid {root}/nginx.pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 18000; multi_accept on; }}
http {{
  access_log off;
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  keepalive_requests 1000000000;
  keepalive_timeout 300s;
  open_file_cache max=100;
  sendfile on;
  tcp_nodelay on;
  http2_max_concurrent_streams 1000;
  ssl_certificate {root}/cert.pem;
  ssl_certificate_key {root}/key.pem;
  ssl_protocols TLSv1.3;
  server {{
    listen 127.0.0.1:{plain} backlog=16384;
    listen 127.0.0.1:{secure} ssl http2 backlog=16384;
    listen 127.0.0.1:{http2} http2 backlog=16384;
    root {root};
    location = /42 {{ return 200 \"{small}\"; }}
    location / {{ }}
    location = /zip {{ alias {root}/zip.txt; default_type text/plain; gzip on; gzip_comp_level 6; gzip_types text/plain; }}
    location /any/ {{ return 200 \"{small}\"; }}
    {location}
    location = /graphql {{ default_type application/json; return 200 '{GRAPHQL_ANSWER}'; }}
  }}
}}
"
    )
}
