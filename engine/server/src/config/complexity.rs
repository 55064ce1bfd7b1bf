//! Reading `[complexity]`: what fields count for in the estimate of an operation.

use prony_graphql::document::weights::{FieldWeight, FieldWeights};
use prony_source::config::{Faults, FileEntry, described};
use toml::de::{DeInteger, DeValue};

const HIGHEST: u64 = 1_000_000_000;

/// The value of `complexity`. Whether the fields exist is not known here.
pub(super) fn read(entry: FileEntry<'_, '_>, faults: &mut Faults) -> FieldWeights {
    let weights = entry.table(faults).into_iter().filter_map(|entry| {
        let Some((parent, field)) = entry.name().split_once('.') else {
            let message = format!("`{}`: write a type and its field, such as \"Query.orders\"", entry.name());
            faults.push(entry.key_origin(), message);
            return None;
        };
        let (parent, field) = (parent.to_owned(), field.to_owned());
        Some((parent, field, weight(entry, faults)?))
    });
    FieldWeights::new(weights.collect::<Vec<_>>())
}

fn weight(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<FieldWeight> {
    match entry.value().get_ref() {
        DeValue::Integer(number) => {
            let weight = checked(number);
            if weight.is_none() {
                faults.push(entry.value_origin(), format!("`{}`: {WANTED}", entry.name()));
            }
            Some(FieldWeight { weight: Some(weight?), items: None })
        }
        DeValue::Table(_) => {
            let mut found = FieldWeight::default();
            for inner in entry.table(faults) {
                match inner.name() {
                    "weight" => found.weight = number(inner, faults),
                    "items" => found.items = number(inner, faults),
                    _ => inner.unknown("a weight", ["weight", "items"], faults),
                }
            }
            Some(found)
        }
        other => {
            let message = format!(
                "`{}`: write a number, or {{ weight = 5, items = 20 }}, not {}",
                entry.name(),
                described(other)
            );
            faults.push(entry.value_origin(), message);
            None
        }
    }
}

const WANTED: &str = "write a whole number from 0 to 1000000000";

fn number(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<u64> {
    let number = match entry.value().get_ref() {
        DeValue::Integer(number) => checked(number),
        _ => None,
    };
    if number.is_none() {
        faults.push(entry.value_origin(), format!("`{}`: {WANTED}", entry.name()));
    }
    number
}

fn checked(number: &DeInteger<'_>) -> Option<u64> {
    let digits = number.as_str().replace('_', "");
    u64::from_str_radix(&digits, number.radix()).ok().filter(|number| *number <= HIGHEST)
}
