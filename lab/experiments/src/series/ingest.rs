//! The large table is written: notifications of many rows over one connection, whose bodies another thread makes meanwhile.

use std::{
    sync::mpsc::sync_channel,
    thread,
    time::{Duration, Instant},
};

use prony_model::Nanos;
use serde::Serialize;
use ureq::Agent;

use super::{dataset::SeriesDataset, engines::EngineSetting, study::BATCH_ENTITIES};
use crate::{display::Display, markdown::thousands};

/// A body is responded to within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bodies that are made ahead.
const BODIES_AHEAD: usize = 4;

/// Rows were not written, or are not there.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    #[error("cannot notify the engine")]
    NoResponse(#[from] ureq::Error),
    #[error("the engine refuses a notification with status {status}: {body}")]
    Refused { status: u16, body: String },
    #[error("{acknowledged} rows of type {of} were acknowledged, and {found} are there {when}")]
    Missing { of: &'static str, acknowledged: u64, found: u64, when: &'static str },
}

/// How fast the table was written, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ingest {
    #[serde(flatten)]
    pub setting: EngineSetting,
    pub rows: u64,
    pub entities: u32,
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// What it takes on the disk after `prony series compact`, or `VACUUM` in a database.
    pub compact_bytes: u64,
    #[serde(rename = "compact_time_ns")]
    pub compact_time: Nanos,
}

impl Ingest {
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.time.as_secs_f64().max(1e-9)
    }

    /// A row has two values.
    pub fn bytes_a_value(&self) -> f64 {
        self.compact_bytes as f64 / (2 * self.rows.max(1)) as f64
    }
}

/// Writes all rows. `None` where it was stopped.
pub(super) fn write(
    address: &str,
    setting: EngineSetting,
    dataset: SeriesDataset,
    display: &Display,
    is_stopped: impl Fn() -> bool,
) -> Result<Option<Ingest>, RowsError> {
    let agent: Agent =
        Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
    let url = format!("http://{address}/v2/notify");
    let began = Instant::now();
    let is_done = thread::scope(|scope| -> Result<bool, RowsError> {
        let (sender, bodies) = sync_channel(BODIES_AHEAD);
        scope.spawn(move || dataset.bodies(BATCH_ENTITIES).try_for_each(|body| sender.send(body)));
        for body in bodies {
            if is_stopped() {
                return Ok(false);
            }
            let mut response = agent.post(&url).content_type("application/json").send(body)?;
            let status = response.status().as_u16();
            let body = response.body_mut().read_to_string()?;
            if status != 200 {
                return Err(RowsError::Refused { status, body });
            }
        }
        Ok(true)
    })?;
    let time = Nanos(began.elapsed().as_nanos() as u64);
    let (rows, entities) = (dataset.rows(), dataset.entities());
    let ingest = Ingest { setting, rows, entities, time, compact_bytes: 0, compact_time: Nanos::ZERO };
    if is_done {
        let rate = thousands(ingest.rows_per_second().round() as u64);
        display.line(&format!("{}: {} rows written, {rate} rows/s", setting.label(), thousands(rows)));
    }
    Ok(is_done.then_some(ingest))
}
