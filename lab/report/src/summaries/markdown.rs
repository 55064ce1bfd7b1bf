//! Markdown as GitHub, GitLab and others show it (GitHub Flavored Markdown, tables: section 4.10), for a pull request or the page of a job.

use super::outline::{CheckState, Outline};
use std::fmt::Write as _;

pub(super) fn write(outlines: &[Outline]) -> String {
    outlines.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(outline: &Outline) -> String {
    let word = outline.verdict.conclusion.word();
    let mut text = format!("## {word}: {} {}\n\n", outline.kind, plain(&outline.title));
    let _ = writeln!(text, "{}", plain(&outline.subject));
    if !outline.claim.is_empty() {
        let _ = writeln!(text, "\n**{}**", plain(&outline.claim));
    }
    if !outline.checks.is_empty() {
        let rows = outline.checks.iter().map(|check| {
            let detail = plain(&check.detail);
            let detail = if check.state == CheckState::Failed { format!("**{detail}**") } else { detail };
            vec![format!("`{}`", code(&check.name)), detail]
        });
        let head = vec!["asked".to_owned(), "found".to_owned()];
        text.push_str(&table(&[head].into_iter().chain(rows).collect::<Vec<_>>()));
    }
    let cells: Vec<Vec<_>> =
        outline.table.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    text.push_str(&table(&cells));
    if !outline.findings.is_empty() {
        let _ = writeln!(text, "\n<details><summary>findings: {}</summary>\n", outline.findings.len());
        for finding in &outline.findings {
            let _ = writeln!(text, "* {}", plain(finding));
        }
        text.push_str("\n</details>\n");
    }
    text
}

/// Rows whose first is the head; the first column to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let Some(columns) = rows.first().map(Vec::len) else { return String::new() };
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let ruler: Vec<_> =
        (0..columns).map(|column| if column == 0 { ":--" } else { "--:" }.to_owned()).collect();
    let mut text = String::from("\n");
    for (index, row) in rows.iter().enumerate() {
        text.push_str(&line(row));
        if index == 0 {
            text.push_str(&line(&ruler));
        }
    }
    text
}

/// Text that means nothing to Markdown: names come from plans, and texts from targets.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            // Nobody is called by it.
            '@' => safe.push_str("&#64;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Within backticks, in a table.
fn code(text: &str) -> String {
    let safe = |c: char| if c.is_control() || c == '`' { ' ' } else { c };
    text.chars().map(safe).collect::<String>().replace('|', "\\|")
}
