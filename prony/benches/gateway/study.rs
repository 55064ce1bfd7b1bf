//! The study's operations before an upstream that answers each at once with what `prony example starwars` answers: the gateway with a
//! token and limits of rate, depth and complexity, and runs of wrk against it and against what stands beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use prony_experiments::gateway::TokenKey;
use prony_testkit::free_port;
use tempfile::TempDir;

use crate::{
    SECONDS, TARGET_CORE, TOOL_CORE,
    gateway::backend,
    nginx::Nginx,
    process::cpu_seconds,
    statistics::{median, median_ratio},
    subject::Subject,
    tool::{number_after, number_before, pinned},
};

pub(crate) const CONNECTIONS: u32 = 64;
const DAY_S: u64 = 86_400;

/// What all operations share.
pub(crate) struct Study {
    pub(crate) credentials: Credentials,
    pub(crate) schema: PathBuf,
    pub(crate) example: Subject,
    pub(crate) folder: TempDir,
}

impl Study {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let credentials = Credentials::new(folder.path());
        let schema = folder.path().join("schema.graphql");
        let example = backend();
        fs::write(&schema, sdl(&example.graphql_url())).expect("room for a small file");
        Self { credentials, schema, example, folder }
    }

    /// What is answered to an operation.
    pub(crate) fn answer(&self, query: &str) -> String {
        let answer = self.example.post(query, "{}", "");
        answer.split_once("\r\n\r\n").expect("a whole response").1.to_owned()
    }

    /// The gateway before an upstream: a token, a rate for each user, depth and complexity.
    pub(crate) fn serve(&self, upstream: &str, flags: &[&str]) -> Subject {
        let path = self.folder.path().join("prony.toml");
        let text = format!(
            "[graphql]\nmax_depth = 5\nmax_complexity = 20000\n\
             [[auth.jwt]]\nkey_file = {:?}\nalgorithms = [\"RS256\"]\nclaims = {{ role = \"/role\" }}\n\
             [roles.reader]\nunrestricted = true\n\
             [[operation]]\nmatch = \"Query.*\"\nrate_limit = [{{ by = \"user\", rate = \"1000000/s\", burst = 100000 }}]\n\
             [[source]]\nname = \"backend\"\nupstream = \"{}/graphql\"\nschema_file = {:?}\n",
            self.credentials.public_key.display(),
            upstream,
            self.schema.display()
        );
        fs::write(&path, text).expect("room for a small file");
        let flags = [&["--cpus", "1"], flags].concat();
        Subject::start(&format!("--config={}", path.display()), &flags, Some(TARGET_CORE))
    }

    /// For wrk: an operation with the token.
    pub(crate) fn script(&self, query: &str) -> PathBuf {
        let path = self.folder.path().join("query.lua");
        fs::write(&path, wrk_script(query, &self.credentials.token)).expect("room for a small file");
        path
    }
}

/// One run of wrk against one of the two.
pub(crate) struct Run {
    pub(crate) per_s: f64,
    pub(crate) cpu_us: f64,
}

/// The head of a table of [`row`]s.
pub(crate) fn head(peer: &str) -> Vec<String> {
    let columns = [
        "operation and response",
        &format!("{peer}/s"),
        "Prony/s",
        "ratio",
        &format!("{peer}, µs of processor time"),
        "Prony, µs",
        "ratio",
    ];
    columns.map(str::to_owned).to_vec()
}

pub(crate) fn row(label: String, rounds: &[Vec<Run>; 2]) -> Vec<String> {
    let column = |side: usize, pick: fn(&Run) -> f64| rounds[side].iter().map(pick).collect::<Vec<_>>();
    let ratio = |pick: fn(&Run) -> f64| format!("{:.2}", median_ratio(&column(1, pick), &column(0, pick)));
    let middle = |side: usize, pick: fn(&Run) -> f64| median(&column(side, pick));
    vec![
        label,
        format!("{:.0}", middle(0, |run| run.per_s)),
        format!("{:.0}", middle(1, |run| run.per_s)),
        ratio(|run| run.per_s),
        format!("{:.1}", middle(0, |run| run.cpu_us)),
        format!("{:.1}", middle(1, |run| run.cpu_us)),
        ratio(|run| run.cpu_us),
    ]
}

pub(crate) fn measure(url: &str, pid: u32, script: &Path) -> Run {
    let path = script.display().to_string();
    let (connections, seconds) = (format!("-c{CONNECTIONS}"), format!("-d{SECONDS}s"));
    let arguments =
        ["-t1", &connections, &seconds, "-s", &path, &format!("{url}/graphql")].map(str::to_owned);
    let before = cpu_seconds(pid);
    let (text, _) = pinned("wrk", &arguments);
    let used = cpu_seconds(pid) - before;
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures:\n{text}");
    let requests = number_before(&text, " requests in");
    Run { per_s: number_after(&text, "Requests/sec:"), cpu_us: used * 1e6 / requests }
}

fn wrk_script(query: &str, token: &str) -> String {
    let body = serde_json::json!({ "query": query }).to_string();
    format!(
        "wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\nwrk.headers[\"content-type\"] = \"application/json\"\n\
         wrk.headers[\"authorization\"] = \"Bearer {token}\"\n"
    )
}

/// What the example serves, in the schema definition language.
fn sdl(url: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_prony")).args(["schema", url]).output().expect("prony runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("schemas are text")
}

/// A token of one user, and the key by which it is known.
pub(crate) struct Credentials {
    pub(crate) token: String,
    key: TokenKey,
    pub(crate) public_key: PathBuf,
}

impl Credentials {
    fn new(folder: &Path) -> Self {
        let (key, public_key) = (TokenKey::generate().expect("randomness"), folder.join("public.pem"));
        fs::write(&public_key, key.public_pem().expect("it was just made")).expect("room for a small file");
        let token = Self::sign(&key, 1);
        Self { token, key, public_key }
    }

    /// Of one user of many.
    pub(crate) fn token_of(&self, user: u32) -> String {
        Self::sign(&self.key, user)
    }

    fn sign(key: &TokenKey, user: u32) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        let claims = serde_json::json!({ "sub": user.to_string(), "role": "reader", "exp": now + DAY_S });
        key.sign(&claims).expect("keys sign")
    }
}

/// nginx that answers every POST with one file, beside the load.
pub(crate) struct Constant {
    pub(crate) port: u16,
    _nginx: Nginx,
}

impl Constant {
    pub(crate) fn start(body: &str) -> Self {
        let port = free_port();
        let nginx = Nginx::start_configured(TOOL_CORE, [port, 0], |folder| {
            fs::write(folder.join("graphql"), body).expect("room for a small file");
            // Files answer GET alone: an internal redirect makes one of a POST.
            let server = format!(
                "server {{ listen 127.0.0.1:{port} backlog=4096; root {}; default_type application/json;\n\
                 location / {{ error_page 405 =200 $uri; }} }}",
                folder.display()
            );
            http(folder, &server)
        });
        Self { port, _nginx: nginx }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// One worker that keeps its connections, with a certificate.
pub(crate) fn http(folder: &Path, servers: &str) -> String {
    let root = folder.display();
    format!(
        "worker_processes 1;\ndaemon off;\npid {root}/nginx.pid;\nevents {{ worker_connections 4096; multi_accept on; }}\n\
         http {{ access_log off; client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;\n\
         uwsgi_temp_path {root}/d; scgi_temp_path {root}/e; keepalive_requests 1000000000; keepalive_timeout 300s;\n\
         open_file_cache max=100; sendfile on; tcp_nodelay on; client_body_buffer_size 64k;\n\
         ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; ssl_protocols TLSv1.3;\n{servers}\n}}\n"
    )
}
