//! One core's part of a database: it runs prepared root fields on the core's connections.

use std::{fmt, rc::Rc, sync::Arc};

use futures_util::{FutureExt, future::LocalBoxFuture};
use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};
use tokio::{sync::mpsc, task::spawn_local};

use crate::{
    connect::{
        config::{PlanMode, Target},
        link::{Answer, Chore, Executed, Progress},
        pool::{Capacity, Permit, Pool},
    },
    error::{Failure, FailureKind},
    run::{
        rows::JsonRows,
        running::{Running, WhenDropped},
    },
    statement::{
        bound::Bound,
        levels::{LevelAnswer, bind_keys},
        mutation::{self, Step, StepFailure},
        prepared::{Levels, Prepared, Read, Work},
        returning::TransactionCapture,
        text::Statement,
    },
};
use prony_sql::{
    changes::order::Order,
    nest::{self, Fetch, Gatherer, Key, LevelRows, Limits, MergeKey},
    settings::{RelationalSettings, ResolverModel},
};

/// Statements that one connection has under way at once: enough to keep a backend busy while answers travel,
/// few enough that a slow statement holds up little behind it.
const PIPELINE_DEPTH: u32 = 16;
/// Bytes that an answer's buffer begins with.
const FIRST_BYTES: usize = 4096;
/// Executions of one read at most when cancel requests for others hit it; each needs a client that left at the
/// wrong moment.
const MAX_BYSTANDER_EXECUTIONS: u32 = 16;

/// Connections of one core. Dropping it closes them.
pub struct Session {
    core: Rc<Core>,
}

struct Core {
    settings: Arc<RelationalSettings>,
    order: Arc<Order>,
    statement_timeout_ms: u32,
    /// Plans are held.
    readers: Rc<Pool>,
    /// Plans are made for each execution; opened when a statement first needs it.
    planners: Rc<Pool>,
    /// One transaction at a time each; opened when needed.
    writers: Rc<Pool>,
    gatherer: Option<Rc<Gatherer>>,
    chores: mpsc::UnboundedSender<Chore>,
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("health", &self.health()).finish()
    }
}

impl Session {
    /// Must be called inside the core's `LocalSet`.
    pub(crate) fn new(target: &Arc<Target>, settings: &Arc<RelationalSettings>, order: &Arc<Order>) -> Self {
        let (chores, todo) = mpsc::unbounded_channel();
        spawn_local(do_chores(todo));
        let connections = usize::from(settings.connections_per_core.max(1));
        let preferred = if target.shares_processors { 1 } else { connections };
        let pool = |mode, pipeline_depth, opened_first| {
            let capacity = Capacity { connections, preferred, pipeline_depth, opened_first };
            Pool::new(Arc::clone(target), mode, capacity, chores.clone())
        };
        let core = Core {
            readers: pool(PlanMode::Generic, PIPELINE_DEPTH, connections),
            planners: pool(PlanMode::Custom, PIPELINE_DEPTH, 0),
            writers: pool(PlanMode::Generic, 1, 0),
            gatherer: (settings.resolver == ResolverModel::Bucket).then(Rc::default),
            settings: Arc::clone(settings),
            order: Arc::clone(order),
            statement_timeout_ms: target.statement_timeout_ms,
            chores,
        };
        Self { core: Rc::new(core) }
    }

    /// Whether the core has an open connection; the reason where it has none.
    pub fn health(&self) -> Result<(), String> {
        self.core.readers.health()
    }

    /// Answers a list or aggregate. Dropping the future cancels the statement at the database.
    pub async fn query(&self, prepared: &Prepared, variables: &Variables) -> FieldResult {
        let answer = match &prepared.work {
            Work::Read(read) => self.core.read(prepared, read, variables).await,
            Work::Levels(levels) => return self.core.levels(prepared, levels, variables).await,
            Work::Write(_) => {
                let mut results = self.run_mutations(&[prepared], variables).await;
                return results.pop().unwrap_or_default();
            }
        };
        match answer {
            Ok(data) => FieldResult::data(data),
            Err(error) => FieldResult::failed(prepared.at_root(error)),
        }
    }

    /// Runs the mutations of one request in order, in one transaction; when one fails nothing is written, and
    /// only that one has an error. Dropping the future does not stop what has begun.
    pub async fn mutate(&self, prepared: &[Arc<Prepared>], variables: &Variables) -> Vec<FieldResult> {
        let prepared: Vec<&Prepared> = prepared.iter().map(|prepared| &**prepared).collect();
        self.run_mutations(&prepared, variables).await
    }

    async fn run_mutations(&self, prepared: &[&Prepared], variables: &Variables) -> Vec<FieldResult> {
        let mut failed: Vec<FieldResult> = prepared.iter().map(|_| FieldResult::default()).collect();
        let mut steps = Vec::with_capacity(prepared.len());
        for (index, field) in prepared.iter().enumerate() {
            let Work::Write(mutation) = &field.work else { continue };
            let bind = |statement: &Statement| statement.bind(&field.model, &self.core.settings, variables);
            match Step::new(mutation, bind) {
                Ok(step) => steps.push(step),
                Err(error) => failed[index].errors.push(field.at_root(error)),
            }
        }
        if failed.iter().any(|result| !result.errors.is_empty()) {
            return failed;
        }
        let steps: Rc<[Step]> = steps.into();
        match self.core.write(&steps).await {
            Ok(outcomes) => outcomes.into_iter().map(FieldResult::data).collect(),
            Err(StepFailure { step, failure }) => {
                let columns = steps[step].text_columns();
                let error = failure.to_graphql(columns, self.core.statement_timeout_ms);
                failed[step].errors.push(prepared[step].at_root(error));
                failed
            }
        }
    }
}

/// Runs what requests have left behind.
async fn do_chores(mut todo: mpsc::UnboundedReceiver<Chore>) {
    while let Some(chore) = todo.recv().await {
        spawn_local(chore);
    }
}

impl Core {
    async fn read(
        self: &Rc<Self>,
        prepared: &Prepared,
        read: &Read,
        variables: &Variables,
    ) -> Result<Vec<u8>, GraphqlError> {
        let values = read.statement.bind(&prepared.model, &self.settings, variables)?;
        let max_bytes = self.settings.common.max_response_bytes;
        let rows = self
            .run(&read.statement, values.into(), || {
                let shape = Arc::clone(&read.shape);
                if read.is_list {
                    JsonRows::list(shape, max_bytes, FIRST_BYTES)
                } else {
                    JsonRows::single(shape, max_bytes)
                }
            })
            .await?;
        Ok(rows.finish())
    }

    async fn levels(
        self: &Rc<Self>,
        prepared: &Prepared,
        levels: &Arc<Levels>,
        variables: &Variables,
    ) -> FieldResult {
        let fetch = LevelFetch {
            core: Rc::clone(self),
            model: Arc::clone(&prepared.model),
            levels: Arc::clone(levels),
        };
        let limits = Limits { max_response_bytes: self.settings.common.max_response_bytes };
        let plan = Arc::clone(&levels.plan);
        let variables = Rc::new(variables.clone());
        nest::resolve(&fetch, plan, variables, self.gatherer.clone(), limits).await
    }

    /// Runs a read, again where that may help.
    async fn run<A: Answer>(
        self: &Rc<Self>,
        statement: &Arc<Statement>,
        values: Rc<[Bound]>,
        mut answer: impl FnMut() -> A,
    ) -> Result<A, GraphqlError> {
        let mut executions = 0;
        let failure = loop {
            executions += 1;
            let mode = statement.next_mode();
            let executed = match self.permit(mode, statement.is_slow()).await {
                Ok(permit) => self.start(permit, statement, &values, answer()).await,
                Err(failure) => break failure,
            };
            if !executed.is_first {
                statement.record(mode, executed.service);
            }
            match executed.result {
                Ok(answer) => return Ok(answer),
                Err(failure) if failure.is_worth_another_try() && executions < self.allowed(&failure) => {}
                Err(failure) => break failure,
            }
        };
        Err(failure.to_graphql(&statement.text_columns, self.statement_timeout_ms))
    }

    /// How often a statement may be run that fails so. Each connection may be broken, or hold a prepared
    /// statement that no longer fits the tables.
    fn allowed(&self, failure: &Failure) -> u32 {
        match failure.kind {
            FailureKind::Bystander => MAX_BYSTANDER_EXECUTIONS,
            _ => u32::from(self.settings.connections_per_core) + 1,
        }
    }

    /// Where no further connection can be had for planning, held plans have to do.
    async fn permit(&self, mode: PlanMode, is_slow: bool) -> Result<Permit, Failure> {
        match mode {
            PlanMode::Generic => self.readers.acquire(is_slow).await,
            PlanMode::Custom => match self.planners.acquire(is_slow).await {
                Ok(permit) => Ok(permit),
                Err(_) => self.readers.acquire(is_slow).await,
            },
        }
    }

    fn start<A: Answer>(
        &self,
        permit: Permit,
        statement: &Arc<Statement>,
        values: &Rc<[Bound]>,
        answer: A,
    ) -> Running<Executed<A>> {
        let progress = Rc::new(Progress::default());
        let link = Rc::clone(&permit.link);
        let (statement, values, watched) = (Arc::clone(statement), Rc::clone(values), Rc::clone(&progress));
        let work = async move {
            let executed = permit.link.execute(&statement.text, &values, answer, &watched).await;
            drop(permit);
            executed
        };
        Running::new(work.boxed_local(), link, progress, WhenDropped::Cancel, self.chores.clone())
    }

    /// Runs a transaction, again where it was rolled back for a reason that passes.
    async fn write(&self, steps: &Rc<[Step]>) -> Result<Vec<Vec<u8>>, StepFailure> {
        let mut executions = 0;
        loop {
            executions += 1;
            let permit = match self.writers.acquire(false).await {
                Ok(permit) => permit,
                Err(failure) => return Err(StepFailure { step: 0, failure }),
            };
            let link = Rc::clone(&permit.link);
            let steps = Rc::clone(steps);
            let capture = TransactionCapture::begin(&self.order, &steps);
            let work = async move {
                let outcome = mutation::run(&permit.link, &steps, &capture).await;
                drop(permit);
                capture.end(outcome)
            };
            let progress = Rc::default();
            let running =
                Running::new(work.boxed_local(), link, progress, WhenDropped::Finish, self.chores.clone());
            match running.await {
                Err(StepFailure { failure, .. }) if self.may_repeat(&failure, executions) => {}
                outcome => return outcome,
            }
        }
    }

    /// Only what the server has rolled back may be repeated.
    fn may_repeat(&self, failure: &Failure, executions: u32) -> bool {
        matches!(failure.kind, FailureKind::StalePlan | FailureKind::Conflict)
            && executions < self.allowed(failure)
    }
}

/// Fetches the levels of one prepared root field.
#[derive(Clone)]
struct LevelFetch {
    core: Rc<Core>,
    model: Arc<prony_sql::model::Model>,
    levels: Arc<Levels>,
}

impl LevelFetch {
    /// The level's own values; the keys take the first places of its parameters.
    fn values(&self, level: usize, variables: &Variables) -> Result<Vec<Bound>, GraphqlError> {
        self.levels.statements[level].statement.bind(&self.model, &self.core.settings, variables)
    }
}

impl Fetch for LevelFetch {
    fn fetch(
        &self,
        level: usize,
        keys: Rc<[Key]>,
        variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>> {
        let this = self.clone();
        Box::pin(async move {
            let LevelFetch { core, levels, .. } = &this;
            let level_statement = &levels.statements[level];
            let mut values = this.values(level, &variables)?;
            for (place, keys) in values.iter_mut().zip(bind_keys(&level_statement.key_wires, &keys)) {
                *place = keys;
            }
            let max_bytes = core.settings.common.max_response_bytes;
            let answer = core
                .run(&level_statement.statement, values.into(), || {
                    LevelAnswer::new(Arc::clone(&level_statement.shape), max_bytes)
                })
                .await?;
            Ok(answer.finish())
        })
    }

    /// The statement's number, not its text: equal texts may stand for rows that are written differently.
    fn merge_key(&self, level: usize, variables: &Variables) -> Result<MergeKey, GraphqlError> {
        let mut key = self.levels.statements[level].statement.text.number.to_ne_bytes().to_vec();
        for value in self.values(level, variables)? {
            key.push(0);
            key.extend_from_slice(format!("{value:?}").as_bytes());
        }
        Ok(MergeKey(key.into()))
    }
}
