//! Conditions on the properties of one type, and the index that answers them best.

use crate::index::property_index::{Lookup, PropertyIndex, lookup};
use crate::types::condition::Condition;
use crate::types::schema::Type;
use crate::types::value::find_property;

/// Conditions on the properties of one type, by their numbers.
#[derive(Debug)]
pub(crate) struct Filter<'c>(Vec<(Option<u16>, &'c Condition<'c>)>);

impl<'c> Filter<'c> {
    /// None where nothing of this type can fulfil them.
    pub(crate) fn new(of: &Type, conditions: &'c [Condition<'c>]) -> Option<Self> {
        let number = |condition: &Condition<'_>| Some(of.properties.get(condition.property)?.number);
        let by_number: Vec<_> = conditions.iter().map(|condition| (number(condition), condition)).collect();
        let is_possible = by_number.iter().all(|(number, of)| number.is_some() || of.holds(None));
        is_possible.then_some(Self(by_number))
    }

    /// The best of the type's indexes, and what it is asked for.
    pub(crate) fn lookup<'t>(&self, of: &'t Type) -> Option<(&'t PropertyIndex, Lookup)> {
        let mut best = None;
        for (number, kind, index) in of.indexes() {
            let own: Vec<_> =
                self.0.iter().filter(|(of, _)| *of == Some(number)).map(|(_, of)| *of).collect();
            match lookup(kind, &own) {
                Some(point @ Lookup::Point(_)) => return Some((index, point)),
                Some(spans) if best.is_none() => best = Some((index, spans)),
                _ => {}
            }
        }
        best
    }

    /// Whether all of them hold for properties as they are kept.
    pub(crate) fn holds(&self, properties: &[u8]) -> bool {
        self.0.iter().all(|(number, condition)| {
            let found = number.and_then(|number| find_property(properties, number));
            condition.holds(found.as_ref())
        })
    }
}
