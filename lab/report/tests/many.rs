//! Searches and comparisons as a terminal shows them, of made-up runs.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod common;

use expect_test::{Expect, expect};
use prony_model::comparison::{ComparedRun, ComparisonFile, FailIf, Side, Subject};
use prony_model::result::{Origin, ResultFile, RunState};
use prony_model::search::{
    Interval, SCHEMA, SCHEMA_VERSION, SearchFile, SearchPlan, SearchRun, SearchStep, StepVerdict, Trial, Vary,
};
use prony_model::{Conclusion, Nanos};
use prony_report::{
    Document, NamedDocument, PageForm, TextLooks, comparison_summary, html, read, read_document,
    search_summary,
};

/// A run whose figures are scaled; without findings, so that they do not hide the rest.
fn run(scale: f64) -> ResultFile {
    let mut result = common::closed();
    result.findings.clear();
    for window in &mut result.windows {
        window.all.rate_per_s /= scale;
        let times = &mut window.all.response_time;
        let scaled = |time: Nanos| Nanos((time.0 as f64 * scale) as u64);
        (times.mean_ns, times.max_ns) = (times.mean_ns.map(scaled), times.max_ns.map(scaled));
        times.percentiles = times.percentiles.iter().map(|(p, time)| (*p, scaled(*time))).collect();
    }
    result
}

fn search(interval: Interval, steps: Vec<SearchStep>) -> SearchFile {
    let plan = SearchPlan {
        start: 100,
        lowest: 1,
        highest: 800,
        growth: 2.0,
        resolution: 1.05,
        repeats: 1,
        steps_max: 40,
    };
    SearchFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        name: "shop".to_owned(),
        target: "http://shop.test".to_owned(),
        vary: Vary::Users,
        objectives: vec!["p95<50ms".to_owned(), "errors<1%".to_owned()],
        plan,
        interval,
        answer: interval.answer(),
        verdict: None,
        steps,
    }
}

fn step(load: u32, verdict: StepVerdict, scale: f64, reason: &str) -> SearchStep {
    let trial = if reason.is_empty() { Trial::Passed } else { Trial::Failed };
    let runs = vec![SearchRun { trial, reason: reason.to_owned(), result: run(scale) }];
    SearchStep { load, verdict: Some(verdict), note: None, runs }
}

fn check(file: &SearchFile, expected: &Expect) {
    expected.assert_eq(&search_summary(file, TextLooks::PLAIN));
    let again: SearchFile = serde_json::from_str(&serde_json::to_string(file).unwrap()).unwrap();
    assert_eq!(&again, file);
}

#[test]
fn an_interval_stands_above_its_steps() {
    let interval = Interval {
        passed: Some(1_200),
        failed: Some(1_300),
        undecided: Some((1_250, 1_250)),
        ..Interval::default()
    };
    let steps = vec![
        step(1_300, StepVerdict::Failed, 3.0, "p95<50ms: 141 ms"),
        step(1_200, StepVerdict::Passed, 1.0, ""),
        step(1_250, StepVerdict::Undecided, 1.1, "p95<50ms: 51.7 ms"),
    ];
    check(
        &search(interval, steps),
        &expect![[r#"
            shop: http://shop.test, p95<50ms, errors<1%

            the limit is between 1 200 users and 1 300 users: the first kept every objective, the second did not (8.3 % apart)
            runs at 1 250 users disagreed to the end: the limit is near, and moves

              load         passed    outcome  a second  errors      p50      p95  p99      max
              1 200 users  1 of 1     passed       9.5  5.00 %  26.0 ms  48.0 ms    -  50.0 ms
              1 250 users  0 of 1  UNDECIDED       8.6  5.00 %  28.6 ms  52.8 ms    -  55.0 ms
              1 300 users  0 of 1     FAILED       3.2  5.00 %  78.0 ms   144 ms    -   150 ms
              1 250 users: p95<50ms: 51.7 ms
              1 300 users: p95<50ms: 141 ms

            passed: every objective was kept up to 1 200 users
        "#]],
    );
}

#[test]
fn figures_of_an_even_number_of_runs_are_between_the_two_in_the_middle() {
    let mut even = step(100, StepVerdict::Undecided, 1.0, "");
    even.runs.extend(step(100, StepVerdict::Undecided, 3.0, "p95<50ms: 144 ms").runs);
    let shown = search_summary(&search(Interval::default(), vec![even]), TextLooks::PLAIN);
    let row = shown.lines().find(|line| line.contains("1 of 2")).unwrap();
    let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..5], ["100 users", "1 of 2", "UNDECIDED", "6.3", "5.00 %"]);
    assert_eq!(cells.last(), Some(&"100 ms"));
}

/// Each of its workers has found it.
#[test]
fn a_run_counts_once_for_a_kind_of_finding() {
    let mut steps = vec![step(100, StepVerdict::Passed, 1.0, ""), step(200, StepVerdict::Passed, 1.0, "")];
    steps[0].runs[0].result.findings = vec![common::closed().findings[0].clone(); 3];
    let interval = Interval { passed: Some(200), ..Interval::default() };
    let shown = search_summary(&search(interval, steps), TextLooks::PLAIN);
    assert!(shown.contains(" in 1 of 2 runs"), "{shown}");
}

#[test]
fn where_the_lab_was_the_limit_no_claim_is_made() {
    let interval = Interval { passed: Some(100), lab_limited: Some(200), ..Interval::default() };
    let note = Some("200 users need more descriptors".to_owned());
    let limit = SearchStep { load: 200, verdict: Some(StepVerdict::LabLimited), note, runs: Vec::new() };
    let steps = vec![step(100, StepVerdict::Passed, 1.0, ""), limit];
    check(
        &search(interval, steps),
        &expect![[r#"
            shop: http://shop.test, p95<50ms, errors<1%

            at least 100 users, and the limit is not known: at 200 users the lab itself was the limit, so no claim is made above that

              load       passed      outcome  a second  errors      p50      p95  p99      max
              100 users  1 of 1       passed       9.5  5.00 %  26.0 ms  48.0 ms    -  50.0 ms
              200 users  0 of 0  LAB LIMITED         -       -        -        -    -        -
              200 users: 200 users need more descriptors

            VOID, neither passed nor failed: the lab itself was the limit at 200 users
        "#]],
    );
}

#[test]
fn open_ends_are_said() {
    let first_lines = |interval: Interval| {
        let text = search_summary(&search(interval, Vec::new()), TextLooks::PLAIN);
        text.lines().nth(2).unwrap().to_owned() + "\n"
    };
    let text = first_lines(Interval { passed: Some(800), ..Interval::default() })
        + &first_lines(Interval { passed: Some(400), ..Interval::default() })
        + &first_lines(Interval { failed: Some(1), ..Interval::default() })
        + &first_lines(Interval { undecided: Some((1, 4)), ..Interval::default() })
        + &first_lines(Interval::default());
    expect![[r#"
        at least 800 users, the most that was allowed: nothing failed; raise --max to go on
        at least 400 users: nothing failed until the search ended
        below 1 user: no load that was tried kept the objectives
        nothing is known: runs of the same load disagreed, at each load that was measured to the end
        nothing is known: no load was measured to the end
    "#]]
    .assert_eq(&text);
}

fn comparison(pairs: usize, slowdown: f64, conditions: &[&str]) -> ComparisonFile {
    let subject = |given: &str| Subject {
        given: given.to_owned(),
        name: "shop".to_owned(),
        target: "http://shop.test".to_owned(),
    };
    let mut file = ComparisonFile::new(Origin::default(), subject("old.toml"), subject("new.toml"), true);
    for index in 0..2 * pairs {
        let side = Side::of_run(index);
        // Noise of a per cent, the same each time.
        let noise = 1.0 + (index * 7 % 5) as f64 / 250.0;
        let scale = if side == Side::B { noise * slowdown } else { noise };
        file.runs.push(ComparedRun { side, result: run(scale) });
    }
    file.state = RunState::Completed;
    let conditions: Vec<_> = conditions.iter().map(|text| FailIf::parse(text).unwrap()).collect();
    file.judge(&conditions);
    file
}

#[test]
fn a_slower_b_is_said_to_be_slower_and_conditions_are_judged() {
    let file = comparison(6, 1.2, &["p95 worse than 5%", "throughput worse than 30%", "mean worse than 20%"]);
    expect![[r#"
        A: old.toml (http://shop.test)
        B: new.toml (http://shop.test)

        B is worse: throughput, mean, p50, p75, p90, p95, p100

                            A        B  B against A            interval
          throughput    9.4/s    7.9/s        0.833      0.818 to 0.849                WORSE
          errors       5.00 %   5.00 %      +0.00 %  +0.00 % to +0.00 %  no difference shown
          mean        25.9 ms  31.1 ms        1.200      1.175 to 1.226                WORSE
          p50         26.2 ms  31.4 ms        1.200      1.175 to 1.226                WORSE
          p75         38.3 ms  46.0 ms        1.200      1.175 to 1.226                WORSE
          p90         46.4 ms  55.6 ms        1.200      1.175 to 1.226                WORSE
          p95         48.4 ms  58.1 ms        1.200      1.175 to 1.226                WORSE
          p100        50.4 ms  60.4 ms        1.200      1.175 to 1.226                WORSE

        6 runs of each, made in turns (A B B A); all intervals hold together with 95 % confidence

        conditions
          p95 worse than 5%                               FAILED
          throughput worse than 30%                         kept
          mean worse than 20%        not shown, and not excluded

        FAILED: p95 worse than 5%
    "#]]
    .assert_eq(&comparison_summary(&file, TextLooks::PLAIN));
}

#[test]
fn without_a_difference_or_runs_enough_nothing_is_claimed() {
    let headline = |file: &ComparisonFile| {
        comparison_summary(file, TextLooks::PLAIN).lines().nth(3).unwrap().to_owned() + "\n"
    };
    let mut void = comparison(4, 2.0, &[]);
    void.runs[0].result.findings = common::closed().findings;
    void.runs[0].result.findings[0].voids_claim = true;
    let rows = comparison_summary(&void, TextLooks::PLAIN);
    assert!(rows.contains("  void\n") && !rows.contains("  WORSE\n"), "{rows}");
    let text = headline(&comparison(6, 1.0, &[])) + &headline(&comparison(1, 2.0, &[])) + &headline(&void);
    expect![[r#"
        no difference shown
        no claim is made: one run of each, and from fewer than 3 nothing is known of the noise
        no claim is made: 1 of 8 runs were not about the target (see the findings below)
    "#]]
    .assert_eq(&text);
}

/// Runs of 190 samples have no 99th percentile, which says neither that it is worse nor that it is not.
#[test]
fn a_condition_on_what_has_too_few_samples_does_not_pass() {
    let file = comparison(4, 1.0, &["p99 worse than 5%", "errors worse than 5%"]);
    assert_eq!(file.conclusion(), Conclusion::Void);
    let shown = comparison_summary(&file, TextLooks::PLAIN);
    let verdict = "\nVOID, neither passed nor failed: p99 worse than 5%: runs have too few samples for it\n";
    assert!(shown.ends_with(verdict), "{shown}");
    assert!(shown.contains("errors worse than 5%  kept\n"), "{shown}");
}

/// Whoever measured one of them was killed.
#[test]
fn what_had_not_ended_is_not_compared() {
    let mut file = comparison(4, 1.0, &["errors worse than 5%"]);
    file.runs[3].result.state = RunState::Running;
    assert_eq!(file.conclusion(), Conclusion::Void);
    file.conclude();
    let shown = comparison_summary(&file, TextLooks::PLAIN);
    let verdict = "\nVOID, neither passed nor failed: 1 of 8 runs had not ended when they were written\n";
    assert!(shown.ends_with(verdict), "{shown}");
}

/// They are results, and were called no result files.
#[test]
fn what_holds_many_runs_is_called_by_its_name_where_one_is_wanted() {
    let search = serde_json::to_string(&search(Interval::default(), Vec::new())).unwrap();
    let comparison = serde_json::to_string(&comparison(3, 1.0, &[])).unwrap();
    for (text, part) in [(search, "a search (`prony find`)"), (comparison, "a comparison (`prony compare`)")]
    {
        let said = read(&text).unwrap_err().to_string();
        assert!(said.contains(part) && !said.contains("not a result file"), "{said}");
    }
}

#[test]
fn searches_and_comparisons_keep_their_verdict_and_older_files_get_one() {
    let of = |interval| {
        let mut file = search(interval, Vec::new());
        file.conclude(interval);
        let verdict = file.verdict.clone().unwrap();
        (verdict.conclusion, verdict.reasons.join("; "), file)
    };
    let interval =
        |passed, failed, lab_limited| Interval { passed, failed, lab_limited, ..Interval::default() };
    let (conclusion, reasons, _) = of(interval(Some(50), Some(60), None));
    assert_eq!((conclusion, &*reasons), (Conclusion::Passed, ""));
    let (conclusion, reasons, file) = of(interval(None, Some(3), None));
    assert_eq!((conclusion, &*reasons), (Conclusion::Failed, "no load passed, down to 3 users"));
    let (conclusion, reasons, _) = of(interval(Some(50), None, Some(100)));
    assert_eq!((conclusion, &*reasons), (Conclusion::Void, "the lab itself was the limit at 100 users"));

    let slower = comparison(5, 1.5, &["p50 worse than 5%"]);
    let verdict = slower.verdict.clone().unwrap();
    assert_eq!(
        (verdict.conclusion, verdict.reasons.join("; ")),
        (Conclusion::Failed, "p50 worse than 5%".to_owned())
    );

    let without = |value: serde_json::Value| {
        let mut value = value;
        value.as_object_mut().unwrap().remove("verdict").unwrap();
        read_document(&value.to_string()).unwrap()
    };
    let Document::Search(read) = without(serde_json::to_value(&file).unwrap()) else { panic!("no search") };
    assert_eq!(read.verdict, file.verdict);
    let Document::Comparison(read) = without(serde_json::to_value(&slower).unwrap()) else {
        panic!("no comparison")
    };
    assert_eq!(read.verdict, slower.verdict);
}

/// The last line of the terminal, and the page's verdict with what its exit code means.
fn check_page(document: Document, exit: &str) {
    let terminal = match &document {
        Document::Search(file) => search_summary(file, TextLooks::PLAIN),
        Document::Comparison(file) => comparison_summary(file, TextLooks::PLAIN),
        Document::Run(_) => panic!("a run has its verdict among its own data"),
    };
    let last = terminal.lines().next_back().unwrap().to_owned();
    let documents = [NamedDocument { name: "file".to_owned(), document }];
    let plain = html(&documents, PageForm::Plain("it is a test"));
    let shown = last.replace('<', "&lt;");
    assert!(plain.contains(&format!("<p>{shown}</p>\n<p>{exit}</p>\n")), "{last}: {plain}");
    let page = html(&documents, PageForm::Plots);
    let Some((_, rest)) = page.split_once("<script type=\"application/json\" id=\"data\">") else { return };
    let data: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    assert_eq!((&data["verdict"]["text"], &data["verdict"]["exit_code"]), (&last.into(), &exit.into()));
}

#[test]
fn the_page_of_a_search_or_comparison_ends_as_the_terminal_did() {
    let (kept, failed, void) = (
        "nothing that was asked failed, and that can be believed",
        "something failed, and that can be believed",
        "what was measured cannot be believed, or is too little",
    );
    let found = |passed, failed, lab_limited| {
        let mut file = search(Interval::default(), Vec::new());
        file.conclude(Interval { passed, failed, lab_limited, ..Interval::default() });
        Document::Search(Box::new(file))
    };
    check_page(found(Some(50), Some(60), None), &format!("prony find exits with 0: {kept}"));
    check_page(found(None, Some(3), None), &format!("prony find exits with 1: {failed}"));
    check_page(found(Some(50), None, Some(60)), &format!("prony find exits with 3: {void}"));
    let compared = |pairs, slowdown, conditions: &[&str]| {
        Document::Comparison(Box::new(comparison(pairs, slowdown, conditions)))
    };
    check_page(compared(5, 1.5, &[]), &format!("prony compare exits with 0: {kept}"));
    check_page(compared(5, 1.5, &["p50 worse than 5%"]), &format!("prony compare exits with 1: {failed}"));
    check_page(compared(1, 1.5, &[]), &format!("prony compare exits with 3: {void}"));
}

/// A file that says otherwise than its runs would, such as one of a version with another rule.
#[test]
fn the_verdict_that_a_file_keeps_is_shown_everywhere() {
    let mut file = comparison(5, 1.0, &[]);
    let verdict = file.verdict.as_mut().unwrap();
    (verdict.conclusion, verdict.reasons) = (Conclusion::Void, vec!["as it was kept".to_owned()]);
    let document = Document::Comparison(Box::new(file));
    check_page(
        document,
        "prony compare exits with 3: what was measured cannot be believed, or is too little",
    );
}
