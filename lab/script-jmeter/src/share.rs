//! A plan whose users run on several machines: what another machine needs of it, whose turn it is at what users share, and what comes
//! back of each share.

use crate::run::shared::Logged;
use crate::run::sink::{OutputRows, Sink, SinkLayout};
use crate::session::{JmeterPlan, Session};
use prony_jtl::Statistics;
use prony_model::program::RunShare;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Files that each user has of its own are looked for of so many.
const FILES_OF_USERS_MAX: u32 = 10_000;

/// What the machines of a share are told of the life that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLife {
    /// As setUp groups have left them.
    properties: BTreeMap<String, String>,
    layout: SinkLayout,
}

/// What a share has measured since it was last asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    statistics: Statistics,
    rows: Vec<OutputRows>,
    log: Vec<String>,
    /// Lines that came too fast, and were not kept.
    #[serde(default)]
    log_lost: u64,
    /// The plan has ended the test.
    is_ended: bool,
}

impl JmeterPlan {
    /// The files that it is made of or may read, by the names that it has for them. Names that are found out while it runs are not
    /// known.
    pub fn files(&self) -> BTreeMap<String, PathBuf> {
        let shared = self.shared(self.properties().iter().cloned().collect(), RunShare::WHOLE);
        let mut files = self.included.clone();
        self.evaluate(&shared, |context| {
            for text in &self.file_names {
                for (group, schedule) in self.groups.iter().zip(&self.schedules) {
                    context.thread.group = Arc::clone(&group.name);
                    let users = schedule.load.users_max().clamp(1, FILES_OF_USERS_MAX);
                    let users = if text.as_literal().is_some() { 1 } else { users };
                    for number in 1..=users {
                        context.thread.number = number;
                        let name = text.value(context).trim().to_owned();
                        let path = shared.files.path(&name);
                        if !files.contains_key(&name) && path.is_file() {
                            files.insert(name, path);
                        }
                    }
                }
            }
        });
        files
    }

    /// The part of a life whose users run here; what is measured of it is another machine's to keep.
    pub fn share(self: &Arc<Self>, share: RunShare, life: &SharedLife) -> Session {
        let shared = self.shared(life.properties.clone(), share);
        self.session_with(shared, Sink::elsewhere(&life.layout), share)
    }
}

impl Session {
    pub fn shared_life(&self) -> SharedLife {
        SharedLife { properties: self.shared.properties.sorted(), layout: self.sink.layout() }
    }

    /// Takes what was measured since this was last asked for, for [`Self::add`] of another machine.
    pub fn take_counted(&self) -> Counted {
        let Logged { lines, lost } = self.shared.take_log();
        Counted {
            statistics: self.sink.take_statistics(),
            rows: self.sink.take_rows(),
            log: lines,
            log_lost: lost,
            is_ended: self.is_ended(),
        }
    }

    /// Adds what another machine has measured of its share.
    pub fn add(&self, counted: &Counted) -> Result<(), String> {
        self.sink.add(&counted.statistics, &counted.rows)?;
        counted.log.iter().for_each(|line| self.shared.log(line));
        self.shared.add_lost_lines(counted.log_lost);
        if counted.is_ended {
            self.is_ended.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// True once the plan has ended its test, in its setUp or its main groups.
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }
}
