//! A row of bars in text, for what is better seen than read.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How neighbouring values become one bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gather {
    Mean,
    Highest,
}

/// At most `width` bars, the highest value a full one, zero the lowest; a space where there is no value.
pub(crate) fn sparkline(values: &[Option<f64>], width: usize, gather: Gather) -> String {
    let width = width.clamp(1, values.len().max(1));
    let bar = |index: usize| {
        let part = &values[index * values.len() / width..(index + 1) * values.len() / width];
        let present: Vec<f64> = part.iter().flatten().copied().collect();
        match gather {
            _ if present.is_empty() => None,
            Gather::Mean => Some(present.iter().sum::<f64>() / present.len() as f64),
            Gather::Highest => present.into_iter().reduce(f64::max),
        }
    };
    let bars: Vec<Option<f64>> = (0..width).map(bar).collect();
    let highest = bars.iter().flatten().copied().fold(0.0, f64::max);
    let drawn = bars.into_iter().map(|value| match value {
        None => ' ',
        Some(value) if highest > 0.0 => BARS[((value / highest * 7.0).round() as usize).min(7)],
        Some(_) => BARS[0],
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_follow_the_values() {
        let values: Vec<_> = (0..8).map(|value| Some(f64::from(value))).collect();
        assert_eq!(sparkline(&values, 80, Gather::Mean), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&values, 4, Gather::Highest), "▂▄▆█");
        assert_eq!(sparkline(&[Some(0.0), None, Some(0.0)], 80, Gather::Mean), "▁ ▁");
        assert_eq!(sparkline(&[], 80, Gather::Mean), " ");
    }
}
