//! How iterations of scripts end when their time is over: by themselves within the grace, interrupted after it, or when the
//! run is stopped; and how threads begin together or not at all. Counts, and no timings that a busy machine could change.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod waiting;

use prony_load::{RunOptions, StopFlag, run_workload};
use prony_model::load::Stage;
use prony_model::plan::scenario::Grace;
use prony_model::program::RunControl;
use prony_model::result::{ResultFile, RunState};
use prony_model::{LoadModel, Nanos, WindowKind};
use prony_testkit::peer::{ScriptedPeer, Step};
use std::num::NonZeroUsize;
use waiting::{Act, Walk, get, options, plan, run_plan, starts};

const LONG: Nanos = Nanos::from_secs(600);

fn run_with(walk: &Walk, load: LoadModel, grace: Grace) -> ResultFile {
    let mut draft = plan(load);
    draft.scenarios[0].grace = grace;
    run_plan(walk, draft).unwrap()
}

fn started_and_completed(result: &ResultFile) -> (u64, u64) {
    let starts = starts(result);
    (starts.started, starts.completed)
}

#[test]
fn an_iteration_ends_by_itself_within_the_grace() {
    let walk = Walk::new(vec![Act::Sleep(Nanos::from_millis(150))]);
    let grace = Grace { stop: LONG, ramp_down: None };
    let result = run_with(&walk, LoadModel::constant(2, Nanos::from_millis(100)), grace);
    assert_eq!(started_and_completed(&result), (2, 2));
    assert_eq!((walk.heard().len(), result.state), (0, RunState::Completed));
}

#[test]
fn an_iteration_without_an_end_is_interrupted_after_the_grace() {
    let silent = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    for act in [Act::Forever, Act::Calls(vec![get(&silent.url(), "/silent")])] {
        let grace = Grace { stop: Nanos::from_millis(30), ramp_down: None };
        for load in [
            LoadModel::constant(1, Nanos::from_millis(100)),
            LoadModel::open(10.0, Nanos::from_millis(100), 1),
        ] {
            let walk = Walk::new(vec![act.clone()]);
            let result = run_with(&walk, load, grace);
            assert_eq!(started_and_completed(&result), (1, 0));
            assert_eq!(
                (walk.heard(), result.state),
                (vec!["0: interrupted".to_owned()], RunState::Completed)
            );
        }
    }
}

/// Nobody knew of them: programs that count for themselves count what has ended.
#[test]
fn requests_that_a_program_would_have_counted_itself_are_unfinished() {
    let mut walk = Walk::new(vec![Act::Forever]);
    walk.unfinished = 2;
    let grace = Grace { stop: Nanos::from_millis(30), ramp_down: None };
    let result = run_with(&walk, LoadModel::constant(3, Nanos::from_millis(100)), grace);
    let whole = result.window(WindowKind::Whole).unwrap();
    assert_eq!((result.lab.unfinished, whole.all.requests), (6, 0));
}

#[test]
fn a_user_that_a_ramp_takes_away_has_a_grace_of_its_own() {
    let stages = vec![
        Stage::new(Nanos::ZERO, 2),
        Stage::new(Nanos::from_millis(100), 0),
        Stage::new(Nanos::from_millis(300), 0),
    ];
    let walk = Walk::new(vec![Act::Forever]);
    let grace = Grace { stop: LONG, ramp_down: Some(Nanos::from_millis(30)) };
    let result = run_with(&walk, LoadModel::closed(stages), grace);
    assert_eq!(started_and_completed(&result), (2, 0));
    let mut heard = walk.heard();
    heard.sort();
    assert_eq!(heard, ["0: interrupted", "1: interrupted"]);
}

#[test]
fn a_ramp_takes_users_away_at_its_very_end_too() {
    let stages =
        vec![Stage::new(Nanos::ZERO, 2), Stage::new(Nanos::from_millis(500), 2), Stage::new(Nanos::ZERO, 1)];
    let walk = Walk::new(vec![Act::Sleep(Nanos::from_millis(1_500))]);
    let grace = Grace { stop: LONG, ramp_down: Some(Nanos::ZERO) };
    let result = run_with(&walk, LoadModel::closed(stages), grace);
    assert_eq!(started_and_completed(&result), (2, 1));
    assert_eq!(walk.heard(), ["1: interrupted"]);
}

/// It ended with the next look at the flag that stops it, which comes each 100 ms. One of many runs is enough, whatever else the machine
/// does meanwhile.
#[test]
fn a_run_ends_with_its_last_iteration() {
    let mut lengths = (0..100).map(|_| {
        let walk = Walk::new(vec![Act::Sleep(Nanos::from_millis(1))]);
        let result = run_with(&walk, LoadModel::per_user_iterations(1, 1, LONG), Grace::NONE);
        assert_eq!(started_and_completed(&result), (1, 1));
        result.window(WindowKind::Whole).unwrap().window.length()
    });
    assert!(lengths.any(|length| length < Nanos::from_millis(90)));
}

#[test]
fn each_scenario_ends_at_its_own_time() {
    let walk = Walk::new(vec![Act::Forever]);
    let mut draft = plan(LoadModel::constant(1, Nanos::from_millis(50)));
    let mut second = draft.scenarios[0].clone();
    (second.name, second.start) = ("second".to_owned(), Nanos::from_millis(100));
    draft.scenarios.push(second);
    run_plan(&walk, draft).unwrap();
    assert_eq!(walk.heard(), ["0: interrupted", "1: interrupted"]);
}

#[test]
fn stopping_a_run_interrupts_its_users() {
    let stop = StopFlag::default();
    let walk = Walk::new(vec![Act::Stop(stop.clone())]);
    let mut draft = plan(LoadModel::constant(1, LONG));
    draft.scenarios[0].grace = Grace { stop: LONG, ramp_down: None };
    let options = RunOptions { stop, ..options() };
    let result = run_workload(&draft.check().unwrap(), &walk, options).unwrap();
    assert_eq!(started_and_completed(&result), (1, 0));
    assert_eq!((walk.heard(), result.state), (vec!["0: interrupted".to_owned()], RunState::Stopped));
}

#[test]
fn what_looks_at_the_run_can_stop_it() {
    let mut walk = Walk::new(vec![Act::Forever]);
    walk.control = RunControl::Stop;
    let result = run_with(&walk, LoadModel::constant(1, LONG), Grace { stop: LONG, ramp_down: None });
    assert_eq!((walk.heard(), result.state), (vec!["0: interrupted".to_owned()], RunState::Stopped));
}

#[test]
fn no_thread_begins_where_one_cannot() {
    let mut walk = Walk::new(vec![Act::Forever]);
    walk.fails_on = Some(1);
    let plan = plan(LoadModel::constant(3, LONG)).check().unwrap();
    let options = RunOptions { threads: NonZeroUsize::new(3).unwrap(), ..options() };
    let error = run_workload(&plan, &walk, options).unwrap_err();
    assert_eq!(error.to_string(), "script.js:1: boom");
    assert_eq!(walk.heard(), Vec::<String>::new());
}

#[test]
fn iterations_that_wait_for_nothing_take_turns() {
    let walk = Walk::new(Vec::new());
    let load = LoadModel::shared_iterations(2, 20_000, LONG);
    let result = run_with(&walk, load, Grace::NONE);
    assert_eq!(started_and_completed(&result), (20_000, 20_000));
}
