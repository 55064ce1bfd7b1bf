//! The rates of a run so far, of a long one no more than can be drawn.

/// More than any terminal has columns.
const VALUES_MAX: usize = 600;

/// Each value is the mean of as many seconds as one has to stand for, which doubles as the run goes on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateHistory {
    values: Vec<f64>,
    seconds_each: u32,
    /// Seconds that make no whole value yet: their sum and how many they are.
    begun: (f64, u32),
    last_second: Option<u64>,
}

impl Default for RateHistory {
    fn default() -> Self {
        Self { values: Vec::new(), seconds_each: 1, begun: (0.0, 0), last_second: None }
    }
}

impl RateHistory {
    /// A second that was told already is not counted again.
    pub(crate) fn push(&mut self, second: u64, rate: f64) {
        if self.last_second.is_some_and(|last| second <= last) {
            return;
        }
        self.last_second = Some(second);
        self.begun = (self.begun.0 + rate, self.begun.1 + 1);
        if self.begun.1 < self.seconds_each {
            return;
        }
        self.values.push(self.begun.0 / f64::from(self.begun.1));
        self.begun = (0.0, 0);
        if self.values.len() == VALUES_MAX {
            self.values = self.values.chunks(2).map(mean).collect();
            self.seconds_each *= 2;
        }
    }

    /// At most so many values, each the mean of its part of the run.
    pub(crate) fn squeezed(&self, columns: usize) -> Vec<u64> {
        let (count, columns) = (self.values.len(), columns.min(self.values.len()));
        let part = |index: usize| &self.values[index * count / columns..(index + 1) * count / columns];
        (0..columns).map(|index| mean(part(index)).round() as u64).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_kept_whole_in_few_values() {
        let mut rates = RateHistory::default();
        assert_eq!(rates.squeezed(80), [0; 0]);
        for second in 0..3 {
            rates.push(second, second as f64 * 10.0);
            rates.push(second, 1e9);
        }
        assert_eq!((rates.squeezed(80), rates.squeezed(1)), (vec![0, 10, 20], vec![10]));
        for second in 3..86_400 {
            rates.push(second, if second < 43_200 { 100.0 } else { 200.0 });
            assert!(rates.values.len() < VALUES_MAX);
        }
        let halves = rates.squeezed(2);
        assert!((99..102).contains(&halves[0]) && (198..=200).contains(&halves[1]), "{halves:?}");
    }
}
