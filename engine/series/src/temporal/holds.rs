//! Whether a condition holds of an entity: each of its tests is asked of the instances within the time that is asked for, and holds where it
//! holds for one of them (ETSI GS CIM 009, clause 5.7.4.4).

use prony_series_store::{AttributeId, Kind, ReadError, Summary, Value, calendar::Periods};

use super::condition::{AttributeTest, Condition, Literal, Order, Test, ValueOrRange};
use crate::{
    ngsi::{
        geometry::GeoQuery,
        json::{Arena, Json},
        time,
    },
    query::entity::{AskedAttribute, EntityResult},
};

/// The attributes that a condition can be asked about, by its names.
pub(super) type Known = Vec<(String, AskedAttribute)>;

/// Of all instances of an attribute.
pub(super) fn summary_of(entity: &mut EntityResult, attribute: AttributeId) -> Result<Summary, ReadError> {
    let mut whole = Summary::default();
    for (rows, _) in &mut entity.series {
        rows.summarize(attribute, Periods::Whole, |_, part| {
            whole.add_all(part);
            true
        })?;
    }
    Ok(whole)
}

pub(super) fn holds(
    condition: &Condition,
    entity: &mut EntityResult,
    known: &Known,
) -> Result<bool, ReadError> {
    match condition {
        Condition::All(all) => {
            for each in all {
                if !holds(each, entity, known)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Condition::Any(any) => {
            for each in any {
                if holds(each, entity, known)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Condition::One(test) => test.holds_of(entity, known),
    }
}

/// Whether one of an entity's places lies as it is asked for.
pub(super) fn lies(
    geo: &GeoQuery,
    entity: &mut EntityResult,
    property: AttributeId,
) -> Result<bool, ReadError> {
    any_value(entity, property, |value| matches!(value, Value::Text(place) if geo.holds(place)))
}

/// Whether it holds for one value. What holds of a text is not asked again while it stays.
fn any_value(
    entity: &mut EntityResult,
    attribute: AttributeId,
    holds: impl Fn(Value<'_>) -> bool,
) -> Result<bool, ReadError> {
    let (mut found, mut refused) = (false, String::new());
    entity.visit(&[attribute], |rows, row| {
        let value = rows.get(row, attribute);
        match value {
            Value::Null => return true,
            Value::Text(text) if !text.is_empty() && text == refused => return true,
            _ => found = holds(value),
        }
        if let Value::Text(text) = value {
            text.clone_into(&mut refused);
        }
        !found
    })?;
    Ok(found)
}

impl AttributeTest {
    fn holds_of(&self, entity: &mut EntityResult, known: &Known) -> Result<bool, ReadError> {
        let is_absent = matches!(self.test, Test::IsAbsent);
        let Some((_, of)) = known.iter().find(|(name, _)| *name == self.attribute) else {
            return Ok(is_absent);
        };
        if self.members.is_empty() {
            match &self.test {
                Test::IsThere => return Ok(summary_of(entity, of.id)?.count > 0),
                Test::IsAbsent => return Ok(summary_of(entity, of.id)?.count == 0),
                Test::Compares(order, literal) if matches!(of.kind, Kind::Double | Kind::Time) => {
                    // One of them is so if the lowest or the highest is.
                    let Some(bound) = number_of(of.kind, literal) else { return Ok(false) };
                    let of_all = summary_of(entity, of.id)?;
                    return Ok(of_all.count > 0 && order.of_extremes(&of_all, bound));
                }
                _ => {}
            }
        }
        let is_there = any_value(entity, of.id, |value| self.holds_for(of.kind, value))?;
        Ok(is_there != is_absent)
    }

    /// Of a value that is not null. Whether a member is absent is asked as whether one is there.
    fn holds_for(&self, kind: Kind, value: Value<'_>) -> bool {
        let (Kind::Structured | Kind::Geometry, Value::Text(text)) = (kind, value) else {
            return self.members.is_empty() && self.test.holds_for(&Scalar::of(kind, value));
        };
        let arena = Arena::new();
        let Ok(json) = Json::read(text.as_bytes(), &arena) else { return false };
        let mut found = Some(&json);
        for member in &self.members {
            found = found.and_then(|json| json.member(member));
        }
        match (found, &self.test) {
            (None, _) => false,
            (Some(_), Test::IsThere | Test::IsAbsent) => true,
            (Some(Json::List(items)), asked) => {
                items.iter().any(|item| asked.holds_for(&Scalar::of_json(item)))
            }
            (Some(one), asked) => asked.holds_for(&Scalar::of_json(one)),
        }
    }
}

/// A value as it is compared.
enum Scalar<'v> {
    Number(f64),
    Boolean(bool),
    TimeMs(i64),
    Text(&'v str),
    /// It is like nothing.
    Other,
}

impl<'v> Scalar<'v> {
    fn of(kind: Kind, value: Value<'v>) -> Self {
        match (kind, value) {
            (Kind::Time, Value::Integer(time)) => Self::TimeMs(time),
            (_, Value::Boolean(value)) => Self::Boolean(value),
            (_, Value::Text(text)) => Self::Text(text),
            (_, value) => value.number().map_or(Self::Other, Self::Number),
        }
    }

    fn of_json(value: &'v Json<'_>) -> Self {
        match value {
            Json::Integer(_) | Json::LongInteger(_) | Json::Double(_) => {
                Self::Number(value.number().unwrap_or(f64::NAN))
            }
            Json::Boolean(value) => Self::Boolean(*value),
            Json::Text(text) => Self::Text(text),
            Json::Null | Json::List(_) | Json::Object(_) => Self::Other,
        }
    }

    /// How it stands to a value; none where they cannot be compared.
    fn compare(&self, literal: &Literal) -> Option<std::cmp::Ordering> {
        match (self, literal) {
            (Self::Number(one), Literal::Number(other)) => one.partial_cmp(other),
            (Self::Boolean(one), Literal::Boolean(other)) => Some(one.cmp(other)),
            (Self::TimeMs(one), Literal::TimeMs(other)) => Some(one.cmp(other)),
            (Self::TimeMs(one), Literal::Text(text)) => Some(one.cmp(&time::parse(text)?)),
            (Self::Text(one), Literal::Text(other)) => Some((*one).cmp(other)),
            (Self::Text(text), Literal::TimeMs(time)) => Some(time::parse(text)?.cmp(time)),
            _ => None,
        }
    }
}

impl ValueOrRange {
    fn has(&self, value: &Scalar<'_>) -> bool {
        match self {
            Self::Value(literal) => value.compare(literal).is_some_and(std::cmp::Ordering::is_eq),
            Self::Range(from, to) => {
                value.compare(from).is_some_and(std::cmp::Ordering::is_ge)
                    && value.compare(to).is_some_and(std::cmp::Ordering::is_le)
            }
        }
    }
}

impl Test {
    fn holds_for(&self, value: &Scalar<'_>) -> bool {
        match self {
            Self::IsThere => true,
            Self::IsAbsent => false,
            Self::Equals(all) => all.iter().any(|of| of.has(value)),
            Self::Differs(all) => !all.iter().any(|of| of.has(value)),
            Self::Compares(order, literal) => value.compare(literal).is_some_and(|found| order.has(found)),
            Self::Matches(pattern) => matches!(value, Scalar::Text(text) if pattern.is_match(text)),
            Self::MatchesNot(pattern) => matches!(value, Scalar::Text(text) if !pattern.is_match(text)),
        }
    }
}

/// What is compared with the numbers in which a kind is kept.
fn number_of(kind: Kind, literal: &Literal) -> Option<f64> {
    match (kind, literal) {
        (Kind::Double, Literal::Number(number)) => Some(*number),
        (Kind::Time, Literal::TimeMs(time)) => Some(*time as f64),
        (Kind::Time, Literal::Text(text)) => time::parse(text).map(|time| time as f64),
        _ => None,
    }
}

impl Order {
    fn has(self, found: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => found.is_lt(),
            Self::LessOrEqual => found.is_le(),
            Self::Greater => found.is_gt(),
            Self::GreaterOrEqual => found.is_ge(),
        }
    }

    fn of_extremes(self, of: &Summary, bound: f64) -> bool {
        match self {
            Self::Less => of.min < bound,
            Self::LessOrEqual => of.min <= bound,
            Self::Greater => of.max > bound,
            Self::GreaterOrEqual => of.max >= bound,
        }
    }
}
