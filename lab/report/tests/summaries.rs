//! Summaries for pipelines: what they say of runs, searches and comparisons, and that no name breaks their form.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod common;

use expect_test::expect;
use prony_report::{NamedDocument, SummaryFormat};
use roxmltree::{Document as Xml, Node};

fn text(format: &str, documents: &[NamedDocument]) -> String {
    SummaryFormat::named(format).unwrap().text(documents)
}

fn every_kind() -> Vec<NamedDocument> {
    vec![
        common::named("closed", common::closed()),
        common::named("void", common::void()),
        common::named("hostile", common::hostile()),
        common::named_search(),
        common::named_comparison(),
    ]
}

#[test]
fn a_run_in_markdown() {
    expect![[r#"
        ## FAILED: run shop

        http://shop.test, closed loop, up to 100 users, think time 2.00 s

        **FAILED: errors&lt;1%: 5.00 %**

        | asked | found |
        | :-- | --: |
        | `p95<500ms` | kept: 48.0 ms |
        | `errors<1%` | **FAILED: 5.00 %** |
        | `p99<1s` | UNDECIDED: too few samples |

        |  | steady state | whole run |
        | :-- | --: | --: |
        | from, to | 10.0 s – 30.0 s | 0 s – 30.0 s |
        | requests | 200 | 300 |
        | successes a second | 9.5 | 9.5 |
        | errors | 5.00 % | 5.00 % |
        | received | 400.0 kB | 600.0 kB |
        | response time min | 1.00 ms | 1.00 ms |
        | mean | 25.7 ms | 25.7 ms |
        | p50 | 26.0 ms | 26.0 ms |
        | p75 | 38.0 ms | 38.0 ms |
        | p90 | 46.0 ms | 46.0 ms |
        | p95 | 48.0 ms | 48.0 ms |
        | max | 50.0 ms | 50.0 ms |

        <details><summary>findings: 1</summary>

        * too-few-samples: 190 successes, under 500: high percentiles are left out; try: run longer or with more users

        </details>
    "#]].assert_eq(&text("markdown", &[common::named("closed", common::closed())]));
}

#[test]
fn a_comparison_in_markdown() {
    expect![[r#"
        ## passed: comparison after.toml against before.toml

        A: before.toml (http://shop.test), B: after.toml (http://shop.test), 5 runs of each

        **B is worse: mean, p50, p75, p90, p95, p99, p100**

        |  | A | B | B against A | interval |  |
        | :-- | --: | --: | --: | --: | --: |
        | throughput | 301.8/s | 302.2/s | 1.001 | 0.979 to 1.023 | no difference shown |
        | errors | 0.00 % | 0.00 % | +0.00 % | +0.00 % to +0.00 % | no difference shown |
        | mean | 2.65 ms | 2.78 ms | 1.048 | 1.035 to 1.062 | WORSE |
        | p50 | 2.51 ms | 2.63 ms | 1.048 | 1.035 to 1.062 | WORSE |
        | p75 | 2.77 ms | 2.91 ms | 1.048 | 1.035 to 1.061 | WORSE |
        | p90 | 3.27 ms | 3.43 ms | 1.049 | 1.032 to 1.066 | WORSE |
        | p95 | 4.03 ms | 4.23 ms | 1.051 | 1.025 to 1.077 | WORSE |
        | p99 | 5.43 ms | 5.68 ms | 1.046 | 1.024 to 1.069 | WORSE |
        | p100 | 5.97 ms | 6.26 ms | 1.048 | 1.036 to 1.061 | WORSE |
    "#]]
    .assert_eq(&text("markdown", &[common::named_comparison()]));
}

/// What stands in a cell or a heading means nothing to Markdown, wherever it comes from.
#[test]
fn names_do_not_break_markdown() {
    let text = text("markdown", &every_kind());
    for line in text.lines().filter(|line| !line.contains("details>")) {
        // Code is shown as it is.
        let outside: String = line.split('`').step_by(2).collect();
        assert!(!outside.contains('<') && !outside.contains('@'), "{line}");
    }
    let mut columns = None;
    for line in text.lines() {
        // A cell's own bars are escaped.
        let bars = line.replace("\\|", "").matches('|').count();
        columns = line.starts_with('|').then(|| *columns.get_or_insert(bars));
        assert!(columns.is_none_or(|columns| columns == bars), "{line}");
    }
}

fn attribute<'a>(node: Node<'a, 'a>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_suite_counts_its_tests() {
    let documents = every_kind();
    let text = text("junit", &documents);
    let xml = Xml::parse(&text).unwrap();
    let suites: Vec<_> = xml.root_element().children().filter(Node::is_element).collect();
    assert_eq!(suites.len(), documents.len());
    for suite in suites {
        let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
        let with = |name| {
            let has = |case: &&Node<'_, '_>| case.children().any(|child| child.has_tag_name(name));
            cases.iter().filter(has).count().to_string()
        };
        assert_eq!(attribute(suite, "tests"), cases.len().to_string());
        assert_eq!(attribute(suite, "failures"), with("failure"));
        assert_eq!(attribute(suite, "errors"), with("error"));
        assert_eq!(attribute(*cases.last().unwrap(), "name"), "verdict");
    }
}

#[test]
fn what_failed_is_a_failure_and_what_cannot_be_believed_an_error() {
    let documents = [common::named("closed", common::closed()), common::named("void", common::void())];
    let text = text("junit", &documents);
    let cases: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("<test")).collect();
    expect![[r#"
        <testsuites name="prony">
        <testsuite name="run shop" tests="4" failures="2" errors="1" skipped="0">
        <testcase classname="prony.run.shop" name="p95&lt;500ms"/>
        <testcase classname="prony.run.shop" name="errors&lt;1%"><failure message="FAILED: 5.00 %"/></testcase>
        <testcase classname="prony.run.shop" name="p99&lt;1s"><error message="UNDECIDED: too few samples"/></testcase>
        <testcase classname="prony.run.shop" name="verdict"><failure message="errors&lt;1%: 5.00 %"/></testcase>
        <testsuite name="run shop" tests="4" failures="0" errors="4" skipped="0">
        <testcase classname="prony.run.shop" name="p95&lt;500ms"><error message="VOID: 48.0 ms"/></testcase>
        <testcase classname="prony.run.shop" name="errors&lt;1%"><error message="VOID: 5.00 %"/></testcase>
        <testcase classname="prony.run.shop" name="p99&lt;1s"><error message="UNDECIDED: too few samples"/></testcase>
        <testcase classname="prony.run.shop" name="verdict"><error message="generator-bound: the busiest thread of the lab was busy for 97 % of the run; p95&lt;500ms: its figure cannot be believed; errors&lt;1%: its figure cannot be believed; p99&lt;1s: too few samples"/></testcase>"#]].assert_eq(&cases.join("\n"));
}
