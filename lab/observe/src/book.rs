//! What observers have seen so far, in bounded memory: points of series, figures of the whole run, faults.

use prony_model::Nanos;
use prony_model::measurement::observation::{Observation, ObservedFigure, ObservedSeries, ObservedUnit};
use std::collections::BTreeMap;

/// Points of one series: every second of 24 h. At 16 bytes a series takes 1.4 MB at most.
const SERIES_POINTS_MAX: usize = 86_400;
/// Points of all series of one observer (16 MB): with more than 11 series each keeps fewer than 24 h by the second.
const OBSERVER_POINTS_MAX: usize = 1 << 20;
/// Kinds of faults are few; a peer that words each of its errors anew must not fill the result.
const FAULTS_MAX: usize = 32;

/// How two neighbouring points become one where a series has grown too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinning {
    /// Of samples.
    Mean,
    /// Of events such as pauses, the longest of which must stay.
    Largest,
}

/// One thing that was seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    Point { series: String, unit: ObservedUnit, thinning: Thinning, at: Nanos, value: f64 },
    Figure { name: &'static str, unit: ObservedUnit, value: f64 },
    Fault { at: Nanos, text: String },
}

/// What one look brought, by the name of the observation that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(String, Note)>);

impl Notes {
    pub(crate) fn sample(
        &mut self,
        of: &str,
        series: impl Into<String>,
        unit: ObservedUnit,
        at: Nanos,
        value: f64,
    ) {
        let note = Note::Point { series: series.into(), unit, thinning: Thinning::Mean, at, value };
        self.0.push((of.to_owned(), note));
    }

    pub(crate) fn event(&mut self, of: &str, series: &str, unit: ObservedUnit, at: Nanos, value: f64) {
        let note = Note::Point { series: series.to_owned(), unit, thinning: Thinning::Largest, at, value };
        self.0.push((of.to_owned(), note));
    }

    pub(crate) fn figure(&mut self, of: &str, name: &'static str, unit: ObservedUnit, value: f64) {
        self.0.push((of.to_owned(), Note::Figure { name, unit, value }));
    }

    pub(crate) fn fault(&mut self, of: &str, at: Nanos, text: impl Into<String>) {
        self.0.push((of.to_owned(), Note::Fault { at, text: text.into() }));
    }
}

/// The observations of one observer.
#[derive(Debug, Default)]
pub(crate) struct Book {
    chapters: Vec<Chapter>,
    series_count: usize,
}

#[derive(Debug, Default)]
struct Chapter {
    name: String,
    series: BTreeMap<String, usize>,
    kept: Vec<Series>,
    summary: Vec<ObservedFigure>,
    faults: Vec<(Nanos, String)>,
}

impl Book {
    pub(crate) fn write(&mut self, notes: Notes) {
        for (of, note) in notes.0 {
            let index = self.chapters.iter().position(|chapter| chapter.name == of).unwrap_or_else(|| {
                self.chapters.push(Chapter { name: of, ..Chapter::default() });
                self.chapters.len() - 1
            });
            let before = self.chapters[index].kept.len();
            let limit = (OBSERVER_POINTS_MAX / self.series_count.max(1)).min(SERIES_POINTS_MAX);
            self.chapters[index].write(note, limit);
            self.series_count += self.chapters[index].kept.len() - before;
        }
    }

    pub(crate) fn observations(&self) -> Vec<Observation> {
        self.chapters.iter().map(Chapter::observation).collect()
    }
}

impl Chapter {
    fn write(&mut self, note: Note, limit: usize) {
        match note {
            Note::Point { series, unit, thinning, at, value } => {
                let index = *self.series.entry(series).or_insert_with_key(|name| {
                    self.kept.push(Series::new(name.clone(), unit, thinning));
                    self.kept.len() - 1
                });
                self.kept[index].push(at, value, limit);
            }
            Note::Figure { name, unit, value } => {
                match self.summary.iter_mut().find(|figure| figure.name == name) {
                    Some(figure) => figure.value = value,
                    None => self.summary.push(ObservedFigure { name: name.to_owned(), unit, value }),
                }
            }
            Note::Fault { at, text } => {
                let is_known = self.faults.iter().any(|(_, known)| *known == text);
                if !is_known && self.faults.len() < FAULTS_MAX {
                    self.faults.push((at, text));
                }
            }
        }
    }

    fn observation(&self) -> Observation {
        let series = self.kept.iter().map(|series| ObservedSeries {
            name: series.name.clone(),
            unit: series.unit,
            points: series.points.clone(),
        });
        Observation {
            name: self.name.clone(),
            series: series.collect(),
            summary: self.summary.clone(),
            faults: self.faults.clone(),
        }
    }
}

#[derive(Debug)]
struct Series {
    name: String,
    unit: ObservedUnit,
    thinning: Thinning,
    points: Vec<(Nanos, f64)>,
    /// How many of what comes in make one point; a power of two.
    stride: u32,
    /// What the last point is made of so far, from 1 to `stride`.
    filled: u32,
}

impl Series {
    fn new(name: String, unit: ObservedUnit, thinning: Thinning) -> Self {
        Self { name, unit, thinning, points: Vec::new(), stride: 1, filled: 1 }
    }

    /// Points are dropped whose time is before that of the last one: the series rises.
    fn push(&mut self, at: Nanos, value: f64, limit: usize) {
        if self.points.last().is_some_and(|(last, _)| at < *last) || !value.is_finite() {
            return;
        }
        if self.filled < self.stride
            && let Some(last) = self.points.last_mut()
        {
            let weight = f64::from(self.filled);
            *last = (at, self.thinning.join((last.1, weight), (value, 1.0)));
            self.filled += 1;
            return;
        }
        if self.points.len() >= limit.max(2) {
            self.halve();
        }
        self.points.push((at, value));
        self.filled = 1;
    }

    fn halve(&mut self) {
        let joined = |pair: &[(Nanos, f64)]| match pair {
            [first, second] => (second.0, self.thinning.join((first.1, 1.0), (second.1, 1.0))),
            _ => pair[0],
        };
        self.points = self.points.chunks(2).map(joined).collect();
        self.stride *= 2;
    }
}

impl Thinning {
    /// One value for two, each with how many it stands for.
    fn join(self, (a, weight_a): (f64, f64), (b, weight_b): (f64, f64)) -> f64 {
        match self {
            Self::Mean => (a * weight_a + b * weight_b) / (weight_a + weight_b),
            Self::Largest => a.max(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(thinning: Thinning, count: u64, limit: usize) -> Series {
        let mut series = Series::new("x".to_owned(), ObservedUnit::Count, thinning);
        for second in 0..count {
            series.push(Nanos::from_secs(second), second as f64, limit);
        }
        series
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_mean() {
        let series = series_of(Thinning::Mean, 64, 8);
        assert!(series.points.len() <= 8);
        let mean = series.points.iter().map(|(_, value)| value).sum::<f64>() / series.points.len() as f64;
        assert!((mean - 31.5).abs() < 1e-9, "{series:?}");
        assert!(series.points.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(series.points.last().unwrap().0, Nanos::from_secs(63));
    }

    #[test]
    fn the_largest_event_stays() {
        let mut series = series_of(Thinning::Largest, 9, 4);
        series.push(Nanos::from_secs(9), 1_000.0, 4);
        for second in 10..100 {
            series.push(Nanos::from_secs(second), 1.0, 4);
        }
        assert!(series.points.iter().any(|(_, value)| *value > 999.0), "{series:?}");
    }

    #[test]
    fn times_rise_and_values_are_numbers() {
        let mut series = series_of(Thinning::Mean, 3, 8);
        series.push(Nanos::ZERO, 7.0, 8);
        series.push(Nanos::from_secs(9), f64::NAN, 8);
        assert_eq!(series.points.len(), 3);
    }

    #[test]
    fn a_fault_is_kept_once_with_its_first_time() {
        let mut book = Book::default();
        for second in 3..200 {
            let mut notes = Notes::default();
            notes.fault("a", Nanos::from_secs(second), "it is gone");
            notes.fault("b", Nanos::from_secs(second), format!("error {second}"));
            notes.figure("a", "peak", ObservedUnit::Bytes, second as f64);
            book.write(notes);
        }
        let [a, b] = &book.observations()[..] else { panic!("two observations") };
        assert_eq!(a.faults, [(Nanos::from_secs(3), "it is gone".to_owned())]);
        assert_eq!((a.summary.len(), a.summary[0].value), (1, 199.0));
        assert_eq!(b.faults.len(), FAULTS_MAX);
    }

    #[test]
    fn many_series_share_the_points_of_one_observer() {
        let mut book = Book { series_count: OBSERVER_POINTS_MAX / 4, ..Book::default() };
        for second in 0..100 {
            let mut notes = Notes::default();
            notes.sample("a", "x", ObservedUnit::Count, Nanos::from_secs(second), 1.0);
            book.write(notes);
        }
        assert!(book.observations()[0].series[0].points.len() <= 4);
    }
}
