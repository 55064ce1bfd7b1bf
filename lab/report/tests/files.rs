//! What is written for other programs: CSV of seconds and of figures.

mod common;

use common::{closed, open, subscribed};
use expect_test::expect;
use prony_report::{figures_csv, series_csv};

#[test]
fn seconds_are_rows() {
    let (first, second) = (closed(), open());
    let text = series_csv(&[("a, \"b\"".to_owned(), &first), ("open".to_owned(), &second)]);
    assert_eq!(text.matches("\r\n").count(), 1 + 30 + 30);
    let lines: Vec<_> = text.lines().collect();
    let shown = [0, 1, 30, 31, 41].map(|index: usize| lines[index]).join("\n") + "\n";
    expect![[r#"
        run,second,users,asked_per_s,started,dropped,successes,failures,timeouts,bytes_received,p50_ns,p95_ns,p99_ns,max_ns,subscriptions,events,missed,fan_out_p50_ns,fan_out_p99_ns,fan_out_max_ns,covered_s
        "a, ""b""",0,100,,10,0,9,1,0,20000,6003000,10000000,10000000,10000000,,,,,,,1
        "a, ""b""",29,100,,10,0,10,0,0,20000,45023000,50000000,50000000,50000000,,,,,,,1
        open,0,100,100.000,100,0,99,0,1,200000,2479000,3419000,3481000,3481000,,,,,,,1
        open,10,100,100.000,100,0,99,0,1,200000,2937000,262399000,302500000,302500000,,,,,,,1
    "#]].assert_eq(&shown);
}

#[test]
fn figures_are_rows_by_window_and_name() {
    let result = open();
    let text = figures_csv(&[("open".to_owned(), &result)]);
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split(',').collect()).collect();
    // Turned: one line a column; those of subscribers are empty.
    let of_requests = lines[0].iter().position(|name| *name == "subscribers").unwrap();
    assert!(lines[1..].iter().all(|cells| cells[of_requests..].iter().all(|cell| cell.is_empty())));
    let turned = (0..of_requests).map(|column| {
        let cells: Vec<_> = lines.iter().map(|line| line[column]).collect();
        format!("{}\n", cells.join(" | "))
    });
    expect![[r#"
        run | open | open | open | open
        window | steady | steady | whole | whole
        from_s | 0 | 0 | 0 | 0
        to_s | 30 | 30 | 30 | 30
        request |  | list |  | list
        requests | 3000 | 3000 | 3000 | 3000
        successes | 2994 | 2994 | 2994 | 2994
        failures | 6 | 6 | 6 | 6
        answered | 2994 | 2994 | 2994 | 2994
        rate_per_s | 99.800 | 99.800 | 99.800 | 99.800
        bytes_sent | 300000 | 300000 | 300000 | 300000
        bytes_received | 6000000 | 6000000 | 6000000 | 6000000
        response_min_ns | 1500000 | 1500000 | 1500000 | 1500000
        response_mean_ns | 5454042 | 5454042 | 5454042 | 5454042
        response_max_ns | 302500000 | 302500000 | 302500000 | 302500000
        response_p50_ns | 2525000 | 2525000 | 2525000 | 2525000
        response_p75_ns | 3031000 | 3031000 | 3031000 | 3031000
        response_p90_ns | 3335000 | 3335000 | 3335000 | 3335000
        response_p95_ns | 3437000 | 3437000 | 3437000 | 3437000
        response_p99_ns | 152319000 | 152319000 | 152319000 | 152319000
        response_p99.9_ns |  |  |  | 
        response_p99.99_ns |  |  |  | 
        response_p99.999_ns |  |  |  | 
        service_min_ns | 1500000 | 1500000 | 1500000 | 1500000
        service_mean_ns | 2501470 | 2501470 | 2501470 | 2501470
        service_max_ns | 3499000 | 3499000 | 3499000 | 3499000
        service_p50_ns | 2503000 | 2503000 | 2503000 | 2503000
        service_p75_ns | 3003000 | 3003000 | 3003000 | 3003000
        service_p90_ns | 3301000 | 3301000 | 3301000 | 3301000
        service_p95_ns | 3401000 | 3401000 | 3401000 | 3401000
        service_p99_ns | 3481000 | 3481000 | 3481000 | 3481000
        service_p99.9_ns |  |  |  | 
        service_p99.99_ns |  |  |  | 
        service_p99.999_ns |  |  |  | 
        first_byte_min_ns | 1500000 | 1500000 | 1500000 | 1500000
        first_byte_mean_ns | 2501470 | 2501470 | 2501470 | 2501470
        first_byte_max_ns | 3499000 | 3499000 | 3499000 | 3499000
        first_byte_p50_ns | 2503000 | 2503000 | 2503000 | 2503000
        first_byte_p75_ns | 3003000 | 3003000 | 3003000 | 3003000
        first_byte_p90_ns | 3301000 | 3301000 | 3301000 | 3301000
        first_byte_p95_ns | 3401000 | 3401000 | 3401000 | 3401000
        first_byte_p99_ns | 3481000 | 3481000 | 3481000 | 3481000
        first_byte_p99.9_ns |  |  |  | 
        first_byte_p99.99_ns |  |  |  | 
        first_byte_p99.999_ns |  |  |  | 
    "#]]
    .assert_eq(&turned.collect::<String>());
}

/// A row of the figures as `column value` pairs, without the columns that are empty in it.
fn known_cells(text: &str, row: usize) -> String {
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split(',').collect()).collect();
    let cells = lines[0].iter().zip(&lines[row]).filter(|(_, cell)| !cell.is_empty());
    cells.flat_map(|(name, cell)| [name, " ", cell, "\n"]).collect()
}

#[test]
fn subscribers_have_columns_in_seconds_and_rows_in_figures() {
    let mut result = subscribed();
    let text = series_csv(&[("r".to_owned(), &result)]);
    let lines: Vec<_> = text.lines().collect();
    expect![
        "r,0,100,,10,0,10,0,0,20000,2000000,2000000,2000000,2000000,1194,201,2,25007000,50000000,50000000,1"
    ]
    .assert_eq(lines[1]);
    let text = figures_csv(&[("r".to_owned(), &result)]);
    // Two windows: all requests, the one request and the one group in each.
    assert_eq!(text.lines().count(), 1 + 2 * 3);
    expect![[r#"
        run r
        window steady
        from_s 0
        to_s 20
        subscribers prices
        events 4020
        events_per_s 201.000
        event_bytes 400000
        deliveries_due 4040
        missed 40
        duplicated 20
        out_of_order 0
        cut_off 0
        unexpected 0
        fan_out_min_ns 1000000
        fan_out_mean_ns 25500000
        fan_out_max_ns 50000000
        fan_out_p50_ns 25007000
        fan_out_p75_ns 38015000
        fan_out_p90_ns 45023000
        fan_out_p95_ns 48031000
        fan_out_p99_ns 50000000
        fan_out_acknowledged_min_ns 500000
        fan_out_acknowledged_mean_ns 12750000
        fan_out_acknowledged_max_ns 25000000
        fan_out_acknowledged_p50_ns 12503000
        fan_out_acknowledged_p75_ns 19007000
        fan_out_acknowledged_p90_ns 22511000
        fan_out_acknowledged_p95_ns 24015000
        fan_out_acknowledged_p99_ns 25000000
    "#]]
    .assert_eq(&known_cells(&text, 3));
    assert!(known_cells(&text, 2).starts_with("run r\nwindow steady\nfrom_s 0\nto_s 20\nrequest sell\n"));
    // Events that are matched with nothing are counted, and nothing is said of what was owed.
    result.subscribers.groups[0].published_by = None;
    let unmatched = known_cells(&figures_csv(&[("r".to_owned(), &result)]), 3);
    assert!(unmatched.contains("events_per_s") && !unmatched.contains("missed"), "{unmatched}");
}
