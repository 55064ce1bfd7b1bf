//! Takes the samples of one thread: a few nanoseconds each, and no memory once its tables have grown.
//!
//! Knows no clock: whoever runs the users says what time it is.

use crate::builtin;
use crate::metric::{Kind, MetricId};
use crate::registry::Registry;
use crate::samples::{Batch, CheckCount, Event, Pending};
use crate::system_tag::{SystemTag, SystemTags};
use crate::tag_set::TagSet;
use crate::tags::{MetadataId, RequestTags, TagSetId, TagSets, Tags};
use prony_model::units::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

/// Checks and groups are of the tree under the root group; more of them than this are still counted in `checks`, but
/// not listed. A script that puts ids into names would otherwise fill the memory.
pub(crate) const CHECKS_MAX: usize = 10_000;

/// What all recorders of a run have in common.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub registry: Arc<Registry>,
    pub system_tags: SystemTags,
    /// Option `tags`, sorted by name or not.
    pub run_tags: Vec<(String, String)>,
    /// Whether each sample is kept for outputs.
    pub has_outputs: bool,
}

/// One request, with k6's phases. `http_req_duration` is the sum of sending, waiting and receiving.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestSample<'a> {
    pub tags: RequestTags<'a>,
    /// When the answer had been read, or the request was given up.
    pub ended: Nanos,
    pub phases: Phases,
}

/// How long each part of a request took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Until a connection was there to be used, less connecting and TLS.
    pub blocked: Nanos,
    pub connecting: Nanos,
    pub tls_handshaking: Nanos,
    pub sending: Nanos,
    pub waiting: Nanos,
    pub receiving: Nanos,
}

impl Phases {
    pub const fn duration(&self) -> Nanos {
        self.sending.plus(self.waiting).plus(self.receiving)
    }
}

/// The samples of one thread since the last hand-over.
#[derive(Debug)]
pub struct Recorder {
    registry: Arc<Registry>,
    sets: TagSets,
    now: Nanos,
    has_outputs: bool,
    batch: Batch,
    /// The group's path and the check's name, to the slot.
    check_slots: HashMap<(Arc<str>, Arc<str>), u32>,
    /// What each slot stands for; `batch.checks` has only those that were touched.
    checks: Vec<KnownCheck>,
    group_count: usize,
    metadata_slots: u32,
}

#[derive(Debug)]
struct KnownCheck {
    group: Arc<str>,
    name: Arc<str>,
    first_at: Nanos,
    /// Where it stands in `batch.checks`.
    in_batch: Option<u32>,
}

/// The slot of checks that are counted but not listed.
const UNLISTED: u32 = u32::MAX;

impl Recorder {
    pub fn new(options: &RecorderOptions) -> Self {
        let run_tags = options.run_tags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Self {
            sets: TagSets::new(&options.registry, options.system_tags, run_tags),
            registry: Arc::clone(&options.registry),
            now: Nanos::ZERO,
            has_outputs: options.has_outputs,
            batch: Batch::default(),
            check_slots: HashMap::new(),
            checks: Vec::new(),
            group_count: 0,
            metadata_slots: 0,
        }
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The tag sets, to look into and to make new ones.
    pub fn sets(&mut self) -> &mut TagSets {
        &mut self.sets
    }

    /// With nothing but the run's tags.
    pub const fn root(&self) -> Tags {
        Tags { set: TagSets::ROOT, metadata: MetadataId::NONE }
    }

    /// Says what time it is, from the start of the run, for the samples that come.
    pub fn set_now(&mut self, now: Nanos) {
        self.now = now;
    }

    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// A slot for a user's metadata.
    pub fn new_metadata(&mut self) -> MetadataId {
        self.metadata_slots += 1;
        MetadataId(self.metadata_slots)
    }

    /// From now on samples of this slot carry this metadata and no other.
    pub fn set_metadata<'a>(
        &mut self,
        slot: MetadataId,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        debug_assert!(slot != MetadataId::NONE, "the empty slot stays empty");
        if self.has_outputs {
            let pairs = Arc::new(TagSet::from_pairs(pairs));
            self.batch.events.push(Event::Metadata { slot, pairs });
        }
    }

    /// One sample of any metric, now. Infinite values are fine, NaN is the caller's to refuse.
    #[inline]
    pub fn record(&mut self, metric: MetricId, tags: Tags, value: f64) {
        self.record_at(metric, tags, self.now, value);
    }

    #[inline]
    pub fn record_at(&mut self, metric: MetricId, tags: Tags, at: Nanos, value: f64) {
        self.pending(metric).add(at, value);
        if self.sets.has_parts() {
            self.record_parts(metric, tags.set, at, value);
        }
        if self.has_outputs {
            let Tags { set, metadata } = tags;
            self.batch.events.push(Event::Sample { metric, set, metadata, at, value });
        }
    }

    /// A request with its tags on top of the user's: `http_reqs`, the phases, and `http_req_failed` where a response
    /// callback judged it. Gives the tags, which are good until the next hand-over.
    pub fn record_request(&mut self, user: Tags, request: &RequestSample<'_>) -> Tags {
        let tags = Tags { set: self.sets.request(user.set, &request.tags), metadata: user.metadata };
        let phases = &request.phases;
        let times = [
            (builtin::HTTP_REQ_DURATION, phases.duration()),
            (builtin::HTTP_REQ_BLOCKED, phases.blocked),
            (builtin::HTTP_REQ_CONNECTING, phases.connecting),
            (builtin::HTTP_REQ_TLS_HANDSHAKING, phases.tls_handshaking),
            (builtin::HTTP_REQ_SENDING, phases.sending),
            (builtin::HTTP_REQ_WAITING, phases.waiting),
            (builtin::HTTP_REQ_RECEIVING, phases.receiving),
        ];
        self.record_at(builtin::HTTP_REQS, tags, request.ended, 1.0);
        for (metric, time) in times {
            self.record_at(metric, tags, request.ended, time.as_millis_f64());
        }
        if let Some(is_expected) = request.tags.is_expected {
            let failed = f64::from(u8::from(!is_expected));
            self.record_at(builtin::HTTP_REQ_FAILED, tags, request.ended, failed);
        }
        tags
    }

    /// An iteration that was not interrupted, whether it ended well or with an exception.
    pub fn record_iteration(&mut self, user: Tags, ended: Nanos, duration: Nanos) {
        self.record_at(builtin::ITERATION_DURATION, user, ended, duration.as_millis_f64());
        self.record_at(builtin::ITERATIONS, user, ended, 1.0);
    }

    /// Bytes of the wire that an iteration, `setup` or `teardown` has caused; recorded at its end, even when zero.
    pub fn record_data(&mut self, user: Tags, at: Nanos, sent: u64, received: u64) {
        self.record_at(builtin::DATA_SENT, user, at, sent as f64);
        self.record_at(builtin::DATA_RECEIVED, user, at, received as f64);
    }

    /// Iterations that were due and not begun.
    pub fn record_dropped(&mut self, scenario: Tags, at: Nanos, count: u64) {
        self.record_at(builtin::DROPPED_ITERATIONS, scenario, at, count as f64);
    }

    /// How many users are active and how many there are; once a second, by one thread of the run.
    pub fn record_vus(&mut self, at: Nanos, active: u64, initialized: u64) {
        self.record_at(builtin::VUS, self.root(), at, active as f64);
        self.record_at(builtin::VUS_MAX, self.root(), at, initialized as f64);
    }

    /// One condition of `check`; `tags` are the user's with those that the call had.
    pub fn record_check(&mut self, tags: Tags, name: &str, passed: bool) {
        let is_tagged = self.sets.system().has(SystemTag::Check);
        let set = if is_tagged {
            self.sets.derive(tags.set, &[(SystemTag::Check.as_str(), name)])
        } else {
            tags.set
        };
        self.record(builtin::CHECKS, Tags { set, ..tags }, f64::from(u8::from(passed)));
        // As in k6, the tree of groups is made of the tags: without them it stays empty.
        if is_tagged && self.sets.system().has(SystemTag::Group) {
            self.count_check(set, name, passed);
        }
    }

    /// The end of a group; `tags` are those inside it.
    pub fn record_group(&mut self, tags: Tags, ended: Nanos, duration: Nanos) {
        self.record_at(builtin::GROUP_DURATION, tags, ended, duration.as_millis_f64());
        let is_new = self.sets.is_group_new(tags.set) && self.group_count < CHECKS_MAX;
        let path = self.sets.get(tags.set).get(SystemTag::Group.as_str());
        if let Some(path) = path.filter(|_| is_new) {
            self.group_count += 1;
            self.batch.groups.push((path.into(), ended));
        }
    }

    /// What was recorded since this was last called, in exchange for an empty batch. Derived tag sets may end here.
    #[must_use]
    pub fn hand_over(&mut self, empty: Batch) -> Batch {
        for check in &mut self.checks {
            check.in_batch = None;
        }
        self.batch.new_sets = self.sets.fresh_count();
        if self.has_outputs {
            self.sets.take_fresh(&mut self.batch.sets);
        } else {
            self.sets.forget_fresh();
        }
        self.sets.forget_many();
        std::mem::replace(&mut self.batch, empty)
    }

    #[inline]
    fn pending(&mut self, metric: MetricId) -> &mut Pending {
        if metric.index() >= self.batch.by_metric.len() {
            self.grow();
        }
        &mut self.batch.by_metric[metric.index()]
    }

    #[cold]
    fn grow(&mut self) {
        let kinds: Vec<Kind> = self.registry.kinds_from(self.batch.by_metric.len());
        self.batch.by_metric.extend(kinds.into_iter().map(Pending::new));
    }

    fn record_parts(&mut self, metric: MetricId, set: TagSetId, at: Nanos, value: f64) {
        for part in self.sets.parts_of(set, metric) {
            if part.index() >= self.batch.by_metric.len() {
                let kinds = self.registry.kinds_from(self.batch.by_metric.len());
                self.batch.by_metric.extend(kinds.into_iter().map(Pending::new));
            }
            self.batch.by_metric[part.index()].add(at, value);
        }
    }

    fn count_check(&mut self, set: TagSetId, name: &str, passed: bool) {
        let slot = match *self.sets.check_slot(set) {
            Some(slot) => slot,
            None => self.new_check_slot(set, name),
        };
        let Some(known) = self.checks.get_mut(slot as usize) else { return };
        let at = *known.in_batch.get_or_insert_with(|| {
            let (group, name) = (Arc::clone(&known.group), Arc::clone(&known.name));
            self.batch.checks.push(CheckCount { group, name, passes: 0, fails: 0, first_at: known.first_at });
            (self.batch.checks.len() - 1) as u32
        });
        let count = &mut self.batch.checks[at as usize];
        if passed {
            count.passes += 1;
        } else {
            count.fails += 1;
        }
    }

    fn new_check_slot(&mut self, set: TagSetId, name: &str) -> u32 {
        let group: Arc<str> = self.sets.get(set).get(SystemTag::Group.as_str()).unwrap_or_default().into();
        let key = (group, Arc::from(name));
        let slot = match self.check_slots.get(&key) {
            Some(&slot) => slot,
            None if self.checks.len() >= CHECKS_MAX => UNLISTED,
            None => {
                let (group, name) = (Arc::clone(&key.0), Arc::clone(&key.1));
                self.checks.push(KnownCheck { group, name, first_at: self.now, in_batch: None });
                let slot = (self.checks.len() - 1) as u32;
                self.check_slots.insert(key, slot);
                slot
            }
        };
        *self.sets.check_slot(set) = Some(slot);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(registry: Registry, has_outputs: bool) -> Recorder {
        Recorder::new(&RecorderOptions {
            registry: Arc::new(registry),
            system_tags: SystemTags::default(),
            run_tags: Vec::new(),
            has_outputs,
        })
    }

    fn request(status: u16, is_expected: Option<bool>) -> RequestSample<'static> {
        RequestSample {
            tags: RequestTags {
                method: "GET",
                url: "http://a/",
                status,
                is_expected,
                ..RequestTags::default()
            },
            ended: Nanos::from_millis(10),
            phases: Phases {
                blocked: Nanos::from_millis(1),
                sending: Nanos::from_micros(100),
                waiting: Nanos::from_millis(7),
                receiving: Nanos::from_micros(400),
                ..Phases::default()
            },
        }
    }

    #[test]
    fn a_request_is_counted_in_k6s_metrics_and_their_submetrics() {
        let registry = Registry::new();
        let tags = TagSet::from_pairs([("expected_response", "true")]);
        let expected = registry.define_part(builtin::HTTP_REQ_DURATION, "expected_response:true", tags);
        let mut recorder = recorder(registry, false);
        let user = recorder.root();
        recorder.record_request(user, &request(200, Some(true)));
        recorder.record_request(user, &request(500, Some(false)));
        recorder.record_request(user, &request(0, None));
        let batch = recorder.hand_over(Batch::default());
        let of = |metric: MetricId| &batch.by_metric[metric.index()];
        assert_eq!(*of(builtin::HTTP_REQS), Pending::Counter { count: 3, sum: 3.0 });
        assert_eq!(*of(builtin::HTTP_REQ_DURATION), Pending::Trend(vec![7.5; 3]));
        assert_eq!(*of(builtin::HTTP_REQ_BLOCKED), Pending::Trend(vec![1.0; 3]));
        assert_eq!(*of(builtin::HTTP_REQ_FAILED), Pending::Rate { passes: 1, total: 2 });
        assert_eq!(*of(expected), Pending::Trend(vec![7.5]));
        assert!(batch.events.is_empty());
    }

    #[test]
    fn metrics_that_come_later_are_recorded_too() {
        let mut recorder = recorder(Registry::new(), false);
        let user = recorder.root();
        recorder.record(builtin::ITERATIONS, user, 1.0);
        let contains = crate::metric::Contains::Default;
        let late = recorder.registry().define("late", Kind::Gauge, contains).expect("a new name");
        for (at, value) in [(1, 5.0), (2, -3.0), (3, 2.0)] {
            recorder.record_at(late, user, Nanos::from_secs(at), value);
        }
        let batch = recorder.hand_over(Batch::default());
        let expected =
            Pending::Gauge { count: 3, last: 2.0, last_at: Nanos::from_secs(3), min: -3.0, max: 5.0 };
        assert_eq!(batch.by_metric[late.index()], expected);
    }

    #[test]
    fn checks_are_counted_by_group_and_name_whatever_other_tags_they_have() {
        let mut recorder = recorder(Registry::new(), false);
        let root = recorder.root();
        let group = |recorder: &mut Recorder, path: &str| Tags {
            set: recorder.sets().with_system(TagSets::ROOT, SystemTag::Group, path),
            ..root
        };
        let (outside, inside) = (group(&mut recorder, ""), group(&mut recorder, "::login"));
        recorder.record_check(outside, "is ok", true);
        let tagged = Tags { set: recorder.sets().derive(outside.set, &[("page", "1")]), ..outside };
        recorder.record_check(tagged, "is ok", false);
        recorder.record_check(inside, "is ok", true);
        recorder.record_group(inside, Nanos::from_secs(1), Nanos::from_millis(20));
        recorder.record_group(inside, Nanos::from_secs(2), Nanos::from_millis(20));
        let batch = recorder.hand_over(Batch::default());
        let counts: Vec<_> = batch
            .checks
            .iter()
            .map(|check| (&*check.group, &*check.name, check.passes, check.fails))
            .collect();
        assert_eq!(counts, [("", "is ok", 1, 1), ("::login", "is ok", 1, 0)]);
        assert_eq!(batch.groups, [(Arc::from("::login"), Nanos::from_secs(1))]);
        recorder.record_check(inside, "is ok", false);
        let batch = recorder.hand_over(Batch::default());
        assert_eq!(batch.checks.len(), 1, "only what was touched since");
        assert_eq!(batch.checks[0].fails, 1);
    }

    #[test]
    fn outputs_see_each_sample_in_order_with_metadata_and_new_tag_sets() {
        let mut recorder = recorder(Registry::new(), true);
        let user = Tags { metadata: recorder.new_metadata(), ..recorder.root() };
        recorder.set_metadata(user.metadata, [("iter", "0")]);
        recorder.set_now(Nanos::from_secs(3));
        recorder.record(builtin::ITERATIONS, user, 1.0);
        let batch = recorder.hand_over(Batch::default());
        assert_eq!(
            batch.events,
            [
                Event::Metadata { slot: user.metadata, pairs: Arc::new(TagSet::from_pairs([("iter", "0")])) },
                Event::Sample {
                    metric: builtin::ITERATIONS,
                    set: user.set,
                    metadata: user.metadata,
                    at: Nanos::from_secs(3),
                    value: 1.0
                },
            ]
        );
        assert_eq!(batch.sets, [(TagSets::ROOT, Arc::new(TagSet::default()))]);
        assert!(recorder.hand_over(Batch::default()).sets.is_empty(), "the writer knows it already");
    }
}
