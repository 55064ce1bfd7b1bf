//! The gateway beside nginx as a plain proxy, on the same processor in turn: the study's operations, each answered at once with what
//! `prony example starwars` answers; plain, and with TLS to the client. The gateway asks for a token, and has limits of rate, depth
//! and complexity; nginx only passes on.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use prony_testkit::free_port;

use crate::{
    ROUNDS, SECONDS, TARGET_CORE, TOOL_CORE,
    gateway::{OPERATIONS, backend, percentile_ms, run_with},
    nginx::Nginx,
    process::cpu_seconds,
    statistics::{median, median_ratio, print_table},
    subject::Subject,
    tool::{number_after, number_before, pinned},
};

const CONNECTIONS: u32 = 64;
const DAY_S: u64 = 86_400;

/// One run of wrk against one of the two.
struct Run {
    per_s: f64,
    cpu_us: f64,
}

pub(crate) fn beside_nginx() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let credentials = Credentials::new(folder.path());
    let schema = folder.path().join("schema.graphql");
    let example = backend();
    fs::write(&schema, sdl(&example.graphql_url())).expect("room for a small file");
    let mut rows = vec![head()];
    let mut latencies = vec![["operation", "rate/s", "", "p50", "p99"].map(str::to_owned).to_vec()];
    for (name, query) in OPERATIONS {
        let answer = example.post(query, "{}", "");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).expect("a whole response");
        let upstream = Constant::start(body);
        let proxy = start_proxy(upstream.port);
        let (certificate, key) = (proxy.path("cert.pem"), proxy.path("key.pem"));
        let configuration = configuration(folder.path(), &schema, &credentials, upstream.port);
        let serve = |flags: &[&str]| {
            let flags = [&["--cpus", "1"], flags].concat();
            Subject::start(&format!("--config={}", configuration.display()), &flags, Some(TARGET_CORE))
        };
        let plain = serve(&[]);
        let tls = ["--tls-certificate", &certificate, "--tls-key", &key];
        let secure = serve(&tls);
        let script = folder.path().join("query.lua");
        fs::write(&script, wrk_script(query, &credentials.token)).expect("room for a small file");
        let mut limit = f64::NAN;
        for (is_secure, gateway) in [(false, &plain), (true, &secure)] {
            let theirs = if is_secure { proxy.tls_url("") } else { proxy.url("") };
            let mut rounds: [Vec<Run>; 2] = Default::default();
            for _ in 0..ROUNDS {
                rounds[0].push(measure(&theirs, proxy.pid(), &script));
                rounds[1].push(measure(&gateway.url, gateway.pid(), &script));
            }
            let label = format!("{name}, {} bytes{}", body.len(), if is_secure { ", TLS" } else { "" });
            if !is_secure {
                limit = median(&rounds[1].iter().map(|run| run.per_s).collect::<Vec<_>>());
            }
            rows.push(row(label, &rounds));
        }
        let load = format!("users = {CONNECTIONS}\nrate = {:.0}\nduration = \"{SECONDS}s\"", limit / 2.0);
        let header = format!("authorization = \"Bearer {}\"", credentials.token);
        let targets =
            [("the upstream alone", upstream.url()), ("nginx", proxy.url("")), ("Prony", plain.url.clone())];
        let mut found: [Vec<[f64; 2]>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for ((_, url), found) in targets.iter().zip(&mut found) {
                let result = run_with(url, query, &header, &load);
                found.push([50.0, 99.0].map(|percentile| percentile_ms(&result, percentile)));
            }
        }
        for ((target, _), found) in targets.iter().zip(&found) {
            let of =
                |at: usize| format!("{:.3} ms", median(&found.iter().map(|run| run[at]).collect::<Vec<_>>()));
            latencies.push(vec![
                name.to_owned(),
                format!("{:.0}", limit / 2.0),
                (*target).to_owned(),
                of(0),
                of(1),
            ]);
        }
    }
    print_table(&rows);
    print_table(&latencies);
}

fn head() -> Vec<String> {
    let columns = [
        "operation and response",
        "nginx/s",
        "Prony/s",
        "ratio",
        "nginx, µs of processor time",
        "Prony, µs",
        "ratio",
    ];
    columns.map(str::to_owned).to_vec()
}

fn row(label: String, rounds: &[Vec<Run>; 2]) -> Vec<String> {
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

fn measure(url: &str, pid: u32, script: &Path) -> Run {
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

/// As the contract of the study has it: a token, a rate for each user, depth and complexity.
fn configuration(folder: &Path, schema: &Path, credentials: &Credentials, upstream: u16) -> PathBuf {
    let path = folder.join("prony.toml");
    let text = format!(
        "[graphql]\nmax_depth = 5\nmax_complexity = 20000\n\
         [[auth.jwt]]\nkey_file = {:?}\nalgorithms = [\"RS256\"]\nclaims = {{ role = \"/role\" }}\n\
         [roles.reader]\nunrestricted = true\n\
         [[operation]]\nmatch = \"Query.*\"\nrate_limit = [{{ by = \"user\", rate = \"1000000/s\", burst = 100000 }}]\n\
         [[source]]\nname = \"backend\"\nupstream = \"http://127.0.0.1:{upstream}/graphql\"\nschema_file = {:?}\n",
        credentials.public_key.display(),
        schema.display()
    );
    fs::write(&path, text).expect("room for a small file");
    path
}

/// A token of one user, and the key by which it is known.
struct Credentials {
    token: String,
    public_key: PathBuf,
}

impl Credentials {
    fn new(folder: &Path) -> Self {
        let (private, public_key) = (folder.join("private.pem"), folder.join("public.pem"));
        openssl(&["genrsa", "-out", &private.display().to_string(), "2048"], b"");
        let pem = openssl(&["rsa", "-in", &private.display().to_string(), "-pubout"], b"");
        fs::write(&public_key, pem).expect("room for a small file");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        let claims = format!(r#"{{"sub":"1","role":"reader","exp":{}}}"#, now + DAY_S);
        let signed =
            [br#"{"alg":"RS256","typ":"JWT"}"#.as_slice(), claims.as_bytes()].map(base64_url).join(".");
        let signature =
            openssl(&["dgst", "-sha256", "-sign", &private.display().to_string()], signed.as_bytes());
        Self { token: format!("{signed}.{}", base64_url(&signature)), public_key }
    }
}

/// As tokens have it (RFC 7515, section 2).
fn base64_url(bytes: &[u8]) -> String {
    let text = String::from_utf8(openssl(&["base64", "-A"], bytes)).expect("it is ASCII");
    text.trim_end().trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("openssl is installed");
    child.stdin.take().expect("it is piped").write_all(input).expect("openssl reads");
    let output = child.wait_with_output().expect("openssl ends");
    assert!(output.status.success(), "openssl {arguments:?} failed");
    output.stdout
}

/// nginx that answers every POST with one file, beside the load.
struct Constant {
    port: u16,
    _nginx: Nginx,
}

impl Constant {
    fn start(body: &str) -> Self {
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

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// With connections to the upstream that are kept, and buffers that hold a whole response.
fn start_proxy(upstream: u16) -> Nginx {
    let ports = [free_port(), free_port()];
    Nginx::start_configured(TARGET_CORE, ports, |folder| {
        let [plain, secure] = ports;
        let server = format!(
            "upstream backend {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000000; }}\n\
             server {{ listen 127.0.0.1:{plain} backlog=4096; listen 127.0.0.1:{secure} ssl backlog=4096;\n\
             location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
             proxy_buffer_size 32k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k; }} }}"
        );
        http(folder, &server)
    })
}

/// One worker that keeps its connections, with a certificate.
fn http(folder: &Path, servers: &str) -> String {
    let root = folder.display();
    format!(
        "worker_processes 1;\ndaemon off;\npid {root}/nginx.pid;\nevents {{ worker_connections 4096; multi_accept on; }}\n\
         http {{ access_log off; client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;\n\
         uwsgi_temp_path {root}/d; scgi_temp_path {root}/e; keepalive_requests 1000000000; keepalive_timeout 300s;\n\
         open_file_cache max=100; sendfile on; tcp_nodelay on; client_body_buffer_size 64k;\n\
         ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; ssl_protocols TLSv1.3;\n{servers}\n}}\n"
    )
}
