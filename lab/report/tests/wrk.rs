//! Made-up runs in wrk's and wrk2's words.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::statistics::Statistics;
use prony_model::measurement::status_counts::StatusCounts;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::result::{
    LabFigures, Origin, PlanSummary, ResultFile, RunState, SCHEMA, SCHEMA_VERSION, SecondRow, window_results,
};
use prony_model::subscription::figures::Subscribers;
use prony_model::verdict::findings::{TargetPlace, judge};
use prony_model::{LoadModel, Nanos, Outcome, PlanDraft, Record, RequestDraft, Target, TransportError};
use prony_report::{TextLooks, WrkShown, wrk};

/// Ten connections for 10 s and a request each 10 ms; one in a hundred is answered with 503, one is reset. Each is
/// sent 1 ms after it was due.
fn result(load: LoadModel) -> ResultFile {
    let mut draft = PlanDraft::new("http://shop.test/", Target::new("shop.test", 80), load);
    draft.requests = vec![RequestDraft::get("GET /", "/")];
    let plan = draft.check().unwrap();
    let windows = plan.windows();
    let mut tally = Tally::new(&windows, TallyShape::of(&plan));
    for index in 0..1_000_u64 {
        let scheduled = Nanos::from_millis(index * 10);
        let started = scheduled.plus(Nanos::from_millis(1));
        let ended = started.plus(Nanos::from_micros(500 + index * 7 % 400));
        let outcome = match index {
            7 => Outcome::Transport(TransportError::Read),
            index if index % 100 == 0 => Outcome::Status(503),
            _ => Outcome::Success,
        };
        let status = match outcome {
            Outcome::Transport(_) => None,
            Outcome::Status(status) => Some(status),
            _ => Some(if index % 50 == 1 { 301 } else { 200 }),
        };
        let first_byte = Some(ended);
        let (bytes_sent, bytes_received) = (100, 2_000);
        let record = Record {
            request: 0,
            scheduled,
            started,
            first_byte,
            ended,
            outcome,
            status,
            bytes_sent,
            bytes_received,
        };
        tally.record(&windows, &record);
    }
    let windows = window_results(&plan, None, &windows, &tally, Nanos::from_secs(10));
    let series =
        (0..10).map(|second| SecondRow { second, successes: 80 + second * 4, ..SecondRow::default() });
    let mut result = ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        plan: PlanSummary::of(&plan, None),
        findings: Vec::new(),
        thresholds: Vec::new(),
        verdict: None,
        windows,
        over_time: prony_model::result::OverTime::default(),
        series: series.collect(),
        lab: LabFigures { threads: 2, busiest_thread_share: 0.05, ..LabFigures::default() },
        observers: Vec::new(),
        counted: prony_model::result::Counted::default(),
        subscribers: Subscribers::default(),
        workers: Vec::new(),
    };
    result.findings = judge(&plan, &result, &TargetPlace::OtherMachine);
    result.judge();
    result
}

fn check(result: &ResultFile, latency: bool, uncorrected: bool, expected: &Expect) {
    let shown = WrkShown { url: "http://shop.test/".to_owned(), latency, uncorrected };
    expected.assert_eq(&wrk(result, &shown, TextLooks::PLAIN));
}

/// Where nobody answers there are no answers, however often connecting fails.
#[test]
fn rates_are_of_answers() {
    let mut result = result(LoadModel::constant(10, Nanos::from_secs(10)));
    for row in &mut result.series {
        (row.successes, row.failures) = (10, 5_006);
    }
    for (interval_s, intervals) in [(1, 10), (2, 5)] {
        result.over_time.interval_ns = Nanos::from_secs(interval_s);
        let failed = |a_second: u64| vec![a_second * interval_s; intervals];
        result.over_time.failures =
            [(OutcomeKind::Connect, failed(5_000)), (OutcomeKind::Status, failed(6))].into();
        let rates = Statistics::of_rates(&result);
        // Ten successes and six answers above 399, of two threads.
        assert_eq!((rates.min(), rates.max(), rates.count()), (8, 8, 10), "{interval_s}");
    }
}

#[test]
fn a_closed_loop_reads_as_from_wrk() {
    let result = result(LoadModel::constant(10, Nanos::from_secs(10)));
    check(
        &result,
        false,
        false,
        &expect![[r#"
            Running 10s test @ http://shop.test/
              2 threads and 10 connections
              Thread Stats   Avg      Stdev     Max   +/- Stdev
                Latency     1.70ms  115.39us   1.90ms   57.33%
                Req/Sec    49.00      6.06    58.00     60.00%
              Latency Distribution
                 50%    1.69ms
                 75%    1.80ms
                 90%    1.86ms
                 95%    1.88ms
                 99%    1.90ms
              Latency Histogram
                up to    1.54ms   9.30 %  ██████████████████████████
                up to    1.57ms   9.40 %  ███████████████████████████
                up to    1.61ms   9.81 %  ████████████████████████████
                up to    1.65ms   9.81 %  ████████████████████████████
                up to    1.69ms  10.52 %  ██████████████████████████████
                up to    1.73ms   9.61 %  ███████████████████████████
                up to    1.77ms  10.01 %  ████████████████████████████
                up to    1.81ms  10.31 %  █████████████████████████████
                up to    1.86ms  10.62 %  ██████████████████████████████
                up to    1.90ms  10.62 %  ██████████████████████████████
              999 requests in 10.00s, 1.91MB read
              Socket errors: connect 0, read 1, write 0, timeout 0
              Non-2xx or 3xx responses: 10
            Requests/sec:     99.90
            Transfer/sec:    195.31KB

            responses and errors
                                             requests   of all
              status 200                          969  96.90 %
              status 301                           20   2.00 %
              status 503                           10   1.00 %
              connection lost while reading         1   0.10 %

            differs from wrk: latencies are those that were measured, where wrk adds back-filled estimates; they are of successes
            a closed loop asks less while it waits, which hides stalls (-R does not); the longest wait without any answer was 0 s
        "#]],
    );
    check(
        &result,
        true,
        false,
        &expect![[r#"
            Running 10s test @ http://shop.test/
              2 threads and 10 connections
              Thread Stats   Avg      Stdev     Max   +/- Stdev
                Latency     1.70ms  115.39us   1.90ms   57.33%
                Req/Sec    49.00      6.06    58.00     60.00%
              Latency Distribution
                 50%    1.69ms
                 75%    1.80ms
                 90%    1.86ms
                 95%    1.88ms
                 99%    1.90ms
              Latency Histogram
                up to    1.54ms   9.30 %  ██████████████████████████
                up to    1.57ms   9.40 %  ███████████████████████████
                up to    1.61ms   9.81 %  ████████████████████████████
                up to    1.65ms   9.81 %  ████████████████████████████
                up to    1.69ms  10.52 %  ██████████████████████████████
                up to    1.73ms   9.61 %  ███████████████████████████
                up to    1.77ms  10.01 %  ████████████████████████████
                up to    1.81ms  10.31 %  █████████████████████████████
                up to    1.86ms  10.62 %  ██████████████████████████████
                up to    1.90ms  10.62 %  ██████████████████████████████
              999 requests in 10.00s, 1.91MB read
              Socket errors: connect 0, read 1, write 0, timeout 0
              Non-2xx or 3xx responses: 10
            Requests/sec:     99.90
            Transfer/sec:    195.31KB

            responses and errors
                                             requests   of all
              status 200                          969  96.90 %
              status 301                           20   2.00 %
              status 503                           10   1.00 %
              connection lost while reading         1   0.10 %

            differs from wrk: latencies are those that were measured, where wrk adds back-filled estimates; they are of successes
            a closed loop asks less while it waits, which hides stalls (-R does not); the longest wait without any answer was 0 s
        "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is the expected text")]
fn a_rate_reads_as_from_wrk2() {
    let mut result = result(LoadModel::open(100.0, Nanos::from_secs(10), 10));
    result.state = RunState::Stopped;
    check(
        &result,
        false,
        true,
        &expect![[r#"
            Running 10s test @ http://shop.test/
              2 threads and 10 connections
              Thread Stats   Avg      Stdev     Max   +/- Stdev
                Latency     1.70ms  115.39us   1.90ms   57.33%
                Req/Sec    49.00      6.06    58.00     60.00%
              Latency Distribution (HdrHistogram - Recorded Latency)
             50.000%    1.69ms
             75.000%    1.80ms
             90.000%    1.86ms
             95.000%    1.88ms
             99.000%    1.90ms
            100.000%    1.90ms

              Latency Histogram
                up to    1.54ms   9.30 %  ██████████████████████████
                up to    1.57ms   9.40 %  ███████████████████████████
                up to    1.61ms   9.81 %  ████████████████████████████
                up to    1.65ms   9.81 %  ████████████████████████████
                up to    1.69ms  10.52 %  ██████████████████████████████
                up to    1.73ms   9.61 %  ███████████████████████████
                up to    1.77ms  10.01 %  ████████████████████████████
                up to    1.81ms  10.31 %  █████████████████████████████
                up to    1.86ms  10.62 %  ██████████████████████████████
                up to    1.90ms  10.62 %  ██████████████████████████████

              Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
             50.000%  694.00us
             75.000%  797.00us
             90.000%    0.86ms
             95.000%    0.88ms
             99.000%    0.90ms
            100.000%    0.90ms

              999 requests in 10.00s, 1.91MB read
              Socket errors: connect 0, read 1, write 0, timeout 0
              Non-2xx or 3xx responses: 10
            Requests/sec:     99.90
            Transfer/sec:    195.31KB

            responses and errors
                                             requests   of all
              status 200                          969  96.90 %
              status 301                           20   2.00 %
              status 503                           10   1.00 %
              connection lost while reading         1   0.10 %

            differs from wrk2: requests are sent when they are due, where wrk2 waits for the next whole millisecond (about 0.5 ms of its figures); latencies are of successes
            stopped early: the figures are of what ran until then
        "#]],
    );
    check(
        &result,
        true,
        false,
        &expect![[r#"
            Running 10s test @ http://shop.test/
              2 threads and 10 connections
              Thread Stats   Avg      Stdev     Max   +/- Stdev
                Latency     1.70ms  115.39us   1.90ms   57.33%
                Req/Sec    49.00      6.06    58.00     60.00%
              Latency Distribution (HdrHistogram - Recorded Latency)
             50.000%    1.69ms
             75.000%    1.80ms
             90.000%    1.86ms
             95.000%    1.88ms
             99.000%    1.90ms
            100.000%    1.90ms

              Detailed Percentile spectrum:
                   Value   Percentile   TotalCount 1/(1-Percentile)

                   1.501     0.000000            2         1.00
                   1.539     0.100000           99         1.11
                   1.578     0.200000          199         1.25
                   1.617     0.300000          297         1.43
                   1.656     0.400000          397         1.67
                   1.694     0.500000          495         2.00
                   1.715     0.550000          544         2.22
                   1.736     0.600000          595         2.50
                   1.756     0.650000          643         2.86
                   1.777     0.700000          694         3.33
                   1.797     0.750000          743         4.00
                   1.808     0.775000          768         4.44
                   1.819     0.800000          793         5.00
                   1.828     0.825000          816         5.71
                   1.839     0.850000          842         6.67
                   1.849     0.875000          867         8.00
                   1.854     0.887500          878         8.89
                   1.859     0.900000          891        10.00
                   1.864     0.912500          904        11.43
                   1.869     0.925000          915        13.33
                   1.875     0.937500          929        16.00
                   1.877     0.943750          935        17.78
                   1.879     0.950000          940        20.00
                   1.882     0.956250          946        22.86
                   1.884     0.962500          952        26.67
                   1.887     0.968750          959        32.00
                   1.889     0.971875          963        35.56
                   1.890     0.975000          966        40.00
                   1.891     0.978125          969        45.71
                   1.892     0.981250          972        53.33
                   1.893     0.984375          974        64.00
                   1.894     0.985938          976        71.11
                   1.895     0.987500          978        80.00
                   1.896     0.989062          980        91.43
                   1.896     0.990625          980       106.67
                   1.897     0.992188          983       128.00
                   1.897     0.992969          983       142.22
                   1.897     0.993750          983       160.00
                   1.898     0.994531          986       182.86
                   1.898     0.995313          986       213.33
                   1.898     0.996094          986       256.00
                   1.898     0.996484          986       284.44
                   1.898     0.996875          986       320.00
                   1.899     0.997266          989       365.71
                   1.899     1.000000          989          inf
            #[Mean    =        1.698, StdDeviation   =        0.115]
            #[Max     =        1.899, Total count    =          989]
            #[Buckets =           22, SubBuckets     =         2048]
            ----------------------------------------------------------
              Latency Histogram
                up to    1.54ms   9.30 %  ██████████████████████████
                up to    1.57ms   9.40 %  ███████████████████████████
                up to    1.61ms   9.81 %  ████████████████████████████
                up to    1.65ms   9.81 %  ████████████████████████████
                up to    1.69ms  10.52 %  ██████████████████████████████
                up to    1.73ms   9.61 %  ███████████████████████████
                up to    1.77ms  10.01 %  ████████████████████████████
                up to    1.81ms  10.31 %  █████████████████████████████
                up to    1.86ms  10.62 %  ██████████████████████████████
                up to    1.90ms  10.62 %  ██████████████████████████████

              999 requests in 10.00s, 1.91MB read
              Socket errors: connect 0, read 1, write 0, timeout 0
              Non-2xx or 3xx responses: 10
            Requests/sec:     99.90
            Transfer/sec:    195.31KB

            responses and errors
                                             requests   of all
              status 200                          969  96.90 %
              status 301                           20   2.00 %
              status 503                           10   1.00 %
              connection lost while reading         1   0.10 %

            differs from wrk2: requests are sent when they are due, where wrk2 waits for the next whole millisecond (about 0.5 ms of its figures); latencies are of successes
            stopped early: the figures are of what ran until then
        "#]],
    );
}

#[test]
fn few_responses_of_a_rate_have_no_histogram() {
    let mut result = result(LoadModel::open(100.0, Nanos::from_secs(10), 10));
    let mut times = Latencies::default();
    (0..50).for_each(|index| times.record(Nanos::from_micros(500 + index)));
    result.windows.last_mut().unwrap().all.histograms.response = times.to_base64();
    let shown = wrk(&result, &WrkShown::default(), TextLooks::PLAIN);
    assert!(shown.contains("Recorded Latency") && !shown.contains("Latency Histogram"), "{shown}");
}

#[test]
fn results_of_before_statuses_were_counted_one_by_one_say_which_were_expected() {
    let mut result = result(LoadModel::constant(10, Nanos::from_secs(10)));
    result.windows.last_mut().unwrap().all.responses = StatusCounts::default();
    let shown = wrk(&result, &WrkShown::default(), TextLooks::PLAIN);
    for row in [
        "\n  status 200 to 399                   989  98.90 %\n",
        "\n  status 503                           10  ",
    ] {
        assert!(shown.contains(row), "{shown}");
    }
}
