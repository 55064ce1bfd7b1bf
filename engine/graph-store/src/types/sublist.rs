//! Whether the values of one list stand in another, one behind the other. The time grows with both lists, not with one times the other:
//! after a difference the search goes on where what it has found could begin again (Knuth, Morris, Pratt 1977).

use crate::types::order::{elements, is_equal};
use crate::types::value::Value;

/// False where one of them is no list.
pub(crate) fn has_sublist(list: &Value<'_>, wanted: &Value<'_>) -> bool {
    let (Some(values), Some(wanted)) = (elements(list), elements(wanted)) else { return false };
    let wanted: Vec<Value<'_>> = wanted.collect();
    if wanted.is_empty() {
        return true;
    }
    let borders = borders(&wanted);
    let mut matched = 0;
    for value in values {
        matched = longer(&wanted, &borders, matched, &value);
        if matched == wanted.len() {
            return true;
        }
    }
    false
}

/// For each number of first values, how many fewer of them they end with again.
fn borders(wanted: &[Value<'_>]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    for place in 1..wanted.len() {
        borders[place] = longer(wanted, &borders, borders[place - 1], &wanted[place]);
    }
    borders
}

/// How many of the first wanted values a list ends with, once this value stands behind as many as `matched`.
fn longer(wanted: &[Value<'_>], borders: &[usize], mut matched: usize, value: &Value<'_>) -> usize {
    while matched > 0 && !is_equal(value, &wanted[matched]) {
        matched = borders[matched - 1];
    }
    matched + usize::from(is_equal(value, &wanted[matched]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few different values, of two kinds that can be equal, and one that equals nothing.
    fn list(numbers: &[u8]) -> Value<'static> {
        if numbers.contains(&2) {
            let double = |number: &u8| if *number == 2 { f64::NAN } else { f64::from(*number) };
            Value::DoubleList(numbers.iter().map(double).collect())
        } else {
            Value::IntegerList(numbers.iter().map(|number| i64::from(*number)).collect())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_sublist_is_found_where_each_place_would_be_tried(
            values in proptest::collection::vec(prop_oneof![9 => 0..2_u8, 1 => Just(2)], 0..40),
            wanted in proptest::collection::vec(prop_oneof![30 => 0..2_u8, 1 => Just(2)], 0..8),
            repeated in 1..4_usize,
        ) {
            let wanted = wanted.repeat(repeated);
            let is_at = |at: &[u8]| at == wanted && !wanted.contains(&2);
            let expected = wanted.is_empty() || values.windows(wanted.len()).any(is_at);
            prop_assert_eq!(has_sublist(&list(&values), &list(&wanted)), expected);
            let around = [&values[..], &wanted[..], &values[..]].concat();
            prop_assert_eq!(has_sublist(&list(&around), &list(&wanted)), !wanted.contains(&2));
        }
    }

    /// Tried at each place, they would be compared 10^10 times.
    #[test]
    fn long_lists_are_looked_through_once() {
        let list = Value::BooleanList(vec![false; 200_000]);
        let mut wanted = vec![false; 100_000];
        wanted[99_999] = true;
        assert!(!has_sublist(&list, &Value::BooleanList(wanted)));
        assert!(has_sublist(&list, &Value::BooleanList(vec![false; 100_000])));
    }
}
