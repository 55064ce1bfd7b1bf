//! TLS: the same bytes as without it, over HTTP/1.1 and HTTP/2, and what happens to clients that do not speak it well.

mod clients;
mod http2;
mod reload;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use prony_server::{
    config::Settings,
    tls::{TlsSettings, TlsVersion},
};
use prony_testkit::certificates::{Certificates, Identity, Validity};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::ServerName,
    version::{TLS12, TLS13},
};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{Message, client::client};

use crate::support::{PATIENCE, Server, Wire, get, post_with, query, tcp};

type SecureWire = Wire<StreamOwned<ClientConnection, TcpStream>>;

/// A server with TLS, its authority, and the files that it reads.
struct Secure {
    server: Server,
    authority: Certificates,
    directory: TempDir,
}

impl Secure {
    /// Of donuts, whose GraphQL is responded to on the fast path.
    fn donuts(change: impl FnOnce(&mut TlsSettings)) -> Self {
        Self::new(change, Server::donuts)
    }

    fn new<F>(change: F, start: impl FnOnce(Box<dyn FnOnce(&mut Settings)>) -> Server) -> Self
    where
        F: FnOnce(&mut TlsSettings),
    {
        let (authority, directory) =
            (Certificates::new(), tempfile::tempdir().expect("a directory can be made"));
        let mut tls = TlsSettings {
            certificate: Some(directory.path().join("server.pem")),
            key: Some(directory.path().join("server-key.pem")),
            ..TlsSettings::default()
        };
        change(&mut tls);
        write_certificate(&directory, &authority, Validity::Now);
        if tls.client_ca.is_some() {
            tls.client_ca = Some(authority.ca_path());
        }
        if !tls.revocation_lists.is_empty() {
            let path = directory.path().join("revoked.pem");
            fs::write(&path, authority.revocation_list(&[], Validity::Now)).expect("it can be written");
            tls.revocation_lists = vec![path];
        }
        let server = start(Box::new(move |settings| settings.tls = tls));
        Self { server, authority, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn connect(&self) -> SecureWire {
        self.connect_with(&config(&self.authority, None))
    }

    fn connect_with(&self, config: &Arc<ClientConfig>) -> SecureWire {
        self.try_connect(config).expect("the handshake succeeds")
    }

    /// The handshake is done, and what the server says behind it has come.
    fn try_connect(&self, config: &Arc<ClientConfig>) -> std::io::Result<SecureWire> {
        let name = ServerName::try_from("localhost").expect("it is a name");
        let session = ClientConnection::new(Arc::clone(config), name).expect("the configuration is right");
        let mut stream = StreamOwned::new(session, tcp(self.server.address()));
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Wire::over(stream))
    }

    fn health(&self) -> serde_json::Value {
        let mut wire = self.connect();
        wire.send(get("/health"));
        serde_json::from_str(&wire.head_and_body().1).expect("it is JSON")
    }

    fn until_health(&self, holds: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let health = self.health();
            if holds(&health) {
                return health;
            }
            assert!(Instant::now() < deadline, "{health}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The value of a metric without a label, or with this one.
    fn metric(&self, name: &str) -> u64 {
        let mut wire = self.connect();
        wire.send(get("/metrics"));
        let (_, text) = wire.head_and_body();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        let value: Option<f64> = line.rsplit(' ').next().and_then(|value| value.parse().ok());
        value.expect("metrics have values") as u64
    }
}

fn write_certificate(directory: &TempDir, authority: &Certificates, validity: Validity) {
    let (certificate, key) = authority.server_pem(&["localhost"], validity);
    fs::write(directory.path().join("server-key.pem"), key).expect("the key can be written");
    fs::write(directory.path().join("server.pem"), certificate).expect("the certificate can be written");
}

/// What trusts the authority, and brings a certificate if it has one.
fn config(authority: &Certificates, identity: Option<Identity>) -> Arc<ClientConfig> {
    config_of(authority, identity, &[&TLS13, &TLS12], &[])
}

fn config_of(
    authority: &Certificates,
    identity: Option<Identity>,
    versions: &[&'static rustls::SupportedProtocolVersion],
    alpn: &[&str],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.ca()).expect("the authority is one");
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .expect("the provider has them")
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(Identity { certificate, key }) => builder
            .with_client_auth_cert(vec![certificate], key)
            .expect("key and certificate belong together"),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

const DONUT: &str = r#"{ retrieveDonut(id: "1") { flavor } }"#;

#[test]
fn the_fast_path_serves_tls() {
    let secure = Secure::donuts(|_| {});
    let plain = Server::donuts(|_| {});
    let mut wire = secure.connect();
    let unknown = format!("{{ {} }}", "retrieveDonut(id: \"1\") { nothing } ".repeat(2));
    for request in [query(DONUT), query(&unknown), query(DONUT)] {
        wire.send(&request);
        assert_eq!(wire.response(), plain.ask(&request));
    }
    // Several at a time, and one in pieces that are records of their own.
    wire.send(query(DONUT).repeat(3));
    for _ in 0..3 {
        assert!(wire.response().contains("CHOCOLATE"));
    }
    for piece in query(DONUT).as_bytes().chunks(7) {
        wire.send(piece);
        wire.stream.flush().expect("the server reads");
    }
    assert!(wire.response().contains("CHOCOLATE"));
    drop(wire);
    // The connection that asks is itself handed over, because /metrics is not of the fast path.
    assert_eq!(secure.metric("prony_http_handovers_total{reason=\"resource\"}"), 1);
    assert_eq!(secure.metric("prony_tls_handshakes_total{outcome=\"full\"}"), 3);
}

#[test]
fn long_responses_come_whole_to_clients_that_read_slowly() {
    let secure = Secure::new(|_| {}, |change| Server::with(change));
    let request = query("{ tracks(limit: 3503) { TrackId Name Composer Milliseconds Bytes UnitPrice } }");
    let expected = Server::start().ask(&request);
    assert!(expected.len() > 400_000, "{}", expected.len());
    for versions in [&[&TLS13][..], &[&TLS12]] {
        let mut wire = secure.connect_with(&config_of(&secure.authority, None, versions, &["http/1.1"]));
        wire.send(request.repeat(4));
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(100));
            assert_eq!(wire.response(), expected);
        }
    }
}

#[test]
fn websockets_and_events_come_over_tls() {
    let secure = Secure::donuts(|_| {});
    let stream = secure.connect().stream;
    let mut request = http::Request::get("wss://localhost/graphql")
        .header("sec-websocket-protocol", "graphql-transport-ws");
    for (name, value) in [
        ("host", "localhost"),
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ] {
        request = request.header(name, value);
    }
    let (mut socket, _) =
        client(request.body(()).expect("it is right"), stream).expect("the server switches");
    let send = |text: &str| Message::text(text.to_owned());
    socket.send(send(r#"{"type":"connection_init"}"#)).expect("the server reads");
    assert_eq!(socket.read().expect("the server writes"), send(r#"{"type":"connection_ack"}"#));
    let subscribe =
        r#"{"id":"a","type":"subscribe","payload":{"query":"{ retrieveDonut(id: \"1\") { flavor } }"}}"#;
    socket.send(send(subscribe)).expect("the server reads");
    let next = socket.read().expect("the server writes").into_text().expect("it is text");
    assert!(next.contains("CHOCOLATE"), "{next}");

    let mut wire = secure.connect();
    let headers = "accept: text/event-stream\r\ncontent-type: application/json\r\n";
    let body = serde_json::json!({ "query": DONUT }).to_string();
    wire.send(post_with(headers, &body));
    assert!(wire.until("event: complete").contains("CHOCOLATE"));
}

#[test]
fn http_without_tls_gets_a_400() {
    let secure = Secure::donuts(|_| {});
    let response = secure.server.ask(get("/health"));
    assert!(response.starts_with("HTTP/1.1 400 Bad Request\n"), "{response}");
    assert!(response.contains("this port speaks TLS"), "{response}");
    assert_eq!(secure.metric("prony_tls_handshakes_total{outcome=\"plain_http\"}"), 1);
    // What is neither is closed.
    let mut wire = secure.server.connect();
    wire.send([0; 64]);
    let _ = wire.rest();
    assert_eq!(secure.metric("prony_tls_handshakes_total{outcome=\"failed\"}"), 1);
}

#[test]
fn handshakes_that_hang_are_bounded_in_time_and_number() {
    let secure = Secure::donuts(|tls| {
        tls.handshake_timeout = Duration::from_millis(700);
        tls.max_handshakes = 2;
    });
    let begun = Instant::now();
    let mut hanging: Vec<TcpStream> = (0..2).map(|_| tcp(secure.server.address())).collect();
    // Part of a record.
    hanging[1].write_all(&[22, 3, 1]).expect("the server reads");
    let deadline = Instant::now() + PATIENCE;
    // As soon as both are there, one more is closed at once.
    while tcp(secure.server.address()).read(&mut [0]).is_ok_and(|read| read > 0) {
        assert!(Instant::now() < deadline);
    }
    for stream in &mut hanging {
        assert!(!matches!(stream.read(&mut [0]), Ok(1..)), "nothing is said");
    }
    assert!(begun.elapsed() >= Duration::from_millis(700));
    let count =
        |outcome: &str| secure.metric(&format!("prony_tls_handshakes_total{{outcome=\"{outcome}\"}}"));
    // Who comes last is refused, which may be one of the two.
    assert!(count("timed_out") >= 1 && count("refused") >= 1);
    assert!(count("timed_out") + count("refused") >= 3);
}

#[test]
fn the_lowest_version_is_kept_to() {
    let both = Secure::donuts(|_| {});
    let newest = Secure::donuts(|tls| tls.min_version = TlsVersion::Tls13);
    for (secure, versions, succeeds) in [
        (&both, &[&TLS12], true),
        (&both, &[&TLS13], true),
        (&newest, &[&TLS12], false),
        (&newest, &[&TLS13], true),
    ] {
        let config = config_of(&secure.authority, None, versions, &["http/1.1"]);
        assert_eq!(secure.try_connect(&config).is_ok(), succeeds, "{versions:?}");
    }
    // A client that wants neither protocol is told so by an alert.
    assert!(both.try_connect(&config_of(&both.authority, None, &[&TLS13], &["spdy/3"])).is_err());
}

#[test]
fn sessions_go_on_until_the_files_are_read_again() {
    let secure = Secure::donuts(|_| {});
    for versions in [&TLS13, &TLS12] {
        let config = config_of(&secure.authority, None, &[versions], &["http/1.1"]);
        let kind = || {
            let mut wire = secure.connect_with(&config);
            // Tickets come behind the handshake.
            wire.send(query(DONUT));
            assert!(wire.response().contains("CHOCOLATE"));
            wire.stream.conn.handshake_kind().expect("the handshake is done")
        };
        assert_eq!(kind(), HandshakeKind::Full);
        assert_eq!(kind(), HandshakeKind::Resumed);
        let before = secure.health();
        write_certificate(&secure.directory, &secure.authority, Validity::Now);
        let deadline = Instant::now() + PATIENCE;
        while kind() == HandshakeKind::Resumed {
            assert!(Instant::now() < deadline, "{before}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn certificates_are_read_again_and_bad_ones_refused() {
    let secure = Secure::donuts(|_| {});
    let mut old = secure.connect();
    let of_peer = |wire: &SecureWire| {
        wire.stream.conn.peer_certificates().expect("the server has one")[0].as_ref().to_vec()
    };
    let first = of_peer(&old);
    assert_eq!(secure.health()["tls"]["fault"], serde_json::Value::Null);

    // A key of another certificate, no certificate at all, an expired one.
    let (certificate, key) = secure.authority.server_pem(&["localhost"], Validity::Now);
    let (expired, its_key) = secure.authority.server_pem(&["localhost"], Validity::Expired);
    for (pem, key, expected) in [
        (&certificate, "", "is not that of the certificate"),
        (&"nothing".to_owned(), key.as_str(), "has no certificate"),
        (&expired, &its_key, "has expired"),
    ] {
        fs::write(secure.file("server.pem"), pem).expect("it can be written");
        if !key.is_empty() {
            fs::write(secure.file("server-key.pem"), key).expect("it can be written");
        }
        let fault = |health: &serde_json::Value| {
            health["tls"]["fault"].as_str().is_some_and(|fault| fault.contains(expected))
        };
        let health = secure.until_health(fault);
        assert_eq!(health["status"], "ok", "{health}");
        assert_eq!(of_peer(&secure.connect()), first);
    }

    fs::write(secure.file("server-key.pem"), &key).expect("it can be written");
    fs::write(secure.file("server.pem"), &certificate).expect("it can be written");
    secure.until_health(|health| health["tls"]["fault"].is_null());
    assert_ne!(of_peer(&secure.connect()), first);
    // Connections of before go on.
    old.send(query(DONUT));
    assert!(old.response().contains("CHOCOLATE"));
    assert!(secure.metric("prony_tls_certificate_expiry_seconds") > 1_000_000_000);
}

#[test]
fn a_server_does_not_start_without_its_files() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let authority = Certificates::new();
    let start = || {
        let tls = TlsSettings {
            certificate: Some(directory.path().join("server.pem")),
            key: Some(directory.path().join("server-key.pem")),
            ..TlsSettings::default()
        };
        let server = prony_server::examples::donuts::server(Settings { tls, ..Settings::default() });
        server.start().map(drop).map_err(|error| error.to_string())
    };
    let message = start().expect_err("there are no files");
    assert!(message.starts_with("cannot serve TLS: cannot read "), "{message}");
    write_certificate(&directory, &authority, Validity::Now);
    for key in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n\
         -----END EC PRIVATE KEY-----\n",
    ] {
        fs::write(directory.path().join("server-key.pem"), key).expect("it can be written");
        let message = start().expect_err("there is no key");
        assert!(message.contains("one with a password is decrypted first"), "{message}");
    }
}
