//! Requests for tokens and the responses to them (RFC 8693, section 2), as values.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value as Json;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::{exchange_error::ExchangeError, exchange_settings::ExchangeSettings};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// Longer tokens are none that go into a header.
const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Of texts of the token server that go into the log.
const SHOWN_BYTES_MAX: usize = 200;

/// The form of a request.
pub(super) fn form(settings: &ExchangeSettings, token: &str) -> String {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", GRANT_TYPE);
    form.extend_pairs(&settings.parameters);
    if let (Some(id), None) = (&settings.client_id, &settings.client_secret) {
        form.append_pair("client_id", id);
    }
    form.append_pair("subject_token", token);
    form.finish()
}

/// The value of `Authorization` of a request (RFC 6749, section 2.3.1); none of a client without a secret.
pub(super) fn client_authorization(settings: &ExchangeSettings) -> Option<String> {
    let (id, secret) = (settings.client_id.as_ref()?, settings.client_secret.as_ref()?);
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    Some(format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(&secret.0)))))
}

/// A token that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IssuedToken {
    /// The value of `Authorization`.
    pub(super) authorization: String,
    /// For how long it is good; none where nothing is said.
    pub(super) lifetime: Option<Duration>,
}

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    token_type: String,
    expires_in: Option<Json>,
}

/// RFC 6749, section 5.2.
#[derive(Deserialize)]
struct Refusal {
    error: String,
    error_description: Option<String>,
}

/// What a response says.
pub(super) fn read(status: u16, body: &[u8]) -> Result<IssuedToken, ExchangeError> {
    if status != 200 {
        return Err(refusal(status, body));
    }
    // What is wrong with it is said without its text, which may hold the token.
    let issued: Issued = serde_json::from_slice(body).map_err(|_| {
        ExchangeError::Unreadable("it is no JSON with access_token and token_type".to_owned())
    })?;
    if !issued.token_type.eq_ignore_ascii_case("bearer") {
        let found = shown(&issued.token_type);
        return Err(ExchangeError::Unreadable(format!("its token_type is `{found}`, and not Bearer")));
    }
    // RFC 6750, section 2.1.
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let token = &issued.access_token;
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.bytes().all(is_character) {
        return Err(ExchangeError::Unreadable("its access_token cannot stand in a header".to_owned()));
    }
    let lifetime = issued.expires_in.filter(|value| !value.is_null()).map(|value| seconds(&value));
    let lifetime = lifetime.map(|seconds| {
        seconds.ok_or_else(|| ExchangeError::Unreadable("its expires_in is no time".to_owned()))
    });
    Ok(IssuedToken { authorization: format!("Bearer {token}"), lifetime: lifetime.transpose()? })
}

/// Some servers write numbers as texts.
fn seconds(value: &Json) -> Option<Duration> {
    let seconds = match value {
        Json::String(text) => text.parse().ok()?,
        Json::Number(number) => number.as_f64()?,
        _ => return None,
    };
    // A century; more is no time that a clock can add.
    let longest = 100.0 * 366.0 * 86_400.0;
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(longest)))
}

fn refusal(status: u16, body: &[u8]) -> ExchangeError {
    let Ok(Refusal { error, error_description }) = serde_json::from_slice(body) else {
        return ExchangeError::Unreadable(format!("it has status {status}"));
    };
    let description = error_description.map(|text| format!(": {}", shown(&text))).unwrap_or_default();
    let what = format!("status {status}, {}{description}", shown(&error));
    // Who asks has a token that is not taken, or nothing that anybody could ask here is.
    match error.as_str() {
        "invalid_request" | "invalid_grant" | "invalid_token" | "access_denied" if status < 500 => {
            ExchangeError::Refused(what)
        }
        _ => ExchangeError::Configuration(what),
    }
}

fn shown(text: &str) -> String {
    let printable = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    printable.take(SHOWN_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, body: &str, expected: &str) {
        let actual = match read(status, body.as_bytes()) {
            Ok(IssuedToken { authorization, lifetime }) => format!("{authorization} {lifetime:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected, "{status} {body}");
    }

    #[test]
    fn tokens_are_taken_and_nonsense_is_not() {
        let with = |more: &str| format!(r#"{{"access_token":"a.b-c","token_type":"bearer"{more}}}"#);
        check(200, &with(""), "Bearer a.b-c None");
        check(200, &with(r#","expires_in":60,"issued_token_type":"x""#), "Bearer a.b-c Some(60s)");
        check(200, &with(r#","expires_in":"60""#), "Bearer a.b-c Some(60s)");
        check(200, &with(r#","expires_in":0"#), "Bearer a.b-c Some(0ns)");
        check(200, &with(r#","expires_in":1e300"#), "Bearer a.b-c Some(3162240000s)");
        for lifetime in ["-1", "\"soon\"", "true", "[]"] {
            let expected = "the token server's response cannot be used: its expires_in is no time";
            check(200, &with(&format!(r#","expires_in":{lifetime}"#)), expected);
        }
        let none =
            "the token server's response cannot be used: it is no JSON with access_token and token_type";
        for body in ["", "<html>", "[]", "{}", r#"{"access_token":1,"token_type":"bearer"}"#] {
            check(200, body, none);
        }
        check(
            200,
            r#"{"access_token":"a","token_type":"N_A"}"#,
            "the token server's response cannot be used: its token_type is `N_A`, and not Bearer",
        );
        for token in ["", "a b", "a\\r\\nx: y", "\\u00fc"] {
            check(
                200,
                &format!(r#"{{"access_token":"{token}","token_type":"Bearer"}}"#),
                "the token server's response cannot be used: its access_token cannot stand in a header",
            );
        }
    }

    #[test]
    fn refusals_say_whose_matter_they_are() {
        check(
            400,
            r#"{"error":"invalid_grant","error_description":"it has\nexpired"}"#,
            "the token server refuses the client's token: status 400, invalid_grant: it has expired",
        );
        check(
            401,
            r#"{"error":"invalid_client"}"#,
            "the token server refuses to exchange tokens: status 401, invalid_client",
        );
        check(502, "<html>", "the token server's response cannot be used: it has status 502");
        check(302, "", "the token server's response cannot be used: it has status 302");
    }
}
