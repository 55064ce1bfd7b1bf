//! The connections of one core to one database in one mode of planning: opened, chosen by load, re-opened
//! when they break. Requests never hang on it: waiting is bounded in number and time, and while the database
//! is away they are told so at once.

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

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
        opener::{Ended, Opener, watch},
        spans::end_span,
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
    active: Rc<Cell<u32>>,
    connector: JoinHandle<()>,
}

enum State {
    /// The first attempt since the start or since the connection broke.
    Connecting,
    Open(Rc<Link>),
    /// Attempts have failed and go on.
    Away,
    /// Given back to others of the process; opened again when it is needed.
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
    active: Rc<Cell<u32>>,
    pool: Weak<Pool>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.active.set(self.active.get() - 1);
        if let Some(pool) = self.pool.upgrade()
            && pool.waiting.get() > 0
        {
            pool.changed.notify_one();
        }
    }
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
        let place = Place { state: State::Connecting, active: Rc::new(Cell::new(0)), connector };
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

    /// A place on the connection that suits best; `is_slow` says that the statement would hold up others.
    pub(crate) async fn acquire(self: &Rc<Self>, is_slow: bool) -> Result<Permit, Failure> {
        if self.waiting.get() == 0
            && let Some(permit) = self.try_acquire(is_slow)?
        {
            return Ok(permit);
        }
        if self.waiting.get() >= self.capacity.max_waiting {
            let detail = format!("{} requests wait on this core already (max_waiting)", self.waiting.get());
            return Err(self.overloaded(detail));
        }
        let _counted = Waiting::begin(self);
        let span = begin_span(POOL_WAIT, SpanKind::Internal);
        let waited = timeout(MAX_WAIT, self.wait_for_place(is_slow)).await.unwrap_or_else(|_| {
            Err(self.overloaded(format!("waited {} s for a connection", MAX_WAIT.as_secs())))
        });
        end_span(span, waited.as_ref().err());
        waited
    }

    fn overloaded(&self, detail: String) -> Failure {
        self.opener.target.counts.refused.fetch_add(1, Relaxed);
        Failure::new(FailureKind::Overloaded, detail)
    }

    async fn wait_for_place(self: &Rc<Self>, is_slow: bool) -> Result<Permit, Failure> {
        loop {
            let changed = self.changed.notified();
            if let Some(permit) = self.try_acquire(is_slow)? {
                return Ok(permit);
            }
            changed.await;
        }
    }

    /// `None` where one has to wait; an error where waiting is pointless.
    fn try_acquire(self: &Rc<Self>, is_slow: bool) -> Result<Option<Permit>, Failure> {
        let mut best: Option<(Rank, &Place, &Rc<Link>)> = None;
        let places = self.places.borrow();
        let mut is_hopeful = self.has_room(&places);
        let is_growing = places.iter().any(|place| matches!(place.state, State::Connecting));
        is_hopeful |= is_growing;
        for (index, place) in places.iter().enumerate() {
            let State::Open(link) = &place.state else { continue };
            if link.is_closed() {
                continue;
            }
            is_hopeful = true;
            // It ends when it is idle, and another one is opened in its place.
            if link.is_outdated() {
                continue;
            }
            let rank = self.rank(index, place.active.get(), link, is_slow);
            let is_full = place.active.get() >= self.capacity.pipeline_depth;
            if !is_full && best.is_none_or(|(least, _, _)| rank < least) {
                best = Some((rank, place, link));
            }
        }
        if let Some((rank, place, link)) = best {
            place.active.set(place.active.get() + 1);
            let permit =
                Permit { link: Rc::clone(link), active: Rc::clone(&place.active), pool: Rc::downgrade(self) };
            // It is used as it is; for the next ones there will be another.
            if self.would_rather_have(rank, places.len()) && !is_growing && self.has_room(&places) {
                drop(places);
                self.add_place();
            }
            return Ok(Some(permit));
        }
        if !is_hopeful || all_away(&places) {
            return Err(self.unavailable());
        }
        drop(places);
        let has_room = self.has_room(&self.places.borrow());
        if !is_growing && has_room {
            self.add_place();
        }
        Ok(None)
    }

    /// Whether the best of these many connections is one that a further connection would be better than.
    fn would_rather_have(&self, (tier, active): Rank, places: usize) -> bool {
        match tier {
            Tier::Preferred => active > 0 && places < self.capacity.preferred,
            Tier::Reserve | Tier::Stuck | Tier::Cancelling => true,
        }
    }

    fn rank(&self, index: usize, active: u32, link: &Link, is_slow: bool) -> Rank {
        let tier = if link.is_cancelling() {
            Tier::Cancelling
        } else if link.busy_for().is_some_and(|busy| busy > STUCK) {
            Tier::Stuck
        } else if (index < self.capacity.preferred) == is_slow {
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
