//! The study's data set for measurements, the same that `prony lab relational` uses, kept in the build folder.

use std::path::Path;

use prony_experiments::relational::dataset::{DatasetPlan, provide_postgres, provide_sqlite};
use prony_load::StopFlag;

const SEED: u64 = 42;
const ROWS: u32 = 100_000;

/// `sqlite:FILE` with the study's 100,000 rows a table.
pub(crate) fn sqlite_source() -> String {
    sqlite_source_with_rows(ROWS)
}

/// `sqlite:FILE` with this many rows a table.
pub(crate) fn sqlite_source_with_rows(rows: u32) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("datasets");
    let (path, _) = provide_sqlite(DatasetPlan { seed: SEED, rows }, &folder, &StopFlag::default())
        .unwrap_or_else(|error| panic!("{error}"));
    format!("sqlite:{}", path.display())
}

/// Fills an empty database with the study's 100,000 rows a table.
pub(crate) fn load_postgres(url: &str) {
    provide_postgres(DatasetPlan { seed: SEED, rows: ROWS }, url, &StopFlag::default())
        .unwrap_or_else(|error| panic!("{error}"));
}
