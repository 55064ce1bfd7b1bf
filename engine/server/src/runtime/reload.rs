//! Takes who may do what from the configuration anew, at SIGHUP and when its file has changed. What is wrong with it is told,
//! and what was there stays.

use std::{sync::Arc, time::Duration};

use prony_access::Openness;
use tokio::signal::unix::{SignalKind, signal};

use crate::{config::Reload, site::Site};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Never returns.
pub(crate) async fn follow(site: Arc<Site>) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => Some(hangup),
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be waited for");
            None
        }
    };
    let Some(reload) = site.settings.reload.clone() else {
        loop {
            hung_up(&mut hangup).await;
            tracing::info!("SIGHUP: there is no configuration file to read again");
            reload_sources(&site);
        }
    };
    let mut seen = reload.stamp();
    loop {
        let is_asked = tokio::select! {
            () = hung_up(&mut hangup) => true,
            () = tokio::time::sleep(LOOK) => false,
        };
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

async fn hung_up(hangup: &mut Option<tokio::signal::unix::Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

async fn again(site: &Arc<Site>, reload: &Reload) {
    let (at, read) = (Arc::clone(site), reload.clone());
    let renewed = tokio::task::spawn_blocking(move || {
        let settings = read.read()?;
        // Half a file, while it is being written, may lack [auth] and have no mistake.
        if at.access.is_closed() && settings.openness != Openness::Closed {
            return Err("[auth] is gone; a server that wants to know who asks is opened by a restart alone"
                .to_owned());
        }
        at.engine.check_roles(&settings).map_err(|faults| faults.join("\n"))?;
        at.engine.replace_interceptors(&settings)?;
        Ok::<_, String>(settings)
    });
    match renewed.await.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(settings) => {
            site.access.replace(&settings);
            tracing::info!(roles = settings.roles.len(), "roles and keys were read again");
        }
        Err(faults) => {
            tracing::error!(faults, "the configuration has mistakes; who may do what stays as it was");
        }
    }
}
