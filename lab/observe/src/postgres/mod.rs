//! Watches one PostgreSQL database through its statistics views: transactions, rows, blocks, connections by state,
//! statements by kind. Connects again after a loss. What is asked stands in `reading`, how in `session`.

mod reading;
mod session;

use crate::book::Notes;
use crate::clock::RunClock;
use crate::counters::{Added, Counters};
use crate::error::Problem;
use crate::observer::Observer;
use prony_model::Nanos;
use prony_model::measurement::observation::ObservedUnit::{Count, Share};
use reading::{DatabaseReading, unit_of_rate};
use session::Session;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Config;

const HOW_TO_GET_STATEMENTS: &str = "set shared_preload_libraries = 'pg_stat_statements', \
     start the server anew, and CREATE EXTENSION pg_stat_statements in this database";

#[derive(Debug)]
pub(crate) struct PostgresObserver {
    name: String,
    config: Config,
    /// Of this observer alone: it runs while a look is taken.
    runtime: Runtime,
    session: Option<Session>,
    /// Since when it does not answer.
    lost_at: Option<Nanos>,
    counters: Counters,
    /// Of the last look.
    reset: Option<String>,
    totals: DatabaseTotals,
}

/// Over the whole run, as far as it was watched.
#[derive(Debug, Default)]
struct DatabaseTotals {
    deadlocks: f64,
    blocks_hit: f64,
    blocks_read: f64,
}

impl PostgresObserver {
    /// Call it outside of other runtimes: it waits for the server's first answer.
    pub(crate) fn of(url: &str) -> Result<Self, Problem> {
        let config = session::read_url(url).map_err(Problem::NoDatabase)?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime
            .map_err(|cause| Problem::NoDatabase(format!("what is needed to ask is not there: {cause}")))?;
        let session = runtime.block_on(session::connect(&config)).map_err(Problem::NoDatabase)?;
        let name = format!("PostgreSQL {} on {}", session.database, session::address(&config));
        Ok(Self {
            name,
            config,
            runtime,
            session: Some(session),
            lost_at: None,
            counters: Counters::default(),
            reset: None,
            totals: DatabaseTotals::default(),
        })
    }

    fn note(&mut self, reading: DatabaseReading, at: Nanos, notes: &mut Notes) {
        if self.reset.replace(reading.reset.clone()).is_some_and(|before| before != reading.reset) {
            self.counters = Counters::default();
            notes.fault(&self.name, at, "the server's statistics were reset; the rates begin anew");
        }
        if let Some(cause) = self.session.as_ref().and_then(|session| session.without_statements.as_ref()) {
            let text = format!(
                "statements by kind are not there, pg_stat_statements cannot be read: {cause}; {HOW_TO_GET_STATEMENTS}"
            );
            notes.fault(&self.name, at, text);
        }
        if reading.is_partly_hidden {
            let text = "the server hides other roles' statements and states from this one; \
                        GRANT pg_read_all_stats TO it";
            notes.fault(&self.name, at, text);
        }
        let Some(added) = self.counters.look(at, reading.counts.clone()) else { return };
        for (series, value) in reading.connections {
            notes.sample(&self.name, series, Count, at, value);
        }
        for series in reading.counts.into_keys() {
            if let Some(rate) = added.rate(&series) {
                let unit = unit_of_rate(&series);
                notes.sample(&self.name, series, unit, at, rate);
            }
        }
        self.totals.add(&added);
        self.totals.note(&self.name, notes);
    }
}

impl Observer for PostgresObserver {
    fn look(&mut self, clock: &RunClock, notes: &mut Notes) {
        let outcome = self.runtime.block_on(session::look(&self.config, &mut self.session));
        // After the answer: what it holds was counted until shortly before.
        let at = clock.now();
        match outcome {
            Ok(rows) => {
                if let Some(lost_at) = self.lost_at.take() {
                    let seconds = at.since(lost_at).as_secs_f64();
                    notes.fault(
                        &self.name,
                        at,
                        format!("it answers again, {seconds:.1} s after it was lost"),
                    );
                }
                self.note(DatabaseReading::of(rows), at, notes);
            }
            Err(cause) => {
                // What a server counted before it was lost does not go on from there.
                self.counters = Counters::default();
                self.reset = None;
                self.lost_at.get_or_insert(at);
                notes.fault(&self.name, at, cause);
            }
        }
    }
}

impl DatabaseTotals {
    fn add(&mut self, added: &Added) {
        let count = |name| added.count(name).unwrap_or_default();
        self.deadlocks += count("deadlocks a second");
        self.blocks_hit += count("blocks hit a second");
        self.blocks_read += count("blocks read a second");
    }

    fn note(&self, of: &str, notes: &mut Notes) {
        notes.figure(of, "deadlocks", Count, self.deadlocks);
        let blocks = self.blocks_hit + self.blocks_read;
        if blocks > 0.0 {
            notes.figure(of, "blocks found in the server's memory", Share, self.blocks_hit / blocks);
        }
    }
}
