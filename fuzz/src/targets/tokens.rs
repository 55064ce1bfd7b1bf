//! Credentials: nothing but what was signed is anybody.

use std::{io, path::Path, sync::LazyLock};

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use prony_access::{AccessSettings, Authenticator, ConfigInputs, Identified};
use prony_source::config::{Faults, FileText};
use toml::de::DeTable;

use super::texts;
use crate::Target;

pub(super) const TOKEN: Target = Target { name: "token", seeds: tokens, run: token };

const NOW: i64 = 1_800_000_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const SETTINGS: &str = r#"
[[auth.jwt]]
issuer = "https://login.example/"
audience = "shop"
secret = "${JWT_SECRET}"
algorithms = ["HS256"]
claims = { role = "/shop/role", allowed_roles = "/shop/roles", "user.id" = "/sub" }
[roles.customer.sources.shop.tables.orders]
select = { columns = ["id"], rows = { customer = { eq = "$user.id" } } }
"#;

static AUTHENTICATOR: LazyLock<Authenticator> = LazyLock::new(|| {
    let (file, (table, syntax)) =
        (FileText::new(Path::new("prony.toml"), SETTINGS), DeTable::parse_recoverable(SETTINGS));
    assert!(syntax.is_empty(), "{syntax:?}");
    let entry = |name: &str| file.entries(table.get_ref()).find(|entry| entry.name() == name);
    let variable = |name: &str| (name == "JWT_SECRET").then(|| SECRET.to_owned());
    let bytes = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let (inputs, mut faults) = (ConfigInputs { variable: &variable, file: &bytes }, Faults::default());
    let settings = AccessSettings::read(entry("auth"), entry("roles"), &inputs, &mut faults);
    assert!(faults.0.is_empty(), "{faults:?}");
    Authenticator::new(&settings)
});

fn signed(header: &str, claims: &str) -> String {
    let text = format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes())))
}

fn good() -> String {
    let claims = r#"{"iss":"https://login.example/","aud":"shop","exp":1800000600,"sub":"7","shop":{"role":"customer","roles":["customer"]}}"#;
    signed(r#"{"alg":"HS256","typ":"JWT"}"#, claims)
}

fn tokens() -> Vec<Vec<u8>> {
    let none = signed(r#"{"alg":"none"}"#, "{}");
    let other =
        signed(r#"{"alg":"HS256","crit":["b64"],"kid":"../x"}"#, r#"{"exp":1e300,"aud":["shop"],"iss":1}"#);
    let [good, again, none, other] = [good(), good(), none, other].map(|token| format!("Bearer {token}"));
    texts(&[&good, &format!("{again}."), &none, &other])
}

fn token(bytes: &[u8]) {
    static GOOD: LazyLock<String> = LazyLock::new(good);
    let mut credentials = AUTHENTICATOR.credentials();
    credentials.header("authorization", bytes);
    let is_known = !matches!(AUTHENTICATOR.identify(&credentials, None, NOW), Identified::Refused(_));
    if is_known {
        // The scheme's case and blanks around are free (RFC 9110, 11.1); the token is not.
        let text = std::str::from_utf8(bytes).expect("a token is a text").trim();
        let (scheme, token) = text.split_once(' ').expect("a scheme and a token");
        assert!(scheme.eq_ignore_ascii_case("bearer") && token.trim() == *GOOD, "{text:?} is taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the target would find nothing, whatever was taken.
    #[test]
    fn the_good_token_is_somebody() {
        let good = format!("Bearer {}", good());
        let mut credentials = AUTHENTICATOR.credentials();
        credentials.header("authorization", good.as_bytes());
        assert!(matches!(AUTHENTICATOR.identify(&credentials, None, NOW), Identified::Known(_)));
    }
}
