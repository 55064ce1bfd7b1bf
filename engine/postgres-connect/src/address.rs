//! A database's address, resolved: hosts, who we are, what TLS must prove, and which server is wanted.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use tokio_postgres::{
    Config,
    config::{ChannelBinding, SslNegotiation},
};

use crate::{
    environment::Environment, error::ConnectError, parameters::Parameters, place::Place,
    tls_files::TlsSettings,
};

/// A host that does not answer is given up after this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_PORT: u16 = 5432;

/// Which server is wanted of several (`target_session_attrs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// Where a database is and how it is reached. Its text never shows a password.
#[derive(Clone)]
pub struct Address {
    pub(crate) places: Vec<Place>,
    pub(crate) wanted: Wanted,
    pub(crate) is_shuffled: bool,
    pub(crate) tls: TlsSettings,
    pub(crate) pass_file: Option<PathBuf>,
    /// Who runs the process: the user where none is given.
    pub(crate) process_user: Option<String>,
    description: String,
    user: Option<String>,
    connect_timeout: Duration,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Address")
            .field("description", &self.description)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl Address {
    /// Reads `postgres://…` or `host=… dbname=…` and what they leave to services, variables and files.
    /// `application` is what the server is told unless the address says otherwise.
    ///
    /// # Errors
    /// What is wrong, by its parameter; never with a password.
    pub fn resolve(text: &str, environment: &Environment, application: &str) -> Result<Self, ConnectError> {
        let parameters = Parameters::read(text, environment)?;
        let connect_timeout = connect_timeout(&parameters)?;
        let mut base = Config::new();
        base.connect_timeout(connect_timeout);
        session(&mut base, &parameters, application)?;
        keepalives(&mut base, &parameters)?;
        let places = places(&base, &parameters)?;
        let description = describe(&places, &parameters);
        let (wanted, is_shuffled) = choice(&parameters)?;
        let pass_file =
            parameters.set("passfile").map(PathBuf::from).or_else(|| environment.in_home(".pgpass"));
        Ok(Self {
            tls: TlsSettings::read(&parameters, environment)?,
            wanted,
            is_shuffled,
            pass_file,
            process_user: environment.user().map(str::to_owned),
            description,
            user: parameters.set("user").map(str::to_owned),
            connect_timeout,
            places,
        })
    }

    /// `host:port,host:port/database`, for logs and errors.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The name of the role, where one is given.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Whether all hosts are this machine: sockets, loopback addresses and `localhost`. A tunnel looks the same.
    pub fn is_on_this_machine(&self) -> bool {
        self.places.iter().all(|place| {
            let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            match place.config.get_hostaddrs() {
                [] => place.is_socket || place.host == "localhost" || is_loopback(&place.host),
                addresses => addresses.iter().all(IpAddr::is_loopback),
            }
        })
    }

    /// The longest that opening a connection may take at one host, until its session is set up.
    pub fn attempt_limit(&self) -> Duration {
        self.connect_timeout.saturating_mul(2)
    }
}

fn refused(name: &str, must: &str) -> ConnectError {
    ConnectError::config("of this URL", format!("connection parameter {name} must be {must}"))
}

fn number(parameters: &Parameters, name: &str) -> Result<Option<u32>, ConnectError> {
    let Some(text) = parameters.set(name) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| refused(name, "a whole number"))
}

/// As libpq has it, 0 or less is no limit; an hour is one here too.
fn connect_timeout(parameters: &Parameters) -> Result<Duration, ConnectError> {
    const NO_LIMIT: Duration = Duration::from_secs(3600);
    let Some(text) = parameters.set("connect_timeout") else { return Ok(CONNECT_TIMEOUT) };
    let seconds: i64 = text.trim().parse().map_err(|_| refused("connect_timeout", "seconds"))?;
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    Ok(seconds.map_or(NO_LIMIT, |seconds| Duration::from_secs(seconds).min(NO_LIMIT)))
}

fn session(config: &mut Config, parameters: &Parameters, application: &str) -> Result<(), ConnectError> {
    if let Some(user) = parameters.set("user") {
        config.user(user);
    }
    if let Some(password) = parameters.set("password") {
        config.password(password);
    }
    if let Some(database) = parameters.set("dbname") {
        config.dbname(database);
    }
    if let Some(options) = parameters.set("options") {
        config.options(options);
    }
    let name = parameters.set("application_name").or(parameters.set("fallback_application_name"));
    config.application_name(name.unwrap_or(application));
    config.channel_binding(match parameters.set("channel_binding") {
        None | Some("prefer") => ChannelBinding::Prefer,
        Some("disable") => ChannelBinding::Disable,
        Some("require") => ChannelBinding::Require,
        Some(_) => return Err(refused("channel_binding", "disable, prefer or require")),
    });
    config.ssl_negotiation(match parameters.set("sslnegotiation") {
        None | Some("postgres") => SslNegotiation::Postgres,
        Some("direct") => SslNegotiation::Direct,
        Some(_) => return Err(refused("sslnegotiation", "postgres or direct")),
    });
    Ok(())
}

fn keepalives(config: &mut Config, parameters: &Parameters) -> Result<(), ConnectError> {
    let seconds = |name| Ok(number(parameters, name)?.filter(|seconds| *seconds > 0));
    let duration = |seconds: u32| Duration::from_secs(seconds.into());
    if let Some(is_on) = number(parameters, "keepalives")? {
        config.keepalives(is_on != 0);
    }
    if let Some(idle) = seconds("keepalives_idle")? {
        config.keepalives_idle(duration(idle));
    }
    if let Some(interval) = seconds("keepalives_interval")? {
        config.keepalives_interval(duration(interval));
    }
    // The driver's own name for it was taken before.
    if let Some(count) = seconds("keepalives_count")?.or(seconds("keepalives_retries")?) {
        config.keepalives_retries(count);
    }
    if let Some(limit) = seconds("tcp_user_timeout")? {
        config.tcp_user_timeout(Duration::from_millis(limit.into()));
    }
    Ok(())
}

fn choice(parameters: &Parameters) -> Result<(Wanted, bool), ConnectError> {
    let wanted = match parameters.set("target_session_attrs") {
        None | Some("any") => Wanted::Any,
        Some("read-write") => Wanted::ReadWrite,
        Some("read-only") => Wanted::ReadOnly,
        Some("primary") => Wanted::Primary,
        Some("standby") => Wanted::Standby,
        Some("prefer-standby") => Wanted::PreferStandby,
        Some(_) => {
            let known = "any, read-write, read-only, primary, standby or prefer-standby";
            return Err(refused("target_session_attrs", known));
        }
    };
    let is_shuffled = match parameters.set("load_balance_hosts") {
        None | Some("disable") => false,
        Some("random") => true,
        Some(_) => return Err(refused("load_balance_hosts", "disable or random")),
    };
    Ok((wanted, is_shuffled))
}

fn list<'a>(parameters: &'a Parameters, name: &str) -> Vec<&'a str> {
    parameters.set(name).map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default()
}

fn places(base: &Config, parameters: &Parameters) -> Result<Vec<Place>, ConnectError> {
    let (hosts, addresses) = (list(parameters, "host"), list(parameters, "hostaddr"));
    let count = if addresses.is_empty() { hosts.len() } else { addresses.len() };
    if count == 0
        || (0..count).any(|index| hosts.get(index).or(addresses.get(index)).is_none_or(|h| h.is_empty()))
    {
        let reason = "no host is given; write postgres://user@host:port/database, \
                      postgres:///database?host=/var/run/postgresql for a socket of this machine, or set PGHOST or a service";
        return Err(ConnectError::config("of this URL", reason));
    }
    if !addresses.is_empty() && !hosts.is_empty() && hosts.len() != addresses.len() {
        let reason =
            format!("there are {} hosts and {} hostaddr; give as many of both", hosts.len(), addresses.len());
        return Err(ConnectError::config("of this URL", reason));
    }
    let ports = list(parameters, "port");
    if ports.len() > 1 && ports.len() != count {
        let reason =
            format!("there are {count} hosts and {} ports; give one port, or one for each host", ports.len());
        return Err(ConnectError::config("of this URL", reason));
    }
    (0..count)
        .map(|index| {
            let port = ports.get(index).or(if ports.len() == 1 { ports.first() } else { None });
            place(base, hosts.get(index).copied(), addresses.get(index).copied(), port.copied())
        })
        .collect()
}

fn place(
    base: &Config,
    host: Option<&str>,
    address: Option<&str>,
    port: Option<&str>,
) -> Result<Place, ConnectError> {
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| refused("port", "a number between 1 and 65535"))?,
    };
    let mut config = base.clone();
    config.port(port);
    if let Some(address) = address.filter(|address| !address.is_empty()) {
        config.hostaddr(address.parse().map_err(|_| refused("hostaddr", "an address of IPv4 or IPv6"))?);
    }
    // Without a name the address is what a certificate must be of.
    let host = host.filter(|host| !host.is_empty()).or(address).unwrap_or_default().to_owned();
    config.host(&host);
    Ok(Place { is_socket: host.starts_with('/'), host, port, config })
}

/// Where the configuration points, without its secrets.
fn describe(places: &[Place], parameters: &Parameters) -> String {
    let hosts: Vec<_> = places.iter().map(|place| format!("{}:{}", place.host, place.port)).collect();
    let database = parameters.set("dbname").or(parameters.set("user")).unwrap_or("");
    format!("{}/{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> Result<Address, ConnectError> {
        Address::resolve(text, &Environment::default(), "tests")
    }

    #[test]
    fn descriptions_hold_no_password() {
        for (text, description) in [
            ("postgres://me:secret@db.example:5433/shop", "db.example:5433/shop"),
            ("host=/run/postgresql user=me password=secret dbname=shop", "/run/postgresql:5432/shop"),
            ("host=one,two port=1,2 user=me password=secret", "one:1,two:2/me"),
            ("postgres://me:secret@one,two:7/shop", "one:5432,two:7/shop"),
            ("hostaddr=127.0.0.1 user=me", "127.0.0.1:5432/me"),
        ] {
            let address = resolve(text).unwrap();
            assert_eq!(address.description(), description);
            assert!(!format!("{address:?}").contains("secret"));
        }
    }

    #[test]
    fn a_database_on_this_machine_is_known() {
        for (text, expected) in [
            ("postgres://me@localhost/shop", true),
            ("postgres://me@127.0.0.1,[::1]/shop", true),
            ("host=/run/postgresql user=me", true),
            ("postgres://me@db.example/shop", false),
            ("postgres://me@localhost,db.example/shop", false),
            ("host=localhost hostaddr=10.0.0.7 user=me", false),
        ] {
            assert_eq!(resolve(text).unwrap().is_on_this_machine(), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_its_name() {
        for (text, named) in [
            ("dbname=shop", "no host"),
            ("postgres:///shop", "postgres:///database?host=/var/run/postgresql"),
            ("postgres://one,/shop", "no host"),
            ("host=h port=seven", "port"),
            ("host=h port=0", "port"),
            ("host=a,b,c port=1,2", "3 hosts and 2 ports"),
            ("host=a,b hostaddr=127.0.0.1", "2 hosts and 1 hostaddr"),
            ("host=h hostaddr=db.example", "hostaddr"),
            ("host=h sslmode=on", "sslmode"),
            ("host=h target_session_attrs=master", "target_session_attrs"),
            ("host=h connect_timeout=soon", "connect_timeout"),
            ("host=h channel_binding=yes", "channel_binding"),
        ] {
            let error = resolve(text).unwrap_err();
            assert!(error.to_string().contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn a_connection_may_take_as_long_as_is_said() {
        for (text, seconds) in
            [("host=h", 10), ("host=h connect_timeout=3", 6), ("host=h connect_timeout=0", 7200)]
        {
            assert_eq!(resolve(text).unwrap().attempt_limit(), Duration::from_secs(seconds));
        }
    }

    #[test]
    fn passwords_come_from_the_address_before_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pass");
        std::fs::write(&file, "two:5432:shop:ann:of-two\n*:*:shop:ann:of-file\nlocalhost:*:*:*:socket")
            .unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        for (rest, expected) in [
            ("host=one,two user=ann dbname=shop", vec![Some("of-file"), Some("of-two")]),
            ("host=one user=ann dbname=shop password=given", vec![Some("given")]),
            ("host=/tmp user=eve", vec![Some("socket")]),
            ("host=one user=eve", vec![None]),
        ] {
            let address = resolve(&format!("{rest} passfile={}", file.display())).unwrap();
            let found: Vec<_> = address
                .places
                .iter()
                .map(|place| {
                    let config = place.with_password(address.pass_file.as_ref(), None);
                    config.get_password().map(|password| String::from_utf8(password.to_vec()).unwrap())
                })
                .collect();
            let found: Vec<_> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, expected, "{rest}");
        }
    }
}
