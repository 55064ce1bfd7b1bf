//! The GraphQL types and root fields of a model: for each table its row type, filter, order, aggregates, keys
//! and mutations. Which names there are is the model's business; merging sources is `prony-graphql`'s.
//!
//! `sort` is a list of inputs. GraphQL's input coercion lets a document write one input without brackets, so
//! both `sort: {id: desc}` and `sort: [{a: asc}, {b: desc}]` are valid; a variable `$sort: MemberSort` is valid
//! too, because the contribution names the sort inputs as only listed.
//!
//! A column's argument of `create…` is required where the column is NOT NULL and nothing fills it. A created
//! row of a table without a key is answered whole, for want of a key.

mod columns;

use apollo_compiler::{
    Name, Node,
    ast::{DirectiveList, FieldDefinition, InputValueDefinition, Type},
    name,
};
use prony_graphql::schema::{
    Contribution,
    build::{Pool, field_with_arguments, input_object, list, named, non_null, non_null_list, object},
};

use crate::contribution::columns::{ColumnTypes, is_sortable};
use crate::{
    catalog::TableKind,
    model::{Cardinality, Column, Model, Table},
};

/// All types and root fields of the model. Nodes of equal content are shared.
pub fn contribution(model: &Model) -> Contribution {
    let mut pool = Pool::default();
    let tables = model.tables.iter().map(|table| TableNames::new(table, &mut pool)).collect();
    let mut writer = Writer {
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
    fn new(table: &Table, pool: &mut Pool) -> Self {
        let derived = |suffix: &str| unshared_name(&format!("{}{suffix}", table.type_name));
        let (row, clauses, sort) = (derived(""), derived("Clauses"), derived("Sort"));
        let (aggregate, fields) = (derived("Aggregate"), derived("Fields"));
        let (pks, pk_columns) = (derived("Pks"), derived("PkColumns"));
        let aggregate_arguments = vec![unshared_input(name!("where"), named(&clauses))];
        let mut list_arguments = aggregate_arguments.clone();
        if table.columns.iter().any(|column| is_sortable(&column.kind)) {
            list_arguments.push(unshared_input(name!("sort"), list(&sort)));
        }
        for count in [name!("limit"), name!("offset")] {
            list_arguments.push(pool.input(&count, named(&name!("Int"))));
        }
        Self { row, clauses, sort, aggregate, fields, pks, pk_columns, list_arguments, aggregate_arguments }
    }
}

struct Writer<'m> {
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
        for column in &table.columns {
            self.column_names.push(self.pool.name(&column.field));
            self.columns.see(&column.kind);
        }
        self.row_type(index, table);
        self.clauses_type(index, table);
        self.sort_type(index, table);
        self.aggregate_types(index, table);
        self.queries(index, table);
        if table.kind == TableKind::Table {
            self.key_types(index, table);
            self.mutations(index, table);
        }
    }

    fn row_type(&mut self, index: usize, table: &Table) {
        let mut fields = Vec::with_capacity(table.columns.len() + table.relations.len() * 2);
        for (column, name) in table.columns.iter().zip(&self.column_names) {
            fields.push(self.pool.field(name, self.columns.value(&column.kind, column.nullable)));
        }
        for relation in &table.relations {
            let name = self.pool.name(&relation.field);
            let target = &self.tables[relation.target.0 as usize];
            fields.push(match relation.cardinality {
                Cardinality::One => field_with_arguments(&name, Vec::new(), named(&target.row)),
                Cardinality::Many => list_field(&name, target),
            });
            if let Some(aggregate) = &relation.aggregate_field {
                fields.push(aggregate_field(&self.pool.name(aggregate), target));
            }
        }
        self.contribution.types.push(object(&self.tables[index].row, None, fields));
    }

    fn clauses_type(&mut self, index: usize, table: &Table) {
        let own = self.tables[index].clauses.clone();
        let mut fields = Vec::with_capacity(table.columns.len() + table.relations.len() + 3);
        for (operator, operand) in
            [(name!("and"), list(&own)), (name!("or"), list(&own)), (name!("not"), named(&own))]
        {
            // A column or relation of such a name hides the operator.
            if table.row_field(&operator).is_none() {
                fields.push(unshared_input(operator, operand));
            }
        }
        for (column, name) in table.columns.iter().zip(&self.column_names) {
            fields.push(self.pool.input(name, named(&self.columns.filter(&column.kind))));
        }
        for relation in &table.relations {
            let name = self.pool.name(&relation.field);
            let target = &self.tables[relation.target.0 as usize];
            fields.push(self.pool.input(&name, named(&target.clauses)));
        }
        self.contribution.types.push(input_object(&own, None, fields));
    }

    fn sort_type(&mut self, index: usize, table: &Table) {
        let operator = name!("SortOperator");
        let mut fields = Vec::with_capacity(table.columns.len());
        for (column, name) in table.columns.iter().zip(&self.column_names) {
            if is_sortable(&column.kind) {
                fields.push(self.pool.input(name, named(&operator)));
            }
        }
        if !fields.is_empty() {
            self.columns.sorts = true;
            let name = &self.tables[index].sort;
            self.contribution.types.push(input_object(name, None, fields));
            self.contribution.only_listed.push(name.clone());
        }
    }

    fn aggregate_types(&mut self, index: usize, table: &Table) {
        let mut fields = Vec::with_capacity(table.columns.len());
        for (column, name) in table.columns.iter().zip(&self.column_names) {
            fields.push(self.pool.field(name, self.columns.aggregated(&column.kind)));
        }
        let mut members = vec![self.pool.field(&name!("count"), non_null(&name!("Int")))];
        let names = &self.tables[index];
        for function in [name!("sum"), name!("avg"), name!("max"), name!("min")] {
            members.push(field_with_arguments(&function, Vec::new(), named(&names.fields)));
        }
        let types = [object(&names.aggregate, None, members), object(&names.fields, None, fields)];
        self.contribution.types.extend(types);
    }

    fn queries(&mut self, index: usize, table: &Table) {
        let list_name = unshared_name(&table.list_name);
        let aggregate_name = unshared_name(&format!("{}_aggregate", table.list_name));
        let names = &self.tables[index];
        let fields = [list_field(&list_name, names), aggregate_field(&aggregate_name, names)];
        self.contribution.query.extend(fields);
    }

    /// The answer of a creation, and the key's input.
    fn key_types(&mut self, index: usize, table: &Table) {
        let names = &self.tables[index];
        let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
        for &id in &table.primary_key {
            let (column, name) = (table.column(id), &self.column_names[usize::from(id.0)]);
            outputs.push(self.pool.field(name, self.columns.value(&column.kind, column.nullable)));
            inputs.push(self.pool.input(name, self.columns.value(&column.kind, false)));
        }
        if inputs.is_empty() {
            for (column, name) in table.columns.iter().zip(&self.column_names) {
                outputs.push(self.pool.field(name, self.columns.value(&column.kind, column.nullable)));
            }
        } else {
            self.contribution.types.push(input_object(&names.pk_columns, None, inputs));
        }
        self.contribution.types.push(object(&names.pks, None, outputs));
    }

    fn mutations(&mut self, index: usize, table: &Table) {
        let arguments = self.arguments(table, |column| column.nullable || column.has_default);
        let pks = named(&self.tables[index].pks);
        self.mutation("create", table, arguments, pks);
        if table.primary_key.is_empty() {
            return;
        }
        self.columns.changes = true;
        let key = unshared_input(name!("pk_columns"), non_null(&self.tables[index].pk_columns));
        let mut arguments = vec![key.clone()];
        // A column of that name can be created but not updated: the key has the name.
        let columns = self.arguments(table, |_| true);
        arguments.extend(columns.into_iter().filter(|argument| argument.name != "pk_columns"));
        self.mutation("update", table, arguments, named(&name!("Result")));
        self.mutation("delete", table, vec![key], named(&name!("Result")));
    }

    fn arguments(
        &mut self,
        table: &Table,
        is_optional: impl Fn(&Column) -> bool,
    ) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = Vec::with_capacity(table.columns.len());
        for (column, name) in table.columns.iter().zip(&self.column_names) {
            if column.writable {
                let input = self.columns.value(&column.kind, is_optional(column));
                arguments.push(self.pool.input(name, input));
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
    ) {
        let name = unshared_name(&format!("{verb}{}", table.type_name));
        self.contribution.mutation.push(field_with_arguments(&name, arguments, answer));
    }
}

/// A name that no other table has.
fn unshared_name(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}

/// An argument or a field of an input object whose type no other table has.
fn unshared_input(name: Name, input: Type) -> Node<InputValueDefinition> {
    let (description, default_value) = (None, None);
    let directives = DirectiveList::default();
    Node::new(InputValueDefinition { description, name, ty: Node::new(input), default_value, directives })
}

fn list_field(name: &Name, target: &TableNames) -> Node<FieldDefinition> {
    field_with_arguments(name, target.list_arguments.clone(), non_null_list(&target.row))
}

fn aggregate_field(name: &Name, target: &TableNames) -> Node<FieldDefinition> {
    field_with_arguments(name, target.aggregate_arguments.clone(), non_null(&target.aggregate))
}
