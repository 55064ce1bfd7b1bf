//! Tests over the whole crate: a configuration's text, tokens that are made here, and who that makes of a request.

mod api_keys;
mod attacks;
mod claims;
mod configuration;
mod inheritance;
mod interceptors;
mod key_sets;
mod operations;
mod other_ways;
mod parsing;
mod standing;
mod tokens;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::{
    encoding::AsDer,
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        self as aws, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair,
    },
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use prony_source::config::{Faults, FileText};
use serde_json::{Value as Json, json};
use toml::de::DeTable;

use crate::{
    AccessSettings, AuthRefusal, Authenticator, ConfigInputs, Credentials, Identified, Identity, RefusalKind,
};

/// The time of most tests.
const NOW: i64 = 1_800_000_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Roles and an issuer that most tests use; the rest of `[[auth.jwt]]` can follow.
const SHOP: &str = r#"
[roles.customer.sources.shop.tables.orders]
select = { columns = ["id"], rows = { customer = { eq = "$user.id" } } }
[roles.clerk.sources.shop.tables]
orders = { select = true, update = { columns = ["total"], rows = { shop = { eq = "$shop" } } } }
[roles.admin]
unrestricted = true
"#;
const SHOP_ISSUER: &str = r#"
[[auth.jwt]]
issuer = "https://login.example/"
audience = "shop"
secret = "${JWT_SECRET}"
algorithms = ["HS256"]
claims = { role = "/shop/role", allowed_roles = "/shop/roles", "user.id" = "/sub", shop = "/shop/id" }
"#;

/// What stands beside the configuration.
#[derive(Default)]
struct Beside {
    variables: BTreeMap<&'static str, String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Beside {
    fn new() -> Self {
        let variables = BTreeMap::from([("JWT_SECRET", SECRET.to_owned())]);
        Self { variables, files: BTreeMap::new() }
    }

    fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), content.into());
        self
    }

    /// Settings and all faults, a line each.
    fn read(&self, text: &str) -> (AccessSettings, String) {
        let file = FileText::new(Path::new("prony.toml"), text);
        let (table, syntax) = DeTable::parse_recoverable(text);
        let mut faults = Faults::default();
        for error in syntax {
            faults.push(file.place(&error.span().unwrap_or_default()), error.message());
        }
        let entry = |name: &str| file.entries(table.get_ref()).find(|entry| entry.name() == name);
        let variable = |name: &str| self.variables.get(name).cloned();
        let bytes = |path: &Path| self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        let inputs = ConfigInputs { variable: &variable, file: &bytes };
        let mut settings = AccessSettings::read(entry("auth"), entry("roles"), &inputs, &mut faults);
        if let Some(operations) = entry("operation") {
            settings.read_operations(operations, &mut faults);
        }
        if let Some(interceptors) = entry("interceptors") {
            settings.read_interceptors(interceptors, &mut faults);
        }
        faults.sort();
        let lines: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        (settings, lines.join("\n"))
    }

    fn settings(&self, text: &str) -> AccessSettings {
        let (settings, faults) = self.read(text);
        assert_eq!(faults, "");
        settings
    }

    fn authenticator(&self, text: &str) -> Authenticator {
        Authenticator::new(&self.settings(text))
    }
}

/// The shop with its issuer.
fn shop() -> Authenticator {
    Beside::new().authenticator(&format!("{SHOP_ISSUER}{SHOP}"))
}

/// Claims that the shop's issuer would make of a customer.
fn customer() -> Json {
    json!({
        "iss": "https://login.example/", "aud": "shop", "sub": "ann", "exp": NOW + 300,
        "shop": {"role": "customer", "roles": ["customer", "clerk"], "id": 7},
    })
}

/// The same with other values; null takes one away.
fn with(mut claims: Json, changes: Json) -> Json {
    let Json::Object(changes) = changes else { panic!("changes are an object") };
    let object = claims.as_object_mut().expect("claims are an object");
    for (name, value) in changes {
        if value.is_null() {
            object.remove(&name);
        } else {
            object.insert(name, value);
        }
    }
    claims
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A token of any header and payload.
fn token_of(header: &str, payload: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let signed = format!("{}.{}", encoded(header), encoded(payload));
    let signature = encoded(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// An HMAC with SHA-256.
fn hs256(secret: &[u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    move |signed| hmac::sign(&key, signed).as_ref().to_vec()
}

/// A token of the shop's issuer.
fn token(claims: &Json) -> String {
    token_of(r#"{"alg":"HS256","typ":"JWT"}"#, &claims.to_string(), hs256(SECRET.as_bytes()))
}

/// A key pair, of which the public half can be written in several ways.
enum TestKey {
    Rsa(Box<RsaKeyPair>),
    Ec(Box<EcdsaKeyPair>, &'static str),
    Ed(Box<Ed25519KeyPair>),
}

impl TestKey {
    fn rsa(size: KeySize) -> Self {
        Self::Rsa(Box::new(RsaKeyPair::generate(size).expect("a key can be made")))
    }

    fn ec(algorithm: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        Self::Ec(Box::new(EcdsaKeyPair::generate(algorithm).expect("a key can be made")), curve)
    }

    fn p256() -> Self {
        Self::ec(&aws::ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    fn ed() -> Self {
        Self::Ed(Box::new(Ed25519KeyPair::generate().expect("a key can be made")))
    }

    /// By the algorithm of this name.
    fn sign(&self, algorithm: &str, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ed(key) => key.sign(signed).as_ref().to_vec(),
            Self::Ec(key, _) => key.sign(&random, signed).expect("it can sign").as_ref().to_vec(),
            Self::Rsa(key) => {
                let padding: &'static dyn RsaEncoding = match algorithm {
                    "RS256" => &aws::RSA_PKCS1_SHA256,
                    "RS384" => &aws::RSA_PKCS1_SHA384,
                    "RS512" => &aws::RSA_PKCS1_SHA512,
                    "PS256" => &aws::RSA_PSS_SHA256,
                    "PS384" => &aws::RSA_PSS_SHA384,
                    _ => &aws::RSA_PSS_SHA512,
                };
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(padding, &random, signed, &mut signature).expect("it can sign");
                signature
            }
        }
    }

    fn token(&self, algorithm: &str, key_id: Option<&str>, claims: &Json) -> String {
        let mut header = json!({"alg": algorithm, "typ": "JWT"});
        if let Some(id) = key_id {
            header["kid"] = json!(id);
        }
        token_of(&header.to_string(), &claims.to_string(), |signed| self.sign(algorithm, signed))
    }

    /// As `SubjectPublicKeyInfo`.
    fn spki(&self) -> Vec<u8> {
        let der = match self {
            Self::Rsa(key) => key.public_key().as_der(),
            Self::Ec(key, _) => key.public_key().as_der(),
            Self::Ed(key) => key.public_key().as_der(),
        };
        der.expect("it can be written").as_ref().to_vec()
    }

    fn pem(&self) -> String {
        pem::encode(&pem::Pem::new("PUBLIC KEY", self.spki()))
    }

    fn jwk(&self, more: Json) -> Json {
        let key = match self {
            Self::Rsa(key) => {
                let public = key.public_key();
                json!({
                    "kty": "RSA",
                    "n": encoded(public.modulus().big_endian_without_leading_zero()),
                    "e": encoded(public.exponent().big_endian_without_leading_zero()),
                })
            }
            Self::Ec(key, curve) => {
                let (x, y) =
                    key.public_key().as_ref()[1..].split_at((key.public_key().as_ref().len() - 1) / 2);
                json!({"kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y)})
            }
            Self::Ed(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(key.public_key().as_ref())}),
        };
        with(key, more)
    }
}

/// Who a request with these headers is.
fn identify(
    authenticator: &Authenticator,
    headers: &[(&str, &str)],
    now: i64,
) -> Result<Arc<Identity>, AuthRefusal> {
    let mut credentials: Credentials<'_> = authenticator.credentials();
    for (name, value) in headers {
        // The borrows of credentials are as long as the authenticator's.
        credentials.header(name, value.to_string().leak().as_bytes());
    }
    match authenticator.identify(&credentials, None, now) {
        Identified::Known(identity) => Ok(identity),
        Identified::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

/// Who a request with this token is.
fn bearer(authenticator: &Authenticator, token: &str, now: i64) -> Result<Arc<Identity>, AuthRefusal> {
    identify(authenticator, &[("authorization", &format!("Bearer {token}"))], now)
}

/// Why a token is refused, for the log.
fn refusal(authenticator: &Authenticator, token: &str, now: i64) -> String {
    let refused = bearer(authenticator, token, now).expect_err(token);
    assert_eq!(refused.kind, RefusalKind::InvalidToken, "{refused}");
    assert!(!refused.reason.contains(SECRET), "{refused}");
    refused.reason
}

/// A role's name.
fn role(settings: &AccessSettings, identity: &Identity) -> String {
    settings.roles[identity.role.index()].name.to_string()
}
