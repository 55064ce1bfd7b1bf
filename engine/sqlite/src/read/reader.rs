//! One core's way to the database. Short statements run right here, on the core's own thread: handing them to
//! another would cost more than they do. What takes longer than its budget starts again on a blocking thread.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use futures_util::future::{FutureExt, LocalBoxFuture};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};

use crate::{
    read::{
        pool::{Done, Pool, Work},
        session::Unfinished,
        slot::Slot,
    },
    statement::{
        bind::{self, Values},
        prepare::{Prepared, Program, Shared},
        program::RowsProgram,
    },
};
use prony_sql::{
    nest::{self, Fetch, Gatherer, Key, LevelRows, Limits, MergeKey},
    settings::RelationalSettings,
};

/// One core's reader; it stays on its thread.
#[derive(Debug)]
pub struct Reader {
    core: Rc<Core>,
    gatherer: Rc<Gatherer>,
}

#[derive(Debug)]
struct Core {
    slot: RefCell<Slot>,
    pool: Arc<Pool>,
    settings: Arc<RelationalSettings>,
}

impl Reader {
    pub(crate) fn new(slot: Slot, pool: Arc<Pool>, settings: Arc<RelationalSettings>) -> Self {
        let core = Rc::new(Core { slot: RefCell::new(slot), pool, settings });
        Self { core, gatherer: Rc::default() }
    }

    /// Answers a list or an aggregate. Dropping the future interrupts the work.
    pub async fn query(&self, prepared: &Prepared, variables: &Variables) -> FieldResult {
        let shared = &prepared.0;
        let mut result = match &shared.program {
            Program::Rows(program) => self.core.rows(shared, program, variables).await,
            Program::Levels { program, gathers } => {
                let fetch = LevelFetch { core: Rc::clone(&self.core), prepared: Arc::clone(shared) };
                let gatherer = gathers.then(|| Rc::clone(&self.gatherer));
                let limits = Limits { max_response_bytes: self.core.settings.common.max_response_bytes };
                let plan = Arc::clone(&program.plan);
                nest::resolve(&fetch, plan, Rc::new(variables.clone()), gatherer, limits).await
            }
            Program::Mutation(_) => FieldResult::failed(GraphqlError::new(
                ErrorCode::SourceFailed,
                "a mutation must go through the writer",
            )),
        };
        for error in &mut result.errors {
            if error.path.is_empty() {
                *error = shared.fail(error.clone());
            }
        }
        result
    }
}

impl Core {
    async fn rows(
        &self,
        prepared: &Arc<Shared>,
        program: &RowsProgram,
        variables: &Variables,
    ) -> FieldResult {
        if !prepared.is_slow.load(Relaxed) {
            match self.rows_inline(prepared, program, variables) {
                Ok(result) => return result,
                Err(Unfinished::Failed(error)) => return FieldResult::failed(error),
                Err(Unfinished::Later) => prepared.is_slow.store(true, Relaxed),
            }
        }
        match self.pool.run(Work::Rows, Some(Arc::clone(prepared)), variables.clone()).await {
            Ok(Done::Rows(result)) => result,
            Ok(_) => FieldResult::failed(confused()),
            Err(error) => FieldResult::failed(error),
        }
    }

    fn rows_inline(
        &self,
        prepared: &Shared,
        program: &RowsProgram,
        variables: &Variables,
    ) -> Result<FieldResult, Unfinished> {
        let mut slot = self.slot.borrow_mut();
        let session = slot.session()?;
        session.watch().start_inline();
        let values = Values { model: &prepared.model, variables, settings: &self.settings };
        session.rows(prepared.first_id, program, &prepared.response_key, values)
    }

    fn level_inline(
        &self,
        prepared: &Shared,
        level: usize,
        keys: &[Key],
        variables: &Variables,
    ) -> Result<LevelRows, Unfinished> {
        let Program::Levels { program, .. } = &prepared.program else {
            return Err(Unfinished::Failed(confused()));
        };
        let mut slot = self.slot.borrow_mut();
        let session = slot.session()?;
        session.watch().start_inline();
        let values = Values { model: &prepared.model, variables, settings: &self.settings };
        session.level(prepared.level_id(level), &program.levels[level], keys, values)
    }

    async fn level(
        &self,
        prepared: &Arc<Shared>,
        level: usize,
        keys: &[Key],
        variables: &Variables,
    ) -> Result<LevelRows, GraphqlError> {
        if !prepared.is_slow.load(Relaxed) {
            match self.level_inline(prepared, level, keys, variables) {
                Ok(rows) => return Ok(rows),
                Err(Unfinished::Failed(error)) => return Err(error),
                Err(Unfinished::Later) => prepared.is_slow.store(true, Relaxed),
            }
        }
        let work = Work::Level { level, keys: keys.to_vec() };
        match self.pool.run(work, Some(Arc::clone(prepared)), variables.clone()).await? {
            Done::Level(rows) => Ok(rows),
            Done::Rows(_) | Done::Healthy => Err(confused()),
        }
    }
}

fn confused() -> GraphqlError {
    GraphqlError::new(ErrorCode::SourceFailed, "the answer does not fit the prepared field")
}

/// Fetches the levels of one prepared field on one core.
#[derive(Clone)]
struct LevelFetch {
    core: Rc<Core>,
    prepared: Arc<Shared>,
}

impl Fetch for LevelFetch {
    fn fetch(
        &self,
        level: usize,
        keys: Rc<[Key]>,
        variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>> {
        let this = self.clone();
        async move { this.core.level(&this.prepared, level, &keys, &variables).await.map(Rc::new) }
            .boxed_local()
    }

    fn merge_key(&self, level: usize, variables: &Variables) -> Result<MergeKey, GraphqlError> {
        let Program::Levels { program, .. } = &self.prepared.program else { return Err(confused()) };
        let program = &program.levels[level];
        let values = Values { model: &self.prepared.model, variables, settings: &self.core.settings };
        let mut key = bind::fingerprint(&program.statement, values)?;
        key.push_str(&program.fingerprint);
        Ok(MergeKey(key.into_bytes().into()))
    }
}
