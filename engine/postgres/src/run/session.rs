//! One core's part of a database: it runs prepared root fields on the core's connections.

use std::{fmt, rc::Rc, sync::Arc, time::SystemTime};

use futures_util::FutureExt;
use prony_graphql::{
    budget::ResponseMeter,
    error::GraphqlError,
    response::FieldResult,
    variables::{RequestClient, Variables},
};
use tokio::{sync::mpsc, task::spawn_local};

use crate::{
    PostgresDatabase,
    connect::{
        config::{PlanMode, Target},
        link::{Answer, Chore, Executed, Link, Progress},
        load::Pace,
        pool::{Capacity, Permit, Pool},
        session_setup,
    },
    error::{Failure, FailureKind},
    run::{
        capture::TransactionCapture,
        explain::Explain,
        rows::JsonRows,
        running::{Running, WhenDropped},
        scope,
        transaction::{self, Step, StepFailure},
    },
    statement::{
        bound::Bound,
        keys::bind_keys,
        levels::{LevelAnswer, LevelRead},
        mutation::Mutation,
        select::Read,
        text::Statement,
    },
};
use prony_source::{NotReady, dialect::taken_back, permissions::session_misfit};
use prony_sql::{
    changes::order::Order,
    database::{DatabaseSession, StatementPlan, WrittenStatement},
    levels::{Key, LevelRows, MergeKey},
    model::Model,
    settings::RelationalSettings,
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
    target: Arc<Target>,
    settings: Arc<RelationalSettings>,
    order: Arc<Order>,
    statement_timeout_ms: u32,
    /// What transactions begin with where no session is ours.
    transaction_setup: Option<String>,
    /// Plans are held.
    readers: Rc<Pool>,
    /// Plans are made for each execution; opened when a statement first needs it.
    planners: Rc<Pool>,
    /// One transaction at a time each; opened when needed.
    writers: Rc<Pool>,
    /// One read at a time each, in a transaction that knows who asks; opened when needed.
    scoped: Rc<Pool>,
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
            let max_waiting = settings.max_waiting as usize;
            let capacity = Capacity { connections, preferred, pipeline_depth, opened_first, max_waiting };
            Pool::new(Arc::clone(target), mode, capacity, chores.clone())
        };
        let core = Core {
            readers: pool(PlanMode::Generic, PIPELINE_DEPTH, 1),
            planners: pool(PlanMode::Custom, PIPELINE_DEPTH, 0),
            writers: pool(PlanMode::Generic, 1, 0),
            scoped: pool(PlanMode::Generic, 1, 0),
            target: Arc::clone(target),
            settings: Arc::clone(settings),
            order: Arc::clone(order),
            statement_timeout_ms: target.statement_timeout_ms,
            transaction_setup: session_setup::of_transaction(target),
            chores,
        };
        Self { core: Rc::new(core) }
    }

    /// Whether the core has an open connection, or had no need of one; the reason where it has none. Nothing is asked of the database.
    pub fn health(&self) -> Result<(), String> {
        self.core.readers.known_health()
    }
}

impl DatabaseSession<PostgresDatabase> for Session {
    async fn select(
        &self,
        model: &Arc<Model>,
        read: &Read,
        variables: &Variables,
    ) -> Result<FieldResult, GraphqlError> {
        let core = &self.core;
        let values = read.statement.bind(model, &core.settings, variables)?;
        let meter = || ResponseMeter::new(core.settings.common.max_response_bytes, variables.budget());
        let requester = core.requester(variables)?;
        let rows = core.run(&read.statement, values.into(), requester, || {
            let shape = Arc::clone(&read.shape);
            if read.is_list {
                JsonRows::list(shape, meter(), FIRST_BYTES)
            } else {
                JsonRows::single(shape, meter())
            }
        });
        Ok(FieldResult::data(rows.await?.finish()))
    }

    async fn level(
        &self,
        model: &Arc<Model>,
        level: &LevelRead,
        keys: Arc<[Key]>,
        variables: &Variables,
    ) -> Result<LevelRows, GraphqlError> {
        let core = &self.core;
        let mut values = level.statement.bind(model, &core.settings, variables)?;
        // The keys take the first places of the statement's parameters.
        for (place, keys) in values.iter_mut().zip(bind_keys(&level.key_wires, &keys)) {
            *place = keys;
        }
        let meter = || ResponseMeter::new(core.settings.common.max_response_bytes, variables.budget());
        let answer = || LevelAnswer::new(Arc::clone(&level.shape), meter());
        let requester = core.requester(variables)?;
        Ok(core.run(&level.statement, values.into(), requester, answer).await?.finish())
    }

    /// The statement's number, not its text: equal texts may stand for rows that are written differently.
    fn merge_key(
        &self,
        model: &Model,
        level: &LevelRead,
        variables: &Variables,
    ) -> Result<MergeKey, GraphqlError> {
        let mut key = level.statement.text.number.to_ne_bytes().to_vec();
        for value in level.statement.bind(model, &self.core.settings, variables)? {
            key.push(0);
            key.extend_from_slice(format!("{value:?}").as_bytes());
        }
        // Who asks is a part of what is asked.
        if let Some(begin) = self.core.begin(variables)? {
            key.push(0);
            key.extend_from_slice(begin.as_bytes());
        }
        Ok(MergeKey(key.into()))
    }

    /// Dropping the future does not stop what has begun.
    async fn mutate(
        &self,
        model: &Arc<Model>,
        mutations: Vec<&Arc<Mutation>>,
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let bind = |statement: &Statement| statement.bind(model, &self.core.settings, variables);
        let mut steps = Vec::with_capacity(mutations.len());
        for (index, mutation) in mutations.iter().enumerate() {
            match Step::new(mutation, bind) {
                Ok(step) => steps.push(step),
                Err(error) => return after_failure(&mutations, Some(index), &error),
            }
        }
        let steps: Rc<[Step]> = steps.into();
        let requester = match self.core.requester(variables) {
            Ok(requester) => requester,
            Err(error) => return after_failure(&mutations, None, &error),
        };
        let written = self.core.write(model, &steps, &requester).await;
        self.core.note_disk_space(&written);
        match written {
            Ok(outcomes) => outcomes.into_iter().map(FieldResult::data).collect(),
            Err(StepFailure { step, failure }) => {
                let statement = step.map(|step| steps[step].statement());
                let error = told(&failure, statement, self.core.statement_timeout_ms);
                after_failure(&mutations, step, &error)
            }
        }
    }

    async fn plan(
        &self,
        statement: WrittenStatement<'_>,
        variables: &Variables,
    ) -> Result<StatementPlan, GraphqlError> {
        let Requester { begin, client } = self.core.requester(variables)?;
        let explain = Explain::new(begin.as_deref(), statement.sql, &statement.types);
        self.core.explain(explain, client).await
    }

    async fn health(&self) -> Result<(), String> {
        self.core.readers.health().await
    }

    async fn readiness(&self) -> Result<(), NotReady> {
        self.core.readers.health().await.map_err(|_| NotReady::Unreachable)?;
        self.core.target.disk_space.readiness(SystemTime::now())
    }
}

/// Who asks.
struct Requester<'v> {
    /// What transactions begin with that know it; none where statements need no transaction.
    begin: Option<Rc<str>>,
    /// Whose turn it is where many wait.
    client: &'v RequestClient,
}

/// The failed mutation has the error, and the others say that nothing of them is left. What belongs to none is told of each.
fn after_failure(
    mutations: &[&Arc<Mutation>],
    failed: Option<usize>,
    error: &GraphqlError,
) -> Vec<FieldResult> {
    let others = match failed {
        Some(failed) => taken_back(&mutations[failed].response_key, error.code),
        None => error.clone(),
    };
    let each = (0..mutations.len()).map(|index| if failed == Some(index) { error } else { &others });
    each.map(|error| FieldResult::failed(error.clone())).collect()
}

/// A failure for the client, of a statement or, without one, of what is around it.
fn told(failure: &Failure, statement: Option<&Statement>, statement_timeout_ms: u32) -> GraphqlError {
    let columns = statement.map_or(&[][..], |statement| statement.refusing_columns(failure.kind));
    let error = failure.to_graphql(columns, statement_timeout_ms);
    let is_of_session = statement.is_some_and(|statement| statement.is_text_of_session);
    if is_of_session && failure.kind == FailureKind::BadValue { session_misfit(error) } else { error }
}

/// Runs what requests have left behind.
async fn do_chores(mut todo: mpsc::UnboundedReceiver<Chore>) {
    while let Some(chore) = todo.recv().await {
        spawn_local(chore);
    }
}

impl Core {
    /// The commands that a transaction begins with; none where statements need no transaction.
    fn begin(&self, variables: &Variables) -> Result<Option<Rc<str>>, GraphqlError> {
        scope::begin(&self.settings, self.transaction_setup.as_deref(), variables)
    }

    fn requester<'v>(&self, variables: &'v Variables) -> Result<Requester<'v>, GraphqlError> {
        Ok(Requester { begin: self.begin(variables)?, client: variables.client() })
    }

    /// Runs a read, again where that may help.
    async fn run<A: Answer>(
        self: &Rc<Self>,
        statement: &Arc<Statement>,
        values: Rc<[Bound]>,
        Requester { begin, client }: Requester<'_>,
        mut answer: impl FnMut() -> A,
    ) -> Result<A, GraphqlError> {
        let mut executions = 0;
        let mut failure = loop {
            executions += 1;
            let mode = if begin.is_some() { PlanMode::Generic } else { statement.next_mode() };
            let pace = statement.pace();
            let permit = match &begin {
                Some(_) => self.scoped.acquire(client, pace).await,
                None => self.permit(mode, client, pace).await,
            };
            let executed = match permit {
                Ok(permit) => self.start(permit, statement, &values, begin.clone(), answer()).await,
                Err(failure) => break failure,
            };
            if !executed.is_first {
                statement.record(mode, executed.service);
            }
            if executed.result.is_ok() {
                statement.note_quick(executed.service);
            }
            match executed.result {
                Ok(answer) => return Ok(answer),
                Err(failure) if failure.is_worth_another_try() && executions < self.allowed(&failure) => {}
                Err(failure) => break failure,
            }
        };
        if failure.kind == FailureKind::BadValue && !statement.takes_text {
            failure.kind = FailureKind::BadStoredValue;
        }
        Err(told(&failure, Some(statement.as_ref()), self.statement_timeout_ms))
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
    async fn permit(&self, mode: PlanMode, client: &RequestClient, pace: Pace) -> Result<Permit, Failure> {
        match mode {
            PlanMode::Generic => self.readers.acquire(client, pace).await,
            PlanMode::Custom => match self.planners.acquire(client, pace).await {
                Ok(permit) => Ok(permit),
                Err(_) => self.readers.acquire(client, pace).await,
            },
        }
    }

    fn start<A: Answer>(
        &self,
        permit: Permit,
        statement: &Arc<Statement>,
        values: &Rc<[Bound]>,
        begin: Option<Rc<str>>,
        answer: A,
    ) -> Running<Executed<A>> {
        let progress = Rc::new(Progress::default());
        let link = Rc::clone(&permit.link);
        let (statement, values, watched) = (Arc::clone(statement), Rc::clone(values), Rc::clone(&progress));
        let chores = self.chores.clone();
        let work = async move {
            if let Some(begin) = begin {
                let statement = (&statement.text, &*values);
                return scope::execute(permit, &begin, statement, answer, &watched, chores).await;
            }
            let asked = (&statement.text, &*values);
            let executed = permit.link.execute_paced(permit.pace, asked, answer, &watched).await;
            drop(permit);
            executed
        };
        Running::new(work.boxed_local(), link, progress, WhenDropped::Cancel, self.chores.clone())
    }

    /// Asks for a plan, on a connection that takes one transaction at a time.
    async fn explain(&self, explain: Explain, client: &RequestClient) -> Result<StatementPlan, GraphqlError> {
        let asked = async {
            let permit = self.scoped.acquire(client, Pace::Unknown).await?;
            let link = Rc::clone(&permit.link);
            let work = async move { explain.ask(permit).await };
            let (progress, chores) = (Rc::default(), self.chores.clone());
            Running::new(work.boxed_local(), link, progress, WhenDropped::Finish, chores).await
        };
        asked.await.map_err(|failure: Failure| failure.to_graphql(&[], self.statement_timeout_ms))
    }

    /// Runs a transaction, again where it was rolled back for a reason that passes.
    async fn write(
        &self,
        model: &Arc<Model>,
        steps: &Rc<[Step]>,
        requester: &Requester<'_>,
    ) -> Result<Vec<Vec<u8>>, StepFailure> {
        let mut executions = 0;
        loop {
            executions += 1;
            // Each transaction has a connection to itself: how long it takes is nothing to those that have another.
            let permit = match self.writers.acquire(requester.client, Pace::Quick).await {
                Ok(permit) => permit,
                Err(failure) => return Err(StepFailure { step: None, failure }),
            };
            let link = Rc::clone(&permit.link);
            let used = Rc::clone(&link);
            let (steps, begin) = (Rc::clone(steps), requester.begin.clone());
            let capture =
                TransactionCapture::begin(&self.order, model, steps.iter().map(Step::table).collect());
            let work = async move {
                let written = transaction::run(&permit.link, &steps, capture, begin.as_deref()).await;
                drop(permit);
                written
            };
            let progress = Rc::default();
            let running =
                Running::new(work.boxed_local(), link, progress, WhenDropped::Finish, self.chores.clone());
            match running.await {
                Err(StepFailure { failure, .. }) if self.may_repeat(&failure, &used, executions) => {}
                outcome => return outcome,
            }
        }
    }

    /// What a transaction shows of the space on the database's disk; most failures show nothing of it.
    fn note_disk_space<T>(&self, written: &Result<T, StepFailure>) {
        match written {
            Ok(_) => self.target.disk_space.written(),
            Err(StepFailure { failure, .. }) if failure.kind == FailureKind::DiskFull => {
                self.target.disk_space.refused(SystemTime::now());
            }
            Err(_) => {}
        }
    }

    /// Only what the server has rolled back may be repeated; elsewhere, where it takes no writes and another may.
    fn may_repeat(&self, failure: &Failure, link: &Link, executions: u32) -> bool {
        let may = match failure.kind {
            FailureKind::StalePlan | FailureKind::Conflict => true,
            FailureKind::ReadOnly => link.demoted(),
            _ => false,
        };
        may && executions < self.allowed(failure)
    }
}
