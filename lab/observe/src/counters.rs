//! Counters that only rise, as what was added to them since the look before.

use crate::observer::INTERVAL_MIN;
use prony_model::Nanos;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    last: Option<(Nanos, BTreeMap<String, f64>)>,
}

/// What was added between two looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Added {
    pub(crate) seconds: f64,
    counts: BTreeMap<String, f64>,
}

impl Counters {
    /// Nothing at the first look, and where too little time has passed since the last for a rate. Counters that fell
    /// were started anew, and those that are new have no rate yet: both are left out once.
    pub(crate) fn look(&mut self, at: Nanos, values: BTreeMap<String, f64>) -> Option<Added> {
        let Some((last_at, last)) = &self.last else {
            self.last = Some((at, values));
            return None;
        };
        let interval = at.since(*last_at);
        if interval < INTERVAL_MIN {
            return None;
        }
        let added = values.iter().filter_map(|(name, value)| {
            let added = value - last.get(name)?;
            (added >= 0.0).then(|| (name.clone(), added))
        });
        let added = Added { seconds: interval.as_secs_f64(), counts: added.collect() };
        self.last = Some((at, values));
        Some(added)
    }
}

impl Added {
    pub(crate) fn count(&self, name: &str) -> Option<f64> {
        self.counts.get(name).copied()
    }

    pub(crate) fn rate(&self, name: &str) -> Option<f64> {
        Some(self.count(name)? / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
        of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn rates_are_of_counters_that_rose() {
        let mut counters = Counters::default();
        assert_eq!(counters.look(Nanos::from_secs(1), values(&[("a", 5.0), ("b", 9.0)])), None);
        assert_eq!(counters.look(Nanos::from_millis(1_100), values(&[("a", 6.0)])), None);
        let added =
            counters.look(Nanos::from_secs(3), values(&[("a", 9.0), ("b", 1.0), ("c", 7.0)])).unwrap();
        assert_eq!((added.rate("a"), added.rate("b"), added.rate("c")), (Some(2.0), None, None));
        let added = counters.look(Nanos::from_secs(4), values(&[("b", 4.0), ("c", 7.0)])).unwrap();
        assert_eq!((added.count("b"), added.count("c"), added.count("a")), (Some(3.0), Some(0.0), None));
    }
}
