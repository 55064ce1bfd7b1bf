//! The schedule of a Throughput Shaping Timer: how many starts are due by when. Who waits for them is left to the timers.

/// A part of the schedule, in which the rate goes from one figure to another in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShapingStage {
    pub(crate) from_per_s: f64,
    pub(crate) to_per_s: f64,
    pub(crate) seconds: f64,
}

/// Stages that follow each other; times count from the begin of the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ShapingSchedule(Vec<ShapingStage>);

impl ShapingStage {
    /// The area below the line, up to a moment of this stage.
    fn starts_before(self, seconds: f64) -> f64 {
        let time = seconds.clamp(0.0, self.seconds);
        let gradient = (self.to_per_s - self.from_per_s) / self.seconds;
        (gradient * time / 2.0).mul_add(time, self.from_per_s * time)
    }

    /// The moment at which so many starts of this stage are due; they are fewer than all of it.
    fn moment_of(self, starts: f64) -> f64 {
        if starts <= 0.0 {
            return 0.0;
        }
        // The root of the area's equation, in the form that loses no digits where the line is flat.
        let gradient = (self.to_per_s - self.from_per_s) / self.seconds;
        let root = (2.0 * gradient).mul_add(starts, self.from_per_s * self.from_per_s).max(0.0).sqrt();
        (2.0 * starts / (self.from_per_s + root)).min(self.seconds)
    }
}

impl ShapingSchedule {
    /// Rates below 0 are 0, and stages without a time are passed over.
    pub(crate) fn new(stages: impl IntoIterator<Item = ShapingStage>) -> Self {
        let stages = stages.into_iter().filter(|stage| stage.seconds > 0.0).map(|stage| ShapingStage {
            from_per_s: stage.from_per_s.max(0.0),
            to_per_s: stage.to_per_s.max(0.0),
            seconds: stage.seconds,
        });
        Self(stages.collect())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|stage| stage.seconds).sum()
    }

    /// How many starts are due before a moment.
    pub(crate) fn starts_before(&self, seconds: f64) -> f64 {
        let (mut begin, mut starts) = (0.0, 0.0);
        for stage in &self.0 {
            starts += stage.starts_before(seconds - begin);
            begin += stage.seconds;
        }
        starts
    }

    /// When a start is due, by its number from 0; none where the schedule has fewer.
    pub(crate) fn moment_of(&self, number: f64) -> Option<f64> {
        let (mut begin, mut left) = (0.0, number);
        for stage in &self.0 {
            let starts = stage.starts_before(stage.seconds);
            if left < starts {
                return Some(begin + stage.moment_of(left));
            }
            left -= starts;
            begin += stage.seconds;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rows: &[(f64, f64, f64)]) -> ShapingSchedule {
        ShapingSchedule::new(rows.iter().map(|&(from_per_s, to_per_s, seconds)| ShapingStage {
            from_per_s,
            to_per_s,
            seconds,
        }))
    }

    fn milliseconds(schedule: &ShapingSchedule, numbers: std::ops::Range<u32>) -> Vec<Option<i64>> {
        let moment = |number| schedule.moment_of(f64::from(number));
        numbers.map(|number| moment(number).map(|seconds| (seconds * 1e3).round() as i64)).collect()
    }

    #[test]
    fn starts_of_a_constant_rate_are_equally_far_from_each_other() {
        let constant = schedule(&[(4.0, 4.0, 1.0)]);
        let expected = [Some(0), Some(250), Some(500), Some(750), None];
        assert_eq!(milliseconds(&constant, 0..5), expected);
    }

    #[test]
    fn a_rate_that_rises_or_falls_has_the_starts_below_its_line() {
        let rising = schedule(&[(0.0, 10.0, 2.0)]);
        let thousandths = [1.0, 9.0].map(|seconds| (rising.starts_before(seconds) * 1e3).round() as i64);
        assert_eq!(thousandths, [2_500, 10_000]);
        assert_eq!(milliseconds(&rising, 0..3), [Some(0), Some(632), Some(894)]);
        let falling = schedule(&[(10.0, 0.0, 2.0)]);
        assert_eq!(milliseconds(&falling, 9..11), [Some(1_368), None]);
    }

    #[test]
    fn nothing_starts_while_the_rate_is_0() {
        let later = schedule(&[(0.0, 0.0, 3.0), (-5.0, 2.0, 0.0), (2.0, 2.0, 1.0)]);
        assert_eq!(milliseconds(&later, 0..3), [Some(3_000), Some(3_500), None]);
        assert!((later.seconds() - 4.0).abs() < 1e-9);
        assert!(schedule(&[]).moment_of(0.0).is_none());
    }

    #[test]
    fn the_moment_of_a_start_is_where_so_many_are_due() {
        let stages = schedule(&[(1.0, 20.0, 5.0), (20.0, 20.0, 5.0), (20.0, 3.0, 4.0)]);
        for number in 0..198 {
            let moment = stages.moment_of(f64::from(number)).expect("one of them");
            let due = stages.starts_before(moment);
            assert!((due - f64::from(number)).abs() < 1e-6, "{number}: {due}");
        }
    }
}
