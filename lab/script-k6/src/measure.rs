//! Joins a script's users to the metrics: each second their samples go to the engine, and a threshold may end the run.

use super::metrics::summary::{DEFAULT_TREND_STATS, Summary, SummaryOptions};
use super::modules::execution::{RunEnd, RunFacts, RunState, ScenarioFacts};
use super::modules::log::{Level, Log};
use super::options::{Executor, Options, Scenario};
use super::program::{IterationEnd, Watcher};
use super::vm::{Fault, Phase};
use prony_metrics::outputs::{FileOutput, OutputContext, OutputEnd, OutputError, OutputSpec};
use prony_metrics::thresholds::{self, ThresholdError};
use prony_metrics::{
    Batch, Engine, MetricsSnapshot, RecorderOptions, Registry, SnapshotError, SystemTags, Thresholds, Verdict,
};
use prony_model::Nanos;
use prony_model::program::{RunControl, RunShare, ThreadPlace};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

/// What is written beside the summary, and whether thresholds count.
#[derive(Debug, Clone, Default)]
pub struct MeasureSettings {
    pub outputs: Vec<OutputSpec>,
    pub no_thresholds: bool,
    /// For `handleSummary` to see.
    pub no_color: bool,
    /// Which share of the script's users runs here; what is measured of one is another machine's to judge.
    pub share: Option<RunShare>,
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("the thresholds cannot be judged:\n  - {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  - "))]
    Thresholds(Vec<ThresholdError>),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// The metrics of one life of a script.
#[derive(Debug)]
pub struct Measure {
    engine: Engine,
    log: Arc<Log>,
    state: Arc<RunState>,
    outputs: Mutex<Vec<FileOutput>>,
    part: Mutex<PartTimes>,
    /// Starts of each scenario that were dropped until it was last looked at.
    dropped: Mutex<Vec<u64>>,
    /// Of the threshold that ended the run.
    verdict: OnceLock<Verdict>,
    /// By the plan's order.
    scenarios: Vec<Scenario>,
    no_color: bool,
    /// True where another machine judges it.
    is_share: bool,
}

/// What a share of a script has measured since it was last asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    metrics: MetricsSnapshot,
    /// The script ended its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<RunEnd>,
    #[serde(default)]
    has_failed: bool,
}

/// When the part of the life that runs has begun.
#[derive(Debug, Clone, Copy, Default)]
pub struct PartTimes {
    /// Since the whole life has: samples are dated by it.
    pub since_begin: Nanos,
    /// How long the test had been executed before: rates and thresholds go by it. The users' init code is no part of that, as in
    /// k6.
    pub executed: Nanos,
}

impl Measure {
    /// With what all recorders have in common. `registry` holds the metrics that init code has defined.
    pub(super) fn new(
        options: &Options,
        registry: &Arc<Registry>,
        (log, state): (Arc<Log>, Arc<RunState>),
        settings: &MeasureSettings,
    ) -> Result<(Self, RecorderOptions), MeasureError> {
        let given = if settings.no_thresholds { serde_json::Map::new() } else { options.thresholds.clone() };
        // A list that is null, as where a condition chooses it, has no thresholds.
        let given = given.into_iter().filter(|(_, thresholds)| !thresholds.is_null()).collect();
        let all = thresholds::read(&Value::Object(given)).map_err(MeasureError::Thresholds)?;
        let system_tags = SystemTags::from_names(options.system_tags.iter().map(String::as_str));
        let resolved = Thresholds::resolve(all.clone(), registry, system_tags);
        let resolved = resolved.map_err(MeasureError::Thresholds)?;
        let (mut outputs, mut sinks) = (Vec::new(), Vec::new());
        for spec in &settings.outputs {
            let context = OutputContext {
                registry: Arc::clone(registry),
                system_tags,
                thresholds: all.clone(),
                started_at: SystemTime::now(),
            };
            let (output, sink) = FileOutput::open(spec, context)?;
            outputs.push(output);
            sinks.push(sink);
        }
        let recorder = RecorderOptions {
            registry: Arc::clone(registry),
            system_tags,
            run_tags: options.tags.clone().into_iter().collect(),
            has_outputs: !outputs.is_empty(),
        };
        let facts = options.scenarios.iter().scan(0, |first_user, scenario| {
            let facts = facts(scenario, *first_user);
            *first_user += facts.users;
            Some(facts)
        });
        let is_first = state.set_facts(RunFacts {
            scenarios: facts.collect(),
            share: settings.share.unwrap_or(RunShare::WHOLE),
            options: options.json.to_string().into(),
        });
        assert!(is_first, "a script is measured once");
        let measure = Self {
            engine: Engine::new(&recorder, resolved, sinks),
            log,
            state,
            outputs: Mutex::new(outputs),
            part: Mutex::default(),
            dropped: Mutex::new(vec![0; options.scenarios.len()]),
            verdict: OnceLock::new(),
            scenarios: options.scenarios.clone(),
            no_color: settings.no_color,
            is_share: settings.share.is_some(),
        };
        Ok((measure, recorder))
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A part of the life begins.
    pub fn begin(&self, times: PartTimes) {
        *lock(&self.part) = times;
        self.state.part_began_ns.store(times.since_begin.0, Ordering::Relaxed);
        self.state.not_executed_ns.store(times.since_begin.since(times.executed).0, Ordering::Relaxed);
    }

    /// The users of the load are about to be made.
    pub fn prepare_load(&self, users_made: u32) {
        let first = self.scenarios.iter().filter(|scenario| scenario.start == Nanos::ZERO);
        self.set_users(first.map(|scenario| scenario.executor.users_first()).sum(), users_made);
    }

    /// For scripts to see.
    fn set_users(&self, active: u32, made: u32) {
        self.state.users_active.store(u64::from(active), Ordering::Relaxed);
        self.state.users_initialized.store(u64::from(made), Ordering::Relaxed);
    }

    /// A second of the load has passed.
    pub fn second(&self, elapsed: Nanos, users_active: u32, users_made: u32) {
        self.set_users(users_active, users_made);
        let at = lock(&self.part).since_begin.plus(elapsed);
        self.engine.record_vus(at, u64::from(users_active), u64::from(users_made));
    }

    /// Starts that were dropped since the load's beginning, by scenario.
    pub fn dropped(&self, elapsed: Nanos, dropped: &[u64]) {
        let at = lock(&self.part).since_begin.plus(elapsed);
        for ((scenario, count), before) in
            self.scenarios.iter().zip(dropped).zip(lock(&self.dropped).iter_mut())
        {
            let added = count.saturating_sub(*before);
            *before = *count;
            if added > 0 {
                self.engine.record_dropped(&scenario.name, &scenario.tags, at, added);
            }
        }
    }

    /// Whether the run goes on, this long after its part has begun.
    pub fn tick(&self, elapsed: Nanos) -> RunControl {
        if self.state.is_ended() {
            return RunControl::Stop;
        }
        if self.is_share {
            return RunControl::Continue;
        }
        let executed = lock(&self.part).executed.plus(elapsed);
        match self.engine.tick(executed) {
            None => RunControl::Continue,
            Some(verdict) => {
                // The first one counts.
                let _ = self.verdict.set(verdict);
                RunControl::Stop
            }
        }
    }

    // ---- shares

    /// Takes what was measured since this was last asked for, for [`Self::add`] of another machine.
    pub fn take_counted(&self) -> Counted {
        let metrics = self.engine.take_snapshot(lock(&self.part).since_begin);
        Counted { metrics, end: self.state.ended(), has_failed: self.state.has_failed() }
    }

    /// Adds what another machine has measured of the part that runs.
    pub fn add(&self, counted: &Counted) -> Result<(), SnapshotError> {
        self.engine.add_snapshot(&counted.metrics, lock(&self.part).since_begin)?;
        if let Some(end) = &counted.end {
            self.state.end(end.clone());
        }
        if counted.has_failed {
            self.state.fail();
        }
        Ok(())
    }

    // ---- the end

    /// Why the script ended the run, where it did.
    pub fn script_end(&self) -> Option<RunEnd> {
        self.state.ended()
    }

    /// Whether the script called `exec.test.fail`.
    pub fn is_marked_failed(&self) -> bool {
        self.state.has_failed()
    }

    /// The thresholds that ended the run, where they did.
    pub fn abort_verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }

    /// The thresholds at the end.
    pub fn finish(&self, duration: Nanos) -> Verdict {
        let verdict = self.engine.finish(duration);
        if let Some(count) = self.engine.too_many_tag_sets() {
            let message = format!(
                "samples had {count} different sets of tags, each of which takes memory: give requests whose URLs differ one name (`tags: \
                 {{ name: … }}` or http.url), and samples no tags with numbers of their own"
            );
            self.log.write(Level::Warning, &message, &[]);
        }
        verdict
    }

    /// To be called after [`Self::finish`].
    pub fn summary(&self, options: &Options, duration: Nanos, setup_data: Option<Value>) -> Summary {
        let options = SummaryOptions {
            duration,
            trend_stats: options.summary_trend_stats.clone(),
            time_unit: options.summary_time_unit,
            no_color: self.no_color,
            is_stdout_tty: std::io::stdout().is_terminal(),
            is_stderr_tty: std::io::stderr().is_terminal(),
            setup_data,
        };
        Summary::of(&self.engine, options)
    }

    /// What `handleSummary` would see now, with k6's statistics of trends; `executed` is how long the test has been executed.
    pub fn figures(&self, executed: Nanos) -> Value {
        let trend_stats = DEFAULT_TREND_STATS.map(str::to_owned).to_vec();
        let options = SummaryOptions { duration: executed, trend_stats, ..SummaryOptions::default() };
        Summary::of(&self.engine, options).data()
    }

    /// Ends the outputs, and says how each has ended.
    pub fn close_outputs(&self) -> Vec<OutputEnd> {
        self.engine.close_outputs();
        lock(&self.outputs).drain(..).map(FileOutput::finish).collect()
    }
}

fn facts(scenario: &Scenario, first_user: u32) -> ScenarioFacts {
    let iterations = match scenario.executor {
        Executor::SharedIterations { iterations, .. } => Some(iterations),
        Executor::PerVuIterations { vus, iterations, .. } => Some(iterations.saturating_mul(u64::from(vus))),
        _ => None,
    };
    let load = scenario.executor.load();
    ScenarioFacts {
        name: scenario.name.clone(),
        executor: scenario.executor.name().to_owned(),
        start: scenario.start,
        duration: Some(load.duration()),
        iterations,
        first_user,
        users: load.users_max(),
    }
}

impl Watcher for Measure {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        let Some(error) =
            iteration.error.filter(|error| !matches!(error.fault, Fault::Interrupted | Fault::Aborted))
        else {
            return;
        };
        let Some(scenario) = self.scenarios.get(iteration.user.scenario) else { return };
        // Errors of other parts end the run, and are told there.
        if error.phase == Phase::Iteration {
            let fields = [
                ("executor", scenario.executor.name()),
                ("scenario", scenario.name.as_str()),
                ("source", "stacktrace"),
            ];
            self.log.write(Level::Error, &format!("{error}\n"), &fields);
        }
    }

    fn samples(&self, thread: ThreadPlace, batch: Batch) -> Batch {
        self.engine.exchange(thread.number, batch)
    }
}

/// Gives the samples of a part that runs beside others as those of a thread of its own.
pub(super) struct BesideOthers(pub(super) Arc<Measure>);

impl BesideOthers {
    /// No thread of a load has this number.
    const THREAD: u32 = u32::MAX - 1;
}

impl Watcher for BesideOthers {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        self.0.ended(iteration);
    }

    fn samples(&self, thread: ThreadPlace, batch: Batch) -> Batch {
        self.0.samples(ThreadPlace { number: Self::THREAD, ..thread }, batch)
    }
}

/// Lets go of the samples: what `handleSummary` does is measured no more.
pub(super) struct Unmeasured(pub(super) Arc<Measure>);

impl Watcher for Unmeasured {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        self.0.ended(iteration);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
