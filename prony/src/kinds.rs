//! The kinds of sources that `prony serve` knows, a line each.

use prony_graph::GraphKind;
use prony_postgres::PostgresKind;
use prony_series::SeriesKind;
use prony_server::config::Kinds;
use prony_sqlite::SqliteKind;
use prony_upstream::UpstreamKind;

/// In the order in which help and messages name them.
pub(crate) static KINDS: Kinds<'static> =
    &[&SqliteKind, &PostgresKind, &GraphKind, &SeriesKind, &UpstreamKind];

#[cfg(test)]
mod documented;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prony_server::config;

    use super::*;

    /// The reference in the documentation is the tables of options.
    #[test]
    fn the_reference_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
        let text = std::fs::read_to_string(&path).expect("the documentation is there");
        let (begin, end) = ("<!-- options -->\n", "<!-- end of options -->");
        let from = text.find(begin).expect("the table begins") + begin.len();
        let to = text.find(end).expect("the table ends");
        let wanted = config::reference(KINDS);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, format!("{}{wanted}{}", &text[..from], &text[to..]))
                .expect("it can be written");
            return;
        }
        assert_eq!(&text[from..to], wanted, "run the test with UPDATE_EXPECT=1");
    }

    /// Each address has one kind.
    #[test]
    fn no_kind_takes_addresses_of_another() {
        let prefixes: Vec<&str> = KINDS.iter().flat_map(|kind| kind.address().prefixes).copied().collect();
        for (index, prefix) in prefixes.iter().enumerate() {
            let others = prefixes[..index].iter().chain(&prefixes[index + 1..]);
            assert!(others.into_iter().all(|other| !other.starts_with(prefix)), "{prefix}: {prefixes:?}");
        }
    }
}
