//! Starts of open models over several threads in virtual time: one scheduler drives all of them, and what happens is held
//! against one thread that has all users.

use crate::recorder::Recorder;
use crate::users::{Action, AskReason, StartExchange, UserIndex, UserMachine};
use prony_model::measurement::tally::{StartCounts, TallyShape};
use prony_model::program::{Step, ThreadPlace};
use prony_model::{
    FlowDraft, LoadModel, Nanos, Outcome, Plan, PlanDraft, RateStage, Record, RequestDraft, ScenarioDraft,
    Spacing, Target, Windows,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::thread;
use std::time::Instant;

/// A start that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    scenario: usize,
    due: Nanos,
    at: Nanos,
    user: u32,
}

struct VirtualThread<'a> {
    machine: UserMachine<'a>,
    recorder: Recorder<'a>,
    /// When requests end, by user.
    peer: BTreeSet<(Nanos, UserIndex)>,
    /// When it next runs, as far as is known.
    runs_at: Option<Nanos>,
    turns: usize,
}

/// All threads of a run. A thread runs once something is due for it, later by the next of `delays`: with none, at once.
struct VirtualRun<'a> {
    plan: &'a Plan,
    exchange: &'a StartExchange,
    windows: usize,
    threads: Vec<VirtualThread<'a>>,
    /// How long iterations take, by the order of their due times.
    takes: &'a dyn Fn(Nanos) -> Nanos,
    delays: &'a [Nanos],
    now: Nanos,
    begun: Vec<Begun>,
}

impl VirtualRun<'_> {
    fn run(&mut self) {
        let last_moment = self.threads[0].machine.last_moment();
        while let Some((at, thread)) = self.next_turn() {
            self.now = at.max(self.now);
            assert!(self.now < last_moment, "it ends by itself");
            if self.delays.is_empty() {
                // All that has ended is known before the next start is served.
                (0..self.threads.len()).for_each(|thread| self.answer(thread));
            }
            self.answer(thread);
            self.serve(thread);
            let VirtualThread { runs_at, turns, .. } = &mut self.threads[thread];
            (*runs_at, *turns) = (None, *turns + 1);
        }
        let now = self.now;
        for thread in &mut self.threads {
            thread.machine.finish(now, &mut thread.recorder);
        }
    }

    /// The thread that runs next, and when; nothing where all are done.
    fn next_turn(&mut self) -> Option<(Nanos, usize)> {
        let (now, delays) = (self.now, self.delays);
        let turn_of = |(number, thread): (usize, &mut VirtualThread<'_>)| {
            let is_over = thread.recorder.in_flight() == 0 && thread.machine.is_over(now);
            let response = thread.peer.first().map_or(Nanos::MAX, |(at, _)| *at);
            let due = thread.machine.next_moment(now).min(response);
            if is_over || due == Nanos::MAX {
                return None;
            }
            let delay =
                delays.get((number + thread.turns) % delays.len().max(1)).copied().unwrap_or_default();
            let at = due.max(now).plus(delay);
            let at = thread.runs_at.map_or(at, |known| known.min(at));
            thread.runs_at = Some(at);
            Some((at, number))
        };
        self.threads
            .iter_mut()
            .enumerate()
            .rev()
            .filter_map(|(number, thread)| turn_of((number, thread)))
            .min()
    }

    fn serve(&mut self, number: usize) {
        loop {
            let free = self.free();
            let VirtualThread { machine, recorder, .. } = &mut self.threads[number];
            let dropped = dropped(self.plan, self.windows, recorder);
            if !machine.on_time(self.now, recorder) {
                return;
            }
            for (scenario, (before, after)) in
                dropped.iter().zip(super::tests::dropped(self.plan, self.windows, recorder)).enumerate()
            {
                let is_closed = self.plan.scenarios()[scenario].load.rate_max().is_none();
                assert!(is_closed || free[scenario] == 0 || *before == after, "a drop beside a free user");
            }
            self.act(number);
        }
    }

    /// By scenario: users that are free and not claimed, on all threads.
    fn free(&self) -> Vec<u32> {
        let threads = 0..self.threads.len() as u32;
        let of = |scenario| threads.clone().map(|thread| self.exchange.free_on(thread, scenario)).sum();
        (0..self.plan.scenarios().len()).map(of).collect()
    }

    fn answer(&mut self, number: usize) {
        while let Some(&(at, user)) = self.threads[number].peer.first()
            && at <= self.now
        {
            let VirtualThread { machine, recorder, peer, .. } = &mut self.threads[number];
            peer.pop_first();
            recorder.ended(&Record {
                request: 0,
                scheduled: at,
                started: at,
                first_byte: None,
                ended: at,
                outcome: Outcome::Success,
                status: None,
                bytes_sent: 0,
                bytes_received: 0,
            });
            machine.on_request_end(user, None, self.now);
            self.act(number);
        }
    }

    fn act(&mut self, number: usize) {
        let now = self.now;
        while let Some(action) = self.threads[number].machine.next_action() {
            let Action::Ask { user, reason, due, .. } = action else { continue };
            let VirtualThread { machine, recorder, peer, .. } = &mut self.threads[number];
            if reason == AskReason::Begin {
                let place = machine.place_of(user);
                self.begun.push(Begun { scenario: place.scenario, due, at: now, user: place.number });
                machine.on_step(user, Step::Send, 1, now, recorder);
                recorder.sent(1, now);
                assert!(
                    peer.insert((now.plus((self.takes)(due)), user)),
                    "a user has one iteration at a time"
                );
            } else {
                machine.on_step(user, Step::EndIteration, 0, now, recorder);
            }
        }
    }
}

fn dropped(plan: &Plan, windows: usize, recorder: &Recorder<'_>) -> Vec<u64> {
    let windows: Vec<_> = (0..windows).collect();
    (0..plan.scenarios().len()).map(|index| recorder.tally().starts_of(&windows, index).dropped).collect()
}

/// Runs a plan on so many threads: what was counted by scenario, and each iteration in the order in which they began.
fn run(
    plan: &Plan,
    threads: u32,
    takes: &dyn Fn(Nanos) -> Nanos,
    delays: &[Nanos],
) -> (Vec<StartCounts>, Vec<Begun>) {
    let windows = plan.windows();
    let exchange = StartExchange::new(plan.scenarios().iter().map(|one| one.load.users_max()), threads);
    let mut all = VirtualRun {
        plan,
        exchange: &exchange,
        windows: windows.all().len(),
        threads: (0..threads).map(|number| thread(plan, &windows, &exchange, number, threads)).collect(),
        takes,
        delays,
        now: Nanos::ZERO,
        begun: Vec::new(),
    };
    all.run();
    let indices: Vec<_> = (0..all.windows).collect();
    let counts = (0..plan.scenarios().len()).map(|scenario| {
        all.threads.iter().fold(StartCounts::default(), |mut sum, thread| {
            sum.merge(&thread.recorder.tally().starts_of(&indices, scenario));
            sum
        })
    });
    (counts.collect(), all.begun)
}

fn thread<'a>(
    plan: &'a Plan,
    windows: &'a Windows,
    exchange: &'a StartExchange,
    number: u32,
    threads: u32,
) -> VirtualThread<'a> {
    VirtualThread {
        machine: UserMachine::new(plan, &[], exchange, number, ThreadPlace { number, threads }),
        recorder: Recorder::new(windows, TallyShape::of(plan)),
        peer: BTreeSet::new(),
        runs_at: None,
        turns: 0,
    }
}

fn open(rate: f64, duration: Nanos, users: u32, wait_max: Nanos) -> LoadModel {
    let stages = vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(duration, rate)];
    LoadModel::arrivals(stages, Spacing::Even, users, wait_max)
}

fn plan(loads: Vec<LoadModel>) -> Plan {
    let mut draft = PlanDraft::new("virtual", Target::new("unused", 80), loads[0].clone());
    draft.requests = vec![RequestDraft::get("a", "/")];
    draft.timeout = Nanos::from_secs(60);
    let scenarios = loads.into_iter().enumerate().map(|(index, load)| {
        let mut scenario = ScenarioDraft::new(&format!("s{index}"), load);
        scenario.flow = FlowDraft::AnyRequest;
        scenario
    });
    draft.scenarios = scenarios.collect();
    draft.check().expect("a sound plan")
}

#[test]
fn a_start_takes_the_free_user_of_another_thread() {
    let seconds = Nanos::from_secs(4);
    let one_user = || open(5.0, seconds, 1, Nanos::ZERO);
    for threads in [1, 2, 3, 16] {
        let takes = |_| Nanos::from_millis(10);
        let (counts, _) = run(&plan(vec![one_user(), one_user()]), threads, &takes, &[]);
        assert_eq!([counts[0].started, counts[0].dropped], [20, 0], "{threads} threads");
        assert_eq!([counts[1].started, counts[1].dropped], [20, 0], "{threads} threads");
        let takes = |_| Nanos::from_millis(150);
        let (counts, _) = run(&plan(vec![open(50.0, seconds, 10, Nanos::ZERO)]), threads, &takes, &[]);
        assert_eq!([counts[0].started, counts[0].dropped], [200, 0], "{threads} threads");
    }
}

#[test]
fn users_that_are_not_ready_serve_only_where_no_ready_one_is_free() {
    let mut draft = plan(vec![open(20.0, Nanos::from_secs(2), 9, Nanos::ZERO)]).into_draft();
    draft.scenarios[0].users_ready = 2;
    let plan = draft.check().expect("a sound plan");
    for (takes_ms, users) in [(10, 2), (90, 2), (190, 4)] {
        for threads in [1, 2, 4] {
            let (counts, begun) = run(&plan, threads, &|_| Nanos::from_millis(takes_ms), &[]);
            let served: BTreeSet<_> = begun.iter().map(|begun| begun.user).collect();
            assert_eq!((counts[0].started, counts[0].dropped), (40, 0));
            assert_eq!(served, (0..users).collect(), "{takes_ms} ms, {threads} threads");
        }
    }
}

#[test]
fn starts_wait_for_the_first_user_that_becomes_free_on_any_thread() {
    // Two users on two threads; iterations take long and short in turn, so one thread is free much earlier.
    let load = open(100.0, Nanos::from_millis(60), 2, Nanos::from_secs(1));
    let takes = |due: Nanos| Nanos::from_millis(if due == Nanos::ZERO { 90 } else { 12 });
    let (counts, begun) = run(&plan(vec![load]), 2, &takes, &[]);
    let at: Vec<_> = begun.iter().map(|begun| (begun.due.0 / 1_000_000, begun.at.0 / 1_000_000)).collect();
    assert_eq!(at, [(0, 0), (10, 10), (20, 22), (30, 34), (40, 46), (50, 58)]);
    assert_eq!((counts[0].waited, counts[0].dropped), (4, 0));
}

#[test]
fn the_rate_is_reached_with_the_users_of_littles_law_and_a_fifth() {
    let delays: Vec<_> = [20, 50, 5, 35, 0].map(Nanos::from_micros).into();
    for (rate, takes_ms) in [(5.0, 10), (50.0, 150), (200.0, 4), (1_000.0, 31), (3_000.0, 2), (700.0, 1)] {
        let takes = Nanos::from_millis(takes_ms);
        let users = (rate * takes.as_secs_f64() * 1.2).ceil() as u32;
        for threads in [1, 2, 5, 16] {
            let plan = plan(vec![open(rate, Nanos::from_secs(2), users, Nanos::ZERO)]);
            let (counts, _) = run(&plan, threads, &|_| takes, &delays);
            let StartCounts { due, dropped, .. } = counts[0];
            assert!(dropped * 1_000 <= due, "{rate}/s, {users} users, {threads} threads: {dropped} of {due}");
        }
    }
}

/// Each of 1,000 starts is counted, of which a thread gets to see 500.
#[test]
fn what_is_due_faster_than_a_thread_can_serve_is_dropped_and_takes_no_memory() {
    let plan = plan(vec![open(1_000.0, Nanos::from_secs(1), 1, Nanos::from_millis(10))]);
    let (windows, exchange) = (plan.windows(), StartExchange::new([1].into_iter(), 1));
    let VirtualThread { mut machine, mut recorder, .. } = thread(&plan, &windows, &exchange, 0, 1);
    let counted = |recorder: &Recorder<'_>| {
        let counts = recorder.tally().starts_of(&[0], 0);
        (counts.due, counts.started, counts.dropped)
    };
    for _ in 0..500 {
        assert!(machine.on_time(Nanos::from_secs(1), &mut recorder));
    }
    assert_eq!(counted(&recorder), (500, 1, 498), "the last one still waits");
    machine.finish(Nanos::from_secs(5), &mut recorder);
    assert_eq!(counted(&recorder), (1_000, 1, 999));
    assert!(!machine.owes_starts());
}

/// Each may wait until the run is over: their number has a bound of its own.
#[test]
fn no_more_starts_wait_than_there_is_room_for_and_the_others_are_dropped() {
    let plan = plan(vec![open(1_000.0, Nanos::from_secs(1), 1, Nanos::from_secs(60))]);
    let (windows, exchange) = (plan.windows(), StartExchange::new([1].into_iter(), 1).with_waiting_max(10));
    let VirtualThread { mut machine, mut recorder, .. } = thread(&plan, &windows, &exchange, 0, 1);
    let counted = |recorder: &Recorder<'_>| {
        let counts = recorder.tally().starts_of(&[0], 0);
        (counts.due, counts.started, counts.dropped)
    };
    for _ in 0..500 {
        assert!(machine.on_time(Nanos::from_secs(1), &mut recorder));
    }
    assert_eq!(counted(&recorder), (500, 1, 489));
    machine.finish(Nanos::from_secs(5), &mut recorder);
    assert_eq!(counted(&recorder), (1_000, 1, 999));
}

/// The loop of a thread with a peer that answers at once, on the real clock.
fn drive(mut thread: VirtualThread<'_>, epoch: Instant) -> (StartCounts, Vec<Nanos>) {
    let VirtualThread { machine, recorder, .. } = &mut thread;
    let (now, mut begun) = (|| Nanos(epoch.elapsed().as_nanos() as u64), Vec::new());
    while !machine.is_over(now()) {
        while machine.on_time(now(), recorder) {
            while let Some(Action::Ask { user, reason, due, .. }) = machine.next_action() {
                if reason == AskReason::Begin {
                    begun.push(due);
                    machine.on_step(user, Step::Send, 1, now(), recorder);
                    machine.on_request_end(user, None, now());
                } else {
                    machine.on_step(user, Step::EndIteration, 0, now(), recorder);
                }
            }
        }
        thread::yield_now();
    }
    machine.finish(now(), recorder);
    (recorder.tally().starts_of(&[0], 0), begun)
}

#[test]
fn threads_at_once_lose_no_start_and_no_user() {
    // In the second half of the time all that has waited must find a user.
    let (busy, all) = (Nanos::from_millis(300), Nanos::from_secs(2));
    let stages = [(Nanos::ZERO, 1e5), (busy, 1e5), (Nanos::ZERO, 0.0), (all, 0.0)];
    let stages = stages.map(|(time, rate)| RateStage::new(time, rate)).to_vec();
    let plan = plan(vec![LoadModel::arrivals(stages, Spacing::Even, 3, Nanos::from_secs(60))]);
    let (windows, threads) = (Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, all))], Nanos::ZERO), 4);
    let exchange = StartExchange::new([3].into_iter(), threads);
    let epoch = Instant::now();
    let (mut counts, mut begun) = (StartCounts::default(), BTreeSet::new());
    thread::scope(|scope| {
        let (plan, windows, exchange) = (&plan, &windows, &exchange);
        let work = |number| move || drive(thread(plan, windows, exchange, number, threads), epoch);
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(work(number))).collect();
        for thread in running {
            let (own, dues) = thread.join().expect("a thread ends well");
            counts.merge(&own);
            for due in dues {
                assert!(begun.insert(due), "{due} was begun twice");
            }
        }
    });
    assert_eq!((counts.due, counts.started, counts.dropped), (30_000, 30_000, 0));
    assert_eq!(begun.len(), 30_000);
}

fn load() -> impl Strategy<Value = LoadModel> {
    let users = (1_u32..12, prop_oneof![Just(0_u64), 1_u64..300]);
    (users, 1.0_f64..400.0, 100_u64..900, any::<bool>()).prop_map(
        |((users, wait_ms), rate, duration_ms, is_poisson)| {
            let mut load = open(rate, Nanos::from_millis(duration_ms), users, Nanos::from_millis(wait_ms));
            if let Some(arrivals) = load.arrivals.as_mut().filter(|_| is_poisson) {
                arrivals.spacing = Spacing::Poisson;
            }
            load
        },
    )
}

/// Each start is begun once or dropped once.
fn hold_counts(counts: &[StartCounts], begun: &[Begun]) {
    for (scenario, counts) in counts.iter().enumerate() {
        let own: BTreeSet<_> =
            begun.iter().filter(|begun| begun.scenario == scenario).map(|begun| begun.due).collect();
        assert_eq!(counts.due, counts.started + counts.dropped, "no start is lost: {counts:?}");
        assert_eq!(counts.started, own.len() as u64, "none is begun twice: {counts:?}");
        assert!(counts.completed <= counts.started, "{counts:?}");
    }
    assert!(begun.iter().all(|begun| begun.due <= begun.at), "none begins before it is due");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn threads_drop_what_one_thread_with_all_users_drops(
        loads in prop::collection::vec(load(), 1..4), threads in 2_u32..9,
        takes in prop::collection::vec(100_u64..200_000, 1..7),
    ) {
        let plan = plan(loads);
        // The same for a start whoever serves it.
        let takes = |due: Nanos| Nanos::from_micros(takes[(due.0 / 997) as usize % takes.len()]);
        let (one, one_begun) = run(&plan, 1, &takes, &[]);
        let (all, all_begun) = run(&plan, threads, &takes, &[]);
        prop_assert_eq!(&all, &one);
        hold_counts(&all, &all_begun);
        let by_due = |begun: Vec<Begun>| begun.iter().map(|one| (one.scenario, one.due, one.at)).collect::<BTreeSet<_>>();
        for (scenario, _) in plan.scenarios().iter().enumerate() {
            let own = all_begun.iter().filter(|begun| begun.scenario == scenario);
            prop_assert!(own.is_sorted_by_key(|begun| begun.due), "the order of due times is kept");
        }
        prop_assert_eq!(by_due(all_begun), by_due(one_begun));
    }

    #[test]
    fn no_start_is_lost_or_begun_twice_whatever_the_delays(
        loads in prop::collection::vec(load(), 1..4), threads in 1_u32..9,
        takes in prop::collection::vec(100_u64..200_000, 1..7), delays in prop::collection::vec(0_u64..30_000, 1..6),
    ) {
        let plan = plan(loads);
        let takes = |due: Nanos| Nanos::from_micros(takes[(due.0 / 997) as usize % takes.len()]);
        let delays: Vec<_> = delays.into_iter().map(Nanos::from_micros).collect();
        let (counts, begun) = run(&plan, threads, &takes, &delays);
        hold_counts(&counts, &begun);
    }
}
