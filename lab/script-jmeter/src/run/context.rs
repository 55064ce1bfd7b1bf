//! What texts, scripts and conditions see while a user runs.

use crate::js::Engine;
use crate::run::result::SampleResult;
use crate::run::shared::{Shared, Variables};
use compact_str::CompactString;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// With the place from which functions in it are counted.
pub(crate) type EvaluateText = fn(&str, u32, &mut Context<'_>) -> String;

/// What one evaluation sees.
pub(crate) struct Context<'a> {
    pub(crate) vars: &'a mut Variables,
    pub(crate) thread: &'a mut ThreadState,
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) engine: &'a Engine,
    /// Reads a text that is made while the run goes, and evaluates it.
    pub(crate) evaluate_text: EvaluateText,
}

/// What a counter has given a user last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) value: i64,
    /// The pass of the group's loop in which it was given.
    pub(crate) iteration: u64,
}

/// What belongs to one user beside its variables.
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// The name of its group.
    pub(crate) group: Arc<str>,
    /// Within its group, from 1.
    pub(crate) number: u32,
    /// As samples carry it: `Thread Group 1-1`.
    pub(crate) name: Arc<str>,
    pub(crate) random: ChaCha8Rng,
    /// By the place of a `__counter`.
    pub(crate) counters: FxHashMap<u32, i64>,
    /// By the place of a Counter that counts for each user.
    pub(crate) counts: FxHashMap<u32, Count>,
    /// By the name of a file of `__CSVRead`.
    pub(crate) rows: FxHashMap<String, Vec<String>>,
    pub(crate) previous: Option<Arc<SampleResult>>,
    /// The name of the sampler that runs.
    pub(crate) sampler: CompactString,
    /// The variable that JMeter keeps the passes of its group in.
    pub(crate) index_name: String,
    /// Passes of the group's loop, from 1.
    pub(crate) iteration: u64,
}

impl ThreadState {
    /// As another thread of the same name begins, which knows nothing of the one before; chance goes on.
    pub(crate) fn begin_anew(&mut self) {
        self.counters.clear();
        self.counts.clear();
        self.rows.clear();
        self.previous = None;
        self.iteration = 0;
    }
}
