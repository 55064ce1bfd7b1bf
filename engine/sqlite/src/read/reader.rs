//! One core's way to the database. Short statements run right here, on the core's own thread: handing them to
//! another would cost more than they do. What takes longer than its budget starts again on a blocking thread.

use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

use prony_graphql::{error::GraphqlError, variables::Variables};

use crate::{
    read::{
        pool::Pool,
        session::{Session, Unfinished},
        slot::Slot,
        watch::INLINE_BUDGET,
    },
    statement::{
        bind::Values,
        program::{ProgramStatements, SYSTEM},
    },
};
use prony_source::trace::{SpanKind, record_span};
use prony_sql::{
    model::Model,
    settings::RelationalSettings,
    spans::{POOL_WAIT, RETURNED_ROWS, begin_statements},
};

/// One core's reader; it stays on its thread.
#[derive(Debug)]
pub(crate) struct Reader {
    slot: RefCell<Slot>,
    pool: Arc<Pool>,
    pub(crate) settings: Arc<RelationalSettings>,
}

impl Reader {
    pub(crate) fn new(slot: Slot, pool: Arc<Pool>, settings: Arc<RelationalSettings>) -> Self {
        Self { slot: RefCell::new(slot), pool, settings }
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
        let Some(mut span) = begin_statements(SYSTEM, || statements.texts.iter().map(|text| &*text.sql))
        else {
            return self.run_here_or_there(program, model, variables, work).await.map(|(done, _)| done);
        };
        let id = statements.id;
        let counting = move |session: &mut Session, program: &P, values: Values<'_>| {
            // Of runs of others.
            session.take_rows(id);
            let done = work(session, program, values)?;
            Ok((done, session.take_rows(id)))
        };
        let begun = Instant::now();
        let done = self.run_here_or_there(program, model, variables, counting).await;
        let done = done.map(|((done, rows), elsewhere)| {
            span.set(RETURNED_ROWS, rows);
            if let Some(started) = elsewhere {
                let _entered = span.enter();
                record_span(POOL_WAIT, SpanKind::Internal, (begun, started), |_| {});
            }
            done
        });
        if let Err(error) = &done {
            span.fail(error.code.as_str());
        }
        span.end();
        done
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
        if !P::as_ref(program).is_slow.load(Relaxed) {
            match self
                .inline(|session, settings| work(session, program, Values { model, variables, settings }))
            {
                Err(Unfinished::Later) => P::as_ref(program).is_slow.store(true, Relaxed),
                Err(Unfinished::Failed(error)) => return Err(error),
                Ok(done) => return Ok((done, None)),
            }
        }
        let (program, model, variables) = (Arc::clone(program), Arc::clone(model), variables.clone());
        let later = move |session: &mut Session, settings: &RelationalSettings| {
            let started = Instant::now();
            let values = Values { model: &model, variables: &variables, settings };
            let done = work(session, &program, values);
            if started.elapsed() < INLINE_BUDGET / 2 {
                P::as_ref(&program).is_slow.store(false, Relaxed);
            }
            done.map(|done| (done, Some(started)))
        };
        self.pool.run(later).await
    }

    fn inline<T>(
        &self,
        work: impl FnOnce(&mut Session, &RelationalSettings) -> Result<T, Unfinished>,
    ) -> Result<T, Unfinished> {
        let mut slot = self.slot.borrow_mut();
        let session = slot.session()?;
        session.watch().start_inline();
        work(session, &self.settings)
    }
}
