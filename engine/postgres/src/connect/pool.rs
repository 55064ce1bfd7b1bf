//! The connections of one core to one database in one mode of planning: opened, chosen by load, re-opened
//! when they break. Requests never hang on it: waiting is bounded in number and time, and while the database
//! is away they are told so at once. Those that wait take turns by client (`turns`), and one connection is left to statements that are known to
//! be quick (`load`).

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use prony_graphql::variables::RequestClient;
use prony_postgres_connect::Slot;
use prony_source::trace::{SpanKind, begin_span};
use prony_sql::spans::POOL_WAIT;
use tokio::{
    sync::{Notify, mpsc},
    task::{JoinHandle, spawn_local},
    time::{sleep, timeout},
};

use crate::{
    connect::{
        config::{PlanMode, Target},
        link::{Chore, Link},
        load::{Admission, Load, Pace},
        opener::{Ended, Opener, watch},
        spans::end_span,
        turns::Turns,
    },
    error::{Failure, FailureKind},
};

/// The longest wait for a place; statements before it are bounded by their own time limit.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Pauses between attempts to connect: the first, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// How long whoever asks how the database is waits for a probe; `/ready` waits for a source little longer.
const PROBE_WAIT: Duration = Duration::from_millis(500);
/// How often a pool that has no connection asks for room.
const STARVING_PAUSE: Duration = Duration::from_millis(20);

/// A statement that runs for longer than this holds up its connection: others avoid it.
const STUCK: Duration = Duration::from_millis(10);

/// How many connections a pool has, and how many statements each carries at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    pub(crate) connections: usize,
    /// These carry all statements as long as they can; the others those that are slow, and all when these are
    /// full or held up. Equal to `connections` where there is no such difference.
    pub(crate) preferred: usize,
    pub(crate) pipeline_depth: u32,
    /// Opened at once; the others when those that are open are busy.
    pub(crate) opened_first: usize,
    /// Requests that may wait for a place in a pipeline; more are refused.
    pub(crate) max_waiting: usize,
}

pub(crate) struct Pool {
    opener: Opener,
    capacity: Capacity,
    places: RefCell<Vec<Place>>,
    /// Told when a place in a pipeline is free and when a connection opens or fails to open.
    changed: Notify,
    turns: Turns,
    waiting: Cell<usize>,
    last_error: RefCell<Option<String>>,
}

/// Smaller is better: the kind of connection first, then how many statements it carries.
type Rank = (Tier, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Preferred,
    Reserve,
    /// Its statement runs for longer than statements usually do.
    Stuck,
    /// A cancel request under way could hit the next statement.
    Cancelling,
}

/// Where a connection is or will be.
struct Place {
    state: State,
    /// Statements that were given this place.
    load: Rc<Load>,
    connector: JoinHandle<()>,
}

enum State {
    /// The first attempt since the start or since the connection broke.
    Connecting,
    Open(Rc<Link>),
    /// Attempts have failed and go on.
    Away,
    /// Given back to others of the process or to the server; opened again when it is needed.
    Closed,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connector.abort();
    }
}

/// The right to have one statement under way on a connection.
pub(crate) struct Permit {
    pub(crate) link: Rc<Link>,
    load: Rc<Load>,
    pub(crate) pace: Pace,
    pool: Weak<Pool>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.load.end(self.pace);
        if let Some(pool) = self.pool.upgrade()
            && pool.waiting.get() > 0
        {
            // Those whose turn it is, of which there are two at most.
            pool.changed.notify_waiters();
        }
    }
}

/// A connection that a statement may be given.
type Candidate<'p> = (Rank, &'p Place, &'p Rc<Link>);

/// What there is for a statement.
#[derive(Default)]
struct Candidates<'p> {
    best: Option<Candidate<'p>>,
    /// The best of those on which it would stand behind statements that may be slow.
    behind: Option<Candidate<'p>>,
    /// Whether there is an open connection without such statements, which has no room at present.
    has_full_lane: bool,
    /// Whether there is an open connection.
    is_open: bool,
}

/// Counts a waiting request as long as it waits.
struct Waiting<'a>(&'a Pool);

impl<'a> Waiting<'a> {
    fn begin(pool: &'a Pool) -> Self {
        pool.waiting.set(pool.waiting.get() + 1);
        pool.opener.target.counts.waiting.fetch_add(1, Relaxed);
        Self(pool)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
        self.0.opener.target.counts.waiting.fetch_sub(1, Relaxed);
    }
}

impl Pool {
    /// Must be called on the core's `LocalSet`.
    pub(crate) fn new(
        target: Arc<Target>,
        mode: PlanMode,
        capacity: Capacity,
        chores: mpsc::UnboundedSender<Chore>,
    ) -> Rc<Self> {
        let pool = Rc::new(Self {
            opener: Opener { target, mode, takes_statements_alone: capacity.pipeline_depth > 1, chores },
            capacity,
            places: RefCell::new(Vec::new()),
            changed: Notify::new(),
            turns: Turns::new(capacity.max_waiting),
            waiting: Cell::new(0),
            last_error: RefCell::new(None),
        });
        for _ in 0..capacity.opened_first.min(capacity.connections) {
            pool.add_place();
        }
        pool
    }

    /// Opens one connection more, where there may be one. A pool that has none waits for room; one that has some goes on with them.
    fn add_place(self: &Rc<Self>) {
        let slot = self.opener.target.budget.try_take();
        let mut places = self.places.borrow_mut();
        let is_open = |place: &Place| matches!(place.state, State::Open(_));
        if slot.is_none() && places.iter().any(is_open) {
            return;
        }
        let closed = places.iter().position(|place| matches!(place.state, State::Closed));
        let index = closed.unwrap_or(places.len());
        let connector = spawn_local(keep(Rc::downgrade(self), index, self.opener.clone(), slot));
        let place = Place { state: State::Connecting, load: Rc::default(), connector };
        match closed {
            Some(index) => places[index] = place,
            None => places.push(place),
        }
    }

    /// Whether there may be one connection more of this pool.
    fn has_room(&self, places: &[Place]) -> bool {
        places.len() < self.capacity.connections
            || places.iter().any(|place| matches!(place.state, State::Closed))
    }

    /// A place on the connection that suits best, when it is the client's turn.
    pub(crate) async fn acquire(
        self: &Rc<Self>,
        client: &RequestClient,
        pace: Pace,
    ) -> Result<Permit, Failure> {
        if self.turns.is_free(pace)
            && let Some(permit) = self.try_acquire(pace)?
        {
            return Ok(permit);
        }
        if self.waiting.get() >= self.capacity.max_waiting {
            return Err(self.too_many_wait());
        }
        let _counted = Waiting::begin(self);
        let span = begin_span(POOL_WAIT, SpanKind::Internal);
        let waited = timeout(MAX_WAIT, self.wait_for_place(client, pace)).await.unwrap_or_else(|_| {
            Err(self.overloaded(format!("waited {} s for a connection", MAX_WAIT.as_secs())))
        });
        end_span(span, waited.as_ref().err());
        waited
    }

    fn too_many_wait(&self) -> Failure {
        self.overloaded(format!("{} requests wait on this core already (max_waiting)", self.waiting.get()))
    }

    fn overloaded(&self, detail: String) -> Failure {
        self.opener.target.counts.refused.fetch_add(1, Relaxed);
        Failure::new(FailureKind::Overloaded, detail)
    }

    async fn wait_for_place(self: &Rc<Self>, client: &RequestClient, pace: Pace) -> Result<Permit, Failure> {
        let Some(_turn) = self.turns.next(pace, client.key()).await else { return Err(self.too_many_wait()) };
        loop {
            let changed = self.changed.notified();
            if let Some(permit) = self.try_acquire(pace)? {
                return Ok(permit);
            }
            changed.await;
        }
    }

    /// `None` where one has to wait; an error where waiting is pointless.
    fn try_acquire(self: &Rc<Self>, pace: Pace) -> Result<Option<Permit>, Failure> {
        let places = self.places.borrow();
        let is_growing = is_growing(&places);
        let may_grow = !is_growing && self.has_room(&places);
        let candidates = self.candidates(&places, pace);
        if let Some((rank, place, link)) = candidates.best {
            let permit = self.permit(place, link, pace);
            // It is used as it is; for the next ones there will be another.
            if may_grow && self.would_rather_have(rank, places.len()) {
                drop(places);
                self.add_place();
            }
            return Ok(Some(permit));
        }
        let is_hopeful = candidates.is_open || is_growing || self.has_room(&places);
        let is_away = !is_hopeful || all_away(&places);
        // Where others have connected since, the next attempt will most likely succeed, and is waited for.
        if is_away && self.opener.target.reachability.known().is_err() {
            return Err(self.unavailable());
        }
        drop(places);
        if may_grow {
            self.add_place();
        }
        Ok(self.try_acquire_behind(pace))
    }

    /// A place behind statements that may be slow, where no other can be had.
    fn try_acquire_behind(self: &Rc<Self>, pace: Pace) -> Option<Permit> {
        let places = self.places.borrow();
        let candidates = self.candidates(&places, pace);
        let (_, slot, link) = candidates.behind?;
        (!candidates.has_full_lane && !is_growing(&places)).then(|| self.permit(slot, link, pace))
    }

    fn candidates<'p>(&self, places: &'p [Place], pace: Pace) -> Candidates<'p> {
        let held = places.iter().filter(|place| place.load.is_held()).count();
        let mut found = Candidates::default();
        for (index, place) in places.iter().enumerate() {
            let State::Open(link) = &place.state else { continue };
            if link.is_closed() {
                continue;
            }
            found.is_open = true;
            // It ends when it is idle, and another one is opened in its place.
            if link.is_outdated() {
                continue;
            }
            let active = place.load.total();
            let rank = self.rank(index, active, link, pace);
            let admission = place.load.admits(pace, held, self.capacity.connections);
            if active >= self.capacity.pipeline_depth {
                found.has_full_lane |= admission == Admission::Yes;
                continue;
            }
            let known = match admission {
                Admission::Yes => &mut found.best,
                Admission::Behind => &mut found.behind,
                Admission::No => continue,
            };
            if known.is_none_or(|(least, _, _)| rank < least) {
                *known = Some((rank, place, link));
            }
        }
        found
    }

    fn permit(self: &Rc<Self>, slot: &Place, link: &Rc<Link>, pace: Pace) -> Permit {
        slot.load.begin(pace);
        Permit { link: Rc::clone(link), load: Rc::clone(&slot.load), pace, pool: Rc::downgrade(self) }
    }

    /// Whether the best of these many connections is one that a further connection would be better than.
    fn would_rather_have(&self, (tier, active): Rank, places: usize) -> bool {
        match tier {
            Tier::Preferred => active > 0 && places < self.capacity.preferred,
            Tier::Reserve | Tier::Stuck | Tier::Cancelling => true,
        }
    }

    fn rank(&self, index: usize, active: u32, link: &Link, pace: Pace) -> Rank {
        let tier = if link.is_cancelling() {
            Tier::Cancelling
        } else if link.busy_for().is_some_and(|busy| busy > STUCK) {
            Tier::Stuck
        } else if (index < self.capacity.preferred) == (pace == Pace::Slow) {
            Tier::Reserve
        } else {
            Tier::Preferred
        };
        (tier, active)
    }

    fn unavailable(&self) -> Failure {
        let reason = self.last_error.borrow().clone();
        Failure::new(FailureKind::Unavailable, reason.unwrap_or_else(|| "no connection".into()))
    }

    /// Whether a connection is open, with the last error where none is; where all were given back, what other connections have met.
    pub(crate) fn known_health(&self) -> Result<(), String> {
        let places = self.places.borrow();
        let is_open = |place: &Place| matches!(&place.state, State::Open(link) if !link.is_closed());
        if places.iter().any(is_open) {
            return Ok(());
        }
        if all_closed(&places) {
            return self.opener.target.reachability.known();
        }
        Err(self.last_error.borrow().clone().unwrap_or_else(|| "connecting".into()))
    }

    /// As [`Self::known_health`]; where all connections were given back and nobody has tried to connect for a while, it is tried now.
    pub(crate) async fn health(&self) -> Result<(), String> {
        let target = &self.opener.target;
        let is_given_back = all_closed(&self.places.borrow());
        if is_given_back
            && let Some(slot) = target.budget.try_take()
            && target.reachability.begin_probe(Instant::now())
        {
            let probe = spawn_local(self.opener.clone().probe(slot));
            // It goes on where nobody waits for it any more, and is known the next time.
            let _ended = timeout(PROBE_WAIT, probe).await;
        }
        self.known_health()
    }

    fn attempt_failed(&self, index: usize, reason: String) {
        self.opener.target.attempted(Some(&reason));
        if self.last_error.borrow().as_ref() != Some(&reason) {
            tracing::warn!(database = %self.opener.target.description, %reason, "cannot connect");
        }
        *self.last_error.borrow_mut() = Some(reason);
        self.set_state(index, State::Away);
    }

    fn has_open(&self) -> bool {
        self.places.borrow().iter().any(|place| matches!(place.state, State::Open(_)))
    }

    fn opened(&self, index: usize, link: Rc<Link>) {
        self.opener.target.attempted(None);
        *self.last_error.borrow_mut() = None;
        self.set_state(index, State::Open(link));
    }

    fn set_state(&self, index: usize, state: State) {
        if let Some(place) = self.places.borrow_mut().get_mut(index) {
            place.state = state;
        }
        self.changed.notify_waiters();
    }
}

fn is_growing(places: &[Place]) -> bool {
    places.iter().any(|place| matches!(place.state, State::Connecting))
}

fn all_closed(places: &[Place]) -> bool {
    places.iter().all(|place| matches!(place.state, State::Closed))
}

fn all_away(places: &[Place]) -> bool {
    !places.is_empty() && places.iter().all(|place| matches!(place.state, State::Away))
}

/// Keeps one place connected until the pool is gone or the place is given back.
async fn keep(pool: Weak<Pool>, index: usize, opener: Opener, mut slot: Option<Slot>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(room) = room(&pool, &opener, slot.take()).await else {
            if let Some(pool) = pool.upgrade() {
                pool.set_state(index, State::Closed);
            }
            return;
        };
        match opener.open(room).await {
            Ok((link, connection)) => {
                let opened_at = Instant::now();
                let watched = Rc::downgrade(&link);
                let Some(strong) = pool.upgrade() else { return };
                strong.opened(index, link);
                drop(strong);
                let ended = watch(&watched, &opener.target, connection).await;
                let Some(strong) = pool.upgrade() else { return };
                if ended == Ended::GivenBack {
                    return strong.set_state(index, State::Closed);
                }
                strong.set_state(index, State::Connecting);
                drop(strong);
                if opened_at.elapsed() > LAST_PAUSE {
                    pause = FIRST_PAUSE;
                    continue;
                }
            }
            Err(reason) => {
                let Some(strong) = pool.upgrade() else { return };
                strong.attempt_failed(index, reason);
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Room for a connection: at once, or when others give some back for the requests that wait here. `None` where nobody waits, or where
/// the pool has another connection.
async fn room(pool: &Weak<Pool>, opener: &Opener, slot: Option<Slot>) -> Option<Slot> {
    let budget = &opener.target.budget;
    if let Some(slot) = slot.or_else(|| budget.try_take()) {
        return Some(slot);
    }
    let starving = budget.starve();
    loop {
        let strong = pool.upgrade()?;
        let is_needed = strong.waiting.get() > 0 && !strong.has_open();
        drop(strong);
        if !is_needed {
            return None;
        }
        sleep(STARVING_PAUSE).await;
        if let Some(slot) = budget.try_take() {
            drop(starving);
            return Some(slot);
        }
    }
}
