//! Series as a source: what the server asks of it.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use prony_series_store::{Figure, Registration};
use prony_source::{
    Metric, ReservedNames, Sample, Source, SourceSchema, SourceSession,
    http_api::HttpApi,
    permissions::{PermissionFault, Permissions},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    access::permissions::Restrictions,
    graphql::{Model, SchemaOf, SeriesSchema, SeriesSession, ServedSeries},
    http_api::SeriesApi,
    series::{Series, counted, with_causes},
};

/// The log of the server hears of a failure within this time; `/health` says it at once.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Before the names of what is measured of series.
const METRICS: &str = "prony_series_";
/// Which of it says how many rows there are.
pub(crate) const ROWS: &str = "prony_series_rows";

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Served series.
#[derive(Debug)]
pub struct SeriesSource {
    series: Arc<Series>,
    graphql: Arc<ServedSeries>,
    api: SeriesApi,
    /// What was offered last, and beside what.
    offered: Mutex<(Arc<SeriesSchema>, ReservedNames)>,
    /// Notified of each batch of writes, some of which bring types.
    written: Arc<Notify>,
    _registration: Registration,
}

impl SeriesSource {
    pub(crate) fn new(series: Arc<Series>) -> Self {
        let written = Arc::new(Notify::new());
        let for_log = Arc::clone(&written);
        let registration = series.store.watch(Arc::new(move |_| for_log.notify_one()));
        let taken = ReservedNames::default();
        let schema = Arc::new(schema_of(&series, &taken));
        Self {
            graphql: Arc::new(ServedSeries::new(Arc::clone(&series))),
            api: SeriesApi::new(Arc::clone(&series)),
            series,
            offered: Mutex::new((schema, taken)),
            written,
            _registration: registration,
        }
    }

    /// Whether nobody reads what is written.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.graphql.is_idle()
    }

    /// What there is now, beside names that others have.
    pub(crate) fn offer(&self, reserved: &ReservedNames) -> Arc<SeriesSchema> {
        let mut last = lock(&self.offered);
        let (schema, beside) = &mut *last;
        if beside != reserved || !has(&self.series, schema.model()) {
            *schema = Arc::new(schema_of(&self.series, reserved));
            beside.clone_from(reserved);
        }
        Arc::clone(schema)
    }

    /// Returns once there are other types or attributes than were offered last.
    pub(crate) async fn offers_something_else(&self) {
        while has(&self.series, lock(&self.offered).0.model()) {
            self.written.notified().await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The types and attributes that there are now.
fn model_of(series: &Series, reserved: &ReservedNames) -> Model {
    series.store.with_catalog(|catalog| Model::new(catalog, reserved))
}

/// Whether a model is of the types and attributes that there are now.
fn has(series: &Series, model: &Model) -> bool {
    series.store.with_catalog(|catalog| model.is_of(catalog))
}

/// All of it.
fn schema_of(series: &Series, reserved: &ReservedNames) -> SeriesSchema {
    let figures = series.store.figures();
    let rows = figures.iter().find(|figure| figure.name == ROWS).map_or(0, |figure| figure.value);
    let (types, entities) =
        series.store.with_catalog(|catalog| (catalog.served_tables().count(), catalog.series_count()));
    let contents = [
        counted(types as u64, "type", "types"),
        counted(entities as u64, "entity", "entities"),
        counted(rows, "row", "rows"),
    ]
    .join(", ");
    SeriesSchema::new(model_of(series, reserved), &series.settings.common, SchemaOf::Everybody { contents })
}

impl Source for SeriesSource {
    fn product(&self) -> &'static str {
        "series"
    }

    fn yields_names(&self) -> bool {
        true
    }

    fn schema(&self, reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        self.offer(reserved)
    }

    fn schema_for(
        &self,
        reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let restrictions = Restrictions::new(permissions)?;
        let model = model_of(&self.series, reserved).restricted(&restrictions);
        let whose = SchemaOf::Role { api: self.api.clone(), restrictions: Arc::new(restrictions) };
        Ok(Arc::new(SeriesSchema::new(model, &self.series.settings.common, whose)))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.offers_something_else())
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        SeriesSession::of(&self.graphql)
    }

    fn health_details(&self) -> Option<(&'static str, Value)> {
        let store = &self.series.store;
        let health = store.health();
        let mut state = json!({"durability": store.durability_text()});
        for Figure { name, value, .. } in store.figures() {
            state[name.strip_prefix(METRICS).unwrap_or(name)] = json!(value);
        }
        state["entities"] = json!(store.with_catalog(prony_series_store::Catalog::series_count));
        state["waiting_writes"] = json!(self.series.waiting_writes());
        if let Some((error, at)) = &health.write_failure {
            state["log_failure"] = json!({"error": with_causes(error), "at_seconds": seconds(*at)});
        }
        if let Some((error, at)) = &health.upkeep_failure {
            state["segment_failure"] = json!({"error": &**error, "at_seconds": seconds(*at)});
        }
        Some(("series", state))
    }

    fn written_directory(&self) -> Option<PathBuf> {
        self.series.store.directory().map(Path::to_owned)
    }

    fn http_api(&self) -> Option<Arc<dyn HttpApi>> {
        Some(Arc::new(self.api.clone()))
    }

    /// Tells the log of failures.
    fn run(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let (mut writes_fail, mut upkeep_fails) = (false, false);
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let health = self.series.store.health();
                match &health.write_failure {
                    Some((error, _)) if !writes_fail => {
                        let error = with_causes(error);
                        tracing::error!(error, "series cannot be written; writes are refused until they can");
                    }
                    None if writes_fail => tracing::info!("series can be written again"),
                    _ => {}
                }
                match &health.upkeep_failure {
                    Some((error, _)) if !upkeep_fails => {
                        tracing::error!(
                            error = &**error,
                            "what keeps series in order fails; rows are written"
                        );
                    }
                    None if upkeep_fails => tracing::info!("series are kept in order again"),
                    _ => {}
                }
                (writes_fail, upkeep_fails) =
                    (health.write_failure.is_some(), health.upkeep_failure.is_some());
            }
        })
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let one = |value: f64| vec![Sample::labelled("source", name, value)];
        let figures = self.series.store.figures().into_iter();
        let of_engine =
            figures.map(|Figure { name, help, value }| Metric::gauge(name, help, one(value as f64)));
        let mut metrics: Vec<Metric> = of_engine.collect();
        metrics.extend([
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
        ]);
        metrics
    }
}
