//! Which indexes would keep a plan from reading tables whole.

use prony_source::PlanHint;

use super::compared::{Compared, compared};

/// One hint a table that is read whole, where the statement says by which columns its rows are found.
pub(super) fn hints(sql: &str, scanned: &[Box<str>]) -> Vec<PlanHint> {
    let mut hints: Vec<PlanHint> = Vec::new();
    for alias in scanned {
        let Some(Compared { table, mut equal, ranges }) = compared(sql, alias) else { continue };
        // An index serves one range, behind what is equal.
        equal.extend(ranges.into_iter().take(1));
        let hint = PlanHint::new(&table, equal);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}
