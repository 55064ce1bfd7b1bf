//! Load models, sequences and programs on the real loop: how often things are started, counted and given up. Counts
//! only, never timings.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_load::{RunError, RunOptions, run, run_workload};
use prony_model::data::variable::{Order, Variable};
use prony_model::measurement::tally::StartCounts;
use prony_model::program::{
    Answer, Event, Keep, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace, Workload,
};
use prony_model::{
    FlowDraft, LoadModel, NamedTarget, Nanos, Outcome, Pacing, Plan, PlanDraft, RequestDraft, ResultFile,
    ScenarioDraft, StepDraft, Target, ThinkTime, WindowKind,
};
use prony_testkit::peer::{ScriptedPeer, Step as PeerStep};
use std::num::NonZeroUsize;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn draft(peer: &ScriptedPeer, load: LoadModel) -> PlanDraft {
    let mut draft = PlanDraft::new("models", Target::parse(&peer.url()).unwrap(), load);
    draft.requests = vec![RequestDraft::get("a", "/a")];
    draft.timeout = Nanos::from_secs(20);
    draft
}

fn options() -> RunOptions {
    RunOptions { threads: NonZeroUsize::new(2).unwrap(), ..RunOptions::default() }
}

fn one_thread() -> RunOptions {
    RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() }
}

/// 500 starts a second.
fn starts(duration: Nanos, users: u32, wait_max: Nanos) -> LoadModel {
    let mut load = LoadModel::open(500.0, duration, users);
    if let Some(arrivals) = &mut load.arrivals {
        arrivals.wait_max = wait_max;
    }
    load
}

fn run_draft(draft: PlanDraft) -> ResultFile {
    run(&draft.check().unwrap(), options()).unwrap()
}

/// The iterations and the successes of the whole run.
fn counts(result: &ResultFile) -> (StartCounts, u64) {
    let whole = result.window(WindowKind::Whole).unwrap();
    let mut starts = StartCounts::default();
    whole.by_scenario.iter().for_each(|scenario| starts.merge(&scenario.starts));
    (starts, whole.all.successes)
}

#[test]
fn each_user_makes_its_iterations_and_the_run_ends_with_the_last() {
    let peer = ScriptedPeer::answering(OK);
    let load = LoadModel::per_user_iterations(3, 5, Nanos::from_secs(600));
    let (starts, successes) = counts(&run_draft(draft(&peer, load)));
    let users_busy_ns = starts.users_busy_ns;
    let expected = StartCounts { due: 15, started: 15, waited: 0, dropped: 0, completed: 15, users_busy_ns };
    assert_eq!(starts, expected);
    assert_eq!(successes, 15);
}

#[test]
fn a_pot_of_iterations_is_emptied_once() {
    let peer = ScriptedPeer::answering(OK);
    let max_duration = Nanos::from_secs(600);
    let load = LoadModel::shared_iterations(4, 101, max_duration);
    let (starts, successes) = counts(&run_draft(draft(&peer, load)));
    assert_eq!((starts.started, starts.completed, successes), (101, 101, 101));
}

#[test]
fn a_rate_starts_as_many_as_it_asks_for() {
    let peer = ScriptedPeer::answering(OK);
    let result = run_draft(draft(&peer, LoadModel::open(500.0, Nanos::from_secs(1), 64)));
    let (starts, successes) = counts(&result);
    assert_eq!((starts.due, starts.started, starts.dropped, successes), (500, 500, 0, 500));
    let all = &result.window(WindowKind::Whole).unwrap().all;
    assert_eq!(all.service_time.as_ref().unwrap().count, 500);
}

#[test]
fn a_start_takes_the_free_user_of_any_thread() {
    let peer = ScriptedPeer::answering(OK);
    let load = |users| LoadModel::open(100.0, Nanos::from_secs(1), users);
    for (users, threads) in [(1, 2), (3, 2), (3, 8)] {
        let mut draft = draft(&peer, load(users));
        draft.scenarios.push(ScenarioDraft::new("other", load(users)));
        let threads = NonZeroUsize::new(threads).unwrap();
        let result = run(&draft.check().unwrap(), RunOptions { threads, ..RunOptions::default() }).unwrap();
        for scenario in &result.window(WindowKind::Whole).unwrap().by_scenario {
            let StartCounts { due, started, dropped, .. } = scenario.starts;
            assert_eq!((due, started, dropped), (100, 100, 0), "{users} users on {threads} threads");
        }
    }
}

/// A program whose thread is held, once, from its twentieth iteration until the run's time is over.
struct Held;

struct HeldOnThread {
    begun: u32,
}

const HELD_RUN: Nanos = Nanos::from_millis(200);

impl Workload for Held {
    fn program(&self, _: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(HeldOnThread { begun: 0 }))
    }
}

impl Program for HeldOnThread {
    fn next(&mut self, _: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        if !matches!(event, Event::Begin) {
            return Ok(Step::EndIteration);
        }
        self.begun += 1;
        if self.begun == 20 {
            std::thread::sleep(std::time::Duration::from_nanos(HELD_RUN.0));
        }
        out.text.extend_from_slice(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        out.end_request(0, 0, false, Keep::Status);
        Ok(Step::Send)
    }

    fn judge(&mut self, _: UserPlace, _: usize, _: &Answer<'_>) -> Result<Outcome, ProgramError> {
        Ok(Outcome::Success)
    }
}

#[test]
fn starts_that_a_held_thread_owes_at_the_end_are_made_late_or_dropped_and_none_is_lost() {
    let peer = ScriptedPeer::answering(OK);
    let run_held = |users, wait_max| {
        let load = starts(HELD_RUN, users, wait_max);
        counts(&run_workload(&draft(&peer, load).check().unwrap(), &Held, one_thread()).unwrap())
    };
    let (starts, successes) = run_held(200, Nanos::ZERO);
    assert_eq!((starts.due, starts.started, starts.dropped, successes), (100, 100, 0, 100));
    for wait_max in [Nanos::ZERO, Nanos::from_secs(60)] {
        let (starts, successes) = run_held(2, wait_max);
        assert_eq!(starts.due, 100);
        assert_eq!(starts.due, starts.started + starts.dropped, "{starts:?}");
        assert!(starts.dropped > 0, "two users cannot serve what is owed at once: {starts:?}");
        assert_eq!(starts.started, successes);
    }
}

#[test]
fn starts_that_find_no_user_wait_or_are_dropped_and_none_is_lost() {
    for (wait_max_ns, may_wait) in [(Nanos::ZERO, false), (Nanos::from_millis(30), true)] {
        let pause = std::time::Duration::from_millis(20);
        let script = vec![
            PeerStep::ReadRequest,
            PeerStep::Pause(pause),
            PeerStep::Write(OK.to_vec()),
            PeerStep::Repeat,
        ];
        let peer = ScriptedPeer::start(vec![script]);
        let load = starts(Nanos::from_millis(500), 2, wait_max_ns);
        let (starts, successes) = counts(&run_draft(draft(&peer, load)));
        assert_eq!(starts.due, 250);
        assert_eq!(starts.due, starts.started + starts.dropped, "{starts:?}");
        assert!(starts.dropped > 100, "two users of 20 ms serve 100 a second: {starts:?}");
        assert_eq!(starts.waited > 0, may_wait, "{starts:?}");
        assert_eq!(starts.started, successes);
    }
}

#[test]
fn a_sequence_is_walked_in_order_with_its_waits() {
    let peer = ScriptedPeer::answering(OK);
    let max_duration = Nanos::from_secs(600);
    let load = LoadModel::per_user_iterations(1, 2, max_duration);
    let mut draft = draft(&peer, load);
    draft.requests = ["a", "b", "c"].map(|name| RequestDraft::get(name, &format!("/{name}"))).to_vec();
    let step = |request: &str, millis| StepDraft {
        request: request.to_owned(),
        think_time: ThinkTime::constant(Nanos::from_millis(millis)),
    };
    draft.scenarios[0].flow = FlowDraft::Sequence(vec![step("b", 3), step("a", 0), step("c", 50)]);
    let result = run_draft(draft);
    let text = String::from_utf8(peer.received(1)).unwrap();
    let paths: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("GET ")).collect();
    let walk = ["/b HTTP/1.1", "/a HTTP/1.1", "/c HTTP/1.1"];
    assert_eq!(paths, [walk, walk].concat());
    assert_eq!(counts(&result).0.completed, 2);
}

#[test]
fn pipelined_requests_are_written_together_and_counted_one_by_one() {
    let script = vec![
        PeerStep::ReadRequest,
        PeerStep::ReadRequest,
        PeerStep::ReadRequest,
        PeerStep::Write([OK, OK, OK].concat()),
        PeerStep::Repeat,
    ];
    let peer = ScriptedPeer::start(vec![script]);
    let max_duration = Nanos::from_secs(600);
    let mut draft = draft(&peer, LoadModel::per_user_iterations(1, 4, max_duration));
    draft.wire.pipeline = 3;
    let result = run_draft(draft);
    assert_eq!((counts(&result).0.completed, counts(&result).1), (4, 12));
    assert_eq!(result.lab.connections.opened, 1);
}

#[test]
fn a_pipeline_that_is_cut_fails_what_was_not_answered() {
    let script = vec![
        PeerStep::ReadRequest,
        PeerStep::ReadRequest,
        PeerStep::ReadRequest,
        PeerStep::Write(OK.to_vec()),
    ];
    let peer = ScriptedPeer::start(vec![script]);
    let max_duration = Nanos::from_secs(600);
    let mut draft = draft(&peer, LoadModel::per_user_iterations(1, 2, max_duration));
    draft.wire.pipeline = 3;
    let all = &run_draft(draft).window(WindowKind::Whole).unwrap().all.clone();
    assert_eq!((all.requests, all.successes, all.failures), (6, 2, 4));
}

#[test]
fn rows_that_a_pipeline_has_taken_are_sent() {
    let peer = ScriptedPeer::answering(OK);
    let mut draft = draft(&peer, LoadModel::constant(1, Nanos::from_secs(600)));
    let rows: Vec<serde_json::Value> = (0..5_i64).map(Into::into).collect();
    draft.variables = vec![Variable::list("row", &rows, Order::Unique)];
    draft.requests = vec![RequestDraft::get("a", "/${row}")];
    draft.wire.pipeline = 3;
    let result = run_draft(draft);
    let text = String::from_utf8(peer.received(1)).unwrap();
    let paths: Vec<_> = text.lines().filter(|line| line.starts_with("GET ")).collect();
    assert_eq!(paths, [0, 1, 2, 3, 4].map(|row| format!("GET /{row} HTTP/1.1")));
    let feeder = &result.counted.feeders[0].count;
    assert_eq!((feeder.rows_taken, feeder.users_stopped), (5, 1));
}

#[test]
fn scenarios_run_beside_each_other_each_with_its_load() {
    let (first, second) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK));
    let max_duration = Nanos::from_secs(600);
    let mut draft = draft(&first, LoadModel::per_user_iterations(2, 3, max_duration));
    let target = Target::parse(&second.url()).unwrap();
    draft.targets.push(NamedTarget { name: "second".to_owned(), target });
    let other = RequestDraft { target: Some("second".to_owned()), ..RequestDraft::get("b", "/b") };
    draft.requests.push(other);
    draft.scenarios[0].flow = FlowDraft::Mix(vec![("a".to_owned(), 1)]);
    let mut later = ScenarioDraft::new("later", LoadModel::shared_iterations(2, 7, max_duration));
    later.start = Nanos::from_millis(50);
    later.flow = FlowDraft::Mix(vec![("b".to_owned(), 1)]);
    later.pacing = Pacing::Fixed { interval_ns: Nanos::from_millis(2) };
    draft.scenarios.push(later);
    let result = run_draft(draft);
    let whole = result.window(WindowKind::Whole).unwrap();
    let by_scenario: Vec<_> = whole.by_scenario.iter().map(|figures| figures.starts.completed).collect();
    let by_request: Vec<_> = whole.by_request.iter().map(|named| named.figures.successes).collect();
    assert_eq!((by_scenario, by_request), (vec![6, 7], vec![6, 7]));
    let sent = |peer: &ScriptedPeer| {
        let texts = (1..peer.connections()).map(|index| peer.received(index));
        texts.map(|text| text.windows(4).filter(|four| four == b"GET ").count()).sum::<usize>()
    };
    assert_eq!((sent(&first), sent(&second)), (6, 7));
}

/// A program of tests: a few requests for each user, then what `then` says.
struct Few {
    requests: u32,
    then: Result<Step, ProgramError>,
}

impl Workload for Few {
    fn program(&self, _: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(FewOnThread { few: self, sent: 0, kept: Vec::new() }))
    }
}

struct FewOnThread<'a> {
    few: &'a Few,
    sent: u32,
    kept: Vec<u8>,
}

impl Program for FewOnThread<'_> {
    fn next(&mut self, _: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        if !matches!(event, Event::Begin) {
            return Ok(Step::EndIteration);
        }
        if self.sent == self.few.requests {
            assert_eq!(self.kept, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n|{}");
            return self.few.then.clone();
        }
        self.sent += 1;
        out.text.extend_from_slice(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        out.end_request(0, 0, false, Keep::Whole);
        Ok(Step::Send)
    }

    fn judge(&mut self, _: UserPlace, _: usize, answer: &Answer<'_>) -> Result<Outcome, ProgramError> {
        self.kept = [answer.head, b"|", answer.body].concat();
        Ok(Outcome::Success)
    }
}

fn run_few(plan: &Plan, then: Result<Step, ProgramError>) -> Result<ResultFile, RunError> {
    run_workload(plan, &Few { requests: 10, then }, one_thread())
}

#[test]
fn programs_see_whole_answers_and_end_users_threads_and_runs() {
    let peer = ScriptedPeer::answering(OK);
    let plan = draft(&peer, LoadModel::constant(1, Nanos::from_secs(600))).check().unwrap();
    for then in [Step::Leave, Step::StopThread] {
        let result = run_few(&plan, Ok(then)).unwrap();
        assert_eq!(counts(&result).1, 10);
    }
    let error = run_few(&plan, Err(ProgramError::Script("script.lua:7: boom".to_owned()))).unwrap_err();
    assert_eq!(error.to_string(), "script.lua:7: boom");
}

/// A program that cannot be made: on the first thread for a reason of its own, on the others because of the first.
struct NotMade;

impl Workload for NotMade {
    fn program(&self, place: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Err(match place.number {
            0 => ProgramError::Script("script.js:1: boom".to_owned()),
            _ => ProgramError::Stopped,
        })
    }
}

#[test]
fn a_run_that_fails_says_the_reason_and_not_what_it_did_to_other_threads() {
    let peer = ScriptedPeer::answering(OK);
    let plan = draft(&peer, LoadModel::constant(2, Nanos::from_secs(600))).check().unwrap();
    let error = run_workload(&plan, &NotMade, options()).unwrap_err();
    assert_eq!(error.to_string(), "script.js:1: boom");
}
