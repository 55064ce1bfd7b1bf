//! The rows of the large table, a pure function of entity and minute: a temperature of two decimals and a whole number, one a minute.

use std::{
    fmt::Write as _,
    time::{Duration, UNIX_EPOCH},
};

use crate::clock::rfc3339;

/// 2024-01-01, when the first rows are of.
const BEGIN_S: u64 = 1_704_067_200;
/// Of each entity, where there are so many rows.
const MINUTES: u32 = 10_000;
const ENTITIES_MIN: u32 = 10;
const ENTITIES_MAX: u32 = 1_000;
const MINUTES_A_DAY: u32 = 24 * 60;
/// Bytes of a row in a body, about.
const ROW_BYTES: usize = 200;

/// `entities × minutes` rows of the type `Room`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesDataset {
    entities: u32,
    minutes: u32,
}

impl SeriesDataset {
    /// About so many rows; at least one for each of a few entities.
    pub(super) fn new(rows: u32) -> Self {
        let entities = (rows / MINUTES).clamp(ENTITIES_MIN, ENTITIES_MAX);
        Self { entities, minutes: (rows / entities).max(1) }
    }

    pub(super) fn entities(self) -> u32 {
        self.entities
    }

    pub(super) fn minutes(self) -> u32 {
        self.minutes
    }

    pub(super) fn rows(self) -> u64 {
        u64::from(self.entities) * u64::from(self.minutes)
    }

    /// Days of which there are rows.
    pub(super) fn days(self) -> u32 {
        self.minutes.div_ceil(MINUTES_A_DAY)
    }

    /// `2024-01-07`
    pub(super) fn date(day: u32) -> String {
        rfc3339(UNIX_EPOCH + Duration::from_secs(BEGIN_S + u64::from(day) * 86_400))[..10].to_owned()
    }

    /// In hundredths: a wave over the day, and noise.
    pub(super) fn temperature(entity: u32, minute: u32) -> i64 {
        let phase = f64::from((minute + 37 * entity) % MINUTES_A_DAY) / f64::from(MINUTES_A_DAY);
        let wave = (500.0 * (phase * std::f64::consts::TAU).sin()).round() as i64;
        2_000 + wave + i64::from(mixed(entity, minute) % 20)
    }

    pub(super) fn pressure(entity: u32, minute: u32) -> u32 {
        700 + (minute / 60 + entity) % 40 + mixed(entity, minute) / 20 % 3
    }

    /// The mean temperature of the minutes `from..to`, in degrees.
    pub(super) fn mean(entity: u32, from: u32, to: u32) -> f64 {
        let sum: i64 = (from..to).map(|minute| Self::temperature(entity, minute)).sum();
        sum as f64 / 100.0 / f64::from(to - from)
    }

    /// Bodies of notifications with so many rows each, in the order of time.
    pub(super) fn bodies(self, rows: u32) -> impl Iterator<Item = String> + Send {
        let all = self.rows();
        (0..all).step_by(rows as usize).map(move |from| {
            let mut body = String::with_capacity(rows as usize * ROW_BYTES);
            body.push_str("{\"data\":[");
            let (mut time, mut time_of) = (String::new(), u32::MAX);
            for row in from..all.min(from + u64::from(rows)) {
                let (entity, minute) =
                    ((row % u64::from(self.entities)) as u32, (row / u64::from(self.entities)) as u32);
                if minute != time_of {
                    let at = Duration::from_secs(BEGIN_S + u64::from(minute) * 60);
                    (time, time_of) = (rfc3339(UNIX_EPOCH + at), minute);
                }
                if row > from {
                    body.push(',');
                }
                write_row(&mut body, entity, minute, &time);
            }
            body.push_str("]}");
            body
        })
    }
}

fn write_row(body: &mut String, entity: u32, minute: u32, time: &str) {
    let temperature = SeriesDataset::temperature(entity, minute);
    // Writing to a string cannot fail.
    let _ = write!(
        body,
        "{{\"id\":\"Room:{entity}\",\"type\":\"Room\",\"observedAt\":\"{time}\",\"temperature\":{{\"type\":\"Number\",\"value\":{}.{:02}}},\
         \"pressure\":{{\"type\":\"Integer\",\"value\":{}}}}}",
        temperature / 100,
        temperature % 100,
        SeriesDataset::pressure(entity, minute),
    );
}

/// A number that looks drawn and is the same in every run (the finalizer of `MurmurHash3`).
fn mixed(entity: u32, minute: u32) -> u32 {
    let mut hash = entity.wrapping_mul(0x9E37_79B1) ^ minute.wrapping_mul(0x85EB_CA77);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_every_row_once() {
        let dataset = SeriesDataset::new(1_005);
        assert_eq!(
            (dataset.entities(), dataset.minutes(), dataset.rows(), dataset.days()),
            (10, 100, 1_000, 1)
        );
        let bodies: Vec<String> = dataset.bodies(300).collect();
        assert_eq!(bodies.len(), 4);
        let rows = bodies.iter().flat_map(|body| {
            let json: serde_json::Value = serde_json::from_str(body).unwrap();
            json["data"].as_array().unwrap().clone()
        });
        let mut seen: Vec<(String, String)> = rows
            .map(|row| (row["id"].as_str().unwrap().into(), row["observedAt"].as_str().unwrap().into()))
            .collect();
        assert_eq!(seen[0], ("Room:0".to_owned(), "2024-01-01T00:00:00Z".to_owned()));
        assert_eq!(seen[999], ("Room:9".to_owned(), "2024-01-01T01:39:00Z".to_owned()));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 1_000);
    }

    #[test]
    fn sizes_grow_with_the_rows() {
        let of = |rows| (SeriesDataset::new(rows).entities(), SeriesDataset::new(rows).minutes());
        assert_eq!([of(1), of(1_000_000), of(10_000_000)], [(10, 1), (100, 10_000), (1_000, 10_000)]);
        assert_eq!(
            (SeriesDataset::new(10_000_000).days(), SeriesDataset::date(6)),
            (7, "2024-01-07".to_owned())
        );
    }

    #[test]
    fn values_have_two_decimals_and_a_plausible_range() {
        for minute in 0..3_000 {
            assert!((1_400..2_600).contains(&SeriesDataset::temperature(3, minute)));
            assert!((700..750).contains(&SeriesDataset::pressure(3, minute)));
        }
        let by_hand =
            (0..60).map(|minute| SeriesDataset::temperature(3, minute) as f64 / 100.0).sum::<f64>() / 60.0;
        assert!((SeriesDataset::mean(3, 0, 60) - by_hand).abs() < 1e-9);
    }
}
