//! A key that signs tokens (RFC 7519) as RS256, made anew for each run.

use aws_lc_rs::{
    encoding::AsDer as _,
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::credential_error::CredentialError;

/// RSA of 2,048 bits.
#[derive(Debug)]
pub struct TokenKey(KeyPair);

impl TokenKey {
    pub fn generate() -> Result<Self, CredentialError> {
        KeyPair::generate(KeySize::Rsa2048).map(Self).map_err(|_| not_made("an RSA key"))
    }

    /// A `SubjectPublicKeyInfo` as PEM (RFC 7468), as a gateway reads it.
    pub fn public_pem(&self) -> Result<String, CredentialError> {
        const LINE: usize = 64;
        let der = self.0.public_key().as_der().map_err(|_| not_made("a public key"))?;
        let text = STANDARD.encode(der.as_ref());
        let lines = text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line) + "\n");
        Ok(format!("-----BEGIN PUBLIC KEY-----\n{}-----END PUBLIC KEY-----\n", lines.collect::<String>()))
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, CredentialError> {
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(&json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
        let mut signature = vec![0; self.0.public_modulus_len()];
        self.0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| not_made("a token"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn not_made(what: &'static str) -> CredentialError {
    CredentialError::NotMade { what }
}
