//! Percentiles, exact and in bounded memory: few values are sorted, of many the one at a place is narrowed down by counting them again
//! and again.

/// Values that are sorted in memory; few where tests are to count them.
pub(crate) const SORTED_MAX: usize = if cfg!(test) { 2 } else { 1 << 20 };
/// Parts of a range of values that are counted at a time: 64 bits take four times.
const COUNTERS: u64 = 1 << 16;
/// Of a per cent.
const PARTS: u32 = 1000;

/// A share of values, in thousandths of a per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Percentile(u32);

/// Calls what it is given with each value, the same ones each time.
pub(crate) type EachValue<'v, E> = dyn FnMut(&mut dyn FnMut(f64)) -> Result<(), E> + 'v;

impl Percentile {
    pub(crate) const fn whole(percent: u32) -> Self {
        Self(percent * PARTS)
    }

    /// Reads `p95` or `p99.9`: a number from 0 to 100 with at most three digits behind its point.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.strip_prefix('p')?.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (text.get(1..)?, ""),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || whole.len() > 3
            || fraction.len() > 3
            || !is_digits(whole)
            || !is_digits(fraction)
        {
            return None;
        }
        let parts = whole.parse::<u32>().ok()? * PARTS + format!("{fraction:0<3}").parse::<u32>().ok()?;
        (parts <= 100 * PARTS).then_some(Self(parts))
    }

    /// The place of the value at or below it among so many, and how far it is from there to the next one.
    fn place(self, count: u64) -> (u64, f64) {
        let whole = u128::from(100 * PARTS);
        let at = u128::from(self.0) * u128::from(count - 1);
        ((at / whole) as u64, (at % whole) as f64 / whole as f64)
    }

    /// Of values in their order; there is one at least.
    pub(crate) fn of_sorted(self, sorted: &[f64]) -> f64 {
        let (place, share) = self.place(sorted.len() as u64);
        let low = sorted[place as usize];
        between(low, sorted.get(place as usize + 1).copied().unwrap_or(low), share)
    }

    /// Of so many values in any order; there is one at least.
    pub(crate) fn of_many<E>(self, count: u64, each: &mut EachValue<'_, E>) -> Result<f64, E> {
        let (place, share) = self.place(count);
        let (low, up_to) = at_place(place, each)?;
        if share == 0.0 || up_to > place + 1 {
            return Ok(value_of(low));
        }
        let mut next = u64::MAX;
        each(&mut |value| {
            let key = key_of(value);
            if key > low {
                next = next.min(key);
            }
        })?;
        Ok(between(value_of(low), value_of(next), share))
    }
}

/// As `percentile_cont` of PostgreSQL has it.
fn between(low: f64, high: f64, share: f64) -> f64 {
    let distance = high - low;
    if share == 0.0 || distance == 0.0 {
        low
    } else if distance.is_finite() {
        low + distance * share
    } else {
        low * (1.0 - share) + high * share
    }
}

/// A number whose order is that of the values (`totalOrder` of IEEE 754).
const fn key_of(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

const fn value_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// The key of the value at a place in the order of values, and how many values are not greater.
fn at_place<E>(place: u64, each: &mut EachValue<'_, E>) -> Result<(u64, u64), E> {
    let (mut low, mut high, mut before) = (0, u64::MAX, 0);
    loop {
        let width = (high - low) / COUNTERS + 1;
        let mut counts = vec![0_u64; COUNTERS as usize];
        each(&mut |value| {
            let key = key_of(value);
            if (low..=high).contains(&key) {
                counts[((key - low) / width) as usize] += 1;
            }
        })?;
        let mut part = 0;
        while part + 1 < counts.len() && before + counts[part] <= place {
            before += counts[part];
            part += 1;
        }
        low += part as u64 * width;
        high = high.min(low.saturating_add(width - 1));
        if low == high {
            return Ok((low, before + counts[part]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_percentiles_are_read() {
        for (text, parts) in [
            ("p50", Some(50_000)),
            ("p0", Some(0)),
            ("p100", Some(100_000)),
            ("p99.9", Some(99_900)),
            ("p99.999", Some(99_999)),
            ("p02.5", Some(2500)),
            ("p100.001", None),
            ("p101", None),
            ("p99.9999", None),
            ("p", None),
            ("p.5", None),
            ("p5.", None),
            ("p-1", None),
            ("p+1", None),
            ("p1e1", None),
            ("95", None),
            ("P95", None),
            ("p٣", None),
        ] {
            assert_eq!(Percentile::read(text), parts.map(Percentile), "{text}");
        }
    }

    #[test]
    fn values_lie_between_their_neighbours() {
        for (percentile, values, expected) in [
            ("p50", &[1.0, 2.0, 3.0, 4.0][..], "2.5"),
            ("p90", &[1.0, 2.0, 3.0, 4.0], "3.7"),
            ("p100", &[1.0, 2.0], "2"),
            ("p99.9", &[7.0], "7"),
            ("p50", &[-1.7e308, 1.7e308], "0"),
        ] {
            let found = Percentile::read(percentile).unwrap().of_sorted(values);
            assert_eq!(found.to_string(), expected, "{percentile} of {values:?}");
        }
    }

    proptest! {
        #[test]
        fn counting_finds_what_sorting_does(
            values in proptest::collection::vec(
                prop_oneof![
                    any::<f64>().prop_filter("numbers alone", |value| value.is_finite()),
                    (-3_i32..3).prop_map(f64::from),
                    Just(-0.0),
                ],
                1..200,
            ),
            parts in 0..=100 * PARTS,
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let percentile = Percentile(parts);
            let counted = percentile.of_many(values.len() as u64, &mut |take| {
                for value in &values {
                    take(*value);
                }
                Ok::<_, Infallible>(())
            });
            prop_assert_eq!(counted.unwrap().to_bits(), percentile.of_sorted(&sorted).to_bits());
        }
    }
}
