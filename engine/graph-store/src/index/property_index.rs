//! An index of one property of one type: which nodes or relationships may have a value, in the order of the values.
//! Readers walk it while the writer adds and removes.
//!
//! An entry is 16 bytes, whatever the value: its order, then, of a string, some bits of its hash, then who has it. So
//! entries are hints: whoever looks up holds the condition against what it finds. While a value changes there are
//! entries of both. A walk over a range can still miss what it changes for: it may pass the new entry's place before the
//! entry is written, and come to the old one's when that is removed.

use crate::types::condition::{Condition, Test};
use crate::types::id::{Ref, hash};
use crate::types::order::is_equal;
use crate::types::value::{Kind, Value};
use crossbeam_epoch::Guard;
use crossbeam_skiplist::base::SkipList;
use std::fmt;
use std::ops::RangeInclusive;

/// The value's order, and what tells those apart that have the same.
type Entry = (u64, u64);
/// Of the second word, the bits for shard and index; above them are bits of a string's hash.
const OWNER_BITS: u32 = 34;
const OWNER: u64 = (1 << OWNER_BITS) - 1;

/// Entries from one to another, both included.
type Span = RangeInclusive<Entry>;

pub(crate) struct PropertyIndex(SkipList<Entry, ()>);

impl Default for PropertyIndex {
    fn default() -> Self {
        Self(SkipList::new(crossbeam_epoch::default_collector().clone()))
    }
}

impl fmt::Debug for PropertyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PropertyIndex")
    }
}

/// What an index is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// One value: its owners stand there in their order.
    Point(Span),
    /// More than one.
    Spans(Vec<Span>),
}

impl PropertyIndex {
    /// Lists have no order that would help.
    pub(crate) const fn can_have(kind: Kind) -> bool {
        matches!(kind, Kind::Boolean | Kind::Integer | Kind::Double | Kind::String)
    }

    pub(crate) fn add(&self, value: &Value<'_>, at: Ref, guard: &Guard) {
        if let Some(entry) = entry(value, at) {
            self.0.get_or_insert(entry, (), guard).release(guard);
        }
    }

    pub(crate) fn remove(&self, value: &Value<'_>, at: Ref, guard: &Guard) {
        if let Some(entry) = entry(value, at)
            && let Some(removed) = self.0.remove(&entry, guard)
        {
            removed.release(guard);
        }
    }

    pub(crate) fn has(&self, value: &Value<'_>, at: Ref, guard: &Guard) -> bool {
        entry(value, at).is_none_or(|entry| self.0.contains_key(&entry, guard))
    }

    /// While nobody writes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whose entries stand there: those of one value by shard and index.
    pub(crate) fn owners<'r>(
        &'r self,
        number: u16,
        span: Span,
        guard: &'r Guard,
    ) -> impl Iterator<Item = Ref> + use<'r> {
        self.0.range::<Entry, _>(span, guard).map(move |entry| {
            let owner = entry.key().1 & OWNER;
            Ref::new(number, (owner >> 32) as u8, owner as u32)
        })
    }

    /// The owners of several spans in the order of slots, each once; none where there are more than so many.
    pub(crate) fn few_owners(
        &self,
        number: u16,
        spans: Vec<Span>,
        at_most: usize,
        guard: &Guard,
    ) -> Option<Vec<Ref>> {
        let mut owners = Vec::new();
        for span in spans {
            for owner in self.owners(number, span, guard) {
                if owners.len() == at_most {
                    return None;
                }
                owners.push(owner);
            }
        }
        owners.sort_unstable_by_key(|owner| (owner.shard(), owner.index()));
        owners.dedup();
        Some(owners)
    }
}

/// True where a value of this kind has an entry: all have but a double that is no number, which no condition finds.
pub(crate) fn is_indexed(value: &Value<'_>) -> bool {
    words(value).is_some()
}

/// Whether what has one of the values has the same entry with the other: they are equal, or strings whose first bytes and hashes are the same.
pub(crate) fn have_one_entry(a: &Value<'_>, b: &Value<'_>) -> bool {
    words(a) == words(b)
}

fn entry(value: &Value<'_>, at: Ref) -> Option<Entry> {
    let (order, hash) = words(value)?;
    Some((order, hash | u64::from(at.shard()) << 32 | u64::from(at.index())))
}

/// The order of a value, and what goes above the owner.
fn words(value: &Value<'_>) -> Option<(u64, u64)> {
    match value {
        Value::Boolean(value) => Some((u64::from(*value), 0)),
        Value::Integer(value) => Some((order_of_integer(*value), 0)),
        Value::Double(value) if value.is_nan() => None,
        Value::Double(value) => Some((order_of_double(*value), 0)),
        Value::String(value) => Some((prefix(value, 0), hash(value.as_bytes()) & !OWNER)),
        _ => None,
    }
}

const fn order_of_integer(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

fn order_of_double(value: f64) -> u64 {
    // Both zeros are one.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The first eight bytes.
fn prefix(text: &str, filled_with: u8) -> u64 {
    let mut bytes = [filled_with; 8];
    let count = text.len().min(8);
    bytes[..count].copy_from_slice(&text.as_bytes()[..count]);
    u64::from_be_bytes(bytes)
}

/// Where the owners stand that may fulfil all of these conditions, which are on one property of this kind. None where
/// an index does not help. It may be more than need be.
pub(crate) fn lookup(kind: Kind, conditions: &[&Condition<'_>]) -> Option<Lookup> {
    let mut range: Option<(u64, u64)> = None;
    let mut listed = None;
    for condition in conditions.iter().filter(|condition| !condition.not) {
        let Some(value) = &condition.value else { continue };
        match condition.test {
            Test::Equal => return Some(point(kind, value)),
            Test::In => listed = Some(values(kind, value)),
            _ => {
                if let Some((first, last)) = bounds(kind, condition.test, value) {
                    let (low, high) = range.unwrap_or((0, u64::MAX));
                    range = Some((first.max(low), last.min(high)));
                }
            }
        }
    }
    listed.or_else(|| range.map(|(first, last)| Lookup::Spans(spans_of(first, last))))
}

fn spans_of(first: u64, last: u64) -> Vec<Span> {
    if first <= last { vec![(first, 0)..=(last, u64::MAX)] } else { Vec::new() }
}

fn point(kind: Kind, value: &Value<'_>) -> Lookup {
    match same(kind, value).as_ref().and_then(words) {
        Some((order, hash)) => Lookup::Point((order, hash)..=(order, hash | OWNER)),
        None => Lookup::Spans(Vec::new()),
    }
}

fn values(kind: Kind, list: &Value<'_>) -> Lookup {
    let mut spans: Vec<Span> = (0..list.len().unwrap_or(0))
        .filter_map(|place| match point(kind, &list.element(place)?) {
            Lookup::Point(span) => Some(span),
            Lookup::Spans(_) => None,
        })
        .collect();
    spans.sort_unstable_by_key(|span| *span.start());
    spans.dedup();
    Lookup::Spans(spans)
}

/// The value of this kind that is equal to one.
fn same<'v>(kind: Kind, value: &Value<'v>) -> Option<Value<'v>> {
    let turned = match (kind, value) {
        (Kind::Integer, Value::Double(value)) => Value::Integer(*value as i64),
        (Kind::Double, Value::Integer(value)) => Value::Double(*value as f64),
        (_, value) => value.clone(),
    };
    (turned.kind() == kind && is_equal(&turned, value)).then_some(turned)
}

/// First and last order of what may be found; none where the test says nothing of order.
fn bounds(kind: Kind, test: Test, value: &Value<'_>) -> Option<(u64, u64)> {
    if test == Test::StartsWith {
        return match (kind, value) {
            (Kind::String, Value::String(start)) => Some((prefix(start, 0), prefix(start, u8::MAX))),
            _ => Some(NOTHING),
        };
    }
    // Of a value that falls between two of the kind, those next to it.
    let around = match (kind, value) {
        (Kind::Boolean, Value::Boolean(value)) => (u64::from(*value), u64::from(*value)),
        (Kind::Integer, Value::Integer(value)) => (order_of_integer(*value), order_of_integer(*value)),
        (Kind::Integer, Value::Double(value)) => {
            (order_of_integer(value.floor() as i64), order_of_integer(value.ceil() as i64))
        }
        (Kind::Double, Value::Double(value)) if !value.is_nan() => {
            (order_of_double(*value), order_of_double(*value))
        }
        (Kind::Double, Value::Integer(value)) => {
            let near = *value as f64;
            (order_of_double(near.next_down()), order_of_double(near.next_up()))
        }
        (Kind::String, Value::String(limit)) => (prefix(limit, 0), prefix(limit, 0)),
        _ => NOTHING,
    };
    match test {
        Test::Greater | Test::GreaterOrEqual | Test::Less | Test::LessOrEqual if around == NOTHING => {
            Some(NOTHING)
        }
        Test::Greater | Test::GreaterOrEqual => Some((around.0, u64::MAX)),
        Test::Less | Test::LessOrEqual => Some((0, around.1)),
        _ => None,
    }
}

/// From behind to before.
const NOTHING: (u64, u64) = (u64::MAX, 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::order::order;
    use crate::{Durability, Keep, Options, Side, Store};
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn orders_of_words_are_orders_of_values() {
        let integers = [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Integer);
        let doubles = [f64::NEG_INFINITY, -1.5, -5e-324, 0.0, 5e-324, 1.5, f64::INFINITY].map(Value::Double);
        let texts = ["", "\u{0}", "a", "ab", "abcdefgh", "abcdefghi", "b", "ä"]
            .map(|text| Value::String(text.into()));
        for values in [&integers[..], &doubles[..], &texts[..]] {
            for pair in values.windows(2) {
                assert!(words(&pair[0]).unwrap().0 <= words(&pair[1]).unwrap().0, "{pair:?}");
                assert!(is_equal(&pair[0], &pair[1]) == (words(&pair[0]) == words(&pair[1])), "{pair:?}");
            }
        }
        assert_eq!(words(&Value::Double(-0.0)), words(&Value::Double(0.0)));
        assert_eq!(words(&Value::Double(f64::NAN)), None);
    }

    /// The entry that both have was removed with the value before.
    #[test]
    fn a_value_is_found_that_has_the_entry_of_the_one_before_it() {
        let mut known = HashMap::new();
        let mut texts = (0..1_000_000_u32).map(|number| format!("urn:ngsi{number}"));
        let [before, after] = texts
            .find_map(|text| {
                let words = words(&Value::String(text.as_str().into()));
                known.insert(words, text.clone()).map(|before| [before, text])
            })
            .expect("of so many texts two have the same 30 bits");
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
        let value = |text: &str| Value::String(text.to_owned().into());
        let made = store.write_and_wait(|write| {
            let number = write.make_type(Side::Nodes, "N")?;
            write.declare(Side::Nodes, "N", "name", Kind::String)?;
            write.index(Side::Nodes, "N", "name")?;
            let at = write.create_node("N", "a", &[("name", value(&before))])?;
            write.set_node(at, &[("name", value(&after))], Keep::Others)?;
            Ok(number)
        });
        let number = made.unwrap();
        let condition = |text: &str| Condition {
            property: "name",
            test: Test::Equal,
            not: false,
            value: Some(value(text)),
        };
        let read = store.read();
        let count = |text: &str| read.nodes_where(Some(number), &[condition(text)]).count();
        assert_eq!((count(&before), count(&after)), (0, 1), "{before} {after}");
        assert_eq!(store.check().problems, Vec::<String>::new());
    }

    fn number() -> impl Strategy<Value = Value<'static>> {
        let edge = prop::sample::select(vec![i64::MIN, -1, 0, 1, 1 << 53, (1 << 53) + 1, i64::MAX]);
        prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            edge.clone().prop_map(Value::Integer),
            (edge, -3..3_i32).prop_map(|(edge, step)| {
                let near = edge as f64 + f64::from(step) / 2.0;
                Value::Double(if step > 1 { near.next_up() } else { near })
            }),
            any::<f64>().prop_map(Value::Double),
        ]
    }

    proptest! {
        /// A value that fulfils a condition stands where the index is asked.
        #[test]
        fn lookups_miss_nothing(found in number(), value in number(), test in 0..6_usize) {
            let test = [
                Test::Equal, Test::Greater, Test::GreaterOrEqual, Test::Less, Test::LessOrEqual, Test::StartsWith,
            ][test];
            let condition = Condition { property: "p", test, not: false, value: Some(value) };
            if condition.holds(Some(&found)) {
                let (order, hash) = words(&found).unwrap();
                let spans = match lookup(found.kind(), &[&condition]).unwrap() {
                    Lookup::Point(span) => vec![span],
                    Lookup::Spans(spans) => spans,
                };
                prop_assert!(spans.iter().any(|span| span.contains(&(order, hash))), "{found:?} {spans:?}");
                let either = order_is(&condition, &found);
                prop_assert!(either);
            }
        }
    }

    fn order_is(condition: &Condition<'_>, found: &Value<'_>) -> bool {
        condition.value.as_ref().is_some_and(|value| order(found, value).is_some())
    }
}
