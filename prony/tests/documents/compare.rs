//! Whether commands have printed what a page shows of them.

use serde_json::{Deserializer, Value};

/// Of numbers, with or without a space before them.
const UNITS: [&str; 17] =
    ["%", "ns", "µs", "us", "ms", "s", "m", "h", "k", "M", "B", "kB", "KB", "MB", "GB", "KiB", "MiB"];
/// Where the result is goes to standard error, which a page may leave out.
const RESULT: &str = "result: ";
/// Of histograms.
const BAR: char = '█';
/// What stands in a page for any number of lines.
const ANY: &str = "…";

/// What a page shows against what was printed; an error is what is not so.
pub(crate) fn check(shown: &str, said: &Said, is_measured: bool) -> Result<(), String> {
    let (log, output): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.starts_with("INFO "));
    for line in log {
        let line = without_figures(line);
        if !said.log.lines().any(|said| without_figures(said).ends_with(&line)) {
            return Err(format!("no {line:?} in\n{}", said.log));
        }
    }
    let (output, found) = (output.join("\n"), said.output.trim());
    if let (Some(output), Some(found), false) = (json(&output), json(found), is_measured) {
        let fault = || format!("shown:\n{output:?}\n\nprinted:\n{found:?}\n");
        return if output == found { Ok(()) } else { Err(fault()) };
    }
    let lines = if is_measured { skeletons } else { plain };
    let (output, found) = (lines(&output), lines(found));
    let fault = || format!("shown:\n{}\n\nprinted:\n{}\n", output.join("\n"), found.join("\n"));
    if lines_match(&output, &found) { Ok(()) } else { Err(fault()) }
}

/// What a block has printed.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) output: String,
    /// Of the server that it has started.
    pub(crate) log: String,
}

/// Values one behind the other; none where the text is no JSON.
fn json(text: &str) -> Option<Vec<Value>> {
    let values = Deserializer::from_str(text).into_iter().collect::<Result<Vec<_>, _>>().ok()?;
    (!values.is_empty()).then_some(values)
}

fn plain(text: &str) -> Vec<String> {
    text.trim().lines().map(|line| without_figures(line.trim_end())).collect()
}

/// Lines that say something, without their figures, and without what depends on the machine: findings, starts that were dropped, and
/// percentiles, of which the highest need many samples, and what is looked at once a second. Lines that are alike then count once.
fn skeletons(text: &str) -> Vec<String> {
    let mut is_finding = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        is_finding = line.starts_with("! ") || is_finding && line.starts_with("  ");
        let is_seldom = ["starts were dropped", "lab: processor time"].iter().any(|part| line.contains(part));
        let depends = is_finding || is_seldom || is_percentile(line);
        if !depends && !line.trim().is_empty() && !line.starts_with(RESULT) {
            lines.push(skeleton(line));
        }
    }
    lines.dedup();
    lines
}

/// Such as `p99.9   12 ms`.
fn is_percentile(line: &str) -> bool {
    line.trim_start()
        .strip_prefix('p')
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// `shown` may have `…` in lines, for any text, and as lines, for any lines.
fn lines_match(shown: &[String], found: &[String]) -> bool {
    match shown.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line.trim() == ANY => {
            (0..=found.len()).any(|skipped| lines_match(rest, &found[skipped..]))
        }
        Some((line, rest)) => {
            found.first().is_some_and(|first| line_matches(line, first)) && lines_match(rest, &found[1..])
        }
    }
}

fn line_matches(shown: &str, found: &str) -> bool {
    match shown.split_once(ANY) {
        None => shown == found,
        Some((before, after)) => found.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().any(|(at, _)| line_matches(after, &rest[at..])) || line_matches(after, "")
        }),
    }
}

/// Times and sizes, which are others in each run, as `N`.
fn without_figures(text: &str) -> String {
    let mut shown = text.to_owned();
    if let Some((before, after)) = text.split_once("milliseconds=") {
        let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
        shown = format!("{before}milliseconds=N{after}");
    }
    if let Some((before, after)) = shown.clone().split_once(" bytes") {
        let before = before.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
        shown = format!("{before} N bytes{after}");
    }
    shown
}

/// A line without its figures and with single spaces: each number with its unit, and the dash in its place, is `N`.
fn skeleton(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        // The time of a day stands behind a T.
        let is_word = text.ends_with(char::is_alphanumeric) && !text.ends_with("NT");
        let number = if is_word { 0 } else { number(rest) };
        if number > 0 {
            text.push('N');
            rest = &rest[number..];
        } else {
            text.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    let text = text.replace(BAR, " ");
    let words: Vec<&str> = text.split_whitespace().map(|word| if word == "-" { "N" } else { word }).collect();
    words.join(" ")
}

/// How long the number is with which a text begins, with its unit: `19 981`, `1m00s`, `99.9%`.
fn number(text: &str) -> usize {
    let mut length = digits(text);
    while length > 0 {
        let rest = &text[length..];
        let space = rest.chars().next().filter(|letter| is_space(*letter)).map_or(0, char::len_utf8);
        let after = &rest[space..];
        let is_group =
            space > 0 && after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len()) == 3;
        let unit = UNITS.iter().filter(|unit| after.starts_with(**unit)).max_by_key(|unit| unit.len());
        let unit = unit.filter(|unit| !after[unit.len()..].starts_with(char::is_alphabetic));
        length += match unit {
            Some(unit) if digits(&after[unit.len()..]) == 0 => return length + space + unit.len(),
            Some(unit) => space + unit.len(),
            None if is_group => space + digits(after),
            None if digits(rest) > 0 => digits(rest),
            None => break,
        };
    }
    length
}

fn is_space(letter: char) -> bool {
    [' ', '\u{a0}', '\u{202f}'].contains(&letter)
}

fn digits(text: &str) -> usize {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    if number.starts_with(|letter: char| letter.is_ascii_digit()) { number.len() } else { 0 }
}

#[test]
fn figures_are_left_out_of_what_is_measured() {
    assert_eq!(skeleton("  p95   125 µs  -  2.74 ms"), "p95 N N N");
    assert_eq!(skeleton("  requests  19 981   19\u{202f}981  1 991.9 ██"), "requests N N N");
    assert_eq!(skeleton("a-01: 8 330 bytes, 2026-11-24T11:00:00.120Z"), "a-N: N bytes, N-N-NTN:N:NZ");
    assert_eq!(skeleton("Running 6s test, 1m00s, 99.45% of 6.24MB"), "Running N test, N, N of N");
    assert_eq!(skeleton("p95<50ms"), "p95<N");
    let said = |output: &str| Said { output: output.to_owned(), log: String::new() };
    let shown = "! a: 5\n  cause: b\n\nx 1 s\n…\ny 2\n";
    check(shown, &said("x 17 ms\nz\ny 3"), true).expect("findings depend on the machine");
    check(shown, &said("x 17 ms\nz\n"), true).expect_err("y is missing");
    check("a 1\n", &said("a 2\n"), false).expect_err("it is not measured");
    check("{\"a\": 1}", &said("{\"a\":1}"), false).expect("it is the same JSON");
    check("a … c\n", &said("a b c\n"), false).expect("anything may stand there");
}
