//! Where the database is and what each session is told at its start. Parsing is the driver's; what it cannot
//! honour is refused here.

use std::{net::IpAddr, time::Duration};

use tokio_postgres::config::{Config, Host, SslMode};

use crate::error::{OpenError, OpenErrorKind};
use prony_sql::settings::RelationalSettings;

/// A host that does not answer is given up after this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How sessions plan prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlanMode {
    /// One plan for all values, kept: no planning per execution.
    Generic,
    /// A plan for each execution, made for its values.
    Custom,
}

impl PlanMode {
    fn setting(self) -> &'static str {
        match self {
            Self::Generic => "force_generic_plan",
            Self::Custom => "force_custom_plan",
        }
    }
}

/// Everything that a new connection needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    /// `host:port/database`, for logs and errors.
    pub(crate) description: String,
    pub(crate) statement_timeout_ms: u32,
    /// The database refuses whatever would change it.
    pub(crate) read_only: bool,
    /// The database runs on this machine: more busy backends than processors only take turns with the engine.
    pub(crate) shares_processors: bool,
}

impl Target {
    /// Checks what the driver has parsed, and fills in what the engine wants to be set.
    pub(crate) fn new(mut config: Config, settings: &RelationalSettings) -> Result<Self, OpenError> {
        let description = describe(&config);
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(OpenError::new(
                OpenErrorKind::Config,
                &description,
                "no host is given; write postgres://user@host:port/database",
            ));
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err(OpenError::new(
                OpenErrorKind::Config,
                &description,
                "sslmode=require: this build has no TLS; connect through a local socket or a tunnel and set \
                 sslmode=disable",
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("prony");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let shares_processors = is_on_this_machine(&config);
        let statement_timeout_ms = settings.common.statement_timeout_ms;
        let read_only = settings.common.read_only;
        Ok(Self { config, description, statement_timeout_ms, read_only, shares_processors })
    }

    /// The longest that an attempt may take from the first packet until the session is set up.
    pub(crate) fn attempt_limit(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT) * 2
    }

    /// The batch that sets a session up. Forms of values must not depend on the server's settings.
    pub(crate) fn session_setup(&self, mode: PlanMode) -> String {
        format!(
            "set statement_timeout = {}; set plan_cache_mode = {}; set datestyle = 'ISO, YMD'; \
             set intervalstyle = 'postgres'; set timezone = 'UTC'; set bytea_output = 'hex'; \
             set extra_float_digits = 1; set standard_conforming_strings = on; \
             set client_min_messages = error; set jit = off{}",
            self.statement_timeout_ms,
            mode.setting(),
            // What the server or the role says otherwise stays.
            if self.read_only { "; set default_transaction_read_only = on" } else { "" },
        )
    }
}

/// Unix sockets, loopback addresses and `localhost`. A tunnel looks the same, and costs only parallelism.
fn is_on_this_machine(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    let addresses = config.get_hostaddrs();
    if addresses.is_empty() {
        config.get_hosts().iter().all(is_local)
    } else {
        addresses.iter().all(IpAddr::is_loopback)
    }
}

/// Where the configuration points, without its secrets.
fn describe(config: &Config) -> String {
    let mut places: Vec<String> = Vec::new();
    let ports = config.get_ports();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        places.push(match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("{}:{port}", path.display()),
        });
    }
    if places.is_empty() {
        places.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or("");
    format!("{}/{database}", places.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, OpenError> {
        Target::new(text.parse().unwrap(), &RelationalSettings::default())
    }

    #[test]
    fn descriptions_hold_no_password() {
        for (text, description) in [
            ("postgres://me:secret@db.example:5433/shop", "db.example:5433/shop"),
            ("host=/run/postgresql user=me password=secret dbname=shop", "/run/postgresql:5432/shop"),
            ("host=one,two port=1,2 user=me password=secret", "one:1,two:2/me"),
        ] {
            let target = target(text).unwrap();
            assert_eq!(target.description, description);
            assert!(!format!("{target:?}").contains("secret"));
        }
    }

    #[test]
    fn a_database_on_this_machine_is_known() {
        for (text, expected) in [
            ("postgres://me@localhost/shop", true),
            ("postgres://me@127.0.0.1,[::1]/shop", true),
            ("host=/run/postgresql user=me", true),
            ("postgres://me@db.example/shop", false),
            ("host=localhost hostaddr=10.0.0.7 user=me", false),
        ] {
            assert_eq!(target(text).unwrap().shares_processors, expected, "{text}");
        }
    }

    #[test]
    fn tls_that_cannot_be_had_is_refused() {
        let error = target("postgres://me:secret@db/shop?sslmode=require").unwrap_err();
        assert_eq!(error.kind, OpenErrorKind::Config);
        assert!(error.to_string().contains("sslmode=require"), "{error}");
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn a_host_is_needed() {
        assert_eq!(target("dbname=shop").unwrap_err().kind, OpenErrorKind::Config);
    }
}
