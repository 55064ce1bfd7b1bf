//! Runs over TLS, Unix-domain sockets and IPv6: what works, what is refused before the run and with which words.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_load::{RunError, RunOptions, run};
use prony_model::plan::wire::{Protocol, TlsOptions};
use prony_model::{LoadModel, Nanos, PlanDraft, RequestDraft, ResultFile, Target, ThinkTime, WindowKind};
use prony_testkit::certificates::{Certificates, Validity};
use prony_testkit::secure_peer::{Listen, SecurePeer, SecurePeerOptions, ServerTls, Speaks};
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::num::NonZeroUsize;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const LOCALHOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn draft(url: &str) -> PlanDraft {
    let load = LoadModel::constant(2, Nanos::from_millis(150));
    let mut draft = PlanDraft::new("transport", Target::parse(url).unwrap(), load)
        .with_think_time(ThinkTime::constant(Nanos::from_millis(5)));
    draft.requests = vec![RequestDraft::get("get", "/")];
    draft
}

fn run_draft(draft: PlanDraft) -> Result<ResultFile, RunError> {
    run(&draft.check().unwrap(), RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() })
}

/// Every request has succeeded, and there were some.
fn assert_all_succeed(result: &ResultFile) {
    let all = &result.window(WindowKind::Whole).unwrap().all;
    assert!(all.successes > 0 && all.successes == all.requests, "{:?}", all.outcomes);
}

fn tls_peer(tls: ServerTls) -> SecurePeer {
    SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(LOCALHOST),
        tls: Some(tls),
        speaks: Speaks::Http1(OK.to_vec()),
    })
}

fn trusting(certificates: &Certificates) -> TlsOptions {
    TlsOptions { ca: vec![certificates.ca_path()], ..TlsOptions::default() }
}

#[test]
fn a_target_whose_authority_is_given_is_measured() {
    let certificates = Certificates::new();
    let peer = tls_peer(ServerTls::of(&certificates, &["http/1.1"]));
    let mut draft = draft(&peer.url_of("localhost"));
    draft.wire.tls = trusting(&certificates);
    let result = run_draft(draft).unwrap();
    assert_all_succeed(&result);
    let connections = result.lab.connections;
    assert_eq!(connections.opened, 2);
    assert_eq!(connections.tls_full_handshakes + connections.tls_resumed, 2);
    let seen = peer.seen();
    assert_eq!(seen.handshakes[0].server_name.as_deref(), Some("localhost"));
    assert_eq!(seen.handshakes[0].alpn.as_deref(), Some("http/1.1"));
    // The first handshake is the one that tried whether the target is there.
    assert_eq!(seen.handshakes.len(), 3);
}

#[test]
fn sessions_are_resumed_unless_that_is_off() {
    let certificates = Certificates::new();
    let resumed = |resume| {
        let peer = tls_peer(ServerTls::of(&certificates, &[]));
        let mut draft = draft(&peer.url());
        draft.wire.tls = TlsOptions { resume, ..trusting(&certificates) };
        draft.wire.connections = prony_model::plan::wire::Connections::Fresh;
        let result = run_draft(draft).unwrap();
        assert_all_succeed(&result);
        let seen = peer.seen().handshakes.iter().filter(|handshake| handshake.is_resumed).count();
        assert_eq!(result.lab.connections.tls_resumed > 0, seen > 0);
        seen > 0
    };
    assert!(resumed(true));
    assert!(!resumed(false));
}

#[test]
fn the_name_that_is_asked_for_can_be_set() {
    let certificates = Certificates::new();
    let identity = certificates.server(&["shop.test"], Validity::Now);
    let peer = tls_peer(ServerTls { identity, client_authority: None, alpn: Vec::new() });
    let mut draft = draft(&peer.url());
    draft.wire.tls = TlsOptions { server_name: Some("shop.test".to_owned()), ..trusting(&certificates) };
    assert_all_succeed(&run_draft(draft).unwrap());
    assert_eq!(peer.seen().handshakes[0].server_name.as_deref(), Some("shop.test"));
}

/// What is said about a target whose handshake fails; its port is left out.
fn check_refused(tls: ServerTls, options: TlsOptions, protocol: Protocol, expected: &Expect) {
    let peer = tls_peer(tls);
    let mut draft = draft(&peer.url());
    let port = draft.targets[0].target.port().unwrap().to_string();
    (draft.wire.tls, draft.wire.protocol) = (options, protocol);
    let message = run_draft(draft).unwrap_err().to_string();
    expected.assert_eq(&message.replace(&port, "PORT"));
}

#[test]
fn certificates_that_do_not_hold_are_explained() {
    let certificates = Certificates::new();
    let good = || ServerTls::of(&certificates, &[]);
    let other = Certificates::new();
    check_refused(
        good(),
        trusting(&other),
        Protocol::Http1,
        &expect![
            "cannot speak TLS with the target https://127.0.0.1:PORT: its certificate was issued by an authority that is not trusted; give the authority's certificate with --cacert FILE (tls.ca), or take any certificate with --insecure (tls.insecure)"
        ],
    );
    check_refused(
        ServerTls { identity: certificates.server(&["127.0.0.1"], Validity::Expired), ..good() },
        trusting(&certificates),
        Protocol::Http1,
        &expect![
            "cannot speak TLS with the target https://127.0.0.1:PORT: its certificate has expired; renew it, check this machine's clock, or take any certificate with --insecure (tls.insecure)"
        ],
    );
    check_refused(
        ServerTls { identity: certificates.server(&["shop.test", "www.shop.test"], Validity::Now), ..good() },
        trusting(&certificates),
        Protocol::Http1,
        &expect![
            "cannot speak TLS with the target https://127.0.0.1:PORT: its certificate is for shop.test, www.shop.test, and not for 127.0.0.1; ask for one of its names with --server-name NAME (tls.server_name), or take any certificate with --insecure (tls.insecure)"
        ],
    );
}

#[test]
fn handshakes_that_the_target_refuses_are_explained() {
    let certificates = Certificates::new();
    let good = || ServerTls::of(&certificates, &[]);
    check_refused(
        ServerTls { client_authority: Some(certificates.ca()), ..good() },
        trusting(&certificates),
        Protocol::Http1,
        &expect![
            "cannot speak TLS with the target https://127.0.0.1:PORT: it asks for a client certificate and refuses to go on without; give one with --cert FILE --key FILE (tls.cert, tls.key)"
        ],
    );
    check_refused(
        good(),
        trusting(&certificates),
        Protocol::Http2,
        &expect![[
            r#"cannot speak HTTP/2 with the target https://127.0.0.1:PORT: it does not choose `h2` when that is offered by ALPN; use `protocol = "http1"` (--protocol http1), or leave it to the target with "auto""#
        ]],
    );
}

#[test]
fn any_certificate_is_taken_on_demand() {
    let certificates = Certificates::new();
    let identity = certificates.server(&["shop.test"], Validity::Expired);
    let peer = tls_peer(ServerTls { identity, client_authority: None, alpn: Vec::new() });
    let mut draft = draft(&peer.url());
    draft.wire.tls.insecure = true;
    assert_all_succeed(&run_draft(draft).unwrap());
}

#[test]
fn a_self_signed_certificate_is_trusted_where_just_that_one_is_given() {
    let certificates = Certificates::new();
    let (identity, path) = certificates.self_signed(&["127.0.0.1"]);
    let tls = || ServerTls { identity: identity.clone(), client_authority: None, alpn: Vec::new() };
    let trusting = TlsOptions { ca: vec![path], ..TlsOptions::default() };
    let peer = tls_peer(tls());
    let mut draft = draft(&peer.url());
    draft.wire.tls = trusting.clone();
    assert_all_succeed(&run_draft(draft).unwrap());
    let reason = |options: TlsOptions| {
        let peer = tls_peer(tls());
        let mut draft = self::draft(&peer.url());
        draft.wire.tls = options;
        run_draft(draft).unwrap_err().to_string()
    };
    let message = reason(TlsOptions { server_name: Some("other.test".to_owned()), ..trusting });
    assert!(message.contains("its certificate is for 127.0.0.1, and not for other.test"), "{message}");
    let message = reason(self::trusting(&certificates));
    assert!(message.contains("trust that one alone with --cacert FILE"), "{message}");
}

#[test]
fn a_client_certificate_is_shown_where_one_is_required() {
    let certificates = Certificates::new();
    let peer = tls_peer(ServerTls {
        client_authority: Some(certificates.ca()),
        ..ServerTls::of(&certificates, &["http/1.1"])
    });
    let (cert, key) = certificates.client();
    let mut draft = draft(&peer.url());
    draft.wire.tls = TlsOptions { cert: Some(cert), key: Some(key), ..trusting(&certificates) };
    assert_all_succeed(&run_draft(draft).unwrap());
    assert!(peer.seen().handshakes.iter().all(|handshake| handshake.has_client_certificate));
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.pem");
    std::fs::write(&path, "nothing").unwrap();
    let mut draft = draft("https://127.0.0.1:1");
    draft.wire.tls.ca = vec![path.clone()];
    let message = run_draft(draft.clone()).unwrap_err().to_string().replace(path.to_str().unwrap(), "PATH");
    expect!["the file PATH holds no certificate; it must be PEM (`-----BEGIN CERTIFICATE-----`)"]
        .assert_eq(&message);
    draft.wire.tls.ca = vec!["/no/such.pem".into()];
    expect!["the file /no/such.pem cannot be read as PEM: I/O error: No such file or directory (os error 2)"]
        .assert_eq(&run_draft(draft).unwrap_err().to_string());
}

#[test]
fn a_target_that_speaks_no_tls_is_said() {
    let peer = SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(LOCALHOST),
        tls: None,
        speaks: Speaks::Http1(OK.to_vec()),
    });
    let url = peer.url_of("127.0.0.1").replace("http:", "https:");
    let mut draft = draft(&url);
    draft.wire.tls.insecure = true;
    let port = draft.targets[0].target.port().unwrap().to_string();
    let message = run_draft(draft).unwrap_err().to_string().replace(&port, "PORT");
    expect!["cannot speak TLS with the target https://127.0.0.1:PORT: what it answers is no TLS; is it an `http://` target, or another port?"].assert_eq(&message);
}

#[test]
fn unix_sockets_are_measured_plain_and_encrypted() {
    let certificates = Certificates::new();
    let directory = tempfile::tempdir().unwrap();
    for tls in [None, Some(ServerTls::of(&certificates, &[]))] {
        let path = directory.path().join(if tls.is_some() { "tls.sock" } else { "plain.sock" });
        let is_tls = tls.is_some();
        let peer = SecurePeer::start(SecurePeerOptions {
            listen: Listen::Unix(path),
            tls,
            speaks: Speaks::Http1(OK.to_vec()),
        });
        let mut draft = draft(&peer.url());
        if is_tls {
            draft.wire.tls = trusting(&certificates);
        }
        assert_all_succeed(&run_draft(draft).unwrap());
    }
}

#[test]
fn ipv6_targets_are_measured() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        println!("skipped: this machine has no ::1");
        return;
    }
    let certificates = Certificates::new();
    let peer = SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(Ipv6Addr::LOCALHOST.into()),
        tls: Some(ServerTls::of(&certificates, &[])),
        speaks: Speaks::Http1(OK.to_vec()),
    });
    let mut draft = draft(&peer.url());
    draft.wire.tls = trusting(&certificates);
    assert_all_succeed(&run_draft(draft).unwrap());
    // An address is no name: none is asked for.
    assert_eq!(peer.seen().handshakes[0].server_name, None);
}
