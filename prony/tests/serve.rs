//! `prony serve` and `prony schema` from outside: what a user types, and what the process says and returns.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use expect_test::expect;
use prony_testkit::{
    PronyProcess, RedisServer, certificates::Certificates, chinook::sqlite_copy, process::Finished,
};
use rustix::process::{Pid, Signal, kill_process};

fn prony(arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments);
    PronyProcess::start_command(command)
}

fn run(arguments: &[&str]) -> Finished {
    prony(arguments).wait()
}

/// The response to a request that asks for the connection to be closed.
fn ask(url: &str, path: &str, body: Option<&str>) -> String {
    let address = url.strip_prefix("http://").expect("the URL is ours");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = "host: localhost\r\nconnection: close\r\n";
    let request = match body {
        None => format!("GET {path} HTTP/1.1\r\n{head}\r\n"),
        Some(body) => format!(
            "POST {path} HTTP/1.1\r\n{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    };
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

#[test]
fn a_database_is_served_until_the_signal() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let mut process = prony(&["serve", &source, "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let url = process.wait_for_url();
    let response =
        ask(&url, "/graphql", Some(r#"{"query":"{ artists(limit: 1) { Name albums { Title } } }"}"#));
    assert!(response.contains(r#"{"data":{"artists":[{"Name":"AC/DC","albums":["#), "{response}");
    assert!(ask(&url, "/health", None).starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&url, "/", None).contains("<title>Prony</title>"));
    let finished = process.stop();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    for line in ["serving a source", "listening on http://127.0.0.1:", "stopping", "stopped"] {
        assert!(finished.stderr.contains(line), "{line} is not in\n{}", finished.stderr);
    }
    assert_eq!(finished.stdout, "");
}

#[test]
fn who_reads_that_it_listens_may_stop_it_in_the_next_moment() {
    for _ in 0..30 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "1"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut lines = log.lines().map(|line| line.expect("logs are text"));
        assert!(lines.any(|line| line.contains("listening on")));
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{rest:?}");
    }
}

#[test]
fn logs_can_be_json() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let mut process = prony(&["serve", &source, "--listen", "127.0.0.1:0", "--log-format", "json"]);
    process.wait_for_url();
    let finished = process.stop();
    let objects = finished.stderr.lines().map(serde_json::from_str::<serde_json::Value>);
    let messages: Vec<String> = objects
        .map(|object| object.expect("each line is JSON")["message"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(messages.iter().any(|message| message.starts_with("listening on http://")), "{messages:?}");
}

#[test]
fn two_servers_on_one_port() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let mut first = prony(&["serve", &source, "--listen", "127.0.0.1:0"]);
    let address = first.wait_for_url().replace("http://", "");
    let second = run(&["serve", &source, "--listen", &address]);
    assert_eq!(second.status.code(), Some(2));
    let expected =
        format!("error: cannot listen on {address}: the port is in use by prony (process {})", first.id());
    assert!(second.stderr.contains(&expected), "{}", second.stderr);
}

#[test]
fn what_cannot_start_says_why_and_returns_2() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let missing = directory.path().join("missing.db");
    let no_database = directory.path().join("text.db");
    fs::write(&no_database, "not a database, but longer than the header of one would be".repeat(4))
        .expect("it can be written");
    let config = directory.path().join("prony.toml");
    fs::write(
        &config,
        "[server]\nlisten = 8080\nmax_heders = 5\n[[source]]\nurl = \"sqlite:a.db\"\nmax_limit = -1\n",
    )
    .expect("it can be written");
    let missing = format!("sqlite:{}", missing.display());
    let no_database = format!("sqlite:{}", no_database.display());
    let config = config.display().to_string();
    let cases: [&[&str]; 6] = [
        &["serve"],
        &["serve", "mysql://host/shop"],
        &["serve", &missing],
        &["serve", &no_database],
        &["serve", "--config", &config],
        &["serve", "sqlite:a.db", "--listen", "nowhere", "--cpus", "none"],
    ];
    let mut all = String::new();
    for arguments in cases {
        let finished = run(arguments);
        assert_eq!(finished.status.code(), Some(2), "{arguments:?}: {}", finished.stderr);
        // Log lines begin with the time.
        let said =
            finished.stderr.lines().filter(|line| !line.starts_with("20")).collect::<Vec<_>>().join("\n");
        all.push_str(&said);
        all.push('\n');
    }
    let shown = all.replace(&*directory.path().to_string_lossy(), "DIRECTORY");
    expect![[r#"
        error: source: none is given; write `prony serve sqlite:FILE`, `prony serve postgres://…`, `prony serve graph:DIRECTORY`, `prony serve series:DIRECTORY`, `prony serve https://HOST/graphql`, or [[source]] in the file of --config
        error: source: `mysql://host/shop` is no source; write sqlite:FILE, postgres://…, graph:DIRECTORY, series:DIRECTORY or https://HOST/graphql
        error: source `missing` cannot be opened: there is no file `DIRECTORY/missing.db`: check the path (a missing database is not created)
        error: source `text` cannot be opened: `DIRECTORY/text.db` is no SQLite database
        error: the configuration has 3 faults
          DIRECTORY/prony.toml:2:10: `listen`: write a list of texts, not a whole number
          DIRECTORY/prony.toml:3:1: `max_heders` is no option of [server]; did you mean `max_headers`?
          DIRECTORY/prony.toml:6:13: `max_limit`: -1 is out of range; write a whole number from 1 to 4294967295
        error: the configuration has 2 faults
          --cpus: `none` is no whole number; write a whole number from 1 to 1024
          --listen: `nowhere` is no address; write ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:8080
    "#]].assert_eq(&shown);
}

#[test]
fn the_schema_is_printed() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let language = run(&["schema", &source]);
    assert_eq!(language.status.code(), Some(0), "{}", language.stderr);
    assert!(language.stdout.contains("type Album {"), "{}", language.stdout);
    let json = run(&["schema", &source, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("it is JSON");
    assert_eq!(value["data"]["__schema"]["queryType"]["name"], "Query");
}

/// With a password of the environment, over TLS by authorities of a file; and the log says when it is lost.
#[test]
fn servers_share_limits_over_tls() {
    let certificates = Certificates::new();
    let (certificate, key) = certificates.server_files(&["localhost"]);
    let port = prony_testkit::free_port().to_string();
    let path = |path: &std::path::Path| path.display().to_string();
    let files = [path(&certificate), path(&key), path(&certificates.ca_path())];
    let words = ["--tls-port", &port, "--tls-auth-clients", "no", "--requirepass", "secret"];
    let of_tls = ["--tls-cert-file", &files[0], "--tls-key-file", &files[1], "--tls-ca-cert-file", &files[2]];
    let redis = RedisServer::start(&[&words[..], &of_tls[..]].concat());
    let database = sqlite_copy();
    let folder = tempfile::tempdir().expect("a directory can be made");
    let file = folder.path().join("prony.toml");
    let text = format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\ncpus = 1\n[auth]\nanonymous = \"visitor\"\n[roles.visitor]\nunrestricted = true\n\
         [[source]]\nurl = \"sqlite:{}\"\n[[operation]]\nmatch = \"Query.artists\"\nquota = [{{ by = \"everybody\", month = 3 }}]\n\
         [limits]\nredis = \"rediss://:${{REDIS_PASSWORD}}@localhost:{port}\"\nredis_timeout_ms = 5000\n",
        database.path().display()
    );
    fs::write(&file, text).expect("it can be written");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["serve", "--config"]).arg(&file);
        command.env("REDIS_PASSWORD", "secret").env("SSL_CERT_FILE", certificates.ca_path());
        PronyProcess::start_command(command)
    };
    let (mut one, mut other) = (start(), start());
    let urls = [one.wait_for_url(), other.wait_for_url()];
    let query = Some(r#"{"query":"{ artists(limit: 1) { Name } }"}"#);
    let let_in = (0..12).filter(|index| ask(&urls[index % 2], "/graphql", query).starts_with("HTTP/1.1 200"));
    assert_eq!(let_in.count(), 3);
    let health = ask(&urls[0], "/health", None);
    assert!(health.contains(r#""shared_limits":{"redis":"rediss://localhost:"#), "{health}");
    assert!(health.starts_with("HTTP/1.1 200 OK") && !health.contains("secret"), "{health}");
    drop(redis);
    one.wait_for_text("limits are not shared with other servers");
    let finished = one.stop();
    assert!(
        finished.stderr.contains("limits=\"local\"") && !finished.stderr.contains("secret"),
        "{}",
        finished.stderr
    );
    assert_eq!(other.stop().status.code(), Some(0));
}
