//! The credentials that a request brings, as they come.

use std::fmt;

use serde_json::Value as Json;

/// Names in a verified client certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// The distinguished name of its subject (RFC 4514).
    pub subject: String,
    /// The first `CN` of its subject.
    pub common_name: Option<String>,
    /// Subject alternative names, by kind.
    pub dns: Vec<String>,
    pub emails: Vec<String>,
    pub uris: Vec<String>,
    /// When it ends, in Unix seconds.
    pub expires_at: Option<i64>,
}

/// Credentials of one request, borrowed from its head. [`Authenticator::credentials`](crate::Authenticator::credentials) makes
/// them; [`header`](Self::header) is given each header of the request.
#[derive(Default)]
pub struct Credentials<'a> {
    pub(crate) authorization: Option<&'a [u8]>,
    pub(crate) api_key: Option<&'a [u8]>,
    pub(crate) role: Option<&'a [u8]>,
    pub(crate) cookies: Vec<&'a [u8]>,
    /// A header that may stand once and stands twice.
    pub(crate) repeated: Option<&'static str>,
    pub(crate) certificate: Option<&'a CertificateNames>,
    /// Headers that the webhook is sent, in small letters.
    pub(crate) forward: &'a [String],
    pub(crate) forwarded: Vec<(&'a str, &'a [u8])>,
}

/// Never shows what they are.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("authorization", &self.authorization.is_some())
            .field("api_key", &self.api_key.is_some())
            .field("cookies", &self.cookies.len())
            .field("certificate", &self.certificate.is_some())
            .finish_non_exhaustive()
    }
}

impl<'a> Credentials<'a> {
    /// Takes a header of the request, whichever it is.
    pub fn header(&mut self, name: &str, value: &'a [u8]) {
        if let Some(name) = self.forward.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            self.forwarded.push((name, value));
        }
        let (name, field) = match name.len() {
            6 if name.eq_ignore_ascii_case("cookie") => return self.cookies.push(value),
            9 if name.eq_ignore_ascii_case("x-api-key") => ("x-api-key", &mut self.api_key),
            12 if name.eq_ignore_ascii_case("x-prony-role") => ("x-prony-role", &mut self.role),
            13 if name.eq_ignore_ascii_case("authorization") => ("authorization", &mut self.authorization),
            _ => return,
        };
        if field.replace(value).is_some() {
            self.repeated = Some(name);
        }
    }

    /// Takes the names of the client's certificate, which must have been verified.
    pub fn certificate(&mut self, names: &'a CertificateNames) {
        self.certificate = Some(names);
    }

    /// The value of a cookie; an empty one is none.
    ///
    /// # Errors
    /// There are several of that name.
    pub(crate) fn cookie(&self, name: &str) -> Result<Option<&'a [u8]>, SeveralCookies> {
        let mut found = None;
        for pair in self.cookies.iter().flat_map(|line| line.split(|byte| *byte == b';')) {
            let pair = pair.trim_ascii();
            let value = pair.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            if let Some(value) = value.filter(|value| !value.is_empty())
                && found.replace(value).is_some()
            {
                return Err(SeveralCookies);
            }
        }
        Ok(found)
    }
}

/// One name, several cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeveralCookies;

/// Whether the payload of a message has a credential of its own.
pub fn brings_credential(payload: &Json) -> bool {
    let among = |value: &Json| {
        let is_one =
            |name: &str| ["authorization", "x-api-key"].iter().any(|one| name.eq_ignore_ascii_case(one));
        value
            .as_object()
            .is_some_and(|members| members.iter().any(|(name, value)| is_one(name) && value.is_string()))
    };
    among(payload) || payload.get("headers").is_some_and(among)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut credentials = Credentials::default();
        credentials.header("Cookie", b"a=1; token=x.y.z;b=2");
        credentials.header("cookie", b"empty=; tokens=no; d=1; d=2");
        assert_eq!(credentials.cookie("token"), Ok(Some(&b"x.y.z"[..])));
        assert_eq!(credentials.cookie("b"), Ok(Some(&b"2"[..])));
        assert_eq!(credentials.cookie("toke"), Ok(None));
        assert_eq!(credentials.cookie("empty"), Ok(None));
        assert_eq!(credentials.cookie("d"), Err(SeveralCookies));
    }

    #[test]
    fn a_header_that_stands_twice_is_remembered() {
        let mut credentials = Credentials::default();
        credentials.header("AUTHORIZATION", b"Bearer a");
        credentials.header("X-Api-Key", b"k");
        assert_eq!(credentials.repeated, None);
        credentials.header("authorization", b"Bearer b");
        assert_eq!(credentials.repeated, Some("authorization"));
    }
}
