//! The metrics of a whole run: takes what threads hand over, evaluates thresholds, and knows the figures at the end.
//!
//! Threads queue their batches; whoever asks for figures adds them up, so that it costs no request anything.

use crate::groups::{Checks, Group};
use crate::metric::MetricId;
use crate::recorder::{Recorder, RecorderOptions};
use crate::registry::{Definition, Registry};
use crate::samples::{Batch, SampleBatch};
use crate::sink::{Sink, Statistic};
use crate::snapshot::{MetricsSnapshot, SnapshotError};
use crate::thresholds::{Thresholds, Verdict};
use crate::{SystemTag, Tags};
use prony_model::units::Nanos;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often thresholds are evaluated.
pub(crate) const THRESHOLDS_PERIOD: Nanos = Nanos::from_secs(2);
/// Beyond this many tag sets a run is warned once: each is a series of its own for whoever stores them.
pub(crate) const TAG_SETS_WARNING: u64 = 100_000;
/// The number under which the engine's own samples (`vus`) go to outputs.
const OWN_THREAD: u32 = u32::MAX;
/// The number under which samples of other machines come: none of them goes to outputs.
const OTHER_MACHINE: u32 = u32::MAX - 2;

/// Who sees each sample: outputs.
pub trait SampleSink: Send + std::fmt::Debug {
    /// Called with the batches of a thread in their order. Must not wait for anything.
    fn take(&mut self, batch: &Arc<SampleBatch>);
}

/// The metrics of a run. Shared by its threads.
#[derive(Debug)]
pub struct Engine {
    registry: Arc<Registry>,
    inbox: Mutex<Vec<(u32, Batch)>>,
    /// Emptied batches, to be filled again.
    spare: Mutex<Vec<Batch>>,
    state: Mutex<State>,
}

/// What the samples of a run add up to.
#[derive(Debug)]
pub struct Totals<'a> {
    /// By [`MetricId`].
    pub definitions: &'a [Definition],
    /// By [`MetricId`]; shorter than `definitions` where the last metrics have no samples.
    pub sinks: &'a mut [Sink],
    /// As of the last time that they were evaluated.
    pub thresholds: &'a Thresholds,
    /// The root group with all checks.
    pub root: Group,
}

#[derive(Debug)]
struct State {
    /// By [`MetricId`].
    sinks: Vec<Sink>,
    checks: Checks,
    thresholds: Thresholds,
    next_evaluation: Nanos,
    tag_sets: u64,
    own: Recorder,
    outputs: Vec<Box<dyn SampleSink>>,
}

impl Engine {
    /// `options` are those of the threads' recorders.
    pub fn new(options: &RecorderOptions, thresholds: Thresholds, outputs: Vec<Box<dyn SampleSink>>) -> Self {
        let state = State {
            sinks: Vec::new(),
            checks: Checks::default(),
            thresholds,
            next_evaluation: THRESHOLDS_PERIOD,
            tag_sets: 0,
            own: Recorder::new(options),
            outputs,
        };
        Self {
            registry: Arc::clone(&options.registry),
            inbox: Mutex::default(),
            spare: Mutex::default(),
            state: Mutex::new(state),
        }
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Takes what a thread has recorded; each thread calls it about once a second, and at its end.
    pub fn receive(&self, thread: u32, recorder: &mut Recorder) {
        let empty = lock(&self.spare).pop().unwrap_or_default();
        let batch = recorder.hand_over(empty);
        lock(&self.inbox).push((thread, batch));
    }

    /// As [`Self::receive`] for whoever has the batch already; gives an empty one.
    #[must_use]
    pub fn exchange(&self, thread: u32, batch: Batch) -> Batch {
        lock(&self.inbox).push((thread, batch));
        lock(&self.spare).pop().unwrap_or_default()
    }

    /// Takes away what threads have handed over and nobody has added up yet, for another machine's engine; `origin` is the moment
    /// from which its times are counted. What the engine itself records is left out: the other one records it.
    pub fn take_snapshot(&self, origin: Nanos) -> MetricsSnapshot {
        let batches = std::mem::take(&mut *lock(&self.inbox));
        let snapshot = MetricsSnapshot::of(&batches, &self.registry, origin);
        for (_, mut batch) in batches {
            batch.clear();
            lock(&self.spare).push(batch);
        }
        snapshot
    }

    /// Adds what [`Self::take_snapshot`] has taken on another machine; its times begin at `origin` here.
    pub fn add_snapshot(&self, snapshot: &MetricsSnapshot, origin: Nanos) -> Result<(), SnapshotError> {
        let batch = snapshot.to_batch(&self.registry, origin)?;
        lock(&self.inbox).push((OTHER_MACHINE, batch));
        Ok(())
    }

    /// How many users are active and how many there are; once a second.
    pub fn record_vus(&self, at: Nanos, active: u64, initialized: u64) {
        lock(&self.state).own.record_vus(at, active, initialized);
    }

    /// Starts of a scenario for which no user was free.
    pub fn record_dropped(&self, scenario: &str, tags: &BTreeMap<String, String>, at: Nanos, count: u64) {
        let mut state = lock(&self.state);
        let root = state.own.root();
        let sets = state.own.sets();
        let tagged = tags.iter().fold(root.set, |set, (name, value)| sets.with(set, name, value));
        let set = sets.with_system(tagged, SystemTag::Scenario, scenario);
        state.own.record_dropped(Tags { set, ..root }, at, count);
    }

    /// Adds up what has come and, every [`THRESHOLDS_PERIOD`], evaluates the thresholds of metrics that have samples.
    /// Something only where the run is to end early.
    pub fn tick(&self, elapsed: Nanos) -> Option<Verdict> {
        let mut state = lock(&self.state);
        self.add_up(&mut state);
        if elapsed < state.next_evaluation || state.thresholds.is_empty() {
            return None;
        }
        state.next_evaluation = elapsed.plus(THRESHOLDS_PERIOD);
        let verdict = state.evaluate(elapsed, true);
        verdict.aborts.then_some(verdict)
    }

    /// The thresholds at the end of the run, those of metrics without samples too.
    pub fn finish(&self, duration: Nanos) -> Verdict {
        let mut state = lock(&self.state);
        self.add_up(&mut state);
        state.evaluate(duration, false)
    }

    /// Reads what the run's samples add up to; before [`Self::finish`] thresholds are as they were evaluated last.
    pub fn read<T>(&self, read: impl FnOnce(Totals<'_>) -> T) -> T {
        let mut state = lock(&self.state);
        self.add_up(&mut state);
        let State { sinks, checks, thresholds, .. } = &mut *state;
        let (definitions, root) = (self.registry.definitions(), checks.to_tree());
        read(Totals { definitions: &definitions, sinks, thresholds, root })
    }

    /// A figure as of the last tick, for a display while the run goes.
    pub fn figure(&self, metric: MetricId, statistic: Statistic, elapsed: Nanos) -> Option<f64> {
        let mut state = lock(&self.state);
        state.sinks.get_mut(metric.index())?.figure(statistic, elapsed)
    }

    /// How many tag sets the threads made, where that is worth a warning.
    pub fn too_many_tag_sets(&self) -> Option<u64> {
        let count = lock(&self.state).tag_sets;
        (count > TAG_SETS_WARNING).then_some(count)
    }

    /// Gives the last samples to the outputs and lets go of them.
    pub fn close_outputs(&self) {
        let mut state = lock(&self.state);
        self.add_up(&mut state);
        state.outputs.clear();
    }

    fn add_up(&self, state: &mut State) {
        let own = state.own.hand_over(Batch::default());
        let mut batches = std::mem::take(&mut *lock(&self.inbox));
        batches.push((OWN_THREAD, own));
        for (thread, mut batch) in batches {
            state.add(&batch, &self.registry);
            if !state.outputs.is_empty() {
                let samples = Arc::new(batch.take_samples(thread));
                state.outputs.iter_mut().for_each(|output| output.take(&samples));
            }
            batch.clear();
            lock(&self.spare).push(batch);
        }
    }
}

impl State {
    fn add(&mut self, batch: &Batch, registry: &Registry) {
        let new_kinds = registry.kinds_from(self.sinks.len());
        self.sinks.extend(new_kinds.into_iter().map(Sink::new));
        for (sink, pending) in self.sinks.iter_mut().zip(&batch.by_metric) {
            sink.add(pending);
        }
        batch.checks.iter().for_each(|check| self.checks.add(check));
        batch.groups.iter().for_each(|(group, at)| self.checks.enter(group, *at));
        self.tag_sets += batch.new_sets;
    }

    fn evaluate(&mut self, elapsed: Nanos, passes_over_empty: bool) -> Verdict {
        let mut verdict = Verdict::default();
        for of in &mut self.thresholds.by_metric {
            let sink = &mut self.sinks[of.metric.index()];
            if passes_over_empty && sink.is_empty() {
                continue;
            }
            let (holds, aborts) = of.evaluate(sink, elapsed);
            if !holds {
                verdict.crossed.push(Arc::clone(&of.name));
            }
            verdict.aborts |= aborts;
        }
        verdict.crossed.sort();
        verdict
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while it was held is a load thread, whose end is reported by the runner; figures stay readable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::system_tag::SystemTags;
    use crate::thresholds;
    use serde_json::{Value, json};

    struct Run {
        engine: Engine,
        recorders: Vec<Recorder>,
    }

    fn run(option: &Value, threads: usize) -> Run {
        let registry = Arc::new(Registry::new());
        let all = thresholds::read(option).expect("good conditions");
        let thresholds = Thresholds::resolve(all, &registry, SystemTags::default()).expect("good thresholds");
        let options = RecorderOptions {
            registry,
            system_tags: SystemTags::default(),
            run_tags: Vec::new(),
            has_outputs: false,
        };
        let recorders = (0..threads).map(|_| Recorder::new(&options)).collect();
        Run { engine: Engine::new(&options, thresholds, Vec::new()), recorders }
    }

    impl Run {
        fn record(&mut self, thread: usize, metric: MetricId, value: f64) {
            let recorder = &mut self.recorders[thread];
            recorder.record(metric, recorder.root(), value);
            self.engine.receive(thread as u32, recorder);
        }
    }

    #[test]
    fn samples_of_all_threads_are_added_up() {
        let mut run = run(&json!({}), 3);
        for (thread, value) in [(0, 5.0), (1, 1.0), (2, 3.0), (0, 7.0)] {
            run.record(thread, builtin::HTTP_REQ_DURATION, value);
        }
        assert_eq!(run.engine.tick(Nanos::from_secs(1)), None);
        let figure =
            |statistic| run.engine.figure(builtin::HTTP_REQ_DURATION, statistic, Nanos::from_secs(1));
        assert_eq!(figure(Statistic::Count), Some(4.0));
        assert_eq!(figure(Statistic::Med), Some(4.0));
    }

    #[test]
    fn a_crossed_threshold_aborts_only_when_asked_and_not_before_its_delay() {
        let delayed = json!({"threshold": "count<2", "abortOnFail": true, "delayAbortEval": "5s"});
        let mut run = run(&json!({"iterations": [delayed], "http_reqs": ["count>100"]}), 1);
        run.record(0, builtin::ITERATIONS, 1.0);
        assert_eq!(run.engine.tick(Nanos::from_secs(2)), None);
        run.record(0, builtin::ITERATIONS, 1.0);
        assert_eq!(run.engine.tick(Nanos::from_secs(4)), None, "its delay is not over");
        let verdict = run.engine.tick(Nanos::from_secs(6)).expect("an abort");
        assert_eq!(
            verdict.to_string(),
            "crossed thresholds on iterations; one of them has abortOnFail, so the run ends early"
        );
        assert_eq!(run.engine.tick(Nanos::from_secs(7)), None, "evaluated every two seconds");
        let at_end = run.engine.finish(Nanos::from_secs(7));
        assert_eq!(
            at_end.crossed,
            ["http_reqs".into(), "iterations".into()],
            "empty metrics count at the end"
        );
    }

    #[test]
    fn thresholds_of_metrics_without_samples_hold_where_there_is_nothing_to_divide() {
        let run =
            run(&json!({"checks": ["rate>0.9"], "http_req_duration": ["p(95)<1"], "vus": ["value>0"]}), 1);
        assert_eq!(run.engine.tick(Nanos::from_secs(3)), None);
        assert_eq!(run.engine.finish(Nanos::from_secs(3)).crossed, ["vus".into()]);
    }
}
