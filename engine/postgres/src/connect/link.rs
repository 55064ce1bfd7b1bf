//! One connection of one core: its prepared statements, its pipeline of statements under way, and the
//! cancelling of the one that the backend is running. It does not reconnect; see `pool`.
//!
//! PostgreSQL answers in order, so two counters describe the pipeline: statements sent and statements done.
//! The backend is running statement number `done`.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, pin_mut};
use prony_postgres_connect::Canceller;
use quick_cache::unsync::Cache;
use tokio::sync::{OnceCell, mpsc};
use tokio_postgres::{Client, Row, RowStream, Statement, types::Type};

use prony_sql::{settings::PoolMode, spans::RETURNED_ROWS};

use crate::{
    connect::{
        config::Target,
        load::Pace,
        session_setup::SessionState,
        spans::{self, end_span},
    },
    error::{Failure, FailureKind},
    statement::bound::Bound,
};

/// Prepared statements that one connection keeps; each costs its backend some 50 to 100 kB.
const STATEMENTS_PER_CONNECTION: usize = 256;
/// A cancel request that takes longer than this is given up; the statement's own timeout ends it.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
/// How long after a cancel request was sent the server may still act on it: it does so in a new process.
const CANCEL_ECHO: Duration = Duration::from_secs(5);
/// A connection that took no writes when it was opened is given up for one that may take them once it is so old: the server may have been told
/// to take them since, and behind its address there may be another. Of a server that never takes any, this bounds how often one is opened.
const READ_ONLY_RETRY: Duration = Duration::from_secs(1);
/// A cancelled statement that ran for at least this share of its time limit is taken to have reached it:
/// completions are seen a little late, so the measured time can fall short of the backend's.
const TIMEOUT_SHARE: f64 = 0.9;

/// The text of a statement under a number of its own, by which connections know it.
#[derive(Debug, Clone)]
pub(crate) struct StatementText {
    pub(crate) number: u64,
    pub(crate) sql: Box<str>,
    pub(crate) types: Box<[Type]>,
}

impl StatementText {
    pub(crate) fn new(sql: String, types: Vec<Type>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), sql: sql.into(), types: types.into() }
    }
}

/// Takes the rows of one statement.
pub(crate) trait Answer: 'static {
    fn row(&mut self, row: &Row) -> Result<(), Failure>;
    /// For statements that return no rows.
    fn rows_affected(&mut self, _count: u64) {}
}

/// How far a statement has come, seen by whoever waits for it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The pipeline's number of what is under way.
    pub(crate) number: Cell<Option<u64>>,
    /// Nobody waits any more: do not begin with anything.
    pub(crate) is_unwanted: Cell<bool>,
}

/// What a statement gave, and how long the backend was busy with it.
#[derive(Debug)]
pub(crate) struct Executed<A> {
    pub(crate) result: Result<A, Failure>,
    /// From when the backend could begin until the answer was complete; without waiting in the pipeline.
    pub(crate) service: Duration,
    /// The statement was prepared for this execution, so that its first planning is in the time.
    pub(crate) is_first: bool,
}

/// Work that outlives the request that began it.
pub(crate) type Chore = Pin<Box<dyn Future<Output = ()>>>;

/// An open connection.
pub(crate) struct Link {
    client: Client,
    canceller: Canceller,
    target: Arc<Target>,
    /// Of the target, when this was opened.
    generation: u64,
    state: SessionState,
    opened_at: Instant,
    /// Another one is to take its place, that may take writes.
    is_given_up: Cell<bool>,
    takes_statements_alone: bool,
    statement_timeout: Duration,
    statements: RefCell<Cache<u64, Rc<OnceCell<Statement>>>>,
    sent: Cell<u64>,
    done: Cell<u64>,
    /// When the backend could begin with the statement that it is running.
    busy_since: Cell<Instant>,
    /// Numbers of sent statements whose answer nobody wants.
    unwanted: RefCell<Vec<u64>>,
    /// Cancel requests under way.
    cancelling: Cell<u32>,
    /// When the last cancel request was sent: the server acts on it some time later, and may hit another
    /// statement than the one that was meant.
    last_cancel: Cell<Option<Instant>>,
    chores: mpsc::UnboundedSender<Chore>,
}

impl Link {
    pub(crate) fn new(
        client: Client,
        canceller: Canceller,
        target: &Arc<Target>,
        generation: u64,
        state: SessionState,
        takes_statements_alone: bool,
        chores: mpsc::UnboundedSender<Chore>,
    ) -> Self {
        Self {
            canceller,
            client,
            statement_timeout: Duration::from_millis(target.statement_timeout_ms.into()),
            target: Arc::clone(target),
            generation,
            state,
            opened_at: Instant::now(),
            is_given_up: Cell::new(false),
            takes_statements_alone,
            statements: RefCell::new(Cache::new(STATEMENTS_PER_CONNECTION)),
            sent: Cell::new(0),
            done: Cell::new(0),
            busy_since: Cell::new(Instant::now()),
            unwanted: RefCell::new(Vec::new()),
            cancelling: Cell::new(0),
            last_cancel: Cell::new(None),
            chores,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// No transaction spans several statements here.
    pub(crate) fn takes_statements_alone(&self) -> bool {
        self.takes_statements_alone
    }

    /// Has work done that outlives the request.
    pub(crate) fn chore(&self, chore: Chore) {
        // Fails only when the core is being torn down, and then the connection is closed anyway.
        let _ = self.chores.send(chore);
    }

    /// Its server was found to take no writes, and another connection may.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_given_up.get() || self.generation != self.target.generation()
    }

    /// It was refused a write because its server takes none. Whether another connection may take it: where this one did when it was opened,
    /// other servers are looked for; where it did not, that may be long ago.
    pub(crate) fn demoted(&self) -> bool {
        if self.state.is_writable {
            self.target.demoted(self.generation);
            return true;
        }
        let is_old = self.opened_at.elapsed() >= READ_ONLY_RETRY && !self.target.read_only;
        self.is_given_up.set(self.is_given_up.get() || is_old);
        is_old
    }

    pub(crate) fn is_cancelling(&self) -> bool {
        self.cancelling.get() > 0
    }

    /// For how long the backend has been at its present statement; `None` while it has none.
    pub(crate) fn busy_for(&self) -> Option<Duration> {
        (self.sent.get() > self.done.get()).then(|| self.busy_since.get().elapsed())
    }

    /// For how much longer than its time limit the backend has been silent about a statement; `None` while it
    /// is not, and without a time limit.
    pub(crate) fn overdue(&self) -> Option<Duration> {
        let limit = Some(self.statement_timeout).filter(|limit| !limit.is_zero())?;
        self.busy_for()?.checked_sub(limit)
    }

    /// Runs commands without parameters.
    pub(crate) async fn batch(self: &Rc<Self>, commands: &str) -> Result<(), Failure> {
        let span = spans::of_commands(self.target(), commands);
        let number = self.send();
        let result = self.client.batch_execute(commands).await;
        let service = self.complete(number);
        let result = result.map_err(|error| self.failure(error, service));
        end_span(span, result.as_ref().err());
        result
    }

    /// Runs a statement, prepared here if it is not yet.
    pub(crate) async fn execute<A: Answer>(
        self: &Rc<Self>,
        text: &StatementText,
        parameters: &[Bound],
        answer: A,
        progress: &Progress,
    ) -> Executed<A> {
        self.execute_paced(Pace::Unknown, (text, parameters), answer, progress).await
    }

    /// As [`Self::execute`]; one that is known to be quick does not wait until it is prepared, since slow ones could be sent meanwhile and
    /// would stand before it.
    pub(crate) async fn execute_paced<A: Answer>(
        self: &Rc<Self>,
        pace: Pace,
        (text, parameters): (&StatementText, &[Bound]),
        answer: A,
        progress: &Progress,
    ) -> Executed<A> {
        let mut rows = 0;
        let span = spans::of_statement(self.target(), &text.sql);
        let counted = &mut rows;
        let executed = if self.target.pool_mode == PoolMode::Transaction {
            self.execute_unnamed(text, parameters, answer, progress, counted).await
        } else {
            let cell = self.statement_cell(text.number);
            if pace == Pace::Quick && !cell.initialized() {
                self.prepare_behind(cell, text);
                let executed = self.execute_unnamed(text, parameters, answer, progress, counted).await;
                Executed { is_first: true, ..executed }
            } else {
                self.execute_prepared(&cell, (text, parameters), answer, progress, counted).await
            }
        };
        if let Some(mut span) = span {
            span.set(RETURNED_ROWS, rows);
            end_span(Some(span), executed.result.as_ref().err());
        }
        executed
    }

    async fn execute_prepared<A: Answer>(
        self: &Rc<Self>,
        cell: &OnceCell<Statement>,
        (text, parameters): (&StatementText, &[Bound]),
        answer: A,
        progress: &Progress,
        rows: &mut u64,
    ) -> Executed<A> {
        let (statement, is_first) = match self.statement(cell, text, progress).await {
            Ok(prepared) => prepared,
            Err(failure) => {
                return Executed { result: Err(failure), service: Duration::ZERO, is_first: true };
            }
        };
        if progress.is_unwanted.get() {
            let failure = Failure::new(FailureKind::Cancelled, "nobody waits for the answer");
            return Executed { result: Err(failure), service: Duration::ZERO, is_first: true };
        }
        let stream = self.client.query_raw(&statement, parameters);
        let (result, service) = self.answered(stream, answer, (text, parameters), progress, rows).await;
        if result
            .as_ref()
            .is_err_and(|failure| matches!(failure.kind, FailureKind::StalePlan | FailureKind::SchemaChanged))
        {
            self.statements.borrow_mut().remove(&text.number);
        }
        Executed { result, service, is_first }
    }

    /// Runs a statement without parameters that is not to be kept.
    pub(crate) async fn rows_once<A: Answer>(
        self: &Rc<Self>,
        text: &StatementText,
        answer: A,
    ) -> Result<A, Failure> {
        self.execute_unnamed(text, &[], answer, &Progress::default(), &mut 0).await.result
    }

    /// Runs a statement without a name: behind a pooler, what is prepared here may be asked of another server's session.
    async fn execute_unnamed<A: Answer>(
        self: &Rc<Self>,
        text: &StatementText,
        parameters: &[Bound],
        answer: A,
        progress: &Progress,
        rows: &mut u64,
    ) -> Executed<A> {
        let typed = parameters.iter().zip(text.types.iter().cloned());
        let stream = self.client.query_typed_raw(&text.sql, typed);
        let (result, service) = self.answered(stream, answer, (text, parameters), progress, rows).await;
        Executed { result, service, is_first: false }
    }

    /// Sends a statement, which `stream` does when it is first polled: what was answered, and how long the database took.
    async fn answered<A: Answer>(
        self: &Rc<Self>,
        stream: impl Future<Output = Result<RowStream, tokio_postgres::Error>>,
        answer: A,
        (text, parameters): (&StatementText, &[Bound]),
        progress: &Progress,
        rows: &mut u64,
    ) -> (Result<A, Failure>, Duration) {
        let sent = self.send();
        progress.number.set(Some(sent));
        let result = self.collect(stream.await, answer, sent, rows).await;
        progress.number.set(None);
        let service = self.complete(sent);
        if service >= self.target.slow_after {
            self.note_slow(text, parameters, *rows, service);
        }
        let result = result.and_then(|inner| inner.map_err(|error| self.failure(error, service)));
        (result, service)
    }

    /// Reads all rows. The outer error is the answer's own, the inner one the database's.
    async fn collect<A: Answer>(
        self: &Rc<Self>,
        stream: Result<RowStream, tokio_postgres::Error>,
        mut answer: A,
        sent: u64,
        rows: &mut u64,
    ) -> Result<Result<A, tokio_postgres::Error>, Failure> {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error)),
        };
        pin_mut!(stream);
        let mut refused = None;
        while let Some(row) = stream.next().await {
            match row {
                Ok(_) if refused.is_some() => {}
                Ok(row) => {
                    *rows += 1;
                    if let Err(failure) = answer.row(&row) {
                        refused = Some(failure);
                        self.request_cancel(sent);
                    }
                }
                Err(error) => return refused.map_or(Ok(Err(error)), Err),
            }
        }
        answer.rows_affected(stream.rows_affected().unwrap_or(0));
        refused.map_or(Ok(Ok(answer)), Err)
    }

    /// The prepared statement, and whether it was prepared just now.
    async fn statement(
        self: &Rc<Self>,
        cell: &OnceCell<Statement>,
        text: &StatementText,
        progress: &Progress,
    ) -> Result<(Statement, bool), Failure> {
        if let Some(statement) = cell.get() {
            return Ok((statement.clone(), false));
        }
        let statement = cell
            .get_or_try_init(|| async {
                let sent = self.send();
                progress.number.set(Some(sent));
                let result = self.client.prepare_typed(&text.sql, &text.types).await;
                progress.number.set(None);
                let service = self.complete(sent);
                result.map_err(|error| self.failure(error, service))
            })
            .await?;
        Ok((statement.clone(), true))
    }

    /// Has a statement prepared for its next executions. Where that fails, the next one tries again.
    fn prepare_behind(self: &Rc<Self>, cell: Rc<OnceCell<Statement>>, text: &StatementText) {
        let (link, text) = (Rc::clone(self), text.clone());
        self.chore(Box::pin(async move {
            let _ = link.statement(&cell, &text, &Progress::default()).await;
        }));
    }

    fn statement_cell(&self, number: u64) -> Rc<OnceCell<Statement>> {
        let mut statements = self.statements.borrow_mut();
        if let Some(cell) = statements.get(&number) {
            return Rc::clone(cell);
        }
        let cell = Rc::new(OnceCell::new());
        statements.insert(number, Rc::clone(&cell));
        cell
    }

    fn send(&self) -> u64 {
        let number = self.sent.get();
        if number == self.done.get() {
            self.busy_since.set(Instant::now());
        }
        self.sent.set(number + 1);
        number
    }

    fn complete(self: &Rc<Self>, number: u64) -> Duration {
        let now = Instant::now();
        let service = now.duration_since(self.busy_since.get());
        if number >= self.done.get() {
            self.done.set(number + 1);
            self.busy_since.set(now);
        }
        let mut unwanted = self.unwanted.borrow_mut();
        if !unwanted.is_empty() {
            unwanted.retain(|other| *other > number);
            if unwanted.contains(&(number + 1)) {
                drop(unwanted);
                self.request_cancel(number + 1);
            }
        }
        service
    }

    fn failure(&self, error: tokio_postgres::Error, service: Duration) -> Failure {
        let mut failure = Failure::from(error);
        if failure.kind == FailureKind::Cancelled {
            let has_limit = !self.statement_timeout.is_zero();
            if has_limit && service >= self.statement_timeout.mul_f64(TIMEOUT_SHARE) {
                failure.kind = FailureKind::Timeout;
            } else if self.is_cancelling() || self.last_cancel.get().is_some_and(is_recent) {
                failure.kind = FailureKind::Bystander;
            }
        }
        failure
    }

    /// The answer of a statement is no longer wanted: cancels it when the backend is running it, else when
    /// its turn comes.
    pub(crate) fn give_up(self: &Rc<Self>, number: u64) {
        if self.done.get() > number {
            return;
        }
        self.unwanted.borrow_mut().push(number);
        if self.done.get() == number {
            self.request_cancel(number);
        }
    }

    fn request_cancel(self: &Rc<Self>, number: u64) {
        let link = Rc::clone(self);
        self.chore(Box::pin(async move { link.cancel(number).await }));
    }

    /// Asks the database to cancel, unless another statement has had its turn meanwhile.
    async fn cancel(&self, number: u64) {
        if self.done.get() != number {
            return;
        }
        self.cancelling.set(self.cancelling.get() + 1);
        let request = self.canceller.cancel();
        if !matches!(tokio::time::timeout(CANCEL_LIMIT, request).await, Ok(Ok(()))) {
            tracing::debug!("a cancel request did not reach the database");
        }
        self.cancelling.set(self.cancelling.get() - 1);
        self.last_cancel.set(Some(Instant::now()));
    }
}

fn is_recent(cancel: Instant) -> bool {
    cancel.elapsed() < CANCEL_ECHO
}
