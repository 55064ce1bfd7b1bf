//! The flags by which `prony run` and `prony worker` reach a NATS server.

use anyhow::{anyhow, bail};
use prony_server::config::process_variable;
use prony_workers::NatsSettings;
use std::path::PathBuf;

/// The server's address where --nats is not given; with `_FILE` behind it, a file that has it. Who else is on the machine sees
/// command lines, and with them passwords.
pub(crate) const NATS_VARIABLE: &str = "PRONY_NATS";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NatsFlags {
    /// The NATS server: nats://HOST:PORT, tls://HOST:PORT, with USER:PASSWORD@ where it wants them; by default what `PRONY_NATS` is in the environment, or what is in the file that `PRONY_NATS_FILE` names.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// A file of credentials for it, as `nsc` makes them.
    #[arg(long, value_name = "FILE")]
    nats_credentials: Option<PathBuf>,
    /// Certificates that it is trusted by, beside the system's.
    #[arg(long, value_name = "FILE")]
    nats_ca: Option<PathBuf>,
    /// The certificate that is shown to it.
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    nats_cert: Option<PathBuf>,
    /// The key of that certificate.
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    nats_key: Option<PathBuf>,
}

impl NatsFlags {
    pub(crate) const fn is_given(&self) -> bool {
        let Self { nats, nats_credentials, nats_ca, nats_cert, nats_key } = self;
        nats.is_some()
            || nats_credentials.is_some()
            || nats_ca.is_some()
            || nats_cert.is_some()
            || nats_key.is_some()
    }

    /// `missing`: what is said where no server is named.
    pub(crate) fn settings(&self, missing: &'static str) -> anyhow::Result<NatsSettings> {
        let (url, given) = match &self.nats {
            Some(url) => (url.clone(), format!("--nats `{url}`")),
            // What is in the environment may be secret.
            None => (of_environment()?.ok_or_else(|| anyhow!(missing))?, format!("`{NATS_VARIABLE}`")),
        };
        if !["nats://", "tls://"].iter().any(|scheme| url.starts_with(scheme)) {
            bail!("{given} is no address of a NATS server; write for example nats://10.0.0.1:4222");
        }
        Ok(NatsSettings {
            url,
            credentials: self.nats_credentials.clone(),
            ca: self.nats_ca.clone(),
            cert: self.nats_cert.clone(),
            key: self.nats_key.clone(),
        })
    }
}

/// Empty is as good as not set.
fn of_environment() -> anyhow::Result<Option<String>> {
    Ok(process_variable(NATS_VARIABLE)?.filter(|url| !url.is_empty()))
}
