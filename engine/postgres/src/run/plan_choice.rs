//! Whether a statement runs with its held generic plan or is planned anew for its values: measured per
//! statement, decided by means. Pure: durations come in, a mode comes out.
//!
//! A held plan saves planning on every execution, which is best for nearly all statements. It knows no
//! values, so a filter on a rare value can make it far slower than a plan for that value (`ORDER BY id LIMIT
//! 50` over a filter that few rows pass reads the whole table by key). So a small share of executions tries
//! the other mode, and a statement whose held plan is clearly worse is planned each time.

use std::time::Duration;

use crate::connect::config::PlanMode;

/// Statements faster than this have nothing to win: planning alone takes as long.
const NOT_WORTH_EXPLORING: Duration = Duration::from_micros(200);
/// Executions before the other mode is tried the first time, and between tries at first.
const FIRST_INTERVAL: u32 = 16;
/// Executions between tries when the other mode has lost again and again.
const LAST_INTERVAL: u32 = 4096;
/// Tries in a row, so that one odd execution decides nothing.
const TRIES: u32 = 4;
/// Executions of a mode that its mean needs before it is compared.
const ENOUGH: u32 = 4;
/// The mode in use is left when its mean is more than the other's times this in two series of tries running:
/// on a busy machine one series says little.
const CLEARLY_WORSE: f64 = 1.5;
/// More than this many times worse, one series is enough.
const FAR_WORSE: f64 = 8.0;
/// Older executions fade: at this count, count and sum are halved.
const MEMORY: u32 = 64;

/// The mean service time of one mode, recent executions weighing more.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    count: u32,
    sum_seconds: f64,
}

impl Mean {
    fn record(&mut self, service: Duration) {
        if self.count >= MEMORY {
            self.fade();
        }
        self.count += 1;
        self.sum_seconds += service.as_secs_f64();
    }

    fn fade(&mut self) {
        let kept = self.count / 2;
        self.sum_seconds *= f64::from(kept) / f64::from(self.count.max(1));
        self.count = kept;
    }

    fn seconds(self) -> Option<f64> {
        (self.count >= ENOUGH).then(|| self.sum_seconds / f64::from(self.count))
    }
}

/// The choice for one statement.
#[derive(Debug, Clone)]
pub(crate) struct PlanChoice {
    preferred: PlanMode,
    generic: Mean,
    custom: Mean,
    /// Executions in the preferred mode since the other was tried.
    since_tries: u32,
    interval: u32,
    /// Tries of the other mode that are still to be made.
    tries_left: u32,
    /// The last series of tries found the mode in use clearly worse.
    is_doubted: bool,
}

impl PlanChoice {
    pub(crate) fn new() -> Self {
        Self {
            preferred: PlanMode::Generic,
            generic: Mean::default(),
            custom: Mean::default(),
            since_tries: 0,
            interval: FIRST_INTERVAL,
            tries_left: 0,
            is_doubted: false,
        }
    }

    /// The mode for the next execution.
    pub(crate) fn next(&mut self) -> PlanMode {
        if self.tries_left > 0 {
            self.tries_left -= 1;
            return self.other();
        }
        self.since_tries += 1;
        if self.since_tries >= self.interval && self.is_worth_exploring() {
            self.since_tries = 0;
            self.tries_left = TRIES - 1;
            // What the other mode did long ago says less than what it does now.
            let other = self.other();
            self.mean_mut(other).fade();
            return other;
        }
        self.preferred
    }

    /// Takes what an execution needed; not for the first on a connection, which includes preparing.
    pub(crate) fn record(&mut self, mode: PlanMode, service: Duration) {
        self.mean_mut(mode).record(service);
        if mode != self.preferred && self.tries_left == 0 {
            self.decide();
        }
    }

    /// What an execution in the preferred mode takes; `None` before there are enough of them.
    pub(crate) fn mean_service(&self) -> Option<Duration> {
        self.mean(self.preferred).seconds().map(Duration::from_secs_f64)
    }

    #[cfg(test)]
    pub(crate) fn preferred(&self) -> PlanMode {
        self.preferred
    }

    fn decide(&mut self) {
        let (Some(used), Some(tried)) =
            (self.mean(self.preferred).seconds(), self.mean(self.other()).seconds())
        else {
            return;
        };
        let is_worse = used > tried * CLEARLY_WORSE;
        let is_certain = self.is_doubted || used > tried * FAR_WORSE;
        self.is_doubted = is_worse && !is_certain;
        if is_worse && is_certain {
            self.preferred = self.other();
            self.interval = FIRST_INTERVAL;
            self.since_tries = 0;
        } else if !is_worse {
            self.interval = (self.interval * 2).min(LAST_INTERVAL);
        }
    }

    fn is_worth_exploring(&self) -> bool {
        let mean = self.mean(self.preferred).seconds();
        self.preferred == PlanMode::Custom
            || mean.is_some_and(|mean| mean > NOT_WORTH_EXPLORING.as_secs_f64())
    }

    fn other(&self) -> PlanMode {
        match self.preferred {
            PlanMode::Generic => PlanMode::Custom,
            PlanMode::Custom => PlanMode::Generic,
        }
    }

    fn mean(&self, mode: PlanMode) -> Mean {
        match mode {
            PlanMode::Generic => self.generic,
            PlanMode::Custom => self.custom,
        }
    }

    fn mean_mut(&mut self, mode: PlanMode) -> &mut Mean {
        match mode {
            PlanMode::Generic => &mut self.generic,
            PlanMode::Custom => &mut self.custom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs executions whose service times are given in microseconds per mode; counts the custom ones.
    fn run(choice: &mut PlanChoice, executions: u32, generic_us: u64, custom_us: u64) -> u32 {
        let mut custom = 0;
        for _ in 0..executions {
            let mode = choice.next();
            let service_us = match mode {
                PlanMode::Generic => generic_us,
                PlanMode::Custom => custom_us,
            };
            custom += u32::from(mode == PlanMode::Custom);
            choice.record(mode, Duration::from_micros(service_us));
        }
        custom
    }

    #[test]
    fn a_held_plan_that_is_better_is_kept_at_little_cost() {
        let mut choice = PlanChoice::new();
        let custom = run(&mut choice, 100_000, 400, 800);
        assert_eq!(choice.preferred(), PlanMode::Generic);
        assert!(custom < 200, "{custom} of 100000 executions explored");
    }

    #[test]
    fn a_fast_statement_is_not_explored() {
        assert_eq!(run(&mut PlanChoice::new(), 10_000, 90, 400), 0);
    }

    #[test]
    fn a_held_plan_that_is_far_worse_is_left_soon() {
        let mut choice = PlanChoice::new();
        let custom = run(&mut choice, 100, 40_000, 500);
        assert_eq!(choice.preferred(), PlanMode::Custom);
        assert!(custom > 60, "{custom} of 100 executions were planned for their values");
    }

    #[test]
    fn it_comes_back_when_the_held_plan_has_become_good() {
        let mut choice = PlanChoice::new();
        run(&mut choice, 200, 40_000, 500);
        assert_eq!(choice.preferred(), PlanMode::Custom);
        run(&mut choice, 60_000, 200, 500);
        assert_eq!(choice.preferred(), PlanMode::Generic);
    }

    #[test]
    fn a_few_rare_slow_values_count_by_their_mean() {
        let mut choice = PlanChoice::new();
        for execution in 0..2_000u32 {
            let mode = choice.next();
            // One in ten values is rare: 100 ms by the held plan, as fast as any when planned for.
            let service_us = match mode {
                PlanMode::Generic if execution % 10 == 0 => 100_000,
                PlanMode::Generic => 250,
                PlanMode::Custom => 600,
            };
            choice.record(mode, Duration::from_micros(service_us));
        }
        assert_eq!(choice.preferred(), PlanMode::Custom);
    }

    #[test]
    fn small_differences_do_not_make_it_flap() {
        let mut choice = PlanChoice::new();
        run(&mut choice, 50_000, 550, 500);
        assert_eq!(choice.preferred(), PlanMode::Generic);
    }
}
