//! One of the hosts of an address.

use std::path::PathBuf;

use tokio_postgres::Config;

use crate::{
    pass_file::{self, Entry},
    tls_files::TlsMode,
};

/// Where a server may be.
#[derive(Clone)]
pub(crate) struct Place {
    /// As it was given: a name, an address or the directory of a socket.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_socket: bool,
    /// What the driver is told, but for the password of a file and for TLS.
    pub(crate) config: Config,
}

impl Place {
    /// TLS is for TCP: through a socket of this machine all modes mean none, as libpq has it.
    pub(crate) fn tls_mode(&self, mode: TlsMode) -> TlsMode {
        if self.is_socket { TlsMode::Disable } else { mode }
    }

    /// The driver's configuration with the password of the file, where none was given. It is read for each connection, so that
    /// a password may be changed.
    pub(crate) fn with_password(&self, file: Option<&PathBuf>, user: Option<&str>) -> Config {
        let mut config = self.config.clone();
        if config.get_password().is_some() {
            return config;
        }
        if let (Some(file), Some(user)) = (file, config.get_user().or(user)) {
            let database = config.get_dbname().unwrap_or(user);
            let host = if self.is_default_socket() { "localhost" } else { &self.host };
            let entry = Entry { host, port: self.port, database, user };
            if let Some(password) = pass_file::find(file, entry) {
                config.password(password);
            }
        }
        config
    }

    fn is_default_socket(&self) -> bool {
        self.is_socket && ["/var/run/postgresql", "/run/postgresql", "/tmp"].contains(&self.host.as_str())
    }
}
