//! One of the hosts of an address.

use std::{net::SocketAddr, path::PathBuf};

use tokio::net::lookup_host;
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

    /// The same at each address of the host's name; none where an address is given, and where there is none.
    pub(crate) async fn at_each_address(&self) -> Vec<Self> {
        if self.is_socket || !self.config.get_hostaddrs().is_empty() {
            return Vec::new();
        }
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let at = |address: SocketAddr| {
            let mut place = self.clone();
            place.config.hostaddr(address.ip());
            place
        };
        found.map(|addresses| addresses.map(at).collect()).unwrap_or_default()
    }

    fn is_default_socket(&self) -> bool {
        self.is_socket && ["/var/run/postgresql", "/run/postgresql", "/tmp"].contains(&self.host.as_str())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Address, Environment};

    /// The addresses at which the first host is tried.
    fn addresses(text: &str) -> Vec<String> {
        let address = Address::resolve(text, &Environment::default(), "tests").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let places = runtime.block_on(address.places[0].at_each_address());
        assert!(places.iter().all(|place| place.host == address.places[0].host && place.port == 7));
        let of_place = |place: &super::Place| place.config.get_hostaddrs()[0].to_string();
        places.iter().map(of_place).collect()
    }

    #[test]
    fn a_name_is_tried_at_each_of_its_addresses() {
        assert_eq!(addresses("host=127.0.0.1 port=7"), ["127.0.0.1"]);
        assert_eq!(addresses("host=::1 port=7"), ["::1"]);
        let local = addresses("host=localhost port=7");
        assert!(!local.is_empty() && local.iter().all(|address| ["127.0.0.1", "::1"].contains(&&**address)));
        for text in ["host=/tmp port=7", "host=db.test hostaddr=127.0.0.1 port=7"] {
            assert!(addresses(text).is_empty(), "{text}");
        }
    }
}
