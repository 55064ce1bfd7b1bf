//! What each `sslmode` takes and refuses, and clients' certificates.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use prony_postgres_connect::ConnectErrorKind;
use prony_testkit::{
    Certificates,
    certificates::{Validity, key_pem},
    postgres::{Cluster, ClusterTls},
};

use crate::{ask, connect, connector, run};

const IS_ENCRYPTED: &str = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

/// A server that lets nobody in through TCP without TLS.
struct Secured {
    cluster: Cluster,
    authority: Certificates,
}

impl Secured {
    fn start() -> Self {
        Self { cluster: Cluster::start_new().expect("a cluster starts"), authority: Certificates::new() }
    }

    fn shows(&self, names: &[&str], validity: Validity, rules: &str) {
        let (certificate, key) = self.authority.server_pem(names, validity);
        let client_authority = fs::read_to_string(self.authority.ca_path()).expect("it is there");
        let identity = (certificate.as_str(), key.as_str());
        let client_authority = Some(client_authority.as_str());
        let tls = ClusterTls { identity, client_authority, rules };
        self.cluster.restart_with_tls(tls).expect("the server starts again");
    }

    fn address(&self, host: &str, rest: &str) -> String {
        format!(
            "host={host} hostaddr=127.0.0.1 port={} user=postgres dbname=postgres {rest}",
            self.cluster.port()
        )
    }

    fn root(&self) -> String {
        format!("sslrootcert={}", self.authority.ca_path().display())
    }

    /// Whether the connection is encrypted, or the kind of the failure and a part of its text.
    fn outcome(&self, host: &str, rest: &str) -> Result<bool, (ConnectErrorKind, String)> {
        run(async {
            match connect(&self.address(host, rest)).await {
                Ok(connected) => Ok(ask(connected, IS_ENCRYPTED).await.as_deref() == Some("t")),
                Err(error) => Err((error.kind, error.reason)),
            }
        })
    }

    fn refused(&self, host: &str, rest: &str, part: &str) {
        let (kind, reason) = self.outcome(host, rest).expect_err(rest);
        assert_eq!(kind, ConnectErrorKind::Tls, "{reason}");
        assert!(reason.contains(part), "{host} {rest}: {reason}");
    }
}

#[test]
fn modes_take_what_they_should() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Now, "hostssl all all 127.0.0.1/32 trust");
    let root = server.root();
    for rest in [
        "",
        "sslmode=prefer",
        "sslmode=require",
        "sslmode=allow",
        &format!("sslmode=require {root}"),
        &format!("sslmode=verify-ca {root}"),
        &format!("sslmode=verify-full {root}"),
        &format!("sslmode=verify-full {root} ssl_max_protocol_version=TLSv1.2"),
        &format!("sslmode=verify-full {root} channel_binding=prefer"),
    ] {
        assert_eq!(server.outcome("db.test", rest), Ok(true), "{rest}");
    }
    let (kind, _) = server.outcome("db.test", "sslmode=disable").unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Rejected);
    // The name is another one: only verify-full minds.
    assert_eq!(server.outcome("other.test", &format!("sslmode=verify-ca {root}")), Ok(true));
    server.refused("other.test", &format!("sslmode=verify-full {root}"), "other.test");
    // The authority is another one: all minds that know one.
    let other = Certificates::new();
    let other = format!("sslrootcert={}", other.ca_path().display());
    for mode in ["require", "verify-ca", "verify-full"] {
        server.refused("db.test", &format!("sslmode={mode} {other}"), "sslrootcert=FILE");
    }
    server.refused("db.test", "sslrootcert=system", "sslrootcert=FILE");
    assert_eq!(server.outcome("db.test", "sslmode=require"), Ok(true));
    let through_socket = format!("{}?sslmode=verify-full&{root}", server.cluster.socket_url("postgres"));
    assert_eq!(run(async { ask(connect(&through_socket).await.unwrap(), IS_ENCRYPTED).await.unwrap() }), "f");
}

#[test]
fn an_expired_certificate_is_refused_where_it_is_checked() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Expired, "hostssl all all 127.0.0.1/32 trust");
    let root = server.root();
    server.refused("db.test", &format!("sslmode=verify-ca {root}"), "renew");
    server.refused("db.test", &format!("sslmode=verify-full {root}"), "renew");
    assert_eq!(server.outcome("db.test", "sslmode=require"), Ok(true));
    assert_eq!(server.outcome("db.test", "sslmode=prefer"), Ok(true));
}

#[test]
fn a_certificate_of_its_own_is_trusted_where_just_it_was_given() {
    let server = Secured::start();
    let (identity, path) = server.authority.self_signed(&["db.test"]);
    let key = key_pem(&identity);
    let certificate = fs::read_to_string(&path).unwrap();
    let tls = ClusterTls {
        identity: (&certificate, &key),
        client_authority: None,
        rules: "hostssl all all 127.0.0.1/32 trust",
    };
    server.cluster.restart_with_tls(tls).unwrap();
    let root = format!("sslrootcert={}", path.display());
    assert_eq!(server.outcome("db.test", &format!("sslmode=verify-full {root}")), Ok(true));
    server.refused("other.test", &format!("sslmode=verify-full {root}"), "other.test");
    server.refused("db.test", &format!("sslmode=verify-ca {}", server.root()), "sslrootcert=FILE");
}

#[test]
fn a_server_without_tls_is_taken_by_prefer_alone() {
    let cluster = Cluster::start_new().unwrap();
    let address = |mode: &str| format!("{}?sslmode={mode}", cluster.url("postgres"));
    run(async {
        assert_eq!(ask(connect(&address("prefer")).await.unwrap(), IS_ENCRYPTED).await.as_deref(), Some("f"));
        let error = connect(&address("require")).await.unwrap_err();
        assert!(error.to_string().contains("TLS"), "{error}");
        assert_eq!(error.kind, ConnectErrorKind::Tls);
    });
}

#[test]
fn prefer_goes_without_tls_where_the_server_wants_none() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Now, "hostnossl all all 127.0.0.1/32 trust");
    assert_eq!(server.outcome("db.test", "sslmode=prefer"), Ok(false));
    assert_eq!(server.outcome("db.test", "sslmode=allow"), Ok(false));
    let (kind, _) = server.outcome("db.test", "sslmode=require").unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Rejected);
}

#[test]
fn clients_are_known_by_their_certificates() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Now, "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca");
    let (certificate, key) = server.authority.client();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mine = |key: &PathBuf| {
        format!(
            "sslmode=verify-full {} sslcert={} sslkey={}",
            server.root(),
            certificate.display(),
            key.display()
        )
    };
    assert_eq!(server.outcome("db.test", &mine(&key)), Ok(true));
    let (kind, reason) =
        server.outcome("db.test", &format!("sslmode=require {}", server.root())).unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Rejected, "{reason}");
    let (kind, _) = server.outcome("db.test", &format!("{} sslcertmode=disable", mine(&key))).unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Rejected);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (kind, reason) = server.outcome("db.test", &mine(&key)).unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Config);
    assert!(reason.contains("chmod 0600"), "{reason}");
    let (kind, reason) = server.outcome("db.test", &mine(&"/nowhere/key".into())).unwrap_err();
    assert!(kind == ConnectErrorKind::Config && reason.contains("/nowhere/key"), "{reason}");
}

/// In TLS 1.3 the server says so only behind the handshake.
#[test]
fn a_client_certificate_of_another_authority_is_told_as_such() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Now, "hostssl all all 127.0.0.1/32 trust");
    let other = Certificates::new();
    let (certificate, key) = other.client();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for (mode, version) in [("verify-full", "TLSv1.2"), ("verify-full", "TLSv1.3"), ("prefer", "TLSv1.3")] {
        let rest = format!(
            "sslmode={mode} {} sslcert={} sslkey={} ssl_min_protocol_version={version} ssl_max_protocol_version={version}",
            server.root(),
            certificate.display(),
            key.display()
        );
        server.refused("db.test", &rest, "sslcert=FILE");
    }
}

#[test]
fn passwords_are_bound_to_the_channel() {
    let server = Secured::start();
    server.cluster.execute("postgres", "create role ann login password 's e:cret\\'").unwrap();
    server.shows(&["db.test"], Validity::Now, "hostssl all all 127.0.0.1/32 scram-sha-256");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pass");
    fs::write(&file, format!("db.test:{}:*:ann:s e\\:cret\\\\\n", server.cluster.port())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let rest = format!(
        "user=ann passfile={} channel_binding=require sslmode=verify-full {}",
        file.display(),
        server.root()
    );
    assert_eq!(server.outcome("db.test", &rest), Ok(true));
    fs::write(&file, "*:*:*:ann:wrong").unwrap();
    let (kind, _) = server.outcome("db.test", &rest).unwrap_err();
    assert_eq!(kind, ConnectErrorKind::Rejected);
}

#[test]
fn a_cancel_request_goes_through_tls_too() {
    let server = Secured::start();
    server.shows(&["db.test"], Validity::Now, "hostssl all all 127.0.0.1/32 trust");
    let address = server.address("db.test", &format!("sslmode=verify-full {}", server.root()));
    run(async {
        let connected = connector(&address).unwrap().connect().await.unwrap();
        tokio::spawn(connected.connection);
        let sleeping = connected.client.batch_execute("select pg_sleep(600)");
        let cancelling = async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            connected.canceller.cancel().await.unwrap();
        };
        let (outcome, ()) = tokio::join!(sleeping, cancelling);
        assert_eq!(outcome.unwrap_err().code().unwrap().code(), "57014");
    });
}
