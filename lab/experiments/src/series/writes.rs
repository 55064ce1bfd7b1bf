//! Notifications against one engine: the study's form, the same without its pace, and many entities at a time; then the engine is killed
//! and started again.

use std::time::Instant;

use prony_model::{Nanos, Target, verdict::finding::FindingKind};
use serde::Serialize;

use super::{
    engines::EngineSetting,
    places::Storage,
    rows,
    statements::Statements,
    study::{SeriesPace, SeriesRequests, WriteForm},
};
use crate::{
    durability::Durability,
    engine::Engine,
    error::LabError,
    frame::Ground,
    markdown::{milliseconds, seconds, thousands},
    processors::Assignment,
    runs::{Measured, Runs, Used, whole},
    statistics::Statistics,
};

/// One form with one engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteStep {
    pub form: WriteForm,
    #[serde(flatten)]
    pub setting: EngineSetting,
    #[serde(flatten)]
    pub statistics: Statistics,
    pub rows_per_second: f64,
    /// That users set the rate, where they did: nothing of what the engine can take.
    pub offered_load_limited: Option<String>,
    /// What the database behind the engine saw, where there is one.
    pub statements: Option<Statements>,
    /// Why that is not known.
    pub without_statements: Option<String>,
    #[serde(flatten)]
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
}

/// What became of an engine that was killed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Restart {
    /// Acknowledged before.
    pub acknowledged_rows: u64,
    /// There afterwards. Rows that were written and not acknowledged may be among them.
    pub found_rows: u64,
    pub data_bytes: u64,
    /// From its start until it listens.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// What is measured with.
#[derive(Debug)]
pub(super) struct WriteRun<'a> {
    pub ground: &'a Ground<'a>,
    pub assignment: &'a Assignment,
    pub pace: &'a SeriesPace,
    pub seed: u64,
}

/// Rows that were acknowledged, by the two types that are notified.
#[derive(Debug, Default)]
struct Acknowledged {
    rooms: u64,
    halls: u64,
}

impl WriteRun<'_> {
    /// On an empty place of its own. The engine is killed in the end where the experiment is about that losing nothing.
    pub(super) fn measure(
        &self,
        storage: &Storage<'_>,
        forms: &[WriteForm],
        done: &mut Vec<WriteStep>,
    ) -> Result<Option<Restart>, LabError> {
        let engine = storage.serve()?;
        let mut acknowledged = Acknowledged::default();
        for (place, form) in forms.iter().enumerate() {
            let left = forms[place + 1..].iter().map(|form| self.pace.write_time(*form).0).sum();
            let Some(step) = self.measure_one(&engine, storage, *form, Nanos(left))? else {
                return Ok(None);
            };
            let rows = step.statistics.ok * u64::from(form.entities());
            if form.type_name() == "Room" {
                acknowledged.rooms += rows;
            } else {
                acknowledged.halls += rows;
            }
            self.ground.display.line(&line(&step));
            done.push(step);
        }
        acknowledged.compare(&engine, "at the end of the load")?;
        if storage.setting != (EngineSetting::Embedded { durability: Durability::Sync }) {
            engine.stop();
            return Ok(None);
        }
        // Dropping kills it.
        drop(engine);
        let began = Instant::now();
        let engine = storage.serve()?;
        let time = Nanos(began.elapsed().as_nanos() as u64);
        let found_rows = acknowledged.compare(&engine, "after a kill")?;
        let acknowledged_rows = acknowledged.rooms + acknowledged.halls;
        let data_bytes = storage.bytes()?;
        engine.stop();
        Ok(Some(Restart { acknowledged_rows, found_rows, data_bytes, time }))
    }

    fn measure_one(
        &self,
        engine: &Engine,
        storage: &Storage<'_>,
        form: WriteForm,
        left: Nanos,
    ) -> Result<Option<WriteStep>, LabError> {
        let target =
            Target::parse(&format!("http://{}", engine.address())).expect("an engine's address is one");
        let (time, setting) = (self.pace.write_time(form), storage.setting);
        let plan = SeriesRequests { target, seed: self.seed }.writes(form, time);
        let title = format!("{}, {}, {}", setting.label(), form.label(), seconds(time));
        let file = format!("writes-{}-{}.prony.json", form.name(), setting.name());
        let watch = self.ground.display.begin(title, time, left);
        let measured = Measured { process: engine.process(), processors: &self.assignment.server };
        let observers = storage.observers();
        let runs = Runs { observers: &observers, ..self.ground.runs(self.assignment) };
        let Some((result, used)) = runs.measure(&plan, &file, measured, watch)? else { return Ok(None) };
        let limited = result.findings.iter().find(|finding| finding.kind == FindingKind::OfferedLoadLimited);
        let statistics = Statistics::of(whole(&result));
        let statements = Statements::of(&result);
        Ok(Some(WriteStep {
            form,
            setting,
            rows_per_second: statistics.requests_per_second * f64::from(form.entities()),
            statistics,
            offered_load_limited: limited.map(|finding| finding.seen.clone()),
            without_statements: statements.as_ref().and_then(|found| found.as_ref().err().cloned()),
            statements: statements.and_then(Result::ok),
            used,
            file,
        }))
    }
}

impl Acknowledged {
    /// The rows that are there.
    fn compare(&self, engine: &Engine, when: &'static str) -> Result<u64, LabError> {
        let rooms = rows::compare(engine.address(), "Room", self.rooms, when)?;
        Ok(rooms + rows::compare(engine.address(), "Hall", self.halls, when)?)
    }
}

fn line(step: &WriteStep) -> String {
    let p99 = step.statistics.p99_ms.map_or("-".to_owned(), milliseconds);
    let limited = if step.offered_load_limited.is_some() { ", offered-load-limited" } else { "" };
    format!(
        "{:<64} {:<29} {:>8} rows/s, {:>7} requests/s, p99 {p99}, {} failed{limited}",
        step.setting.label(),
        step.form.label(),
        thousands(step.rows_per_second.round() as u64),
        thousands(step.statistics.requests_per_second.round() as u64),
        thousands(step.statistics.ko),
    )
}
