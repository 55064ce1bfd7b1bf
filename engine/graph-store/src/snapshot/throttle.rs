//! Throttles work of low priority: it is done in short turns with sleeps between them, so that it takes only a part of the
//! processor time that other threads leave.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The lowest priority of a thread, as `nice` counts.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;
/// Processor time of a turn, and so the longest that other work waits for the end of one.
const TURN: Duration = Duration::from_micros(300);
/// Steps between two readings of the clock; a step is less than a microsecond, or the writing of a frame.
const STEPS_A_LOOK: u32 = 64;
/// The free part of the processor is a moving mean over about this many turns.
const TURNS_A_MEAN: f64 = 8.0;
/// The longest sleep, so that whoever waits for this thread to end does not wait longer.
const REST_MAX: Duration = Duration::from_millis(50);
/// The part that is taken where nothing is free doubles after this time, so that long work ends too.
const MORE_AFTER: Duration = Duration::from_secs(60);

/// Gives this thread the lowest priority, where the system has priorities of threads.
pub(crate) fn yield_to_others() {
    // On Linux this is a thread's own, elsewhere the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LOWEST_PRIORITY);
}

/// How much of a processor is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// The part that is taken of a processor that is wholly free. Of one that is free for a part of the time, the square of
    /// that part is taken, times this.
    pub(crate) of_free: f64,
    /// The least that is taken in the beginning, even where nothing is free.
    pub(crate) least: f64,
}

impl Share {
    /// Beside a server whose requests need the processor more than this work does.
    pub(crate) const BESIDE: Self = Self { of_free: 0.5, least: 0.02 };
    /// A caller waits for the result.
    pub(crate) const WAITED_FOR: Self = Self { of_free: 1.0, least: 0.25 };

    /// The part of a processor to take after so long a time. An urgency of 0 adds nothing, one of 1 takes the whole.
    fn of(self, free: f64, elapsed: Duration, urgency: f64) -> f64 {
        let least = self.least * (1.0 + elapsed.div_duration_f64(MORE_AFTER));
        let usual = (free * free * self.of_free).max(least).min(1.0);
        usual + (1.0 - usual) * urgency.clamp(0.0, 1.0)
    }
}

/// Divides work into turns. `urgency` is called once a turn.
pub(crate) struct Throttle<'a> {
    share: Share,
    urgency: &'a dyn Fn() -> f64,
    /// Which part of the time of its turns the thread had a processor.
    free: f64,
    steps: u32,
    /// The first turn.
    first: Instant,
    begun: Instant,
    begun_processor: Duration,
}

impl<'a> Throttle<'a> {
    pub(crate) fn new(share: Share, urgency: &'a dyn Fn() -> f64) -> Self {
        let (begun, begun_processor) = (Instant::now(), processor_time());
        Self { share, urgency, free: 0.0, steps: 0, first: begun, begun, begun_processor }
    }

    /// Called between any two steps; true where a turn is over and [`Self::rest`] is due.
    pub(crate) fn is_rest_due(&mut self) -> bool {
        self.steps += 1;
        if self.steps < STEPS_A_LOOK {
            return false;
        }
        self.steps = 0;
        self.begun.elapsed() >= TURN && self.worked() >= TURN
    }

    /// Sleeps so long that the turn before takes the part of the time that it may.
    pub(crate) fn rest(&mut self) {
        let worked = self.worked();
        let could = ratio(worked, self.begun.elapsed()).min(1.0);
        self.free += (could - self.free) / TURNS_A_MEAN;
        let share = self.share.of(self.free, self.first.elapsed(), (self.urgency)());
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
    fn it_takes_a_part_of_what_is_free_and_more_when_urgent() {
        let rest = |share: Share, free, seconds, urgency| {
            let share = share.of(free, Duration::from_secs(seconds), urgency);
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
        let mut throttle = Throttle::new(Share::WAITED_FOR, &|| 1.0);
        for _ in 0..3 {
            while !throttle.is_rest_due() {
                std::hint::spin_loop();
            }
            assert!(throttle.worked() >= TURN);
            throttle.rest();
        }
        assert!(throttle.free > 0.0);
    }
}
