//! The users of a thread in virtual time: a scripted program, a peer that answers when its script says, and a thread that is
//! held up now and then. Nothing sleeps.

use super::{Action, AskReason, StartExchange, UserIndex, UserMachine};
use crate::recorder::Recorder;
use expect_test::{Expect, expect};
use prony_client::ConnectionCounts;
use prony_model::load::IterationBudget;
use prony_model::measurement::counts::Counts;
use prony_model::measurement::tally::{StartCounts, TallyShape};
use prony_model::plan::scenario::Grace;
use prony_model::program::{Step, ThreadPlace};
use prony_model::{
    FlowDraft, LoadModel, Nanos, Outcome, Pacing, Plan, PlanDraft, RateStage, Record, RequestDraft, Spacing,
    Stage, Target, ThinkTime, TransportError, Windows,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

const TIMEOUT: Nanos = Nanos::from_millis(500);
/// What the program takes for a step, so that one that never waits does not stop the time.
const ACT_TAKES: Nanos = Nanos::from_micros(100);

/// One step of an iteration.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// So many requests at once, each answered after this time; one that takes longer than the timeout fails.
    Send(u32, Nanos),
    /// A request that fails to connect at once.
    Refused,
    Pause(Nanos),
    /// As scripts wait; nothing else wakes the user where no time is given.
    Wait(Option<Nanos>),
    StopThread,
    /// A program that computes has ended the iteration itself.
    OutOfTime,
}

struct World<'a> {
    plan: &'a Plan,
    windows: usize,
    machine: UserMachine<'a>,
    recorder: Recorder<'a>,
    /// An iteration's steps; the next iteration of any user begins behind the last that was taken.
    scripts: &'a [Vec<Act>],
    begun: usize,
    users: BTreeMap<UserIndex, Vec<Act>>,
    /// What comes of requests, and when they were sent.
    peer: Vec<(Nanos, Nanos, UserIndex, Option<TransportError>)>,
    now: Nanos,
    log: Vec<String>,
    /// Begun and not ended, by user.
    in_iteration: BTreeMap<UserIndex, bool>,
    begins: BTreeMap<UserIndex, u64>,
}

impl<'a> World<'a> {
    fn new(
        plan: &'a Plan,
        windows: &'a Windows,
        (budgets, exchange): &'a (Vec<AtomicU64>, StartExchange),
        scripts: &'a [Vec<Act>],
    ) -> Self {
        let thread = ThreadPlace { number: 0, threads: 1 };
        Self {
            plan,
            windows: windows.all().len(),
            machine: UserMachine::new(plan, budgets, exchange, 0, thread),
            recorder: Recorder::new(windows, TallyShape::of(plan)),
            scripts,
            begun: 0,
            users: BTreeMap::new(),
            peer: Vec::new(),
            now: Nanos::ZERO,
            log: Vec::new(),
            in_iteration: BTreeMap::new(),
            begins: BTreeMap::new(),
        }
    }

    fn note(&mut self, user: UserIndex, what: &str) {
        self.log.push(format!("{} ms, user {}: {what}", self.now.0 / 1_000_000, user.0));
    }

    /// Runs to the end; the thread is held up by each of `delays` in turn before it goes on.
    fn run(&mut self, delays: &[Nanos]) -> StartCounts {
        let last_moment = self.machine.last_moment();
        for turn in 0.. {
            if self.recorder.in_flight() == 0 && self.machine.is_over(self.now) || self.now >= last_moment {
                break;
            }
            loop {
                let free = self.machine.users().filter(|user| self.machine.is_free(*user)).count();
                let dropped = self.starts().dropped;
                if !self.machine.on_time(self.now, &mut self.recorder) {
                    break;
                }
                self.now = self.now.plus(ACT_TAKES);
                assert!(
                    free == 0 || self.starts().dropped == dropped,
                    "a start was dropped beside a free user"
                );
                self.act();
            }
            let response = self.peer.iter().map(|(at, ..)| *at).min().unwrap_or(Nanos::MAX);
            let next = self.machine.next_moment(self.now).min(response).min(last_moment);
            let delay = delays.get(turn % delays.len().max(1)).copied().unwrap_or_default();
            self.now = self.now.max(next).plus(delay);
            self.answer();
        }
        assert!(self.now < last_moment.plus(Nanos::from_secs(1)), "it ends by itself");
        self.machine.finish(self.now, &mut self.recorder);
        self.act();
        self.starts()
    }

    fn starts(&self) -> StartCounts {
        let windows: Vec<_> = (0..self.windows).collect();
        let mut all = StartCounts::default();
        for index in 0..self.plan.scenarios().len() {
            all.merge(&self.recorder.tally().starts_of(&windows, index));
        }
        all
    }

    /// Responses and time-outs that have come by now, in the order of their moments.
    fn answer(&mut self) {
        self.peer.sort_by_key(|(at, ..)| *at);
        let come = self.peer.iter().take_while(|(at, ..)| *at <= self.now).count();
        for (_, sent, user, error) in self.peer.drain(..come).collect::<Vec<_>>() {
            let now = self.now;
            self.recorder.ended(&Record {
                request: 0,
                scheduled: sent,
                started: sent,
                first_byte: None,
                ended: now,
                outcome: error.map_or(Outcome::Success, Outcome::Transport),
                status: None,
                bytes_sent: 0,
                bytes_received: 0,
            });
            self.machine.on_request_end(user, error, now);
            self.act();
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Ask { user, reason, due, .. } => {
                    assert!(!self.machine.is_listening(user), "a user that waits is not asked");
                    self.note(user, &format!("{reason:?}, due {} ms", due.0 / 1_000_000));
                    if reason == AskReason::Begin {
                        self.begin(user);
                    }
                    self.go_on(user);
                }
                Action::Wake { user } => {
                    if self.machine.begin_event(user).is_some() {
                        self.note(user, "woken");
                        self.go_on(user);
                    }
                }
                Action::Interrupt { user } => {
                    self.note(user, "interrupted");
                    self.in_iteration.insert(user, false);
                }
                Action::Abandon { .. } => {}
                Action::Leave { user } => self.note(user, "leaves"),
            }
        }
    }

    fn begin(&mut self, user: UserIndex) {
        let script = &self.scripts[self.begun % self.scripts.len()];
        self.begun += 1;
        self.users.insert(user, script.iter().rev().copied().collect());
        let was_in_one = self.in_iteration.insert(user, true).unwrap_or(false);
        assert!(!was_in_one, "an iteration begins after the one before");
        *self.begins.entry(user).or_default() += 1;
    }

    /// The program's next step.
    fn go_on(&mut self, user: UserIndex) {
        let act = self.users.get_mut(&user).and_then(Vec::pop);
        let (step, requests) = match act {
            None => (Step::EndIteration, 0),
            Some(Act::Send(count, _)) => (Step::Send, count),
            Some(Act::Refused) => (Step::Send, 1),
            Some(Act::Pause(time)) => (Step::Pause(time), 0),
            Some(Act::Wait(time)) => (Step::Wait(time), 0),
            Some(Act::StopThread) => (Step::StopThread, 0),
            Some(Act::OutOfTime) => (Step::EndInterrupted, 0),
        };
        if matches!(step, Step::EndIteration | Step::EndInterrupted | Step::StopThread) {
            self.in_iteration.insert(user, false);
        }
        self.machine.on_step(user, step, requests, self.now, &mut self.recorder);
        if requests > 0 {
            self.recorder.sent(requests, self.now);
        }
        let (now, timeout) = (self.now, self.plan.timeout());
        match act {
            Some(Act::Send(count, after)) => {
                let error = (after >= timeout).then_some(TransportError::Timeout);
                let come = (now.plus(after.min(timeout)), now, user, error);
                self.peer.extend((0..count).map(|_| come));
            }
            Some(Act::Refused) => self.peer.push((now, now, user, Some(TransportError::Connect))),
            _ => {}
        }
    }
}

fn ms(time: u64) -> Nanos {
    Nanos::from_millis(time)
}

fn plan(load: LoadModel, change: impl FnOnce(&mut PlanDraft)) -> Plan {
    let mut draft = PlanDraft::new("virtual", Target::new("unused", 80), load);
    draft.requests = vec![RequestDraft::get("a", "/")];
    draft.timeout = TIMEOUT;
    change(&mut draft);
    draft.check().expect("a sound plan")
}

/// What the threads of a run share.
fn shared(plan: &Plan) -> (Vec<AtomicU64>, StartExchange) {
    let scenarios = plan.scenarios().iter();
    let budget = scenarios.clone().map(|scenario| scenario.load.budget.shared().unwrap_or(0));
    let budgets = budget.map(AtomicU64::new).collect();
    (budgets, StartExchange::new(scenarios.map(|scenario| scenario.load.users_max()), 1))
}

/// What happens to the users of a plan whose iterations are all the same.
fn check(plan: &Plan, script: &[Act], expected: &Expect) {
    let (windows, shared, scripts) = (plan.windows(), shared(plan), vec![script.to_vec()]);
    let mut world = World::new(plan, &windows, &shared, &scripts);
    world.run(&[]);
    expected.assert_eq(&world.log.join("\n"));
}

fn iterations(users: u32, iterations: u64, max: Nanos) -> LoadModel {
    LoadModel::per_user_iterations(users, iterations, max)
}

/// Users come one after the other, and each makes this many iterations, as threads of a `JMeter` group do.
fn ramp_with_iterations(users: u32, ramp: Nanos, iterations: u64, max: Nanos) -> LoadModel {
    let budget = IterationBudget::EachUser(iterations);
    LoadModel { budget, ..LoadModel::ramp_and_hold(users, ramp, max.since(ramp)) }
}

fn script_with_grace(stop: Nanos) -> impl FnOnce(&mut PlanDraft) {
    move |draft| {
        draft.scenarios[0].flow = FlowDraft::Script;
        draft.scenarios[0].grace = Grace { stop, ramp_down: None };
    }
}

#[test]
fn a_step_of_several_requests_goes_on_with_the_last_of_them() {
    let plan = plan(iterations(1, 1, ms(900)), |_| {});
    check(
        &plan,
        &[Act::Send(3, ms(20)), Act::Pause(ms(30)), Act::Send(1, ms(5))],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            20 ms, user 0: Answered, due 20 ms
            50 ms, user 0: Paused, due 50 ms
            55 ms, user 0: Answered, due 55 ms
            55 ms, user 0: leaves"#]],
    );
}

#[test]
fn a_time_out_and_a_refused_connection_are_failures_of_a_step() {
    let plan = plan(iterations(1, 1, ms(5_000)), |_| {});
    check(
        &plan,
        &[Act::Send(2, ms(700)), Act::Refused, Act::Send(1, ms(1))],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            500 ms, user 0: Failed(Timeout), due 500 ms
            600 ms, user 0: Failed(Connect), due 600 ms
            601 ms, user 0: Answered, due 601 ms
            601 ms, user 0: leaves"#]],
    );
}

#[test]
fn a_start_that_finds_no_user_free_waits_or_is_dropped() {
    let stages = vec![RateStage::new(Nanos::ZERO, 10.0), RateStage::new(ms(400), 10.0)];
    let open = LoadModel::arrivals(stages, Spacing::Even, 1, ms(120));
    check(
        &plan(open, |_| {}),
        &[Act::Send(1, ms(150))],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            150 ms, user 0: Answered, due 150 ms
            150 ms, user 0: Begin, due 100 ms
            300 ms, user 0: Answered, due 300 ms
            300 ms, user 0: Begin, due 200 ms
            450 ms, user 0: leaves"#]],
    );
}

/// Users of whom one would have left before, and starts of which some were due before.
#[test]
fn who_joins_a_run_makes_what_is_due_from_then_on() {
    let stages = vec![RateStage::new(Nanos::ZERO, 5.0), RateStage::new(ms(1_000), 5.0)];
    let open = LoadModel::arrivals(stages, Spacing::Even, 1, ms(120));
    let falling = LoadModel::closed(vec![Stage::new(Nanos::ZERO, 3), Stage::new(ms(1_200), 0)]);
    for (load, expected) in [
        (
            open,
            expect![[r#"
                600 ms, user 0: Begin, due 600 ms
                850 ms, user 0: Answered, due 850 ms
                850 ms, user 0: Begin, due 800 ms
                1100 ms, user 0: leaves"#]],
        ),
        (
            falling,
            expect![[r#"
                500 ms, user 0: Begin, due 500 ms
                750 ms, user 0: Answered, due 750 ms
                750 ms, user 0: Begin, due 750 ms
                1000 ms, user 0: Answered, due 1000 ms"#]],
        ),
    ] {
        let plan = plan(load, |_| {});
        let (windows, shared, scripts) = (plan.windows(), shared(&plan), vec![vec![Act::Send(1, ms(250))]]);
        let mut world = World::new(&plan, &windows, &shared, &scripts);
        world.now = ms(500);
        world.machine.join(ms(500));
        world.run(&[]);
        expected.assert_eq(&world.log.join("\n"));
    }
}

#[test]
fn an_iteration_that_waits_is_interrupted_when_its_grace_is_over() {
    let load = LoadModel::constant(1, ms(1_000));
    check(
        &plan(load, script_with_grace(ms(300))),
        &[Act::Wait(Some(ms(400)))],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            400 ms, user 0: woken
            400 ms, user 0: Begin, due 400 ms
            800 ms, user 0: woken
            800 ms, user 0: Begin, due 800 ms
            1200 ms, user 0: woken
            1200 ms, user 0: leaves"#]],
    );
    let load = LoadModel::constant(2, ms(1_000));
    check(
        &plan(load, script_with_grace(ms(300))),
        &[Act::Wait(None)],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            0 ms, user 1: Begin, due 0 ms
            1300 ms, user 0: interrupted
            1300 ms, user 0: leaves
            1300 ms, user 1: interrupted
            1300 ms, user 1: leaves"#]],
    );
}

#[test]
fn an_iteration_that_computes_ends_itself_when_its_grace_is_over() {
    let load = LoadModel::constant(1, ms(400));
    check(
        &plan(load, script_with_grace(ms(300))),
        &[Act::Wait(Some(ms(500))), Act::OutOfTime],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            500 ms, user 0: woken
            500 ms, user 0: leaves"#]],
    );
}

#[test]
fn the_time_of_an_iteration_goes_on_where_a_ramp_calls_its_user_back() {
    let stages = |last| {
        let ups = [(0, 1), (100, 1), (0, 0), (100, 0), (0, last), (800, last)];
        LoadModel::closed(ups.map(|(time, users)| Stage::new(ms(time), users)).to_vec())
    };
    let left = |last, ramp_down| {
        let plan = plan(stages(last), |draft| {
            draft.scenarios[0].flow = FlowDraft::Script;
            draft.scenarios[0].grace = Grace { stop: ms(300), ramp_down: Some(ms(ramp_down)) };
        });
        let (budgets, exchange) = shared(&plan);
        let machine = UserMachine::new(&plan, &budgets, &exchange, 0, ThreadPlace { number: 0, threads: 1 });
        machine.time_left(UserIndex(0), ms(50))
    };
    // It is away from 100 ms on.
    assert_eq!(left(0, 150).map(|left| left.0 / 1_000_000), Some(200));
    assert_eq!(left(1, 50).map(|left| left.0 / 1_000_000), Some(100));
    // It is back at 200 ms.
    assert_eq!(left(1, 150), Some(ms(1_250)));
}

#[test]
fn users_that_come_one_after_the_other_make_their_iterations_each_and_leave() {
    let load = ramp_with_iterations(3, ms(300), 2, ms(1_000));
    check(
        &plan(load, |_| {}),
        &[Act::Send(1, ms(60))],
        &expect![[r#"
        100 ms, user 0: Begin, due 100 ms
        160 ms, user 0: Answered, due 160 ms
        160 ms, user 0: Begin, due 160 ms
        200 ms, user 1: Begin, due 200 ms
        220 ms, user 0: Answered, due 220 ms
        220 ms, user 0: leaves
        260 ms, user 1: Answered, due 260 ms
        260 ms, user 1: Begin, due 260 ms
        300 ms, user 2: Begin, due 300 ms
        320 ms, user 1: Answered, due 320 ms
        320 ms, user 1: leaves
        360 ms, user 2: Answered, due 360 ms
        360 ms, user 2: Begin, due 360 ms
        420 ms, user 2: Answered, due 420 ms
        420 ms, user 2: leaves"#]],
    );
}

#[test]
fn an_iteration_that_ends_too_soon_keeps_its_user() {
    let short = plan(iterations(1, 2, ms(1_000)), |draft| draft.scenarios[0].iteration_min = ms(100));
    check(
        &short,
        &[Act::Send(1, ms(30))],
        &expect![[r#"
        0 ms, user 0: Begin, due 0 ms
        30 ms, user 0: Answered, due 30 ms
        100 ms, user 0: Begin, due 100 ms
        130 ms, user 0: Answered, due 130 ms
        200 ms, user 0: leaves"#]],
    );
    let stages = vec![RateStage::new(Nanos::ZERO, 10.0), RateStage::new(ms(300), 10.0)];
    let open = LoadModel::arrivals(stages, Spacing::Even, 1, Nanos::ZERO);
    let open = plan(open, |draft| draft.scenarios[0].iteration_min = ms(150));
    check(
        &open,
        &[Act::Send(1, ms(30))],
        &expect![[r#"
        0 ms, user 0: Begin, due 0 ms
        30 ms, user 0: Answered, due 30 ms
        200 ms, user 0: Begin, due 200 ms
        230 ms, user 0: Answered, due 230 ms"#]],
    );
}

#[test]
fn a_thread_that_is_stopped_begins_nothing_more() {
    let plan = plan(LoadModel::constant(2, ms(1_000)), |_| {});
    check(
        &plan,
        &[Act::Send(1, ms(10)), Act::StopThread],
        &expect![[r#"
            0 ms, user 0: Begin, due 0 ms
            0 ms, user 1: Begin, due 0 ms
            10 ms, user 0: Answered, due 10 ms
            10 ms, user 0: leaves
            10 ms, user 1: leaves"#]],
    );
}

// ---- any interleaving

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1_u32..4, 0_u64..700).prop_map(|(count, after)| Act::Send(count, ms(after))),
        1 => Just(Act::Refused),
        2 => (0_u64..300).prop_map(|time| Act::Pause(ms(time))),
    ]
}

fn wait() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0_u64..300).prop_map(|time| Act::Wait(Some(ms(time)))),
        1 => Just(Act::Wait(None)),
    ]
}

fn load() -> impl Strategy<Value = LoadModel> {
    let closed = prop::collection::vec((0_u64..600, 0_u32..5), 1..4).prop_map(|stages| {
        let mut stages: Vec<_> =
            stages.into_iter().map(|(time, users)| Stage::new(ms(time), users)).collect();
        stages.push(Stage::new(ms(100), 1));
        LoadModel::closed(stages)
    });
    let open =
        (1_u32..4, 1.0_f64..60.0, 0_u64..400, any::<bool>()).prop_map(|(users, rate, wait, is_poisson)| {
            let stages = vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(ms(1_500), rate)];
            let spacing = if is_poisson { Spacing::Poisson } else { Spacing::Even };
            LoadModel::arrivals(stages, spacing, users, ms(wait))
        });
    prop_oneof![
        closed,
        open,
        (1_u32..4, 1_u64..6).prop_map(|(users, count)| iterations(users, count, ms(2_000))),
        (1_u32..4, 1_u64..9)
            .prop_map(|(users, iterations)| { LoadModel::shared_iterations(users, iterations, ms(2_000)) }),
        (1_u32..4, 0_u64..900, 1_u64..6).prop_map(|(users, ramp, count)| ramp_with_iterations(
            users,
            ms(ramp),
            count,
            ms(2_000)
        )),
    ]
}

/// Runs it all and holds what has to hold whatever the order of events.
fn hold(plan: &Plan, scripts: &[Vec<Act>], delays: &[Nanos]) {
    let (windows, shared) = (plan.windows(), shared(plan));
    let mut world = World::new(plan, &windows, &shared, scripts);
    let starts = world.run(delays);
    assert_eq!(starts.due, starts.started + starts.dropped, "each start is served or dropped: {starts:?}");
    assert!(starts.completed <= starts.started, "{starts:?}");
    assert_eq!(starts.started, world.begins.values().sum::<u64>(), "each start that is counted was begun");
    assert_eq!(world.recorder.in_flight(), 0, "each request has come to its end");
    let load = &plan.scenarios()[0].load;
    match load.budget {
        IterationBudget::EachUser(iterations) => {
            assert!(world.begins.values().all(|begins| *begins <= iterations), "{:?}", world.begins);
        }
        IterationBudget::Shared(iterations) => assert!(starts.started <= iterations),
        IterationBudget::Unlimited => assert!(load.is_open() || starts.dropped == 0),
    }
    let tally = world.recorder.take(0, Counts::default(), ConnectionCounts::default());
    assert_eq!(tally.unfinished, 0);
    let begun_late = world.log.iter().any(|line| {
        let at: u64 = line.trim_start().split(' ').next().unwrap_or_default().parse().unwrap_or(0);
        line.contains("Begin") && ms(at) > plan.duration()
    });
    assert!(plan.scenarios()[0].load.rate_max().is_some() || !begun_late, "{}", world.log.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn users_of_a_plan_keep_their_promises(
        load in load(), scripts in prop::collection::vec(prop::collection::vec(act(), 0..4), 1..4),
        delays in prop::collection::vec(0_u64..120, 0..5), think in 0_u64..200, is_fixed: bool,
        iteration_min in prop_oneof![2 => Just(0_u64), 1 => 1_u64..400],
    ) {
        let plan = plan(load, |draft| {
            draft.scenarios[0].iteration_min = ms(iteration_min);
            draft.scenarios[0].pacing = if is_fixed && think > 0 {
                Pacing::Fixed { interval_ns: ms(think) }
            } else {
                Pacing::ThinkTime(ThinkTime::constant(ms(think)))
            };
        });
        let delays: Vec<_> = delays.into_iter().map(ms).collect();
        hold(&plan, &scripts, &delays);
    }

    #[test]
    fn users_of_a_script_keep_their_promises(
        load in load(), scripts in prop::collection::vec(prop::collection::vec(wait(), 1..4), 1..4),
        delays in prop::collection::vec(0_u64..120, 0..5), stop in 0_u64..500, ramp_down in prop::option::of(0_u64..300),
    ) {
        let plan = plan(load, |draft| {
            draft.scenarios[0].flow = FlowDraft::Script;
            draft.scenarios[0].grace = Grace { stop: ms(stop), ramp_down: ramp_down.map(ms) };
        });
        let delays: Vec<_> = delays.into_iter().map(ms).collect();
        hold(&plan, &scripts, &delays);
    }
}
