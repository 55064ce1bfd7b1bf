//! What the target saw of each request, and the truth that follows from it; times are the target's own.

use prony_model::Nanos;
use std::fmt;

/// How the target ended a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    Reset,
}

/// One request as the target saw it. Times are counted from the target's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Which start of the load it was, where the request said so.
    pub(super) start: Option<u64>,
    pub(super) arrived: Nanos,
    /// When the last byte of the answer was handed to the kernel, or the connection was reset.
    pub(super) ended: Nanos,
    pub(super) ending: Ending,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start.map_or("-".to_owned(), |start| start.to_string());
        let ending = match self.ending {
            Ending::Answered => "answered",
            Ending::Reset => "reset",
        };
        write!(f, "{start} {} {} {ending}", self.arrived.0, self.ended.0)
    }
}

impl Entry {
    /// Reads what [`Entry`] prints.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let start = match words.next()? {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        let arrived = Nanos(words.next()?.parse().ok()?);
        let ended = Nanos(words.next()?.parse().ok()?);
        let ending = match words.next()? {
            "answered" => Ending::Answered,
            "reset" => Ending::Reset,
            _ => return None,
        };
        Some(Self { start, arrived, ended, ending })
    }

    /// What the target took.
    pub(super) fn service_time(&self) -> Nanos {
        self.ended.since(self.arrived)
    }
}

/// Response times of starts at a constant rate, from when each was due. The schedule is fixed by the start that arrived
/// the least late, so neither the lab's clock nor its own account of itself is needed.
pub(super) fn true_response_times(log: &[Entry], rate_per_s: f64) -> Vec<Nanos> {
    let offset = |start: u64| Nanos::from_secs_f64(start as f64 / rate_per_s);
    let numbered = || log.iter().filter_map(|entry| Some((entry, entry.start?)));
    let first_due = numbered().map(|(entry, start)| entry.arrived.since(offset(start))).min();
    let first_due = first_due.unwrap_or_default();
    numbered().map(|(entry, start)| entry.ended.since(first_due.plus(offset(start)))).collect()
}

/// The time that so many per cent did not exceed; zero without any.
pub(super) fn percentile(times: &[Nanos], percent: f64) -> Nanos {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(start: Option<u64>, arrived_ms: u64, ended_ms: u64) -> Entry {
        let (arrived, ended) = (Nanos::from_millis(arrived_ms), Nanos::from_millis(ended_ms));
        Entry { start, arrived, ended, ending: Ending::Answered }
    }

    #[test]
    fn entries_are_read_as_they_are_printed() {
        let all = [entry(None, 1, 2), Entry { ending: Ending::Reset, ..entry(Some(7), 3, 3) }];
        for one in all {
            assert_eq!(Entry::parse(&one.to_string()), Some(one));
        }
        for line in ["", "1 2", "x 1 2 answered", "1 2 3 gone"] {
            assert_eq!(Entry::parse(line), None, "{line}");
        }
    }

    #[test]
    fn true_times_count_from_the_schedule_and_not_from_late_arrivals() {
        // Ten a second; the target was not asked from 200 to 450 ms.
        let log = [entry(Some(0), 1_000, 1_005), entry(Some(1), 1_100, 1_105), entry(Some(2), 1_450, 1_455)];
        let times = true_response_times(&log, 10.0);
        assert_eq!(times.iter().map(|time| time.0 / 1_000_000).collect::<Vec<_>>(), [5, 5, 255]);
        assert!(true_response_times(&[entry(None, 1, 2)], 10.0).is_empty());
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let times: Vec<_> = (1..=10).map(Nanos).collect();
        assert_eq!((percentile(&times, 50.0), percentile(&times, 99.0)), (Nanos(5), Nanos(10)));
        assert_eq!(percentile(&[], 50.0), Nanos::ZERO);
    }
}
