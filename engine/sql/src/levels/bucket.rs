//! Merges fetches of the same level that concurrent operations of one core make at about the same time into
//! one statement. It knows keys and rows, no dialect.
//!
//! The bucket's future is shared by all who joined it: whichever is polled drives it, so an operation that is
//! dropped takes nothing from the others, and no task is spawned.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt,
    future::{LocalBoxFuture, Shared, WeakShared},
};
use prony_graphql::{error::GraphqlError, variables::Variables};

use crate::levels::{Fetch, Fetched, Key, LevelRows, MergeKey};

/// A bucket closes at this many distinct keys, so that one statement stays short.
const MAX_KEYS: usize = 4096;

/// A bucket waits at most this long for more keys.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// A bucket closes when the core has run all other ready tasks this many times and none brought a key.
const IDLE_ROUNDS: u32 = 3;

type Outcome = Result<Rc<LevelRows>, GraphqlError>;

/// The open buckets of one core.
#[derive(Debug, Default)]
pub struct Gatherer {
    open: RefCell<HashMap<MergeKey, Bucket>>,
    /// Tells a bucket from an earlier one with the same merge key.
    next_bucket: Cell<u64>,
}

#[derive(Debug)]
struct Bucket {
    number: u64,
    keys: Rc<RefCell<Keys>>,
    /// Weak, so that a bucket which everybody left is dropped.
    outcome: WeakShared<LocalBoxFuture<'static, Outcome>>,
}

#[derive(Debug, Default)]
struct Keys {
    list: Vec<Key>,
    places: HashMap<Key, u32>,
    /// How many fetches have joined; tells the bucket whether anyone came.
    joined: u32,
}

impl Keys {
    fn join(&mut self, keys: &[Key]) -> Box<[u32]> {
        self.joined += 1;
        keys.iter().map(|key| self.place(key)).collect()
    }

    fn place(&mut self, key: &Key) -> u32 {
        if let Some(&place) = self.places.get(key) {
            return place;
        }
        let place = self.list.len() as u32;
        self.list.push(key.clone());
        self.places.insert(key.clone(), place);
        place
    }
}

impl Gatherer {
    /// As [`Fetch::fetch`], sharing the statement with whoever asks for the same in the next moment.
    pub(super) async fn fetch<F: Fetch>(
        self: &Rc<Self>,
        fetch: &F,
        level: usize,
        keys: &[Key],
        variables: &Rc<Variables>,
    ) -> Result<Fetched, GraphqlError> {
        let merge_key = fetch.merge_key(level, variables)?;
        let (places, outcome) = self.join(fetch, level, keys, variables, merge_key);
        let rows = outcome.await?;
        Ok(Fetched { rows, places: Some(places) })
    }

    fn join<F: Fetch>(
        self: &Rc<Self>,
        fetch: &F,
        level: usize,
        keys: &[Key],
        variables: &Rc<Variables>,
        merge_key: MergeKey,
    ) -> (Box<[u32]>, Shared<LocalBoxFuture<'static, Outcome>>) {
        let mut open = self.open.borrow_mut();
        if let Some(bucket) = open.get(&merge_key)
            && let Some(outcome) = bucket.outcome.upgrade()
        {
            let mut known = bucket.keys.borrow_mut();
            if known.list.len() < MAX_KEYS {
                return (known.join(keys), outcome);
            }
        }
        let number = self.next_bucket.get();
        self.next_bucket.set(number + 1);
        let gathered = Rc::new(RefCell::new(Keys::default()));
        let places = gathered.borrow_mut().join(keys);
        let closing = Closing { gatherer: Rc::clone(self), merge_key: merge_key.clone(), number };
        let run = run(fetch.clone(), level, Rc::clone(&gathered), Rc::clone(variables), closing);
        let outcome = run.boxed_local().shared();
        let weak = outcome.downgrade().expect("a future that was never polled has not completed");
        open.insert(merge_key, Bucket { number, keys: gathered, outcome: weak });
        (places, outcome)
    }
}

/// Takes its bucket from the open ones when the statement starts, or when all who joined are gone.
struct Closing {
    gatherer: Rc<Gatherer>,
    merge_key: MergeKey,
    number: u64,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut open = self.gatherer.open.borrow_mut();
        if open.get(&self.merge_key).is_some_and(|bucket| bucket.number == self.number) {
            open.remove(&self.merge_key);
        }
    }
}

async fn run<F: Fetch>(
    fetch: F,
    level: usize,
    keys: Rc<RefCell<Keys>>,
    variables: Rc<Variables>,
    closing: Closing,
) -> Outcome {
    wait_for_more(&keys).await;
    drop(closing);
    let list: Arc<[Key]> = std::mem::take(&mut keys.borrow_mut().list).into();
    fetch.fetch(level, list, variables).await
}

async fn wait_for_more(keys: &RefCell<Keys>) {
    let started = Instant::now();
    let mut seen = keys.borrow().joined;
    let mut idle = 0;
    while idle < IDLE_ROUNDS && started.elapsed() < MAX_WAIT {
        tokio::task::yield_now().await;
        let (joined, full) = {
            let keys = keys.borrow();
            (keys.joined, keys.list.len() >= MAX_KEYS)
        };
        if full {
            return;
        }
        idle = if joined == seen { idle + 1 } else { 0 };
        seen = joined;
    }
}
