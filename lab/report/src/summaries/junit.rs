//! XML in the form of `JUnit`, which Jenkins, GitLab and others read as the tests of a build: a suite a document, a test for each thing
//! that was asked, and one for the whole. What cannot be believed is an error, which is no failure of the target.

use super::outline::{CheckState, Outline, OutlineCheck, reasons};
use prony_model::verdict::conclusion::Conclusion;
use std::fmt::Write as _;

/// The test of the whole.
const WHOLE: &str = "verdict";

pub(super) fn write(outlines: &[Outline]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"prony\">\n".to_owned();
    for outline in outlines {
        text.push_str(&suite(outline));
    }
    text + "</testsuites>\n"
}

fn suite(outline: &Outline) -> String {
    let whole = OutlineCheck {
        name: WHOLE.to_owned(),
        state: match outline.verdict.conclusion {
            Conclusion::Passed => CheckState::Kept,
            Conclusion::Failed => CheckState::Failed,
            Conclusion::Void => CheckState::Void,
        },
        detail: reasons(&outline.verdict),
    };
    let checks: Vec<_> = outline.checks.iter().chain([&whole]).collect();
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let mut text = format!(
        "  <testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n",
        outline.kind,
        escaped(&outline.title),
        checks.len(),
        count(CheckState::Failed),
        count(CheckState::Void)
    );
    let class = format!("prony.{}.{}", outline.kind, outline.title);
    for check in checks {
        text.push_str(&case(&class, check));
    }
    for (element, lines) in [("system-out", &[outline.claim.clone()][..]), ("system-err", &outline.findings)]
    {
        if lines.iter().any(|line| !line.is_empty()) {
            let _ = writeln!(text, "    <{element}>{}</{element}>", escaped(&lines.join("\n")));
        }
    }
    text + "  </testsuite>\n"
}

fn case(class: &str, check: &OutlineCheck) -> String {
    let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(class), escaped(&check.name));
    let fault = match check.state {
        CheckState::Kept | CheckState::Open => return format!("{head}/>\n"),
        CheckState::Failed => "failure",
        CheckState::Void => "error",
    };
    format!("{head}><{fault} message=\"{}\"/></testcase>\n", escaped(&check.detail))
}

/// For attributes and text; what XML 1.0 cannot hold (section 2.2) is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => safe.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            c => safe.push(c),
        }
    }
    safe
}
