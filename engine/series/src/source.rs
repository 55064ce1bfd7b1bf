//! Series as a source: what the server asks of it.

use std::{
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use prony_series_store::durability_text;
use prony_source::{Metric, ReservedNames, Sample, Source, SourceSchema, SourceSession, http_api::HttpApi};
use serde_json::{Value, json};

use crate::{
    http_api::SeriesApi,
    schema::SeriesSession,
    series::{SeriesSource, with_causes},
};

/// The log of the server hears of a failure within this time; `/health` says it at once.
const LOOK_EVERY: Duration = Duration::from_secs(2);

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Source for SeriesSource {
    fn product(&self) -> &'static str {
        "series"
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        Arc::new(self.clone())
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        SeriesSession::of(self)
    }

    fn health_details(&self) -> Option<(&'static str, Value)> {
        let (store, read) = (&self.series.store, self.series.store.read());
        let (health, (segments, segment_bytes)) = (store.health(), read.segments());
        let mut state = json!({
            "durability": durability_text(store.options().durability),
            "rows": read.row_count(),
            "entities": read.with_catalog(prony_series_store::Catalog::series_count),
            "log_bytes": health.log_bytes,
            "segments": segments,
            "segment_bytes": segment_bytes,
            "waiting_writes": self.series.waiting_writes(),
        });
        if let Some((error, at)) = &health.log_failure {
            state["log_failure"] = json!({"error": with_causes(error), "at_seconds": seconds(*at)});
        }
        if let Some((error, at)) = &health.seals.failure {
            state["segment_failure"] = json!({"error": with_causes(error), "at_seconds": seconds(*at)});
        }
        Some(("series", state))
    }

    fn written_directory(&self) -> Option<PathBuf> {
        Some(self.series.store.directory().to_owned())
    }

    fn http_api(&self) -> Option<Arc<dyn HttpApi>> {
        Some(Arc::new(SeriesApi::new(Arc::clone(&self.series))))
    }

    /// Tells the log of failures.
    fn run(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let (mut log_fails, mut seal_fails) = (false, false);
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let health = self.series.store.health();
                match &health.log_failure {
                    Some((error, _)) if !log_fails => {
                        let error = with_causes(error);
                        tracing::error!(
                            error,
                            "the log of series cannot be written; writes are refused until it can"
                        );
                    }
                    None if log_fails => tracing::info!("the log of series can be written again"),
                    _ => {}
                }
                match &health.seals.failure {
                    Some((error, _)) if !seal_fails => {
                        let (error, log_bytes) = (with_causes(error), health.log_bytes);
                        tracing::error!(error, log_bytes, "no segment can be written; the log grows");
                    }
                    None if seal_fails => tracing::info!("a segment was written again"),
                    _ => {}
                }
                (log_fails, seal_fails) = (health.log_failure.is_some(), health.seals.failure.is_some());
            }
        })
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let (health, read) = (self.series.store.health(), self.series.store.read());
        let (segments, segment_bytes) = read.segments();
        let one = |value: f64| vec![Sample::labelled("source", name, value)];
        vec![
            Metric::gauge("prony_series_rows", "Rows, about", one(read.row_count() as f64)),
            Metric::gauge(
                "prony_series_log_bytes",
                "Bytes of the log that is read at a start",
                one(health.log_bytes as f64),
            ),
            Metric::gauge("prony_series_segments", "Segments", one(segments as f64)),
            Metric::gauge("prony_series_segment_bytes", "Bytes of the segments", one(segment_bytes as f64)),
            Metric::gauge(
                "prony_series_waiting_writes",
                "Requests whose writes are not durable yet",
                one(self.series.waiting_writes() as f64),
            ),
            Metric::counter(
                "prony_series_misfits",
                "Values that became null because they do not fit the type that their attribute was first given",
                one(self.series.misfit_count() as f64),
            ),
        ]
    }
}
