//! The summary's data as one page of HTML that needs nothing else: by `htmlReport(data, options)`.

use super::junit::{escaped, thresholds};
use serde_json::Value;
use std::fmt::Write as _;

const STYLE: &str = include_str!("text/page.css");
/// The columns of trends where the data does not say which.
const TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];

/// The page. `options` are `title` and `debug`, which shows the data beneath.
pub(super) fn html_report(data: &Value, options: &Value) -> String {
    let title = escaped(options["title"].as_str().unwrap_or("k6 load test"));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    page.push_str(&cards(data));
    page.push_str(&threshold_table(data));
    page.push_str(&trend_table(data));
    page.push_str(&figure_table(data));
    page.push_str(&check_table(data));
    if options["debug"].as_bool().unwrap_or(false) {
        let json = serde_json::to_string_pretty(data).unwrap_or_default();
        write!(page, "<h2>Data</h2>\n<pre>{}</pre>\n", escaped(&json)).expect("texts take everything");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn cards(data: &Value) -> String {
    let value = |metric: &str, name: &str| data["metrics"][metric]["values"][name].as_f64();
    let held = thresholds(data);
    let broken = held.iter().filter(|(.., ok)| !ok).count();
    let seconds = data["state"]["testRunDurationMs"].as_f64().map(|ms| format!("{} s", number(ms / 1000.0)));
    let failed_share = value("http_req_failed", "rate");
    let checks = value("checks", "fails");
    let all = [
        ("Duration", seconds, false),
        ("Requests", value("http_reqs", "count").map(number), false),
        ("Requests a second", value("http_reqs", "rate").map(number), false),
        (
            "Failed requests",
            failed_share.map(|rate| format!("{} %", number(rate * 100.0))),
            failed_share > Some(0.0),
        ),
        ("Failed checks", checks.map(number), checks > Some(0.0)),
        ("Broken thresholds", (!held.is_empty()).then(|| format!("{broken} of {}", held.len())), broken > 0),
    ];
    let mut html = String::from("<div class=\"cards\">\n");
    for (name, figure, is_bad) in all {
        let Some(figure) = figure else { continue };
        let class = if is_bad { " class=\"bad\"" } else { "" };
        writeln!(html, "<div class=\"card\"><span>{name}</span><b{class}>{figure}</b></div>")
            .expect("texts take everything");
    }
    html.push_str("</div>\n");
    html
}

fn threshold_table(data: &Value) -> String {
    let rows = thresholds(data).into_iter().map(|(metric, threshold, ok)| {
        vec![escaped(metric), format!("<code>{}</code>", escaped(threshold)), verdict(ok).to_owned()]
    });
    table("Thresholds", &["Metric", "Threshold", "Verdict"], rows.collect())
}

const fn verdict(ok: bool) -> &'static str {
    if ok { "<span class=\"good\">held</span>" } else { "<span class=\"bad\">broken</span>" }
}

fn trend_table(data: &Value) -> String {
    let asked = data["options"]["summaryTrendStats"].as_array();
    let stats: Vec<&str> = match asked {
        Some(stats) => stats.iter().filter_map(Value::as_str).collect(),
        None => TREND_STATS.to_vec(),
    };
    let rows = metrics(data).filter(|(_, metric)| metric["type"] == "trend").map(|(name, metric)| {
        let unit = if metric["contains"] == "time" { " ms" } else { "" };
        let figures = stats.iter().map(|stat| {
            metric["values"][*stat]
                .as_f64()
                .map_or_else(|| "–".to_owned(), |value| format!("{}{unit}", number(value)))
        });
        std::iter::once(escaped(name)).chain(figures).collect()
    });
    let mut head = vec!["Metric"];
    let escaped_stats: Vec<String> = stats.iter().map(|stat| escaped(stat)).collect();
    head.extend(escaped_stats.iter().map(String::as_str));
    table("Times and other trends", &head, rows.collect())
}

fn figure_table(data: &Value) -> String {
    let rows = metrics(data).filter_map(|(name, metric)| {
        let value = |of: &str| metric["values"][of].as_f64().unwrap_or_default();
        let bytes = if metric["contains"] == "data" { " B" } else { "" };
        let (figure, more) = match metric["type"].as_str()? {
            "counter" => (
                format!("{}{bytes}", number(value("count"))),
                format!("{}{bytes} a second", number(value("rate"))),
            ),
            "gauge" => {
                (number(value("value")), format!("from {} to {}", number(value("min")), number(value("max"))))
            }
            "rate" => (
                format!("{} %", number(value("rate") * 100.0)),
                format!("{} of {}", number(value("passes")), number(value("passes") + value("fails"))),
            ),
            _ => return None,
        };
        Some(vec![escaped(name), figure, format!("<span class=\"dim\">{more}</span>")])
    });
    table("Counts, rates and gauges", &["Metric", "Value", ""], rows.collect())
}

fn check_table(data: &Value) -> String {
    let mut rows = Vec::new();
    checks_of(&data["root_group"], "", &mut rows);
    table("Checks", &["Check", "Passed", "Failed", "Verdict"], rows)
}

fn checks_of(group: &Value, path: &str, rows: &mut Vec<Vec<String>>) {
    let list = |of: &str| group[of].as_array().into_iter().flatten();
    for check in list("checks") {
        let count = |of: &str| check[of].as_f64().unwrap_or_default();
        let name = format!("{path}{}", check["name"].as_str().unwrap_or_default());
        let (passes, fails) = (count("passes"), count("fails"));
        rows.push(vec![escaped(&name), number(passes), number(fails), verdict(fails == 0.0).to_owned()]);
    }
    for inner in list("groups") {
        let path = format!("{path}{} / ", inner["name"].as_str().unwrap_or_default());
        checks_of(inner, &path, rows);
    }
}

fn metrics(data: &Value) -> impl Iterator<Item = (&str, &Value)> {
    data["metrics"].as_object().into_iter().flatten().map(|(name, metric)| (name.as_str(), metric))
}

/// Nothing where there are no rows. Cells are HTML.
fn table(title: &str, head: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cells = format!("<th>{}</th>", head.join("</th><th>"));
    let mut html =
        format!("<h2>{title}</h2>\n<div class=\"table\"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n");
    for row in rows {
        let cells = format!("<td>{}</td>", row.join("</td><td>"));
        writeln!(html, "<tr>{cells}</tr>").expect("texts take everything");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

/// At most two digits after the point, and thousands apart.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, rest) = text.split_once('.').map_or((text, ""), |(whole, rest)| (whole, rest));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_every_part_and_escapes_what_it_shows() {
        let data = serde_json::json!({
            "state": {"testRunDurationMs": 61_234.5},
            "options": {"summaryTrendStats": ["avg", "p(99)"]},
            "metrics": {
                "http_reqs": {"type": "counter", "contains": "default", "values": {"count": 12_345, "rate": 205.75}},
                "http_req_duration": {"type": "trend", "contains": "time", "values": {"avg": 12.345, "p(99)": 80},
                    "thresholds": {"p(99)<50": {"ok": false}}},
                "checks": {"type": "rate", "contains": "default", "values": {"rate": 0.5, "passes": 1, "fails": 1}},
                "vus": {"type": "gauge", "contains": "default", "values": {"value": 3, "min": 1, "max": 9}},
            },
            "root_group": {"checks": [], "groups": [
                {"name": "<shop>", "groups": [], "checks": [{"name": "is 200", "passes": 1, "fails": 1}]},
            ]},
        });
        let page = html_report(&data, &serde_json::json!({"title": "A & B", "debug": true}));
        for part in [
            "<title>A &amp; B</title>",
            "12\u{202f}345",
            "61.23 s",
            "1 of 1",
            "<code>p(99)&lt;50</code>",
            "<td>80 ms</td>",
            "from 1 to 9",
            "&lt;shop&gt; / is 200",
            "<pre>{",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs nothing from elsewhere");
    }

    #[test]
    fn a_page_of_no_data_is_a_page() {
        let page = html_report(&Value::Null, &Value::Null);
        assert!(page.ends_with("</html>\n") && !page.contains("<table"));
    }
}
