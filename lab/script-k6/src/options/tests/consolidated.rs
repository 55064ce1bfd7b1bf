//! What option sets resolve to.

use super::{Sources, consolidate, shown};
use expect_test::{Expect, expect};
use prony_model::load::{StartShare, Starts};

fn check(sources: Sources, expected: &Expect) {
    expected.assert_eq(&shown(sources));
}

fn check_script(script: &'static str, expected: &Expect) {
    check(Sources { script, ..Sources::default() }, expected);
}

#[test]
fn a_rate_that_changes_has_its_first_start_when_it_has_made_one() {
    let starts = |script| {
        let consolidated = consolidate(Sources { script, ..Sources::default() }).unwrap();
        let drafts = consolidated.options.scenario_drafts();
        let starts = Starts::new(&drafts[0].load, 1, StartShare::ALL);
        starts.map(|(_, due)| due.0 / 1_000_000).collect::<Vec<_>>()
    };
    let constant = r#"{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 4, "duration": "1s",
        "preAllocatedVUs": 1}}}"#;
    assert_eq!(starts(constant), [0, 250, 500, 750]);
    let changing = r#"{"scenarios": {"a": {"executor": "ramping-arrival-rate", "startRate": 4, "preAllocatedVUs": 1,
        "stages": [{"duration": "1100ms", "target": 4}]}}}"#;
    assert_eq!(starts(changing), [250, 500, 750, 1_000]);
}

#[test]
fn nothing_is_one_iteration_of_one_user() {
    check_script(
        "",
        &expect![[r#"
            default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                PerVuIterations { vus: 1, iterations: 1, max_duration: Nanos(600000000000) }
            at most 1 users, 10m30s
        "#]],
    );
    check_script(
        r#"{"vus": 5, "stages": []}"#,
        &expect![[r#"
            default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                PerVuIterations { vus: 1, iterations: 1, max_duration: Nanos(600000000000) }
            at most 1 users, 10m30s
            warning: `vus` of 5 has no effect without `duration`, `iterations` or `stages`; one user makes one iteration
            warning: `stages` is empty; one user makes one iteration
        "#]],
    );
}

#[test]
fn shortcuts_stand_for_a_scenario() {
    check_script(
        r#"{"vus": "3", "duration": 2000}"#,
        &expect![[r#"
            default: 3 looping VUs for 2s (gracefulStop: 30s)
                ConstantVus { vus: 3, duration: Nanos(2000000000) }
            at most 3 users, 32s
        "#]],
    );
    check_script(
        r#"{"vus": 3, "iterations": 30}"#,
        &expect![[r#"
            default: 30 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                SharedIterations { vus: 3, iterations: 30, max_duration: Nanos(600000000000) }
            at most 3 users, 10m30s
        "#]],
    );
    check_script(
        r#"{"vus": 3, "iterations": 30, "duration": "1m30s"}"#,
        &expect![[r#"
            default: 30 iterations shared among 3 VUs (maxDuration: 1m30s, gracefulStop: 30s)
                SharedIterations { vus: 3, iterations: 30, max_duration: Nanos(90000000000) }
            at most 3 users, 2m0s
        "#]],
    );
    check_script(
        r#"{"stages": [{"duration": "10s", "target": 20}, {"target": 3}, {"duration": "1d", "target": 0}]}"#,
        &expect![[r#"
            default: Up to 20 looping VUs for 24h0m10s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)
                RampingVus { start_vus: 1, stages: [ExecutorStage { duration: Nanos(10000000000), target: 20 }, ExecutorStage { duration: Nanos(86400000000000), target: 0 }], graceful_ramp_down: Nanos(30000000000) }
            at most 20 users, 24h0m40s
        "#]],
    );
}

#[test]
fn a_higher_tier_replaces_all_four_of_the_lower() {
    let script = r#"{"vus": 3, "stages": [{"duration": "10s", "target": 20}], "userAgent": "script"}"#;
    let flags = &[("duration", "30s"), ("vus", "30")];
    check(
        Sources { script, flags, ..Sources::default() },
        &expect![[r#"
            default: 30 looping VUs for 30s (gracefulStop: 30s)
                ConstantVus { vus: 30, duration: Nanos(30000000000) }
            at most 30 users, 1m0s
        "#]],
    );
    let variables = &[("K6_ITERATIONS", "10"), ("K6_USER_AGENT", "variable"), ("OTHER", "x")];
    check(
        Sources { script, variables, ..Sources::default() },
        &expect![[r#"
            default: 10 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                SharedIterations { vus: 3, iterations: 10, max_duration: Nanos(600000000000) }
            at most 3 users, 10m30s
        "#]],
    );
    let flags = &[("vus", "7")];
    check(
        Sources { script, variables, flags, ..Sources::default() },
        &expect![[r#"
            default: 10 iterations shared among 7 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                SharedIterations { vus: 7, iterations: 10, max_duration: Nanos(600000000000) }
            at most 7 users, 10m30s
        "#]],
    );
    let script = r#"{"scenarios": {"a": {"executor": "constant-vus", "duration": "5s"}}}"#;
    let flags = &[("stages", "5s:10|10s:0")];
    check(
        Sources { script, flags, ..Sources::default() },
        &expect![[r#"
            default: Up to 10 looping VUs for 15s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)
                RampingVus { start_vus: 1, stages: [ExecutorStage { duration: Nanos(5000000000), target: 10 }, ExecutorStage { duration: Nanos(10000000000), target: 0 }], graceful_ramp_down: Nanos(30000000000) }
            at most 10 users, 45s
            warning: a flag replaces the scenarios of the options below it as a whole
        "#]],
    );
    let configuration = r#"{"duration": "1m", "vus": 2, "out": ["json=x"], "setupTimeout": "2m"}"#;
    check(
        Sources { configuration, ..Sources::default() },
        &expect![[r#"
            default: 2 looping VUs for 1m0s (gracefulStop: 30s)
                ConstantVus { vus: 2, duration: Nanos(60000000000) }
            at most 2 users, 1m30s
        "#]],
    );
    let script = r#"{"iterations": 4}"#;
    check(
        Sources { configuration, script, ..Sources::default() },
        &expect![[r#"
            default: 4 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                SharedIterations { vus: 2, iterations: 4, max_duration: Nanos(600000000000) }
            at most 2 users, 10m30s
        "#]],
    );
}

#[test]
fn scenarios_with_all_executors() {
    check_script(
        r#"{"scenarios": {
            "shared": {"executor": "shared-iterations", "vus": 10, "iterations": 100, "maxDuration": "30s"},
            "each": {"executor": "per-vu-iterations", "vus": 4, "iterations": 5, "startTime": "5s", "exec": "other"},
            "constant": {"executor": "constant-vus", "vus": 6, "duration": "20s", "gracefulStop": "0s"},
            "ramping": {"executor": "ramping-vus", "startVUs": 0, "gracefulRampDown": "2s", "stages": [
                {"duration": "10s", "target": 10}, {"duration": "5s", "target": 2}, {"duration": 0, "target": 5}]},
            "rate": {"executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m", "duration": "10s",
                "preAllocatedVUs": 2, "maxVUs": 8},
            "rates": {"executor": "ramping-arrival-rate", "startRate": 5, "preallocatedvus": 3, "stages": [
                {"duration": "10s", "target": 50}]}
        }}"#,
        &expect![[r#"
            constant: 6 looping VUs for 20s
                ConstantVus { vus: 6, duration: Nanos(20000000000) }
            ramping: Up to 10 looping VUs for 15s over 3 stages (gracefulRampDown: 2s, gracefulStop: 30s)
                RampingVus { start_vus: 0, stages: [ExecutorStage { duration: Nanos(10000000000), target: 10 }, ExecutorStage { duration: Nanos(5000000000), target: 2 }, ExecutorStage { duration: Nanos(0), target: 5 }], graceful_ramp_down: Nanos(2000000000) }
            rate: 1.50 iterations/s for 10s (maxVUs: 2-8, gracefulStop: 30s)
                ConstantArrivalRate { rate: 90, time_unit: Nanos(60000000000), duration: Nanos(10000000000), users: ArrivalUsers { pre_allocated: 2, max: 8 } }
            rates: Up to 50.00 iterations/s for 10s over 1 stages (maxVUs: 3, gracefulStop: 30s)
                RampingArrivalRate { start_rate: 5, time_unit: Nanos(1000000000), stages: [ExecutorStage { duration: Nanos(10000000000), target: 50 }], users: ArrivalUsers { pre_allocated: 3, max: 3 } }
            shared: 100 iterations shared among 10 VUs (maxDuration: 30s, gracefulStop: 30s)
                SharedIterations { vus: 10, iterations: 100, max_duration: Nanos(30000000000) }
            each: 5 iterations for each of 4 VUs (maxDuration: 10m0s, exec: other, startTime: 5s, gracefulStop: 30s)
                PerVuIterations { vus: 4, iterations: 5, max_duration: Nanos(600000000000) }
            at most 41 users, 10m35s
        "#]],
    );
}

#[test]
fn users_of_scenarios_that_follow_each_other_are_counted_once() {
    check_script(
        r#"{"scenarios": {
            "b": {"executor": "constant-vus", "vus": 6, "duration": "20s", "gracefulStop": "5s"},
            "a": {"executor": "constant-vus", "vus": 9, "duration": "20s", "startTime": "25s"}
        }}"#,
        &expect![[r#"
            b: 6 looping VUs for 20s (gracefulStop: 5s)
                ConstantVus { vus: 6, duration: Nanos(20000000000) }
            a: 9 looping VUs for 20s (startTime: 25s, gracefulStop: 30s)
                ConstantVus { vus: 9, duration: Nanos(20000000000) }
            at most 9 users, 1m15s
        "#]],
    );
}

#[test]
fn users_that_ramp_down_are_held_for_their_grace() {
    for (stages, grace, start, stop, expected) in [
        (
            r#"{"duration": "10s", "target": 10}, {"duration": "5s", "target": 2}, {"duration": "3s", "target": 8},
                {"duration": "20s", "target": 0}"#,
            "2s",
            0,
            "7s",
            (13, 75),
        ),
        (
            r#"{"duration": "10s", "target": 6}, {"duration": "10s", "target": 1}, {"duration": "10s", "target": 5},
                {"duration": "2s", "target": 1}, {"duration": "4s", "target": 4}"#,
            "30s",
            4,
            "30s",
            (9, 75),
        ),
        (
            r#"{"duration": 0, "target": 6}, {"duration": "10s", "target": 1}, {"duration": "100s", "target": 3}"#,
            "30s",
            0,
            "0s",
            (9, 110),
        ),
    ] {
        let script = format!(
            r#"{{"scenarios": {{
                "a": {{"executor": "ramping-vus", "startVUs": {start}, "stages": [{stages}],
                    "gracefulRampDown": "{grace}", "gracefulStop": "{stop}"}},
                "b": {{"executor": "constant-vus", "vus": 3, "duration": "5s", "startTime": "12s", "gracefulStop": "1s"}},
                "c": {{"executor": "constant-vus", "vus": 3, "duration": "5s", "startTime": "40s"}}
            }}}}"#
        );
        let script: &'static str = script.leak();
        let needs = consolidate(Sources { script, ..Sources::default() }).unwrap().options.requirements();
        assert_eq!((needs.users_max, needs.duration.0 / 1_000_000_000), expected, "{script}");
    }
}

/// Who leaves last has the ramp-down's grace, and no more than the stop's; what follows without users is no part of it.
#[test]
fn a_ramp_to_zero_ends_with_the_grace_of_its_users() {
    let ramp = r#"{"duration": "10s", "target": 4}, {"duration": "5s", "target": 0}"#;
    for (stages, grace, stop, expected) in [
        (ramp.to_owned(), "0s", "30s", (15, 15)),
        (ramp.to_owned(), "5s", "30s", (15, 20)),
        (ramp.to_owned(), "30s", "3s", (15, 18)),
        (format!(r#"{ramp}, {{"duration": "20s", "target": 0}}"#), "5s", "30s", (15, 20)),
        (format!(r#"{ramp}, {{"duration": "1s", "target": 1}}"#), "5s", "30s", (16, 46)),
    ] {
        let script = format!(
            r#"{{"scenarios": {{"a": {{"executor": "ramping-vus", "startVUs": 0, "stages": [{stages}],
                "gracefulRampDown": "{grace}", "gracefulStop": "{stop}"}}}}}}"#
        );
        let script: &'static str = script.leak();
        let options = consolidate(Sources { script, ..Sources::default() }).unwrap().options;
        let seconds = |time: prony_model::Nanos| time.0 / 1_000_000_000;
        let load = seconds(options.scenarios[0].executor.load().duration());
        let needs = options.requirements();
        assert_eq!((load, seconds(needs.duration), needs.users_max), (expected.0, expected.1, 4), "{script}");
    }
}

/// A ramp's users are there when k6 has them: the step from n falls a whole part of the time after its begin.
#[test]
fn ramps_step_when_k6_steps() {
    let script = r#"{"stages": [{"duration": "4s", "target": 5}, {"duration": "4s", "target": 1},
        {"duration": "2s", "target": 0}]}"#;
    let options = consolidate(Sources { script, ..Sources::default() }).unwrap().options;
    let executor = &options.scenarios[0].executor;
    let load = executor.load();
    let mut expected = executor.ramping_steps();
    expected.pop();
    for pair in expected.windows(2) {
        let ((at, users), (next, _)) = (pair[0], pair[1]);
        // A falling line is left a nanosecond after k6's step.
        for time in [at.0 + 1, next.0 - 1] {
            assert_eq!(u64::from(load.users_active_at(prony_model::Nanos(time))), users, "at {time} ns");
        }
    }
}

#[test]
fn arrivals_for_which_nobody_is_free_are_dropped() {
    let script = r#"{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 30, "timeUnit": "1m",
        "duration": "1h", "preAllocatedVUs": 2, "maxVUs": 5}}}"#;
    let options = consolidate(Sources { script, ..Sources::default() }).unwrap().options;
    let executor = &options.scenarios[0].executor;
    let (users, arrivals) = (executor.load().users_max(), executor.load().arrivals.expect("an open model"));
    let (stages, wait_max) = (arrivals.stages, arrivals.wait_max);
    assert_eq!((stages[1].rate_per_s, users, wait_max.0, executor.users_prepared()), (0.5, 5, 0, 2));
}

#[test]
fn other_options_come_from_the_highest_tier_that_names_them() {
    let configuration = r#"{"maxRedirects": 3, "dns": {"ttl": "1m", "select": "first"}, "tags": {"a": "1"}}"#;
    let script = r#"{"batch": 4, "throw": true, "dns": {"ttl": "0"}, "thresholds": {"checks": ["rate>0.9"]},
        "hosts": {"a.test:80": "127.0.0.1:8080"}, "summaryTrendStats": ["avg", "p(99.9)"], "tags": {},
        "tlsAuth": [{"cert": "C", "key": "K", "domains": ["a.test"]}], "summaryTimeUnit": "us", "rps": 0}"#;
    let variables = &[("K6_BATCH", "8"), ("K6_THROW", "false"), ("K6_RPS", ""), ("K6_SETUP_TIMEOUT", "90")];
    let flags = &[("tags", "b=2|c=x=y"), ("noSetup", "true"), ("httpDebug", "full")];
    let mut options = consolidate(Sources { configuration, script, variables, flags }).unwrap().options;
    options.scenarios.clear();
    options.system_tags.clear();
    options.json.take();
    expect![[r#"
        Options {
            scenarios: [],
            segment_length: 1.0,
            thresholds: {
                "checks": Array [
                    String("rate>0.9"),
                ],
            },
            rps: None,
            no_setup: true,
            paused: false,
            setup_timeout: Nanos(
                90000000,
            ),
            no_teardown: false,
            teardown_timeout: Nanos(
                60000000000,
            ),
            no_connection_reuse: false,
            no_vu_connection_reuse: false,
            min_iteration_duration: Nanos(
                0,
            ),
            discard_response_bodies: false,
            summary_trend_stats: [
                "avg",
                "p(99.9)",
            ],
            summary_time_unit: Some(
                Microseconds,
            ),
            insecure_skip_tls_verify: false,
            hosts: {
                "a.test:80": "127.0.0.1:8080",
            },
            user_agent: "Prony/0.1.0 (k6 script)",
            max_redirects: 3,
            batch: 8,
            batch_per_host: 6,
            http_debug: Full,
            tags: {
                "b": "2",
                "c": "x=y",
            },
            system_tags: [],
            throw: false,
            no_cookies_reset: false,
            dns: Dns {
                ttl: "0",
                select: "first",
                policy: "preferIPv4",
            },
            tls_auth: [
                TlsAuth {
                    cert: "C",
                    key: "K",
                    password: None,
                    domains: [
                        "a.test",
                    ],
                },
            ],
            blacklist_ips: [],
            block_hostnames: [],
            local_ips: None,
            tls_version: None,
            tls_cipher_suites: [],
            json: Null,
        }
    "#]]
    .assert_debug_eq(&options);
}

#[test]
fn scripts_see_options_by_their_names_and_null_for_those_not_given() {
    let script = r#"{"dns": {"ttl": "0"}, "vus": 2, "duration": "90s", "tags": {"a": "b"}, "throw": false}"#;
    let options = consolidate(Sources { script, ..Sources::default() }).unwrap().options;
    expect![[r#"{"vus":2,"duration":"1m30s","scenarios":{"default":{"executor":"constant-vus","startTime":null,"gracefulStop":null,"env":null,"exec":null,"tags":null,"vus":2,"duration":"1m30s"}},"thresholds":null,"rps":null,"noSetup":null,"setupTimeout":null,"noTeardown":null,"teardownTimeout":null,"noConnectionReuse":null,"noVUConnectionReuse":null,"minIterationDuration":null,"discardResponseBodies":null,"summaryTrendStats":["avg","min","med","max","p(90)","p(95)"],"summaryTimeUnit":null,"insecureSkipTLSVerify":null,"hosts":null,"userAgent":null,"maxRedirects":null,"batch":null,"batchPerHost":null,"httpDebug":null,"tags":{"a":"b"},"systemTags":["check","error","error_code","expected_response","group","method","name","proto","scenario","service","status","subproto","tls_version","url"],"throw":false,"noCookiesReset":null,"dns":{"ttl":"0","select":null,"policy":null},"tlsAuth":null,"tlsVersion":null,"tlsCipherSuites":null,"blacklistIPs":null,"blockHostnames":null,"executionSegment":null,"executionSegmentSequence":null,"paused":null,"metricSamplesBufferSize":null,"cloud":null,"ext":null}"#]].assert_eq(&serde_json::to_string(&options.json).unwrap());
}

#[test]
fn a_segment_has_its_part_of_each_scenario() {
    let script = r#"{"scenarios": {
        "a": {"executor": "shared-iterations", "vus": 5, "iterations": 10},
        "b": {"executor": "ramping-vus", "startVUs": 0, "stages": [{"duration": "6s", "target": 3}]},
        "c": {"executor": "constant-arrival-rate", "rate": 10, "duration": "5s", "preAllocatedVUs": 4},
        "d": {"executor": "constant-vus", "vus": 1, "duration": "5s"}}}"#;
    let shares = |flags| {
        let options = consolidate(Sources { script, flags, ..Sources::default() }).unwrap().options;
        let lines =
            options.scenarios.iter().map(|scenario| format!("{}: {}", scenario.name, scenario.description()));
        format!("{:.4}\n{}\n", options.segment_length, lines.collect::<Vec<_>>().join("\n"))
    };
    expect![[r#"
        0.6667
        a: 6 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)
        b: Up to 2 looping VUs for 6s over 5 stages (gracefulRampDown: 30s, gracefulStop: 30s)
        c: 6.67 iterations/s for 5s (maxVUs: 3, gracefulStop: 30s)
        d: 1 looping VUs for 5s (gracefulStop: 30s)
    "#]]
    .assert_eq(&shares(&[("executionSegment", "1/3:1"), ("executionSegmentSequence", "0,1/3,1")]));
    expect![[r#"
        0.3333
        a: 4 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)
        b: Up to 1 looping VUs for 6s over 3 stages (gracefulRampDown: 30s, gracefulStop: 30s)
        c: 3.33 iterations/s for 5s (maxVUs: 1, gracefulStop: 30s)
    "#]]
    .assert_eq(&shares(&[("executionSegment", "0:1/3")]));
    let (script, flags) = (r#"{"vus": 1, "duration": "5s"}"#, &[("executionSegment", "0:1/3")]);
    let fault = consolidate(Sources { script, flags, ..Sources::default() }).unwrap_err().to_string();
    assert!(fault.contains("the execution segment is too small"), "{fault}");
}
