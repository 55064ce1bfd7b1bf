//! The address of a QuestDB: one of PostgreSQL's protocol, with where HTTP is behind it.

use crate::error::OpenError;
use crate::names::is_plain;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;

const SCHEME: &str = "questdb://";
/// Where QuestDB listens by itself, with its first user.
const PG_PORT: &str = "8812";
const HTTP_PORT: &str = "9000";
const USER: &str = "admin:quest";
const DATABASE: &str = "qdb";
const PREFIX: &str = "prony";
/// Of the tables' names.
const PREFIX_BYTES_MAX: usize = 30;

/// Where a QuestDB is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct QuestAddress {
    /// As the driver of PostgreSQL's protocol reads it.
    pub(crate) pg_url: String,
    /// `http://host:port`, or with https.
    pub(crate) http_url: String,
    /// What requests have for `Authorization`, where a user is named.
    pub(crate) authorization: Option<String>,
    /// With what the names of tables begin.
    pub(crate) prefix: String,
}

/// Without what may have a password.
impl std::fmt::Debug for QuestAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuestAddress").field("http_url", &self.http_url).finish_non_exhaustive()
    }
}

fn wrong(why: impl Into<String>) -> OpenError {
    OpenError::Address { why: why.into() }
}

fn decoded(text: &str) -> Result<String, OpenError> {
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded.map_err(|_| wrong("a part of it is no UTF-8 once %XX is read"))?.into_owned())
}

/// Whether it ends with a port, behind a name or an address of IPv6.
fn has_port(place: &str) -> bool {
    place.rsplit_once(':').is_some_and(|(host, _)| !host.contains(':') || host.ends_with(']'))
}

fn with_port(place: &str, port: &str) -> String {
    if has_port(place) { place.to_owned() } else { format!("{place}:{port}") }
}

fn without_port(place: &str) -> &str {
    if has_port(place) { place.rsplit_once(':').map_or(place, |(host, _)| host) } else { place }
}

/// Credentials of a user, written `NAME:PASSWORD` with `%XX`.
fn basic(user: &str) -> Result<String, OpenError> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let both = format!("{}:{}", decoded(name)?, decoded(password)?);
    Ok(format!("Basic {}", BASE64_STANDARD.encode(both)))
}

impl QuestAddress {
    pub(crate) fn read(url: &str) -> Result<Self, OpenError> {
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with questdb://"))?;
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, place) =
            before.rsplit_once('@').map_or((None, before), |(user, place)| (Some(user), place));
        let (place, database) = place.split_once('/').unwrap_or((place, ""));
        if without_port(place).is_empty() {
            return Err(wrong("it has no host"));
        }
        if place.contains(',') {
            return Err(wrong("it has several hosts, where QuestDB is one"));
        }
        let (mut http, mut prefix, mut others) = (None, PREFIX.to_owned(), Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some((scheme @ ("http" | "https"), place)) if http.is_none() && !place.is_empty() => {
                    http = Some((scheme, decoded(place)?));
                }
                Some(("http" | "https", _)) => {
                    return Err(wrong(
                        "it must name one place of HTTP, as http=HOST:PORT or https=HOST:PORT",
                    ));
                }
                Some(("prefix", text)) => prefix = decoded(text)?,
                _ => others.push(parameter),
            }
        }
        if prefix.is_empty() || prefix.len() > PREFIX_BYTES_MAX || !is_plain(&prefix) {
            return Err(wrong(format!(
                "the prefix of tables must have 1 to {PREFIX_BYTES_MAX} small letters, digits and _, and `{prefix}` is something else"
            )));
        }
        let (scheme, http) = http.unwrap_or_else(|| ("http", without_port(place).to_owned()));
        let authorization = user.map(basic).transpose()?;
        let database = if database.is_empty() { DATABASE } else { database };
        let question = if others.is_empty() { "" } else { "?" };
        Ok(Self {
            pg_url: format!(
                "postgres://{}@{}/{database}{question}{}",
                user.unwrap_or(USER),
                with_port(place, PG_PORT),
                others.join("&")
            ),
            http_url: format!("{scheme}://{}", with_port(&http, HTTP_PORT)),
            authorization,
            prefix,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_as_questdb_has_it_by_itself() {
        for (url, pg, http) in [
            ("questdb://db", "postgres://admin:quest@db:8812/qdb", "http://db:9000"),
            ("questdb://[::1]", "postgres://admin:quest@[::1]:8812/qdb", "http://[::1]:9000"),
            ("questdb://[::1]:5/x", "postgres://admin:quest@[::1]:5/x", "http://[::1]:9000"),
            ("questdb://me@db:1", "postgres://me@db:1/qdb", "http://db:9000"),
            (
                "questdb://me:p%40s@db:1/qdb?https=other&sslmode=require",
                "postgres://me:p%40s@db:1/qdb?sslmode=require",
                "https://other:9000",
            ),
            (
                "questdb://db?http=127.0.0.1:19000",
                "postgres://admin:quest@db:8812/qdb",
                "http://127.0.0.1:19000",
            ),
        ] {
            let read = QuestAddress::read(url).unwrap();
            assert_eq!((&*read.pg_url, &*read.http_url), (pg, http), "{url}");
        }
        let read = QuestAddress::read("questdb://me:p%40s@db?prefix=plant_2").unwrap();
        assert_eq!(read.authorization.as_deref(), Some("Basic bWU6cEBz"));
        assert_eq!(read.prefix, "plant_2");
        assert!(!format!("{read:?}").contains("p%40s"));
    }

    #[test]
    fn what_cannot_be_read_is_told_without_the_password() {
        for url in [
            "questdb://",
            "questdb://me:secret@",
            "questdb://me:secret@one,two",
            "questdb://me:secret@db?http=",
            "questdb://me:secret@db?http=a&https=b",
            "questdb://me:secret@db?prefix=Big",
            "questdb://me:secret@db?prefix=",
        ] {
            let error = QuestAddress::read(url).unwrap_err().to_string();
            assert!(error.contains("http=HOST:9000") && !error.contains("secret"), "{error}");
        }
    }
}
