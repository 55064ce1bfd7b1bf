//! The connections of one core to one database in one mode of planning: opened, chosen by load, re-opened
//! when they break. Requests never hang on it: waiting is bounded in number and time, and while the database
//! is away they are told so at once.

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Notify, mpsc},
    task::{JoinHandle, spawn_local},
    time::{sleep, timeout},
};
use tokio_postgres::NoTls;

use crate::{
    connect::{
        config::{PlanMode, Target},
        link::{Chore, Link},
    },
    error::{Failure, FailureKind, describe},
};

/// Requests of one core that may wait for a place in a pipeline.
const MAX_WAITING: usize = 16_384;
/// The longest wait for a place; statements before it are bounded by their own time limit.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Pauses between attempts to connect: the first, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// How often a connection is looked at for silence.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// A backend that is silent for this much longer than a statement may run is taken to be gone.
const SILENCE_GRACE: Duration = Duration::from_secs(5);

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
    /// Opened at once; the others when all that are open are full.
    pub(crate) opened_first: usize,
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
struct Waiting<'a>(&'a Cell<usize>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
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
            opener: Opener { target, mode, chores },
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

    fn add_place(self: &Rc<Self>) {
        let mut places = self.places.borrow_mut();
        let connector = spawn_local(keep(Rc::downgrade(self), places.len(), self.opener.clone()));
        places.push(Place { state: State::Connecting, active: Rc::new(Cell::new(0)), connector });
    }

    /// A place on the connection that suits best; `is_slow` says that the statement would hold up others.
    pub(crate) async fn acquire(self: &Rc<Self>, is_slow: bool) -> Result<Permit, Failure> {
        if self.waiting.get() == 0
            && let Some(permit) = self.try_acquire(is_slow)?
        {
            return Ok(permit);
        }
        if self.waiting.get() >= MAX_WAITING {
            let detail = format!("{MAX_WAITING} requests wait on this core already");
            return Err(Failure::new(FailureKind::Overloaded, detail));
        }
        self.waiting.set(self.waiting.get() + 1);
        let _counted = Waiting(&self.waiting);
        timeout(MAX_WAIT, self.wait_for_place(is_slow)).await.unwrap_or_else(|_| {
            let detail = format!("waited {} s for a connection", MAX_WAIT.as_secs());
            Err(Failure::new(FailureKind::Overloaded, detail))
        })
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
        let mut is_hopeful = places.len() < self.capacity.connections;
        let is_growing = places.iter().any(|place| matches!(place.state, State::Connecting));
        is_hopeful |= is_growing;
        for (index, place) in places.iter().enumerate() {
            let State::Open(link) = &place.state else { continue };
            if link.is_closed() {
                continue;
            }
            is_hopeful = true;
            let rank = self.rank(index, place.active.get(), link, is_slow);
            let is_full = place.active.get() >= self.capacity.pipeline_depth;
            if !is_full && best.is_none_or(|(least, _, _)| rank < least) {
                best = Some((rank, place, link));
            }
        }
        if let Some((_, place, link)) = best {
            place.active.set(place.active.get() + 1);
            return Ok(Some(Permit {
                link: Rc::clone(link),
                active: Rc::clone(&place.active),
                pool: Rc::downgrade(self),
            }));
        }
        if !is_hopeful || all_away(&places) {
            return Err(self.unavailable());
        }
        drop(places);
        if !is_growing && self.places.borrow().len() < self.capacity.connections {
            self.add_place();
        }
        Ok(None)
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

    /// Whether a connection is open, with the last error where none is.
    pub(crate) fn health(&self) -> Result<(), String> {
        let places = self.places.borrow();
        let is_open = |place: &Place| matches!(&place.state, State::Open(link) if !link.is_closed());
        if places.iter().any(is_open) {
            return Ok(());
        }
        Err(self.last_error.borrow().clone().unwrap_or_else(|| "connecting".into()))
    }

    fn attempt_failed(&self, index: usize, reason: String) {
        if self.last_error.borrow().as_ref() != Some(&reason) {
            tracing::warn!(database = %self.opener.target.description, %reason, "cannot connect");
        }
        *self.last_error.borrow_mut() = Some(reason);
        self.set_state(index, State::Away);
    }

    fn set_state(&self, index: usize, state: State) {
        if let Some(place) = self.places.borrow_mut().get_mut(index) {
            place.state = state;
        }
        self.changed.notify_waiters();
    }
}

fn all_away(places: &[Place]) -> bool {
    !places.is_empty() && places.iter().all(|place| matches!(place.state, State::Away))
}

/// Keeps one place connected until the pool is gone.
async fn keep(pool: Weak<Pool>, index: usize, opener: Opener) {
    let mut pause = FIRST_PAUSE;
    loop {
        match opener.open().await {
            Ok((link, connection)) => {
                let opened_at = Instant::now();
                let watched = Rc::downgrade(&link);
                let Some(strong) = pool.upgrade() else { return };
                strong.set_state(index, State::Open(link));
                drop(strong);
                watch(&watched, connection).await;
                let Some(strong) = pool.upgrade() else { return };
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

type ConnectionTask = JoinHandle<Result<(), tokio_postgres::Error>>;

/// Opens connections of one pool.
#[derive(Clone)]
struct Opener {
    target: Arc<Target>,
    mode: PlanMode,
    chores: mpsc::UnboundedSender<Chore>,
}

impl Opener {
    /// Opens a connection and sets its session up, within a bound.
    async fn open(&self) -> Result<(Rc<Link>, ConnectionTask), String> {
        let limit = self.target.attempt_limit();
        timeout(limit, self.attempt())
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
    }

    async fn attempt(&self) -> Result<(Rc<Link>, ConnectionTask), String> {
        let (client, connection) =
            self.target.config.connect(NoTls).await.map_err(|error| describe(&error))?;
        let task = spawn_local(connection);
        let statement_timeout = Duration::from_millis(self.target.statement_timeout_ms.into());
        let link = Rc::new(Link::new(client, statement_timeout, self.chores.clone()));
        let setup = self.target.session_setup(self.mode);
        link.batch(&setup).await.map_err(|failure| failure.detail.unwrap_or_default())?;
        Ok((link, task))
    }
}

/// Returns when the connection has ended, and ends it itself when the backend stays silent.
async fn watch(link: &Weak<Link>, mut connection: ConnectionTask) {
    loop {
        match timeout(WATCH_INTERVAL, &mut connection).await {
            Ok(Ok(Err(error))) => return tracing::warn!(reason = %describe(&error), "connection lost"),
            Ok(_) => return,
            Err(_) => {
                let silence = link.upgrade().and_then(|link| link.overdue());
                if silence.is_some_and(|overdue| overdue > SILENCE_GRACE) {
                    tracing::warn!("the database does not answer; closing the connection");
                    connection.abort();
                    return;
                }
            }
        }
    }
}
