//! Caches bounded in bytes: operations by text and name, plans by operation and shape of the variables. A hit
//! copies nothing but a reference count. What is refused is kept too, without its text and in little room, so that who sends
//! it again and again does not have it parsed each time.

use std::{
    fmt,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use apollo_compiler::Name;
use quick_cache::{DefaultHashBuilder, Equivalent, Lifecycle, OptionsBuilder, Weighter, sync};
use serde_json::Value as Json;

use crate::{
    document::{Operation, OperationId},
    error::GraphqlError,
    selection::{Field, Selection, Step, Value},
    variables::shape::Shape,
};

/// Bytes that a kept value occupies; an estimate is enough, if it grows with the value.
pub trait Weight {
    fn weight_bytes(&self) -> usize;
}

impl Weight for Operation {
    fn weight_bytes(&self) -> usize {
        Operation::weight_bytes(self)
    }
}

impl Weight for Selection {
    fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.fields.iter().map(field_bytes).sum::<usize>()
    }
}

/// Names are counted by their references: their texts are the operation's and the schema's.
fn field_bytes(field: &Field) -> usize {
    let arguments = field.arguments.iter().map(|(_, value)| size_of::<Name>() + value_bytes(value));
    size_of::<Field>() + arguments.sum::<usize>() + field.selections.iter().map(field_bytes).sum::<usize>()
}

fn value_bytes(value: &Value) -> usize {
    /// For texts and numbers; JSON literals are rarely larger.
    const SCALAR_BYTES: usize = 64;
    let inner = match value {
        Value::Null | Value::Boolean(_) | Value::Enum(_) => 0,
        Value::Scalar(Json::String(text)) => text.len(),
        Value::Scalar(_) => SCALAR_BYTES,
        Value::Slot(slot) => slot.path.len() * size_of::<Step>(),
        Value::List(items) => items.iter().map(value_bytes).sum(),
        Value::Object(entries) => {
            entries.iter().map(|(_, value)| size_of::<Name>() + value_bytes(value)).sum()
        }
    };
    size_of::<Value>() + inner
}

/// An entry may take this share of a cache, at most; larger ones are not kept, so that one request cannot
/// push out all others.
pub const MAX_ENTRY_SHARE: usize = 32;

/// Shards of a cache. A power of two, smaller than [`MAX_ENTRY_SHARE`], so that any entry that may be kept
/// fits several times in its shard.
const SHARDS: usize = 8;

/// Bytes of what was refused that are kept, at most: about a thousand usual refusals.
const REFUSALS_BYTES: usize = 512 << 10;

/// What a cache did since it was made, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    pub hits: u64,
    pub misses: u64,
    /// Entries pushed out by others.
    pub evicted: u64,
    /// Entries refused because of their size.
    pub oversized: u64,
    pub entries: u64,
    pub bytes: u64,
}

/// Operations and plans of one schema. It is dropped as a whole when the schema changes.
pub struct Cache<P> {
    operations: Bounded<OperationKey, Operation>,
    refusals: Bounded<RefusalKey, Refusal>,
    /// Nobody outside knows their keys, and can find two texts of one hash.
    hashers: [RandomState; 2],
    plans: Bounded<PlanKey, P>,
}

impl<P: Weight> Cache<P> {
    /// Both parts hold at most so many bytes.
    pub fn new(max_operation_bytes: usize, max_plan_bytes: usize) -> Self {
        Self {
            operations: Bounded::new(max_operation_bytes),
            refusals: Bounded::new(REFUSALS_BYTES.min(max_operation_bytes)),
            hashers: [RandomState::new(), RandomState::new()],
            plans: Bounded::new(max_plan_bytes),
        }
    }

    /// The operation of a text, or why it is refused: as it is kept, or as `parse` says, which must say the same of the same text and
    /// name each time.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn find_operation(
        &self,
        text: &str,
        operation_name: Option<&str>,
        parse: impl FnOnce() -> Result<Operation, Vec<GraphqlError>>,
    ) -> Result<Arc<Operation>, Vec<GraphqlError>> {
        if let Some(known) = self.operation(text, operation_name) {
            return Ok(known);
        }
        let query = OperationQuery { text, name: operation_name };
        // Where nothing is refused, no text is hashed for it.
        if !self.refusals.cache.is_empty()
            && let Some(known) = self.refusals.get(&self.refusal_key(&query))
        {
            return Err(known.0.to_vec());
        }
        match parse() {
            Ok(operation) => Ok(self.insert_operation(text, operation_name, operation)),
            Err(errors) => {
                self.refusals.insert(self.refusal_key(&query), Refusal(errors.as_slice().into()));
                Err(errors)
            }
        }
    }

    fn refusal_key(&self, query: &OperationQuery<'_>) -> RefusalKey {
        RefusalKey { hashes: self.hashers.each_ref().map(|hasher| hasher.hash_one(query)) }
    }

    pub fn operation(&self, text: &str, operation_name: Option<&str>) -> Option<Arc<Operation>> {
        self.operations.get(&OperationQuery { text, name: operation_name })
    }

    /// Keeps an operation, where it is not too large, and gives it back shared.
    pub fn insert_operation(
        &self,
        text: &str,
        operation_name: Option<&str>,
        operation: Operation,
    ) -> Arc<Operation> {
        let key = OperationKey { text: text.into(), name: operation_name.map(Into::into) };
        self.operations.insert(key, operation)
    }

    pub fn plan(&self, operation: OperationId, shape: &Shape) -> Option<Arc<P>> {
        self.plans.get(&PlanQuery { operation, shape })
    }

    /// Keeps a plan, where it is not too large, and gives it back shared.
    pub fn insert_plan(&self, operation: OperationId, shape: Shape, plan: P) -> Arc<P> {
        self.plans.insert(PlanKey { operation, shape }, plan)
    }

    pub fn refusal_statistics(&self) -> CacheStatistics {
        self.refusals.statistics()
    }

    pub fn operation_statistics(&self) -> CacheStatistics {
        self.operations.statistics()
    }

    pub fn plan_statistics(&self) -> CacheStatistics {
        self.plans.statistics()
    }
}

impl<P> fmt::Debug for Cache<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cache")
            .field("operations", &self.operations.counters)
            .field("refusals", &self.refusals.counters)
            .field("plans", &self.plans.counters)
            .finish_non_exhaustive()
    }
}

struct OperationKey {
    text: Box<str>,
    name: Option<Box<str>>,
}

impl PartialEq for OperationKey {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.name == other.name
    }
}

impl Eq for OperationKey {}

impl Hash for OperationKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        OperationQuery { text: &self.text, name: self.name.as_deref() }.hash(state);
    }
}

impl Weight for OperationKey {
    fn weight_bytes(&self) -> usize {
        self.text.len() + self.name.as_ref().map_or(0, |name| name.len())
    }
}

/// A borrowed [`OperationKey`].
#[derive(Hash)]
struct OperationQuery<'a> {
    text: &'a str,
    name: Option<&'a str>,
}

impl Equivalent<OperationKey> for OperationQuery<'_> {
    fn equivalent(&self, key: &OperationKey) -> bool {
        *self.text == *key.text && self.name == key.name.as_deref()
    }
}

/// Of a text and a name, which may be long: 128 bits of hashes are as good.
#[derive(PartialEq, Eq, Hash)]
struct RefusalKey {
    hashes: [u64; 2],
}

impl Weight for RefusalKey {
    fn weight_bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// Why a text is refused.
struct Refusal(Box<[GraphqlError]>);

impl Weight for Refusal {
    fn weight_bytes(&self) -> usize {
        /// For places, paths and extensions, which are few.
        const OTHERS_BYTES: usize = 256;
        let messages = self.0.iter().map(|error| error.message.len());
        self.0.len() * (size_of::<GraphqlError>() + OTHERS_BYTES) + messages.sum::<usize>()
    }
}

#[derive(PartialEq, Eq, Hash)]
struct PlanKey {
    operation: OperationId,
    shape: Shape,
}

impl Weight for PlanKey {
    fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.shape.len()
    }
}

/// A borrowed [`PlanKey`].
#[derive(Hash)]
struct PlanQuery<'a> {
    operation: OperationId,
    shape: &'a Shape,
}

impl Equivalent<PlanKey> for PlanQuery<'_> {
    fn equivalent(&self, key: &PlanKey) -> bool {
        self.operation == key.operation && *self.shape == key.shape
    }
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    evicted: AtomicU64,
    oversized: AtomicU64,
}

/// Weighs an entry with its key and what the cache itself needs for it.
#[derive(Clone)]
struct ByBytes;

fn entry_bytes<K: Weight, V: Weight>(key: &K, value: &V) -> usize {
    const OVERHEAD: usize = 128;
    key.weight_bytes() + value.weight_bytes() + OVERHEAD
}

impl<K: Weight, V: Weight> Weighter<K, Arc<V>> for ByBytes {
    fn weight(&self, key: &K, value: &Arc<V>) -> u64 {
        entry_bytes(key, &**value) as u64
    }
}

/// Counts what is pushed out.
#[derive(Clone)]
struct CountEvictions(Arc<Counters>);

impl<K, V> Lifecycle<K, V> for CountEvictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _key: K, _value: V) {
        self.0.evicted.fetch_add(1, Relaxed);
    }
}

struct Bounded<K, V> {
    cache: sync::Cache<K, Arc<V>, ByBytes, DefaultHashBuilder, CountEvictions>,
    counters: Arc<Counters>,
    max_entry_bytes: usize,
    inserting: Mutex<()>,
}

impl<K: Weight + Hash + Eq, V: Weight> Bounded<K, V> {
    fn new(max_bytes: usize) -> Self {
        /// Only sizes the table of recently evicted keys.
        const USUAL_ENTRY_BYTES: usize = 8 << 10;
        let counters = Arc::new(Counters::default());
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity((max_bytes / USUAL_ENTRY_BYTES).max(SHARDS * MAX_ENTRY_SHARE))
            .weight_capacity(max_bytes as u64)
            .build()
            .expect("both capacities are given");
        let lifecycle = CountEvictions(Arc::clone(&counters));
        Self {
            cache: sync::Cache::with_options(options, ByBytes, DefaultHashBuilder::default(), lifecycle),
            counters,
            max_entry_bytes: max_bytes / MAX_ENTRY_SHARE,
            inserting: Mutex::new(()),
        }
    }

    fn get<Q: Hash + Equivalent<K>>(&self, query: &Q) -> Option<Arc<V>> {
        let found = self.cache.get(query);
        let counter = if found.is_some() { &self.counters.hits } else { &self.counters.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    /// Where another thread was first, its value: those who ask the same have the same.
    fn insert(&self, key: K, value: V) -> Arc<V> {
        let value = Arc::new(value);
        if entry_bytes(&key, &*value) > self.max_entry_bytes {
            self.counters.oversized.fetch_add(1, Relaxed);
            return value;
        }
        let _one_at_a_time = self.inserting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.cache.peek(&key) {
            return known;
        }
        self.cache.insert(key, Arc::clone(&value));
        value
    }

    fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.counters.hits.load(Relaxed),
            misses: self.counters.misses.load(Relaxed),
            evicted: self.counters.evicted.load(Relaxed),
            oversized: self.counters.oversized.load(Relaxed),
            entries: self.cache.len() as u64,
            bytes: self.cache.weight(),
        }
    }
}
