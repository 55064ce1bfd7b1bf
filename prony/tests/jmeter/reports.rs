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
fn files_are_known_by_their_beginning_too() {
    let trial = Trial::once(&get("good", "/ok", ""));
    trial.run(&[]);
    let rows = std::fs::read_to_string(trial.path("out.jtl")).unwrap();
    let xml = "<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n<httpSample t=\"5\" lb=\"good\" ts=\"1700000000000\" s=\"true\"/>\n</testResults>\n";
    for (name, text) in [
        ("samples.csv", rows.clone()),
        ("marked", format!("\u{feff}{rows}")),
        ("semicolons.txt", rows.replace(',', ";")),
        ("samples.xml", xml.to_owned()),
    ] {
        trial.write(name, &text);
        let reported = trial.prony(&["report", name]);
        assert!(
            reported.out.starts_with(&format!("{name}: 1 samples, 0 failed\n")),
            "{name}: {} {}",
            reported.out,
            reported.error
        );
    }
    trial.write("other.csv", "time,latency\n1,2\n");
    let refused = trial.prony(&["report", "other.csv"]);
    assert!(refused.code != Some(0) && refused.error.contains("other.csv"), "{}", refused.error);
}

#[test]
fn requests_one_by_one_have_their_names_in_outputs() {
    let trial = Trial::once(&(get("größer, 1", "/ok", "") + &get("bad", "/missing", "")));
    let ran = trial.run(&["--out", "csv:samples.csv"]);
    let text = std::fs::read_to_string(trial.path("samples.csv")).unwrap_or_else(|_| panic!("{}", ran.error));
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let column = |rows: &mut csv::Reader<&[u8]>, name| {
        rows.headers().unwrap().iter().position(|column| column == name).unwrap()
    };
    let (metric, name, status) =
        (column(&mut rows, "metric_name"), column(&mut rows, "name"), column(&mut rows, "status"));
    let rows: Vec<_> = rows.records().map(Result::unwrap).filter(|row| &row[metric] == "http_reqs").collect();
    let shown: Vec<_> = rows.iter().map(|row| (&row[name], &row[status])).collect();
    assert_eq!(shown, [("größer, 1", ""), ("bad", "404")]);
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

        Label                            # Samples      KO  Error %  Average     Min     Max   Median     90th     95th     99th  Samples/s   KB/s in  KB/s out
        a, b                                   200       4    2.00%   995.00       0    1990   995.00  1799.10  1900.45  1979.90      50.25     50.25      0.00
        Total                                  200       4    2.00%   995.00       0    1990   995.00  1799.10  1900.45  1979.90      50.25     50.25      0.00

           Count  % of errors  % of samples  Error
               4      100.00%         2.00%  500/O K

        Top 5 errors by label
          a, b
               4  500/O K
    "#]].assert_eq(&reported.out);
    let refused = trial.prony(&["report", "theirs.JTL", "--csv", "page.csv"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.error.contains("--json prints its statistics.json"), "{}", refused.error);
}

#[test]
fn a_page_has_the_dashboard_and_statistics_beside_it() {
    let trial = Trial::new();
    let mut rows =
        String::from("timeStamp;elapsed;label;responseCode;success;threadName;grpThreads;Latency\n");
    for number in 0..600_u64 {
        let (code, success) = if number % 50 == 0 { ("500", "false") } else { ("200", "true") };
        let begin = 1_700_000_000_000 + number * 10;
        let _ = writeln!(rows, "{begin};{};</script>;{code};{success};Users 1-{number};7;3", number % 9);
    }
    trial.write("a.jtl", &rows);
    trial.write(
        "b.jtl",
        "<testResults><httpSample ts=\"1700000000500\" t=\"4\" lb=\"b\" s=\"true\" rc=\"201\"/>",
    );
    std::fs::create_dir(trial.path("out")).unwrap();
    let ended = trial.prony(&["report", "a.jtl", "b.jtl", "--html", "out/page.html"]);
    assert_eq!((ended.code, ended.error.as_str()), (Some(0), ""));
    assert_eq!(ended.out, "wrote out/page.html\nwrote out/statistics.json\n");
    let read = |name: &str| std::fs::read_to_string(trial.path(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("out/statistics.json")).unwrap();
    assert_eq!((&json["Total"]["sampleCount"], &json["b"]["sampleCount"]), (&601.into(), &1.into()));
    let page = read("out/page.html");
    for part in [
        "601 samples, 12 failed, in ",
        "satisfied up to (T)",
        "Statistics",
        "Errors by kind",
        "The 5 most frequent errors of each label",
        "b.jtl: it ends before its end",
        "a.jtl has no responseMessage, dataType, failureMessage, bytes, sentBytes, allThreads, URL, IdleTime, Connect:",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    let Some((_, rest)) = page.split_once("<script type=\"application/json\" id=\"data\">") else { return };
    let data: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let plots = data["samples"]["plots"].as_array().unwrap();
    let shown: Vec<_> = plots
        .iter()
        .map(|plot| {
            let lines = plot["lines"].as_array().unwrap();
            assert!(lines.iter().all(|line| line["values"].as_array().unwrap().len() == 5), "{plot}");
            let names: Vec<_> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
            format!("{}: {}\n", plot["id"].as_str().unwrap(), names.join(" | "))
        })
        .collect();
    expect![[r#"
        totals: hits | successes | failures
        percentiles: p50 | p90 | p95 | p99 | max
        elapsed: </script> | b
        by-label: </script> | </script>, failed | b
        codes: 200 | 500 | 201
        threads: Users
        latency: </script> | b
    "#]]
    .assert_eq(&shown.concat());
}
