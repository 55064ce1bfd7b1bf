//! Findings on starts of open models: those that were dropped, and rates that were not reached.

use super::{BUSY_SHARE_MAX, REACHED_SHARE_MIN, spans};
use crate::measurement::figures::share;
use crate::measurement::tally::StartCounts;
use crate::result::{ResultFile, ScenarioSummary, WindowResult};
use crate::units::Nanos;
use crate::verdict::finding::{Finding, FindingKind};

/// So many users more than are busy in the mean, so that iterations of unequal length find one free.
const SPARE_USERS: f64 = 1.2;

/// Some starts were dropped, too few for [`rate_not_reached`].
pub(super) fn starts_dropped(result: &ResultFile) -> Option<Finding> {
    let whole = result.windows.last()?;
    let (scenario, starts) = most_dropped(result, whole)?;
    if rate_not_reached(result).is_some() {
        return None;
    }
    let StartCounts { due, dropped, .. } = starts;
    let (percent, name) = (share(dropped, due) * 100.0, &scenario.name);
    let seen = format!(
        "{dropped} of the {due} iterations of `{name}` that were due were dropped, {percent:.2} %: no user was free"
    );
    let (cause, remedy) = why(result, scenario, &starts);
    let span = spans::seconds(result, |row| row.dropped > 0);
    Some(Finding::new(FindingKind::StartsDropped, seen, &cause, &remedy).during(span))
}

pub(super) fn rate_not_reached(result: &ResultFile) -> Option<Finding> {
    let window = result.headline();
    let reached = window.rate_reached.filter(|reached| *reached < REACHED_SHARE_MIN)?;
    let mut sum = StartCounts::default();
    open_scenarios(result, window).for_each(|(_, starts)| sum.merge(&starts));
    let StartCounts { due, started, dropped, .. } = sum;
    // Rounded down: what is under the limit must not be shown as the limit.
    let percent = (reached * 1_000.0).floor() / 10.0;
    let dropped = if dropped > 0 { format!("; {dropped} were dropped") } else { String::new() };
    let seen =
        format!("{started} of the {due} iterations that were due were started, {percent:.1} %{dropped}");
    let (cause, remedy) = match most_dropped(result, window) {
        Some((scenario, starts)) => why(result, scenario, &starts),
        None => (
            "starts waited for a free user until the end: the users are too few, or the target is too slow for this rate"
                .to_owned(),
            "more users; where the latency grows with them the target is at its limit: ask for less".to_owned(),
        ),
    };
    let span = spans::seconds(result, |row| row.dropped > 0);
    Some(Finding::new(FindingKind::RateNotReached, seen, &cause, &remedy).during(span))
}

fn open_scenarios<'a>(
    result: &'a ResultFile,
    window: &'a WindowResult,
) -> impl Iterator<Item = (&'a ScenarioSummary, StartCounts)> {
    let open = result.plan.scenarios.iter().filter(|scenario| scenario.load.rate_max().is_some());
    open.filter_map(|scenario| {
        let figures = window.by_scenario.iter().find(|figures| figures.name == scenario.name)?;
        Some((scenario, figures.starts))
    })
}

/// The scenario that dropped most, if any has dropped a start.
fn most_dropped<'a>(
    result: &'a ResultFile,
    window: &'a WindowResult,
) -> Option<(&'a ScenarioSummary, StartCounts)> {
    let dropping = open_scenarios(result, window).filter(|(_, starts)| starts.dropped > 0);
    dropping.max_by_key(|(_, starts)| starts.dropped)
}

/// Cause and remedy of drops. By Little's law the users that are busy at a time are, in the mean, the starts a second times the
/// time that one keeps its user (J. D. C. Little, A Proof for the Queuing Formula L = λW, 1961).
fn why(result: &ResultFile, scenario: &ScenarioSummary, starts: &StartCounts) -> (String, String) {
    if result.lab.busiest_thread_share > BUSY_SHARE_MAX {
        let cause = "the lab's threads were too busy to start them: the limit is the lab's own";
        let remedy = "give the lab more threads or processors (--threads), or a machine of its own";
        return (cause.to_owned(), remedy.to_owned());
    }
    let users = scenario.load.users_max();
    let none_free = format!("none of the {users} users was free in time");
    let Some(mean) = starts.users_busy_ns.0.checked_div(starts.completed).map(Nanos) else {
        let cause = format!("{none_free}: no iteration came to its end");
        return (cause, "more users, or a target that responds".to_owned());
    };
    let rate = scenario.load.rate_max().unwrap_or_default();
    let busy = rate * mean.as_secs_f64();
    let law =
        format!("an iteration keeps its user for {mean}, so {rate}/s keep {busy:.1} busy by Little's law");
    let enough = (busy * SPARE_USERS).ceil();
    if enough > f64::from(users) {
        let remedy = format!(
            "{enough} users or more; where iterations get longer with them the target is at its limit: ask for less"
        );
        (format!("{none_free}: {law}"), remedy)
    } else {
        let cause = format!(
            "{none_free}: {law}; they are enough in the mean, not for the longest iterations or for starts in close succession"
        );
        (cause, "some more users; see when the drops happened, and what was slow then".to_owned())
    }
}
