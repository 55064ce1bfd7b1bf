//! The most requests a second: users join until answers fail, or until more users bring no more answers, and then it is
//! said who was busy.

use std::{cell::RefCell, rc::Rc, time::Duration, time::Instant};

use prony_load::{RunError, RunOptions};
use prony_model::result::Progress;
use prony_model::{Nanos, result::SecondRow};
use prony_observe::usage::Usage;
use serde::Serialize;

use super::study::{ResolversPace, ResolversQuestions};
use crate::{
    display::Display,
    markdown::thousands,
    runs::{Measured, Runs},
};

/// "Until errors": more than this share of a second's requests failed.
const ERROR_SHARE_MAX: f64 = 0.001;
/// A second must be so much better than the best before it to count as better.
const GROWTH_MIN: f64 = 1.01;
/// Answers of so many seconds in a row are the maximum: one alone is luck.
const PEAK_SECONDS: usize = 3;
/// Who uses more than this share of its processors is busy.
const BUSY_SHARE: f64 = 0.9;

/// One second of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Second {
    pub users: u32,
    pub successes: u64,
    pub failures: u64,
    pub p50_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    /// Of the engine's processors, from 0 to 1.
    pub engine_share: Option<f64>,
    /// Of the lab's.
    pub lab_share: Option<f64>,
}

/// Why no more users joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum End {
    Errors {
        share: f64,
    },
    /// More users, but for so many seconds no more answers.
    Plateau {
        seconds: u32,
    },
    /// As many users as were allowed, while answers still became more.
    UsersMax {
        users: u32,
    },
}

/// Who had no processor time left when there were most answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Busy {
    Engine,
    Lab,
    Both,
    Nobody,
}

/// The best seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    pub requests_per_second: f64,
    /// At their end.
    pub users: u32,
    /// The middle one's, and the worst.
    pub p50_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    pub engine_share: Option<f64>,
    pub lab_share: Option<f64>,
    pub busy: Busy,
}

/// What users who joined got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throughput {
    #[serde(flatten)]
    pub end: End,
    /// Nothing where it took less than a few seconds.
    pub peak: Option<Peak>,
    pub requests: u64,
    pub failures: u64,
    pub seconds: Vec<Second>,
    /// The result file, next to the table.
    pub file: &'static str,
}

/// Has users join. `None` where the user stopped it.
pub(super) fn measure(
    questions: &ResolversQuestions,
    engine: Measured<'_>,
    pace: &ResolversPace,
    runs: &Runs<'_>,
    display: &Display,
) -> Result<Option<Throughput>, RunError> {
    const FILE: &str = "throughput.prony.json";
    let time = pace.throughput();
    let plan = questions.joining(pace.users_max, time);
    let mut show = display.begin("Maximum throughput".to_owned(), time, Nanos::ZERO);
    let seconds: Rc<RefCell<Vec<Second>>> = Rc::default();
    let enough = runs.stop.child();
    let (kept, stop, plateau) = (Rc::clone(&seconds), enough.clone(), pace.plateau_seconds);
    let users_max = pace.users_max;
    let mut shares = Shares::begin(engine, runs.threads.get());
    let watch = move |progress: &Progress| {
        show(progress);
        if !progress.is_last && !stop.is_stopped() && is_whole(&progress.last, time) {
            let mut seconds = kept.borrow_mut();
            seconds.push(second(&progress.last, users_max, shares.take()));
            if end(&seconds, plateau).is_some() {
                stop.stop();
            }
        }
    };
    let options = RunOptions { stop: enough, ..runs.observing(engine, FILE, watch) };
    let result = prony_load::run(&plan, options)?;
    if runs.stop.is_stopped() {
        return Ok(None);
    }
    let whole = crate::runs::whole(&result);
    let seconds = seconds.take();
    let found = Throughput {
        end: end(&seconds, pace.plateau_seconds).unwrap_or(End::UsersMax { users: pace.users_max }),
        peak: peak(&seconds),
        requests: whole.requests,
        failures: whole.failures,
        seconds,
        file: FILE,
    };
    if let Some(peak) = &found.peak {
        let rate = thousands(peak.requests_per_second.round() as u64);
        display.line(&format!("Maximum throughput: {rate}/s with {} users", thousands(peak.users.into())));
    }
    Ok(Some(found))
}

/// Users ask until the last of them has joined, after `time`: a second that ends later has only some of its requests, or none.
fn is_whole(row: &SecondRow, time: Nanos) -> bool {
    Nanos::from_secs(row.second + 1) <= time
}

fn second(row: &SecondRow, users_max: u32, (engine_share, lab_share): (Option<f64>, Option<f64>)) -> Second {
    Second {
        // Those of the last second may have left when it is looked at: all had joined by then.
        users: if row.users > 0 { row.users } else { users_max },
        successes: row.successes,
        failures: row.failures,
        p50_ns: row.p50_ns,
        p99_ns: row.p99_ns,
        engine_share,
        lab_share,
    }
}

/// Why it is over, if it is.
fn end(seconds: &[Second], plateau_seconds: u32) -> Option<End> {
    let last = seconds.last()?;
    let share = last.failures as f64 / (last.failures + last.successes).max(1) as f64;
    if share > ERROR_SHARE_MAX {
        return Some(End::Errors { share });
    }
    let (mut best, mut since) = (0.0, 0);
    for second in seconds {
        if second.successes as f64 > best * GROWTH_MIN {
            (best, since) = (second.successes as f64, 0);
        } else {
            since += 1;
        }
    }
    (since >= plateau_seconds).then_some(End::Plateau { seconds: since })
}

fn peak(seconds: &[Second]) -> Option<Peak> {
    let answers = |seconds: &[Second]| seconds.iter().map(|second| second.successes).sum::<u64>();
    let best = seconds.windows(PEAK_SECONDS).max_by_key(|seconds| answers(seconds))?;
    let mean = |share: fn(&Second) -> Option<f64>| {
        let shares: Option<Vec<f64>> = best.iter().map(share).collect();
        Some(shares?.iter().sum::<f64>() / PEAK_SECONDS as f64)
    };
    let (engine_share, lab_share) = (mean(|second| second.engine_share), mean(|second| second.lab_share));
    let is_busy = |share: Option<f64>| share.is_some_and(|share| share >= BUSY_SHARE);
    Some(Peak {
        requests_per_second: answers(best) as f64 / PEAK_SECONDS as f64,
        users: best[PEAK_SECONDS - 1].users,
        p50_ns: best[PEAK_SECONDS / 2].p50_ns,
        p99_ns: best.iter().filter_map(|second| second.p99_ns).max(),
        engine_share,
        lab_share,
        busy: match (is_busy(engine_share), is_busy(lab_share)) {
            (true, true) => Busy::Both,
            (true, false) => Busy::Engine,
            (false, true) => Busy::Lab,
            (false, false) => Busy::Nobody,
        },
    })
}

/// What engine and lab used since the last look, as shares of the processors that each has.
struct Shares {
    process: u32,
    processors: [usize; 2],
    last: (Instant, [Option<Duration>; 2]),
}

impl Shares {
    fn begin(engine: Measured<'_>, lab_processors: usize) -> Self {
        let processors = [engine.processors.len(), lab_processors];
        Self { process: engine.process, processors, last: (Instant::now(), used(engine.process)) }
    }

    fn take(&mut self) -> (Option<f64>, Option<f64>) {
        let now = (Instant::now(), used(self.process));
        let (before, last) = std::mem::replace(&mut self.last, now);
        let seconds = (now.0 - before).as_secs_f64();
        let share = |index: usize| {
            let used = now.1[index]?.saturating_sub(last[index]?).as_secs_f64();
            (seconds > 0.0).then(|| used / seconds / self.processors[index].max(1) as f64)
        };
        (share(0), share(1))
    }
}

/// By the engine and by the lab itself.
fn used(process: u32) -> [Option<Duration>; 2] {
    [process, std::process::id()].map(|process| Some(Usage::of(process).ok()?.processor_time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(successes: &[u64]) -> Vec<Second> {
        let second = |(index, successes): (usize, &u64)| Second {
            users: 20 * (index as u32 + 1),
            successes: *successes,
            engine_share: Some(0.98),
            lab_share: Some(0.5),
            p99_ns: Some(Nanos::from_millis(index as u64)),
            ..Second::default()
        };
        successes.iter().enumerate().map(second).collect()
    }

    #[test]
    fn it_ends_with_errors_or_when_nothing_becomes_more() {
        assert_eq!(end(&[], 2), None);
        assert_eq!(end(&seconds(&[10, 20, 30, 30]), 2), None);
        assert_eq!(end(&seconds(&[10, 10, 20, 20, 30, 30]), 2), None, "pauses do not add up");
        assert_eq!(end(&seconds(&[10, 20, 30, 30, 29]), 2), Some(End::Plateau { seconds: 2 }));
        assert_eq!(end(&seconds(&[1_000, 1_005, 1_009, 1_011, 1_011]), 4), None, "many small steps are one");
        let mut failing = seconds(&[1_000, 990]);
        failing[1].failures = 10;
        assert_eq!(end(&failing, 2), Some(End::Errors { share: 0.01 }));
    }

    #[test]
    fn a_second_in_which_users_leave_is_none() {
        let is_whole = |second, time| is_whole(&SecondRow { second, ..SecondRow::default() }, time);
        let time = Nanos::from_millis(2_500);
        assert!(is_whole(0, time) && is_whole(1, time) && !is_whole(2, time) && !is_whole(3, time));
        assert!(is_whole(1, Nanos::from_secs(2)) && !is_whole(2, Nanos::from_secs(2)));
    }

    #[test]
    fn users_who_have_left_at_the_end_of_the_last_second_are_counted() {
        let users = |users| second(&SecondRow { users, ..SecondRow::default() }, 80, (None, None)).users;
        assert_eq!([users(60), users(0)], [60, 80]);
    }

    #[test]
    fn the_peak_is_of_seconds_in_a_row() {
        let found = peak(&seconds(&[10, 90, 50, 60, 70, 20])).unwrap();
        assert_eq!((found.users, found.busy), (80, Busy::Engine));
        assert!((found.requests_per_second - 200.0 / 3.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.p99_ns, Some(Nanos::from_millis(3)));
        assert_eq!(peak(&seconds(&[10, 20])), None);
    }
}
