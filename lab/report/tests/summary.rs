//! The summary of a made-up run, as a terminal shows it; and what is refused as a result file.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod common;

use common::{closed, open, samples, subscribed, subscribed_alone};
use expect_test::{Expect, expect};
use prony_model::ThinkTime;
use prony_model::load::Pacing;
use prony_model::plan::wire::{Protocol, Spoken};
use prony_report::{ReadError, TextLooks, WrkShown, json, read, samples_table, side_by_side, summary, wrk};

#[test]
fn the_summary_shows_findings_first_and_the_steady_state_beside_the_whole() {
    expect![[r#"
        shop: http://shop.test, closed loop, up to 100 users, think time 2.00 s, seed 1

        ! too-few-samples: 190 successes, under 500: high percentiles are left out
          cause: a percentile needs at least five samples beyond it
          try: run longer or with more users

                                 steady state     whole run
          from, to            10.0 s – 30.0 s  0 s – 30.0 s
          requests                        200           300
          successes a second              9.5           9.5
          errors                       5.00 %        5.00 %
          received                   400.0 kB      600.0 kB
          response time min           1.00 ms       1.00 ms
          mean                        25.7 ms       25.7 ms
          p50                         26.0 ms       26.0 ms
          p75                         38.0 ms       38.0 ms
          p90                         46.0 ms       46.0 ms
          p95                         48.0 ms       48.0 ms
          max                         50.0 ms       50.0 ms

          successes/s ▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█▇█  up to 10
          p99         ▂▄▅▇█▂▄▅▇█▂▄▅▇█▂▄▅▇█▂▄▅▇█▂▄▅▇█  up to 50.0 ms

        by request (steady state)
                requests  a second  errors      p50      p95  p99      max
          list       134       6.4  5.22 %  26.0 ms  48.0 ms    -  50.0 ms
          buy         66       3.2  4.55 %  25.0 ms        -    -  50.0 ms

        status codes (steady state)
                      responses   of all
          status 200        190  95.00 %
          status 503         10   5.00 %

        failures (steady state)
                      requests  of all
          status 503        10  5.00 %

        thresholds (steady state)
          kept  p95<500ms            48.0 ms
          FAILED  errors<1%           5.00 %
          UNDECIDED  p99<1s  too few samples

        lab: 2 threads, busiest 5 %, 0 connections (0 again)
        a closed loop asks less while it waits, which hides stalls; the longest wait without any answer was 0 s

        FAILED: errors<1%: 5.00 %
    "#]].assert_eq(&summary(&closed(), TextLooks::PLAIN));
}

#[test]
fn subscribers_stand_beneath_the_figures() {
    let shown = summary(&subscribed(), TextLooks::PLAIN);
    let (_, beneath) = shown.split_once("  try: read the reasons").unwrap();
    let (_, beneath) = beneath.split_once("\n\nsubscribers").unwrap();
    let (beneath, _) = beneath.split_once("\nlab:").unwrap();
    expect![[r#"
         (whole run)
                                                              prices
          clients, subscriptions of each                     600 × 2
          protocol                              graphql-transport-ws
          connections made                         597 of 600, 298/s
          refused, lost                                         3, 0
          subscriptions in force                      1 194 of 1 200
          to connect, p50 / p99 / max       598 µs / 891 µs / 896 µs
          to the acknowledgement          898 µs / 1.19 ms / 1.20 ms
          to a subscription                 498 µs / 791 µs / 796 µs

        events (steady state)
                                           prices
          events a second                   201.0
          events                            4 020
          received                       400.0 kB
          fan-out latency p50             25.0 ms
          fan-out latency p95             48.0 ms
          fan-out latency p99             50.0 ms
          fan-out latency max             50.0 ms
          from the acknowledgement, p50   12.5 ms
          from the acknowledgement, p99   25.0 ms

        deliveries (whole run)
                                  prices
          mutations acknowledged     200
          deliveries due           4 040
          missed                      40
          duplicated                  20
          out of order                 0

        subscribers, what went wrong (whole run)
                                       times
          prices: refused: status 503      3

        status codes (steady state)
                      responses    of all
          status 200        200  100.00 %

        thresholds (steady state)
          kept  fan_out_latency p99<100ms  50.0 ms
          FAILED  missed == 0                   40
    "#]]
    .assert_eq(beneath);
}

#[test]
fn what_a_script_waits_is_not_said_for_it() {
    let check = |method: &str, expected: &Expect| {
        let mut result = closed();
        result.plan.scenarios[0].pacing = Pacing::ThinkTime(ThinkTime::None);
        result.plan.requests.iter_mut().for_each(|request| method.clone_into(&mut request.method));
        expected.assert_eq(summary(&result, TextLooks::PLAIN).lines().next().unwrap());
    };
    check("GET", &expect!["shop: http://shop.test, closed loop, up to 100 users, no think time, seed 1"]);
    check(
        "",
        &expect!["shop: http://shop.test, closed loop, up to 100 users, waits as its script says, seed 1"],
    );
}

#[test]
fn targets_that_are_not_known_leave_no_gap_in_the_heading() {
    let mut result = closed();
    result.plan.targets.clear();
    let text = summary(&result, TextLooks::PLAIN);
    assert_eq!(text.lines().next(), Some("shop: closed loop, up to 100 users, think time 2.00 s, seed 1"));
}

#[test]
fn what_was_spoken_is_said_where_it_is_not_what_plans_get_unasked() {
    let check = |protocol, spoken: &[Spoken], expected: &Expect| {
        let mut result = closed();
        result.plan.targets = vec!["https://a".to_owned(), "https://b".to_owned()];
        result.plan.wire.protocol = protocol;
        result.lab.spoken = spoken.to_vec();
        let text = summary(&result, TextLooks::PLAIN);
        expected.assert_eq(text.lines().find(|line| line.starts_with("lab:")).unwrap());
    };
    let (one, two) = (Spoken::Http1, Spoken::Http2);
    check(Protocol::Http1, &[one, one], &expect!["lab: 2 threads, busiest 5 %, 0 connections (0 again)"]);
    check(
        Protocol::Http2,
        &[two, two],
        &expect!["lab: 2 threads, busiest 5 %, 0 connections (0 again), HTTP/2"],
    );
    check(
        Protocol::Auto,
        &[one, one],
        &expect!["lab: 2 threads, busiest 5 %, 0 connections (0 again), HTTP/1.1"],
    );
    check(
        Protocol::Auto,
        &[two, one],
        &expect![
            "lab: 2 threads, busiest 5 %, 0 connections (0 again), HTTP/2 with https://a, HTTP/1.1 with https://b"
        ],
    );
}

#[test]
fn below_wrks_lines_stands_what_was_asked_to_be_watched() {
    let mut result = open();
    result.observers[1].name = "metrics http://shop.test/metrics".to_owned();
    result.observers[1].summary.clear();
    let text = wrk(&result, &WrkShown::default(), TextLooks::PLAIN);
    let observed: Vec<_> = text.lines().rev().take_while(|line| !line.contains("differs from")).collect();
    expect![[r#"
        passed: every threshold was kept

          ! after 3.00 s: its threads could not be counted
        metrics http://shop.test/metrics: 2 series, drawn by `prony report --html`

          ! after 3.00 s: its threads could not be counted
        process nginx (4711): processors used at most 0.60 processors, memory at most 45.0 MB
    "#]]
    .assert_eq(&observed.join("\n"));
}

#[test]
fn results_are_read_back_and_strangers_refused() {
    let text = json(&closed()).unwrap();
    assert_eq!(read(&text).unwrap(), closed());
    let of = |text: &str| read(text).unwrap_err().to_string();
    let half = &text[..text.len() / 2];
    let shown = [
        of(""),
        of("{}"),
        of("no JSON"),
        of(half).split(',').next().unwrap().replace(char::is_numeric, "#"),
        of(&text.replace("prony-result", "other")),
        of(&text.replace("\"schema_version\": 2", "\"schema_version\": 99")),
        of(&text.replace("\"schema_version\": 2", "\"schema_version\": 1")),
    ];
    expect![[r#"
        it is empty
        not a result file: missing field `schema` at line 1 column 2
        not a result file: expected ident at line 1 column 2
        it ends in the middle
        not a result file: its schema is `other`
        written by a newer version (schema 99, known is 2); update prony
        written by an older version (schema 1, known is 2); report it with that version
    "#]]
    .assert_eq(&(shown.join("\n") + "\n"));
    assert!(matches!(read(half), Err(ReadError::Truncated { .. })));
}

#[test]
fn a_file_without_windows_is_refused() {
    let mut value: serde_json::Value = serde_json::from_str(&json(&closed()).unwrap()).unwrap();
    value["windows"] = serde_json::json!([]);
    let refused = read(&value.to_string()).unwrap_err().to_string();
    assert!(refused.contains("`windows` is empty, and the last one is of the whole run"), "{refused}");
}

#[test]
fn an_open_model_shows_service_time_beside_response_time_and_what_observers_saw() {
    expect![[r#"
        steady rate: http://shop.test, open, up to 100 starts a second (even), served by 20 users, seed 1

        ! timeouts-censor: 6 requests timed out: percentiles above 99.800 are at least 30.0 s
          cause: how long they would have taken is unknown; latencies hold successes only
          try: raise `timeout`, or read no percentile above that one

                              steady state  service time     whole run  service time
          from, to            0 s – 30.0 s                0 s – 30.0 s
          requests                   3 000                       3 000
          successes a second          99.8                        99.8
          errors                    0.20 %                      0.20 %
          received                  6.0 MB                      6.0 MB
          starts that waited            60                          60
          starts dropped                 0                           0
          response time min        1.50 ms       1.50 ms       1.50 ms       1.50 ms
          mean                     5.45 ms       2.50 ms       5.45 ms       2.50 ms
          p50                      2.52 ms       2.50 ms       2.52 ms       2.50 ms
          p75                      3.03 ms       3.00 ms       3.03 ms       3.00 ms
          p90                      3.33 ms       3.30 ms       3.33 ms       3.30 ms
          p95                      3.44 ms       3.40 ms       3.44 ms       3.40 ms
          p99                       152 ms       3.48 ms        152 ms       3.48 ms
          max                       302 ms       3.50 ms        302 ms       3.50 ms

          successes/s ██████████████████████████████  up to 100
          p99         ▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁  up to 302 ms

        iterations (steady state)
                     due  started  waited  dropped  completed
          default  3 000    3 000      60        0      3 000

        checks (whole run)
                                    passed  failed  passed of all
          list: body contains "id"   2 980      14        99.53 %

        status codes (steady state)
                      responses    of all
          status 200      2 994  100.00 %

        failures (steady state)
                   requests  of all
          timeout         6  0.20 %

        thresholds (steady state)
          kept  p95<500ms  3.44 ms
          kept  errors<5%   0.20 %

        process nginx (4711): processors used at most 0.60 processors, memory at most 45.0 MB
          ! after 3.00 s: its threads could not be counted

        lab: processors used at most 0.30 processors, memory at most 45.0 MB
          ! after 3.00 s: its threads could not be counted

        lab: 2 threads, busiest 5 %, 0 connections (0 again)
        rows of user: 3 000 taken of 5 000 in users.csv
        iterations: 6 ended early because a request in them failed
        the longest wait without any answer was 0 s

        passed: every threshold was kept
    "#]]
    .assert_eq(&summary(&open(), TextLooks::PLAIN));
}

#[test]
fn several_results_stand_side_by_side() {
    let (first, second) = (closed(), open());
    expect![[r#"
        a: shop: http://shop.test, closed loop, up to 100 users, think time 2.00 s, seed 1

        ! too-few-samples: 190 successes, under 500: high percentiles are left out
          cause: a percentile needs at least five samples beyond it
          try: run longer or with more users
        b: steady rate: http://shop.test, open, up to 100 starts a second (even), served by 20 users, seed 1

        ! timeouts-censor: 6 requests timed out: percentiles above 99.800 are at least 30.0 s
          cause: how long they would have taken is unknown; latencies hold successes only
          try: raise `timeout`, or read no percentile above that one

                                            a                b
          from, to            10.0 s – 30.0 s     0 s – 30.0 s
          requests                        200            3 000
          successes a second              9.5             99.8
          errors                       5.00 %           0.20 %
          received                   400.0 kB           6.0 MB
          starts that waited                0               60
          starts dropped                    0                0
          response time min           1.00 ms          1.50 ms
          mean                        25.7 ms          5.45 ms
          p50                         26.0 ms          2.52 ms
          p75                         38.0 ms          3.03 ms
          p90                         46.0 ms          3.33 ms
          p95                         48.0 ms          3.44 ms
          p99                               -           152 ms
          max                         50.0 ms           302 ms
          service time p50            26.0 ms          2.50 ms
          service time p95            48.0 ms          3.40 ms
          service time p99                  -          3.48 ms
          verdict                      FAILED           passed
          findings            too-few-samples  timeouts-censor

        thresholds of a
          kept  p95<500ms            48.0 ms
          FAILED  errors<1%           5.00 %
          UNDECIDED  p99<1s  too few samples

        thresholds of b
          kept  p95<500ms  3.44 ms
          kept  errors<5%   0.20 %
    "#]]
    .assert_eq(&side_by_side(&[("a".to_owned(), &first), ("b".to_owned(), &second)], TextLooks::PLAIN));
    let (name, target) = (&first.plan.name, &first.plan.targets[0]);
    let text = side_by_side(&[(format!("{name} #1"), &first)], TextLooks::PLAIN);
    assert!(
        text.starts_with(&format!("{name} #1: {target}")),
        "a label of the plan's name stands for it: {text}"
    );
}

#[test]
fn a_name_cannot_steer_the_terminal() {
    let mut result = closed();
    result.plan.name = "\u{1b}[2Jgone".to_owned();
    assert!(summary(&result, TextLooks::PLAIN).starts_with("\u{fffd}[2Jgone: "));
}

#[test]
fn of_subscribers_alone_no_figures_of_requests_are_shown() {
    let shown = summary(&subscribed_alone(), TextLooks::PLAIN);
    assert!(shown.starts_with("shop: http://shop.test, no users, seed"), "{shown}");
    assert!(shown.contains("subscribers (whole run)"), "{shown}");
    for absent in ["response time", "successes/s", "a closed loop asks less"] {
        assert!(!shown.contains(absent), "{absent}: {shown}");
    }
}

#[test]
fn colours_are_where_something_failed_was_kept_or_was_found() {
    let looks = TextLooks { has_colors: true, columns: None };
    let shown = summary(&closed(), looks).replace('\u{1b}', "^");
    for part in [
        "^[1mshop^[0m: http://shop.test",
        "\n^[33m! too-few-samples^[0m: 190 successes",
        "\n^[1mby request (steady state)^[0m\n",
        "\n  ^[31mstatus 503^[0m        10",
        "\n  ^[32mkept  p95<500ms^[0m ",
        "\n  ^[31mFAILED  errors<1%^[0m ",
        "\n  ^[33mUNDECIDED  p99<1s^[0m ",
        "\n^[31mFAILED: errors<1%: 5.00 %^[0m\n",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    let colors = ["^[0m", "^[1m", "^[31m", "^[32m", "^[33m"];
    let plain = colors.iter().fold(shown, |text, color| text.replace(color, ""));
    assert_eq!(plain, summary(&closed(), TextLooks::PLAIN), "colours change nothing else");
}

#[test]
fn tables_and_plots_have_room_in_terminals_of_any_width() {
    let (first, mut second) = (closed(), open());
    let name = "商品一覧を検索して並べ替え、最初の十件を取得する GET /api/v1/tenants/{tenant}/donuts";
    for window in &mut second.windows {
        window.by_request.push(window.by_request[0].clone());
        name.clone_into(&mut window.by_request[0].name);
    }
    let runs: Vec<_> = (0..5).map(|index| (format!("results/shop-{index}.prony.json"), &first)).collect();
    for columns in [40, 80, 120] {
        let looks = TextLooks { has_colors: false, columns: Some(columns) };
        let texts = [summary(&first, looks), summary(&second, looks), side_by_side(&runs, looks)];
        // Sentences go on in the next line, as anywhere.
        let is_row = |line: &&str| {
            line.starts_with("  ") && !["cause:", "try:", "! after"].iter().any(|word| line.contains(word))
        };
        for line in texts.iter().flat_map(|text| text.lines()).filter(is_row) {
            let width: usize = line.chars().map(|c| if c >= '\u{3000}' { 2 } else { 1 }).sum();
            assert!(width <= columns, "{width} in {columns}: {line}");
        }
        assert!(texts[1].contains("商品") && texts[1].contains('…'), "{columns}: {}", texts[1]);
        assert_eq!(texts[2].matches("  successes a second").count() > 1, columns < 120, "{}", texts[2]);
    }
}

#[test]
fn figures_of_jmeter_lose_columns_in_a_narrow_terminal_alone() {
    let (statistics, _) = samples();
    assert_eq!(samples_table(&statistics, TextLooks::PLAIN), statistics.table());
    for columns in [40, 80, 120] {
        let text = samples_table(&statistics, TextLooks { has_colors: false, columns: Some(columns) });
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{text}");
        for column in ["Label", "Error %", "99th"] {
            assert!(text.contains(column), "{column} in {columns}:\n{text}");
        }
    }
}
