//! Issuers whose keys are at an address: keys that come, change and cannot be had.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;

use super::{ask, bearer, body, encoded, serve, unix_now};
use crate::support::{PATIENCE, get, post_with};

/// Serves what it is given, and counts how often.
struct Issuer {
    address: SocketAddr,
    response: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
    /// Before it responds.
    pause: Arc<Mutex<Duration>>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (response, asked) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicUsize::new(0)));
        let (to_send, to_count) = (Arc::clone(&response), Arc::clone(&asked));
        let pause = Arc::new(Mutex::new(Duration::ZERO));
        let to_pause = Arc::clone(&pause);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let lines = BufReader::new(stream.try_clone().expect("it can be read")).lines();
                lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
                to_count.fetch_add(1, Ordering::SeqCst);
                let pause = *to_pause.lock().expect("no test panics with it");
                std::thread::sleep(pause);
                let _ = stream.write_all(to_send.lock().expect("no test panics with it").as_bytes());
            }
        });
        Self { address, response, asked, pause }
    }

    fn respond(&self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        *self.response.lock().expect("no test panics with it") = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
    }

    fn respond_keys(&self, keys: &[&Key]) {
        let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
        self.respond("200 OK", "", &json!({ "keys": keys }).to_string());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

struct Key {
    id: &'static str,
    pair: EcdsaKeyPair,
}

impl Key {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            pair: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made"),
        }
    }

    fn jwk(&self) -> serde_json::Value {
        // An uncompressed point: 4, x, y.
        let point = self.pair.public_key().as_ref();
        let part = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
        json!({"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": self.id, "x": part(&point[1..33]), "y": part(&point[33..])})
    }

    fn token(&self) -> String {
        let claims =
            json!({"iss": "https://keys.test/", "aud": "shop", "exp": unix_now() + 600, "role": "reader"});
        let text = format!("{}.{}", encoded(&json!({"alg": "ES256", "kid": self.id})), encoded(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).expect("it can be signed");
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn configuration(issuer: &Issuer) -> String {
    format!(
        r#"
[[auth.jwt]]
issuer = "https://keys.test/"
audience = "shop"
jwks = "http://{}/keys"
algorithms = ["ES256"]
claims = {{ role = "/role" }}
[roles.reader.sources.chinook.tables.Genre]
select = {{ columns = ["Name"] }}
"#,
        issuer.address
    )
}

const QUERY: &str = "{ genres(limit: 1) { Name } }";
const ANSWER: &str = r#"{"data":{"genres":[{"Name":"Rock"}]}}"#;

#[test]
fn a_token_of_a_new_key_has_it_fetched() {
    let (issuer, first, second) = (Issuer::start(), Key::new("first"), Key::new("second"));
    issuer.respond_keys(&[&first]);
    let server = serve(&configuration(&issuer));
    for _ in 0..3 {
        assert_eq!(body(&server, &bearer(&first.token()), QUERY), ANSWER);
    }
    let asked = issuer.asked();
    assert!(asked >= 1);
    issuer.respond_keys(&[&second]);
    // A key that is unknown is looked for at most once in a while: the keys were fetched a moment ago.
    let refused = ask(&server, &bearer(&second.token()), QUERY);
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert_eq!(issuer.asked(), asked);
    assert_eq!(body(&server, &bearer(&first.token()), QUERY), ANSWER);
}

/// Nobody had the keys for half a minute when whoever had them fetched was gone before they came.
#[test]
fn keys_are_fetched_for_others_when_who_has_begun_it_leaves() {
    let (issuer, first, second) = (Issuer::start(), Key::new("first"), Key::new("second"));
    issuer.respond_keys(&[&first]);
    let text = configuration(&issuer).replace("algorithms", "unknown_key_s = 1\nalgorithms");
    let server = serve(&text);
    assert_eq!(body(&server, &bearer(&first.token()), QUERY), ANSWER);
    std::thread::sleep(Duration::from_millis(2_100));
    issuer.respond_keys(&[&first, &second]);
    *issuer.pause.lock().expect("no test panics with it") = Duration::from_millis(700);
    let asked = issuer.asked();
    let headers = format!("content-type: application/json\r\n{}", bearer(&second.token()));
    let mut leaving = server.connect();
    leaving.send(post_with(&headers, &json!({ "query": QUERY }).to_string()));
    let deadline = Instant::now() + PATIENCE;
    while issuer.asked() == asked {
        assert!(Instant::now() < deadline, "the keys are not fetched");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(leaving);
    assert_eq!(body(&server, &bearer(&second.token()), QUERY), ANSWER);
}

#[test]
fn an_issuer_that_is_not_there_is_told_in_health() {
    let (issuer, key) = (Issuer::start(), Key::new("k"));
    for (status, headers, text) in [
        ("500 Oops", "", "{}"),
        ("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
        ("200 OK", "", "no JSON"),
        ("200 OK", "", r#"{"keys":[]}"#),
    ] {
        issuer.respond(status, headers, text);
        let server = serve(&configuration(&issuer));
        let refused = ask(&server, &bearer(&key.token()), QUERY);
        assert!(
            refused.starts_with("HTTP/1.1 401") || refused.starts_with("HTTP/1.1 503"),
            "{status}: {refused}"
        );
        let health = server.ask(get("/health"));
        assert!(health.contains("failing_since") && health.contains(r#""keys":0"#), "{status}: {health}");
    }
}
