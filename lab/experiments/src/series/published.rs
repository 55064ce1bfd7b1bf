//! What others measured: `QuantumLeap`'s study of its own settings, and stores of series with ten million rows.

use super::study::ReadQuestion;

/// A row of the study: 30 users who notify of one entity for 60 seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PublishedRow {
    /// What stood between `QuantumLeap` and its database.
    pub setting: &'static str,
    pub per_second: u32,
    pub mean_ms: Option<u32>,
    /// The most statements that the database saw in a second: SELECT, INSERT.
    pub statements: Option<(u32, u32)>,
}

pub(super) const ROWS: [PublishedRow; 5] = [
    PublishedRow { setting: "as it was", per_second: 44, mean_ms: Some(600), statements: Some((111, 54)) },
    PublishedRow {
        setting: "connections are used again",
        per_second: 55,
        mean_ms: Some(400),
        statements: Some((177, 86)),
    },
    PublishedRow { setting: "metadata in Redis", per_second: 60, mean_ms: None, statements: None },
    PublishedRow { setting: "metadata in memory", per_second: 95, mean_ms: None, statements: None },
    PublishedRow {
        setting: "metadata in Redis, connections are used again",
        per_second: 100,
        mean_ms: Some(208),
        statements: Some((7, 142)),
    },
];

/// One sentence on what differs, without its full stop.
pub(super) const CONDITIONS: &str = "the study's QuantumLeap wrote to a database beside it, whose metadata it cached and whose \
    connections it used again in four of five rows; here the store is part of the server, which knows its metadata and has no connections, \
    so that one row of ours stands beside the five";

/// Medians of a query of ten million rows, in milliseconds, measured on a machine with two processors, each store asked in its own protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PublishedRead {
    pub postgres: &'static str,
    pub questdb: &'static str,
    pub influxdb: &'static str,
    pub duckdb: &'static str,
}

/// `PostgreSQL` 15, `QuestDB` 9.3, `InfluxDB` 1.6, `DuckDB` 2.0.
pub(super) const fn read(question: ReadQuestion) -> PublishedRead {
    let [postgres, questdb, influxdb, duckdb] = match question {
        ReadQuestion::LastTen => ["0.10", "0.4 to 1.7", "1.2", "3.8"],
        ReadQuestion::Day => ["3.9", "1.2 to 2.6", "4.0", "9 to 16"],
        ReadQuestion::Hourly => ["31", "2 to 7", "5.4", "6 to 45"],
        ReadQuestion::DailyAll => ["8 000", "144", "1 970", "1 150"],
    };
    PublishedRead { postgres, questdb, influxdb, duckdb }
}
