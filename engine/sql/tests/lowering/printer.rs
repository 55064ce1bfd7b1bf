//! Plans as text, one line a node, indented by nest level.

use std::fmt::Write as _;

use prony_graphql::selection::{Slot, SlotRoot, Step, Value};
use prony_source::dialect::{ResultOutput, RowCount};
use prony_sql::{
    builder::{Dialect, Parameter, SqlBuilder},
    model::{Column, Model, Table},
    plan::{
        AggregateKind, AggregatePlan, Direction, ListPlan, MutationPlan, OrderKey, Output, OutputKind, Root,
        RootPlan, RowsPlan,
    },
};

/// Marks parameters by number; the printer puts their values in place.
struct Shown;

impl Dialect for Shown {
    fn placeholder(&self, text: &mut String, number: usize, _: &Column) {
        write!(text, "{{{number}}}").unwrap();
    }

    fn membership(&self, text: &mut String, operand: &str, number: usize, _: &Column, negated: bool) {
        let operator = if negated { "not in" } else { "in" };
        write!(text, "{operand} {operator} {{{number}}}").unwrap();
    }

    fn like(&self, text: &mut String, operand: &str, number: usize, _: &Column, insensitive: bool) {
        let operator = if insensitive { "ilike" } else { "like" };
        write!(text, "{operand} {operator} {{{number}}}").unwrap();
    }

    fn order_key(&self, text: &mut String, operand: &str, _: &Column, key: OrderKey) {
        let direction = if key.direction == Direction::Ascending { "asc" } else { "desc" };
        write!(text, "{} {direction}", operand.replace('"', "")).unwrap();
    }
}

pub(crate) fn print(model: &Model, plan: &RootPlan) -> String {
    let mut printer = Printer { model, out: String::new() };
    let key = &plan.response_key;
    match &plan.root {
        Root::Read(RowsPlan::List(list)) => printer.list(key, "", list, 0),
        Root::Read(RowsPlan::Aggregate(aggregate)) => printer.aggregate(key, aggregate, 0),
        Root::Read(RowsPlan::One(_)) => panic!("a root field is a list or an aggregate"),
        Root::Write(MutationPlan::Create(create)) => {
            printer.statement(key, |builder| builder.insert(model, create));
            printer.outputs(model.table(create.table), &create.outputs, 1);
        }
        Root::Write(MutationPlan::Update(update)) => {
            printer.statement(key, |builder| {
                builder.update(model, update);
            });
            printer.results(&update.outputs);
        }
        Root::Write(MutationPlan::Delete(delete)) => {
            printer.statement(key, |builder| builder.delete(model, delete));
            printer.results(&delete.outputs);
        }
    }
    printer.out
}

struct Printer<'m> {
    model: &'m Model,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.out, "{}{text}", "  ".repeat(depth)).unwrap();
    }

    fn statement(&mut self, key: &str, build: impl FnOnce(&mut SqlBuilder<'_, Shown>)) {
        let text = sql(build);
        self.line(0, &format!("{key}: {text}"));
    }

    fn list(&mut self, key: &str, prefix: &str, list: &ListPlan, depth: usize) {
        let table = self.model.table(list.table);
        let text = sql(|builder| {
            builder.condition(self.model, list.table, "\"t\"", &list.filter);
            builder.order_by(table, "t", &list.order);
        });
        let limit = count(" limit", list.limit.as_ref());
        let offset = count(" offset", list.offset.as_ref());
        self.line(depth, &format!("{key}: {prefix}list {} where {text}{limit}{offset}", table.name));
        self.outputs(table, &list.outputs, depth + 1);
    }

    fn outputs(&mut self, table: &Table, outputs: &[Output], depth: usize) {
        for output in outputs {
            let key = &output.response_key;
            match &output.kind {
                OutputKind::Typename(name) => self.line(depth, &format!("{key}: {name:?}")),
                OutputKind::Column(id) => {
                    self.line(depth, &format!("{key}: column {}", table.column(*id).name));
                }
                OutputKind::Related(_, rows) => match &**rows {
                    RowsPlan::One(row) => {
                        let target = self.model.table(row.table);
                        self.line(depth, &format!("{key}: one {}", target.name));
                        self.outputs(target, &row.outputs, depth + 1);
                    }
                    RowsPlan::List(list) => self.list(key, "many ", list, depth),
                    RowsPlan::Aggregate(aggregate) => self.aggregate(key, aggregate, depth),
                },
            }
        }
    }

    fn aggregate(&mut self, key: &str, plan: &AggregatePlan, depth: usize) {
        let table = self.model.table(plan.table);
        let text = sql(|builder| builder.condition(self.model, plan.table, "\"t\"", &plan.filter));
        self.line(depth, &format!("{key}: aggregate {} where {text}", table.name));
        for output in &plan.outputs {
            let text = match &output.kind {
                AggregateKind::Typename(name) => format!("{name:?}"),
                AggregateKind::Count => "count".to_owned(),
                AggregateKind::Fields(function, fields) => {
                    let fields: Vec<String> = fields
                        .iter()
                        .map(|field| match &field.column {
                            Ok(id) => format!("{}: {}", field.response_key, table.column(*id).name),
                            Err(name) => format!("{}: {name:?}", field.response_key),
                        })
                        .collect();
                    format!("{function:?} {{ {} }}", fields.join(", "))
                }
            };
            self.line(depth + 1, &format!("{}: {text}", output.response_key));
        }
    }

    fn results(&mut self, outputs: &[ResultOutput]) {
        for output in outputs {
            self.line(1, &format!("{}: {:?}", output.response_key, output.kind));
        }
    }
}

fn sql(build: impl FnOnce(&mut SqlBuilder<'_, Shown>)) -> String {
    let mut builder = SqlBuilder::new(&Shown);
    build(&mut builder);
    let mut text = builder.text;
    for (index, parameter) in builder.parameters.iter().enumerate().rev() {
        let Parameter::Column { value: given, .. } = parameter else { panic!("no counts here") };
        text = text.replace(&format!("{{{}}}", index + 1), &format!("{{\u{1}{}}}", value(given)));
    }
    text.replace('\u{1}', "")
}

fn count(label: &str, count: Option<&RowCount>) -> String {
    count.map(|count| format!("{label} {}", value(&count.value))).unwrap_or_default()
}

fn value(given: &Value) -> String {
    match given {
        Value::Scalar(json) => json.to_string(),
        Value::Slot(slot) => format!("Slot({})", path(slot)),
        Value::List(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn path(slot: &Slot) -> String {
    let root = match slot.root {
        SlotRoot::Variable(index) => index.to_string(),
        other => format!("{other:?}"),
    };
    slot.path.iter().fold(root, |text, step| match step {
        Step::Key(key) => format!("{text}.{key}"),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}
