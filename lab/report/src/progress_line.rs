//! One line of a moment of a run, in a given number of columns: what does not fit is left out, the least important first.

use crate::describe::number;
use crate::fit::{GAP, fit};
use crate::table::grouped;
use prony_model::result::Progress;

/// Parts of a line in the order in which they stand, each with its rank: the higher, the earlier it is left out.
type Parts = Vec<(u8, String)>;

/// At most so many columns wide; the time and the rate stand in the narrowest.
pub(crate) fn progress_line(progress: &Progress, columns: usize) -> String {
    let parts = fit(parts(progress), columns);
    let line = parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(&" ".repeat(GAP));
    line.chars().take(columns).collect()
}

/// Of the last second: its successes, beside the starts that were asked for where the load is open.
pub(crate) fn rate(progress: &Progress) -> String {
    let successes = grouped(progress.last.successes);
    match progress.asked_per_s {
        Some(asked) => format!("{successes} of {}/s asked", number(asked)),
        None => format!("{successes}/s"),
    }
}

fn parts(progress: &Progress) -> Parts {
    let row = &progress.last;
    let mut parts = vec![
        (0, format!("{} of {}", progress.elapsed, progress.duration)),
        (6, format!("{} users", grouped(row.users.into()))),
        (0, rate(progress)),
    ];
    for (rank, name, time) in [(8, "p50", row.p50_ns), (7, "p95", row.p95_ns), (3, "p99", row.p99_ns)] {
        parts.extend(time.map(|time| (rank, format!("{name} {time}"))));
    }
    parts.push((9, format!("{} requests", grouped(progress.requests))));
    parts
        .push((if progress.failures > 0 { 1 } else { 10 }, format!("{} failed", grouped(progress.failures))));
    if progress.asked_per_s.is_some() {
        parts.push((11, format!("{} late", grouped(progress.waited))));
        parts.push((
            if progress.dropped > 0 { 2 } else { 12 },
            format!("{} dropped", grouped(progress.dropped)),
        ));
    }
    if let Some(row) = &progress.subscribers {
        parts.push((5, format!("{} subscriptions", grouped(row.active))));
        parts.push((2, format!("{} events/s", grouped(row.events))));
        parts.extend(row.p99_ns.map(|p99| (3, format!("fan-out p99 {p99}"))));
    }
    match row.workers_missing {
        0 => {}
        1 => parts.push((1, "1 worker missing".to_owned())),
        missing => parts.push((1, format!("{missing} workers missing"))),
    }
    if !progress.findings.is_empty() {
        let names: Vec<_> = progress.findings.iter().map(|finding| finding.kind.name()).collect();
        parts.push((4, format!("! {}", names.join(", "))));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use prony_model::Nanos;
    use prony_model::result::SecondRow;
    use prony_model::subscription::figures::SubscriberRow;
    use prony_model::verdict::finding::{Finding, FindingKind};
    use std::fmt::Write as _;

    fn closed() -> Progress {
        let last = SecondRow {
            users: 1_300,
            successes: 642,
            p50_ns: Some(Nanos::from_millis(12)),
            p95_ns: Some(Nanos::from_millis(60)),
            p99_ns: Some(Nanos::from_millis(98)),
            ..SecondRow::default()
        };
        let (elapsed, duration) = (Nanos::from_secs(12), Nanos::from_secs(60));
        Progress { elapsed, duration, last, requests: 7_700, failures: 3, ..Progress::default() }
    }

    fn found(kind: FindingKind) -> Finding {
        let (seen, cause, try_next) = (String::new(), String::new(), String::new());
        Finding { kind, voids_claim: false, seen, cause, try_next, span: None }
    }

    fn open() -> Progress {
        Progress {
            asked_per_s: Some(650.0),
            waited: 12,
            dropped: 1,
            findings: [FindingKind::GeneratorBound, FindingKind::ConnectionChurn].map(found).into(),
            ..closed()
        }
    }

    #[test]
    fn a_line_loses_the_least_important_first() {
        let subscribers = Progress {
            subscribers: Some(SubscriberRow { active: 8_000, events: 16_000, ..SubscriberRow::default() }),
            ..closed()
        };
        let mut text = String::new();
        for progress in [closed(), open(), subscribers] {
            for columns in [200, 80, 55, 40, 20] {
                let _ = writeln!(text, "{columns:>3} {}", progress_line(&progress, columns));
            }
        }
        expect![[r#"
            200 12.0 s of 1m00s  1 300 users  642/s  p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  7 700 requests  3 failed
             80 12.0 s of 1m00s  1 300 users  642/s  p95 60.0 ms  p99 98.0 ms  3 failed
             55 12.0 s of 1m00s  642/s  p99 98.0 ms  3 failed
             40 12.0 s of 1m00s  642/s  3 failed
             20 12.0 s of 1m00s  642
            200 12.0 s of 1m00s  1 300 users  642 of 650/s asked  p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  7 700 requests  3 failed  12 late  1 dropped  ! generator-bound, connection-churn
             80 12.0 s of 1m00s  642 of 650/s asked  p99 98.0 ms  3 failed  1 dropped
             55 12.0 s of 1m00s  642 of 650/s asked  3 failed
             40 12.0 s of 1m00s  642 of 650/s asked
             20 12.0 s of 1m00s  642
            200 12.0 s of 1m00s  1 300 users  642/s  p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  7 700 requests  3 failed  8 000 subscriptions  16 000 events/s
             80 12.0 s of 1m00s  642/s  p99 98.0 ms  3 failed  16 000 events/s
             55 12.0 s of 1m00s  642/s  3 failed  16 000 events/s
             40 12.0 s of 1m00s  642/s  3 failed
             20 12.0 s of 1m00s  642
        "#]].assert_eq(&text);
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        for progress in [closed(), open(), Progress::default()] {
            for columns in 0..200 {
                assert!(progress_line(&progress, columns).chars().count() <= columns);
            }
        }
    }
}
