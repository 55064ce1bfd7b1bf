//! How many users were in the system on average, by Little's law (J. Little, A Proof for the Queuing Formula L = λW, 1961), and
//! whether that is what was asked for.

use super::finding::{Finding, FindingKind};
use crate::measurement::figures::Figures;
use crate::measurement::histogram::Latencies;
use crate::result::{ResultFile, WindowResult};
use crate::units::{Nanos, percent};

/// Averages that differ by less are the same: requests at the window's ends count in one window and last into another.
const DIFFERENCE_MAX: f64 = 0.10;

/// The time that all requests of the window took, failed ones too, over its length.
pub fn average_users(figures: &Figures, length: Nanos) -> Option<f64> {
    let seconds = length.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let mean = |time: Option<Nanos>| time.map_or(0.0, Nanos::as_secs_f64);
    let successes = figures.rate_per_s * mean(figures.response_time.mean_ns);
    let failed = [&figures.histograms.errors, &figures.histograms.timeouts].into_iter().filter_map(|text| {
        let times = Latencies::from_base64(text).ok()?;
        Some(times.count() as f64 * mean(times.mean()) / seconds)
    });
    Some(successes + failed.sum::<f64>())
}

/// Where the average of the headline's window is not that of the users who were asked for. Loads that start requests at a
/// rate ask for none.
pub fn users_differ(result: &ResultFile, asked: u32) -> Option<Finding> {
    let WindowResult { window, all, .. } = result.headline();
    if result.plan.is_open() || asked == 0 {
        return None;
    }
    let average = average_users(all, window.length())?;
    let difference = average / f64::from(asked) - 1.0;
    if difference.abs() <= DIFFERENCE_MAX {
        return None;
    }
    let word = if difference < 0.0 { "fewer" } else { "more" };
    let seen = format!(
        "{average:.1} users were in the system on average, {} {word} than the {asked} who were asked for",
        percent(difference.abs())
    );
    let (cause, remedy) = if difference > 0.0 {
        (
            "requests that began before the window ended in it, or a script's user sends several requests at once",
            "hold each combination longer (--hold), and warm it up longer (--warm-up)",
        )
    } else if result.plan.rate_cap_per_s.is_some() {
        (
            "users wait between requests (think time, pacing, timers), and whoever waits is not in the system",
            "compare by throughput; for a number of users in the system leave the waits out",
        )
    } else {
        (
            "between a response and the next request the lab and the script need time, or users wait there; of short responses \
             that is a large share",
            "give the lab more processors; see whether scripts sleep",
        )
    };
    Some(Finding::new(FindingKind::AverageUsersDiffer, seen, cause, remedy))
}

/// Where requests and responses are, on average, smaller than the message that they were to carry.
pub fn payload_not_carried(result: &ResultFile, payload_bytes: u64) -> Option<Finding> {
    let all = &result.headline().all;
    let (sent, received) = (all.bytes_sent, all.bytes_received);
    if all.answered == 0 || sent.max(received) / all.requests.max(1) >= payload_bytes {
        return None;
    }
    let seen = format!(
        "requests have {} bytes on average and responses {}, fewer than the {payload_bytes} of the message",
        sent / all.requests.max(1),
        received / all.requests.max(1)
    );
    let cause = "nothing of what is run takes the message, so its size changes nothing";
    let remedy = "see docs/sweep.md for the names by which plans and scripts take it";
    Some(Finding::new(FindingKind::PayloadNotCarried, seen, cause, remedy))
}
