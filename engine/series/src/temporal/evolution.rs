//! The temporal evolution of entities: a query from what is asked to what is written.

use std::time::Instant;

use prony_series_store::{Read, TimeRange};

use super::{
    aggregate::{Periods, Room, periods_of},
    duration::PeriodLength,
    find::{FoundEntities, Search, check},
    instances::{self, Shown},
    method::AggregateMethod,
    parameters::{Representation, TemporalParameters, TimeRelation},
    problem::Problem,
    write::{self, InstanceWriter},
};
use crate::{
    ngsi::time,
    query::{
        parameters::LIMIT_DEFAULT,
        result::{Asked, Scope, entity_count, find},
        shape::{Output, Stopped, put},
    },
};

/// Of so many entities it is looked up how much there is to read.
const FEW_ENTITIES: usize = 32;

/// A query, as it is asked.
#[derive(Debug)]
pub(crate) struct TemporalQuery {
    pub(crate) parameters: TemporalParameters,
    pub(crate) scope: Scope,
    /// The entity that the path names.
    pub(crate) id: Option<String>,
    /// Whether entities are written with their context.
    pub(crate) has_context: bool,
}

/// For each attribute of an entity what fits it, and its periods.
type EntityPeriods = Vec<(Vec<AggregateMethod>, Periods)>;

/// What is written of entities.
#[derive(Debug)]
enum Contents {
    Instances(Shown),
    Periods(Vec<EntityPeriods>),
}

/// What is found.
#[derive(Debug)]
pub(crate) struct Evolution<'q> {
    query: &'q TemporalQuery,
    found: FoundEntities,
    contents: Contents,
}

impl TemporalQuery {
    /// About how many blocks are looked at: what makes a query long.
    pub(crate) fn cost(&self, read: &Read) -> usize {
        let TemporalParameters { selectors, condition, place, representation, last, .. } = &self.parameters;
        let asked = self.id.as_deref().map_or(Asked::All, Asked::Entity);
        let entities: usize =
            selectors.iter().map(|selector| entity_count(read, &self.scope, asked, selector)).sum();
        let is_aggregated = matches!(representation, Representation::Aggregated(..));
        let reads_all = condition.is_some() || place.is_some() || is_aggregated || last.is_some();
        if !reads_all {
            return selectors.len() + entities + (LIMIT_DEFAULT as usize / 250).min(entities * 40);
        }
        if entities > FEW_ENTITIES {
            return selectors.len() + entities * 16;
        }
        let found = selectors.iter().flat_map(|selector| find(read, &self.scope, asked, selector));
        let series = found.flat_map(|(_, entities)| entities).flat_map(|(_, series)| series);
        let range = self.parameters.range().unwrap_or(TimeRange::ALL);
        entities + series.map(|id| read.series(id, range, &[]).block_count() * 4).sum::<usize>()
    }

    /// # Errors
    /// There is no such entity, it takes too long or is too much, or the store cannot be read.
    pub(crate) fn run(&self, read: &Read, deadline: Instant) -> Result<Evolution<'_>, Problem> {
        let search = Search { read, scope: &self.scope, parameters: &self.parameters, deadline };
        let mut found = match &self.id {
            Some(id) => search.one(id)?,
            None => search.entities()?,
        };
        let contents = if let Representation::Aggregated(methods, length) = &self.parameters.representation {
            Contents::Periods(self.periods(&mut found, (methods, *length), deadline)?)
        } else {
            let limits = found.types.iter().filter_map(|of| self.scope.limit(&of.name));
            let limit = limits.fold(LIMIT_DEFAULT, u64::min).max(1);
            let FoundEntities { types, entities, .. } = &mut found;
            Contents::Instances(instances::choose(types, entities, self.parameters.last, limit)?)
        };
        Ok(Evolution { query: self, found, contents })
    }

    fn periods(
        &self,
        found: &mut FoundEntities,
        (methods, length): (&[AggregateMethod], PeriodLength),
        deadline: Instant,
    ) -> Result<Vec<EntityPeriods>, Problem> {
        let (mut all, mut room) = (Vec::with_capacity(found.entities.len()), Room::default());
        for of in &mut found.entities {
            let mut by_attribute = Vec::new();
            for attribute in &found.types[of.type_place].attributes {
                check(deadline)?;
                let fitting: Vec<_> =
                    methods.iter().copied().filter(|method| method.fits(attribute)).collect();
                let (asked, time) = ((&fitting[..], length), self.parameters.time);
                let periods = periods_of(&mut of.entity, attribute, asked, time, &mut room)?;
                by_attribute.push((fitting, periods));
            }
            all.push(by_attribute);
        }
        Ok(all)
    }
}

impl Evolution<'_> {
    /// Entities of all pages, where they were counted.
    pub(crate) fn total(&self) -> Option<u64> {
        self.query.parameters.page.counts.then_some(self.found.total)
    }

    /// Whether there is a page behind this one.
    pub(crate) fn has_more(&self) -> bool {
        self.found.has_more
    }

    /// `Content-Range` (clause 6.3.10), where instances are left out: all from the one moment to the other are there.
    pub(crate) fn content_range(&self) -> Option<String> {
        let Contents::Instances(Shown { cut: Some(TimeRange { from_ms, to_ms }), .. }) = &self.contents
        else {
            return None;
        };
        let TemporalParameters { time, last, .. } = self.query.parameters;
        let (from, to, size) = match (last, time) {
            (Some(last), TimeRelation::Before(end) | TimeRelation::Between(_, end)) => {
                (end, *from_ms, last.to_string())
            }
            (Some(last), _) => (*to_ms, *from_ms, last.to_string()),
            (None, TimeRelation::After(from) | TimeRelation::Between(from, _)) => {
                (from, *to_ms, "*".to_owned())
            }
            (None, _) => (*from_ms, *to_ms, "*".to_owned()),
        };
        let mut text = b"date-time ".to_vec();
        time::write_utc(&mut text, from);
        text.push(b'-');
        time::write_utc(&mut text, to);
        Some(format!("{}/{size}", String::from_utf8(text).ok()?))
    }

    /// The entity that was asked for, or a list.
    pub(crate) fn write(&mut self, out: &mut dyn Output) -> Result<(), Stopped> {
        let TemporalQuery { parameters, id, has_context, .. } = self.query;
        let FoundEntities { types, entities, .. } = &mut self.found;
        put(out, if id.is_some() { "" } else { "[" });
        for (place, found) in entities.iter_mut().enumerate() {
            put(out, if place > 0 { "," } else { "" });
            let of = &types[found.type_place];
            write::begin(out, &found.entity.id, &of.name, *has_context);
            match &self.contents {
                Contents::Instances(Shown { rows, cut }) => {
                    let writer = InstanceWriter {
                        time_property: parameters.time_property,
                        only_values: parameters.representation == Representation::Values,
                        shows_metadata: parameters.shows_metadata,
                        is_cut: cut.is_some(),
                    };
                    writer.write(out, of, found, &rows[place])?;
                }
                Contents::Periods(all) => {
                    for (attribute, (methods, periods)) in of.attributes.iter().zip(&all[place]) {
                        write::write_periods(out, (attribute, &of.attributes), methods, periods)?;
                    }
                }
            }
            put(out, "}");
        }
        put(out, if id.is_some() { "" } else { "]" });
        Ok(())
    }
}
