//! A cluster that has TLS, with certificates of the tests' own authority, and rules of who must use it.

use std::fs;

use super::{Cluster, PostgresError, io_error};

/// What a server of a cluster shows and asks for.
#[derive(Debug, Clone, Copy)]
pub struct ClusterTls<'a> {
    /// The PEM texts of certificate and key.
    pub identity: (&'a str, &'a str),
    /// The PEM text of the authority of clients, where their certificates are asked for.
    pub client_authority: Option<&'a str>,
    /// Lines of `pg_hba.conf`, before those that let everybody in through the socket.
    pub rules: &'a str,
}

impl Cluster {
    /// Restarts the server with TLS. Through the socket everybody is let in as before.
    pub fn restart_with_tls(&self, tls: ClusterTls<'_>) -> Result<(), PostgresError> {
        let (certificate, key) = tls.identity;
        self.write_private("server.crt", certificate)?;
        self.write_private("server.key", key)?;
        self.write_private("clients.crt", tls.client_authority.unwrap_or_default())?;
        let authority = if tls.client_authority.is_some() { "clients.crt" } else { "" };
        let rules = format!("local all all trust\n{}\n", tls.rules);
        let settings = format!(
            "ssl = on\nssl_cert_file = 'server.crt'\nssl_key_file = 'server.key'\nssl_ca_file = '{authority}'\n"
        );
        fs::write(self.data_path().join("pg_hba.conf"), rules).map_err(io_error("write pg_hba.conf"))?;
        fs::write(self.data_path().join("postgresql.auto.conf"), settings)
            .map_err(io_error("write postgresql.auto.conf"))?;
        self.restart()
    }
}
