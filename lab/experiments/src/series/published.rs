//! What others measured: `QuantumLeap`'s study of its own settings, and stores of series with ten million rows.

use super::study::{MetadataCache, ReadQuestion};

/// A row of the study: 30 users who notify of one entity for 60 seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PublishedRow {
    /// What stood between `QuantumLeap` and its database, in the words of Prony's options.
    pub metadata_cache: MetadataCache,
    pub connection_reuse: bool,
    pub per_second: u32,
    pub mean_ms: Option<u32>,
    /// The most statements that the database saw in a second: SELECT, INSERT.
    pub statements: Option<(u32, u32)>,
}

pub(super) const ROWS: [PublishedRow; 5] = [
    row(MetadataCache::None, false, 44, Some(600), Some((111, 54))),
    row(MetadataCache::None, true, 55, Some(400), Some((177, 86))),
    row(MetadataCache::Redis, false, 60, None, None),
    row(MetadataCache::Memory, false, 95, None, None),
    row(MetadataCache::Redis, true, 100, Some(208), Some((7, 142))),
];

const fn row(
    metadata_cache: MetadataCache,
    connection_reuse: bool,
    per_second: u32,
    mean_ms: Option<u32>,
    statements: Option<(u32, u32)>,
) -> PublishedRow {
    PublishedRow { metadata_cache, connection_reuse, per_second, mean_ms, statements }
}

/// One sentence on what differs, without its full stop.
pub(super) const CONDITIONS: &str = "the study's QuantumLeap is a Python server that asked its database for metadata and wrote each notification by \
    itself; Prony always knows the metadata that it has written itself, so that its caches are about what other servers add, and it writes all \
    notifications that come while a transaction is under way with one statement, on its own processors, with the database on the lab's";

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
