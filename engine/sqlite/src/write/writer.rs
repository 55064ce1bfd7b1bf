//! The one connection that writes, on a thread of its own. A request's mutations are one transaction for its
//! client; requests that wait share a commit, each in a savepoint of its own, as a commit waits for the disk.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use prony_source::{
    dialect::taken_back,
    slow_statements::{SlowStatement, threshold},
    traced_request,
};
use tokio::sync::oneshot;

use crate::{
    error::{self, unavailable},
    file::open::Opener,
    read::{
        session::{Session, Unfinished},
        slot::{Role, Slot},
    },
    statement::{bind::Values, program::MutationProgram},
    write::times::WriteTimes,
};
use prony_sql::{
    changes::{Feed, RowChange},
    model::{Model, TableId},
    settings::RelationalSettings,
};

/// Requests that wait for the writer; more are refused.
const MAX_WAITING: usize = 4096;

/// Requests that share one commit.
const MAX_BATCH: usize = 64;

/// A batch takes no more requests after this long.
const BATCH_TIME: Duration = Duration::from_millis(5);

/// The mutations of one request.
#[derive(Debug, Clone)]
pub(crate) struct Mutations {
    pub(crate) model: Arc<Model>,
    pub(crate) programs: Vec<Arc<MutationProgram>>,
}

impl Mutations {
    pub(crate) fn all_failed(&self, error: &GraphqlError) -> Vec<FieldResult> {
        self.programs.iter().map(|_| FieldResult::failed(error.clone())).collect()
    }
}

struct Request {
    mutations: Mutations,
    variables: Variables,
    /// Whether it is to be told when its statements have run.
    is_timed: bool,
    answer: oneshot::Sender<(Vec<FieldResult>, Option<Box<WriteTimes>>)>,
}

/// The writing thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    requests: mpsc::SyncSender<Request>,
    /// Where the file is, for the log.
    database: Box<str>,
    slow_after: Duration,
    /// Requests whose mutations are not committed yet.
    waiting: AtomicUsize,
    /// Requests that were refused because too many waited.
    refused: AtomicU64,
}

/// Counts a request until it is answered, or its client has gone.
struct WaitingRequest<'w>(&'w AtomicUsize);

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Request").field("mutations", &self.mutations).finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn start(
        opener: &Arc<Opener>,
        settings: &Arc<RelationalSettings>,
        changes: &Arc<Feed>,
    ) -> io::Result<Self> {
        let (requests, received) = mpsc::sync_channel(MAX_WAITING);
        let database = opener.path.display().to_string().into();
        let slow_after = threshold(settings.slow_statement_ms);
        let (opener, settings, changes) = (Arc::clone(opener), Arc::clone(settings), Arc::clone(changes));
        thread::Builder::new().name("sqlite-writer".into()).spawn(move || {
            let mut thread = WriterThread { slot: Slot::new(opener, Role::Writer), settings, changes };
            while let Ok(first) = received.recv() {
                thread.serve(first, &received);
            }
        })?;
        let (waiting, refused) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self { requests, database, slow_after, waiting, refused })
    }

    /// Runs a request's mutations in order, all or nothing. A request whose future is dropped before its turn
    /// is not begun; one that has begun is finished.
    pub(crate) async fn mutate(&self, mutations: Mutations, variables: Variables) -> Vec<FieldResult> {
        let (answer, answered) = oneshot::channel();
        let fields = mutations.clone();
        let told_of = (self.slow_after < Duration::MAX).then(|| variables.clone());
        let is_timed = told_of.is_some() || traced_request().is_some();
        let begun = Instant::now();
        if self.requests.try_send(Request { mutations, variables, is_timed, answer }).is_err() {
            self.refused.fetch_add(1, Relaxed);
            return fields.all_failed(&unavailable("too many mutations wait for the database: try again"));
        }
        self.waiting.fetch_add(1, Relaxed);
        let _counted = WaitingRequest(&self.waiting);
        let ended = |_| fields.all_failed(&unavailable("the database's writing thread has ended"));
        let (results, times) = answered.await.unwrap_or_else(|error| (ended(error), None));
        if let Some(times) = times {
            times.record(begun, &fields.programs);
            if let Some(variables) = told_of {
                self.report_slow(&times, &fields, &variables);
            }
        }
        results
    }

    /// How many requests wait, and how many were refused for that.
    pub(crate) fn state(&self) -> (usize, u64) {
        (self.waiting.load(Relaxed), self.refused.load(Relaxed))
    }

    fn report_slow(&self, times: &WriteTimes, fields: &Mutations, variables: &Variables) {
        for ((begun, ended), program) in times.statements.iter().zip(&fields.programs) {
            let took = ended.duration_since(*begun);
            if took >= self.slow_after {
                let statement = program.statements.joined();
                let values = program.statements.value_shapes(&fields.model, variables);
                SlowStatement { database: &self.database, statement: &statement, rows: None, took }
                    .report(&values);
            }
        }
    }
}

struct WriterThread {
    slot: Slot,
    settings: Arc<RelationalSettings>,
    changes: Arc<Feed>,
}

/// A request and what became of it; the answer is given after the commit.
struct Handled {
    request: Request,
    results: Result<Vec<FieldResult>, Vec<FieldResult>>,
    /// Where the request is timed.
    times: Option<Box<WriteTimes>>,
    changes: Vec<RowChange>,
    /// Tables with changes beside these, of which nobody knows.
    lost: Vec<TableId>,
}

impl WriterThread {
    fn serve(&mut self, first: Request, received: &mpsc::Receiver<Request>) {
        let started = Instant::now();
        let mut handled = Vec::new();
        let committed = self.batch(first, received, started, &mut handled);
        match committed {
            Ok(()) => handled.into_iter().for_each(Handled::answer),
            Err(error) if handled.len() == 1 => {
                let only = handled.remove(0);
                let results = only.results.and_then(|_| Err(only.request.mutations.all_failed(&error)));
                Handled::new(only.request, results).answer();
            }
            // One request took the others down with it: each on its own.
            Err(_) => {
                for each in handled {
                    self.again(each);
                }
            }
        }
    }

    fn again(&mut self, handled: Handled) {
        if handled.results.is_err() {
            handled.answer();
            return;
        }
        let (_closed, nothing) = mpsc::sync_channel(1);
        self.serve(handled.request, &nothing);
    }

    /// Runs requests in one transaction. After an error nothing of it is in the database.
    fn batch(
        &mut self,
        first: Request,
        received: &mpsc::Receiver<Request>,
        started: Instant,
        handled: &mut Vec<Handled>,
    ) -> Result<(), GraphqlError> {
        let settings = Arc::clone(&self.settings);
        let mut next = Some(first);
        let feed = Arc::clone(&self.changes);
        let turns = feed.turns();
        let session = match self.begin(next.as_ref()) {
            Ok(session) => session,
            Err(error) => {
                let request = next.take().expect("the first request is there");
                handled.push(Handled::new(request, Ok(Vec::new())));
                return Err(error);
            }
        };
        while let Some(request) = next {
            if request.answer.is_closed() {
                next = received.try_recv().ok();
                continue;
            }
            handled.push(captured_request(session, request, &settings));
            if !session.in_transaction() {
                // SQLite has rolled back everything: after an interruption, or out of disk or memory.
                return Err(unavailable("the transaction was rolled back by the database"));
            }
            let is_full = handled.len() >= MAX_BATCH || started.elapsed() >= BATCH_TIME;
            next = if is_full { None } else { received.try_recv().ok() };
        }
        let commit_begun = handled.iter().any(|each| each.times.is_some()).then(Instant::now);
        let committed = session.execute("COMMIT");
        if let Some(begun) = commit_begun {
            let commit = Some((begun, Instant::now()));
            handled.iter_mut().filter_map(|each| each.times.as_mut()).for_each(|times| times.commit = commit);
        }
        if let Err(error) = committed {
            if session.in_transaction() {
                let _already_failed = session.execute("ROLLBACK");
            }
            self.slot.discard();
            return Err(error::of_sqlite(&error));
        }
        publish(&feed, turns, session, handled);
        Ok(())
    }

    /// Begins a transaction whose changes are seen as far as somebody wants to hear of them.
    fn begin(&mut self, first: Option<&Request>) -> Result<&mut Session, GraphqlError> {
        let session = self.slot.session().map_err(Unfinished::into_error)?;
        session.watch().stop();
        let failed = |error| error::of_sqlite(&error);
        if let Some(request) = first
            && (self.changes.is_read() || session.capture().is_on())
        {
            let wanted = self.changes.wanted_tables();
            // The tables are those of now, by whichever schema a request was planned.
            let model = self.changes.model().unwrap_or_else(|| Arc::clone(&request.mutations.model));
            session.turn_capture(&model, &wanted).map_err(failed)?;
        }
        session.execute("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(session)
    }
}

impl Handled {
    /// One that has changed nothing that anybody wants to hear of.
    fn new(request: Request, results: Result<Vec<FieldResult>, Vec<FieldResult>>) -> Self {
        Self { request, results, times: None, changes: Vec::new(), lost: Vec::new() }
    }

    fn answer(self) {
        let (Ok(results) | Err(results)) = self.results;
        // Nobody listens when the client is gone.
        let _unheard = self.request.answer.send((results, self.times));
    }
}

/// Tells what was committed, before its clients are answered.
fn publish(feed: &Feed, turns: u64, session: &Session, handled: &mut [Handled]) {
    for each in handled {
        if let Some(model) = session.capture().model() {
            feed.publish(model, std::mem::take(&mut each.changes));
        }
        feed.lose(&each.lost);
    }
    if feed.turns() != turns || session.capture().is_blind() {
        let is_unseen = |table: &TableId| !session.capture().sees(*table);
        let unseen: Vec<TableId> = feed.wanted_tables().into_iter().filter(is_unseen).collect();
        feed.lose(&unseen);
    }
}

/// One request with what it has changed, as far as that is wanted.
fn captured_request(session: &mut Session, request: Request, settings: &RelationalSettings) -> Handled {
    let mut times = request.is_timed.then(Box::<WriteTimes>::default);
    let results = one_request(session, &request, settings, times.as_deref_mut());
    let mut handled = Handled { times, ..Handled::new(request, results) };
    if session.capture().is_on() {
        let captured = session.capture().take();
        if let (Ok(_), Some(model)) = (&handled.results, session.capture().model()) {
            (handled.changes, handled.lost) = captured.into_changes(model);
        }
    }
    handled
}

/// One request in its savepoint; `Err` holds the answer of one whose changes were taken back.
fn one_request(
    session: &mut Session,
    request: &Request,
    settings: &RelationalSettings,
    mut times: Option<&mut WriteTimes>,
) -> Result<Vec<FieldResult>, Vec<FieldResult>> {
    let fail = |error: &GraphqlError| request.mutations.all_failed(error);
    session.execute("SAVEPOINT request").map_err(|error| fail(&error::of_sqlite(&error)))?;
    let mut results = Vec::with_capacity(request.mutations.programs.len());
    for (index, program) in request.mutations.programs.iter().enumerate() {
        let values = Values { model: &request.mutations.model, variables: &request.variables, settings };
        let begun = times.is_some().then(Instant::now);
        let result = one_mutation(session, program, values);
        if let (Some(times), Some(begun)) = (times.as_deref_mut(), begun) {
            times.statements.push((begun, Instant::now()));
        }
        let failed = result.data.is_none();
        results.push(result);
        if failed {
            if session.in_transaction() {
                let taken_back = session.execute("ROLLBACK TO request; RELEASE request");
                taken_back.map_err(|error| fail(&error::of_sqlite(&error)))?;
            }
            return Err(after_failure(&request.mutations, results, index));
        }
    }
    session.execute("RELEASE request").map_err(|error| fail(&error::of_sqlite(&error)))?;
    Ok(results)
}

fn one_mutation(session: &mut Session, program: &MutationProgram, values: Values<'_>) -> FieldResult {
    let limit = Duration::from_millis(u64::from(values.settings.common.statement_timeout_ms));
    session.watch().start_blocking(Instant::now() + limit, None);
    let done = session.mutate(program, values);
    session.watch().stop();
    done.unwrap_or_else(|unfinished| FieldResult::failed(unfinished.into_error()))
}

/// The failed mutation keeps its errors; the others say that nothing of them is left.
fn after_failure(mutations: &Mutations, mut results: Vec<FieldResult>, failed: usize) -> Vec<FieldResult> {
    let culprit = results.swap_remove(failed);
    let code = culprit.errors.first().map_or(ErrorCode::SourceFailed, |error| error.code);
    let others = taken_back(&mutations.programs[failed].response_key, code);
    let mut culprit = Some(culprit);
    let each = (0..mutations.programs.len()).map(|index| {
        let own = if index == failed { culprit.take() } else { None };
        own.unwrap_or_else(|| FieldResult::failed(others.clone()))
    });
    each.collect()
}
