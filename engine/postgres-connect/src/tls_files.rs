//! What TLS must prove, by `sslmode` and the files beside it, and the files' contents. They are read for each connection, so that
//! certificates may be renewed without a restart (PostgreSQL manual, "SSL Support").

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    client::Resumption,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, pem::PemObject},
    version::{TLS12, TLS13},
};

use crate::{
    environment::Environment,
    error::ConnectError,
    parameters::Parameters,
    verifier::{Checks, Verifier},
};

/// `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TlsMode {
    Disable,
    /// Without TLS first.
    Allow,
    /// With TLS first.
    Prefer,
    /// With TLS, and any certificate.
    Require,
    /// A certificate of the authority.
    VerifyCa,
    /// One that has the host's name too.
    VerifyFull,
}

/// Where authorities' certificates are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Roots {
    None,
    System,
    File(PathBuf),
}

/// How TLS is spoken with the servers of an address.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    pub(crate) mode: TlsMode,
    roots: Roots,
    revocations: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    sends_name: bool,
    versions: Vec<&'static SupportedProtocolVersion>,
    /// `sslnegotiation=direct` needs the protocol's name.
    is_direct: bool,
}

impl TlsSettings {
    pub(crate) fn read(parameters: &Parameters, environment: &Environment) -> Result<Self, ConnectError> {
        let fault = |reason: String| ConnectError::config("of this URL", reason);
        let of_home = |name: &str| environment.in_home(name).filter(|file| file.exists());
        let roots = match parameters.set("sslrootcert") {
            Some("system") => Roots::System,
            Some(file) => Roots::File(file.into()),
            None => of_home(".postgresql/root.crt").map_or(Roots::None, Roots::File),
        };
        let is_system = roots == Roots::System;
        let mode = tls_mode(parameters, if is_system { TlsMode::VerifyFull } else { TlsMode::Prefer })?;
        if is_system && !matches!(mode, TlsMode::Disable | TlsMode::VerifyFull) {
            let reason = "sslrootcert=system needs sslmode=verify-full: any name can have a certificate of these authorities";
            return Err(fault(reason.to_owned()));
        }
        if roots == Roots::None && mode >= TlsMode::VerifyCa {
            let reason = "sslmode=verify-ca and verify-full need the authority's certificate: give sslrootcert=FILE \
                          (or ~/.postgresql/root.crt), or sslrootcert=system for the authorities of this system";
            return Err(fault(reason.to_owned()));
        }
        let is_direct = parameters.set("sslnegotiation") == Some("direct");
        if is_direct && mode < TlsMode::Require {
            return Err(fault(
                "sslnegotiation=direct needs sslmode=require, verify-ca or verify-full".to_owned(),
            ));
        }
        Ok(Self {
            mode,
            roots,
            revocations: parameters
                .set("sslcrl")
                .map(PathBuf::from)
                .or_else(|| of_home(".postgresql/root.crl")),
            certificate: certificate(parameters, environment)?,
            sends_name: parameters.set("sslsni") != Some("0"),
            versions: versions(parameters)?,
            is_direct,
        })
    }

    /// What the certificate of a server is checked for: `require` with an authority's certificate is `verify-ca`, as libpq has it.
    fn checks(&self) -> Checks {
        match (self.mode, &self.roots) {
            (TlsMode::VerifyFull, _) => Checks::AuthorityAndName,
            (TlsMode::VerifyCa, _) | (TlsMode::Require, Roots::File(_)) => Checks::Authority,
            _ => Checks::Nothing,
        }
    }

    /// # Errors
    /// A file that cannot be used, by its name.
    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = self.verifier(&provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions)
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.certificate {
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))?,
            None => builder.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        config.enable_sni = self.sends_name;
        if self.is_direct {
            config.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Arc::new(config))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
        let checks = self.checks();
        if checks == Checks::Nothing {
            return Ok(Verifier::of_anything(provider));
        }
        let (roots, given) = match &self.roots {
            Roots::None => (Arc::new(RootCertStore::empty()), Vec::new()),
            Roots::System => (system_roots()?, Vec::new()),
            Roots::File(file) => {
                let given = certificates(file)?;
                let mut store = RootCertStore::empty();
                store.add_parsable_certificates(given.iter().cloned());
                (Arc::new(store), given)
            }
        };
        let revocations = self.revocations.as_deref().map(revocation_lists).transpose()?;
        Verifier::new(checks, roots, given, revocations.unwrap_or_default(), provider)
            .map_err(|error| format!("sslrootcert: {error}"))
    }
}

/// Values of `sslmode`, from the weakest.
fn tls_mode(parameters: &Parameters, default: TlsMode) -> Result<TlsMode, ConnectError> {
    Ok(match parameters.set("sslmode") {
        None => default,
        Some("disable") => TlsMode::Disable,
        Some("allow") => TlsMode::Allow,
        Some("prefer") => TlsMode::Prefer,
        Some("require") => TlsMode::Require,
        Some("verify-ca") => TlsMode::VerifyCa,
        Some("verify-full") => TlsMode::VerifyFull,
        Some(_) => {
            let reason = "connection parameter sslmode must be disable, allow, prefer, require, verify-ca or verify-full";
            return Err(ConnectError::config("of this URL", reason));
        }
    })
}

fn certificate(
    parameters: &Parameters,
    environment: &Environment,
) -> Result<Option<(PathBuf, PathBuf)>, ConnectError> {
    let mode = parameters.set("sslcertmode");
    let fault = |reason: &str| ConnectError::config("of this URL", reason);
    if !matches!(mode, None | Some("disable" | "allow" | "require")) {
        return Err(fault("connection parameter sslcertmode must be disable, allow or require"));
    }
    if mode == Some("disable") {
        return Ok(None);
    }
    let file = |name: &str, usual: &str| {
        parameters.set(name).map(PathBuf::from).or_else(|| environment.in_home(usual))
    };
    let certificate = file("sslcert", ".postgresql/postgresql.crt");
    let is_given = parameters.set("sslcert").is_some();
    let certificate = certificate.filter(|file| is_given || file.exists());
    match (certificate, file("sslkey", ".postgresql/postgresql.key")) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (Some(_), None) => Err(fault("sslcert needs its key: give sslkey=FILE")),
        (None, _) if mode == Some("require") => {
            Err(fault("sslcertmode=require needs a certificate: give sslcert=FILE and sslkey=FILE"))
        }
        (None, _) => Ok(None),
    }
}

fn versions(parameters: &Parameters) -> Result<Vec<&'static SupportedProtocolVersion>, ConnectError> {
    let number = |name: &str, default: u8| match parameters.set(name) {
        None => Ok(default),
        Some("TLSv1" | "TLSv1.1") => Ok(1),
        Some("TLSv1.2") => Ok(2),
        Some("TLSv1.3") => Ok(3),
        Some(_) => {
            let reason = format!("connection parameter {name} must be TLSv1.2 or TLSv1.3");
            Err(ConnectError::config("of this URL", reason))
        }
    };
    match (number("ssl_min_protocol_version", 2)?, number("ssl_max_protocol_version", 3)?) {
        (..=2, 3) => Ok(vec![&TLS13, &TLS12]),
        (3, 3) => Ok(vec![&TLS13]),
        (..=2, 2) => Ok(vec![&TLS12]),
        _ => {
            let reason =
                "ssl_min_protocol_version and ssl_max_protocol_version leave nothing of TLSv1.2 and TLSv1.3";
            Err(ConnectError::config("of this URL", reason))
        }
    }
}

/// Read once: there are many, and they change rarely.
fn system_roots() -> Result<Arc<RootCertStore>, String> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(store)
    });
    if roots.is_empty() {
        return Err(
            "the system has no trusted certificates; install ca-certificates, or give sslrootcert=FILE"
                .to_owned(),
        );
    }
    Ok(Arc::clone(roots))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| format!("{} cannot be read as PEM: {error}", file.display()))?;
    if found.is_empty() {
        return Err(format!("{} holds no certificate (-----BEGIN CERTIFICATE-----)", file.display()));
    }
    Ok(found)
}

fn revocation_lists(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let found =
        CertificateRevocationListDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    found.map_err(|error| format!("{} cannot be read as PEM: {error}", file.display()))
}

/// libpq refuses a key that others can read, too; root may let its group read it.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let named = |reason: String| format!("{}: {reason}", file.display());
    let metadata = fs::metadata(file).map_err(|error| named(error.to_string()))?;
    let mode = metadata.permissions().mode() & 0o777;
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if mode & forbidden != 0 {
        return Err(named(format!("a private key that others can read (mode {mode:04o}); chmod 0600")));
    }
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        named(format!("no usable private key: {error}; it must be PEM and have no passphrase"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str, environment: &Environment) -> Result<TlsSettings, ConnectError> {
        TlsSettings::read(&Parameters::read(&format!("host=h {text}"), environment)?, environment)
    }

    #[test]
    fn modes_check_what_they_promise() {
        let home = tempfile::tempdir().unwrap();
        let bare = Environment::of(&[("HOME", home.path().to_str().unwrap())]);
        let check = |text: &str, mode, checks| {
            let read = settings(text, &bare).unwrap();
            assert_eq!((read.mode, read.checks()), (mode, checks), "{text}");
        };
        check("", TlsMode::Prefer, Checks::Nothing);
        check("sslmode=require", TlsMode::Require, Checks::Nothing);
        check("sslmode=require sslrootcert=ca.pem", TlsMode::Require, Checks::Authority);
        check("sslmode=verify-ca sslrootcert=ca.pem", TlsMode::VerifyCa, Checks::Authority);
        check("sslmode=verify-full sslrootcert=ca.pem", TlsMode::VerifyFull, Checks::AuthorityAndName);
        check("sslrootcert=system", TlsMode::VerifyFull, Checks::AuthorityAndName);
        for text in [
            "sslmode=verify-full",
            "sslmode=verify-ca",
            "sslmode=require sslrootcert=system",
            "sslnegotiation=direct",
            "sslcertmode=require",
            "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
        ] {
            settings(text, &bare).unwrap_err();
        }
        fs::create_dir(home.path().join(".postgresql")).unwrap();
        fs::write(home.path().join(".postgresql/root.crt"), "").unwrap();
        check("sslmode=verify-full", TlsMode::VerifyFull, Checks::AuthorityAndName);
    }

    #[test]
    fn keys_that_others_can_read_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        fs::write(&file, "no key").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(private_key(&file).unwrap_err().contains("0604"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(private_key(&file).unwrap_err().contains("no usable private key"));
    }
}
