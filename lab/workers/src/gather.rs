//! A run that is under way: reports are merged, silences noticed, the result kept as it grows.

use crate::bundle::Bundle;
use crate::coordinator::{
    Coordinator, CoordinatorSettings, Handing, NotBegun, elapsed_since, hangs_for, silent_for, unreached_for,
};
use crate::crew::Recruited;
use crate::error::WorkersError;
use crate::kind::{Merge, RequestsAlone};
use crate::message::{CONTACT_MAX, FailureCause, HAND_OVER_PATIENCE, Order, Reply, Said};
use crate::respread::Respread;
use crate::roster::{Member, Sign, Stage, Taken};
use crate::terms::OnWorkerLost;
use prony_load::{Collector, RunOptions, Store, ThreadInterval};
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::plan::PlanChange;
use prony_model::program::RunControl;
use prony_model::result::{Origin, Progress, RunState};
use prony_model::verdict::findings::TargetPlace;
use prony_model::{Nanos, Plan, ResultFile, Windows};
use serde_json::Value;
use std::mem;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long is waited for a report before other things have their turn.
const TURN: Duration = Duration::from_millis(100);
/// Whether the run goes on is asked so often also while a second is not complete: a worker that hangs must not keep thresholds from
/// ending it.
const ASK_EVERY: Nanos = Nanos::from_secs(1);

/// Runs a plan on several machines to its end, or until it is stopped. Blocks the calling thread. Of `options` the threads, the
/// share and the start are the workers'; requests one by one stay there.
pub fn coordinate(
    plan: &Plan,
    bundle: &Bundle,
    settings: CoordinatorSettings,
    options: RunOptions,
) -> Result<ResultFile, WorkersError> {
    Recruited::of(plan, settings, options.stop.clone())?.run(plan, bundle, &RequestsAlone, options)
}

/// Workers that fall silent while a run is prepared are replaced so often.
const PREPARE_MAX: u32 = 3;

impl Recruited {
    /// As [`coordinate`], for any kind of load: what it counts beside requests goes to `merge`. Workers are there for another run
    /// afterwards.
    pub fn run(
        &mut self,
        plan: &Plan,
        bundle: &Bundle,
        merge: &dyn Merge,
        options: RunOptions,
    ) -> Result<ResultFile, WorkersError> {
        self.run_changed(plan, &PlanChange::of(plan), bundle, merge, options)
    }

    /// As [`Self::run`], of a plan that the change makes of what is in the bundle.
    pub fn run_changed(
        &mut self,
        plan: &Plan,
        change: &PlanChange,
        bundle: &Bundle,
        merge: &dyn Merge,
        options: RunOptions,
    ) -> Result<ResultFile, WorkersError> {
        let coordinator = &mut self.0;
        coordinator.stop = options.stop.clone();
        let handing = Handing { bundle, change };
        let outcome = begin(coordinator, plan, handing)
            .and_then(|start| gather(coordinator, (plan, merge), handing, start, options));
        coordinator.tell_crew(&Order::Stay);
        coordinator.rest();
        outcome
    }
}

/// Prepares the run; a worker that falls silent meanwhile is replaced, and one that works for another run, as long as others come.
fn begin(coordinator: &mut Coordinator, plan: &Plan, handing: Handing<'_>) -> Result<Instant, WorkersError> {
    let mut silent = 0;
    loop {
        let workers = coordinator.workers_for(plan)?;
        let why = match coordinator.prepare(handing, &workers) {
            Ok(start) => return Ok(start),
            Err(NotBegun::Failed(error)) => return Err(error),
            Err(NotBegun::Engaged(name)) => format!("worker `{name}` works for another run"),
            Err(NotBegun::Silent(name)) => {
                silent += 1;
                if silent == PREPARE_MAX {
                    let cause = FailureCause::Other;
                    return Err(WorkersError::Worker { name, message: silent_for(), cause });
                }
                coordinator.miss(&name);
                format!("worker `{name}` fell silent before the run began")
            }
        };
        coordinator.tell(&why);
        coordinator.tell_crew(&Order::Stay);
    }
}

/// Until all workers have ended, or nothing more is waited for.
fn gather(
    coordinator: &mut Coordinator,
    (plan, merge): (&Plan, &dyn Merge),
    handing: Handing<'_>,
    start: Instant,
    mut options: RunOptions,
) -> Result<ResultFile, WorkersError> {
    let windows = plan.windows();
    let workers = coordinator.members.len() as u32;
    let origin = origin(&options);
    let collector =
        Collector::new(plan, merge.tables(), &windows, origin, TargetPlace::OtherMachine, workers)
            .with_listeners(mem::take(&mut options.snapshots));
    mem::replace(&mut options.begins, Box::new(|_| {}))(start);
    if let Some(observe) = &mut options.observe {
        observe.start(start);
    }
    let output = mem::replace(&mut options.output, prony_load::Output::Nowhere);
    let store = Store::new(output, options.seeks_findings);
    Gathering {
        coordinator,
        plan,
        respread: Respread::new(plan, handing, start),
        merge,
        windows: &windows,
        start,
        options,
        collector,
        store,
        ended: Nanos::ZERO,
        asked: Nanos::ZERO,
        was_told_to_stop: false,
        warnings: Vec::new(),
    }
    .run()
}

struct Gathering<'a> {
    coordinator: &'a mut Coordinator,
    plan: &'a Plan,
    respread: Respread<'a>,
    merge: &'a dyn Merge,
    windows: &'a Windows,
    start: Instant,
    options: RunOptions,
    collector: Collector<'a>,
    store: Store,
    /// The latest end of any worker.
    ended: Nanos,
    /// When it was last asked whether the run goes on.
    asked: Nanos,
    was_told_to_stop: bool,
    /// To be shown with the next second.
    warnings: Vec<String>,
}

impl Gathering<'_> {
    fn run(mut self) -> Result<ResultFile, WorkersError> {
        while !self.is_over() {
            if let Some(said) = self.coordinator.next(TURN) {
                self.hear(said);
            }
            self.watch();
            if self.elapsed() >= self.asked.plus(ASK_EVERY) {
                self.ask_whether_it_goes_on();
            }
            if self.coordinator.stop.is_stopped() && !self.was_told_to_stop {
                self.end_early();
            }
        }
        self.coordinator.acknowledge_all();
        self.finish()
    }

    /// Nothing is waited for any more. While the server is not reached, what has not ended may still come.
    fn is_over(&self) -> bool {
        let (now, since) = (Instant::now(), self.coordinator.reached_since);
        let is_done = |member: &Member| match since {
            Some(since) => member.is_done(now, since),
            None => member.stage == Stage::Ended,
        };
        self.coordinator.members.iter().all(is_done)
    }

    fn hear(&mut self, said: Said) {
        let now = Instant::now();
        let Some(index) = self.coordinator.member(&said) else { return self.coordinator.dismiss(&said) };
        match said.what {
            Reply::Begun { late_ns } => self.coordinator.members[index].begun(Nanos(late_ns)),
            Reply::Report { number, report } => {
                let taken = self.coordinator.members[index].take(number, *report, now);
                let up_to = self.coordinator.members[index].acknowledged();
                self.coordinator.send(index, Order::Acknowledge { up_to });
                self.take(index, taken);
            }
            Reply::Failed { message, .. } => {
                self.lose(index, &message);
                // Its worker goes on to speak, and has nothing more to say of this share.
                self.coordinator.members[index].give_up();
            }
            what if self.coordinator.members[index].is_about_to_take_over() => {
                self.respread.hear(self.coordinator, &mut self.collector, index, &what);
            }
            _ => {}
        }
    }

    fn take(&mut self, index: usize, taken: Taken) {
        match taken {
            Taken::Nothing => {}
            // Others have made this second of its share.
            Taken::Second { snapshot, .. } if self.is_taken_over(index, snapshot.second) => {}
            Taken::Second { snapshot, counted } => {
                self.merge(index, counted.as_ref());
                let names = RequestNames { plan: self.plan, found: self.merge.tables() };
                match interval(names, self.windows, index, *snapshot) {
                    Ok(interval) => {
                        if self.collector.take(interval) {
                            self.second_is_complete();
                        }
                    }
                    Err(reason) => self.lose(index, &reason),
                }
            }
            Taken::Ended { ended, is_early, counted } => {
                self.ended = self.ended.max(ended);
                self.merge(index, counted.as_ref());
                // It may have ended because the script wants the end of the run.
                self.ask_whether_it_goes_on();
                if is_early && !self.was_told_to_stop {
                    self.lose(index, "it was stopped on its machine");
                }
                let is_lost = self.coordinator.members[index].is_lost();
                if self.collector.end(index as u32, is_lost) {
                    self.second_is_complete();
                }
            }
        }
    }

    fn is_taken_over(&self, index: usize, second: u64) -> bool {
        self.coordinator.members[index].taken_over_from.is_some_and(|from| from <= second)
    }

    fn merge(&mut self, index: usize, counted: Option<&Value>) {
        let taken = counted.map_or(Ok(()), |counted| self.merge.take(index as u32, counted));
        if let Err(reason) = taken {
            self.lose(index, &reason);
        }
    }

    fn ask_whether_it_goes_on(&mut self) {
        self.asked = self.elapsed();
        if self.merge.tick(self.asked) == RunControl::Stop && !self.was_told_to_stop {
            self.end_early();
        }
    }

    fn set_workers(&mut self) {
        let members = self.coordinator.members.iter().filter(|member| member.has_begun());
        let figures = members.map(|member| member.figures(self.plan));
        self.collector.set_workers(figures.collect());
    }

    fn elapsed(&self) -> Nanos {
        elapsed_since(self.start)
    }

    fn second_is_complete(&mut self) {
        self.ask_whether_it_goes_on();
        self.set_workers();
        let (start, duration) = (self.start, self.plan.duration());
        let Self { store, collector, options, .. } = &mut *self;
        let (watcher, observe) = (options.watcher.as_deref(), &mut options.observe);
        let written = store.keep(
            watcher,
            duration,
            || elapsed_since(start),
            |now| {
                let observers = observe.as_mut().map(|observe| observe.observations()).unwrap_or_default();
                ResultFile { observers, ..collector.result(RunState::Running, now) }
            },
        );
        self.warnings.extend(written);
        self.show(false);
    }

    fn show(&mut self, is_last: bool) {
        let warnings = mem::take(&mut self.warnings);
        let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        let progress = self.collector.progress(self.elapsed(), warning);
        (self.options.progress)(&Progress { is_last, ..progress });
    }

    // ---- faults

    fn watch(&mut self) {
        let Some(since) = self.coordinator.reached_since else { return self.watch_server() };
        let now = Instant::now();
        if self.elapsed() > self.plan.duration() {
            self.respread.give_up_all(self.coordinator);
        }
        for index in 0..self.coordinator.members.len() {
            let name = self.coordinator.members[index].name.clone();
            match self.coordinator.members[index].watch(now, since) {
                None => {}
                Some(Sign::Silent) => self.coordinator.tell(&format!("worker `{name}` is silent")),
                Some(Sign::Back) => {
                    self.coordinator.tell(&format!("worker `{name}` is back"));
                    if self.settings_on_lost() == OnWorkerLost::Respread
                        && self.coordinator.members[index].is_lost()
                    {
                        self.coordinator.send(index, Order::Stop);
                    }
                }
                Some(Sign::Lost) => self.lose(index, &silent_for()),
                Some(Sign::Hangs) => self.lose(index, &hangs_for()),
            }
        }
    }

    /// Workers that hear nothing stop, try to hand over what they have, and give that up: from then on nothing can come. Whoever
    /// ends the run by hand does not wait for the second of these.
    fn watch_server(&mut self) {
        let is_wanted = self.coordinator.stop.is_stopped();
        let patience = if is_wanted { Duration::ZERO } else { HAND_OVER_PATIENCE };
        let unreached = self.coordinator.unreached();
        if unreached <= CONTACT_MAX + patience {
            return;
        }
        // Nobody is there who could take a share over.
        self.end_early();
        for index in 0..self.coordinator.members.len() {
            if self.coordinator.members[index].stage != Stage::Ended {
                self.lose(index, &unreached_for(unreached));
                self.coordinator.members[index].give_up();
            }
        }
    }

    fn lose(&mut self, index: usize, reason: &str) {
        let member = &self.coordinator.members[index];
        // One that was asked to take over and is not needed any more has made nothing that could be missing.
        if member.is_lost() || member.stage == Stage::Ended && !member.has_begun() {
            return;
        }
        if member.is_about_to_take_over() {
            let name = member.name.clone();
            self.coordinator.tell(&format!("`{name}` is not made: {reason}"));
            return self.respread.retry(self.coordinator, &mut self.collector, index);
        }
        let at = self.elapsed();
        self.coordinator.members[index].lose(at, reason);
        let (name, reason) = (
            self.coordinator.members[index].name.clone(),
            self.coordinator.members[index].reason().to_owned(),
        );
        let goes_on = match self.settings_on_lost() {
            _ if self.was_told_to_stop => "the run ends",
            OnWorkerLost::Continue => "the run goes on without its share",
            OnWorkerLost::Respread => "the others take its share over",
            OnWorkerLost::End => "the run ends",
        };
        self.coordinator.tell(&format!("worker `{name}` was lost at {at}: {reason}; {goes_on}"));
        if self.collector.end(index as u32, true) {
            self.second_is_complete();
        }
        if !self.was_told_to_stop {
            match self.settings_on_lost() {
                OnWorkerLost::Continue => {}
                OnWorkerLost::End => self.end_early(),
                OnWorkerLost::Respread => {
                    self.respread.spread(self.coordinator, &mut self.collector, index);
                }
            }
        }
    }

    const fn settings_on_lost(&self) -> OnWorkerLost {
        self.coordinator.settings.terms.on_lost
    }

    fn end_early(&mut self) {
        self.was_told_to_stop = true;
        self.respread.give_up_all(self.coordinator);
        self.coordinator.end_run();
    }

    // ---- the end

    fn finish(mut self) -> Result<ResultFile, WorkersError> {
        self.collector.close();
        self.set_workers();
        // Who was asked to take over and never began has lost nothing.
        let members: Vec<&Member> =
            self.coordinator.members.iter().filter(|member| member.has_begun()).collect();
        let are_lost = members.iter().all(|member| member.is_lost());
        let reasons = members.iter().map(|member| format!("`{}`: {}", member.name, member.reason()));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        if are_lost && self.ended == Nanos::ZERO {
            self.ended = self.elapsed();
        }
        let is_early = self.was_told_to_stop || are_lost;
        let was_stopped = is_early && self.ended < self.plan.duration();
        let state = if was_stopped { RunState::Stopped } else { RunState::Completed };
        let mut result = self.collector.result(state, self.ended);
        if let Some(observe) = &mut self.options.observe {
            observe.stop();
            result.observers = observe.observations();
        }
        self.warnings.extend(self.store.write(&result));
        self.show(true);
        if are_lost && result.series.is_empty() {
            return Err(WorkersError::AllLost(reasons));
        }
        Ok(result)
    }
}

/// A worker's second as the collector takes it.
pub(crate) fn interval(
    names: RequestNames<'_>,
    windows: &Windows,
    worker: usize,
    snapshot: IntervalSnapshot,
) -> Result<ThreadInterval, String> {
    let second = snapshot.second;
    let tally = snapshot.into_tally(windows, names).map_err(|error| error.to_string())?;
    let until = Nanos::from_secs(second + 1);
    Ok(ThreadInterval { thread: worker as u32, second, until, is_last: false, tally, busy: Nanos::ZERO })
}

fn origin(options: &RunOptions) -> Origin {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Origin {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: options.command_line.clone(),
        started_at_unix_ms: since_epoch.as_millis() as u64,
        machine: prony_load::describe_machine(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::measurement::tally::{Tally, TallyShape};
    use prony_model::subscription::SubscriptionDraft;
    use prony_model::subscription::tally::count_reason;
    use prony_model::{
        LoadModel, Outcome, PlanDraft, Record, RequestDraft, Target, Threshold, TransportError,
    };
    use proptest::prelude::*;

    const SECONDS: u64 = 5;

    fn plan() -> Plan {
        let load = LoadModel::ramp_and_hold(3, Nanos::from_secs(2), Nanos::from_secs(3));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = ["a", "b"].map(|name| RequestDraft::get(name, "/")).to_vec();
        draft.thresholds = Threshold::parse_list("p95<1s, errors<90%").unwrap();
        draft.subscriptions = vec![SubscriptionDraft::new("Ereignisse", "subscription { on }", 3)];
        draft.check().unwrap()
    }

    /// The worker that made it, its request, when it was due in milliseconds, how long it took, how it ended.
    type Drawn = (usize, usize, u64, u64, usize);

    fn record((_, request, due, took, outcome): Drawn) -> Record {
        let scheduled = Nanos::from_millis(due);
        let ended = scheduled.plus(Nanos(took));
        let outcome =
            [Outcome::Success, Outcome::Status(503), Outcome::Transport(TransportError::Timeout)][outcome];
        Record {
            request,
            scheduled,
            started: scheduled,
            first_byte: Some(ended),
            ended,
            outcome,
            status: match outcome {
                Outcome::Transport(_) => None,
                Outcome::Status(status) => Some(status),
                _ => Some(200),
            },
            bytes_sent: 7,
            bytes_received: took,
        }
    }

    /// What was counted of these in one second.
    fn tally(plan: &Plan, drawn: &[Drawn], second: u64, is_own: impl Fn(&Drawn) -> bool) -> Tally {
        let windows = plan.windows();
        let mut tally = Tally::new(&windows, TallyShape::of(plan));
        for drawn in drawn.iter().filter(|drawn| is_own(drawn)) {
            let record = record(*drawn);
            if record.ended.0 / 1_000_000_000 == second {
                tally.record(&windows, &record);
                tally.lateness.record(Nanos(record.bytes_received / 3 + 1));
                (tally.started, tally.connections.opened) = (tally.started + 1, tally.connections.opened + 1);
                subscribe(&mut tally, windows.index_at(record.ended).unwrap_or(0), &record);
            }
        }
        tally
    }

    /// As if each request were also a connection of a subscriber, and an event on it.
    fn subscribe(tally: &mut Tally, window: usize, record: &Record) {
        let subscribers = &mut tally.subscribers;
        let counts = &mut subscribers.cell_mut(0, window).counts;
        (counts.events, counts.bytes) = (counts.events + 1, counts.bytes + record.bytes_received);
        (subscribers.interval.events, subscribers.active) =
            (subscribers.interval.events + 1, subscribers.active + 1);
        subscribers.read_lateness.record(Nanos(record.bytes_received / 5));
        let link = &mut subscribers.links[0];
        link.connect.record(record.response_time());
        link.counts.attempted += 1;
        link.counts.first_attempt_ns =
            Some(link.counts.first_attempt_ns.map_or(record.scheduled, |first| first.min(record.scheduled)));
        link.counts.last_made_ns = link.counts.last_made_ns.max(Some(record.ended));
        count_reason(&mut link.counts.lost, if record.request == 0 { "größe" } else { "status 503" });
    }

    /// As it comes from a worker.
    fn sent(plan: &Plan, worker: usize, second: u64, tally: &Tally) -> ThreadInterval {
        let snapshot = IntervalSnapshot::of(second, tally, RequestNames { plan, found: None });
        let text = serde_json::to_vec(&snapshot).unwrap();
        let names = RequestNames { plan, found: None };
        interval(names, &plan.windows(), worker, serde_json::from_slice(&text).unwrap()).unwrap()
    }

    fn collector<'a>(plan: &'a Plan, windows: &'a Windows, workers: u32) -> Collector<'a> {
        Collector::new(plan, None, windows, Origin::default(), TargetPlace::OtherMachine, workers)
    }

    /// All that does not say who measured.
    fn figures(mut collector: Collector<'_>) -> ResultFile {
        collector.close();
        let result = collector.result(RunState::Completed, Nanos::from_secs(SECONDS));
        let lab = prony_model::result::LabFigures { threads: 0, memory_peak_bytes: 0, ..result.lab };
        ResultFile { lab, ..result }
    }

    proptest! {
        // Each case writes and reads dozens of histograms.
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever the order in which workers hand over, and where one is lost and comes back.
        #[test]
        fn what_workers_hand_over_merges_to_the_result_of_one_run(
            drawn in prop::collection::vec((0_usize..3, 0_usize..2, 0_u64..4_900, 1_u64..100_000_000, 0_usize..3), 0..80),
            turns in prop::collection::vec(0_usize..3, 15), is_lost: bool
        ) {
            let plan = plan();
            let windows = plan.windows();
            let mut whole = collector(&plan, &windows, 1);
            let mut split = collector(&plan, &windows, 3);
            for second in 0..SECONDS {
                whole.take(sent(&plan, 0, second, &tally(&plan, &drawn, second, |_| true)));
            }
            let mut next = [0; 3];
            // The first worker's seconds come last where it is lost.
            let order = turns.into_iter().filter(|worker| !is_lost || *worker > 0).chain([1, 2].repeat(5)).chain([0; 5]);
            for (turn, worker) in order.enumerate() {
                if is_lost && turn == 0 {
                    split.end(0, true);
                }
                if next[worker] < SECONDS {
                    let own = tally(&plan, &drawn, next[worker], |drawn| drawn.0 == worker);
                    split.take(sent(&plan, worker, next[worker], &own));
                    next[worker] += 1;
                }
            }
            prop_assert_eq!(figures(split), figures(whole));
        }
    }

    #[test]
    fn a_second_that_lacks_a_share_says_so() {
        let (plan, nothing) = (plan(), Vec::new());
        let windows = plan.windows();
        let mut collector = collector(&plan, &windows, 2);
        let take = |collector: &mut Collector<'_>, worker, second| {
            collector.take(sent(&plan, worker, second, &tally(&plan, &nothing, second, |_| true)))
        };
        assert!(!take(&mut collector, 0, 0) && take(&mut collector, 1, 0));
        assert!(
            !take(&mut collector, 1, 1) && collector.end(0, true),
            "the second is not waited for any more"
        );
        assert!(take(&mut collector, 1, 2));
        let missing: Vec<_> = figures(collector).series.iter().map(|row| row.workers_missing).collect();
        assert_eq!(missing, [0, 1, 1]);
    }
}
