//! Queries of the large table: each is asked once and its response held against the rows, then by one user, by several, and by one while
//! notifications come.

use prony_model::{Nanos, ResultFile, Target};
use serde::Serialize;
use serde_json::Value;

use super::{
    dataset::SeriesDataset,
    engines::{EngineSetting, SeriesEngine},
    places::Storage,
    study::{READERS, ReadQuestion, SeriesRequests},
};
use crate::{
    ask::AnswerError,
    engine::Engine,
    error::LabError,
    frame::Ground,
    markdown::{milliseconds, thousands},
    processors::Assignment,
    runs::{Measured, Runs, Used},
    statistics::Statistics,
};

/// Averages are compared to this much.
const TOLERANCE: f64 = 1e-6;
const MINUTES_AN_HOUR: u32 = 60;
const MINUTES_A_DAY: u32 = 24 * 60;

/// One query with so many users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadStep {
    #[serde(flatten)]
    pub setting: EngineSetting,
    pub question: ReadQuestion,
    pub users: u32,
    /// Notifications came at the same time.
    pub beside_writes: bool,
    #[serde(flatten)]
    pub statistics: Statistics,
    #[serde(flatten)]
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
}

/// What is measured with.
#[derive(Debug)]
pub(super) struct ReadRun<'a> {
    pub ground: &'a Ground<'a>,
    pub assignment: &'a Assignment,
    pub storage: &'a Storage<'a>,
    pub engine: &'a Engine,
    pub dataset: SeriesDataset,
    /// Of each run.
    pub time: Nanos,
    pub seed: u64,
}

/// Users, and whether notifications come at the same time.
pub(super) const LOADS: [(u32, bool); 3] = [(1, false), (READERS, false), (1, true)];

impl ReadRun<'_> {
    pub(super) fn measure(&self, done: &mut Vec<ReadStep>) -> Result<(), LabError> {
        for question in ReadQuestion::ALL {
            check(self.engine.address(), question, self.dataset)?;
        }
        let mut left = self.time.0 * (ReadQuestion::ALL.len() * LOADS.len()) as u64;
        for question in ReadQuestion::ALL {
            for load in LOADS {
                left -= self.time.0;
                let Some(step) = self.measure_one(question, load, Nanos(left))? else { return Ok(()) };
                self.ground.display.line(&line(&step));
                done.push(step);
            }
        }
        Ok(())
    }

    fn measure_one(
        &self,
        question: ReadQuestion,
        (users, beside_writes): (u32, bool),
        left: Nanos,
    ) -> Result<Option<ReadStep>, LabError> {
        let target =
            Target::parse(&format!("http://{}", self.engine.address())).expect("an engine's address is one");
        let requests = SeriesRequests { target, seed: self.seed };
        let plan = requests.reads(question, self.dataset, users, beside_writes, self.time);
        let beside = if beside_writes { "-beside-writes" } else { "" };
        let setting = self.storage.setting;
        let of = match setting.engine() {
            SeriesEngine::Embedded => String::new(),
            other => format!("{other}-"),
        };
        let file = format!("reads-{of}{}-{users}{beside}.prony.json", question.name());
        let title = format!("{}: {}, {}", setting.engine().label(), question.label(), count_of_users(users));
        let watch = self.ground.display.begin(title, self.time, left);
        let measured = Measured { process: self.engine.process(), processors: &self.assignment.server };
        let observers = self.storage.observers();
        let runs = Runs { observers: &observers, ..self.ground.runs(self.assignment) };
        let Some((result, used)) = runs.measure(&plan, &file, measured, watch)? else { return Ok(None) };
        let statistics = statistics(&result, question);
        Ok(Some(ReadStep { setting, question, users, beside_writes, statistics, used, file }))
    }
}

/// Of the query alone, without the notifications beside it.
fn statistics(result: &ResultFile, question: ReadQuestion) -> Statistics {
    let window = result.windows.last().unwrap_or(result.headline());
    let of = window.by_request.iter().find(|request| request.name == question.name());
    Statistics::of(of.map_or(&window.all, |request| &request.figures))
}

fn count_of_users(users: u32) -> String {
    if users == 1 { "1 user".to_owned() } else { format!("{users} users") }
}

fn line(step: &ReadStep) -> String {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), milliseconds);
    format!(
        "{:<10} {:<31} {}{}: {:>7}/s, p50 {}, p99 {}, {} failed",
        step.setting.engine().label(),
        step.question.label(),
        count_of_users(step.users),
        if step.beside_writes { ", notifications beside" } else { "" },
        thousands(step.statistics.requests_per_second.round() as u64),
        time(step.statistics.p50_ms),
        time(step.statistics.p99_ms),
        step.statistics.ko,
    )
}

/// Asks once, of an entity and a day in the midst, and compares: figures of wrong responses would be worth nothing.
fn check(address: &str, question: ReadQuestion, dataset: SeriesDataset) -> Result<(), AnswerError> {
    let (room, day) = (dataset.entities() / 2, dataset.days() / 2);
    let path = question.path(&room.to_string(), &SeriesDataset::date(day));
    crate::ask::look(address, ("GET", &path, None), question.label(), |json| {
        let expected = expected(question, dataset, room, day);
        let found = match question {
            ReadQuestion::DailyAll => values_of(json, room),
            _ => json["values"].as_array().cloned(),
        };
        let Some(found) = found else { return Some("it has no values".to_owned()) };
        let is_same = |(found, expected): (&Value, &f64)| {
            found.as_f64().is_some_and(|found| (found - expected).abs() < TOLERANCE)
        };
        let fits = found.len() == expected.len() && found.iter().zip(&expected).all(is_same);
        (!fits).then(|| {
            format!("it has {} values that are not the {} that were written", found.len(), expected.len())
        })
    })
}

fn values_of(json: &Value, room: u32) -> Option<Vec<Value>> {
    let id = format!("Room:{room}");
    let of = json["entities"].as_array()?.iter().find(|entity| entity["id"] == *id)?;
    of["values"].as_array().cloned()
}

/// What the response must have, by the rows.
fn expected(question: ReadQuestion, dataset: SeriesDataset, room: u32, day: u32) -> Vec<f64> {
    let minutes = dataset.minutes();
    let values = |from: u32, to: u32| {
        (from..to).map(|minute| SeriesDataset::temperature(room, minute) as f64 / 100.0).collect()
    };
    let means = |period: u32| {
        let of = |from: u32| SeriesDataset::mean(room, from, minutes.min(from + period));
        (0..minutes).step_by(period as usize).map(of).collect()
    };
    match question {
        ReadQuestion::LastTen => values(minutes.saturating_sub(10), minutes),
        ReadQuestion::Day => values(day * MINUTES_A_DAY, minutes.min((day + 1) * MINUTES_A_DAY)),
        ReadQuestion::Hourly => means(MINUTES_AN_HOUR),
        ReadQuestion::DailyAll => means(MINUTES_A_DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_covers_the_table() {
        let dataset = SeriesDataset::new(20_000);
        let of = |question, day| expected(question, dataset, 5, day).len();
        assert_eq!((dataset.minutes(), dataset.days()), (2_000, 2));
        assert_eq!(of(ReadQuestion::LastTen, 0), 10);
        assert_eq!((of(ReadQuestion::Day, 0), of(ReadQuestion::Day, 1)), (1_440, 560));
        assert_eq!((of(ReadQuestion::Hourly, 0), of(ReadQuestion::DailyAll, 0)), (34, 2));
    }
}
