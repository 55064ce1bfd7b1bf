//! Keeps the schema in step with what the sources offer.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::future::select_all;

use super::merging::joined;
use crate::site::Site;

/// After a change, others are waited for this long, so that many in a row make one schema.
const SETTLE: Duration = Duration::from_millis(20);

/// Keeps the schema in step with what the sources offer, off the cores' threads; never returns.
pub(crate) async fn follow(site: Arc<Site>) {
    let mut told = Told::of(&site);
    loop {
        let waiting = site.engine.sources().iter().map(|source| source.source.changed());
        let ((), index, _) = select_all(waiting).await;
        tokio::time::sleep(SETTLE).await;
        let at = Arc::clone(&site);
        // A panic there has been reported by its thread; what was served stays.
        let Ok(renewed) = tokio::task::spawn_blocking(move || at.engine.renew()).await else { continue };
        match renewed {
            Ok(()) => told.renewed(&site, index),
            Err(faults) => {
                let faults = joined(&faults, site.engine.sources());
                let source = &site.engine.sources()[index].name;
                tracing::error!(
                    source,
                    faults,
                    "the schema stays as it was until this is mended at the source"
                );
            }
        }
    }
}

/// What has been said already.
struct Told {
    collisions: HashSet<String>,
    /// Why what a source offers is refused, by its name.
    refused: HashMap<String, String>,
}

impl Told {
    fn of(site: &Site) -> Self {
        let served = site.engine.served();
        let collisions = served.sources.iter().flat_map(|source| source.collisions());
        Self { collisions: collisions.cloned().collect(), refused: HashMap::new() }
    }

    fn renewed(&mut self, site: &Site, changed: usize) {
        let served = site.engine.served();
        for (index, source) in site.engine.sources().iter().enumerate() {
            let (name, schema) = (&source.name, &served.sources[index]);
            // Sources whose names clients make have been told of where they were merged.
            if let Some(faults) = served.refused[index].as_ref().filter(|_| schema.may_be_refused()) {
                if self.refused.insert(name.clone(), faults.clone()).as_ref() != Some(faults) {
                    tracing::error!(
                        source = name,
                        faults,
                        "the tables have changed and the configuration does not fit them; the schema of before is served on"
                    );
                }
                continue;
            }
            let was_refused = self.refused.remove(name).is_some();
            if changed == index || was_refused {
                tracing::info!(source = name, contents = schema.contents(), "the schema has changed");
                for collision in schema.collisions() {
                    if self.collisions.insert(collision.clone()) {
                        tracing::warn!(source = name, "{collision}");
                    }
                }
            }
        }
    }
}
