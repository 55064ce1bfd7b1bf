//! How far numbers are from their mean, in one pass (B. P. Welford, "Note on a method for calculating corrected sums of squares and
//! products", Technometrics 4, 1962).

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    count: u64,
    mean: f64,
    /// The sum of the squared distances from the mean of those so far.
    squared_distances: f64,
}

impl Spread {
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1;
        let distance = number - self.mean;
        self.mean += distance / self.count as f64;
        self.squared_distances += distance * (number - self.mean);
    }

    /// The standard deviation of a sample, as `stddev` of PostgreSQL is; none of fewer than two.
    pub(crate) fn of_sample(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squared_distances / (self.count - 1) as f64).sqrt())
    }
}
