//! The GraphQL types and root fields of a model: for each table its row type, filter, order, aggregates, keys
//! and mutations. Which names there are is the model's business; merging sources is `prony-graphql`'s.
//!
//! `sort` is a list of inputs. GraphQL's input coercion lets a document write one input without brackets, so
//! both `sort: {id: desc}` and `sort: [{a: asc}, {b: desc}]` are valid; a variable `$sort: MemberSort` is valid
//! too, because the contribution names the sort inputs as only listed.
//!
//! A role's contribution has only what the role may see and write, and nobody's has the mutations of a table that are switched
//! off: what is missing cannot be asked for.
//!
//! A column's argument of `create…` is required where the column is NOT NULL and nothing fills it. A created
//! row of a table without a key is answered whole, for want of a key.

mod columns;
mod descriptions;

use apollo_compiler::{
    Name, Node,
    ast::{FieldDefinition, InputValueDefinition, Type},
    name,
};
use prony_graphql::schema::{
    Contribution,
    build::{
        Pool, described_field, described_input, field_with_arguments, input, input_object, named, non_null,
        non_null_list, object,
    },
};
use prony_source::dialect::{
    AGGREGATE, CONDITIONS, ORDER, aggregate_members, filter_argument, logical_inputs, page_arguments,
    sort_argument,
};

use crate::contribution::{
    columns::ColumnTypes,
    descriptions::{of_column, of_list, of_relation, of_row},
};
use crate::{
    catalog::TableKind,
    model::{Cardinality, Column, ColumnId, Model, Relation, Table},
    restrict::{ColumnUse, Restrictions, Verb},
};

/// All types and root fields of the model. Nodes of equal content are shared.
pub fn contribution(model: &Model) -> Contribution {
    restricted(model, None)
}

/// Of these what a role may ask for.
pub fn contribution_for(model: &Model, restrictions: &Restrictions) -> Contribution {
    restricted(model, Some(restrictions))
}

fn restricted(model: &Model, restrictions: Option<&Restrictions>) -> Contribution {
    let mut pool = Pool::default();
    let granted = Granted { model, restrictions };
    let tables = model.tables.iter().enumerate();
    let tables = tables.map(|(index, table)| TableNames::new(index, table, granted, &mut pool)).collect();
    let mut writer = Writer {
        granted,
        columns: ColumnTypes::new(model),
        tables,
        column_names: Vec::new(),
        pool,
        contribution: Contribution::default(),
    };
    for (index, table) in model.tables.iter().enumerate() {
        writer.table(index, table);
    }
    let Writer { columns, mut pool, mut contribution, .. } = writer;
    columns.write_used(&mut pool, &mut contribution);
    contribution
}

/// What is contributed: everything, or what a role may ask for.
#[derive(Clone, Copy)]
struct Granted<'r> {
    model: &'r Model,
    restrictions: Option<&'r Restrictions>,
}

impl Granted<'_> {
    /// Tables are given by their index.
    fn can(self, verb: Verb, table: usize) -> bool {
        let writes = self.model.tables[table].writes;
        let is_served = match verb {
            Verb::Select | Verb::Aggregate => true,
            Verb::Insert => writes.insert,
            Verb::Update => writes.update,
            Verb::Delete => writes.delete,
        };
        is_served && self.may(verb, table)
    }

    fn may(self, verb: Verb, table: usize) -> bool {
        self.restrictions.is_none_or(|restrictions| restrictions.of(self.model.id_at(table)).can(verb))
    }

    fn allows(self, column_use: ColumnUse, table: usize, column: usize) -> bool {
        self.restrictions.is_none_or(|restrictions| {
            restrictions.of(self.model.id_at(table)).allows(column_use, ColumnId(column as u16))
        })
    }

    /// Whether all columns can be read by which rows of two tables belong together.
    fn reads_pairs(self, (own, target): (usize, usize), relation: &Relation) -> bool {
        let reads = |table: usize, id: ColumnId| self.allows(ColumnUse::Read, table, usize::from(id.0));
        relation.pairs.iter().all(|&(column, theirs)| reads(own, column) && reads(target, theirs))
    }

    fn mentions(self, table: usize, column: usize) -> bool {
        self.restrictions.is_none_or(|restrictions| {
            restrictions.of(self.model.id_at(table)).mentions(ColumnId(column as u16))
        })
    }

    /// Columns that the answer of a creation has, and the key of an event: those of the primary key that can be read; without
    /// one, all that can be read or given. Who may create rows and not read the key is told that of a row of their own.
    fn answered_columns(self, index: usize, table: &Table) -> Vec<ColumnId> {
        let reads = |id: &ColumnId| self.allows(ColumnUse::Read, index, usize::from(id.0));
        let gives = |id: &ColumnId| self.allows(ColumnUse::Insert, index, usize::from(id.0));
        if table.primary_key.is_empty() {
            let all = (0..table.columns.len()).map(|number| ColumnId(number as u16));
            return all.filter(|id| reads(id) || gives(id)).collect();
        }
        let reads_none = !table.primary_key.iter().any(reads);
        let inserts = self.can(Verb::Insert, index);
        let key = table.primary_key.iter().copied();
        key.filter(|id| reads(id) || (reads_none && inserts)).collect()
    }
}

/// Names of a table's types and the arguments that its lists and aggregates share.
struct TableNames {
    row: Name,
    clauses: Name,
    sort: Name,
    aggregate: Name,
    fields: Name,
    pks: Name,
    pk_columns: Name,
    list_arguments: Vec<Node<InputValueDefinition>>,
    aggregate_arguments: Vec<Node<InputValueDefinition>>,
}

impl TableNames {
    fn new(index: usize, table: &Table, granted: Granted<'_>, pool: &mut Pool) -> Self {
        let derived = |suffix: &str| unshared_name(&format!("{}{suffix}", table.type_name));
        let (row, clauses, sort) = (derived(""), derived("Clauses"), derived("Sort"));
        let (aggregate, fields) = (derived("Aggregate"), derived("Fields"));
        let (pks, pk_columns) = (derived("Pks"), derived("PkColumns"));
        let aggregate_arguments = vec![filter_argument(pool, &clauses)];
        let mut list_arguments = aggregate_arguments.clone();
        let mut columns = table.columns.iter().enumerate();
        let sorts = |(number, column): (usize, &Column)| {
            column.kind.is_ordered() && granted.allows(ColumnUse::Sort, index, number)
        };
        if columns.any(sorts) {
            list_arguments.push(sort_argument(pool, &sort));
        }
        list_arguments.extend(page_arguments(pool));
        Self { row, clauses, sort, aggregate, fields, pks, pk_columns, list_arguments, aggregate_arguments }
    }
}

struct Writer<'m> {
    granted: Granted<'m>,
    columns: ColumnTypes<'m>,
    /// By table id.
    tables: Vec<TableNames>,
    /// Of the table at hand, by column.
    column_names: Vec<Name>,
    pool: Pool,
    contribution: Contribution,
}

impl Writer<'_> {
    fn table(&mut self, index: usize, table: &Table) {
        self.column_names.clear();
        let granted = self.granted;
        let writes = granted.can(Verb::Update, index) || granted.can(Verb::Delete, index);
        for (number, column) in table.columns.iter().enumerate() {
            self.column_names.push(self.pool.name(&column.field));
            // The key says which row is written.
            let is_key = (writes || granted.can(Verb::Insert, index))
                && table.primary_key.contains(&ColumnId(number as u16));
            if is_key || granted.mentions(index, number) {
                self.columns.see(&column.kind);
            }
        }
        if granted.can(Verb::Select, index) {
            self.row_type(index, table);
            self.clauses_type(index, table);
            self.sort_type(index, table);
            if granted.can(Verb::Aggregate, index) {
                self.aggregate_types(index, table);
            }
            self.queries(index, table);
        }
        if table.kind == TableKind::Table {
            let has_answer = self.key_types(index, table);
            self.mutations(index, table, has_answer);
        }
    }

    fn row_type(&mut self, index: usize, table: &Table) {
        let mut fields = Vec::with_capacity(table.columns.len() + table.relations.len() * 2);
        for (number, (column, name)) in table.columns.iter().zip(&self.column_names).enumerate() {
            if self.granted.allows(ColumnUse::Read, index, number) {
                let text = of_column(table, ColumnId(number as u16), column);
                let value = self.columns.value(&column.kind, column.nullable);
                fields.push(self.pool.described_field(name, value, &text));
            }
        }
        for relation in &table.relations {
            let target_index = self.granted.model.index(relation.target);
            if !self.granted.can(Verb::Select, target_index) {
                continue;
            }
            let name = self.pool.name(&relation.field);
            let target = &self.tables[target_index];
            let are_seen = self.granted.reads_pairs((index, target_index), relation);
            let text = of_relation(table, relation, &self.granted.model.tables[target_index], are_seen);
            let field = match relation.cardinality {
                Cardinality::One => field_with_arguments(&name, Vec::new(), named(&target.row)),
                Cardinality::Many => list_field(&name, target),
            };
            fields.push(described_field(field, text));
            if let Some(aggregate) = &relation.aggregate_field
                && self.granted.can(Verb::Aggregate, target_index)
            {
                let name = self.pool.name(aggregate);
                let text = self.pool.description(AGGREGATE);
                fields.push(described_field(aggregate_field(&name, target), text));
            }
        }
        let text = of_row(table).into();
        self.contribution.types.push(object(&self.tables[index].row, Some(text), fields));
    }

    fn clauses_type(&mut self, index: usize, table: &Table) {
        let own = self.tables[index].clauses.clone();
        let mut fields = Vec::with_capacity(table.columns.len() + table.relations.len() + 3);
        // A column or relation of such a name hides the operator.
        let operators = logical_inputs(&mut self.pool, &own).into_iter();
        fields.extend(operators.filter(|operator| table.row_field(&operator.name).is_none()));
        for (number, (column, name)) in table.columns.iter().zip(&self.column_names).enumerate() {
            if self.granted.allows(ColumnUse::Filter, index, number) {
                fields.push(self.pool.input(name, named(&self.columns.filter(&column.kind))));
            }
        }
        for relation in &table.relations {
            let target_index = self.granted.model.index(relation.target);
            if !self.granted.can(Verb::Select, target_index) {
                continue;
            }
            let name = self.pool.name(&relation.field);
            let target = &self.tables[target_index];
            fields.push(self.pool.input(&name, named(&target.clauses)));
        }
        let text = self.pool.description(CONDITIONS);
        self.contribution.types.push(input_object(&own, Some(text), fields));
    }

    fn sort_type(&mut self, index: usize, table: &Table) {
        let operator = name!("SortOperator");
        let mut fields = Vec::with_capacity(table.columns.len());
        for (number, (column, name)) in table.columns.iter().zip(&self.column_names).enumerate() {
            if column.kind.is_ordered() && self.granted.allows(ColumnUse::Sort, index, number) {
                fields.push(self.pool.input(name, named(&operator)));
            }
        }
        if !fields.is_empty() {
            self.columns.sorts = true;
            let name = &self.tables[index].sort;
            let text = self.pool.description(ORDER);
            self.contribution.types.push(input_object(name, Some(text), fields));
            self.contribution.only_listed.push(name.clone());
        }
    }

    fn aggregate_types(&mut self, index: usize, table: &Table) {
        let mut fields = Vec::with_capacity(table.columns.len());
        for (number, (column, name)) in table.columns.iter().zip(&self.column_names).enumerate() {
            if self.granted.allows(ColumnUse::Aggregate, index, number) {
                fields.push(self.pool.field(name, self.columns.aggregated(&column.kind)));
            }
        }
        let names = &self.tables[index];
        let values = (!fields.is_empty()).then_some(&names.fields);
        let members = aggregate_members(&mut self.pool, values);
        self.contribution.types.push(object(&names.aggregate, None, members));
        self.contribution.summaries.extend([names.aggregate.clone(), names.fields.clone()]);
        if !fields.is_empty() {
            self.contribution.types.push(object(&names.fields, None, fields));
        }
    }

    fn queries(&mut self, index: usize, table: &Table) {
        let list_name = unshared_name(&table.list_name);
        let names = &self.tables[index];
        let text = of_list(table);
        self.contribution.query.push(described_field(list_field(&list_name, names), text));
        if self.granted.can(Verb::Aggregate, index) {
            let aggregate_name = unshared_name(&format!("{}_aggregate", table.list_name));
            let text = self.pool.description(AGGREGATE);
            self.contribution.query.push(described_field(aggregate_field(&aggregate_name, names), text));
        }
    }

    /// The key's input, and the answer of a creation; whether there is an answer.
    fn key_types(&mut self, index: usize, table: &Table) -> bool {
        let granted = self.granted;
        let names_rows = granted.can(Verb::Update, index) || granted.can(Verb::Delete, index);
        if names_rows && !table.primary_key.is_empty() {
            let mut inputs = Vec::with_capacity(table.primary_key.len());
            for &id in &table.primary_key {
                let (column, name) = (table.column(id), &self.column_names[usize::from(id.0)]);
                inputs.push(self.pool.input(name, self.columns.value(&column.kind, false)));
            }
            self.contribution.types.push(input_object(&self.tables[index].pk_columns, None, inputs));
        }
        let mut outputs = Vec::new();
        for id in granted.answered_columns(index, table) {
            let (column, name) = (table.column(id), &self.column_names[usize::from(id.0)]);
            outputs.push(self.pool.field(name, self.columns.value(&column.kind, column.nullable)));
        }
        let has_answer = !outputs.is_empty();
        if has_answer {
            self.contribution.types.push(object(&self.tables[index].pks, None, outputs));
        }
        has_answer
    }

    fn mutations(&mut self, index: usize, table: &Table, has_answer: bool) {
        let granted = self.granted;
        if has_answer && granted.can(Verb::Insert, index) {
            let is_optional = |column: &Column| column.nullable || column.has_default;
            let arguments = self.arguments(index, table, ColumnUse::Insert, is_optional);
            let pks = named(&self.tables[index].pks);
            self.mutation("create", table, arguments, pks, descriptions::CREATE);
        }
        let (updates, deletes) = (granted.can(Verb::Update, index), granted.can(Verb::Delete, index));
        if table.primary_key.is_empty() || !(updates || deletes) {
            return;
        }
        self.columns.changes = true;
        let key = input(&name!("pk_columns"), non_null(&self.tables[index].pk_columns));
        let key = described_input(key, self.pool.description(descriptions::KEY));
        if updates {
            let mut arguments = vec![key.clone()];
            // A column of that name can be created but not updated: the key has the name.
            let columns = self.arguments(index, table, ColumnUse::Update, |_| true);
            arguments.extend(columns.into_iter().filter(|argument| argument.name != "pk_columns"));
            self.mutation("update", table, arguments, named(&name!("Result")), descriptions::UPDATE);
        }
        if deletes {
            self.mutation("delete", table, vec![key], named(&name!("Result")), descriptions::DELETE);
        }
    }

    fn arguments(
        &mut self,
        index: usize,
        table: &Table,
        column_use: ColumnUse,
        is_optional: impl Fn(&Column) -> bool,
    ) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = Vec::with_capacity(table.columns.len());
        for (number, (column, name)) in table.columns.iter().zip(&self.column_names).enumerate() {
            if column.writable && self.granted.allows(column_use, index, number) {
                let input = self.columns.value(&column.kind, is_optional(column));
                arguments.push(match &column.comment {
                    Some(comment) => self.pool.described_input(name, input, comment),
                    None => self.pool.input(name, input),
                });
            }
        }
        arguments
    }

    fn mutation(
        &mut self,
        verb: &str,
        table: &Table,
        arguments: Vec<Node<InputValueDefinition>>,
        answer: Type,
        text: &str,
    ) {
        let name = unshared_name(&format!("{verb}{}", table.type_name));
        let field = field_with_arguments(&name, arguments, answer);
        self.contribution.mutation.push(described_field(field, self.pool.description(text)));
    }
}

/// A name that no other table has.
fn unshared_name(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}

fn list_field(name: &Name, target: &TableNames) -> Node<FieldDefinition> {
    field_with_arguments(name, target.list_arguments.clone(), non_null_list(&target.row))
}

fn aggregate_field(name: &Name, target: &TableNames) -> Node<FieldDefinition> {
    field_with_arguments(name, target.aggregate_arguments.clone(), non_null(&target.aggregate))
}
