//! Fewer points for a plot, such that no extreme is lost: each bucket keeps its lowest and its highest value, in the
//! order in which they came.

/// How many neighbouring points become one bucket of two, so that at most `points_max` remain.
pub(crate) fn bucket_length(points: usize, points_max: usize) -> usize {
    if points <= points_max { 1 } else { points.div_ceil((points_max / 2).max(1)) }
}

/// The times of what [`values`] leaves: those of each bucket's first and middle point.
pub(crate) fn times(times: &[f64], bucket: usize) -> Vec<f64> {
    if bucket <= 1 {
        return times.to_vec();
    }
    times
        .chunks(bucket)
        .flat_map(|chunk| chunk.first().into_iter().chain(second_of(chunk)).copied())
        .collect()
}

/// Two values a bucket, its lowest and its highest in their order; nothing for both where the bucket has none.
pub(crate) fn values(values: &[Option<f64>], bucket: usize) -> Vec<Option<f64>> {
    if bucket <= 1 {
        return values.to_vec();
    }
    let reduced = values.chunks(bucket).flat_map(|chunk| {
        let (first, second) = extremes(chunk);
        // A bucket of one point has one time.
        std::iter::once(first).chain(second_of(chunk).map(|_| second))
    });
    reduced.collect()
}

fn second_of<T>(chunk: &[T]) -> Option<&T> {
    (chunk.len() > 1).then(|| &chunk[chunk.len() / 2])
}

fn extremes(chunk: &[Option<f64>]) -> (Option<f64>, Option<f64>) {
    let present = || chunk.iter().enumerate().filter_map(|(index, value)| value.map(|value| (index, value)));
    let lowest = present().min_by(|left, right| left.1.total_cmp(&right.1));
    let highest = present().max_by(|left, right| left.1.total_cmp(&right.1));
    let (Some(lowest), Some(highest)) = (lowest, highest) else { return (None, None) };
    let (first, second) = if lowest.0 <= highest.0 { (lowest, highest) } else { (highest, lowest) };
    (Some(first.1), Some(second.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extremes_stay_in_their_order() {
        let given = [Some(5.0), Some(1.0), Some(3.0), None, None, None, Some(2.0)];
        let bucket = 3;
        assert_eq!(values(&given, bucket), [Some(5.0), Some(1.0), None, None, Some(2.0)]);
        assert_eq!(times(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], bucket), [0.0, 1.0, 3.0, 4.0, 6.0]);
    }

    proptest! {
        #[test]
        fn no_extreme_is_lost_and_the_points_are_few(
            given in prop::collection::vec(prop::option::of(0.0_f64..1e9), 0..3_000), points_max in 2_usize..200
        ) {
            let bucket = bucket_length(given.len(), points_max);
            let kept = values(&given, bucket);
            let at: Vec<_> = (0..given.len()).map(|index| index as f64).collect();
            let kept_times = times(&at, bucket);
            prop_assert!(kept.len() <= points_max.max(2) + 1, "{} of {}", kept.len(), points_max);
            prop_assert_eq!(kept.len(), kept_times.len());
            prop_assert!(kept_times.is_sorted_by(|left, right| left < right));
            for (index, chunk) in given.chunks(bucket).enumerate() {
                let of_bucket: Vec<_> = kept_times
                    .iter()
                    .zip(&kept)
                    .filter(|(time, _)| (**time as usize) / bucket == index)
                    .filter_map(|(_, value)| *value)
                    .collect();
                let low = chunk.iter().flatten().copied().reduce(f64::min);
                let high = chunk.iter().flatten().copied().reduce(f64::max);
                prop_assert_eq!(of_bucket.iter().copied().reduce(f64::min), low);
                prop_assert_eq!(of_bucket.iter().copied().reduce(f64::max), high);
            }
        }
    }
}
