//! Generated queries: lists, nested lists, has-one, aggregates, filters through relations, order, and parts of lists.

use std::fmt::Write as _;

use prony_testkit::{Seeded, condition::graphql_literal as literal};
use rand::RngExt as _;
use serde_json::json;

use super::{
    condition::{USER, generate},
    tables::{Data, NUMBERS},
};

/// One with so many root fields.
pub(super) fn query(chance: &mut Seeded, data: &Data, roots: usize) -> String {
    let mut writer = Writer { chance, data, text: "{ ".to_owned(), keys: 0 };
    for _ in 0..roots {
        let table = writer.chance.random_range(0..data.tables.len());
        writer.many(&format!("t{table}"), table, 3);
    }
    writer.text.push('}');
    writer.text
}

/// All rows of all tables.
pub(super) fn everything(data: &Data) -> String {
    let tables = data.tables.iter().enumerate();
    let tables = tables.map(|(index, table)| format!("t{index} {{ {} }}", table.columns().join(" ")));
    format!("{{ {} }}", tables.collect::<Vec<_>>().join(" "))
}

struct Writer<'w> {
    chance: &'w mut Seeded,
    data: &'w Data,
    text: String,
    keys: usize,
}

impl Writer<'_> {
    fn key(&mut self) {
        self.keys += 1;
        let _ = write!(self.text, "k{}: ", self.keys);
    }

    /// A list or an aggregate of it.
    fn many(&mut self, field: &str, table: usize, depth: usize) {
        self.key();
        let is_aggregate = self.chance.random_range(0..4) == 0;
        self.text.push_str(field);
        if is_aggregate {
            self.text.push_str("_aggregate");
        }
        let mut arguments = Vec::new();
        if self.chance.random_range(0..2) == 0 {
            let filter = generate(self.chance, self.data, table, 2);
            arguments.push(format!("where: {}", literal(&filter.written(&json!(USER)))));
        }
        if !is_aggregate {
            if self.chance.random_range(0..2) == 0 {
                let direction = if self.chance.random() { "asc" } else { "desc" };
                let column = ["n", "m", "s"][self.chance.random_range(0..3)];
                arguments.push(format!("sort: {{{column}: {direction}}}"));
            }
            if self.chance.random_range(0..3) == 0 {
                arguments.push(format!("limit: {}", self.chance.random_range(0..5)));
            }
            if self.chance.random_range(0..4) == 0 {
                arguments.push(format!("offset: {}", self.chance.random_range(0..3)));
            }
        }
        if !arguments.is_empty() {
            let _ = write!(self.text, "({})", arguments.join(", "));
        }
        if is_aggregate {
            let [n, m] = NUMBERS;
            let _ = write!(self.text, " {{ count sum {{ {n} }} max {{ {m} }} min {{ {n} }} }} ");
        } else {
            self.members(table, depth);
        }
    }

    fn members(&mut self, table: usize, depth: usize) {
        self.text.push_str(" { id ");
        for _ in 0..self.chance.random_range(1..4) {
            let references = self.data.tables[table].references.clone();
            let back = self.data.leads_to(table);
            match self.chance.random_range(0..if depth == 0 { 1 } else { 4 }) {
                1 | 2 if !references.is_empty() => {
                    let reference = self.chance.random_range(0..references.len());
                    self.key();
                    let _ = write!(self.text, "r{reference}");
                    self.members(references[reference], depth - 1);
                }
                3 | 2 if !back.is_empty() => {
                    let (other, reference) = back[self.chance.random_range(0..back.len())];
                    self.many(&format!("of_t{other}_r{reference}"), other, depth - 1);
                }
                _ => {
                    self.key();
                    let column = ["n", "m", "s"][self.chance.random_range(0..3)];
                    let _ = write!(self.text, "{column} ");
                }
            }
        }
        self.text.push_str("} ");
    }
}
