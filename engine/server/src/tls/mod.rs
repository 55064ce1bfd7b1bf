//! TLS: its settings, the certificate and keys that files hold, and which of them counts now. Sockets and handshakes are
//! `runtime`'s.

mod certificates;
mod client;
mod counts;
mod files;
mod names;
mod pem;
mod settings;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use prony_source::{Metric, Sample};
use rustls::{ServerConfig, pki_types::CertificateDer};

use self::files::{Loaded, Stamps};
pub(crate) use self::{
    client::{CertificateRefusal, ClientCertificate},
    counts::{HandshakeOutcome, TlsCounts},
    pem::certificates,
    settings::HTTP2,
};
pub use self::{
    pem::TlsError,
    settings::{ClientCertificates, TlsSettings, TlsVersion},
};

/// TLS of all listeners. What the files say is replaced as one thing; connections keep what they began with.
#[derive(Debug)]
pub(crate) struct Tls {
    current: ArcSwap<Generation>,
    /// When the files that were read last were changed. Held while another generation takes the place of the last.
    stamps: Mutex<Stamps>,
    /// What is wrong with the files as they are now, where those of before count.
    fault: Mutex<Option<String>>,
    pending: AtomicUsize,
    pub(crate) counts: TlsCounts,
}

/// What the files said at one time.
#[derive(Debug)]
struct Generation {
    /// Counts from 1.
    number: u64,
    settings: Arc<TlsSettings>,
    loaded: Loaded,
}

/// What the files of other settings say, before it counts.
#[derive(Debug)]
pub(crate) struct PreparedTls {
    settings: TlsSettings,
    stamps: Stamps,
    loaded: Loaded,
}

/// How TLS fares, for `/health`.
#[derive(Debug, serde::Serialize)]
pub(crate) struct TlsHealth {
    /// Unix seconds.
    certificate_expires_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_lists_expire_at: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_expired: bool,
    /// The files as they are now were not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl Tls {
    /// Reads the files; none where TLS is not configured.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Option<Arc<Self>>, TlsError> {
        if settings.certificate.is_none() {
            return Ok(None);
        }
        let stamps = files::stamps(settings);
        let loaded = files::load(settings)?;
        if loaded.certificate_expires_at <= unix_now() {
            tracing::warn!(expired_at = loaded.certificate_expires_at, "the certificate has expired");
        }
        let settings = Arc::new(settings.clone());
        Ok(Some(Arc::new(Self {
            current: ArcSwap::from_pointee(Generation { number: 1, settings, loaded }),
            stamps: Mutex::new(stamps),
            fault: Mutex::default(),
            pending: AtomicUsize::new(0),
            counts: TlsCounts::default(),
        })))
    }

    pub(crate) fn settings(&self) -> Arc<TlsSettings> {
        Arc::clone(&self.current.load().settings)
    }

    /// What new connections are served with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().loaded.config)
    }

    /// Room for a handshake, until it is dropped; none where as many are under way as may be.
    pub(crate) fn begin_handshake(self: &Arc<Self>) -> Option<PendingHandshake> {
        let before = self.pending.fetch_add(1, Ordering::Relaxed);
        let pending = PendingHandshake(Arc::clone(self));
        (before < self.current.load().settings.max_handshakes).then_some(pending)
    }

    /// Whether a file has changed since they were last read.
    pub(crate) fn has_changed(&self) -> bool {
        let now = files::stamps(&self.settings());
        // A file that is being replaced is not there for a moment.
        now.are_all_there() && *self.stamps.lock().unwrap_or_else(PoisonError::into_inner) != now
    }

    /// Reads the files again, which blocks. Where something is wrong with them, what was there stays.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        // Other settings that come meanwhile have their turn behind it.
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = self.settings();
        *stamps = files::stamps(&settings);
        let read = read(&settings);
        let fault = read.as_ref().err().map(ToString::to_string);
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        self.serve(settings, read?);
        Ok(())
    }

    /// Reads the files of other settings, which blocks; what is served stays until they are [taken](Self::take).
    ///
    /// # Errors
    /// What is wrong with a file.
    pub(crate) fn prepare(settings: &TlsSettings) -> Result<PreparedTls, TlsError> {
        let stamps = files::stamps(settings);
        Ok(PreparedTls { settings: settings.clone(), stamps, loaded: read(settings)? })
    }

    /// Serves by other settings from now on.
    pub(crate) fn take(&self, prepared: PreparedTls) {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        *stamps = prepared.stamps;
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.serve(Arc::new(prepared.settings), prepared.loaded);
    }

    fn serve(&self, settings: Arc<TlsSettings>, loaded: Loaded) {
        let number = self.current.load().number + 1;
        self.current.store(Arc::new(Generation { number, settings, loaded }));
    }

    /// What a client's verified certificates say.
    pub(crate) fn client(
        self: &Arc<Self>,
        chain: &[CertificateDer<'static>],
    ) -> Result<ClientCertificate, CertificateRefusal> {
        ClientCertificate::new(Arc::clone(self), chain)
    }

    pub(crate) fn health(&self) -> TlsHealth {
        let current = self.current.load();
        let expires_at = current.loaded.certificate_expires_at;
        TlsHealth {
            certificate_expires_at: expires_at,
            revocation_lists_expire_at: current.loaded.revocation_lists_expire_at,
            is_expired: self.is_expired(),
            fault: self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Whether a certificate that is served has expired.
    pub(crate) fn is_expired(&self) -> bool {
        self.certificate_expires_at() <= unix_now()
    }

    /// When the first certificate expires, in Unix seconds.
    pub(crate) fn certificate_expires_at(&self) -> i64 {
        self.current.load().loaded.certificate_expires_at
    }

    /// For `/metrics`.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let single = |value: i64| Sample::single(value as f64);
        let help = "When the server's certificate expires, Unix time";
        let certificate = self.certificate_expires_at();
        let mut all = vec![Metric::gauge("prony_tls_certificate_expiry_seconds", help, single(certificate))];
        if let Some(lists) = self.current.load().loaded.revocation_lists_expire_at {
            let help = "When the first of the revocation lists expires, Unix time";
            all.push(Metric::gauge("prony_tls_revocation_list_expiry_seconds", help, single(lists)));
        }
        let ended = HandshakeOutcome::ALL
            .map(|outcome| Sample::labelled("outcome", outcome.label(), self.counts.count(outcome) as f64));
        let help = "TLS handshakes, by how they ended";
        all.push(Metric::counter("prony_tls_handshakes", help, ended.to_vec()));
        all
    }
}

/// Counts one handshake until it is dropped.
#[derive(Debug)]
pub(crate) struct PendingHandshake(Arc<Tls>);

impl Drop for PendingHandshake {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the files say, where no certificate has expired.
fn read(settings: &TlsSettings) -> Result<Loaded, TlsError> {
    let loaded = files::load(settings)?;
    match loaded.certificate_expires_at {
        expired_at if expired_at <= unix_now() => Err(TlsError::Expired { expired_at }),
        _ => Ok(loaded),
    }
}

fn unix_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}
