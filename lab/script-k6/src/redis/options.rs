//! Where a client's server is, from a URL or an object, in k6's words.

use prony_http_session::url::Url;
use prony_model::plan::target::ChannelTls;
use prony_model::units::Nanos;
use serde::Deserialize;

const DIAL_TIMEOUT: Nanos = Nanos::from_secs(5);
const READ_TIMEOUT: Nanos = Nanos::from_secs(3);
/// Connections of one client at the same time, where it says nothing.
const POOL_SIZE: usize = 10;
const PORT: u16 = 6379;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedisOptions {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<ChannelTls>,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) database: u32,
    pub(super) dial_timeout: Nanos,
    pub(super) read_timeout: Nanos,
    pub(super) pool_size: usize,
}

/// As scripts write it. What concerns a pool's upkeep has no effect: connections are kept as long as the user.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    socket: Option<GivenSocket>,
    username: String,
    password: String,
    client_name: String,
    database: u32,
    max_retries: i64,
    min_retry_backoff: i64,
    max_retry_backoff: i64,
}

/// Times are milliseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct GivenSocket {
    host: String,
    port: u16,
    tls: Option<GivenTls>,
    dial_timeout: u64,
    read_timeout: u64,
    write_timeout: u64,
    pool_size: usize,
    min_idle_conns: u64,
    max_conn_age: u64,
    pool_timeout: u64,
    idle_timeout: u64,
    idle_check_frequency: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenTls {
    ca: Vec<String>,
    cert: String,
    key: String,
}

impl RedisOptions {
    fn at(host: String, port: u16) -> Self {
        Self {
            host,
            port,
            tls: None,
            username: String::new(),
            password: String::new(),
            database: 0,
            dial_timeout: DIAL_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            pool_size: POOL_SIZE,
        }
    }

    /// From an object, as JSON.
    pub(super) fn of_json(json: &str) -> Result<Self, String> {
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        for (name, what) in [("cluster", "clusters are"), ("masterName", "sentinels are")] {
            if value.get(name).is_some() {
                return Err(format!("{what} not supported; name one node with `socket`"));
            }
        }
        let given: Given = serde_json::from_value(value).map_err(|error| format!("json: {error}"))?;
        let socket = given.socket.ok_or("empty socket options")?;
        let millis = |given: u64, usual: Nanos| if given == 0 { usual } else { Nanos::from_millis(given) };
        let usual = Self::at(socket.host, socket.port);
        Ok(Self {
            tls: socket.tls.map(|GivenTls { ca, cert, key }| {
                let identity = Some((cert, key)).filter(|(cert, key)| !cert.is_empty() && !key.is_empty());
                ChannelTls { authorities: ca, identity, ..ChannelTls::default() }
            }),
            username: given.username,
            password: given.password,
            database: given.database,
            dial_timeout: millis(socket.dial_timeout, DIAL_TIMEOUT),
            read_timeout: millis(socket.read_timeout, READ_TIMEOUT),
            pool_size: if socket.pool_size == 0 { POOL_SIZE } else { socket.pool_size },
            ..usual
        })
    }

    /// `redis[s]://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?OPTION=VALUE…]`.
    pub(super) fn of_url(text: &str) -> Result<Self, String> {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        if !["redis", "rediss"].contains(&scheme) {
            return Err(format!("redis: invalid URL scheme: {scheme}"));
        }
        let url = url::Url::parse(text).map_err(|error| format!("redis: invalid URL: {error}"))?;
        let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
        let mut options = Self::at(host.trim_matches(['[', ']']).to_owned(), url.port().unwrap_or(PORT));
        options.tls = (scheme == "rediss").then(ChannelTls::default);
        options.username = decoded(url.username());
        options.password = decoded(url.password().unwrap_or_default());
        let path = url.path().trim_matches('/');
        if !path.is_empty() {
            options.database =
                path.parse().map_err(|_| format!("redis: invalid database number: {path:?}"))?;
        }
        for (name, value) in url.query_pairs() {
            options.set(&name, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let refused = || format!("redis: invalid {name}: {value:?}");
        let number = || value.parse::<usize>().map_err(|_| refused());
        let time = || {
            let seconds = value.parse::<i64>().ok().map(crate::options::Span::from_secs);
            let span = seconds.or_else(|| crate::options::Span::parse_with_unit(value));
            span.and_then(crate::options::Span::nanos).ok_or_else(refused)
        };
        match name {
            "db" => self.database = value.parse().map_err(|_| refused())?,
            "dial_timeout" => self.dial_timeout = time()?,
            "read_timeout" => self.read_timeout = time()?,
            "write_timeout" => drop(time()?),
            "pool_size" => self.pool_size = number()?.max(1),
            "max_retries" | "min_idle_conns" | "max_idle_conns" => drop(number()?),
            _ => return Err(format!("redis: unexpected option: {name}")),
        }
        Ok(())
    }

    pub(super) fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// As the words of other requests' faults need it.
    pub(super) fn url(&self) -> Option<Url> {
        Url::parse(&format!("http://{}", self.address())).ok()
    }
}

fn decoded(text: &str) -> String {
    let pairs = url::form_urlencoded::parse(text.as_bytes()).map(|(name, _)| name.into_owned());
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_objects_say_the_same() {
        let url =
            RedisOptions::of_url("rediss://me:p%40ss@cache.test:7000/3?dial_timeout=2&pool_size=4").unwrap();
        let json = r#"{"socket": {"host": "cache.test", "port": 7000, "tls": {}, "dialTimeout": 2000, "poolSize": 4},
            "username": "me", "password": "p@ss", "database": 3}"#;
        assert_eq!(RedisOptions::of_json(json), Ok(url));
        let short = RedisOptions::of_url("redis://localhost").unwrap();
        assert_eq!((short.address(), short.database, short.tls), ("localhost:6379".to_owned(), 0, None));
    }

    #[test]
    fn what_is_wrong_is_said_in_k6s_words() {
        let url = |text| RedisOptions::of_url(text).unwrap_err();
        assert_eq!(url("http://h"), "redis: invalid URL scheme: http");
        assert_eq!(url("redis://h/x"), "redis: invalid database number: \"x\"");
        assert_eq!(url("redis://h?nope=1"), "redis: unexpected option: nope");
        let json = |text| RedisOptions::of_json(text).unwrap_err();
        assert_eq!(json("{}"), "empty socket options");
        assert!(json(r#"{"sockt": {}}"#).starts_with("json: unknown field `sockt`"));
        assert!(json(r#"{"cluster": {}}"#).starts_with("clusters are not supported"));
    }
}
