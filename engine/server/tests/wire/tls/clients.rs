//! Mutual TLS: what a verified certificate says becomes role and variables, and what is revoked counts no more.

use std::{
    fs,
    io::{Read as _, Write as _},
    sync::Arc,
};

use prony_server::{
    config::{AccessSettings, Settings},
    tls::{ClientCertificates, TlsSettings},
};
use prony_testkit::certificates::{ClientNames, DnType, Identity, Validity};

use super::{Secure, config, config_of};
use crate::{
    access,
    support::{Server, post, post_with},
};

const ACCESS: &str = r#"
[auth]
anonymous = "visitor"
[auth.mtls]
role = "till"
claims = { shop = "subject", till = "common_name", mail = "email", host = "dns", uris = "uris" }

[roles.visitor.sources.chinook.tables.Genre]
select = { columns = ["GenreId"], limit = 1 }
[roles.till.sources.chinook.tables.Artist]
select = { columns = ["Name"], rows = { Name = { eq = "$till" } } }
[roles.till.sources.chinook.tables.Customer]
select = { columns = ["CustomerId"], rows = { Email = { eq = "$mail" } } }
"#;

/// Tables of the sample database for tills that bring certificates.
fn shop(change: impl FnOnce(&mut TlsSettings)) -> Secure {
    shop_with(ACCESS, change)
}

fn shop_with(text: &str, change: impl FnOnce(&mut TlsSettings)) -> Secure {
    let access: Arc<AccessSettings> = access::access_with_certificates(text);
    let with_ca = |tls: &mut TlsSettings| {
        // The path is filled in.
        tls.client_ca = Some("ca.pem".into());
        change(tls);
    };
    Secure::new(with_ca, |change: Box<dyn FnOnce(&mut Settings)>| {
        Server::with(|settings| {
            settings.access = access;
            change(settings);
        })
    })
}

fn till(secure: &Secure, serial: u64, validity: Validity) -> Identity {
    secure.authority.client_of(ClientNames {
        serial,
        subject: &[(DnType::OrganizationName, "Shop, Inc"), (DnType::CommonName, "AC/DC")],
        dns: &["till.test", "till.local"],
        emails: &["luisg@embraer.com.br"],
        uris: &["spiffe://shop/till"],
        validity,
    })
}

fn ask(query: &str) -> String {
    post(&serde_json::json!({ "query": query }).to_string())
}

#[test]
fn a_certificate_gives_role_and_variables() {
    let secure = shop(|_| {});
    let config = config(&secure.authority, Some(till(&secure, 7, Validity::Now)));
    let mut wire = secure.connect_with(&config);
    for _ in 0..2 {
        wire.send(ask("{ artists { Name } customers { CustomerId } }"));
        let (_, body) = wire.head_and_body();
        assert_eq!(body, r#"{"data":{"artists":[{"Name":"AC/DC"}],"customers":[{"CustomerId":1}]}}"#);
    }
    // What the role may not see is not there for it.
    wire.send(ask("{ genres { GenreId } }"));
    assert!(wire.head_and_body().1.contains("does not have a field"));
    // A session that goes on has the certificate, too.
    let mut again = secure.connect_with(&config);
    again.send(ask("{ artists { Name } }"));
    assert_eq!(again.head_and_body().1, r#"{"data":{"artists":[{"Name":"AC/DC"}]}}"#);
    assert_eq!(again.stream.conn.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
}

#[test]
fn without_a_certificate_that_counts_there_is_no_connection() {
    let secure = shop(|_| {});
    let another = prony_testkit::Certificates::new();
    let foreign = another.client_of(ClientNames {
        serial: 1,
        subject: &[(DnType::CommonName, "AC/DC")],
        dns: &[],
        emails: &[],
        uris: &[],
        validity: Validity::Now,
    });
    for (what, identity) in
        [("none", None), ("foreign", Some(foreign)), ("expired", Some(till(&secure, 3, Validity::Expired)))]
    {
        // Of TLS 1.3, the client hears of it behind its own part of the handshake.
        let refused = secure.try_connect(&config(&secure.authority, identity)).is_ok_and(|mut wire| {
            let _ = wire.stream.write_all(ask("{ artists { Name } }").as_bytes());
            !wire.stream.read(&mut [0; 64]).is_ok_and(|read| read > 0)
        });
        let is_error =
            secure.try_connect(&config_of(&secure.authority, None, &[&rustls::version::TLS12], &[]));
        assert!(refused && is_error.is_err(), "{what}");
    }
}

#[test]
fn where_certificates_are_optional_others_are_anonymous() {
    let secure = shop(|tls| tls.client_certificates = ClientCertificates::Optional);
    let mut wire = secure.connect();
    wire.send(ask("{ genres { GenreId } }"));
    assert_eq!(wire.head_and_body().1, r#"{"data":{"genres":[{"GenreId":1}]}}"#);
    let mut wire = secure.connect_with(&config(&secure.authority, Some(till(&secure, 7, Validity::Now))));
    wire.send(ask("{ artists { Name } }"));
    assert_eq!(wire.head_and_body().1, r#"{"data":{"artists":[{"Name":"AC/DC"}]}}"#);
    // A certificate gives one role, and another is not chosen.
    let body = r#"{"query":"{ artists { Name } }"}"#;
    wire.send(post_with("content-type: application/json\r\nx-prony-role: visitor\r\n", body));
    assert!(wire.head_and_body().0.starts_with("HTTP/1.1 403"));
}

#[test]
fn what_is_revoked_counts_no_more_on_open_connections_either() {
    let secure = shop(|tls| tls.revocation_lists = vec!["revoked.pem".into()]);
    let configs = [7, 8].map(|serial| config(&secure.authority, Some(till(&secure, serial, Validity::Now))));
    let mut wires = configs.each_ref().map(|config| secure.connect_with(config));
    let statuses = |wires: &mut [super::SecureWire; 2]| {
        wires.each_mut().map(|wire| {
            wire.send(ask("{ artists { Name } }"));
            wire.head_and_body().0.lines().next().unwrap_or_default().to_owned()
        })
    };
    assert_eq!(statuses(&mut wires), ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]);
    let list = secure.authority.revocation_list(&[7], Validity::Now);
    fs::write(secure.file("revoked.pem"), list).expect("it can be written");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while statuses(&mut wires) != ["HTTP/1.1 401 Unauthorized", "HTTP/1.1 200 OK"] {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // Neither does its session go on, nor does a new one begin.
    let mut refused = secure.connect_with(&configs[0]);
    let _ = refused.stream.write_all(ask("{ artists { Name } }").as_bytes());
    assert!(!refused.stream.read(&mut [0; 64]).is_ok_and(|read| read > 0));
}

#[test]
fn a_revocation_list_that_is_too_old_counts_for_nobody() {
    let secure = shop(|tls| tls.revocation_lists = vec!["revoked.pem".into()]);
    let config = config(&secure.authority, Some(till(&secure, 7, Validity::Now)));
    let mut wire = secure.connect_with(&config);
    let list = secure.authority.revocation_list(&[], Validity::Expired);
    fs::write(secure.file("revoked.pem"), list).expect("it can be written");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    loop {
        wire.send(ask("{ artists { Name } }"));
        if wire.head_and_body().0.starts_with("HTTP/1.1 401") {
            break;
        }
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
