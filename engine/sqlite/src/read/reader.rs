//! One core's way to the database. Short statements run right here, on the core's own thread: handing them to
//! another would cost more than they do. What takes longer than its budget starts again on a blocking thread.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prony_graphql::{error::GraphqlError, variables::Variables};

use crate::{
    read::{
        pool::Pool,
        session::{Session, Unfinished},
        slot::Slot,
        turn::Turn,
    },
    statement::{
        bind::Values,
        program::{ProgramStatements, SYSTEM},
    },
};
use prony_source::{
    slow_statements::{SlowStatement, begin_plan, report_plan, threshold},
    trace::{OpenSpan, SpanKind, record_span},
};
use prony_sql::{
    model::Model,
    settings::RelationalSettings,
    spans::{POOL_WAIT, RETURNED_ROWS, begin_statements},
};

/// One core's reader; it stays on its thread.
#[derive(Debug)]
pub(crate) struct Reader {
    slot: RefCell<Slot>,
    turn: Turn,
    pool: Arc<Pool>,
    /// Where the file is, for the log.
    database: Box<str>,
    pub(crate) settings: Arc<RelationalSettings>,
}

/// The last run of a program on any thread.
#[derive(Debug, Default)]
struct LastRun {
    rows: AtomicU64,
    took_ns: AtomicU64,
}

impl LastRun {
    fn set(&self, rows: u64, took: Duration) {
        self.rows.store(rows, Relaxed);
        self.took_ns.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Read by whoever was sent its outcome.
    fn get(&self) -> (u64, Duration) {
        (self.rows.load(Relaxed), Duration::from_nanos(self.took_ns.load(Relaxed)))
    }
}

/// Ends the span of statements; where they ran on another thread, with how long they waited for it.
fn end_span(mut span: OpenSpan, rows: u64, told: Result<Option<(Instant, Instant)>, &GraphqlError>) {
    match told {
        Ok(waited) => {
            span.set(RETURNED_ROWS, rows);
            if let Some(times) = waited {
                let _entered = span.enter();
                record_span(POOL_WAIT, SpanKind::Internal, times, |_| {});
            }
        }
        Err(error) => span.fail(error.code.as_str()),
    }
    span.end();
}

impl Reader {
    pub(crate) fn new(
        slot: Slot,
        pool: Arc<Pool>,
        database: Box<str>,
        settings: Arc<RelationalSettings>,
    ) -> Self {
        Self { slot: RefCell::new(slot), turn: Turn::default(), pool, database, settings }
    }

    /// Runs a program. Dropping the future interrupts the work.
    pub(crate) async fn run<P, T>(
        &self,
        program: &Arc<P>,
        model: &Arc<Model>,
        variables: &Variables,
        work: impl Fn(&mut Session, &P, Values<'_>) -> Result<T, Unfinished> + Send + 'static,
    ) -> Result<T, GraphqlError>
    where
        P: AsRef<ProgramStatements> + Send + Sync + 'static,
        T: Send + 'static,
    {
        let statements = P::as_ref(program);
        let span = begin_statements(SYSTEM, || statements.texts.iter().map(|text| &*text.sql));
        let slow_after = threshold(self.settings.slow_statement_ms);
        if span.is_none() && slow_after == Duration::MAX {
            return self.run_here_or_there(program, model, variables, work).await.map(|(done, _)| done);
        }
        let (id, last) = (statements.id, Arc::<LastRun>::default());
        let noted = Arc::clone(&last);
        let counting = move |session: &mut Session, program: &P, values: Values<'_>| {
            // Of runs of others.
            session.take_rows(id);
            let begun = Instant::now();
            let done = work(session, program, values);
            noted.set(session.take_rows(id), begun.elapsed());
            done
        };
        let begun = Instant::now();
        let done = self.run_here_or_there(program, model, variables, counting).await;
        let (rows, took) = last.get();
        if let Some(span) = span {
            let told = done.as_ref().map(|(_, elsewhere)| elsewhere.map(|started| (begun, started)));
            end_span(span, rows, told);
        }
        if took >= slow_after {
            self.report_slow(statements, model, variables, (rows, took));
        }
        done.map(|(done, _)| done)
    }

    fn report_slow(
        &self,
        statements: &ProgramStatements,
        model: &Model,
        variables: &Variables,
        (rows, took): (u64, Duration),
    ) {
        let statement = statements.joined();
        let values = statements.value_shapes(model, variables);
        SlowStatement { database: &self.database, statement: &statement, rows: Some(rows), took }
            .report(&values);
        if self.settings.slow_statement_plan && begin_plan() {
            self.report_plan(statements);
        }
    }

    /// Here, since nothing is run for it.
    fn report_plan(&self, statements: &ProgramStatements) {
        let mut lines = Vec::new();
        for text in &statements.texts {
            let explain = format!("EXPLAIN QUERY PLAN {}", text.sql);
            let plan = self.inline(|session, settings| session.plan(&explain, settings));
            let (Ok(plan), _) = plan else { return };
            lines.extend(plan.lines);
        }
        report_plan(&self.database, &lines);
    }

    /// As [`Self::run`]; with when it has begun, where that was on another thread.
    async fn run_here_or_there<P, T>(
        &self,
        program: &Arc<P>,
        model: &Arc<Model>,
        variables: &Variables,
        work: impl Fn(&mut Session, &P, Values<'_>) -> Result<T, Unfinished> + Send + 'static,
    ) -> Result<(T, Option<Instant>), GraphqlError>
    where
        P: AsRef<ProgramStatements> + Send + Sync + 'static,
        T: Send + 'static,
    {
        let pace = &P::as_ref(program).pace;
        if !pace.is_slow() {
            self.turn.take().await;
            let run = |session: &mut Session, settings: &RelationalSettings| {
                work(session, program, Values { model, variables, settings })
            };
            // What SQLite does in one instruction, such as making a long pattern, comes to its end whatever it takes.
            match pace.on_core(|| self.inline(run)) {
                Err(Unfinished::Later) => pace.stopped(),
                Err(Unfinished::Failed(error)) => return Err(error),
                Ok(done) => return Ok((done, None)),
            }
        }
        let (program, model, variables) = (Arc::clone(program), Arc::clone(model), variables.clone());
        let later = move |session: &mut Session, settings: &RelationalSettings| {
            let started = Instant::now();
            let values = Values { model: &model, variables: &variables, settings };
            let done = P::as_ref(&program).pace.on_thread(|| work(session, &program, values));
            done.map(|done| (done, Some(started)))
        };
        self.pool.run(later).await
    }

    /// Does work here; with how long that took.
    fn inline<T>(
        &self,
        work: impl FnOnce(&mut Session, &RelationalSettings) -> Result<T, Unfinished>,
    ) -> (Result<T, Unfinished>, Duration) {
        let mut slot = self.slot.borrow_mut();
        let session = match slot.session() {
            Ok(session) => session,
            Err(unfinished) => return (Err(unfinished), Duration::ZERO),
        };
        session.watch().start_inline();
        self.turn.spend(|| work(session, &self.settings))
    }
}
