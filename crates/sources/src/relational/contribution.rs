//! The GraphQL types and root fields of a model: for each table its row type, filter, order, aggregates, keys
//! and mutations. Which names there are is the model's business; merging sources is `prony-graphql`'s.
//!
//! `sort` is a list of inputs. GraphQL's input coercion lets a document write one input without brackets, so
//! both `sort: {id: desc}` and `sort: [{a: asc}, {b: desc}]` are valid.
//!
//! A column's argument of `create…` is required where the column is NOT NULL and nothing fills it. A created
//! row of a table without a key is answered whole, for want of a key.

mod columns;
mod nodes;

use apollo_compiler::{
    Name, Node,
    ast::{FieldDefinition, InputValueDefinition, Type},
    name,
    schema::ExtendedType,
};
use prony_graphql::schema::Contribution;

use super::{
    catalog::TableKind,
    model::{Cardinality, ColumnId, Model, Table},
};
use columns::ColumnTypes;
use nodes::Nodes;

/// All types and root fields of the model. Nodes of equal content are shared.
pub fn contribution(model: &Model) -> Contribution {
    let mut writer = Writer {
        columns: ColumnTypes::new(model),
        tables: Vec::with_capacity(model.tables.len()),
        nodes: Nodes::default(),
        contribution: Contribution::default(),
    };
    for table in &model.tables {
        let names = TableNames::new(table, &mut writer.nodes);
        writer.tables.push(names);
    }
    for (index, table) in model.tables.iter().enumerate() {
        writer.table(index, table);
    }
    let Writer { columns, mut nodes, mut contribution, .. } = writer;
    columns.write_used(model, &mut nodes, &mut contribution);
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
    fn new(table: &Table, nodes: &mut Nodes) -> Self {
        let mut derived = |suffix: &str| nodes.name(&format!("{}{suffix}", table.type_name));
        let (row, clauses, sort) = (derived(""), derived("Clauses"), derived("Sort"));
        let (aggregate, fields) = (derived("Aggregate"), derived("Fields"));
        let (pks, pk_columns) = (derived("Pks"), derived("PkColumns"));
        let by = nodes.input(name!("where"), Type::Named(clauses.clone()));
        let mut list_arguments = vec![by.clone()];
        if table.columns.iter().any(|column| columns::is_sortable(&column.kind)) {
            let inputs = Type::NonNullNamed(sort.clone()).list();
            list_arguments.push(nodes.input(name!("sort"), inputs));
        }
        list_arguments.push(nodes.input(name!("limit"), Type::Named(name!("Int"))));
        list_arguments.push(nodes.input(name!("offset"), Type::Named(name!("Int"))));
        let aggregate_arguments = vec![by];
        Self { row, clauses, sort, aggregate, fields, pks, pk_columns, list_arguments, aggregate_arguments }
    }
}

struct Writer<'m> {
    columns: ColumnTypes<'m>,
    /// By table id.
    tables: Vec<TableNames>,
    nodes: Nodes,
    contribution: Contribution,
}

impl Writer<'_> {
    fn table(&mut self, index: usize, table: &Table) {
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
        for column in &table.columns {
            let output = self.columns.output(&column.kind, column.nullable);
            fields.push(self.nodes.field(&column.field, output));
        }
        for relation in &table.relations {
            let target = &self.tables[relation.target.0 as usize];
            let name = self.nodes.name(&relation.field);
            match relation.cardinality {
                Cardinality::One => {
                    let row = Type::Named(target.row.clone());
                    fields.push(nodes::field_with(name, Vec::new(), row));
                }
                Cardinality::Many => fields.push(list_field(name, target)),
            }
            if let Some(aggregate) = &relation.aggregate_field {
                fields.push(aggregate_field(self.nodes.name(aggregate), target));
            }
        }
        let name = self.tables[index].row.clone();
        self.add(nodes::object(name, fields));
    }

    fn clauses_type(&mut self, index: usize, table: &Table) {
        let own = self.tables[index].clauses.clone();
        let list = Type::NonNullNamed(own.clone()).list();
        let mut fields = Vec::with_capacity(table.columns.len() + table.relations.len() + 3);
        // A column or relation of such a name hides the operator.
        for (operator, operand) in
            [(name!("and"), list.clone()), (name!("or"), list), (name!("not"), Type::Named(own.clone()))]
        {
            if table.row_field(&operator).is_none() {
                fields.push(self.nodes.input(operator, operand));
            }
        }
        for column in &table.columns {
            let filter = Type::Named(self.columns.filter(&column.kind));
            fields.push(self.nodes.named_input(&column.field, filter));
        }
        for relation in &table.relations {
            let clauses = self.tables[relation.target.0 as usize].clauses.clone();
            fields.push(self.nodes.named_input(&relation.field, Type::Named(clauses)));
        }
        self.add(nodes::input_object(own, fields));
    }

    fn sort_type(&mut self, index: usize, table: &Table) {
        let sortable = table.columns.iter().filter(|column| columns::is_sortable(&column.kind));
        let operator = || Type::Named(name!("SortOperator"));
        let fields: Vec<_> =
            sortable.map(|column| self.nodes.named_input(&column.field, operator())).collect();
        if !fields.is_empty() {
            self.columns.sorts = true;
            let name = self.tables[index].sort.clone();
            self.add(nodes::input_object(name, fields));
        }
    }

    fn aggregate_types(&mut self, index: usize, table: &Table) {
        let fields_name = self.tables[index].fields.clone();
        let mut members = vec![self.nodes.field("count", Type::NonNullNamed(name!("Int")))];
        for function in [name!("sum"), name!("avg"), name!("max"), name!("min")] {
            members.push(nodes::field_with(function, Vec::new(), Type::Named(fields_name.clone())));
        }
        let name = self.tables[index].aggregate.clone();
        self.add(nodes::object(name, members));
        let mut fields = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let output = self.columns.aggregated(&column.kind);
            fields.push(self.nodes.field(&column.field, output));
        }
        self.add(nodes::object(fields_name, fields));
    }

    fn queries(&mut self, index: usize, table: &Table) {
        let names = &self.tables[index];
        let list = list_field(self.nodes.name(&table.list_name), names);
        let aggregate_name = self.nodes.name(&format!("{}_aggregate", table.list_name));
        let aggregate = aggregate_field(aggregate_name, names);
        self.contribution.query.extend([list, aggregate]);
    }

    /// The answer of a creation, and the key's input.
    fn key_types(&mut self, index: usize, table: &Table) {
        let mut outputs = Vec::with_capacity(table.primary_key.len());
        let mut inputs = Vec::with_capacity(table.primary_key.len());
        for &id in &table.primary_key {
            let column = table.column(id);
            let output = self.columns.output(&column.kind, column.nullable);
            outputs.push(self.nodes.field(&column.field, output));
            let input = self.columns.input(&column.kind, false);
            inputs.push(self.nodes.named_input(&column.field, input));
        }
        if table.primary_key.is_empty() {
            for column in &table.columns {
                let output = self.columns.output(&column.kind, column.nullable);
                outputs.push(self.nodes.field(&column.field, output));
            }
        }
        let names = &self.tables[index];
        let (pks, pk_columns) = (names.pks.clone(), names.pk_columns.clone());
        self.add(nodes::object(pks, outputs));
        if !inputs.is_empty() {
            self.add(nodes::input_object(pk_columns, inputs));
        }
    }

    fn mutations(&mut self, index: usize, table: &Table) {
        let arguments = self.column_arguments(table, |id| {
            let column = table.column(id);
            column.nullable || column.has_default
        });
        let pks = Type::Named(self.tables[index].pks.clone());
        self.mutation("create", table, arguments, pks);
        if table.primary_key.is_empty() {
            return;
        }
        self.columns.changes = true;
        let result = || Type::Named(name!("Result"));
        let key_type = Type::NonNullNamed(self.tables[index].pk_columns.clone());
        let key = self.nodes.input(name!("pk_columns"), key_type);
        let mut arguments = vec![key.clone()];
        let columns = self.column_arguments(table, |_| true);
        // A column of that name can be created but not updated: the key has the name.
        arguments.extend(columns.into_iter().filter(|argument| argument.name != "pk_columns"));
        self.mutation("update", table, arguments, result());
        self.mutation("delete", table, vec![key], result());
    }

    fn column_arguments(
        &mut self,
        table: &Table,
        is_optional: impl Fn(ColumnId) -> bool,
    ) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = Vec::with_capacity(table.columns.len() + 1);
        for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.writable) {
            let input = self.columns.input(&column.kind, is_optional(ColumnId(index as u16)));
            arguments.push(self.nodes.named_input(&column.field, input));
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
        let name = self.nodes.name(&format!("{verb}{}", table.type_name));
        self.contribution.mutation.push(nodes::field_with(name, arguments, answer));
    }

    fn add(&mut self, definition: ExtendedType) {
        self.contribution.types.push((definition.name().clone(), definition));
    }
}

fn list_field(name: Name, target: &TableNames) -> Node<FieldDefinition> {
    let rows = Type::NonNullNamed(target.row.clone()).list().non_null();
    nodes::field_with(name, target.list_arguments.clone(), rows)
}

fn aggregate_field(name: Name, target: &TableNames) -> Node<FieldDefinition> {
    let aggregate = Type::NonNullNamed(target.aggregate.clone());
    nodes::field_with(name, target.aggregate_arguments.clone(), aggregate)
}
