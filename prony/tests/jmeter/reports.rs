//! `prony report FILE.jtl`: files of our own making and of JMeter's.

use super::Trial;
use super::plans::{get, transaction};
use expect_test::expect;
use std::fmt::Write as _;

#[test]
fn files_that_were_written_are_counted_again() {
    let trial =
        Trial::once(&transaction("both", false, &(get("good", "/ok", "") + &get("bad", "/missing", ""))));
    let ran = trial.run(&[]);
    let reported = trial.prony(&["report", "out.jtl"]);
    assert_eq!((reported.code, reported.error.as_str()), (Some(0), ""));
    let total = |text: &str| text.lines().find(|line| line.starts_with("Total  ")).map(str::to_owned);
    let figures = |text: &str| text.lines().rfind(|line| line.starts_with("Total ")).map(str::to_owned);
    assert!(total(&reported.out).is_some());
    assert_eq!(figures(&reported.out), figures(&ran.out));
    assert!(reported.out.starts_with("out.jtl: 2 samples, 1 failed\n"), "{}", reported.out);
    let json: serde_json::Value =
        serde_json::from_str(&trial.prony(&["report", "out.jtl", "--json"]).out).unwrap();
    assert_eq!(json["Total"]["sampleCount"], 2);
    assert_eq!(json["bad"]["errorPct"], 100.0);
}

#[test]
fn files_of_jmeter_are_counted_with_their_own_columns() {
    let trial = Trial::new();
    let mut rows =
        String::from("timeStamp,elapsed,label,responseCode,responseMessage,success,failureMessage,bytes\n");
    for number in 0..200_u64 {
        let (code, success) = if number % 50 == 0 { ("500", "false") } else { ("200", "true") };
        let _ = writeln!(
            rows,
            "{},{},\"a, b\",{code},\"O\nK\",{success},,1024",
            1_700_000_000_000 + number * 10,
            number * 10
        );
    }
    trial.write("theirs.JTL", &rows);
    let reported = trial.prony(&["report", "theirs.JTL"]);
    expect![[r#"
        theirs.JTL: 200 samples, 4 failed

        APDEX                                           T         F
        Total                             0.490    500 ms   1500 ms
        a, b                              0.490    500 ms   1500 ms

        Label                            # Samples      KO  Error %  Average     Min     Max  Median    90th    95th    99th  Samples/s   KB/s in  KB/s out
        a, b                                   200       4    2.00%   995.00       0    1990     990    1791    1890    1970      50.25     50.25      0.00
        Total                                  200       4    2.00%   995.00       0    1990     990    1791    1890    1970      50.25     50.25      0.00

           Count  % of errors  % of samples  Error
               4      100.00%         2.00%  500/O K

        Top 5 errors by label
          a, b
               4  500/O K
    "#]].assert_eq(&reported.out);
    let refused = trial.prony(&["report", "theirs.JTL", "--html", "page.html"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.error.contains("--json prints its statistics.json"), "{}", refused.error);
}
