//! Roles: for each table a condition for rows, some by a variable of the session, some through relations; and what it comes to of
//! a row.

use prony_source::permissions::{
    Columns as GrantedColumns, DeletePermission, InsertPermission, Permissions, SelectPermission,
    SessionNames, TablePermissions, UpdatePermission,
};
use prony_testkit::{
    Condition, Seeded,
    condition::{self, Columns},
};
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::tables::{Data, NUMBERS, Row, TEXTS, Table};

/// The value of the session's one variable.
pub(super) const USER: i64 = 2;

/// What one role may do with each table.
#[derive(Debug, Clone)]
pub(super) struct Role {
    pub(super) select: Vec<Condition>,
    /// The columns that it can read: all, or all but the unique number.
    columns: Vec<Vec<String>>,
    pub(super) insert: Vec<Condition>,
    /// Rows that can be updated, and what they must pass then.
    pub(super) update: Vec<(Condition, Condition)>,
    pub(super) delete: Vec<Condition>,
}

/// One row of a table.
struct At<'d> {
    data: &'d Data,
    table: usize,
    row: &'d Row,
}

impl condition::Row for At<'_> {
    fn value(&self, column: &str) -> Option<&Json> {
        let table = &self.data.tables[self.table];
        let place = table.columns().iter().position(|name| name == column).expect("it has the column");
        Some(&self.row[place]).filter(|value| !value.is_null())
    }

    /// Some row that a reference leads to, or that leads here by a reference of another table, passes.
    fn along(&self, field: &str, below: &Condition, _user: i64) -> Option<bool> {
        let Self { data, table, row } = self;
        let back = data.leads_to(*table).into_iter().find(|led| back_field(*led) == field);
        if let Some((other, reference)) = back {
            let mut rows = data.tables[other].rows.iter().filter(|found| found[4 + reference] == row[0]);
            return Some(rows.any(|found| holds(below, data, other, found)));
        }
        let reference: usize = field[1..].parse().expect("a reference has a number");
        let target = data.tables[*table].references[reference];
        let mut rows = data.tables[target].rows.iter().filter(|other| other[0] == row[4 + reference]);
        Some(rows.any(|other| holds(below, data, target, other)))
    }
}

/// The field by which rows of a table lead to the rows that refer to them by a reference of a table.
fn back_field((table, reference): (usize, usize)) -> String {
    format!("of_t{table}_r{reference}")
}

pub(super) fn generate(chance: &mut Seeded, data: &Data, table: usize, depth: usize) -> Condition {
    let columns = Columns { numbers: NUMBERS.to_vec(), texts: vec![("s", &TEXTS)] };
    Condition::generate(chance, &columns, depth, &mut |chance, depth| {
        let references = &data.tables[table].references;
        if !references.is_empty() && chance.random_range(0..3) > 0 {
            let reference = chance.random_range(0..references.len());
            return Some((format!("r{reference}"), generate(chance, data, references[reference], depth)));
        }
        let back = data.leads_to(table);
        let led = *back.get(chance.random_range(0..back.len().max(1)))?;
        Some((back_field(led), generate(chance, data, led.0, depth)))
    })
}

pub(super) fn holds(condition: &Condition, data: &Data, table: usize, row: &Row) -> bool {
    condition.holds(&At { data, table, row }, USER)
}

impl Data {
    /// Tables and references that lead to a table.
    pub(super) fn leads_to(&self, table: usize) -> Vec<(usize, usize)> {
        let references = |(index, other): (usize, &Table)| {
            let leading = other.references.iter().enumerate().filter(|(_, target)| **target == table);
            leading.map(|(reference, _)| (index, reference)).collect::<Vec<_>>()
        };
        self.tables.iter().enumerate().flat_map(references).collect()
    }
}

impl Role {
    /// Writes whatever it is asked.
    pub(super) fn of_everything(data: &Data) -> Self {
        let all = || vec![Condition::Always; data.tables.len()];
        Self {
            select: all(),
            columns: data.tables.iter().map(Table::columns).collect(),
            insert: all(),
            update: all().into_iter().zip(all()).collect(),
            delete: all(),
        }
    }

    pub(super) fn generate(chance: &mut Seeded, data: &Data) -> Self {
        let all = |chance: &mut Seeded, depth: usize| -> Vec<Condition> {
            (0..data.tables.len()).map(|table| generate(chance, data, table, depth)).collect()
        };
        let columns = |chance: &mut Seeded, table: &Table| {
            let mut columns = table.columns();
            columns.retain(|name| name != "u" || chance.random());
            columns
        };
        Self {
            select: all(chance, 2),
            columns: data.tables.iter().map(|table| columns(chance, table)).collect(),
            insert: all(chance, 2),
            update: all(chance, 2).into_iter().zip(all(chance, 1)).collect(),
            delete: all(chance, 2),
        }
    }

    pub(super) fn reads_unique(&self, table: usize) -> bool {
        self.columns[table].iter().any(|name| name == "u")
    }

    /// The rows that it may see.
    pub(super) fn visible(&self, data: &Data) -> Data {
        let tables = data.tables.iter().enumerate().map(|(index, table)| {
            let rows = table.rows.iter().filter(|row| holds(&self.select[index], data, index, row));
            Table { references: table.references.clone(), rows: rows.cloned().collect() }
        });
        Data { tables: tables.collect() }
    }

    /// As a source takes it; the session has one variable.
    pub(super) fn permissions(&self) -> Permissions {
        let mut names = SessionNames::default();
        names.index("user");
        let mut made = |condition: &Condition| {
            names.condition(&condition.written(&json!("$user"))).expect("it is a condition")
        };
        let mut permissions = Permissions::default();
        for (index, select) in self.select.iter().enumerate() {
            let (rows, check) = &self.update[index];
            let mut read = SelectPermission::of_rows(made(select));
            read.columns = GrantedColumns::Only(self.columns[index].iter().cloned().collect());
            let granted = TablePermissions {
                select: Some(read),
                insert: Some(InsertPermission::checked(made(&self.insert[index]))),
                update: Some(UpdatePermission::of_rows(made(rows), made(check))),
                delete: Some(DeletePermission { rows: made(&self.delete[index]) }),
            };
            permissions.tables.insert(format!("t{index}"), granted.into());
        }
        permissions
    }
}
