//! Which indexes would keep a plan from reading tables whole.

use prony_source::PlanHint;

use crate::{builder::ComparedTable, model::Model};

/// One hint a table that is read whole, where the statement says by which columns its rows are found.
pub(super) fn hints(model: &Model, compared: &[ComparedTable], scanned: &[Box<str>]) -> Vec<PlanHint> {
    let mut hints: Vec<PlanHint> = Vec::new();
    for alias in scanned {
        let Some(ComparedTable { table, columns, .. }) = compared.iter().find(|table| table.alias == *alias)
        else {
            continue;
        };
        let table = model.table(*table);
        // An index serves one range, behind what is equal.
        let columns = columns.equal.iter().chain(columns.ranges.iter().take(1));
        let columns: Vec<String> = columns.map(|column| table.column(*column).name.to_string()).collect();
        if columns.is_empty() {
            continue;
        }
        let hint = PlanHint::new(&table.qualified_name(), columns);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}
