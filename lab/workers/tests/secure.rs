//! Runs over NATS servers that do not let everybody in: TLS with certificates on both sides, accounts with credentials as `nsc` makes them,
//! passwords; and what is said where the server refuses.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use prony_load::{RunOptions, read_plan};
use prony_model::WindowKind;
use prony_model::program::StopFlag;
use prony_testkit::NatsServer;
use prony_testkit::certificates::Certificates;
use prony_testkit::peer::ScriptedPeer;
use prony_testkit::port::free_port;
use prony_workers::{
    Bundle, CoordinatorSettings, Kinds, LocalServer, NatsSettings, OnWorkerLost, PLANS, Terms, UserState,
    WorkerSettings, WorkersError, coordinate, serve,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static KINDS: Kinds = &[&PLANS];

fn worker(nats: &NatsSettings, output: &Path) -> WorkerSettings {
    WorkerSettings {
        nats: nats.clone(),
        name: "größe".to_owned(),
        labels: BTreeMap::new(),
        threads: NonZeroUsize::MIN,
        kinds: KINDS,
        output: output.to_owned(),
        is_for_one_run: true,
        tell: Box::new(|_| {}),
    }
}

/// A run of nine requests by one worker; each side reaches the server in its own way.
fn run(of_worker: &NatsSettings, of_coordinator: &NatsSettings, wait: Duration) -> Result<u64, WorkersError> {
    let (peer, folder, stop) =
        (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap(), StopFlag::default());
    let plan = folder.path().join("plan.toml");
    let text =
        format!("target = \"{}\"\nusers = 3\niterations = 3\nrequests = [{{ path = \"/\" }}]\n", peer.url());
    fs::write(&plan, text).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| serve(worker(of_worker, folder.path()), &stop).unwrap());
        let settings = CoordinatorSettings {
            nats: of_coordinator.clone(),
            wait,
            terms: Terms { workers: 1, on_lost: OnWorkerLost::End, users: UserState::OfPlan },
            tell: Box::new(|_| {}),
        };
        let bundle = Bundle::of_plan(&plan).unwrap();
        let result = coordinate(&read_plan(&plan).unwrap(), &bundle, settings, RunOptions::default());
        stop.stop();
        Ok(result?.window(WindowKind::Whole).unwrap().all.successes)
    })
}

/// Why a worker does not come to the server.
fn refused(nats: &NatsSettings) -> String {
    let folder = tempfile::tempdir().unwrap();
    serve(worker(nats, folder.path()), &StopFlag::default()).unwrap_err().to_string()
}

fn plain(url: String) -> NatsSettings {
    NatsSettings { url, ..NatsSettings::default() }
}

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn with_certificates_on_both_sides_and_not_without() {
    let (certificates, port) = (Certificates::new(), free_port());
    let ((cert, key), (own_cert, own_key)) =
        (certificates.server_files(&["localhost"]), certificates.client());
    let configuration = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        cert.display(),
        key.display(),
        certificates.ca_path().display()
    );
    let _server = NatsServer::start_with(port, &configuration);
    let trusting =
        NatsSettings { ca: Some(certificates.ca_path()), ..plain(format!("tls://localhost:{port}")) };
    let whole = NatsSettings { cert: Some(own_cert), key: Some(own_key), ..trusting.clone() };
    assert_eq!(run(&whole, &whole, PATIENCE).unwrap(), 9);
    let stranger = NatsSettings { ca: None, ..whole.clone() };
    let other_name = NatsSettings { url: format!("tls://127.0.0.1:{port}"), ..whole };
    for nats in [stranger, other_name, trusting] {
        let text = refused(&nats);
        assert!(text.starts_with(&format!("cannot connect to the NATS server {}: ", nats.url)), "{text}");
        assert!(
            text.contains("--nats-ca has the certificate") && text.contains("--nats-cert and --nats-key"),
            "{text}"
        );
    }
    let missing = NatsSettings {
        ca: Some(PathBuf::from("/nowhere/größe.pem")),
        ..plain(format!("tls://localhost:{port}"))
    };
    assert!(refused(&missing).contains("--nats-ca"), "{}", refused(&missing));
}

/// What listens there may be somebody else, who would read the password and the plan.
#[test]
fn who_names_certificates_says_nothing_to_a_server_without_tls() {
    let (certificates, port) = (Certificates::new(), free_port());
    let server = NatsServer::start_with(port, "authorization { user: lab, password: geheim }");
    let open = plain(format!("nats://lab:geheim@127.0.0.1:{port}"));
    let (cert, key) = certificates.client();
    let trusting = NatsSettings { ca: Some(certificates.ca_path()), ..open.clone() };
    let shown = NatsSettings { cert: Some(cert), key: Some(key), ..open };
    for nats in [trusting, shown] {
        let text = refused(&nats);
        assert!(text.contains("speaks TLS, that --nats-ca has the certificate"), "{text}");
    }
    drop(server);
}

/// Who may do nothing at the server would wait without a word.
#[test]
fn permissions_that_are_missing_are_said_on_both_sides() {
    let port = free_port();
    let denied = "{ publish: { deny: \"prony.>\" }, subscribe: { deny: \"prony.>\" } }";
    let users = format!("users = [{{ user: lab, password: geheim, permissions: {denied} }}]");
    let _server = NatsServer::start_with(port, &format!("authorization {{ {users} }}"));
    let nats = plain(format!("nats://lab:geheim@127.0.0.1:{port}"));
    let (folder, stop) = (tempfile::tempdir().unwrap(), StopFlag::default());
    let plan = folder.path().join("plan.toml");
    let text = "target = \"http://127.0.0.1:1\"\nusers = 3\niterations = 3\nrequests = [{ path = \"/\" }]\n";
    fs::write(&plan, text).unwrap();
    let (sender, told) = mpsc::channel();
    let tell = |side: &'static str| -> Box<dyn FnMut(&str)> {
        let sender = sender.clone();
        Box::new(move |text| drop(sender.send((side, text.to_owned()))))
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            serve(WorkerSettings { tell: tell("worker"), ..worker(&nats, folder.path()) }, &stop).unwrap();
        });
        let settings = CoordinatorSettings {
            nats: nats.clone(),
            wait: Duration::from_secs(2),
            terms: Terms { workers: 1, on_lost: OnWorkerLost::End, users: UserState::OfPlan },
            tell: tell("coordinator"),
        };
        let bundle = Bundle::of_plan(&plan).unwrap();
        let run = coordinate(&read_plan(&plan).unwrap(), &bundle, settings, RunOptions::default());
        let mut said = Vec::new();
        while said.len() < 2
            && let Ok((side, text)) = told.recv_timeout(PATIENCE)
        {
            if text.starts_with("the NATS server refuses: Permissions Violation") && !said.contains(&side) {
                said.push(side);
            }
        }
        stop.stop();
        assert!(matches!(run, Err(WorkersError::TooFew { .. })), "{run:?}");
        assert_eq!(said.len(), 2, "both sides say it: {said:?}");
    });
}

#[test]
fn a_wrong_password_is_said_without_repeating_it() {
    let port = free_port();
    let _server = NatsServer::start_with(port, "authorization { user: lab, password: \"g-e:h@im\" }");
    let right = plain(format!("nats://lab:g-e%3Ah%40im@127.0.0.1:{port}"));
    assert_eq!(run(&right, &right, PATIENCE).unwrap(), 9);
    for user in ["lab:verraten@", ""] {
        let text = refused(&plain(format!("nats://{user}127.0.0.1:{port}")));
        assert!(
            text.starts_with(&format!("cannot connect to the NATS server nats://127.0.0.1:{port}: ")),
            "{text}"
        );
        assert!(text.contains("write its user and password as nats://USER:PASSWORD@HOST:PORT"), "{text}");
        assert!(!text.contains("verraten"), "{text}");
    }
}

/// Who else is on the machine could hand its workers a script, and could read the plan.
#[test]
fn a_server_of_its_own_lets_nobody_else_in() {
    let server = LocalServer::start(&prony_testkit::nats::program()).unwrap();
    let own = plain(server.url().to_owned());
    assert_eq!(run(&own, &own, PATIENCE).unwrap(), 9);
    let (_, host) = own.url.rsplit_once('@').unwrap();
    for user in ["", "0123456789abcdef@", "lab:geheim@"] {
        let text = refused(&plain(format!("nats://{user}{host}")));
        assert!(text.contains("it refuses who asks"), "{text}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(server.folder()), 0o700);
    assert_eq!(mode(&server.folder().join("server.conf")), 0o600);
    let other = LocalServer::start(&prony_testkit::nats::program()).unwrap();
    assert_ne!(own.url.split('@').next(), other.url().split('@').next(), "each has a token of its own");
}

#[test]
fn a_server_that_takes_little_at_once_is_enough() {
    let port = free_port();
    let _server = NatsServer::start_with(port, "max_payload: 4096");
    let nats = plain(format!("nats://127.0.0.1:{port}"));
    assert_eq!(run(&nats, &nats, PATIENCE).unwrap(), 9);
}

// ---- accounts, as `nsc` makes them

/// A JSON Web Token as NATS has them (its "Decentralized JWT Authentication"): signed with an nkey.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, of_kind: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).unwrap());
    let claims = json!({
        "jti": name, "iat": 1_700_000_000, "iss": issuer.public_key(), "sub": subject.public_key(), "name": name, "nats": of_kind,
    });
    let text = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(&claims));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

fn credentials(folder: &Path, account: &KeyPair, name: &str) -> PathBuf {
    let user = KeyPair::new_user();
    let token = token(
        account,
        &user,
        name,
        &json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 }),
    );
    let path = folder.join(format!("{name}.creds"));
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{}\n\
         ------END USER NKEY SEED------\n",
        user.seed().unwrap()
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn accounts_are_apart_and_their_credentials_let_in() {
    let (folder, port, operator) = (tempfile::tempdir().unwrap(), free_port(), KeyPair::new_operator());
    let (own, other, foreign) = (KeyPair::new_account(), KeyPair::new_account(), KeyPair::new_account());
    let limits = &json!({ "subs": -1, "data": -1, "payload": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "wildcards": true });
    let account = |key: &KeyPair, name: &str| {
        let text = token(&operator, key, name, &json!({ "type": "account", "version": 2, "limits": limits }));
        format!("{}: {text}\n", key.public_key())
    };
    let configuration = format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{\n{}{}}}\n",
        token(&operator, &operator, "o", &json!({ "type": "operator", "version": 2 })),
        account(&own, "own"),
        account(&other, "other")
    );
    let server = NatsServer::start_with(port, &configuration);
    let with = |account: &KeyPair, name: &str| NatsSettings {
        credentials: Some(credentials(folder.path(), account, name)),
        ..plain(server.url())
    };
    assert_eq!(run(&with(&own, "a"), &with(&own, "b"), PATIENCE).unwrap(), 9);
    let apart =
        run(&with(&own, "c"), &with(&other, "d"), Duration::from_millis(1_500)).unwrap_err().to_string();
    assert!(apart.starts_with("only 0 of 1 workers came"), "{apart}");
    let text = refused(&with(&foreign, "e"));
    assert!(text.contains("--nats-credentials names a file as `nsc generate creds` makes it"), "{text}");
    assert!(refused(&plain(server.url())).contains("--nats-credentials FILE where it has accounts"));
    let missing =
        NatsSettings { credentials: Some(folder.path().join("größe.creds")), ..plain(server.url()) };
    let text = refused(&missing);
    assert!(
        text.contains("größe.creds") && text.contains("No such file") && text.contains("--nats-credentials"),
        "{text}"
    );
}
