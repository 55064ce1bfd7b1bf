//! What is refused, and in which words; all faults of a set at once.

use super::{Sources, shown};
use expect_test::{Expect, expect};

fn check(sources: Sources, expected: &Expect) {
    expected.assert_eq(&shown(sources));
}

fn check_script(script: &'static str, expected: &Expect) {
    check(Sources { script, ..Sources::default() }, expected);
}

#[test]
fn unknown_options_warn_and_unknown_keys_of_scenarios_are_errors() {
    check_script(
        r#"{"treshold": {}, "foo": 1, "paused": true, "ext": {}}"#,
        &expect![[r#"
            default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                PerVuIterations { vus: 1, iterations: 1, max_duration: Nanos(600000000000) }
            at most 1 users, 10m30s
            warning: unknown option `treshold` is not taken into account; did you mean `thresholds`?
            warning: unknown option `foo` is not taken into account
        "#]],
    );
    check_script(
        r#"{"scenarios": {"a": {"executor": "constant-vus", "vu": 2, "duration": "5s", "rate": 3},
            "b": {"executor": "constant-vu"}, "c": {"vus": 1}, "d": 7, "e": {"executor": "externally-controlled"}}}"#,
        &expect![[r#"
            the options cannot be run, for 6 reasons:
              - scenario `a` (constant-vus) has an unknown key `vu`; did you mean `vus`?
              - scenario `a` (constant-vus) has an unknown key `rate`
              - scenario `b`: unknown executor `constant-vu`; executors are: shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate; did you mean `constant-vus`?
              - scenario `c` has no `executor`; executors are: shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate
              - scenario `d` must be a table with an `executor`
              - scenario `e`: the executor `externally-controlled` is not supported; ramping-vus changes the number of users over time
        "#]],
    );
}

#[test]
fn contradictions_are_reported_all_at_once() {
    check_script(
        r#"{"iterations": 5, "stages": [{"duration": "1s", "target": 4}], "duration": "1s", "scenarios": {}}"#,
        &expect![[r#"
            the options cannot be run, for 5 reasons:
              - `iterations` and `stages` contradict each other; leave one of them out
              - `iterations` and `scenarios` contradict each other; leave one of them out
              - `duration` and `stages` contradict each other; leave one of them out
              - `duration` and `scenarios` contradict each other; leave one of them out
              - `stages` and `scenarios` contradict each other; leave one of them out
        "#]],
    );
}

#[test]
fn values_of_another_form_are_named() {
    check_script(
        r#"{"vus": 2.5, "duration": "abc", "throw": "yes", "tags": {"a": 1}, "stages": [{"duration": "1s", "aim": 2}],
            "thresholds": ["x"], "summaryTrendStats": ["p95"], "dns": {"select": "last"}, "setupTimeout": 0, "batch": 0}"#,
        &expect![[r#"
            the options cannot be run, for 10 reasons:
              - `vus` must be a whole number, and is 2.5
              - `duration` must be a duration such as "30s" or "1m30s", or milliseconds, and is "abc"
              - `throw` must be true or false, and is "yes"
              - `tags` must be a table of names and texts, and is {"a":1}
              - `stages` has a stage 1 with an unknown key `aim`; its keys are duration and target
              - `thresholds` must be a table, and is ["x"]
              - `setupTimeout` must be above 0
              - `summaryTrendStats` has `p95`; statistics are avg, min, med, max, count and p(N) with N from 0 to 100
              - `batch` must be at least 1 and below 2^32, and is 0
              - `dns.select` must be one of first, random, roundRobin, and is `last`
        "#]],
    );
    let variables = &[("K6_VUS", "abc"), ("K6_TAGS", "a=b"), ("K6_NO_SETUP", "1"), ("K6_STAGES", "5s:x")];
    let flags = &[("duration", "10"), ("tags", "a"), ("stages", "oops")];
    check(
        Sources { variables, flags, ..Sources::default() },
        &expect![[r#"
        the options cannot be run, for 7 reasons:
          - K6_VUS must be a whole number, and is `abc`
          - K6_TAGS must be a table of names and texts, and is `a=b`
          - K6_NO_SETUP must be true or false, and is `1`
          - K6_STAGES must be `DURATION:TARGET` such as `30s:10`, and has `5s:x`
          - --duration must be a duration with a unit such as 30s or 1m30s, and is `10`
          - --tag must be NAME=VALUE, and is `a`
          - --stage must be `DURATION:TARGET` such as `30s:10`, and has `oops`
    "#]],
    );
    check_script(
        "[]",
        &expect![[r#"
        the options cannot be run: `options` must be a table of options
    "#]],
    );
}

#[test]
fn executors_refuse_what_makes_no_load() {
    check_script(
        r#"{"scenarios": {
            "s1": {"executor": "constant-vus", "vus": 0},
            "s2": {"executor": "shared-iterations", "vus": 5, "iterations": 2, "exec": "nope"},
            "a b": {"executor": "ramping-vus"},
            "ar": {"executor": "constant-arrival-rate", "maxVUs": 1, "preAllocatedVUs": 2, "startTime": "-1s"},
            "ra": {"executor": "ramping-arrival-rate", "timeUnit": "0", "stages": [{"duration": "-1s"}, {"target": -4}]},
            "rv": {"executor": "ramping-vus", "startVUs": 0, "stages": [{"duration": "1s", "target": 0}]},
            "pi": {"executor": "per-vu-iterations", "vus": 2000000, "iterations": 0, "maxDuration": "10ms"}
        }}"#,
        &expect![[r#"
            the options cannot be run, for 20 reasons:
              - scenario `s1`: `vus` must be above 0, and is 0
              - scenario `s1`: `duration` is missing; write for example "30s"
              - scenario `s2`: the script exports no function `nope`
              - scenario `s2`: 2 iterations are fewer than the 5 users that share them
              - scenario `a b`: a scenario's name is made of letters, digits, `_` and `-`
              - scenario `a b`: `stages` is missing: a list of {duration, target} with at least one
              - scenario `ar`: `startTime` cannot be negative, and is -1s
              - scenario `ar`: `rate` is missing: how many iterations begin in each `timeUnit`
              - scenario `ar`: `duration` is missing; write for example "30s"
              - scenario `ar`: `maxVUs` (1) cannot be below `preAllocatedVUs` (2)
              - scenario `ra`: the duration of stage 1 cannot be negative, and is -1s
              - scenario `ra`: stage 1 has no `target`
              - scenario `ra`: stage 2 has no `duration`
              - scenario `ra`: the target of stage 2 cannot be negative, and is -4
              - scenario `ra`: `timeUnit` must be above 0, and is 0s
              - scenario `ra`: `preAllocatedVUs` is missing: the users that are ready before the start
              - scenario `rv`: `startVUs` or the `target` of a stage must be above 0
              - scenario `pi`: `vus` of 2000000 users is more than the limit of 1000000
              - scenario `pi`: `iterations` must be above 0, and is 0
              - scenario `pi`: `maxDuration` must be at least 1s, and is 10ms
        "#]],
    );
}
