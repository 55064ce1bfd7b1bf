//! Keeps the schema in step with what the sources offer.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::future::select_all;

use super::merging::joined;
use crate::site::Site;

/// After a change, others are waited for this long, so that many in a row make one schema.
const SETTLE: Duration = Duration::from_millis(20);

/// Keeps the schema in step with what the sources offer, off the cores' threads; never returns.
pub(crate) async fn follow(site: Arc<Site>) {
    let served = site.engine.served();
    let mut told: HashSet<String> =
        served.sources.iter().flat_map(|source| source.collisions()).cloned().collect();
    drop(served);
    loop {
        let waiting = site.engine.sources().iter().map(|source| source.source.changed());
        let ((), index, _) = select_all(waiting).await;
        tokio::time::sleep(SETTLE).await;
        let at = Arc::clone(&site);
        // A panic there has been reported by its thread; what was served stays.
        let Ok(renewed) = tokio::task::spawn_blocking(move || at.engine.renew()).await else { continue };
        let source = &site.engine.sources()[index].name;
        match renewed {
            Ok(()) => {
                let served = site.engine.served();
                let contents = served.sources[index].contents();
                tracing::info!(source, contents, "the schema has changed");
                for collision in served.sources[index].collisions() {
                    if told.insert(collision.clone()) {
                        tracing::warn!(source, "{collision}");
                    }
                }
            }
            Err(faults) => {
                let faults = joined(&faults, site.engine.sources());
                tracing::error!(
                    source,
                    faults,
                    "the schema stays as it was until this is mended at the source"
                );
            }
        }
    }
}
