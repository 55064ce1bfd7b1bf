//! Certificates by the name that a client asks for, other files of TLS at a reload, and a certificate that expires while it is
//! served.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use prony_server::config::{AccessSettings, RedisSettings, Reload, Reloaded};
use x509_parser::parse_x509_certificate;

use super::*;

/// The first alternative name of the certificate that a client is shown who asks for a name, or for none.
fn shown(secure: &Secure, name: &str) -> String {
    let mut config = (*config(&secure.authority, None)).clone();
    config.enable_sni = !name.is_empty();
    // Whom it is for is what the test asks, so nothing of it is refused.
    config.dangerous().set_certificate_verifier(Arc::new(Anybody));
    let name = if name.is_empty() { "localhost" } else { name }.to_owned();
    let name = ServerName::try_from(name).expect("it is a name");
    let session = ClientConnection::new(Arc::new(config), name).expect("the configuration is right");
    let mut stream = StreamOwned::new(session, tcp(secure.server.address()));
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).expect("the handshake succeeds");
    }
    let own = stream.conn.peer_certificates().expect("the server has one")[0].clone();
    let (_, certificate) = parse_x509_certificate(&own).expect("it is a certificate");
    let names = certificate.subject_alternative_name().expect("it can be read").expect("it has names");
    names.value.general_names[0].to_string()
}

#[derive(Debug)]
struct Anybody;

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.verify_tls12_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Writes a certificate for these names and its key, and says where.
fn write(secure: &Secure, file: &str, names: &[&str]) -> (PathBuf, PathBuf) {
    let (certificate, key) = secure.authority.server_pem(names, Validity::Now);
    let paths = (secure.file(file), secure.file(&format!("{file}-key")));
    fs::write(&paths.0, certificate).expect("it can be written");
    fs::write(&paths.1, key).expect("it can be written");
    paths
}

/// A server whose configuration is what `next` says when it is read again.
struct Reloading {
    secure: Secure,
    next: Arc<Mutex<Result<TlsSettings, String>>>,
    changes: Arc<AtomicU64>,
}

impl Reloading {
    fn start() -> Self {
        let next = Arc::new(Mutex::new(Err("nothing is written yet".to_owned())));
        let changes = Arc::new(AtomicU64::new(1));
        let (to_read, to_stamp) = (Arc::clone(&next), Arc::clone(&changes));
        let read = move || {
            let tls = to_read.lock().expect("no test panics with it").clone()?;
            let connections = Some((tls, RedisSettings::default()));
            let access = Arc::<AccessSettings>::default();
            Ok::<_, String>(Reloaded { connections, ..Reloaded::from(access) })
        };
        let stamp = move || {
            let seconds = Duration::from_secs(to_stamp.load(Ordering::SeqCst));
            Some(std::time::SystemTime::UNIX_EPOCH + seconds)
        };
        let secure = Secure::new(
            |_| {},
            |change| {
                Server::donuts(|settings| {
                    change(settings);
                    settings.reload = Some(Reload::new(read, stamp));
                })
            },
        );
        Self { secure, next, changes }
    }

    fn configure(&self, settings: TlsSettings) {
        *self.next.lock().expect("no test panics with it") = Ok(settings);
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    fn until_shown(&self, name: &str, expected: &str) {
        let deadline = Instant::now() + PATIENCE;
        while shown(&self.secure, name) != expected {
            assert!(Instant::now() < deadline, "{name} is never shown {expected}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn other_files_are_taken_at_a_reload_and_wrong_ones_are_not() {
    let reloading = Reloading::start();
    let secure = &reloading.secure;
    let mut old = secure.connect();
    let settings = |(certificate, key): (PathBuf, PathBuf)| TlsSettings {
        certificate: Some(certificate),
        key: Some(key),
        ..TlsSettings::default()
    };
    let localhost = "DNSName(localhost)";
    assert_eq!(shown(secure, "localhost"), localhost);
    let other = write(secure, "other.pem", &["other.test"]);
    reloading.configure(settings(other.clone()));
    reloading.until_shown("localhost", "DNSName(other.test)");
    // A file that is not there, a key of another certificate, no TLS at all: what was there stays.
    let third = write(secure, "third.pem", &["third.test"]);
    for wrong in [
        settings((secure.file("absent.pem"), third.1.clone())),
        settings((third.0.clone(), other.1.clone())),
        TlsSettings::default(),
        TlsSettings {
            sni_certificates: vec![third.0.clone()],
            sni_keys: vec![other.1.clone()],
            ..settings(other.clone())
        },
    ] {
        reloading.configure(wrong);
        thread::sleep(Duration::from_millis(1300));
        assert_eq!(shown(secure, "localhost"), "DNSName(other.test)");
    }
    reloading.configure(TlsSettings {
        sni_certificates: vec![third.0.clone()],
        sni_keys: vec![third.1.clone()],
        ..settings(other)
    });
    reloading.until_shown("third.test", "DNSName(third.test)");
    assert_eq!(shown(secure, "localhost"), "DNSName(other.test)");
    // Files of the new settings are followed, too.
    write(secure, "third.pem", &["fourth.test", "third.test"]);
    reloading.until_shown("third.test", "DNSName(fourth.test)");
    old.send(query(DONUT));
    assert!(old.response().contains("CHOCOLATE"));
}

#[test]
fn clients_are_shown_the_certificate_of_the_name_that_they_ask_for() {
    let reloading = Reloading::start();
    let secure = &reloading.secure;
    let first = write(secure, "a.pem", &["a.test", "*.a.test"]);
    let second = write(secure, "b.pem", &["b.test", "a.test", "deep.x.a.test"]);
    reloading.configure(TlsSettings {
        certificate: Some(secure.file("server.pem")),
        key: Some(secure.file("server-key.pem")),
        sni_certificates: vec![first.0, second.0],
        sni_keys: vec![first.1, second.1],
        ..TlsSettings::default()
    });
    reloading.until_shown("a.test", "DNSName(a.test)");
    for (name, expected) in [
        ("localhost", "localhost"),
        ("", "localhost"),
        ("unknown.test", "localhost"),
        ("A.TEST", "a.test"),
        ("www.a.test", "a.test"),
        ("b.test", "b.test"),
        ("x.b.test", "localhost"),
        ("deep.x.a.test", "b.test"),
        ("other.x.a.test", "localhost"),
    ] {
        assert_eq!(shown(secure, name), format!("DNSName({expected})"), "{name}");
    }
}

#[test]
fn a_certificate_that_expires_while_it_is_served_is_told_in_health() {
    let secure = Secure::donuts(|_| {});
    let mut wire = secure.connect();
    let (certificate, key) =
        secure.authority.server_pem(&["localhost"], Validity::For(Duration::from_secs(4)));
    fs::write(secure.file("server-key.pem"), key).expect("it can be written");
    fs::write(secure.file("server.pem"), certificate).expect("it can be written");
    let mut is_expired = |expected: bool, is_short: bool| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            wire.send(get("/health"));
            let health: serde_json::Value =
                serde_json::from_str(&wire.head_and_body().1).expect("it is JSON");
            let soon =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970");
            let expires_at = health["tls"]["certificate_expires_at"].as_u64().expect("it is there");
            let found = health["tls"]["is_expired"].as_bool().unwrap_or(false);
            if found == expected && (expires_at < soon.as_secs() + 60) == is_short {
                return;
            }
            assert!(Instant::now() < deadline, "{health}");
            thread::sleep(Duration::from_millis(50));
        }
    };
    is_expired(false, true);
    is_expired(true, true);
    // Connections of before go on, and the next file counts.
    write_certificate(&secure.directory, &secure.authority, Validity::Now);
    is_expired(false, false);
    assert!(secure.connect().stream.conn.peer_certificates().is_some());
}
