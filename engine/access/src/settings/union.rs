//! The union of what two roles may do with one table, where it is exactly that: a union that would show columns of rows which
//! neither role may see is none.

use std::collections::BTreeSet;

use prony_graphql::{Name, selection::Value};
use prony_source::permissions::{
    Columns, DeletePermission, InsertPermission, SelectPermission, TablePermissions, UpdatePermission,
};

use super::types::always;

/// An operation whose permissions have no union, with what is different in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoUnion {
    /// The key of the operation.
    pub(super) operation: &'static str,
    pub(super) difference: &'static str,
}

/// What may be done with either; with all operations that have no union.
pub(super) fn tables(
    one: &TablePermissions,
    other: &TablePermissions,
) -> Result<TablePermissions, Vec<NoUnion>> {
    let mut faults = Vec::new();
    let union = TablePermissions {
        select: either(one.select.as_ref(), other.select.as_ref(), select, &mut faults),
        insert: either(one.insert.as_ref(), other.insert.as_ref(), insert, &mut faults),
        update: either(one.update.as_ref(), other.update.as_ref(), update, &mut faults),
        delete: either(
            one.delete.as_ref(),
            other.delete.as_ref(),
            |one, other| Ok(DeletePermission { rows: any(&one.rows, &other.rows) }),
            &mut faults,
        ),
    };
    if faults.is_empty() { Ok(union) } else { Err(faults) }
}

fn either<P: Clone>(
    one: Option<&P>,
    other: Option<&P>,
    union: fn(&P, &P) -> Result<P, NoUnion>,
    faults: &mut Vec<NoUnion>,
) -> Option<P> {
    match (one, other) {
        (Some(one), Some(other)) => union(one, other).map_err(|fault| faults.push(fault)).ok(),
        (one, other) => one.or(other).cloned(),
    }
}

/// What a permission says of columns, each use by itself.
#[derive(PartialEq)]
struct Uses {
    read: Columns,
    filter: Columns,
    sort: Columns,
    aggregate: Columns,
    aggregates: bool,
}

impl Uses {
    fn of(permission: &SelectPermission) -> Self {
        let read = &permission.columns;
        let or_read = |columns: &Option<Columns>| columns.as_ref().unwrap_or(read).clone();
        let none = || Columns::Only(BTreeSet::new());
        Self {
            filter: or_read(&permission.filter),
            sort: or_read(&permission.sort),
            aggregate: if permission.aggregates { or_read(&permission.aggregate) } else { none() },
            aggregates: permission.aggregates,
            read: read.clone(),
        }
    }

    fn include(&self, other: &Self) -> bool {
        includes(&self.read, &other.read)
            && includes(&self.filter, &other.filter)
            && includes(&self.sort, &other.sort)
            && includes(&self.aggregate, &other.aggregate)
            && (self.aggregates || !other.aggregates)
    }

    fn union(&self, other: &Self) -> Self {
        Self {
            read: united(&self.read, &other.read),
            filter: united(&self.filter, &other.filter),
            sort: united(&self.sort, &other.sort),
            aggregate: united(&self.aggregate, &other.aggregate),
            aggregates: self.aggregates || other.aggregates,
        }
    }

    fn of_rows(self, rows: Value, limit: Option<u64>) -> SelectPermission {
        let unless_read = |columns: Columns| (columns != self.read).then_some(columns);
        SelectPermission {
            rows,
            filter: unless_read(self.filter),
            sort: unless_read(self.sort),
            aggregate: if self.aggregates { unless_read(self.aggregate) } else { None },
            aggregates: self.aggregates,
            columns: self.read,
            limit,
        }
    }
}

fn select(one: &SelectPermission, other: &SelectPermission) -> Result<SelectPermission, NoUnion> {
    let (of_one, of_other) = (Uses::of(one), Uses::of(other));
    let limit = one.limit.zip(other.limit).map(|(one, other)| one.max(other));
    if of_one == of_other {
        return Ok(of_one.of_rows(any(&one.rows, &other.rows), limit));
    }
    if one.rows == other.rows {
        return Ok(of_one.union(&of_other).of_rows(one.rows.clone(), limit));
    }
    if covers(&one.rows, &other.rows) && of_one.include(&of_other) {
        return Ok(of_one.of_rows(one.rows.clone(), limit));
    }
    if covers(&other.rows, &one.rows) && of_other.include(&of_one) {
        return Ok(of_other.of_rows(other.rows.clone(), limit));
    }
    Err(NoUnion { operation: "select", difference: "other columns of other rows" })
}

fn insert(one: &InsertPermission, other: &InsertPermission) -> Result<InsertPermission, NoUnion> {
    let refused = |difference| NoUnion { operation: "insert", difference };
    if one.set != other.set {
        return Err(refused("other values that are set"));
    }
    let made = |columns, check| Ok(InsertPermission { columns, set: one.set.clone(), check });
    if one.columns == other.columns {
        return made(one.columns.clone(), any(&one.check, &other.check));
    }
    if one.check == other.check {
        return made(united(&one.columns, &other.columns), one.check.clone());
    }
    if covers(&one.check, &other.check) && includes(&one.columns, &other.columns) {
        return Ok(one.clone());
    }
    if covers(&other.check, &one.check) && includes(&other.columns, &one.columns) {
        return Ok(other.clone());
    }
    Err(refused("other columns with another check"))
}

fn update(one: &UpdatePermission, other: &UpdatePermission) -> Result<UpdatePermission, NoUnion> {
    let refused = |difference| NoUnion { operation: "update", difference };
    if one.set != other.set {
        return Err(refused("other values that are set"));
    }
    let includes_all = |one: &UpdatePermission, other: &UpdatePermission| {
        covers(&one.rows, &other.rows)
            && covers(&one.check, &other.check)
            && includes(&one.columns, &other.columns)
    };
    if includes_all(one, other) {
        return Ok(one.clone());
    }
    if includes_all(other, one) {
        return Ok(other.clone());
    }
    let alike = (one.rows == other.rows, one.columns == other.columns, one.check == other.check);
    let (rows, columns, check) = match alike {
        (true, false, true) => (one.rows.clone(), united(&one.columns, &other.columns), one.check.clone()),
        (false, true, true) => (any(&one.rows, &other.rows), one.columns.clone(), one.check.clone()),
        (true, true, false) => (one.rows.clone(), one.columns.clone(), any(&one.check, &other.check)),
        (false, true, false) => return Err(refused("other rows with another check")),
        _ => return Err(refused("other columns of other rows")),
    };
    Ok(UpdatePermission { rows, columns, set: one.set.clone(), check })
}

fn includes(one: &Columns, other: &Columns) -> bool {
    match (one, other) {
        (Columns::All, _) => true,
        (Columns::Only(_), Columns::All) => false,
        (Columns::Only(one), Columns::Only(other)) => one.is_superset(other),
    }
}

fn united(one: &Columns, other: &Columns) -> Columns {
    match (one, other) {
        (Columns::Only(one), Columns::Only(other)) => Columns::Only(one | other),
        _ => Columns::All,
    }
}

/// Whether all rows of the other condition are also this one's, as far as their texts show it.
fn covers(one: &Value, other: &Value) -> bool {
    one == other || *one == always() || alternatives(one).contains(&other)
}

/// The conditions of which one must hold.
fn alternatives(condition: &Value) -> Vec<&Value> {
    if let Value::Object(entries) = condition
        && let [(name, Value::List(parts))] = entries.as_slice()
        && name == "or"
    {
        return parts.iter().collect();
    }
    vec![condition]
}

/// A condition for rows of either.
fn any(one: &Value, other: &Value) -> Value {
    if covers(one, other) {
        return one.clone();
    }
    if covers(other, one) {
        return other.clone();
    }
    let mut parts: Vec<Value> = alternatives(one).into_iter().cloned().collect();
    let more =
        alternatives(other).into_iter().filter(|part| !parts.contains(part)).cloned().collect::<Vec<_>>();
    parts.extend(more);
    Value::Object(vec![(Name::new_static_unchecked("or"), Value::List(parts))])
}
