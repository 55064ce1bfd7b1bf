//! libpq's connection parameters: which there are, which variable of the environment stands for each, and the order in which they
//! are looked up (PostgreSQL manual, "Database Connection Control Functions" and "Environment Variables").

use crate::{environment::Environment, error::ConnectError, given::Given, keyword_value, service_file, uri};

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is honoured.
    Honoured,
    /// It changes nothing that matters here.
    Ignored,
    /// Only these values can be honoured; any other is refused, for it asks for protection that would not be there.
    Only(&'static [&'static str]),
}

struct Parameter {
    name: &'static str,
    /// Empty where there is none.
    variable: &'static str,
    r#use: Use,
}

const fn parameter(name: &'static str, variable: &'static str, r#use: Use) -> Parameter {
    Parameter { name, variable, r#use }
}

#[rustfmt::skip]
const PARAMETERS: &[Parameter] = &[
    parameter("host", "PGHOST", Use::Honoured),
    parameter("hostaddr", "PGHOSTADDR", Use::Honoured),
    parameter("port", "PGPORT", Use::Honoured),
    parameter("dbname", "PGDATABASE", Use::Honoured),
    parameter("user", "PGUSER", Use::Honoured),
    parameter("password", "PGPASSWORD", Use::Honoured),
    parameter("passfile", "PGPASSFILE", Use::Honoured),
    parameter("service", "PGSERVICE", Use::Honoured),
    parameter("servicefile", "PGSERVICEFILE", Use::Honoured),
    parameter("options", "PGOPTIONS", Use::Honoured),
    parameter("application_name", "PGAPPNAME", Use::Honoured),
    parameter("fallback_application_name", "", Use::Honoured),
    parameter("connect_timeout", "PGCONNECT_TIMEOUT", Use::Honoured),
    parameter("target_session_attrs", "PGTARGETSESSIONATTRS", Use::Honoured),
    parameter("load_balance_hosts", "PGLOADBALANCEHOSTS", Use::Honoured),
    parameter("channel_binding", "PGCHANNELBINDING", Use::Honoured),
    parameter("sslmode", "PGSSLMODE", Use::Honoured),
    parameter("sslnegotiation", "PGSSLNEGOTIATION", Use::Honoured),
    parameter("sslrootcert", "PGSSLROOTCERT", Use::Honoured),
    parameter("sslcert", "PGSSLCERT", Use::Honoured),
    parameter("sslkey", "PGSSLKEY", Use::Honoured),
    parameter("sslcertmode", "PGSSLCERTMODE", Use::Honoured),
    parameter("sslcrl", "PGSSLCRL", Use::Honoured),
    parameter("sslsni", "PGSSLSNI", Use::Honoured),
    parameter("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Use::Honoured),
    parameter("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Use::Honoured),
    parameter("keepalives", "", Use::Honoured),
    parameter("keepalives_idle", "", Use::Honoured),
    parameter("keepalives_interval", "", Use::Honoured),
    parameter("keepalives_count", "", Use::Honoured),
    parameter("keepalives_retries", "", Use::Honoured),
    parameter("tcp_user_timeout", "", Use::Honoured),
    parameter("sslcompression", "PGSSLCOMPRESSION", Use::Ignored),
    parameter("client_encoding", "PGCLIENTENCODING", Use::Ignored),
    parameter("krbsrvname", "PGKRBSRVNAME", Use::Ignored),
    parameter("gsslib", "PGGSSLIB", Use::Ignored),
    parameter("gssdelegation", "PGGSSDELEGATION", Use::Ignored),
    parameter("min_protocol_version", "PGMINPROTOCOLVERSION", Use::Ignored),
    parameter("max_protocol_version", "PGMAXPROTOCOLVERSION", Use::Ignored),
    parameter("gssencmode", "PGGSSENCMODE", Use::Only(&["", "disable", "prefer"])),
    parameter("replication", "", Use::Only(&["", "false", "off", "no", "0"])),
    parameter("requirepeer", "PGREQUIREPEER", Use::Only(&[""])),
    parameter("require_auth", "PGREQUIREAUTH", Use::Only(&[""])),
    parameter("sslpassword", "", Use::Only(&[""])),
    parameter("sslcrldir", "PGSSLCRLDIR", Use::Only(&[""])),
];

/// All that was given, wherever it stood.
#[derive(Default)]
pub(crate) struct Parameters {
    values: Given,
}

impl Parameters {
    /// The text first, then its service, then the environment.
    ///
    /// # Errors
    /// Texts and files that cannot be read, and parameters that are unknown or cannot be honoured.
    pub(crate) fn read(text: &str, environment: &Environment) -> Result<Self, ConnectError> {
        let values = if uri::is_one(text) { uri::parse(text) } else { keyword_value::parse(text) };
        let values = values.map_err(|reason| ConnectError::config("of this URL", reason))?;
        let mut read = Self { values };
        read.check()?;
        let service = read.get("service").or(environment.get("PGSERVICE")).map(str::to_owned);
        if let Some(service) = service.filter(|service| !service.is_empty()) {
            let file = read.get("servicefile").or(environment.get("PGSERVICEFILE"));
            let found = service_file::find(&service, file, environment)
                .map_err(|reason| ConnectError::config(&format!("of service {service:?}"), reason))?;
            read.fill(found);
            read.check()?;
        }
        let variables = PARAMETERS.iter().filter(|parameter| !parameter.variable.is_empty());
        let of_environment = variables.filter_map(|parameter| {
            Some((parameter.name.to_owned(), environment.get(parameter.variable)?.to_owned()))
        });
        read.fill(of_environment.collect());
        read.check()?;
        Ok(read)
    }

    /// What stands already stays.
    fn fill(&mut self, others: Given) {
        for (name, value) in others {
            self.values.entry(name).or_insert(value);
        }
    }

    fn check(&self) -> Result<(), ConnectError> {
        for (name, value) in &self.values {
            let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) else {
                let reason = format!(
                    "unknown connection parameter {name:?}; the PostgreSQL manual lists them under \"Parameter Key Words\""
                );
                return Err(ConnectError::config("of this URL", reason));
            };
            if let Use::Only(known) = parameter.r#use
                && !known.contains(&value.as_str())
            {
                let reason = format!("connection parameter {name} cannot be honoured; leave it out");
                return Err(ConnectError::config("of this URL", reason));
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// What is given and not empty.
    pub(crate) fn set(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_before_a_service_and_that_before_the_environment() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("services");
        std::fs::write(
            &file,
            "# ours\n[other]\nhost=no\n[shop]\nhost=of-service\nport=6000\nuser=of-service\n",
        )
        .unwrap();
        let environment = Environment::of(&[
            ("PGSERVICEFILE", file.to_str().unwrap()),
            ("PGUSER", "of-environment"),
            ("PGDATABASE", "of-environment"),
        ]);
        let read = Parameters::read("postgres://of-text@/?service=shop", &environment).unwrap();
        let values = ["host", "port", "user", "dbname"].map(|name| read.get(name).unwrap());
        assert_eq!(values, ["of-service", "6000", "of-text", "of-environment"]);
    }

    #[test]
    fn what_is_unknown_or_cannot_be_honoured_is_refused_by_its_name() {
        for (text, named) in [
            ("postgres://u:secret@h/d?sslmoed=require", "sslmoed"),
            ("host=h password=secret requirepeer=postgres", "requirepeer"),
            ("postgres://u:secret@h/d?service=nowhere", "nowhere"),
            ("postgres://u:secret@h/d?require_auth=scram-sha-256", "require_auth"),
        ] {
            let Err(error) = Parameters::read(text, &Environment::default()) else { panic!("{text}") };
            assert!(format!("{error} {}", error.target).contains(named), "{error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
