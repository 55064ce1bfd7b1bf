//! What the gateway of the study needs beside its configuration: a key for tokens and the tokens of many users (RFC 7519, signed as
//! RS256), and a certificate of its own for TLS.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::{
    encoding::AsDer as _,
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub(super) const ISSUER: &str = "https://login.example/";
pub(super) const AUDIENCE: &str = "starwars";
/// Tokens of so many users; each request has one of them.
pub(super) const USERS: u32 = 1_000;
/// Longer than any run.
const VALID_S: u64 = 24 * 3_600;

/// What the gateway needs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("cannot make {what}")]
    NotMade { what: &'static str },
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// Files in the results' folder, and the tokens in memory.
#[derive(Debug)]
pub(super) struct Credentials {
    pub public_key: PathBuf,
    pub certificate: PathBuf,
    pub certificate_key: PathBuf,
    pub tokens: Vec<Value>,
}

impl Credentials {
    /// Makes all of them, and writes `tokens.csv` beside them for runs by hand.
    pub(super) fn make(folder: &Path) -> Result<Self, CredentialError> {
        let key = KeyPair::generate(KeySize::Rsa2048)
            .map_err(|_| CredentialError::NotMade { what: "an RSA key" })?;
        let public =
            key.public_key().as_der().map_err(|_| CredentialError::NotMade { what: "a public key" })?;
        let tokens: Vec<String> = (0..USERS).map(|user| token(&key, user)).collect::<Result<_, _>>()?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]);
        let certificate = made.map_err(|_| CredentialError::NotMade { what: "a certificate" })?;
        let csv = format!("token\n{}\n", tokens.join("\n"));
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let fault = |action, source| CredentialError::File { action, path: path.clone(), source };
            fs::write(&path, text).map_err(|error| fault("write", error))?;
            // The gateway reads it from a folder of its own choice.
            fs::canonicalize(&path).map_err(|error| fault("find", error))
        };
        write("tokens.csv", &csv)?;
        Ok(Self {
            public_key: write("tokens-key.pem", &public_pem(public.as_ref()))?,
            certificate: write("certificate.pem", &certificate.cert.pem())?,
            certificate_key: write("certificate-key.pem", &certificate.signing_key.serialize_pem())?,
            tokens: tokens.into_iter().map(Value::from).collect(),
        })
    }
}

fn token(key: &KeyPair, user: u32) -> Result<String, CredentialError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": format!("user-{user}"), "role": "reader", "scope": "starwars:read",
        "iat": now, "exp": now + VALID_S,
    });
    let signed = format!("{}.{}", part(json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| CredentialError::NotMade { what: "a token" })?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// A `SubjectPublicKeyInfo` as PEM (RFC 7468).
fn public_pem(der: &[u8]) -> String {
    const LINE: usize = 64;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines = text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line) + "\n");
    format!("-----BEGIN PUBLIC KEY-----\n{}-----END PUBLIC KEY-----\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    #[test]
    fn tokens_are_signed_by_the_key_that_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let made = Credentials::make(folder.path()).unwrap();
        assert_eq!(made.tokens.len(), USERS as usize);
        assert_ne!(made.tokens[0], made.tokens[1]);
        let pem = fs::read_to_string(&made.public_key).unwrap();
        let text: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let (signed, signature) = made.tokens[7].as_str().unwrap().rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, der)
            .verify(signed.as_bytes(), &signature)
            .unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["sub"], &claims["role"]), (&json!("user-7"), &json!("reader")));
        assert!(fs::read_to_string(&made.certificate).unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(
            fs::read_to_string(folder.path().join("tokens.csv")).unwrap().lines().count(),
            1 + USERS as usize
        );
    }
}
