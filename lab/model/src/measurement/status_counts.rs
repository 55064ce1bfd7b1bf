//! How many responses had which status.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Statuses that HTTP can send; what a plan of JMeter calls a code can be anything else.
const STATUS_MIN: u16 = 100;
const STATUS_MAX: u16 = 999;

/// Counts by status, rising; written as a map. Statuses have three digits and servers use a handful of them, so that finding one
/// that was seen before takes a comparison or two, and no memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusCounts(Vec<(u16, u64)>);

impl StatusCounts {
    /// A status that HTTP does not have is left out: the counts stay as few as there are statuses.
    pub fn add(&mut self, status: u16, count: u64) {
        match self.0.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(index) => self.0[index].1 += count,
            Err(index) if (STATUS_MIN..=STATUS_MAX).contains(&status) => {
                self.0.insert(index, (status, count));
            }
            Err(_) => (),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        other.all().for_each(|(status, count)| self.add(status, count));
    }

    /// Each status with its count, rising.
    pub fn all(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Of all statuses together.
    pub fn sum(&self) -> u64 {
        self.all().map(|(_, count)| count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for StatusCounts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.all())
    }
}

impl<'de> Deserialize<'de> for StatusCounts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut counts = Self::default();
        BTreeMap::<u16, u64>::deserialize(from)?
            .into_iter()
            .for_each(|(status, count)| counts.add(status, count));
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_in_any_order_and_written_rising() {
        let mut counts = StatusCounts::default();
        for status in [204, 200, 503, 200, 301, 200] {
            counts.add(status, 1);
        }
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(text, r#"{"200":3,"204":1,"301":1,"503":1}"#);
        assert_eq!(serde_json::from_str::<StatusCounts>(&text).unwrap(), counts);
        assert_eq!(counts.sum(), 6);
    }

    #[test]
    fn merged_counts_are_those_of_one() {
        let of = |statuses: &[u16]| {
            let mut counts = StatusCounts::default();
            for status in statuses {
                counts.add(*status, 1);
            }
            counts
        };
        let mut sum = of(&[200, 404]);
        sum.merge(&of(&[404, 302]));
        assert_eq!(sum, of(&[302, 404, 200, 404]));
    }

    #[test]
    fn what_is_no_status_of_http_takes_no_memory() {
        let mut counts = StatusCounts::default();
        (0..=u16::MAX).for_each(|status| counts.add(status, 1));
        assert_eq!(counts.all().count(), 900);
    }
}
