//! What the gateway of the study needs beside its configuration: a key for tokens and the tokens of many users (RFC 7519, signed as
//! RS256), and a certificate of its own for TLS.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{credential_error::CredentialError, token_key::TokenKey};

pub(super) const ISSUER: &str = "https://login.example/";
pub(super) const AUDIENCE: &str = "starwars";
/// Tokens of so many users; each request has one of them.
pub(super) const USERS: u32 = 1_000;
/// Longer than any run.
const VALID_S: u64 = 24 * 3_600;

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
        let key = TokenKey::generate()?;
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
            public_key: write("tokens-key.pem", &key.public_pem()?)?,
            certificate: write("certificate.pem", &certificate.cert.pem())?,
            certificate_key: write("certificate-key.pem", &certificate.signing_key.serialize_pem())?,
            tokens: tokens.into_iter().map(Value::from).collect(),
        })
    }
}

fn token(key: &TokenKey, user: u32) -> Result<String, CredentialError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    key.sign(&json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": format!("user-{user}"), "role": "reader", "scope": "starwars:read",
        "iat": now, "exp": now + VALID_S,
    }))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use base64::{
        Engine as _,
        engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
    };

    use super::*;

    #[test]
    fn tokens_are_signed_by_the_key_that_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let made = Credentials::make(folder.path()).unwrap();
        assert_eq!(made.tokens.len(), USERS as usize);
        assert_ne!(made.tokens[0], made.tokens[1]);
        let pem = fs::read_to_string(&made.public_key).unwrap();
        let text: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
        let der = STANDARD.decode(text).unwrap();
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
