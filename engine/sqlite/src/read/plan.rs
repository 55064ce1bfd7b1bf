//! SQLite's own words on how it would run a statement (<https://sqlite.org/eqp.html>).

use prony_sql::{database::StatementPlan, settings::RelationalSettings};

use crate::{
    file::raw::{SqliteError, Stored},
    read::session::{Session, Unfinished},
};

/// Columns of what EXPLAIN QUERY PLAN gives.
const ID: usize = 0;
const PARENT: usize = 1;
const DETAIL: usize = 3;

impl Session {
    /// `explain` begins with EXPLAIN QUERY PLAN.
    pub(crate) fn plan(
        &mut self,
        explain: &str,
        settings: &RelationalSettings,
    ) -> Result<StatementPlan, Unfinished> {
        self.rows_of(explain, settings, |rows| {
            let (mut plan, mut depths) = (StatementPlan::default(), vec![(0, 0)]);
            while rows.step()? {
                let number = |column| match rows.column(column) {
                    Stored::Integer(number) => number,
                    _ => 0,
                };
                let Stored::Text(detail) = rows.column(DETAIL) else { continue };
                let detail = String::from_utf8_lossy(detail);
                let above = depths.iter().find(|(id, _)| *id == number(PARENT));
                let depth = above.map_or(0, |(_, depth)| *depth);
                depths.push((number(ID), depth + 1));
                plan.lines.push(format!("{:1$}{detail}", "", depth * 2));
                plan.scanned.extend(scanned(&detail).map(Into::into));
            }
            Ok::<_, SqliteError>(plan)
        })
    }
}

/// The alias of a table that is read whole, or for which an index is made for one execution.
fn scanned(detail: &str) -> Option<&str> {
    let searched = || detail.strip_prefix("SEARCH ").filter(|rest| rest.contains(" AUTOMATIC "));
    detail.strip_prefix("SCAN ").or_else(searched)?.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_read_whole_are_found() {
        for (detail, expected) in [
            ("SCAN t0", Some("t0")),
            ("SCAN t0 USING INDEX albums_title", Some("t0")),
            ("SEARCH t1 USING AUTOMATIC COVERING INDEX (ArtistId=?)", Some("t1")),
            ("SEARCH t1 USING INDEX albums_artist (ArtistId=?)", None),
            ("SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)", None),
            ("USE TEMP B-TREE FOR ORDER BY", None),
        ] {
            assert_eq!(scanned(detail), expected, "{detail}");
        }
    }
}
