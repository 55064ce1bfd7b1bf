//! A page of tables alone, which needs neither scripts nor what npm builds.

use super::data::{PageData, RunData, TableData, VerdictData};
use std::fmt::Write as _;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
    color-scheme:light dark;overflow-wrap:anywhere}table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}\
    caption{text-align:left;font-weight:600}th,td{padding:.15rem .8rem .15rem 0;text-align:right;white-space:nowrap}\
    th:first-child,td:first-child{text-align:left}.wide{overflow-x:auto}dt{font-weight:600}";

/// The whole page, with a sentence on what is `missing`.
pub(super) fn page(data: &PageData, missing: &str) -> String {
    with_head(data, missing, "")
}

/// As [`page`], loaded anew until the run is over.
pub(super) fn live_page(data: &PageData, missing: &str, refresh_s: u32) -> String {
    match data.live.as_ref().and_then(|live| live.end.as_ref()) {
        Some(_) => page(data, missing),
        None => with_head(data, missing, &format!("<meta http-equiv=\"refresh\" content=\"{refresh_s}\">\n")),
    }
}

fn with_head(data: &PageData, missing: &str, head: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         {head}<title>{title}</title>\n<style>{STYLE}</style>\n\
         <main>\n<p>This page has tables but no plots: {}.</p>\n{}</main>\n</html>\n",
        escaped(missing),
        tables(data),
        title = escaped(&data.title),
    )
}

/// All that can be said without plots, in the order of the page.
pub(super) fn tables(data: &PageData) -> String {
    let mut text = format!("<h1>{}</h1>\n", escaped(&data.title));
    if let Some(end) = data.live.as_ref().and_then(|live| live.end.as_ref()) {
        let _ = writeln!(text, "<p>{}</p>", escaped(end));
    }
    if let Some(study) = &data.study {
        let sentences = [&study.setting, &study.differs].into_iter().chain(&study.notes);
        for sentence in sentences.filter(|sentence| !sentence.is_empty()) {
            let _ = writeln!(text, "<p>{}</p>", escaped(sentence));
        }
        study.tables.iter().for_each(|shown| table(&mut text, shown));
    }
    for shown in data.verdict.iter().chain(&data.conclusions) {
        verdict(&mut text, shown);
    }
    if let Some(search) = &data.search {
        let _ = writeln!(text, "<p>{}</p>", escaped(&search.answer));
        table(&mut text, &search.table);
    }
    if let Some(comparison) = &data.comparison {
        let _ = writeln!(text, "<p>{}</p>\n<ul>", escaped(&comparison.answer));
        for ratio in &comparison.ratios {
            let _ = writeln!(text, "<li>{}: {}</li>", escaped(&ratio.name), escaped(&ratio.text));
        }
        text.push_str("</ul>\n");
    }
    if let Some(samples) = &data.samples {
        for sentence in std::iter::once(&samples.summary).chain(&samples.notices) {
            let _ = writeln!(text, "<p>{}</p>", escaped(sentence));
        }
        samples.tables.iter().for_each(|shown| table(&mut text, shown));
    }
    if let Some(side_by_side) = &data.side_by_side {
        table(&mut text, side_by_side);
    }
    for shown in &data.runs {
        run(&mut text, shown);
    }
    text
}

fn verdict(text: &mut String, verdict: &VerdictData) {
    for sentence in std::iter::once(&verdict.text).chain(&verdict.exit_code) {
        let _ = writeln!(text, "<p>{}</p>", escaped(sentence));
    }
}

fn run(text: &mut String, run: &RunData) {
    let _ = writeln!(text, "<h2>{}</h2>", escaped(&run.label));
    if let Some(notice) = &run.notice {
        let _ = writeln!(text, "<p>{}</p>", escaped(notice));
    }
    if let Some(shown) = &run.verdict {
        verdict(text, shown);
    }
    for finding in &run.findings {
        let weight = match finding.weight {
            "" => String::new(),
            weight => format!(" ({weight})"),
        };
        let _ = writeln!(
            text,
            "<p><strong>{}{weight}</strong>: {}. Cause: {}. Try: {}.</p>",
            escaped(&finding.kind),
            escaped(&finding.seen),
            escaped(&finding.cause),
            escaped(&finding.try_next)
        );
    }
    if !run.thresholds.is_empty() {
        text.push_str("<ul>\n");
        for threshold in &run.thresholds {
            let (name, measured) = (escaped(&threshold.text), escaped(&threshold.measured));
            let _ = writeln!(text, "<li>{}: {name}, measured {measured}</li>", threshold.judgement.word());
        }
        text.push_str("</ul>\n");
    }
    for shown in run.tables.iter().chain(&run.observers.figures) {
        table(text, shown);
    }
    text.push_str("<dl>\n");
    for (term, what) in &run.facts {
        let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escaped(term), escaped(what));
    }
    text.push_str("</dl>\n");
}

fn table(text: &mut String, table: &TableData) {
    let title = escaped(&table.title);
    // Whoever has no pointer can scroll what has the focus.
    let _ = write!(
        text,
        "<div class=\"wide\" role=\"group\" aria-label=\"{title}\" tabindex=\"0\"><table><caption>{title}</caption>\n<tr>"
    );
    for cell in &table.head {
        let _ = match &**cell {
            // Above the names of rows nothing is said.
            "" => write!(text, "<td></td>"),
            cell => write!(text, "<th scope=\"col\">{}</th>", escaped(cell)),
        };
    }
    text.push_str("</tr>\n");
    for row in &table.rows {
        text.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            let _ = match column {
                0 => write!(text, "<th scope=\"row\">{cell}</th>"),
                _ => write!(text, "<td>{cell}</td>"),
            };
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table></div>\n");
}

/// As text and within quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}
