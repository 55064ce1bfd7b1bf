//! Whole runs of a thread in virtual time, against a scripted peer, up to the result that the collector makes of them.

mod peer;

use super::{Shared, Worker};
use crate::collector::Collector;
use crate::flow::{FlowWorkload, SharedRows};
use crate::options::RunStart;
use crate::seconds::ThreadInterval;
use crate::subscriptions::publications::PublicationQueue;
use crate::users::StartExchange;
use peer::{Peer, Reply, Seen};
use prony_client::targets::{TargetSettings, Targets};
use prony_client::{Client, ClientSettings, Pooling};
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::TallyShape;
use prony_model::program::{RunShare, StopFlag};
use prony_model::result::{Origin, RunState};
use prony_model::verdict::findings::TargetPlace;
use prony_model::{
    FlowDraft, LoadModel, NamedTarget, Nanos, PlanDraft, RateStage, RequestDraft, ResultFile, Spacing,
    StepDraft, Target, ThinkTime,
};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const MS: fn(u64) -> Nanos = Nanos::from_millis;

struct Run {
    result: ResultFile,
    seen: Vec<Seen>,
    /// By the second that was handed over: when that was, and whether it was the last.
    seconds: Vec<(u64, Nanos, bool)>,
}

impl Run {
    /// When requests came, in milliseconds.
    fn arrivals_ms(&self) -> Vec<u64> {
        self.seen.iter().map(|seen| seen.at.0 / 1_000_000).collect()
    }

    fn outcome(&self, kind: OutcomeKind) -> u64 {
        self.result.headline().all.outcomes.get(&kind).copied().unwrap_or(0)
    }
}

/// One thread with all users of a plan that sends one request an iteration.
fn run(
    load: LoadModel,
    change: impl FnOnce(&mut PlanDraft),
    script: impl FnMut(usize, Nanos) -> Reply + 'static,
) -> Run {
    run_until(load, change, &StopFlag::default(), script)
}

fn run_until(
    load: LoadModel,
    change: impl FnOnce(&mut PlanDraft),
    stop: &StopFlag,
    script: impl FnMut(usize, Nanos) -> Reply + 'static,
) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peer.sock");
    let mut peer = Peer::listen(&path, script);
    let target = Target::parse(&format!("http://unix:{}", path.display())).unwrap();
    let mut draft = PlanDraft::new("p", target, load);
    draft.requests = vec![RequestDraft::get("get", "/")];
    change(&mut draft);
    let plan = draft.check().unwrap();
    let targets = Targets::prepare(&TargetSettings {
        targets: plan.targets().iter().map(|named| &named.target).collect(),
        wire: plan.wire(),
        users: plan.users(),
        subscribers: 0,
        dynamic: None,
    })
    .unwrap();
    peer.begin();
    let seen = peer.seen();
    let (windows, publications) = (plan.windows(), PublicationQueue::new(&plan, 0, 0));
    let budgets: Vec<_> = plan
        .scenarios()
        .iter()
        .map(|scenario| AtomicU64::new(scenario.load.budget.shared().unwrap_or(0)))
        .collect();
    let exchange = StartExchange::new(plan.scenarios().iter().map(|scenario| scenario.load.users_max()), 1);
    let rows = SharedRows::default();
    let shared = Shared {
        plan: &plan,
        windows: &windows,
        workload: &FlowWorkload::new(&plan, &publications, RunShare::WHOLE, &rows),
        budgets: &budgets,
        exchange: &exchange,
        targets: &targets,
        stop,
        threads: 1,
        share: RunShare::WHOLE,
        shape: TallyShape::of(&plan),
    };
    let settings = ClientSettings { pooling: Pooling::One, keeps_connections: true, address: None };
    let client = Client::new(&targets, None, settings).unwrap().with_time(Box::new(peer));
    // Nobody takes a second before the last one is there.
    let (sender, receiver) = mpsc::sync_channel(1_000);
    Worker::with_client(&shared, 0, client, sender).unwrap().run(RunStart::now()).unwrap();
    let mut collector =
        Collector::new(&plan, None, &windows, Origin::default(), TargetPlace::OtherMachine, 1);
    let mut seconds = Vec::new();
    for interval in receiver {
        let ThreadInterval { second, until, is_last, .. } = interval;
        seconds.push((second, until, is_last));
        assert!(collector.take(interval), "the only thread completes each second");
    }
    collector.close();
    let ended = seconds.last().unwrap().1;
    let result = collector.result(RunState::Completed, ended);
    let seen = seen.borrow().clone();
    Run { result, seen, seconds }
}

#[test]
fn a_closed_loop_sends_when_it_was_answered_and_each_second_is_handed_over_at_its_end() {
    let run = run(LoadModel::constant(2, MS(2_500)), |_| {}, |_, _| Reply::After(MS(10), OK));
    let all = &run.result.headline().all;
    assert_eq!((all.requests, all.successes, run.seen.len()), (500, 500, 500));
    let times = (all.response_time.min_ns, all.response_time.max_ns, all.first_byte_time.max_ns);
    assert_eq!(times, (Some(MS(10)), Some(MS(10)), Some(MS(10))));
    let expected: Vec<_> = (0..250).flat_map(|turn| [turn * 10, turn * 10]).collect();
    assert_eq!(run.arrivals_ms(), expected);
    assert_eq!(
        run.seconds,
        [(0, MS(1_000), false), (1, MS(2_000), false), (2, MS(2_500), true)],
        "the run ends with its time, when nothing is under way"
    );
    // What comes at the very end of a second is still of it.
    let rows = run.result.series.iter().map(|row| (row.users, row.started, row.successes));
    assert_eq!(rows.collect::<Vec<_>>(), [(2, 202, 200), (2, 200, 200), (0, 98, 100)]);
    let lab = &run.result.lab;
    assert_eq!((lab.connections.opened, lab.connections.reopened, lab.unfinished), (2, 0, 0));
    assert_eq!((lab.longest_silence_ns, lab.lateness.max_ns), (MS(10), Some(Nanos::ZERO)));
}

#[test]
fn a_second_is_handed_over_at_its_end_though_nothing_comes_then() {
    let run = run(LoadModel::constant(1, MS(2_000)), |_| {}, |_, _| Reply::After(MS(650), OK));
    assert_eq!(run.arrivals_ms(), [0, 650, 1_300, 1_950]);
    assert_eq!(run.seconds, [(0, MS(1_000), false), (1, MS(2_000), false), (2, MS(2_600), true)]);
    let rows = run.result.series.iter().map(|row| (row.started, row.successes));
    assert_eq!(rows.collect::<Vec<_>>(), [(2, 1), (2, 2), (0, 1)]);
}

#[test]
fn a_response_that_does_not_come_is_given_up_at_its_timeout_and_its_user_goes_on() {
    let script = |number, _| if number == 1 { Reply::Never } else { Reply::After(MS(100), OK) };
    let run = run(LoadModel::constant(1, MS(1_000)), |draft| draft.timeout = MS(250), script);
    assert_eq!(run.arrivals_ms(), [0, 100, 350, 450, 550, 650, 750, 850, 950]);
    assert_eq!((run.outcome(OutcomeKind::Success), run.outcome(OutcomeKind::Timeout)), (8, 1));
    let all = &run.result.headline().all;
    assert_eq!(all.response_time.max_ns, Some(MS(100)), "what was given up is none of the successes");
    assert_eq!(run.result.lab.longest_silence_ns, MS(250));
    // The request of 950 ms ends behind the run's time, and the run with it.
    assert_eq!(run.seconds.last(), Some(&(1, MS(1_050), true)));
    let connections: Vec<_> = run.seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(
        connections,
        [0, 0, 1, 1, 1, 1, 1, 1, 1],
        "a connection that owes a response is not used again"
    );
}

#[test]
fn starts_of_an_open_model_wait_for_users_and_their_latency_counts_from_when_they_were_due() {
    // A start each 20 ms for one user that takes 30 ms: each waits 10 ms longer than the one before.
    let stages = vec![RateStage::new(Nanos::ZERO, 50.0), RateStage::new(MS(200), 50.0)];
    let load = LoadModel::arrivals(stages, Spacing::Even, 1, MS(1_000));
    let run = run(load, |_| {}, |_, _| Reply::After(MS(30), OK));
    assert_eq!(run.arrivals_ms(), [0, 30, 60, 90, 120, 150, 180]);
    let all = &run.result.headline().all;
    assert_eq!((all.response_time.min_ns, all.response_time.max_ns), (Some(MS(30)), Some(MS(90))));
    let service = all.service_time.as_ref().unwrap();
    assert_eq!((service.min_ns, service.max_ns), (Some(MS(30)), Some(MS(30))));
    assert_eq!(all.response_time.mean_ns, Some(MS(60)));
    // Those that still wait when the load's time is over are dropped.
    let starts = &run.result.headline().by_scenario[0].starts;
    assert_eq!((starts.due, starts.started, starts.completed, starts.dropped), (10, 7, 6, 3));
    assert_eq!(run.seconds, [(0, MS(210), true)]);
}

#[test]
fn connections_that_the_target_closes_are_opened_again_before_the_next_request() {
    let script = |number, _| match number % 3 {
        0 => Reply::After(MS(10), OK),
        1 => Reply::After(MS(10), CLOSING),
        _ => Reply::Close(MS(10)),
    };
    let run = run(LoadModel::constant(1, MS(90)), |_| {}, script);
    let connections: Vec<_> = run.seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 1, 2, 2, 3, 4, 4, 5]);
    assert_eq!((run.outcome(OutcomeKind::Success), run.outcome(OutcomeKind::Read)), (6, 3));
    let counts = run.result.lab.connections;
    assert_eq!((counts.opened, counts.reopened), (6, 5));
}

#[test]
fn a_run_that_is_stopped_ends_within_the_check_and_counts_what_was_under_way() {
    let stop = StopFlag::default();
    let flag = stop.clone();
    let script = move |number, _| {
        if number == 4 {
            flag.stop();
        }
        if number < 4 { Reply::After(MS(50), OK) } else { Reply::Never }
    };
    let run = run_until(LoadModel::constant(2, MS(10_000)), |_| {}, &stop, script);
    assert_eq!(run.arrivals_ms(), [0, 0, 50, 50, 100, 100]);
    assert_eq!((run.outcome(OutcomeKind::Success), run.result.lab.unfinished), (4, 2));
    assert_eq!(run.seconds, [(0, MS(200), true)], "the flag is read each 100 ms");
    assert_eq!(run.result.lab.longest_silence_ns, MS(100), "a stall that lasts to the end is one too");
}

#[test]
fn users_that_cannot_connect_try_again_each_tenth_of_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.sock");
    let listener = std::os::unix::net::UnixListener::bind(&gone).unwrap();
    let target = Target::parse(&format!("http://unix:{}", gone.display())).unwrap();
    let (mut listening, mut file) = (Some(listener), Some(gone));
    let change = |draft: &mut PlanDraft| {
        draft.targets.push(NamedTarget { name: "gone".to_owned(), target });
        let mut request = RequestDraft::get("gone", "/");
        request.target = Some("gone".to_owned());
        draft.requests.push(request);
        draft.scenarios[0].flow = FlowDraft::Sequence(vec![
            StepDraft { request: "get".to_owned(), think_time: ThinkTime::None },
            StepDraft { request: "gone".to_owned(), think_time: ThinkTime::None },
        ]);
    };
    let script = move |_, _| {
        // It was there when the run began.
        if let (Some(_), Some(path)) = (listening.take(), file.take()) {
            std::fs::remove_file(path).unwrap();
        }
        Reply::After(MS(5), OK)
    };
    let run = run(LoadModel::constant(1, MS(400)), change, script);
    assert_eq!(run.arrivals_ms(), [0, 105, 210, 315]);
    assert_eq!((run.outcome(OutcomeKind::Success), run.outcome(OutcomeKind::Connect)), (4, 4));
}
