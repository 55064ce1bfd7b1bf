//! A transaction under way, and the sample that it ends as.

use crate::plan::Assertion;
use crate::run::result::SampleResult;
use compact_str::{CompactString, format_compact};
use prony_model::Nanos;
use std::iter;
use std::mem;
use std::sync::Arc;

/// Samples that a parent sample keeps; those of a longer transaction are counted and not written.
const KEPT_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) name: CompactString,
    /// Its samples are part of it, and no rows of their own before it.
    pub(crate) is_parent: bool,
    pub(crate) listeners: Arc<[usize]>,
    /// Those that judge it where it is a parent.
    pub(crate) assertions: Arc<[Arc<Assertion>]>,
    includes_timers: bool,
    start: Nanos,
    last_end: Nanos,
    /// Between samples: timers and what goes on before and after samples.
    pauses: Nanos,
    calls: u64,
    /// Children that were over, or passed over, since its last sampler.
    children_over: u64,
    failing: u64,
    /// Of the first that failed, or else of the last.
    code: CompactString,
    bytes: u64,
    sent_bytes: u64,
    latency: Nanos,
    connect: Nanos,
    kept: Vec<SampleResult>,
}

impl Transaction {
    pub(crate) fn new(name: CompactString, now: Nanos, is_parent: bool, includes_timers: bool) -> Self {
        Self { name, is_parent, includes_timers, start: now, last_end: now, ..Self::default() }
    }

    /// A sample within it is over.
    pub(crate) fn take(&mut self, sample: &SampleResult) {
        self.pauses = self.pauses.plus(sample.start.since(self.last_end)).plus(sample.idle);
        self.last_end = self.last_end.max(sample.end);
        self.calls += u64::from(self.is_parent);
        if self.failing == 0 {
            self.code.clone_from(&sample.code);
        }
        self.failing += u64::from(!sample.is_success);
        self.bytes += sample.bytes;
        self.sent_bytes += sample.sent_bytes;
        self.latency = self.latency.plus(sample.latency);
        self.connect = self.connect.plus(sample.connect);
    }

    /// A sampler within it is next. Of one that is no parent JMeter counts how often its controller gives something to run: samplers
    /// without a sample too, and once more for each child that was over before.
    pub(crate) fn note_sampler(&mut self) {
        let over = mem::take(&mut self.children_over);
        if !self.is_parent {
            self.calls += 1 + over;
        }
    }

    /// A controller right below it is over, or was passed over.
    pub(crate) fn note_child_over(&mut self) {
        self.children_over += 1;
    }

    /// A parent of samples within it is over, which JMeter's controller gives once more.
    pub(crate) fn note_parent_over(&mut self) {
        self.calls += 1;
    }

    /// Keeps a sample that is written after it, with its parts.
    pub(crate) fn keep(&mut self, sample: SampleResult, parts: Vec<SampleResult>) {
        let room = KEPT_MAX.saturating_sub(self.kept.len());
        let sample = SampleResult { own_parts: parts.len(), ..sample };
        self.kept.extend(iter::once(sample).chain(parts).take(room));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// The sample that a parent is whose user goes before its end: JMeter takes no pauses from it, nor does it count.
    pub(crate) fn cut(self) -> (SampleResult, Vec<SampleResult>) {
        let (code, end) = (self.code.clone(), self.last_end);
        let (sample, kept) = self.end(end);
        (SampleResult { code, message: CompactString::default(), idle: Nanos::ZERO, ..sample }, kept)
    }

    /// The sample that it is whose pass was left before its end: JMeter gives it no code, and judges it by the last sample.
    pub(crate) fn interrupted(self, now: Nanos, is_success: bool) -> SampleResult {
        let (sample, _) = self.end(now);
        SampleResult { code: CompactString::default(), is_success, ..sample }
    }

    /// The sample that it is, and those that are part of it.
    pub(crate) fn end(self, now: Nanos) -> (SampleResult, Vec<SampleResult>) {
        let is_success = self.failing == 0;
        let idle =
            if self.includes_timers { Nanos::ZERO } else { self.pauses.plus(now.since(self.last_end)) };
        let code = match (is_success, self.is_parent) {
            (true, _) => "200".into(),
            (false, true) => self.code,
            (false, false) => CompactString::default(),
        };
        let message = format_compact!(
            "Number of samples in transaction : {}, number of failing samples : {}",
            self.calls,
            self.failing
        );
        let sample = SampleResult {
            label: self.name,
            code,
            message,
            is_success,
            start: self.start,
            end: now,
            idle,
            latency: if self.is_parent { Nanos::ZERO } else { self.latency },
            connect: if self.is_parent { Nanos::ZERO } else { self.connect },
            bytes: self.bytes,
            sent_bytes: self.sent_bytes,
            ..SampleResult::default()
        };
        (sample, self.kept)
    }
}
