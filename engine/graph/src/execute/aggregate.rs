//! Counts, sums, averages, greatest and least values of what passes a filter.

use std::cmp::Ordering;

use prony_graph_store::Value;
use prony_graphql::json;

use crate::{
    execute::{json_value, thing::Thing},
    planning::plan::{AggregateField, AggregateKind, AggregateOutput},
};
use prony_source::dialect::{AggregateFunction, write_integer};

/// Of one property.
#[derive(Debug, Default, Clone)]
struct Column<'r> {
    count: u64,
    /// Exact, also where there are more than 64 bits.
    integers: i128,
    doubles: f64,
    has_doubles: bool,
    greatest: Option<Value<'r>>,
    least: Option<Value<'r>>,
}

/// What has passed so far.
#[derive(Debug)]
pub(crate) struct Totals<'p, 'r> {
    outputs: &'p [AggregateOutput],
    count: u64,
    /// By function's output, then by member.
    columns: Vec<Vec<Column<'r>>>,
}

impl<'p, 'r> Totals<'p, 'r> {
    pub(crate) fn new(outputs: &'p [AggregateOutput]) -> Self {
        let columns = outputs.iter().map(|output| match &output.kind {
            AggregateKind::Fields(_, members) => vec![Column::default(); members.len()],
            _ => Vec::new(),
        });
        Self { outputs, count: 0, columns: columns.collect() }
    }

    /// Whether only their number is asked for.
    pub(crate) fn only_counts(&self) -> bool {
        self.columns.iter().all(Vec::is_empty)
    }

    pub(crate) fn set_count(&mut self, count: u64) {
        self.count = count;
    }

    pub(crate) fn add(&mut self, thing: &Thing<'r>) {
        self.count += 1;
        for (output, columns) in self.outputs.iter().zip(&mut self.columns) {
            let AggregateKind::Fields(_, members) = &output.kind else { continue };
            for (member, column) in members.iter().zip(columns) {
                let value = member.subject.as_ref().ok().and_then(|subject| thing.value(subject));
                if let Some(value) = value {
                    column.add(value);
                }
            }
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (output, columns) in self.outputs.iter().zip(&self.columns) {
            out.extend_from_slice(&output.prefix);
            match &output.kind {
                AggregateKind::Typename(name) => json::write_string(out, name),
                AggregateKind::Count => write_integer(out, self.count),
                AggregateKind::Fields(function, members) => write_fields(out, *function, members, columns),
            }
        }
        out.push(b'}');
    }
}

fn write_fields(
    out: &mut Vec<u8>,
    function: AggregateFunction,
    members: &[AggregateField],
    columns: &[Column<'_>],
) {
    out.push(b'{');
    for (member, column) in members.iter().zip(columns) {
        out.extend_from_slice(&member.prefix);
        match &member.subject {
            Err(type_name) => json::write_string(out, type_name),
            Ok(_) => column.write(out, function),
        }
    }
    out.push(b'}');
}

impl<'r> Column<'r> {
    fn add(&mut self, value: Value<'r>) {
        match &value {
            Value::Integer(value) => {
                self.integers += i128::from(*value);
                self.count += 1;
            }
            Value::Double(value) => {
                self.doubles += value;
                self.has_doubles = true;
                self.count += 1;
            }
            _ => {}
        }
        let beats = |known: &Option<Value<'r>>, wanted| {
            known.as_ref().is_none_or(|known| value.order(known) == Some(wanted))
        };
        let (is_greatest, is_least) =
            (beats(&self.greatest, Ordering::Greater), beats(&self.least, Ordering::Less));
        if is_greatest {
            self.greatest = Some(value.clone());
        }
        if is_least {
            self.least = Some(value);
        }
    }

    fn write(&self, out: &mut Vec<u8>, function: AggregateFunction) {
        let extreme = match function {
            AggregateFunction::Max => &self.greatest,
            AggregateFunction::Min => &self.least,
            AggregateFunction::Sum | AggregateFunction::Avg => &None,
        };
        match (function, extreme) {
            (_, Some(value)) => json_value::write(out, value),
            (AggregateFunction::Sum, _) if self.count > 0 && !self.has_doubles => {
                write_integer(out, self.integers);
            }
            (AggregateFunction::Sum, _) if self.count > 0 => {
                json_value::write_double(out, self.doubles + self.integers as f64);
            }
            (AggregateFunction::Avg, _) if self.count > 0 => {
                let sum = self.doubles + self.integers as f64;
                json_value::write_double(out, sum / self.count as f64);
            }
            // No values, or texts and truths, which have no sum.
            _ => out.extend_from_slice(b"null"),
        }
    }
}
