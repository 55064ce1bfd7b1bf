//! What the study asks, and what is asked beyond it: forms of notifications, queries, and how long each takes.

use std::{fmt, str::FromStr};

use prony_model::data::variable::{Order, Variable};
use prony_model::load::Pacing;
use prony_model::plan::request::BodyDraft;
use prony_model::plan::scenario::{FlowDraft, ScenarioDraft};
use prony_model::{LoadModel, Nanos, Plan, PlanDraft, RequestDraft, Target};
use serde::Serialize;

use super::dataset::SeriesDataset;
use crate::choice::{ChoiceError, choose};

/// Of the study.
pub(super) const USERS: u32 = 30;
/// The study's script begins 100 requests of each user in 30 seconds, however fast they are responded to.
pub(super) const INTERVAL: Nanos = Nanos::from_millis(300);
/// Who notify of many entities at a time.
pub(super) const BATCH_USERS: u32 = 8;
/// In each of those notifications.
pub(super) const BATCH_ENTITIES: u32 = 1_000;
/// Who ask at a time, besides one alone.
pub(super) const READERS: u32 = 8;
/// Notifications a second, of one entity each, while a user asks.
pub(super) const WRITES_BESIDE_READS: u32 = 500;
/// Different temperatures that are notified.
const TEMPERATURES: u32 = 500;

/// The option `metadata_cache` of series in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetadataCache {
    None,
    Memory,
    Redis,
}

impl MetadataCache {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Memory => "memory",
            Self::Redis => "redis",
        }
    }
}

/// How it is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteForm {
    /// 30 users at the study's pace, one entity.
    Published,
    /// 30 users who notify again as soon as they have their response, one entity.
    Saturated,
    /// 1,000 entities a notification.
    Batches,
}

impl WriteForm {
    pub const ALL: [Self; 3] = [Self::Published, Self::Saturated, Self::Batches];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Saturated => "saturated",
            Self::Batches => "batches",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Published => "the study's script",
            Self::Saturated => "the same without its pace",
            Self::Batches => "1 000 entities a notification",
        }
    }

    pub(super) const fn users(self) -> u32 {
        match self {
            Self::Published | Self::Saturated => USERS,
            Self::Batches => BATCH_USERS,
        }
    }

    /// Rows of each notification.
    pub(super) const fn entities(self) -> u32 {
        match self {
            Self::Published | Self::Saturated => 1,
            Self::Batches => BATCH_ENTITIES,
        }
    }

    /// Of the entities that are notified.
    pub(super) const fn type_name(self) -> &'static str {
        match self {
            Self::Published | Self::Saturated => "Room",
            Self::Batches => "Hall",
        }
    }
}

/// A query of the large table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadQuestion {
    LastTen,
    Day,
    Hourly,
    DailyAll,
}

impl ReadQuestion {
    pub const ALL: [Self; 4] = [Self::LastTen, Self::Day, Self::Hourly, Self::DailyAll];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::LastTen => "last-ten",
            Self::Day => "day",
            Self::Hourly => "hourly",
            Self::DailyAll => "daily-all",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::LastTen => "last 10 of one entity",
            Self::Day => "a day of one attribute",
            Self::Hourly => "hourly averages of one entity",
            Self::DailyAll => "daily averages of all entities",
        }
    }

    /// The path with its query; `room` and `day` are numbers, or slots for them.
    pub(super) fn path(self, room: &str, day: &str) -> String {
        let one = format!("/v2/entities/Room:{room}/attrs/temperature");
        match self {
            Self::LastTen => format!("{one}?lastN=10"),
            Self::Day => format!("{one}?fromDate={day}T00:00:00Z&toDate={day}T23:59:59.999Z"),
            Self::Hourly => format!("{one}?aggrMethod=avg&aggrPeriod=hour"),
            Self::DailyAll => {
                "/v2/types/Room/attrs/temperature?aggrMethod=avg&aggrPeriod=day&limit=1000000".to_owned()
            }
        }
    }
}

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesPart {
    /// Notifications, in the study's form and faster.
    Writes,
    /// Queries of the large table.
    Reads,
}

impl SeriesPart {
    pub const ALL: [Self; 2] = [Self::Writes, Self::Reads];

    /// As the command line has it.
    const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
        }
    }
}

impl FromStr for SeriesPart {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        choose(text, "part of the experiment", &Self::ALL, Self::name)
    }
}

impl fmt::Display for SeriesPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much is written and how long things take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesPace {
    pub name: &'static str,
    /// Of the study's script.
    #[serde(rename = "published_ns")]
    pub published: Nanos,
    /// Of each other form of notifications.
    #[serde(rename = "write_ns")]
    pub write: Nanos,
    /// Of the large table.
    pub rows: u32,
    /// Of each query with each number of users.
    #[serde(rename = "read_ns")]
    pub read: Nanos,
}

impl SeriesPace {
    /// The default set in under four minutes.
    pub const QUICK: Self = Self {
        name: "quick",
        published: Nanos::from_secs(8),
        write: Nanos::from_secs(4),
        rows: 500_000,
        read: Nanos::from_secs(2),
    };

    /// The study's duration, and ten million rows.
    pub const FULL: Self = Self {
        name: "full",
        published: Nanos::from_secs(60),
        write: Nanos::from_secs(60),
        rows: 10_000_000,
        read: Nanos::from_secs(30),
    };

    pub fn write_time(&self, form: WriteForm) -> Nanos {
        if form == WriteForm::Published { self.published } else { self.write }
    }
}

/// What plans are made of.
#[derive(Debug, Clone)]
pub(super) struct SeriesRequests {
    pub target: Target,
    pub seed: u64,
}

impl SeriesRequests {
    pub(super) fn writes(&self, form: WriteForm, time: Nanos) -> Plan {
        let mut draft =
            PlanDraft::new(form.name(), self.target.clone(), LoadModel::constant(form.users(), time));
        if form == WriteForm::Published {
            draft.scenarios[0].pacing = Pacing::Fixed { interval_ns: INTERVAL };
        }
        draft.seed = self.seed;
        draft.variables = values();
        draft.requests = vec![notification(form.type_name(), form.entities())];
        draft.check().expect("the study's plans make sense")
    }

    /// So many users who ask again as soon as they have their response; beside them, where it is asked for, notifications at a constant
    /// rate.
    pub(super) fn reads(
        &self,
        question: ReadQuestion,
        dataset: SeriesDataset,
        users: u32,
        beside_writes: bool,
        time: Nanos,
    ) -> Plan {
        let mut draft =
            PlanDraft::new(question.name(), self.target.clone(), LoadModel::constant(users, time));
        draft.seed = self.seed;
        let days: Vec<serde_json::Value> =
            (0..dataset.days()).map(|day| SeriesDataset::date(day).into()).collect();
        draft.variables = values();
        draft.variables.push(Variable::range("room", 0, i64::from(dataset.entities()) - 1));
        draft.variables.push(Variable::list("day", &days, Order::Random));
        draft.requests = vec![RequestDraft::get(question.name(), &question.path("${room}", "${day}"))];
        draft.scenarios[0].flow = FlowDraft::Mix(vec![(question.name().to_owned(), 1)]);
        if beside_writes {
            // Of another type: what is asked stays what it was.
            let write = notification("Hall", 1);
            let rate = LoadModel::open(WRITES_BESIDE_READS.into(), time, USERS);
            let flow = FlowDraft::Mix(vec![(write.name.clone(), 1)]);
            draft.requests.push(write);
            draft.scenarios.push(ScenarioDraft { flow, ..ScenarioDraft::new("writes", rate) });
        }
        draft.check().expect("the study's plans make sense")
    }
}

/// A number and a whole number, as the study's.
fn values() -> Vec<Variable> {
    let temperatures: Vec<serde_json::Value> =
        (0..TEMPERATURES).map(|place| (f64::from(1_800 + place) / 100.0).into()).collect();
    vec![Variable::list("temperature", &temperatures, Order::Random), Variable::range("pressure", 700, 750)]
}

fn notification(type_name: &str, entities: u32) -> RequestDraft {
    let entity = |number| {
        format!(
            r#"{{"id":"{type_name}:{number}","type":"{type_name}","temperature":{{"type":"Number","value":${{temperature}},"metadata":{{}}}},"pressure":{{"type":"Integer","value":${{pressure}},"metadata":{{}}}}}}"#
        )
    };
    let entities: Vec<String> = (1..=entities).map(entity).collect();
    let body = format!(r#"{{"subscriptionId":"5947d174793fe6f7eb5e3961","data":[{}]}}"#, entities.join(","));
    RequestDraft {
        method: "POST".to_owned(),
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body: BodyDraft::Text(body),
        ..RequestDraft::get("notify", "/v2/notify")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> SeriesRequests {
        SeriesRequests { target: Target::new("127.0.0.1", 1), seed: 7 }
    }

    #[test]
    fn every_plan_makes_sense() {
        let dataset = SeriesDataset::new(20_000);
        for form in WriteForm::ALL {
            let plan = requests().writes(form, Nanos::from_secs(1));
            assert_eq!((plan.users(), plan.duration()), (form.users(), Nanos::from_secs(1)));
        }
        for question in ReadQuestion::ALL {
            for beside_writes in [false, true] {
                let plan = requests().reads(question, dataset, 3, beside_writes, Nanos::from_secs(1));
                assert_eq!(plan.users(), if beside_writes { 3 + USERS } else { 3 });
            }
        }
    }

    #[test]
    fn the_script_s_users_ask_for_a_hundred_requests_a_second_at_most() {
        let plan = requests().writes(WriteForm::Published, Nanos::from_secs(60));
        assert!((plan.rate_cap().unwrap() - 100.0).abs() < 1e-9);
        assert_eq!(requests().writes(WriteForm::Saturated, Nanos::from_secs(60)).rate_cap(), None);
    }

    #[test]
    fn parts_print_what_they_read() {
        for part in SeriesPart::ALL {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
    }
}
