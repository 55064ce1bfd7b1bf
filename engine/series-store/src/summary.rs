//! What is made of values without reading them again: how many there are, their sum, the least and the greatest.

use crate::value::{Column, Value, Values};
use std::ops::Range;

/// What the values of a column are, those that are not null.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    /// The same of integers, where it is known to the last digit.
    pub exact: Option<ExactFigures>,
}

/// Sum, least and greatest of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactFigures {
    /// Of fewer than 2^64 integers of 64 bits, so that it does not overflow.
    pub sum: i128,
    pub min: i64,
    pub max: i64,
}

/// What is kept of a column: nothing that could not be told by four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StoredFigures {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl ExactFigures {
    const fn of_one(value: i64) -> Self {
        Self { sum: value as i128, min: value, max: value }
    }

    fn and(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What doubles tell of integers: all of it where no sum on the way can have had more bits than a double has.
    fn of_numbers(count: u64, [sum, min, max]: [f64; 3]) -> Option<Self> {
        // 2^53, to which the next integer is rounded too.
        const TOO_HIGH: f64 = 9_007_199_254_740_992.0;
        let is_whole = [sum, min, max].iter().all(|number| number.fract() == 0.0);
        let is_told = min.abs().max(max.abs()) * (count as f64) < TOO_HIGH;
        (is_whole && is_told).then_some(Self { sum: sum as i128, min: min as i64, max: max as i64 })
    }
}

impl StoredFigures {
    pub(crate) const fn of(summary: &Summary) -> Self {
        Self { count: summary.count, sum: summary.sum, min: summary.min, max: summary.max }
    }

    /// Of doubles.
    pub(crate) const fn of_doubles(&self) -> Summary {
        Summary { count: self.count, sum: self.sum, min: self.min, max: self.max, exact: None }
    }

    /// Of integers, or of what may be some.
    pub(crate) fn of_integers(&self) -> Summary {
        let exact = ExactFigures::of_numbers(self.count, [self.sum, self.min, self.max]);
        Summary { exact, ..self.of_doubles() }
    }
}

impl Summary {
    /// Of one double.
    pub const fn of_one(value: f64) -> Self {
        Self { count: 1, sum: value, min: value, max: value, exact: None }
    }

    /// Of one value; what is no number is only counted.
    pub fn of_value(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::default(),
            Value::Double(value) => Self::of_one(value),
            Value::Integer(value) => {
                Self { exact: Some(ExactFigures::of_one(value)), ..Self::of_one(value as f64) }
            }
            Value::Boolean(_) | Value::Text(_) => Self { count: 1, ..Self::default() },
        }
    }

    /// Of so many integers.
    pub const fn of_integers(count: u64, exact: ExactFigures) -> Self {
        let ExactFigures { sum, min, max } = exact;
        Self { count, sum: sum as f64, min: min as f64, max: max as f64, exact: Some(exact) }
    }

    /// Of these values and others.
    pub fn add_all(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.exact = self.exact.zip(other.exact).map(|(one, other)| one.and(other));
    }

    /// The least and the greatest of four values at a time; the sum in order, so that it is what any other way of adding row by row gives.
    fn of_many_doubles(values: &[f64]) -> Self {
        const AT_A_TIME: usize = 4;
        let Some(first) = values.first() else { return Self::default() };
        let (mut least, mut greatest) = ([*first; AT_A_TIME], [*first; AT_A_TIME]);
        let (fours, rest) = values.as_chunks::<AT_A_TIME>();
        for four in fours {
            for place in 0..AT_A_TIME {
                least[place] = least[place].min(four[place]);
                greatest[place] = greatest[place].max(four[place]);
            }
        }
        Self {
            count: values.len() as u64,
            sum: values[1..].iter().fold(*first, |sum, value| sum + value),
            min: least.iter().chain(rest).copied().fold(*first, f64::min),
            max: greatest.iter().chain(rest).copied().fold(*first, f64::max),
            exact: None,
        }
    }

    fn of_many_integers(values: &[i64]) -> Self {
        let (Some(min), Some(max)) = (values.iter().min(), values.iter().max()) else {
            return Self::default();
        };
        let sum = values.iter().map(|value| i128::from(*value)).sum();
        Self::of_integers(values.len() as u64, ExactFigures { sum, min: *min, max: *max })
    }

    /// Of these rows of a column; texts and booleans are only counted.
    pub(crate) fn of(column: &Column, rows: Range<usize>) -> Self {
        if let (None, true) = (&column.present, rows.end <= column.len()) {
            match &column.values {
                Values::Doubles(values) => return Self::of_many_doubles(&values[rows]),
                Values::Integers(values) => return Self::of_many_integers(&values[rows]),
                Values::Booleans(_) | Values::Texts(_) | Values::Dictionary(_) => {}
            }
        }
        let mut summary = Self::default();
        for row in rows {
            summary.add_all(&Self::of_value(column.get(row)));
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_summed_up_to_the_last_digit() {
        let values = [9_007_199_254_740_993, i64::MAX, -3, i64::MIN, i64::MIN, i64::MIN];
        let mut all = Summary::default();
        for value in values {
            all.add_all(&Summary::of_value(Value::Integer(value)));
        }
        let sum = values.iter().map(|value| i128::from(*value)).sum();
        assert_eq!(all.exact, Some(ExactFigures { sum, min: i64::MIN, max: i64::MAX }));
        assert_eq!(Summary::of_many_integers(&values).exact, all.exact);
        all.add_all(&Summary::of_one(0.5));
        assert_eq!(all.exact, None);
    }

    #[test]
    fn doubles_tell_of_integers_what_they_can() {
        let told = |values: &[i64]| StoredFigures::of(&Summary::of_many_integers(values)).of_integers();
        for values in [&[][..], &[0], &[-7, 12, 3], &[1 << 51, 1 << 51], &[1 - (1 << 53)]] {
            let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
            assert_eq!(told(values).exact.map(|exact| exact.sum), Some(sum), "{values:?}");
        }
        for values in [&[(1 << 53) + 1][..], &[-(1 << 53)], &[1 << 52, 1 << 52, 1], &[i64::MAX]] {
            assert_eq!(told(values).exact, None, "{values:?}");
        }
        assert_eq!(StoredFigures::of(&Summary::of_one(0.5)).of_integers().exact, None);
    }
}
