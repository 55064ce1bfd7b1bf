//! Which entities a query is about: those that are selected, have instances in the time that is asked for, and of which conditions hold.

use std::{collections::BTreeMap, time::Instant};

use prony_series_store::{AttributeId, Read, SeriesId, TableId, TimeRange};

use super::{
    condition::Condition,
    holds::{self, Known, summary_of},
    parameters::{Representation, TemporalParameters},
    problem::{Problem, ProblemKind},
};
use crate::query::{
    entity::{AskedAttribute, Chosen, EntityResult},
    result::{self, Asked, Scope},
};

/// A type of the entities that are found.
#[derive(Debug)]
pub(super) struct EntityType {
    pub(super) name: String,
    /// Those that are asked for and can be seen, by their names.
    pub(super) attributes: Vec<AskedAttribute>,
}

/// An entity that is found.
#[derive(Debug)]
pub(super) struct FoundEntity {
    /// Where its type is.
    pub(super) type_place: usize,
    pub(super) entity: EntityResult,
}

/// The entities of a page.
#[derive(Debug, Default)]
pub(super) struct FoundEntities {
    pub(super) types: Vec<EntityType>,
    pub(super) entities: Vec<FoundEntity>,
    /// Of all pages; counted where that is asked for.
    pub(super) total: u64,
    pub(super) has_more: bool,
}

/// Looks for entities in the store as it is at one moment.
pub(super) struct Search<'a> {
    pub(super) read: &'a Read,
    pub(super) scope: &'a Scope,
    pub(super) parameters: &'a TemporalParameters,
    pub(super) deadline: Instant,
}

/// A type that is looked through.
struct SearchedType {
    shown: EntityType,
    /// What its condition is about.
    known: Known,
    place: Option<AttributeId>,
    /// What is read.
    wanted: Vec<AttributeId>,
}

impl Search<'_> {
    /// All that are found, by type and id, of the page that is asked for.
    pub(super) fn entities(&self) -> Result<FoundEntities, Problem> {
        let mut found = FoundEntities::default();
        let Some(range) = self.parameters.range() else { return Ok(found) };
        let page = self.parameters.page;
        let end = page.offset.saturating_add(page.limit);
        for (table, entities) in self.selected() {
            let of = self.searched(table);
            let mut type_place = None;
            for (id, series) in entities {
                self.check_deadline()?;
                let mut entity = self.entity(id, &series, range, &of.wanted)?;
                if !self.is_found(&of, &mut entity)? {
                    continue;
                }
                found.total += 1;
                if found.total > end {
                    found.has_more = true;
                    if !page.counts {
                        return Ok(found);
                    }
                } else if found.total > page.offset {
                    let type_place = *type_place.get_or_insert(found.types.len());
                    if type_place == found.types.len() {
                        found.types.push(EntityType {
                            name: of.shown.name.clone(),
                            attributes: of.shown.attributes.clone(),
                        });
                    }
                    found.entities.push(FoundEntity { type_place, entity });
                }
            }
        }
        Ok(found)
    }

    /// One by its id.
    pub(super) fn one(&self, id: &str) -> Result<FoundEntities, Problem> {
        let absent = || Problem::new(ProblemKind::ResourceNotFound, format!("there is no entity `{id}`"));
        let mut found = Vec::new();
        for (table, entities) in
            result::find(self.read, self.scope, Asked::Entity(id), &self.parameters.selectors[0])
        {
            for (id, series) in entities {
                if !self.entity(id.clone(), &series, TimeRange::ALL, &[])?.series.is_empty() {
                    found.push((table, id, series));
                }
            }
        }
        if found.len() > 1 {
            let types: Vec<String> =
                found.iter().map(|(table, ..)| self.searched(*table).shown.name).collect();
            let detail =
                format!("there are entities `{id}` of the types {}; name one with type", types.join(", "));
            return Err(Problem::bad_data(detail));
        }
        let (table, id, series) = found.pop().ok_or_else(absent)?;
        let of = self.searched(table);
        if of.shown.attributes.is_empty() && !self.parameters.attributes.is_empty() {
            return Err(Problem::new(
                ProblemKind::ResourceNotFound,
                format!(
                    "the entity `{id}` has none of the attributes {}",
                    self.parameters.attributes.join(", ")
                ),
            ));
        }
        let entity = match self.parameters.range() {
            Some(range) => self.entity(id, &series, range, &of.wanted)?,
            None => EntityResult { id, series: Vec::new(), aggregated: None },
        };
        let entities = vec![FoundEntity { type_place: 0, entity }];
        Ok(FoundEntities { types: vec![of.shown], entities, total: 1, has_more: false })
    }

    fn check_deadline(&self) -> Result<(), Problem> {
        check(self.deadline)
    }

    /// Entities by type: each once, of whichever selectors it is.
    fn selected(&self) -> Vec<(TableId, BTreeMap<String, Vec<SeriesId>>)> {
        let mut selected: Vec<(TableId, BTreeMap<String, Vec<SeriesId>>)> = Vec::new();
        for selector in &self.parameters.selectors {
            for (table, entities) in result::find(self.read, self.scope, Asked::All, selector) {
                match selected.iter_mut().find(|(of, _)| *of == table) {
                    Some((_, known)) => known.extend(entities),
                    None => selected.push((table, entities.into_iter().collect())),
                }
            }
        }
        selected
    }

    fn searched(&self, table: TableId) -> SearchedType {
        let TemporalParameters { attributes, condition, place, representation, shows_metadata, .. } =
            self.parameters;
        let is_summed_up = matches!(representation, Representation::Aggregated(..));
        self.read.with_catalog(|catalog| {
            let table = catalog.table(table);
            let is_there = |name: &str| self.scope.has_attribute(&table.name, name, is_summed_up);
            let shown = EntityType {
                name: table.name.to_string(),
                attributes: result::asked_attributes(table, attributes, &is_there),
            };
            let named = |name: &str| {
                let found = result::asked_attributes(table, &[name.to_owned()], &|name| {
                    self.scope.has_attribute(&table.name, name, false)
                });
                found.into_iter().next()
            };
            let asked_about = condition.as_ref().map(Condition::attributes).unwrap_or_default();
            let known_of = |name: &str| Some((name.to_owned(), named(name)?));
            let known: Known = asked_about.into_iter().filter_map(known_of).collect();
            let place = place.as_ref().and_then(|of| Some(named(&of.property)?.id));
            let mut wanted: Vec<AttributeId> = shown.attributes.iter().map(|of| of.id).collect();
            wanted.extend(known.iter().map(|(_, of)| of.id).chain(place));
            if *shows_metadata {
                wanted.extend(shown.attributes.iter().filter_map(|of| of.metadata));
            }
            SearchedType { shown, known, place, wanted }
        })
    }

    /// Its rows, all of which are chosen.
    fn entity(
        &self,
        id: String,
        series: &[SeriesId],
        range: TimeRange,
        wanted: &[AttributeId],
    ) -> Result<EntityResult, Problem> {
        let mut entity = EntityResult { id, series: Vec::new(), aggregated: None };
        let is_summed_up = matches!(self.parameters.representation, Representation::Aggregated(..));
        for id in series {
            let mut rows = self.read.series(*id, range, wanted);
            if !is_summed_up {
                rows.leave_out_aggregates();
            }
            let count = rows.count()?;
            if count > 0 || rows.aggregated(None)?.is_some() {
                entity.series.push((rows, Chosen::Range(0..count)));
            }
        }
        Ok(entity)
    }

    fn is_found(&self, of: &SearchedType, entity: &mut EntityResult) -> Result<bool, Problem> {
        if entity.series.is_empty() {
            return Ok(false);
        }
        let mut has_instances = self.parameters.attributes.is_empty();
        for attribute in &of.shown.attributes {
            has_instances = has_instances || summary_of(entity, attribute.id)?.count > 0;
        }
        if !has_instances {
            return Ok(false);
        }
        if let Some(condition) = &self.parameters.condition
            && !holds::holds(condition, entity, &of.known)?
        {
            return Ok(false);
        }
        match (&self.parameters.place, of.place) {
            (Some(place), Some(property)) => Ok(holds::lies(&place.query, entity, property)?),
            (Some(_), None) => Ok(false),
            (None, _) => Ok(true),
        }
    }
}

/// Whether there is time left.
pub(super) fn check(deadline: Instant) -> Result<(), Problem> {
    if Instant::now() < deadline {
        return Ok(());
    }
    let detail = "it took longer than statement_timeout_ms to read what this asks for: ask for less time or fewer entities";
    Err(Problem::new(ProblemKind::TooComplexQuery, detail))
}
