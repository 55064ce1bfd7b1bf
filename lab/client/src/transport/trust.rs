//! The settings of all TLS sessions of a run: whom to trust, who we are, what is offered. Reads the PEM files.

use crate::error::ClientError;
use prony_model::plan::target::{Channel, ChannelProtocol, ChannelTls};
use prony_model::plan::wire::{Protocol, TlsOptions, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedCipherSuite,
    SupportedProtocolVersion,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names whose sessions are kept for resumption. A run has a few targets; their tickets are bounded by rustls.
const SESSIONS_MAX: usize = 256;

/// What the sessions are made with, and whether a target asked for a client certificate that is not there.
#[derive(Debug)]
pub(crate) struct Trust {
    pub config: Arc<ClientConfig>,
    pub wants_certificate: Arc<AtomicBool>,
}

impl Trust {
    pub(crate) fn new(options: &TlsOptions, protocol: Protocol) -> Result<Self, ClientError> {
        Self::with(options, offered(protocol), &ChannelTls::default())
    }

    /// Of the connections of a channel, which differ from the run's settings by its own.
    pub(crate) fn of_channel(options: &TlsOptions, channel: &Channel) -> Result<Self, ClientError> {
        let names = match channel.protocol {
            ChannelProtocol::Http2 => offered(Protocol::Http2),
            ChannelProtocol::Bytes => Vec::new(),
        };
        Self::with(options, names, &channel.tls)
    }

    fn with(options: &TlsOptions, names: Vec<Vec<u8>>, own: &ChannelTls) -> Result<Self, ClientError> {
        let provider = Arc::new(offered_by(options)?);
        let versions: &[&SupportedProtocolVersion] = match options.version {
            None => &[&TLS13, &TLS12],
            Some(TlsVersion::Tls12) => &[&TLS12],
            Some(TlsVersion::Tls13) => &[&TLS13],
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| ClientError::TlsSettings { message: error.to_string() })?;
        let builder = if options.insecure || own.is_insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(TakesAny(provider)))
        } else {
            let given = certificates_of(&options.ca)?;
            let own = own_authorities(own)?;
            let system = if options.ca.is_empty() { systems_authorities() } else { Vec::new() };
            let roots = Arc::new(roots(&given, &system, &own)?);
            let usual = WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| ClientError::TlsSettings { message: error.to_string() })?;
            let given = given.into_iter().map(|(_, certificate)| certificate);
            let given = given.chain(own).chain(system).collect();
            let verifier = Arc::new(TrustsGiven { usual, given });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        };
        let wants_certificate = Arc::new(AtomicBool::new(false));
        let mut config = match (&own.identity, &options.cert, &options.key) {
            (Some((cert, key)), _, _) => {
                let (certificates, key) = own_identity(cert, key)?;
                builder.with_client_auth_cert(certificates, key).map_err(|error| {
                    channel_fault(format!("failed to append certificate from PEM: {error}"))
                })?
            }
            (None, Some(cert), Some(key)) => {
                builder.with_client_auth_cert(certificates(cert)?, private_key(key)?).map_err(|error| {
                    ClientError::tls_file(key)(format!("does not fit the certificate: {error}"))
                })?
            }
            _ => builder
                .with_client_cert_resolver(Arc::new(NoCertificate { asked: Arc::clone(&wants_certificate) })),
        };
        config.alpn_protocols = names;
        if options.resume {
            config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        } else {
            config.resumption = Resumption::disabled();
        }
        Ok(Self { config: Arc::new(config), wants_certificate })
    }
}

/// With the cipher suites that the options name. Those of TLS 1.3 are always offered.
fn offered_by(options: &TlsOptions) -> Result<CryptoProvider, ClientError> {
    let mut provider = aws_lc_rs::default_provider();
    let name_of = |suite: &SupportedCipherSuite| suite.suite().as_str().unwrap_or_default();
    let has = |name: &String| provider.cipher_suites.iter().any(|suite| name_of(suite) == name);
    if let Some(name) = options.cipher_suites.iter().find(|name| !has(name)) {
        let known = provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none()).map(name_of);
        let known: Vec<_> = known.collect();
        let message = format!("there is no cipher suite `{name}`; those of TLS 1.2 are {}", known.join(", "));
        return Err(ClientError::TlsSettings { message });
    }
    if !options.cipher_suites.is_empty() {
        let is_named = |suite: &SupportedCipherSuite| {
            suite.tls13().is_some() || options.cipher_suites.iter().any(|name| name_of(suite) == name)
        };
        provider.cipher_suites.retain(is_named);
    }
    Ok(provider)
}

fn offered(protocol: Protocol) -> Vec<Vec<u8>> {
    let names: &[&[u8]] = match protocol {
        Protocol::Http1 => &[b"http/1.1"],
        Protocol::Http2 => &[b"h2"],
        Protocol::Auto => &[b"h2", b"http/1.1"],
    };
    names.iter().map(|name| name.to_vec()).collect()
}

/// Each with its file.
fn certificates_of(files: &[PathBuf]) -> Result<Vec<(&Path, CertificateDer<'static>)>, ClientError> {
    let mut found = Vec::new();
    for file in files {
        found.extend(certificates(file)?.into_iter().map(|certificate| (file.as_path(), certificate)));
    }
    Ok(found)
}

/// Those that the system trusts, or the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
fn systems_authorities() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// All of them together; `system` has none where files were given.
fn roots(
    given: &[(&Path, CertificateDer<'static>)],
    system: &[CertificateDer<'static>],
    own: &[CertificateDer<'static>],
) -> Result<RootCertStore, ClientError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(own.iter().cloned());
    for (file, certificate) in given {
        let fault = |error| ClientError::tls_file(file)(format!("holds no usable certificate: {error}"));
        store.add(certificate.clone()).map_err(fault)?;
    }
    store.add_parsable_certificates(system.iter().cloned());
    if store.is_empty() {
        return Err(ClientError::TlsSettings {
            message: "the system has no trusted certificates; install ca-certificates, give the \
                      authority's with --cacert FILE (tls.ca), or take any with --insecure"
                .to_owned(),
        });
    }
    Ok(store)
}

/// The certificates that a channel trusts beside those of the run.
fn own_authorities(own: &ChannelTls) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let mut found = Vec::new();
    for (index, text) in own.authorities.iter().enumerate() {
        let read = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
        match read {
            Ok(certificates) if !certificates.is_empty() => found.extend(certificates),
            _ => return Err(channel_fault(format!("failed to append ca certificate [{index}] from PEM"))),
        }
    }
    Ok(found)
}

fn own_identity(
    certificate: &str,
    key: &str,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ClientError> {
    let fault = |error: pem::Error| channel_fault(format!("failed to append certificate from PEM: {error}"));
    let certificates = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>();
    Ok((certificates.map_err(fault)?, PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(fault)?))
}

fn channel_fault(message: String) -> ClientError {
    ClientError::TlsSettings { message }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let fault = ClientError::tls_file(file);
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| fault(format!("cannot be read as PEM: {error}")))?;
    if found.is_empty() {
        return Err(fault("holds no certificate; it must be PEM (`-----BEGIN CERTIFICATE-----`)".to_owned()));
    }
    Ok(found)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, ClientError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        let message = format!("holds no usable private key: {error}; it must be PEM and have no passphrase");
        ClientError::tls_file(file)(message)
    })
}

/// Has no certificate, and remembers that the target asked for one: TLS 1.3 refuses only after the handshake.
#[derive(Debug)]
struct NoCertificate {
    asked: Arc<AtomicBool>,
}

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// Checks certificates as usual, and takes a server's own where just that one was given: what `openssl req -x509`
/// makes is an authority's certificate, which no server may show otherwise. Its name is checked, its dates are not.
#[derive(Debug)]
struct TrustsGiven {
    usual: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for TrustsGiven {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.given.iter().any(|given| given == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// `--insecure`: any certificate for any name. Signatures are still checked, so the key is the certificate's.
#[derive(Debug)]
struct TakesAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TakesAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
