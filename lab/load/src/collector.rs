//! Gathers what the threads of a run, or the workers of one on several machines, hand over each second into totals, the series
//! and the result.

use crate::options::SnapshotListener;
use crate::seconds::ThreadInterval;
use prony_model::load::{IterationBudget, asked_per_s};
use prony_model::measurement::clock::{ClockSample, ClockWatch};
use prony_model::measurement::figures::LatencyFigures;
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::measurement::tally::{StartCounts, Tally, TallyShape};
use prony_model::plan::scenario::Scenario;
use prony_model::plan::wire::Spoken;
use prony_model::program::table::Tables;
use prony_model::result::{
    Counted, FailureCount, IterationsDone, LabFigures, Origin, OverTimeTally, PlanSummary, Progress,
    ResultFile, RunState, SCHEMA, SCHEMA_VERSION, SecondRow, TimesSoFar, WorkerFigures, request_names,
    verdicts, window_results,
};
use prony_model::subscription::figures::{SubscriberRow, Subscribers};
use prony_model::verdict::finding::Finding;
use prony_model::verdict::findings::{TargetPlace, judge};
use prony_model::{Nanos, Plan, WindowKind, Windows};
use std::collections::BTreeMap;
use std::fmt;

/// Merges seconds, each of which is complete once everyone has handed it over.
pub struct Collector<'a> {
    plan: &'a Plan,
    /// What a script asks for while the run goes.
    found: Option<&'a Tables>,
    windows: &'a Windows,
    origin: Origin,
    place: TargetPlace,
    spoken: Vec<Spoken>,
    total: Tally,
    series: Vec<SecondRow>,
    /// Of all successes in the series.
    times: Latencies,
    over_time: OverTimeTally,
    subscriber_series: Vec<SubscriberRow>,
    /// Seconds that some thread has not handed over yet.
    open: BTreeMap<u64, Tally>,
    /// Response times of seconds that are complete, where shares of them may come later.
    complete: BTreeMap<u64, Latencies>,
    /// Processor time of each thread, in the window that counts and in all.
    busy: Vec<Busy>,
    /// How far each thread is.
    handed: Vec<HandedOver>,
    workers: Vec<WorkerFigures>,
    clocks: ClockWatch,
    notice: SeriesNotice,
    /// As of the last result.
    findings: Vec<Finding>,
    listeners: Vec<SnapshotListener>,
}

/// What one thread, or worker, has handed over: each hands over its seconds in their order.
#[derive(Debug, Clone, Copy, Default)]
struct HandedOver {
    last: Option<u64>,
    /// Nothing more is waited for.
    has_ended: bool,
    /// It should have handed over more.
    is_lost: bool,
    /// The first second that it hands over.
    from: u64,
    /// Others hand over its share from this second on.
    taken_over_from: Option<u64>,
}

impl HandedOver {
    /// The second that it hands over next.
    fn next(&self) -> u64 {
        self.last.map_or(self.from, |last| last + 1)
    }

    fn is_missing(&self, second: u64) -> bool {
        self.is_lost && self.next() <= second && self.taken_over_from.is_none_or(|taken| second < taken)
    }
}

/// Of complete seconds that lack a share, so many of the last are kept so that percentiles can be told once it comes.
const LATE_SECONDS_MAX: u64 = 120;

/// Whether seconds of a thread came together as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeriesNotice {
    None,
    Due,
    Told,
}

const PUT_TOGETHER: &str = "seconds were put together in the series, since what shows the run took none for over a minute; \
                            the figures of the run are whole";

#[derive(Debug, Clone, Copy, Default)]
struct Busy {
    steady: Nanos,
    /// In which it was busy for so long.
    steady_length: Nanos,
    whole: Nanos,
}

impl fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("handed", &self.handed).finish_non_exhaustive()
    }
}

impl<'a> Collector<'a> {
    pub fn new(
        plan: &'a Plan,
        found: Option<&'a Tables>,
        windows: &'a Windows,
        origin: Origin,
        place: TargetPlace,
        threads: u32,
    ) -> Self {
        Self {
            plan,
            found,
            windows,
            origin,
            place,
            spoken: Vec::new(),
            total: Tally::new(windows, TallyShape::of(plan)),
            series: Vec::new(),
            times: Latencies::default(),
            over_time: OverTimeTally::default(),
            subscriber_series: Vec::new(),
            open: BTreeMap::new(),
            complete: BTreeMap::new(),
            busy: vec![Busy::default(); threads as usize],
            handed: vec![HandedOver::default(); threads as usize],
            workers: Vec::new(),
            clocks: ClockWatch::default(),
            notice: SeriesNotice::None,
            findings: Vec::new(),
            listeners: Vec::new(),
        }
    }

    /// Who is given each second.
    #[must_use]
    pub fn with_listeners(self, listeners: Vec<SnapshotListener>) -> Self {
        Self { listeners, ..self }
    }

    /// What was settled with each of the plan's targets.
    #[must_use]
    pub fn with_spoken(self, spoken: Vec<Spoken>) -> Self {
        Self { spoken, ..self }
    }

    /// Takes a thread's second; says so where that second is now complete.
    pub fn take(&mut self, interval: ThreadInterval) -> bool {
        self.count_busy(&interval);
        let ThreadInterval { thread, second, is_last, tally, .. } = interval;
        let handed = &mut self.handed[thread as usize];
        handed.last = handed.last.max(Some(second));
        handed.has_ended |= is_last;
        if self.series.last().is_some_and(|row| second <= row.second) {
            self.take_late(second, &tally);
            return false;
        }
        match self.open.get_mut(&second) {
            Some(merged) => merged.merge(&tally),
            None => drop(self.open.insert(second, tally)),
        }
        self.close_complete()
    }

    /// A worker's share of a second that went on without it.
    fn take_late(&mut self, second: u64, tally: &Tally) {
        let own = tally.response_times();
        self.times.merge(&own);
        let times = self.complete.get_mut(&second);
        let times = times.map(|times| {
            times.merge(&own);
            &*times
        });
        if let Ok(index) = self.series.binary_search_by_key(&second, |row| row.second) {
            let row = &mut self.series[index];
            row.add(tally, times);
            row.workers_missing = row.workers_missing.saturating_sub(1);
        }
        if let Ok(index) = self.subscriber_series.binary_search_by_key(&second, |row| row.second) {
            self.subscriber_series[index].add(&tally.subscribers);
        }
        self.over_time.add(second, tally);
        self.total.merge(tally);
    }

    /// A thread or worker hands over nothing more, or nothing more is waited for: where it `is_lost`, its share is missing from
    /// here on. Says so where a second is now complete.
    pub fn end(&mut self, thread: u32, is_lost: bool) -> bool {
        let handed = &mut self.handed[thread as usize];
        (handed.has_ended, handed.is_lost) = (true, is_lost);
        self.close_complete()
    }

    /// One more that may hand over seconds: those from [`Self::take_over`] on. Returns its number.
    pub fn add(&mut self) -> u32 {
        self.busy.push(Busy::default());
        self.handed.push(HandedOver { has_ended: true, ..HandedOver::default() });
        self.handed.len() as u32 - 1
    }

    /// From this second on, which has not begun, others hand over the share of one that is lost.
    pub fn take_over(&mut self, lost: u32, others: &[u32], second: u64) {
        self.handed[lost as usize].taken_over_from = Some(second);
        for other in others {
            let handed = &mut self.handed[*other as usize];
            (handed.from, handed.has_ended) = (second, false);
        }
    }

    /// Who made the run together; their own figures stand for the lab's.
    pub fn set_workers(&mut self, workers: Vec<WorkerFigures>) {
        self.workers = workers;
    }

    /// Where the target turned out to be.
    pub fn set_place(&mut self, place: TargetPlace) {
        self.place = place;
    }

    pub fn record_clocks(&mut self, sample: Option<ClockSample>) {
        if let Some(sample) = sample {
            self.clocks.record(sample);
        }
    }

    /// All threads have ended: seconds that some did not reach are complete too.
    pub fn close(&mut self) {
        self.close_up_to(u64::MAX);
    }

    fn close_complete(&mut self) -> bool {
        let waited_for = self.handed.iter().filter(|handed| !handed.has_ended);
        // The first second that someone has not handed over.
        let next = waited_for.map(HandedOver::next).min();
        match next.map(|next| next.checked_sub(1)) {
            Some(None) => false,
            Some(Some(last)) => self.close_up_to(last),
            None => self.close_up_to(u64::MAX),
        }
    }

    /// Says so where one was not before.
    fn close_up_to(&mut self, second: u64) -> bool {
        let before = self.series.len();
        while let Some(entry) = self.open.first_entry()
            && *entry.key() <= second
        {
            let (second, tally) = entry.remove_entry();
            self.tell_listeners(second, &tally);
            let missing = self.handed.iter().filter(|handed| handed.is_missing(second));
            let workers_missing = missing.count() as u32;
            let times = tally.response_times();
            self.series.push(SecondRow { workers_missing, ..SecondRow::of(second, &tally, &times) });
            self.times.merge(&times);
            if workers_missing > 0 {
                self.complete.insert(second, times);
                self.complete.retain(|kept, _| *kept + LATE_SECONDS_MAX > second);
            }
            if !self.plan.subscriptions().is_empty() {
                self.subscriber_series.push(SubscriberRow::of(second, &tally.subscribers));
            }
            self.over_time.add(second, &tally);
            self.total.merge(&tally);
        }
        self.series.len() > before
    }

    fn tell_listeners(&mut self, second: u64, tally: &Tally) {
        if self.listeners.is_empty() {
            return;
        }
        let names = RequestNames { plan: self.plan, found: self.found };
        let snapshot = IntervalSnapshot::of(second, tally, names);
        self.listeners.iter_mut().for_each(|listener| listener(&snapshot));
    }

    /// Something to tell that was not told yet.
    pub fn notice(&mut self) -> Option<String> {
        (self.notice == SeriesNotice::Due).then(|| {
            self.notice = SeriesNotice::Told;
            PUT_TOGETHER.to_owned()
        })
    }

    fn count_busy(&mut self, interval: &ThreadInterval) {
        let last = self.handed[interval.thread as usize].last;
        let first = last.map_or(interval.second, |last| (last + 1).min(interval.second));
        if first < interval.second && self.notice == SeriesNotice::None {
            self.notice = SeriesNotice::Due;
        }
        let from = Nanos::from_secs(first);
        // The last second of a thread ends with its work. One that was handed over late has no more than a second.
        let length = interval.until.since(from).min(Nanos::from_secs(interval.second + 1 - first));
        let middle = from.plus(Nanos(length.0 / 2));
        let window = self.windows.index_at(middle).map(|index| self.windows.all()[index].kind);
        let busy = &mut self.busy[interval.thread as usize];
        busy.whole = busy.whole.plus(interval.busy);
        if window == Some(WindowKind::Steady) {
            busy.steady = busy.steady.plus(interval.busy);
            busy.steady_length = busy.steady_length.plus(length);
        }
    }

    pub fn progress(&self, elapsed: Nanos, warning: Option<String>) -> Progress {
        let windows: Vec<_> = (0..self.windows.all().len()).collect();
        let requests = 0..self.total.requests();
        let cells = requests.flat_map(|request| windows.iter().map(move |window| (*window, request)));
        let cells = cells.map(|(window, request)| self.total.cell(window, request));
        let (total, failures) = cells
            .clone()
            .fold((0, 0), |(total, failures), cell| (total + cell.requests(), failures + cell.failures()));
        let last = self.series.last().copied().unwrap_or_default();
        let scenarios = self.plan.scenarios();
        let loads = scenarios.iter().map(|scenario| (scenario.start, &scenario.load));
        let middle = Nanos::from_secs(last.second).plus(Nanos::from_millis(500));
        let (mut starts, mut dropped_of) = (StartCounts::default(), Vec::with_capacity(scenarios.len()));
        for scenario in 0..scenarios.len() {
            let own = self.total.starts_of(&windows, scenario);
            dropped_of.push(own.dropped);
            starts.merge(&own);
        }
        Progress {
            elapsed,
            duration: self.plan.duration(),
            last,
            subscribers: self.subscriber_series.last().copied(),
            asked_per_s: asked_per_s(loads, middle),
            requests: total,
            failures,
            failures_of: FailureCount::of(cells),
            times: TimesSoFar::of(&self.times),
            iterations: self.iterations_done(starts.completed),
            waited: starts.waited,
            dropped: starts.dropped,
            dropped_of,
            findings: self.findings.clone(),
            warning,
            is_last: false,
        }
    }

    /// Nothing where a scenario goes on for as long as its time allows.
    fn iterations_done(&self, done: u64) -> Option<IterationsDone> {
        let budget = |scenario: &Scenario| match scenario.load.budget {
            IterationBudget::Unlimited => None,
            IterationBudget::EachUser(each) => Some(each.saturating_mul(scenario.load.users_max().into())),
            IterationBudget::Shared(all) => Some(all),
        };
        let of: u64 = self.plan.scenarios().iter().map(budget).sum::<Option<u64>>()?;
        (of > 0).then_some(IterationsDone { done, of })
    }

    /// The result as it stands at `elapsed`.
    pub fn result(&mut self, state: RunState, elapsed: Nanos) -> ResultFile {
        let elapsed = elapsed.min(self.plan.duration());
        let windows = window_results(self.plan, self.found, self.windows, &self.total, elapsed);
        let subscribers = Subscribers::of(
            self.plan,
            self.windows,
            &self.total.subscribers,
            &self.subscriber_series,
            elapsed,
        );
        let mut result = ResultFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            state,
            origin: self.origin.clone(),
            plan: PlanSummary::of(self.plan, self.found),
            findings: Vec::new(),
            thresholds: verdicts(self.plan, &windows, &subscribers),
            verdict: None,
            windows,
            series: self.series.clone(),
            over_time: self.over_time.saved(&request_names(self.plan, self.found, &self.total)),
            lab: self.lab(elapsed),
            observers: Vec::new(),
            counted: Counted::of(self.plan, &self.total.counts),
            subscribers,
            workers: self.workers.clone(),
        };
        result.findings = judge(self.plan, &result, &self.place);
        result.judge();
        let lasting = result.findings.iter().filter(|finding| !finding.kind.heals_with_time());
        self.findings = lasting.cloned().collect();
        result
    }

    fn lab(&self, elapsed: Nanos) -> LabFigures {
        let share = |busy: &Busy| match busy.steady_length {
            Nanos::ZERO => busy.whole.as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
            length => busy.steady.as_secs_f64() / length.as_secs_f64(),
        };
        let own = LabFigures {
            threads: self.busy.len() as u32,
            spoken: self.spoken.clone(),
            busiest_thread_share: self.busy.iter().map(share).fold(0.0, f64::max).min(1.0),
            processor_time_ns: self.busy.iter().fold(Nanos::ZERO, |sum, busy| sum.plus(busy.whole)),
            memory_peak_bytes: crate::machine::memory_peak_bytes(),
            clock: self.clocks.events().to_vec(),
            ..LabFigures::default()
        };
        let lab = if self.workers.is_empty() { own } else { LabFigures::of_workers(&self.workers) };
        LabFigures {
            lateness: LatencyFigures::of(&self.total.lateness),
            connections: self.total.connections,
            longest_silence_ns: self.total.longest_silence,
            unfinished: self.total.unfinished,
            ..lab
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::verdict::finding::FindingKind;
    use prony_model::{LoadModel, Outcome, PlanDraft, Record, RequestDraft, Target};
    use std::cell::RefCell;
    use std::rc::Rc;

    fn plan() -> Plan {
        let load = LoadModel::constant(2, Nanos::from_secs(4));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        draft.check().unwrap()
    }

    /// So many requests, each of them 5 ms long, that ended in a second on a thread.
    fn interval(plan: &Plan, thread: u32, second: u64, requests: u64) -> ThreadInterval {
        let windows = plan.windows();
        let mut tally = Tally::new(&windows, TallyShape::of(plan));
        for number in 0..requests {
            let scheduled = Nanos::from_secs(second).plus(Nanos::from_millis(number * 7));
            let record = Record {
                request: 0,
                scheduled,
                started: scheduled,
                first_byte: None,
                ended: scheduled.plus(Nanos::from_millis(5)),
                outcome: Outcome::Success,
                status: None,
                bytes_sent: 1,
                bytes_received: 2,
            };
            tally.record(&windows, &record);
            tally.started += 1;
        }
        tally.users_active = 1;
        let until = Nanos::from_secs(second + 1);
        ThreadInterval { thread, second, until, is_last: false, tally, busy: Nanos::from_millis(200) }
    }

    fn check(threads: u32, steps: impl FnOnce(&Plan, &mut Collector<'_>)) -> (ResultFile, Vec<u64>) {
        let plan = plan();
        let windows = plan.windows();
        let told = Rc::new(RefCell::new(Vec::new()));
        let seconds = Rc::clone(&told);
        let listener: SnapshotListener = Box::new(move |snapshot| seconds.borrow_mut().push(snapshot.second));
        let mut collector =
            Collector::new(&plan, None, &windows, Origin::default(), TargetPlace::OtherMachine, threads)
                .with_listeners(vec![listener]);
        steps(&plan, &mut collector);
        let times = collector.progress(Nanos::from_secs(4), None).times;
        let ended: u64 = collector.series.iter().map(|row| row.successes).sum();
        assert_eq!(times.histogram.counts().iter().sum::<u64>(), ended, "each is in it once");
        assert_eq!(times.p50, Some(Nanos::from_millis(5)));
        let result = collector.result(RunState::Completed, Nanos::from_secs(4));
        (result, told.take())
    }

    #[test]
    fn a_second_is_complete_once_every_thread_has_handed_it_over() {
        let (result, told) = check(2, |plan, collector| {
            assert!(!collector.take(interval(plan, 0, 0, 3)));
            assert!(!collector.take(interval(plan, 0, 1, 2)));
            assert!(collector.take(interval(plan, 1, 0, 4)));
            assert_eq!(collector.progress(Nanos::from_secs(1), None).requests, 7);
            assert!(collector.take(interval(plan, 1, 1, 1)));
        });
        assert_eq!(result.series.iter().map(|row| row.successes).collect::<Vec<_>>(), [7, 3]);
        assert_eq!((result.headline().all.requests, result.series[0].users, told), (10, 2, vec![0, 1]));
        let request = &result.over_time.requests[0];
        assert_eq!((request.name.as_str(), &request.ended), ("a", &vec![7, 3]));
    }

    #[test]
    fn a_thread_that_has_ended_is_not_waited_for() {
        let (result, told) = check(2, |plan, collector| {
            collector.take(ThreadInterval { is_last: true, ..interval(plan, 0, 0, 1) });
            assert!(collector.take(interval(plan, 1, 0, 1)));
            assert!(collector.take(interval(plan, 1, 1, 5)));
            // Nobody hands this one over to its end.
            collector.take(ThreadInterval { thread: 0, ..interval(plan, 0, 3, 2) });
            collector.close();
        });
        assert_eq!(result.series.iter().map(|row| row.second).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!((result.headline().all.requests, told), (9, vec![0, 1, 3]));
    }

    #[test]
    fn a_lost_share_is_missing_until_others_hand_it_over() {
        let (result, _) = check(2, |plan, collector| {
            let other = collector.add();
            collector.take(interval(plan, 1, 0, 2));
            assert!(collector.take(interval(plan, 0, 0, 3)));
            assert!(!collector.end(1, true), "nothing is open");
            assert!(collector.take(interval(plan, 0, 1, 3)));
            collector.take_over(1, &[other], 3);
            assert!(collector.take(interval(plan, 0, 2, 3)), "nobody has this second");
            assert!(!collector.take(interval(plan, 0, 3, 3)), "the other one has");
            assert!(collector.take(interval(plan, other, 3, 4)));
        });
        let rows: Vec<_> = result.series.iter().map(|row| (row.successes, row.workers_missing)).collect();
        assert_eq!(rows, [(5, 0), (3, 1), (3, 1), (7, 0)]);
    }

    #[test]
    fn processor_time_is_that_of_the_busiest_thread_and_of_all() {
        let (result, _) = check(2, |plan, collector| {
            for second in 0..4 {
                collector.take(interval(plan, 0, second, 1));
                let busy = Nanos::from_millis(700);
                collector.take(ThreadInterval { busy, ..interval(plan, 1, second, 1) });
            }
        });
        assert!((result.lab.busiest_thread_share - 0.7).abs() < 1e-9, "{}", result.lab.busiest_thread_share);
        assert_eq!(result.lab.processor_time_ns, Nanos::from_millis(3_600));
    }

    /// Nobody took them for a while.
    #[test]
    fn seconds_that_were_put_together_are_as_busy_as_each_of_them() {
        let (result, _) = check(1, |plan, collector| {
            let busy = Nanos::from_millis(700);
            collector.take(ThreadInterval { busy, ..interval(plan, 0, 0, 1) });
            assert_eq!(collector.notice(), None);
            let busy = Nanos::from_millis(2_100);
            collector.take(ThreadInterval { busy, ..interval(plan, 0, 3, 3) });
            assert!(collector.notice().is_some());
            assert_eq!(collector.notice(), None, "it is told once");
        });
        assert!((result.lab.busiest_thread_share - 0.7).abs() < 1e-9, "{}", result.lab.busiest_thread_share);
        assert_eq!(result.series.iter().map(|row| row.successes).collect::<Vec<_>>(), [1, 3]);
    }

    /// As of a run whose iterations are done: its last second is no idle one.
    #[test]
    fn a_thread_is_as_busy_as_its_last_second_was_long() {
        let (result, _) = check(1, |plan, collector| {
            let (until, busy) = (Nanos::from_millis(1_400), Nanos::from_millis(360));
            let whole = ThreadInterval { busy: Nanos::from_millis(900), ..interval(plan, 0, 0, 1) };
            collector.take(whole);
            collector.take(ThreadInterval { until, busy, is_last: true, ..interval(plan, 0, 1, 1) });
        });
        assert!((result.lab.busiest_thread_share - 0.9).abs() < 1e-9, "{}", result.lab.busiest_thread_share);
        assert!(result.findings.iter().any(|finding| finding.kind == FindingKind::GeneratorBound));
    }
}
