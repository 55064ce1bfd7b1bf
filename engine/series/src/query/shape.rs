//! Results as JSON, in the shapes of QuantumLeap's responses, written part by part.

use std::collections::BTreeMap;

use prony_graphql::json::write_string;
use prony_series_store::{AttributeId, Kind, ReadError, Rows, Value};

use super::{
    entity::{AskedAttribute, EntityResult, TypeResult},
    parameters::{Aggregation, Parameters},
    value::{summary_kind, write_time, write_value},
};
use crate::hidden;

/// A part of a body ends with the value that makes it as long.
const PART_BYTES: usize = 64 << 10;

/// Where a body is written to.
pub(crate) trait Output {
    /// What is written and not handed over.
    fn part(&mut self) -> &mut Vec<u8>;

    /// Hands the part over.
    ///
    /// # Errors
    /// Nobody reads it any more.
    fn hand_over(&mut self) -> Result<(), Stopped>;
}

/// Nobody reads the body any more, or it cannot be gone on with.
#[derive(Debug)]
pub(crate) enum Stopped {
    Gone,
    Unreadable(ReadError),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

/// A body in memory.
impl Output for Vec<u8> {
    fn part(&mut self) -> &mut Vec<u8> {
        self
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// What is asked for by the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All attributes of an entity.
    Entity,
    /// One attribute of an entity.
    EntityAttribute,
    /// All attributes of a type's entities.
    Type,
    /// One attribute of a type's entities.
    TypeAttribute,
    /// One attribute of all types.
    Attribute,
    /// All attributes of all types.
    Attributes,
}

/// What is written, and how.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) shape: Shape,
    /// Without what the path has said.
    pub(crate) only_values: bool,
    pub(crate) parameters: &'a Parameters,
}

type Written = Result<(), Stopped>;

pub(crate) fn put(out: &mut dyn Output, text: &str) {
    out.part().extend_from_slice(text.as_bytes());
}

pub(crate) fn text_member(out: &mut dyn Output, before: &str, text: &str) {
    put(out, before);
    write_string(out.part(), text);
}

/// `[…]` of whatever `write` writes.
pub(crate) fn list<T>(
    out: &mut dyn Output,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut dyn Output, T) -> Written,
) -> Written {
    put(out, "[");
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            put(out, ",");
        }
        write(out, item)?;
    }
    put(out, "]");
    Ok(())
}

impl Writer<'_> {
    /// Writes the whole body.
    pub(crate) fn write(&self, out: &mut dyn Output, mut results: Vec<TypeResult>) -> Written {
        if results.is_empty() {
            put(out, "[]");
            return Ok(());
        }
        match self.shape {
            Shape::Entity | Shape::EntityAttribute => self.write_entity(out, &mut results),
            Shape::Type | Shape::TypeAttribute => self.write_type(out, &mut results),
            Shape::Attribute => {
                let name = results.iter().flat_map(|of| &of.attributes).map(|of| of.name.clone()).next();
                if self.only_values {
                    put(out, "{\"values\":");
                } else {
                    text_member(out, "{\"attrName\":", &name.unwrap_or_default());
                    put(out, ",\"types\":");
                }
                list(out, &mut results, |out, of| self.write_one_type(out, of, 0))?;
                put(out, "}");
                Ok(())
            }
            Shape::Attributes => self.write_attributes(out, &mut results),
        }
    }

    fn write_entity(&self, out: &mut dyn Output, results: &mut [TypeResult]) -> Written {
        let Some(result) = results.first_mut() else { return Ok(()) };
        let TypeResult { name, attributes, time_attribute, entities, .. } = result;
        let Some(entity) = entities.first_mut() else { return Ok(()) };
        put(out, "{");
        if !self.only_values {
            text_member(out, "\"id\":", &entity.id);
            text_member(out, ",\"type\":", name);
            put(out, ",");
        }
        if self.shape == Shape::EntityAttribute
            && let Some(attribute) = attributes.first()
        {
            if !self.only_values {
                text_member(out, "\"attrName\":", &attribute.name);
                put(out, ",");
            }
            self.write_index(out, entity, *time_attribute, true)?;
            self.write_values(out, entity, attribute, 0)?;
        } else {
            self.write_index(out, entity, *time_attribute, true)?;
            put(out, ",\"attributes\":");
            self.write_all_values(out, entity, attributes)?;
        }
        put(out, "}");
        Ok(())
    }

    fn write_type(&self, out: &mut dyn Output, results: &mut [TypeResult]) -> Written {
        let Some(result) = results.first_mut() else { return Ok(()) };
        let TypeResult { name, attributes, time_attribute, entities, .. } = result;
        let one = attributes.first().filter(|_| self.shape == Shape::TypeAttribute);
        if self.only_values {
            put(out, "{\"values\":");
        } else {
            text_member(out, "{\"type\":", name);
            if let Some(attribute) = one {
                text_member(out, ",\"attrName\":", &attribute.name);
            }
            put(out, ",\"entities\":");
        }
        list(out, entities, |out, entity| {
            text_member(out, "{\"id\":", &entity.id);
            put(out, ",");
            self.write_index(out, entity, *time_attribute, false)?;
            if let Some(attribute) = one {
                self.write_values(out, entity, attribute, 0)?;
            } else {
                put(out, ",\"attributes\":");
                self.write_all_values(out, entity, attributes)?;
            }
            put(out, "}");
            Ok(())
        })?;
        put(out, "}");
        Ok(())
    }

    fn write_attributes(&self, out: &mut dyn Output, results: &mut [TypeResult]) -> Written {
        // By its name where each attribute is: the place of a type, and its own in it.
        let mut places: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (of_type, result) in results.iter().enumerate() {
            for (place, attribute) in result.attributes.iter().enumerate() {
                places.entry(attribute.name.clone()).or_default().push((of_type, place));
            }
        }
        put(out, if self.only_values { "{\"values\":" } else { "{\"attrs\":" });
        list(out, places, |out, (name, places)| {
            text_member(out, "{\"attrName\":", &name);
            put(out, ",\"types\":");
            list(out, places, |out, (of_type, place)| {
                self.write_one_type(out, &mut results[of_type], place)
            })?;
            put(out, "}");
            Ok(())
        })?;
        put(out, "}");
        Ok(())
    }

    /// `{"type": …, "entities": […]}` of one attribute.
    fn write_one_type(&self, out: &mut dyn Output, of: &mut TypeResult, place: usize) -> Written {
        let TypeResult { name, attributes, time_attribute, entities, .. } = of;
        text_member(out, "{\"type\":", name);
        put(out, ",\"entities\":");
        list(out, entities, |out, entity| {
            text_member(out, "{\"id\":", &entity.id);
            put(out, ",");
            self.write_index(out, entity, *time_attribute, false)?;
            self.write_values(out, entity, &attributes[place], place)?;
            put(out, "}");
            Ok(())
        })?;
        put(out, "}");
        Ok(())
    }

    /// `"index": […]`, and `"timeAttribute": […]` where it is asked for.
    fn write_index(
        &self,
        out: &mut dyn Output,
        entity: &mut EntityResult,
        time_attribute: Option<AttributeId>,
        is_alone: bool,
    ) -> Written {
        put(out, "\"index\":");
        match (self.parameters.aggregation, &entity.aggregated) {
            (Some(Aggregation { period: None, .. }), _) if is_alone => {
                put(out, "[]");
                Ok(())
            }
            (Some(Aggregation { period: None, .. }), _) => list(out, self.parameters.dates, |out, date| {
                match date {
                    Some(time) => write_time(out.part(), time),
                    None => put(out, "\"\""),
                }
                Ok(())
            }),
            (_, Some(aggregated)) => list(out, &aggregated.index, |out, time| {
                write_time(out.part(), *time);
                full(out)
            }),
            _ => {
                write_rows(out, entity, &[], |out, rows, row| write_time(out, rows.times[row]))?;
                if self.parameters.shown.time_attribute {
                    put(out, ",\"timeAttribute\":");
                    write_hidden(out, entity, Kind::Text, time_attribute)?;
                }
                Ok(())
            }
        }
    }

    fn write_all_values(
        &self,
        out: &mut dyn Output,
        entity: &mut EntityResult,
        attributes: &[AskedAttribute],
    ) -> Written {
        list(out, attributes.iter().enumerate(), |out, (place, attribute)| {
            text_member(out, "{\"attrName\":", &attribute.name);
            self.write_values(out, entity, attribute, place)?;
            put(out, "}");
            Ok(())
        })
    }

    /// Behind the index `"values": […]`, and `"metadata": […]` where they are asked for.
    fn write_values(
        &self,
        out: &mut dyn Output,
        entity: &mut EntityResult,
        attribute: &AskedAttribute,
        place: usize,
    ) -> Written {
        put(out, ",\"values\":");
        if let (Some(aggregation), Some(aggregated)) = (self.parameters.aggregation, &entity.aggregated) {
            let kind = summary_kind(attribute.kind, aggregation.method);
            return list(out, &aggregated.values, |out, values| {
                write_value(out.part(), kind, values[place]);
                full(out)
            });
        }
        write_rows(out, entity, &[attribute.id], |out, rows, row| {
            write_value(out, attribute.kind, rows.get(row, attribute.id));
        })?;
        if self.parameters.shown.metadata {
            put(out, ",\"metadata\":");
            write_hidden(out, entity, Kind::Structured, attribute.metadata)?;
        }
        Ok(())
    }
}

/// Hands a part over that is long enough.
pub(crate) fn full(out: &mut dyn Output) -> Written {
    if out.part().len() >= PART_BYTES { out.hand_over() } else { Ok(()) }
}

/// `[…]` of what a hidden attribute has of each row; of nulls where there is none.
fn write_hidden(
    out: &mut dyn Output,
    entity: &mut EntityResult,
    kind: Kind,
    attribute: Option<AttributeId>,
) -> Written {
    write_rows(out, entity, attribute.as_slice(), |out, rows, row| {
        let value = attribute.map_or(Value::Null, |attribute| hidden::shown(rows.get(row, attribute)));
        write_value(out, kind, value);
    })
}

/// `[…]` of something of each row.
fn write_rows(
    out: &mut dyn Output,
    entity: &mut EntityResult,
    attributes: &[AttributeId],
    write: impl Fn(&mut Vec<u8>, &Rows, usize),
) -> Written {
    put(out, "[");
    let (mut is_first, mut written) = (true, Ok(()));
    entity.visit(attributes, |rows, row| {
        if !std::mem::replace(&mut is_first, false) {
            put(out, ",");
        }
        write(out.part(), rows, row);
        written = full(out);
        written.is_ok()
    })?;
    written?;
    put(out, "]");
    Ok(())
}
