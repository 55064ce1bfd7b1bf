//! Work that is to be done beside what matters: in short turns with rests between them, so that it takes only a part of
//! what the processors have free, and behind all other threads.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The greatest politeness that there is (`nice`).
#[cfg(target_os = "linux")]
const NICEST: i32 = 19;
/// The processor is used for so long at a time: what comes meanwhile waits no longer.
const TURN: Duration = Duration::from_micros(300);
/// Steps between looks at the clock; a step is less than a microsecond, or the writing of a frame.
const STEPS_A_LOOK: u32 = 64;
/// Of what the processors have free, in the mean of about this many turns.
const TURNS_A_MEAN: f64 = 8.0;
/// Whoever waits for this thread to end waits no longer than this.
const REST_MAX: Duration = Duration::from_millis(50);
/// What is taken where nothing is free grows by itself in this time: also what is much work comes to an end.
const MORE_AFTER: Duration = Duration::from_secs(60);

/// From now on for this thread. Where the system has no such thing, it goes on as before.
pub(crate) fn yield_to_others() {
    // On Linux this is a thread's own, elsewhere the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICEST);
}

/// How much of a processor is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Where all is free. Where less is, it is less in two ways: this part of what is free, as much of that as is free.
    pub(crate) of_free: f64,
    /// Also where nothing is free, at first.
    pub(crate) least: f64,
}

impl Share {
    /// Beside a server that has little left: what it has is needed for what waits, not for this.
    pub(crate) const BESIDE: Self = Self { of_free: 0.5, least: 0.02 };
    /// Somebody waits for the result.
    pub(crate) const WAITED_FOR: Self = Self { of_free: 1.0, least: 0.25 };

    /// After so long. More of it, the greater `haste` is: 0 for none, 1 for all that can be had.
    fn of(self, free: f64, elapsed: Duration, haste: f64) -> f64 {
        let least = self.least * (1.0 + elapsed.div_duration_f64(MORE_AFTER));
        let usual = (free * free * self.of_free).max(least).min(1.0);
        usual + (1.0 - usual) * haste.clamp(0.0, 1.0)
    }
}

/// Takes turns. `haste` is asked once a turn.
pub(crate) struct Pace<'a> {
    share: Share,
    haste: &'a dyn Fn() -> f64,
    /// Which part of the time in which it wanted to work it could.
    free: f64,
    steps: u32,
    /// The first turn.
    first: Instant,
    begun: Instant,
    begun_processor: Duration,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(share: Share, haste: &'a dyn Fn() -> f64) -> Self {
        let (begun, begun_processor) = (Instant::now(), processor_time());
        Self { share, haste, free: 0.0, steps: 0, first: begun, begun, begun_processor }
    }

    /// Between any two steps; true where a turn is over and [`Self::rest`] is due.
    pub(crate) fn is_rest_due(&mut self) -> bool {
        self.steps += 1;
        if self.steps < STEPS_A_LOOK {
            return false;
        }
        self.steps = 0;
        self.begun.elapsed() >= TURN && self.worked() >= TURN
    }

    /// Sleeps as long as what was worked asks for.
    pub(crate) fn rest(&mut self) {
        let worked = self.worked();
        let could = ratio(worked, self.begun.elapsed()).min(1.0);
        self.free += (could - self.free) / TURNS_A_MEAN;
        let share = self.share.of(self.free, self.first.elapsed(), (self.haste)());
        std::thread::sleep(rest_after(worked, share));
        (self.begun, self.begun_processor) = (Instant::now(), processor_time());
    }

    fn worked(&self) -> Duration {
        processor_time().saturating_sub(self.begun_processor)
    }
}

fn rest_after(worked: Duration, share: f64) -> Duration {
    worked.mul_f64((1.0 - share) / share).min(REST_MAX)
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 1.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// Of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_a_part_of_what_is_free_and_more_in_haste() {
        let rest = |share: Share, free, seconds, haste| {
            let share = share.of(free, Duration::from_secs(seconds), haste);
            rest_after(Duration::from_micros(300), share).as_micros()
        };
        assert_eq!(rest(Share::BESIDE, 0.15, 0, 0.0), 14_700, "2 %");
        assert_eq!(rest(Share::BESIDE, 0.15, 60, 0.0), 7200, "4 %");
        assert_eq!(rest(Share::BESIDE, 0.4, 0, 0.0), 3450, "8 %");
        assert_eq!(rest(Share::BESIDE, 1.0, 0, 0.0), 300, "half");
        assert_eq!(rest(Share::BESIDE, 0.15, 100_000, 0.0), 0, "all");
        assert_eq!(rest(Share::BESIDE, 0.15, 0, 0.5), 288, "51 %");
        assert_eq!(rest(Share::BESIDE, 0.0, 0, 7.0), 0, "all");
        assert_eq!(rest(Share::WAITED_FOR, 1.0, 0, 0.0), 0);
        assert_eq!(rest(Share::WAITED_FOR, 0.1, 0, 0.0), 900);
        // A turn that was long, as the writing of a frame to a slow disk is, is not followed by seconds of rest.
        assert_eq!(rest_after(Duration::from_secs(1), 0.02), REST_MAX);
    }

    #[test]
    fn a_turn_ends_when_it_has_used_the_processor_for_so_long() {
        let mut pace = Pace::new(Share::WAITED_FOR, &|| 1.0);
        for _ in 0..3 {
            while !pace.is_rest_due() {
                std::hint::spin_loop();
            }
            assert!(pace.worked() >= TURN);
            pace.rest();
        }
        assert!(pace.free > 0.0);
    }
}
