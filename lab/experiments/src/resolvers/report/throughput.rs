//! Table 3: the maximum, whose limit it was, and how it went.

use prony_model::Nanos;

use super::cell::{NONE, percent};
use crate::{
    display::count_of_processors,
    markdown::{Table, milliseconds, thousands},
    resolvers::{
        outcome::ResolversOutcome,
        published::{MAX_PER_S, STUDY},
        study::USERS_PER_S,
        throughput::{Busy, End, Peak, Second, Throughput},
    },
};

/// Rows of the course of the search for the maximum.
const COURSE_ROWS: usize = 10;

pub(super) fn throughput_parts(found: &Throughput, outcome: &ResolversOutcome) -> Vec<String> {
    let mut parts = vec![
        "## 3. Maximum throughput".to_owned(),
        format!(
            "{USERS_PER_S} users join in each second, up to {}; each reads donut 1 by GraphQL, waits 0 to 15 ms and reads again, until \
             answers fail or more users bring no more of them. {}",
            thousands(outcome.pace.users_max.into()),
            end_text(found)
        ),
    ];
    if let Some(peak) = &found.peak {
        parts.push(peak_text(peak, outcome));
        parts.push(peak_table(peak).render());
        parts.push("How it went:".to_owned());
        parts.push(course_table(&found.seconds).render());
    }
    parts
}

pub(super) fn end_text(found: &Throughput) -> String {
    let (length, users) = (found.seconds.len(), found.seconds.last().map_or(0, |second| second.users));
    let after = format!("After {length} s and with {} users", thousands(users.into()));
    match found.end {
        End::Errors { share } => {
            format!("{after} it ended with errors: {:.1} % of a second's requests failed.", share * 100.0)
        }
        End::Plateau { seconds } => {
            format!(
                "{after} it ended without an error: for {seconds} s more users had brought no more answers."
            )
        }
        End::UsersMax { .. } => {
            format!("{after} it ended without an error, and with answers still becoming more.")
        }
    }
}

/// Whose limit the maximum is.
pub(super) fn peak_text(peak: &Peak, outcome: &ResolversOutcome) -> String {
    let engine = count_of_processors(outcome.assignment.server.len());
    let lab = count_of_processors(outcome.assignment.lab.len());
    let (engine_used, lab_used) = (percent(peak.engine_share), percent(peak.lab_share));
    match peak.busy {
        Busy::Engine => format!(
            "The limit was the engine: it used {engine_used} of its {engine}, the lab {lab_used} of its {lab}."
        ),
        Busy::Lab => format!(
            "The limit was the lab: it used {lab_used} of its {lab}, the engine {engine_used} of its {engine}. So this is what the lab could \
             ask for, and the engine's maximum is higher."
        ),
        Busy::Both => format!(
            "Engine and lab were busy at the same time: the engine used {engine_used} of its {engine}, the lab {lab_used} of its {lab}. So this \
             is a lower bound."
        ),
        Busy::Nobody => format!(
            "Neither was busy: the engine used {engine_used} of its {engine}, the lab {lab_used} of its {lab}. Users, or other work on this \
             machine, were the limit."
        ),
    }
}

/// Where somebody else than the engine was short, figures are lower bounds.
pub(super) fn bound(busy: Busy) -> &'static str {
    if busy == Busy::Engine { "" } else { "≥ " }
}

fn peak_table(peak: &Peak) -> Table {
    let mut table = Table::new(&["", "Prony", STUDY]);
    let mut push = |label: &str, ours: String, theirs: String| {
        table.push(vec![label.to_owned(), ours, theirs]);
    };
    let rate = thousands(peak.requests_per_second.round() as u64);
    // The study had no more machines to ask from.
    let theirs = format!("≥ {}", thousands(MAX_PER_S.into()));
    push("Requests/s, best three seconds", format!("{}{rate}", bound(peak.busy)), theirs);
    push("Users", thousands(peak.users.into()), NONE.to_owned());
    push("p50", time(peak.p50_ns), NONE.to_owned());
    push("p99", time(peak.p99_ns), NONE.to_owned());
    push("Engine's processors in use", percent(peak.engine_share), "5 %".to_owned());
    push("Lab's processors in use", percent(peak.lab_share), NONE.to_owned());
    table
}

fn time(time: Option<Nanos>) -> String {
    time.map_or(NONE.to_owned(), |time| milliseconds(time.as_millis_f64()))
}

/// Some of the seconds, the last one among them.
fn course_table(seconds: &[Second]) -> Table {
    let mut table = Table::new(&["Second", "Users", "Requests/s", "Failures", "p50", "p99", "Engine", "Lab"]);
    let step = seconds.len().div_ceil(COURSE_ROWS).max(1);
    for (index, second) in
        seconds.iter().enumerate().rev().step_by(step).collect::<Vec<_>>().into_iter().rev()
    {
        table.push(vec![
            (index + 1).to_string(),
            thousands(second.users.into()),
            thousands(second.successes),
            thousands(second.failures),
            time(second.p50_ns),
            time(second.p99_ns),
            percent(second.engine_share),
            percent(second.lab_share),
        ]);
    }
    table
}
