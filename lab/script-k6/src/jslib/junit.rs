//! Thresholds as tests in `JUnit`'s XML, which continuous integration reads.

use serde_json::Value;
use std::fmt::Write as _;

/// One test for each threshold of the summary's data.
pub(super) fn junit(data: &Value, options: &Value) -> String {
    let named = |key: &str, default: &str| escaped(options[key].as_str().unwrap_or(default));
    let (suite, class) = (named("name", "k6 thresholds"), named("classname", "Unnamed folder"));
    let (mut cases, mut tests, mut failures) = (String::new(), 0, 0);
    for (metric, threshold, ok) in thresholds(data) {
        tests += 1;
        let name = format!("{} - {}", escaped(metric), escaped(threshold));
        let test = format!("<testcase name=\"{name}\" classname=\"{class}\"");
        if ok {
            writeln!(cases, "{test} />").expect("texts take everything");
        } else {
            failures += 1;
            writeln!(cases, "{test}><failure message=\"failed\" /></testcase>")
                .expect("texts take everything");
        }
    }
    format!(
        "<?xml version=\"1.0\"?>\n<testsuites tests=\"{tests}\" failures=\"{failures}\">\n\
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\">\n{cases}</testsuite>\n</testsuites>"
    )
}

/// Metric, threshold, and whether it held.
pub(super) fn thresholds(data: &Value) -> Vec<(&str, &str, bool)> {
    let metrics = data["metrics"].as_object().into_iter().flatten();
    let all = metrics.flat_map(|(name, metric)| {
        let thresholds = metric["thresholds"].as_object().into_iter().flatten();
        thresholds.map(move |(text, verdict)| {
            (name.as_str(), text.as_str(), verdict["ok"].as_bool().unwrap_or(false))
        })
    });
    all.collect()
}

/// Text for HTML and XML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn each_threshold_is_a_test() {
        let data = serde_json::json!({"metrics": {
            "http_req_duration": {"thresholds": {"p(95)<500": {"ok": true}, "max<\"1\"": {"ok": false}}},
            "checks": {},
        }});
        expect![[r#"
            <?xml version="1.0"?>
            <testsuites tests="2" failures="1">
            <testsuite name="shop &amp; more" tests="2" failures="1">
            <testcase name="http_req_duration - p(95)&lt;500" classname="Unnamed folder" />
            <testcase name="http_req_duration - max&lt;&quot;1&quot;" classname="Unnamed folder"><failure message="failed" /></testcase>
            </testsuite>
            </testsuites>"#]]
        .assert_eq(&junit(&data, &serde_json::json!({"name": "shop & more"})));
    }
}
