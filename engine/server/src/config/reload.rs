//! Reading the configuration again while the server runs: who may do what, by which names the server is asked for, which tables are served,
//! joins, the files of TLS and the Redis of shared limits change, and nothing else.

use std::{fmt, sync::Arc, time::SystemTime};

use prony_access::AccessSettings;

use super::{redis::RedisSettings, restart::RestartOptions, source::SourceSettings};
use crate::{joins::JoinSettings, tls::TlsSettings};

/// What of a configuration counts while the server runs.
#[derive(Debug, Clone)]
pub struct Reloaded {
    pub access: Arc<AccessSettings>,
    /// Names under which the server may be asked for; they stay as they are where there is none.
    pub hosts: Option<Vec<String>>,
    /// TLS and the Redis in which limits are shared; both stay as they are where there is none.
    pub connections: Option<(TlsSettings, RedisSettings)>,
    /// Sources and joins; both stay as they are where there are none.
    pub served: Option<(Vec<SourceSettings>, Vec<JoinSettings>)>,
    /// Options that stay as they are; those that are other are told, where this is known.
    pub restart: Option<RestartOptions>,
}

impl From<Arc<AccessSettings>> for Reloaded {
    fn from(access: Arc<AccessSettings>) -> Self {
        Self { access, hosts: None, connections: None, served: None, restart: None }
    }
}

/// How who may do what is read again.
#[derive(Clone)]
pub struct Reload {
    read: Arc<dyn Fn() -> Result<Reloaded, String> + Send + Sync>,
    stamp: Arc<dyn Fn() -> Option<SystemTime> + Send + Sync>,
    stamp_at_start: Option<SystemTime>,
}

impl Reload {
    /// `read` reads all of the configuration, or says what is wrong with it; `stamp` is when it was last changed, none where it
    /// is not there. Made before it is read for the start, so that a change meanwhile is seen.
    pub fn new<R: Into<Reloaded>>(
        read: impl Fn() -> Result<R, String> + Send + Sync + 'static,
        stamp: impl Fn() -> Option<SystemTime> + Send + Sync + 'static,
    ) -> Self {
        let stamp_at_start = stamp();
        Self { read: Arc::new(move || read().map(Into::into)), stamp: Arc::new(stamp), stamp_at_start }
    }

    pub(crate) fn read(&self) -> Result<Reloaded, String> {
        (self.read)()
    }

    /// When what the server has begun with was last changed.
    pub(crate) fn stamp_at_start(&self) -> Option<SystemTime> {
        self.stamp_at_start
    }

    pub(crate) fn stamp(&self) -> Option<SystemTime> {
        (self.stamp)()
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reload").finish_non_exhaustive()
    }
}
