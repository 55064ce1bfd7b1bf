//! Addresses of upstreams: `http://HOST:PORT/PATH`, `https://…`, and `http://unix:/SOCKET:/PATH` for Unix-domain sockets.

use std::{fmt, ops::Range, path::PathBuf};

use http::{Uri, uri::Scheme};
use percent_encoding::percent_decode_str;

/// Where one server of an upstream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    pub(crate) is_secure: bool,
    /// For `Host`.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) target: String,
    /// `Basic` credentials of the address: name and password.
    pub(crate) basic: Option<(String, String)>,
}

/// What is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("an upstream begins with http:// or https://")]
    Scheme,
    #[error("`http://unix:` needs a socket and a path behind it: http://unix:/run/api.sock:/graphql")]
    Socket,
    #[error("it is no URL: {0}")]
    Url(String),
    #[error("`{0}` is no port: 1 to 65535")]
    Port(String),
}

const UNIX: &str = "http://unix:";

impl Address {
    /// Where the password of an address stands in it.
    pub(crate) fn password(text: &str) -> Option<Range<usize>> {
        let uri: Uri = text.parse().ok()?;
        let authority = uri.authority()?.as_str();
        let (name, password) = authority.rsplit_once('@')?.0.split_once(':')?;
        let start = text.find(authority)? + name.len() + 1;
        (!password.is_empty()).then_some(start..start + password.len())
    }

    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(rest) = text.strip_prefix(UNIX) {
            let (socket, target) = rest.split_once(":/").ok_or(AddressError::Socket)?;
            if socket.is_empty() {
                return Err(AddressError::Socket);
            }
            return Ok(Self {
                place: Place::Unix(socket.into()),
                is_secure: false,
                authority: "localhost".to_owned(),
                target: format!("/{target}"),
                basic: None,
            });
        }
        let uri: Uri = text.parse().map_err(|error| AddressError::Url(format!("{error}")))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(AddressError::Scheme),
        };
        let authority = uri.authority().ok_or(AddressError::Scheme)?;
        let (user, at) = match authority.as_str().rsplit_once('@') {
            Some((user, at)) => (Some(user), at),
            None => (None, authority.as_str()),
        };
        let basic = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decoded(name), decoded(password))
        });
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port(at.strip_prefix(authority.host()))?.unwrap_or(if is_secure { 443 } else { 80 });
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        Ok(Self {
            place: Place::Tcp { host: host.to_owned(), port },
            is_secure,
            authority: at.to_owned(),
            target: target.to_owned(),
            basic,
        })
    }
}

/// The port behind a host, `:8080`.
fn port(behind: Option<&str>) -> Result<Option<u16>, AddressError> {
    let Some(digits) = behind.and_then(|behind| behind.strip_prefix(':')).filter(|digits| !digits.is_empty())
    else {
        return Ok(None);
    };
    match digits.parse() {
        Ok(port) if port > 0 => Ok(Some(port)),
        _ => Err(AddressError::Port(digits.to_owned())),
    }
}

/// Of a name or password, in which other characters stand by their codes (RFC 3986, section 3.2.1).
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// For people, and for the labels of metrics; without credentials.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Place::Tcp { .. } if self.is_secure => write!(formatter, "https://{}", self.authority),
            Place::Tcp { .. } => write!(formatter, "http://{}", self.authority),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let actual = match Address::parse(text) {
            Ok(Address { place, is_secure, authority, target, basic }) => {
                let user = basic.map_or(String::new(), |(name, password)| format!(" {name}/{password}"));
                format!("{place:?} {is_secure} {authority} {target}{user}")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn addresses_are_read() {
        check("http://a/graphql", r#"Tcp { host: "a", port: 80 } false a /graphql"#);
        check("https://a:1/q?x=1", r#"Tcp { host: "a", port: 1 } true a:1 /q?x=1"#);
        check("http://[::1]:4000", r#"Tcp { host: "::1", port: 4000 } false [::1]:4000 /"#);
        check("https://ann:pass@a/", r#"Tcp { host: "a", port: 443 } true a / ann/pass"#);
        check("http://unix:/run/a.sock:/graphql", r#"Unix("/run/a.sock") false localhost /graphql"#);
        check(
            "http://unix:/run/a.sock",
            "`http://unix:` needs a socket and a path behind it: http://unix:/run/api.sock:/graphql",
        );
        check("ftp://a/", "an upstream begins with http:// or https://");
        check("http://[::1]:/", r#"Tcp { host: "::1", port: 80 } false [::1]: /"#);
        // They were those of http and https.
        check("http://a:80800/", "`80800` is no port: 1 to 65535");
        check("https://ann:x@[::1]:0/", "`0` is no port: 1 to 65535");
        let (name, password) = ("a%40b+c", "p%3A%2F&=100%");
        check(
            &format!("https://{name}:{password}@a/"),
            r#"Tcp { host: "a", port: 443 } true a / a@b+c/p:/&=100%"#,
        );
    }

    #[test]
    fn passwords_are_found() {
        for (text, expected) in [
            ("https://ann:pass@a/?x=pass", Some("pass")),
            ("https://ann@a/", None),
            ("https://ann:@a/", None),
            ("https://a:1/b:c@d", None),
            ("http://unix:/run/a.sock:/graphql", None),
        ] {
            assert_eq!(Address::password(text).map(|place| &text[place]), expected, "{text}");
        }
    }
}
