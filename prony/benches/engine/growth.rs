//! A nested query's time grows with the rows returned, not with the table: the same three queries at 100,000
//! and at 1,000,000 rows a table.

use crate::{
    ROUNDS, SECONDS, data, drivers,
    queries::{QUERIES, wrk_script},
    statistics::{median, print_table},
    subject::Subject,
};

/// Prints mean microseconds a request with one connection, at both sizes, alternating.
pub(crate) fn by_table_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = Subject::start(&data::sqlite_source_with_rows(100_000), &[], None);
    let large = Subject::start(&data::sqlite_source_with_rows(1_000_000), &[], None);
    let mut rows =
        vec![["query", "100,000 rows, µs", "1,000,000 rows, µs", "ratio"].map(String::from).to_vec()];
    for query in &QUERIES {
        let script = drivers::script_file(folder.path(), "query.lua", &wrk_script(query.graphql));
        let (mut small_us, mut large_us) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            small_us.push(1e6 / drivers::wrk(&small.graphql_url(), &script, 1, SECONDS));
            large_us.push(1e6 / drivers::wrk(&large.graphql_url(), &script, 1, SECONDS));
        }
        rows.push(vec![
            query.name.to_owned(),
            format!("{:.0}", median(&small_us)),
            format!("{:.0}", median(&large_us)),
            format!("{:.2}", median(&large_us) / median(&small_us)),
        ]);
    }
    print_table(&rows);
}
