//! `prony serve` and `prony schema` from outside: what a user types, and what the process says and returns.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixDatagram,
    process::{Command, Stdio},
    time::{Duration, Instant},
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

/// A rule for a field that is not there asks nothing of the one that was meant.
#[test]
fn a_rule_for_a_field_that_is_not_there_is_told() {
    let database = sqlite_copy();
    let folder = tempfile::tempdir().expect("a directory can be made");
    let file = folder.path().join("prony.toml");
    let rule = |field: &str| format!("[[operation]]\nmatch = \"{field}\"\nscopes = [\"music\"]\n");
    let text = format!(
        "[[source]]\nurl = \"sqlite:{}\"\n[auth]\nanonymous = \"all\"\n[roles.all]\nunrestricted = true\n{}{}{}",
        database.path().display(),
        rule("Query.artist"),
        rule("Query.albums"),
        rule("Query.__schema"),
    );
    fs::write(&file, text).expect("it is ours");
    let mut process =
        prony(&["serve", "--config", &file.display().to_string(), "--listen", "127.0.0.1:0", "--cpus", "1"]);
    process.wait_for_url();
    let finished = process.stop();
    let told: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("[[operation]]")).collect();
    assert!(matches!(*told, [only] if only.contains("did you mean `artists`?")), "{}", finished.stderr);
}

/// Clients choose the names of their operations, and with such a name they needed none of the scopes of what they ask for.
#[test]
fn a_rule_for_a_name_that_lifts_scopes_is_told() {
    let database = sqlite_copy();
    let folder = tempfile::tempdir().expect("a directory can be made");
    let file = folder.path().join("prony.toml");
    let text = format!(
        "[[source]]\nurl = \"sqlite:{}\"\n[auth]\nanonymous = \"all\"\n[roles.all]\nunrestricted = true\n\
         [[operation]]\nmatch = \"Query.artists\"\nscopes = [\"music\"]\n\
         [[operation]]\nname = \"Lifts\"\nrate_limit = [{{ by = \"user\", rate = \"1/s\" }}]\n\
         [[operation]]\nname = \"Keeps\"\nscopes = [\"music\"]\n",
        database.path().display(),
    );
    fs::write(&file, text).expect("it is ours");
    let mut process =
        prony(&["serve", "--config", &file.display().to_string(), "--listen", "127.0.0.1:0", "--cpus", "1"]);
    process.wait_for_url();
    let finished = process.stop();
    let told: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("[[operation]]")).collect();
    let is_it = |line: &str| line.contains("rule=\"Lifts\"") && line.contains("`Query.artists`");
    assert!(matches!(*told, [only] if is_it(only)), "{}", finished.stderr);
}

/// Whoever rotates logs or renews certificates does not know whether the server has begun already.
#[test]
fn a_hangup_while_sources_are_opened_ends_nothing() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let file = folder.path().join("prony.toml");
    // Nobody listens at port 1.
    let text = "[[source]]\nurl = \"postgres://ann@127.0.0.1:1/shop\"\nconnect_wait_ms = 3000\n";
    fs::write(&file, text).expect("it is ours");
    let mut process =
        prony(&["serve", "--config", &file.display().to_string(), "--listen", "127.0.0.1:0", "--cpus", "1"]);
    process.wait_for_text("cannot connect yet");
    process.signal(Signal::HUP);
    let finished = process.wait();
    assert_eq!(finished.status.code(), Some(2), "{:?} {}", finished.status, finished.stderr);
    assert!(finished.stderr.contains("source `shop` cannot be opened"), "{}", finished.stderr);
}

#[test]
fn databases_with_the_same_tables_are_served_beside_each_other() {
    let databases = [sqlite_copy(), sqlite_copy()];
    let sources = databases.each_ref().map(|database| format!("sqlite:{}", database.path().display()));
    let mut process = prony(&["serve", &sources[0], &sources[1], "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let url = process.wait_for_url();
    let query = "{ artists(limit: 1) { Name } chinook_2_artists(limit: 1) { Name albums(limit: 1) { Title } } \
                 chinook_2_artists_aggregate { count } }";
    let response = ask(&url, "/graphql", Some(&format!(r#"{{"query":"{query}"}}"#)));
    let data = r#"{"data":{"artists":[{"Name":"AC/DC"}],"chinook_2_artists":[{"Name":"AC/DC","albums":[{"Title":"For Those About To Rock We Salute You"}]}],"chinook_2_artists_aggregate":{"count":275}}}"#;
    assert!(response.contains(data), "{response}");
    let mutation =
        r#"{"query":"mutation { createChinook2Artist(ArtistId: 7001, Name: \"Fela\") { ArtistId } }"}"#;
    assert!(ask(&url, "/graphql", Some(mutation)).contains("7001"));
    let counts = r#"{"query":"{ artists_aggregate { count } chinook_2_artists_aggregate { count } }"}"#;
    let response = ask(&url, "/graphql", Some(counts));
    let data = r#"{"artists_aggregate":{"count":275},"chinook_2_artists_aggregate":{"count":276}}"#;
    assert!(response.contains(data), "{response}");
    let finished = process.stop();
    assert!(finished.stderr.contains("names of this source begin with its own name"), "{}", finished.stderr);
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

/// Behind the signal `/ready` says that it has come, and connections are taken until the delay is over.
#[test]
fn who_sends_requests_hears_of_the_end_before_it_comes() {
    let delay = ["--shutdown-delay-ms", "1500"];
    let mut process =
        prony(&[&["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "1"], &delay[..]].concat());
    let url = process.wait_for_url();
    assert!(ask(&url, "/ready", None).contains(r#"{"status":"ready"}"#));
    let begun = Instant::now();
    process.signal(Signal::TERM);
    let health = |path: &str| {
        let arguments = ["health", &format!("{url}{path}")];
        (run(&arguments).status.code(), run(&arguments).stdout)
    };
    process.wait_for_text("connections are still taken");
    assert_eq!(health("/ready"), (Some(1), "{\"status\":\"stopping\"}\n".to_owned()));
    assert_eq!(health("/live").0, Some(0));
    let query = Some(r#"{"query":"{ __typename }"}"#);
    assert!(ask(&url, "/graphql", query).contains("Query"), "requests are responded to meanwhile");
    let finished = process.wait();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert!(begun.elapsed() >= Duration::from_millis(1500));
    assert!(finished.stderr.contains("requests in flight finish"), "{}", finished.stderr);
}

#[test]
fn a_second_signal_ends_the_delay() {
    let mut process =
        prony(&["example", "donuts", "--listen", "127.0.0.1:0", "--shutdown-delay-ms", "86400000"]);
    process.wait_for_url();
    process.signal(Signal::TERM);
    process.wait_for_text("connections are still taken");
    assert_eq!(process.stop().status.code(), Some(0));
}

#[test]
fn a_service_manager_is_told() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let place = folder.path().join("notify");
    let manager = UnixDatagram::bind(&place).expect("it can be bound");
    manager.set_read_timeout(Some(Duration::from_secs(60))).expect("it is not zero");
    let next = || {
        let mut text = [0; 64];
        let count = manager.recv(&mut text).expect("a notice comes");
        String::from_utf8_lossy(&text[..count]).into_owned()
    };
    let database = sqlite_copy();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("sqlite:{}", database.path().display()));
    command.args(["--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &place).env("WATCHDOG_USEC", "400000").env_remove("WATCHDOG_PID");
    let mut process = PronyProcess::start_command(command);
    process.wait_for_url();
    // The cores serve a moment before the log says so.
    let mut notices = vec![next()];
    while notices.len() < 4 {
        notices.push(next());
    }
    notices.sort_unstable();
    assert_eq!(notices, ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
    process.signal(Signal::TERM);
    while next() != "STOPPING=1" {}
    assert_eq!(process.wait().status.code(), Some(0));
}

#[test]
fn an_upstream_that_is_gone_makes_a_gateway_unready() {
    let mut behind = prony(&["example", "donuts", "--listen", "127.0.0.1:0"]);
    let upstream = format!("{}/graphql", behind.wait_for_url());
    let mut gateway = prony(&["serve", &upstream, "--listen", "127.0.0.1:0"]);
    let url = gateway.wait_for_url();
    assert!(ask(&url, "/ready", None).contains(r#"{"status":"ready"}"#));
    behind.stop();
    let response = ask(&url, "/ready", None);
    assert!(
        response.starts_with("HTTP/1.1 503") && response.contains(r#""reason":"unreachable""#),
        "{response}"
    );
    assert!(!response.contains("127.0.0.1:"), "addresses are not for everybody: {response}");
    assert_eq!(run(&["health", &format!("{url}/live")]).status.code(), Some(0));
}

#[test]
fn health_is_an_exit_code() {
    let mut process = prony(&["example", "donuts", "--listen", "127.0.0.1:0"]);
    let url = process.wait_for_url();
    let ready = run(&["health", &url]);
    assert_eq!((ready.status.code(), &*ready.stdout), (Some(0), "{\"status\":\"ready\"}\n"));
    let whole = run(&["health", &format!("{url}/health")]);
    assert!(whole.status.success() && whole.stdout.contains(r#""sources":[{"name":"#), "{}", whole.stdout);
    assert_eq!(run(&["health", &format!("{url}/nothing")]).status.code(), Some(1));
    process.stop();
    let gone = run(&["health", &url]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(gone.stderr.starts_with("error: "), "{}", gone.stderr);
    for wrong in ["ftp://localhost/", "localhost", "http://127.0.0.1:99999", "http://127.0.0.1:x/live"] {
        let refused = run(&["health", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {}", refused.stderr);
    }
}

/// The certificate is for another name than the address by which a server is asked on its own machine.
#[test]
fn health_is_asked_over_tls() {
    let certificates = Certificates::new();
    let (certificate, key) = certificates.server_files(&["api.test"]);
    let port = prony_testkit::free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "donuts", "--listen", &format!("127.0.0.1:{port}")]);
    command.arg("--tls-certificate").arg(certificate).arg("--tls-key").arg(key);
    let mut process = PronyProcess::start_command(command);
    process.wait_for_text("listening on https://");
    let url = format!("https://127.0.0.1:{port}");
    let strict = run(&["health", &url]);
    assert_eq!(strict.status.code(), Some(1), "{}", strict.stdout);
    let told = "shows a certificate that this machine does not trust for it: ";
    assert!(strict.stderr.contains(told) && strict.stderr.contains("--insecure"), "{}", strict.stderr);
    let lenient = run(&["health", &url, "--insecure"]);
    assert_eq!(lenient.status.code(), Some(0), "{}", lenient.stderr);
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

/// Each line that could not be written ended the thread that wrote it, and with it the connection, and the exit code was 101.
#[test]
fn nobody_needs_to_read_the_log() {
    let database = sqlite_copy();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("sqlite:{}", database.path().display()));
    command.args(["--listen", "127.0.0.1:0", "--log-level", "debug"]);
    let mut process = command.stderr(Stdio::piped()).spawn().expect("it can be started");
    let mut log = BufReader::new(process.stderr.take().expect("it is piped"));
    let mut line = String::new();
    let url = loop {
        line.clear();
        assert_ne!(log.read_line(&mut line).expect("it is text"), 0, "it ends before it listens");
        if let Some((_, url)) = line.trim_end().split_once("listening on ") {
            break url.to_owned();
        }
    };
    drop(log);
    for _ in 0..3 {
        assert!(ask(&url, "/health", None).starts_with("HTTP/1.1 200 OK"));
    }
    kill_process(Pid::from_child(&process), Signal::TERM).expect("it runs");
    assert_eq!(process.wait().expect("it ends").code(), Some(0));
}

/// At the line for which there was no room every core stood still, and no signal stopped the server.
#[test]
fn a_log_that_nobody_takes_holds_nothing_up() {
    let database = sqlite_copy();
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    let address = format!("127.0.0.1:{}", prony_testkit::free_port());
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("sqlite:{}", database.path().display()));
    command.args(["--listen", &address, "--cpus", "1", "--log-level", "debug"]);
    let mut process = command.stderr(writer).spawn().expect("it can be started");
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < deadline, "it does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    // More lines than the pipe has room for.
    for _ in 0..1500 {
        assert!(ask(&format!("http://{address}"), "/live", None).starts_with("HTTP/1.1 200 OK"));
    }
    kill_process(Pid::from_child(&process), Signal::TERM).expect("it runs");
    assert_eq!(process.wait().expect("it ends").code(), Some(0));
    drop(reader);
}

#[test]
fn a_configuration_in_another_encoding_is_told_its_place() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let file = folder.path().join("prony.toml");
    fs::write(&file, b"[server]\n# caf\xe9\n").expect("it is ours");
    let refused = run(&["serve", "--config", &file.display().to_string()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        refused.stderr.ends_with("prony.toml:2:6: it is no UTF-8; convert the file\n"),
        "{}",
        refused.stderr
    );
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

/// What nothing is called around does not stay unsaid: each type once, those of roles too, and only of a graph that serves calls.
#[test]
fn calls_that_interceptors_do_not_see_are_warned_of() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    fs::write(folder.path().join("u.js"), "export function before(request) {}").expect("it can be written");
    let warnings = |graph_http: bool| {
        let text = format!(
            "[server]\nlisten = [\"127.0.0.1:0\"]\ncpus = 1\n[[source]]\nurl = \"graph:{}\"\nname = \"social\"\ngraph_http = {graph_http}\n\
             [auth]\nanonymous = \"writer\"\n[roles.reader.sources.social.types]\n\
             Person = {{ select = true, interceptors = {{ select = \"u.js\", insert = \"u.js\" }} }}\n\
             [roles.writer]\ninherits = [\"reader\"]\n[interceptors.sources.social.types]\nLIKES = \"u.js\"\nPlace = false\n",
            folder.path().join("data").display()
        );
        let file = folder.path().join("prony.toml");
        fs::write(&file, text).expect("it can be written");
        let mut process = prony(&["serve", "--config", &file.display().to_string()]);
        process.wait_for_url();
        let finished = process.stop();
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        let warnings = finished.stderr.lines().filter(|line| line.contains("WARN"));
        let said =
            warnings.filter_map(|line| line.split_once("/prony.toml:")).map(|(_, said)| said.to_owned());
        said.collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        11:53: interceptors: source `social`, `Person`: calls over HTTP reach it too, and call no interceptors: what must hold for them is a permission of a role, or they are not served (`graph_http = false` of a graph)
        15:9: interceptors: source `social`, `LIKES`: calls over HTTP reach it too, and call no interceptors: what must hold for them is a permission of a role, or they are not served (`graph_http = false` of a graph)"#]].assert_eq(&warnings(true));
    assert_eq!(warnings(false), "");
}
