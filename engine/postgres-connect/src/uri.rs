//! Connection strings of the form `postgres://user:password@host:port,host:port/database?parameter=value` (PostgreSQL manual,
//! "Connection URIs").

use std::ops::Range;

use percent_encoding::percent_decode_str;

use crate::given::Given;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const FORM: &str = "write postgres://user:password@host:port/database";

pub(crate) fn is_one(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// A string's parts as they are written, with `%XX`.
struct UriParts<'t> {
    user: Option<&'t str>,
    password: Option<&'t str>,
    hosts: &'t str,
    database: Option<&'t str>,
    /// What stands behind `?`, without empty ones.
    parameters: Vec<&'t str>,
}

fn split(text: &str) -> UriParts<'_> {
    let rest = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    // Passwords with a slash or an at sign that is not encoded are read all the same, as far as that is clear.
    let authority_end = rest.rfind('@').map_or(0, |at| at + 1);
    let path = rest[authority_end..].find('/').map(|slash| authority_end + slash);
    let (authority, database) = match path {
        Some(slash) => (&rest[..slash], Some(&rest[slash + 1..])),
        None => (rest, None),
    };
    let (credentials, hosts) = authority.rsplit_once('@').map_or((None, authority), |(a, b)| (Some(a), b));
    let (user, password) = match credentials.map(|text| text.split_once(':').ok_or(text)) {
        None => (None, None),
        Some(Err(user)) => (Some(user), None),
        Some(Ok((user, password))) => (Some(user), Some(password)),
    };
    let parameters = query.split('&').filter(|pair| !pair.is_empty()).collect();
    UriParts { user, password, hosts, database, parameters }
}

/// Where passwords stand in a URI, as it is read here: byte positions, in their order. Its scheme may be missing.
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    let parts = split(text);
    let of_parameters = parts.parameters.iter().filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = decoded("the name of a parameter", name).ok()?;
        ["password", "sslpassword"].contains(&name.as_str()).then_some(value)
    });
    // All are slices of the text.
    let place = |part: &str| {
        let start = part.as_ptr().addr() - text.as_ptr().addr();
        start..start + part.len()
    };
    parts.password.into_iter().chain(of_parameters).filter(|part| !part.is_empty()).map(place).collect()
}

/// # Errors
/// What is wrong, without any value.
pub(crate) fn parse(text: &str) -> Result<Given, String> {
    let UriParts { user, password, hosts, database, parameters } = split(text);
    let mut given = Given::new();
    for (name, value) in [("user", user), ("password", password)] {
        put(&mut given, name, value.unwrap_or_default())?;
    }
    put_hosts(&mut given, hosts)?;
    if let Some(database) = database {
        put(&mut given, "dbname", database)?;
    }
    for pair in parameters {
        let (name, value) = pair.split_once('=').ok_or("a parameter behind ? has no =; write name=value")?;
        // As clients for Java write it.
        let (name, value) =
            if (name, value) == ("ssl", "true") { ("sslmode", "require") } else { (name, value) };
        given.insert(decoded("the name of a parameter", name)?, decoded(name, value)?);
    }
    Ok(given)
}

/// Nothing where it is empty: then others may say it.
fn put(given: &mut Given, name: &str, value: &str) -> Result<(), String> {
    if !value.is_empty() {
        given.insert(name.to_owned(), decoded(name, value)?);
    }
    Ok(())
}

fn decoded(name: &str, value: &str) -> Result<String, String> {
    let decoded = percent_decode_str(value).decode_utf8();
    let decoded = decoded.map_err(|_| format!("{name} is no UTF-8 once %XX is read; {FORM}"))?;
    Ok(decoded.into_owned())
}

/// `host:port,[::1]:port`: two lists, of the same length where there is a port at all.
fn put_hosts(given: &mut Given, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in text.split(',') {
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) =
                    rest.split_once(']').ok_or_else(|| format!("an address of IPv6 has no ]; {FORM}"))?;
                (host, port.strip_prefix(':').unwrap_or(port))
            }
            None => place.split_once(':').unwrap_or((place, "")),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("a port is no number; {FORM}, with %XX for signs in user and password"));
        }
        hosts.push(decoded("a host", host)?);
        ports.push(port);
    }
    if hosts.iter().any(|host| !host.is_empty()) {
        given.insert("host".to_owned(), hosts.join(","));
    }
    if ports.iter().any(|port| !port.is_empty()) {
        given.insert("port".to_owned(), ports.join(","));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        parse(text).unwrap().into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn all_parts_are_read() {
        for (text, expected) in [
            (
                "postgres://ann:p%40ss@one:1,[::1]:2/sh%6Fp?sslmode=verify-full&options=-c%20a%3Db",
                vec![
                    "dbname=shop",
                    "host=one,::1",
                    "options=-c a=b",
                    "password=p@ss",
                    "port=1,2",
                    "sslmode=verify-full",
                    "user=ann",
                ],
            ),
            ("postgresql://%2Fvar%2Frun/shop", vec!["dbname=shop", "host=/var/run"]),
            ("postgresql://", vec![]),
            ("postgres:///shop?host=h&ssl=true", vec!["dbname=shop", "host=h", "sslmode=require"]),
            ("postgres://one,two:5433", vec!["host=one,two", "port=,5433"]),
            ("postgres://u:p@ss/word@h/d", vec!["dbname=d", "host=h", "password=p@ss/word", "user=u"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn passwords_are_found_where_they_are_read() {
        for (text, expected) in [
            ("postgres://ann:s3:cr@t@h/shop?x=1", vec!["s3:cr@t"]),
            ("postgres://ann:s/cret@h/shop", vec!["s/cret"]),
            ("postgres://h/shop?user=ann&password=s%20", vec!["s%20"]),
            ("postgres://ann:one@h?pass%77ord=two&sslpassword=three", vec!["one", "two", "three"]),
            ("me:pw@db:1/qdb?https=other", vec!["pw"]),
            ("postgres://ann@h/d?passfile=f", vec![]),
            ("postgres://ann:@h/d?password=", vec![]),
        ] {
            let found: Vec<&str> = secrets(text).into_iter().map(|place| &text[place]).collect();
            assert_eq!(found, expected, "{text}");
            let read = parse(text).unwrap().remove("password").unwrap_or_default();
            assert!(read.is_empty() || found.iter().any(|part| decoded("", part).unwrap() == read), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_without_values() {
        for text in
            ["postgres://u:secret@host:port/db", "postgres://u:secret@[::1/db", "postgres://h/d?secret"]
        {
            let reason = parse(text).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
    }
}
