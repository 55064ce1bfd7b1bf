//! Selections as text, for tests and logs: one field a line, `$0.id.gt` for what variables hold there.

use std::fmt::{self, Display, Formatter};

use apollo_compiler::Name;

use crate::selection::{Field, Selection, Slot, SlotRoot, Step, Value};

impl Display for Selection {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.kind)?;
        self.fields.iter().try_for_each(|field| print_field(formatter, field, 1))
    }
}

fn print_field(formatter: &mut Formatter<'_>, field: &Field, level: usize) -> fmt::Result {
    write!(formatter, "{:1$}", "", level * 2)?;
    if field.response_key != field.name {
        write!(formatter, "{}: ", field.response_key)?;
    }
    write!(formatter, "{}.{}", field.parent_type, field.name)?;
    print_arguments(formatter, &field.arguments)?;
    for directive in &field.directives {
        write!(formatter, " @{}", directive.name)?;
        print_arguments(formatter, &directive.arguments)?;
    }
    writeln!(formatter, " {} @{}:{}", field.output, field.position.line, field.position.column)?;
    field.selections.iter().try_for_each(|child| print_field(formatter, child, level + 1))
}

fn print_arguments(formatter: &mut Formatter<'_>, arguments: &[(Name, Value)]) -> fmt::Result {
    if arguments.is_empty() {
        return Ok(());
    }
    formatter.write_str("(")?;
    print_entries(formatter, arguments)?;
    formatter.write_str(")")
}

fn print_entries(formatter: &mut Formatter<'_>, entries: &[(Name, Value)]) -> fmt::Result {
    for (index, (key, value)) in entries.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(formatter, "{separator}{key}: {value}")?;
    }
    Ok(())
}

impl Display for Value {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Boolean(value) => write!(formatter, "{value}"),
            Self::Enum(name) => write!(formatter, "{name}"),
            Self::Scalar(json) => write!(formatter, "{json}"),
            Self::Slot(slot) => write!(formatter, "{slot}"),
            Self::List(items) => {
                formatter.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(formatter, "{separator}{item}")?;
                }
                formatter.write_str("]")
            }
            Self::Object(entries) => {
                formatter.write_str("{")?;
                print_entries(formatter, entries)?;
                formatter.write_str("}")
            }
        }
    }
}

impl Display for Slot {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.root {
            SlotRoot::Variable(index) => write!(formatter, "${index}")?,
            SlotRoot::Session(index) => write!(formatter, "session[{index}]")?,
            SlotRoot::Given(index) => write!(formatter, "given[{index}]")?,
        }
        self.path.iter().try_for_each(|step| match step {
            Step::Key(key) => write!(formatter, ".{key}"),
            Step::Index(index) => write!(formatter, "[{index}]"),
        })
    }
}
