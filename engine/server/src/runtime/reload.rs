//! Takes who may do what, by which names the server is asked for, which tables are served, joins, the files of TLS and the Redis of shared
//! limits from the configuration anew, and certificates from their files, at SIGHUP and when a file has changed. What is wrong with them is
//! told, and what was there stays.

use std::{sync::Arc, time::Duration};

use prony_access::{AccessSettings, Openness};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    config::{Reload, Reloaded},
    site::Site,
    tls::{PreparedTls, Tls, TlsSettings},
};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Never returns.
pub(crate) async fn follow(site: Arc<Site>, mut hangup: Option<Signal>) {
    let Some(reload) = site.settings.reload.clone() else {
        loop {
            hung_up(&mut hangup).await;
            site.reopen_logs();
            tracing::info!("SIGHUP: there is no configuration file to read again");
            reload_sources(&site);
        }
    };
    let mut seen = reload.stamp_at_start();
    loop {
        let is_asked = tokio::select! {
            () = hung_up(&mut hangup) => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        if is_asked {
            site.reopen_logs();
        }
        let stamp = reload.stamp();
        // A file that is being replaced is not there for a moment.
        if !is_asked && (stamp == seen || stamp.is_none()) {
            continue;
        }
        seen = stamp;
        if is_asked {
            reload_sources(&site);
        }
        again(&site, &reload).await;
    }
}

/// Has sources ask again what they offer.
fn reload_sources(site: &Site) {
    site.engine.sources().iter().for_each(|source| source.source.reload());
}

/// Reads certificates, keys and revocation lists again; never returns.
pub(crate) async fn follow_certificates(tls: Arc<Tls>, mut hangup: Option<Signal>) {
    let mut was_expired = tls.is_expired();
    loop {
        let is_asked = tokio::select! {
            () = hung_up(&mut hangup) => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let is_expired = tls.is_expired();
        if is_expired && !was_expired {
            let expired_at = tls.certificate_expires_at();
            tracing::error!(
                expired_at,
                "a certificate has expired; clients refuse it until its file is renewed"
            );
        }
        was_expired = is_expired;
        if !is_asked && !tls.has_changed() {
            continue;
        }
        let at = Arc::clone(&tls);
        match tokio::task::spawn_blocking(move || at.reload()).await {
            Ok(Ok(())) => {
                tracing::info!(expires_at = tls.certificate_expires_at(), "certificates were read again");
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "certificates cannot be taken; those of before are served on");
            }
            Err(error) => tracing::error!(%error, "certificates could not be read again"),
        }
    }
}

/// SIGHUPs from now on: one that comes before anybody waits for it ends the program, or is lost where its parent ignores it. So this is asked
/// for before sources are opened, which may take long.
pub(crate) fn hangups() -> Option<Signal> {
    signal(SignalKind::hangup())
        .inspect_err(|error| tracing::warn!(%error, "SIGHUP cannot be waited for"))
        .ok()
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// What the files of other settings of TLS say; none where the settings are those that are served.
fn other_tls(site: &Site, settings: &TlsSettings) -> Result<Option<PreparedTls>, String> {
    match &site.tls {
        None if settings.certificate.is_none() => Ok(None),
        None => Err("[tls] has come; a server without it begins to speak TLS by a restart alone".to_owned()),
        Some(_) if settings.certificate.is_none() => {
            Err("the certificate of [tls] is gone; TLS is left by a restart alone".to_owned())
        }
        Some(tls) if *tls.settings() == *settings => Ok(None),
        Some(_) => Tls::prepare(settings).map(Some).map_err(|error| format!("[tls]: {error}")),
    }
}

/// Reads the file, and has it count where all of it fits.
async fn again(site: &Arc<Site>, reload: &Reload) {
    match taken(site, reload).await {
        Ok(settings) => {
            tracing::info!(roles = settings.roles.len(), "the configuration was read again");
        }
        Err(faults) => {
            tracing::error!(
                faults,
                "the configuration has mistakes; who may do what, tables and joins stay as they were"
            );
        }
    }
}

/// # Errors
/// What does not fit, with its place; nothing of the file counts then.
async fn taken(site: &Arc<Site>, reload: &Reload) -> Result<Arc<AccessSettings>, String> {
    let reload = reload.clone();
    let Reloaded { access, hosts, connections, served, restart } = off_thread(move || reload.read()).await?;
    // Half a file, while it is being written, may lack [auth] and have no mistake.
    if site.access.is_closed() && access.openness != Openness::Closed {
        return Err(
            "[auth] is gone; a server that wants to know who asks is opened by a restart alone".to_owned()
        );
    }
    // First of all: it may take seconds, in which tables would be served by the new file to roles of the old one.
    let (at, redis) = (Arc::clone(site), connections.as_ref().map(|(_, redis)| redis.clone()));
    let shared = off_thread(move || {
        Ok(match &redis {
            Some(redis) => at.access.shared_by(redis),
            None => at.access.shared(),
        })
    });
    let shared = shared.await?;
    let next = match &served {
        Some((sources, joins)) => site.engine.reconfigured(sources, joins).await?,
        None => None,
    };
    let at = Arc::clone(site);
    let access = off_thread(move || {
        let tls = match &connections {
            Some((tls, _)) => other_tls(&at, tls)?,
            None => None,
        };
        if let Some(next) = next {
            at.engine.reconfigure(next, &access)?;
        } else {
            at.engine.check_roles(&access).map_err(|faults| faults.join("\n"))?;
            at.engine.replace_interceptors(&access)?;
        }
        if let (Some(serving), Some(prepared)) = (&at.tls, tls) {
            serving.take(prepared);
            tracing::info!("other files of TLS were taken");
        }
        if let Some(names) = &hosts {
            at.replace_hosts(names);
        }
        at.access.replace(&access, shared);
        Ok(access)
    });
    let access = access.await?;
    let others = restart.as_ref().map(|restart| site.settings.restart.differences(restart));
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        let options = others.join(", ");
        tracing::warn!(options, "other values of these options count after a restart");
    }
    Ok(access)
}

/// Runs what blocks, or takes long, beside the thread that waits for it.
async fn off_thread<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(error.to_string()))
}
