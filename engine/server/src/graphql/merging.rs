//! Merges what sources contribute. Sources whose names are their owner's come first, and must make a schema; of the others, in which
//! clients can make names, each is served only where there is a schema with it.

use std::sync::Arc;

use prony_graphql::schema::{Contribution, Schema, SchemaFault, SourceId};
use prony_source::{ReservedNames, SourceSchema};

use super::{
    contributions::{Hidden, NamedSource, contributions_of, no_queries},
    plan::NO_SOURCE,
};
use crate::joins::{JoinSettings, Joins};

/// Of the field of a schema whose sources are not known yet, or whose schemas are refused.
const NOT_KNOWN: &str = "Null: what is served here is not known yet.";

/// What is merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeInputs<'a> {
    pub(super) sources: &'a [NamedSource],
    pub(super) joins: &'a Arc<[JoinSettings]>,
    /// By [`SourceId`], as all that follow: what was served of each until now; empty at the start.
    pub(super) before: &'a [Arc<dyn SourceSchema>],
    /// Why what was served before is served on, where that is so.
    pub(super) held: &'a [Option<String>],
    /// What is served of a source whatever it offers now; empty where that is so of none.
    pub(super) given: &'a [Option<Arc<dyn SourceSchema>>],
}

/// What sources offer together, each list by [`SourceId`].
pub(super) struct Merged {
    pub(super) schema: Schema,
    pub(super) schemas: Vec<Arc<dyn SourceSchema>>,
    /// Beside which names each was asked.
    pub(super) reserved: Arc<[ReservedNames]>,
    /// Why what a source offers is not served, where that is so.
    pub(super) refused: Arc<[Option<String>]>,
    pub(super) joins: Joins,
    /// Joins of the configuration that do not fit.
    pub(super) join_faults: Vec<String>,
}

/// What a source and those before it both have, with another definition; only names that are their owner's count.
pub(super) fn collision(before: &[NamedSource], opened: &NamedSource) -> Option<String> {
    let all: Vec<&NamedSource> = before.iter().chain([opened]).collect();
    if before.is_empty() || opened.source.yields_names() {
        return None;
    }
    let firm = all.iter().enumerate().filter(|(_, of)| !of.source.yields_names());
    let contributions = firm.map(|(index, NamedSource { source, .. })| {
        (SourceId(index as u16), source.schema(&ReservedNames::default()).contribution())
    });
    let faults = Schema::merge(contributions.collect()).err()?;
    faults.iter().find_map(|fault| match fault {
        SchemaFault::TypeCollision { name, first, second } if usize::from(second.0) == before.len() => {
            Some(format!("source `{}` has a type {name} as well", all[usize::from(first.0)].name))
        }
        SchemaFault::FieldCollision { kind, name, first, second }
            if usize::from(second.0) == before.len() =>
        {
            Some(format!("source `{}` has a {kind} field {name} as well", all[usize::from(first.0)].name))
        }
        _ => None,
    })
}

/// Asks the sources and merges.
///
/// # Errors
/// Sources whose names are their owner's do not make a schema.
pub(super) fn merge(inputs: MergeInputs<'_>) -> Result<Merged, Vec<SchemaFault>> {
    let MergeInputs { sources, joins, before, held, .. } = inputs;
    let reason = |index: usize| held.get(index).cloned().flatten();
    let refused: Vec<Option<String>> = (0..sources.len()).map(reason).collect();
    let OfferedField { schemas, mut contributions, reserved } = offered(inputs);
    if schemas.iter().any(|schema| schema.is_pending())
        && contributions.iter().all(|(_, contribution)| contribution.query.is_empty())
    {
        contributions.push((NO_SOURCE, no_queries(NOT_KNOWN)));
    }
    match schema_of(contributions, joins, Schema::merge) {
        Ok((schema, joins, join_faults)) => {
            Ok(Merged { schema, schemas, reserved, refused: refused.into(), joins, join_faults })
        }
        Err(_) if sources.iter().any(|source| source.source.yields_names()) => {
            without_refused(sources, joins, &schemas, reserved, before, refused)
        }
        Err(faults) => Err(faults),
    }
}

/// A schema of contributions and of the joins between them, with joins that do not fit. `merge` is how contributions become one.
pub(super) fn schema_of(
    mut contributions: Vec<(SourceId, Contribution)>,
    joins: &[JoinSettings],
    merge: impl FnOnce(Vec<(SourceId, Contribution)>) -> Result<Schema, Vec<SchemaFault>>,
) -> Result<(Schema, Joins, Vec<String>), Vec<SchemaFault>> {
    let (joins, joined, faults) = Joins::of(joins, &contributions);
    contributions.push((NO_SOURCE, joined));
    Ok((merge(contributions)?, joins, faults))
}

/// Leaves out what keeps the others from being a schema: of a source that yields, what it offers now, then what it offered before,
/// then nothing.
fn without_refused(
    sources: &[NamedSource],
    joins: &[JoinSettings],
    offered: &[Arc<dyn SourceSchema>],
    reserved: Arc<[ReservedNames]>,
    before: &[Arc<dyn SourceSchema>],
    mut refused: Vec<Option<String>>,
) -> Result<Merged, Vec<SchemaFault>> {
    let hidden = || Arc::new(Hidden) as Arc<dyn SourceSchema>;
    let firm = |(source, schema): (&NamedSource, &Arc<dyn SourceSchema>)| {
        if source.source.yields_names() { hidden() } else { Arc::clone(schema) }
    };
    let mut schemas: Vec<Arc<dyn SourceSchema>> = sources.iter().zip(offered).map(firm).collect();
    let schema_of = |schemas: &[_]| schema_of(contributions_of(schemas, NOT_KNOWN), joins, Schema::merge);
    let mut made = schema_of(&schemas)?;
    for (index, source) in sources.iter().enumerate().filter(|(_, source)| source.source.yields_names()) {
        for candidate in [Some(&offered[index]), before.get(index)].into_iter().flatten() {
            schemas[index] = Arc::clone(candidate);
            match schema_of(&schemas) {
                Ok(with_it) => {
                    made = with_it;
                    break;
                }
                Err(faults) => {
                    refused[index].get_or_insert_with(|| joined(&faults, sources));
                    schemas[index] = hidden();
                }
            }
        }
        if let Some(faults) = &refused[index] {
            tracing::error!(
                source = source.name,
                faults,
                "the schema of a source is refused; it is served without it"
            );
        }
    }
    let (schema, joins, join_faults) = made;
    Ok(Merged { schema, schemas, reserved, refused: refused.into(), joins, join_faults })
}

/// Names that collide are told by their sources: the first of them, since the others mostly follow from it.
pub(super) fn joined(faults: &[SchemaFault], sources: &[NamedSource]) -> String {
    let mut told = Vec::new();
    let mut collisions: Vec<(&SourceId, &SourceId, String, usize)> = Vec::new();
    for fault in faults {
        let (what, first, second) = match fault {
            SchemaFault::TypeCollision { name, first, second } => (format!("type {name}"), first, second),
            SchemaFault::FieldCollision { kind, name, first, second } => {
                (format!("{kind} field {name}"), first, second)
            }
            other => {
                told.push(other.to_string());
                if matches!(other, SchemaFault::NoQuery) {
                    told.extend(notes_of(sources));
                }
                continue;
            }
        };
        match collisions.iter_mut().find(|(known, other, ..)| (*known, *other) == (first, second)) {
            Some((.., others)) => *others += 1,
            None => collisions.push((first, second, what, 0)),
        }
    }
    let name = |id: &SourceId| &*sources[usize::from(id.0)].name;
    told.extend(collisions.into_iter().map(|(first, second, what, others)| {
        let others = if others == 0 { String::new() } else { format!(" (and {others} other names)") };
        format!(
            "{what}{others} comes from source `{}` and, with another definition, from source `{}`; rename or exclude the \
             table in prony.toml, or choose a `name_prefix` for one of the sources",
            name(first),
            name(second)
        )
    }));
    told.join("; ")
}

/// What sources have left out, and why: where there is nothing that can be asked for, one of them is what is looked for.
fn notes_of(sources: &[NamedSource]) -> impl Iterator<Item = String> {
    let noted = |NamedSource { name, source, .. }: &NamedSource| {
        let schema = source.schema(&ReservedNames::default());
        let told = schema.notes().iter().map(|note| format!("source `{name}`: {note}"));
        told.collect::<Vec<_>>()
    };
    sources.iter().flat_map(noted)
}

struct OfferedField {
    schemas: Vec<Arc<dyn SourceSchema>>,
    contributions: Vec<(SourceId, Contribution)>,
    reserved: Arc<[ReservedNames]>,
}

/// What each source offers, and contributes to the schema. Those that give way are asked last, so that no client who may
/// make types can take a name from a table, or the name of a joined field from its join.
fn offered(MergeInputs { sources, joins, before, held, given }: MergeInputs<'_>) -> OfferedField {
    let mut reserved = ReservedNames::default();
    for (type_name, field) in joins.iter().filter_map(|join| join.field.split_once('.')) {
        reserved.add_field(type_name, field);
    }
    let mut offered = Vec::with_capacity(sources.len());
    for is_firm in [true, false] {
        for (index, NamedSource { source, .. }) in sources.iter().enumerate() {
            if source.yields_names() != is_firm {
                let held = before.get(index).filter(|_| held.get(index).is_some_and(Option::is_some));
                let known = held.or_else(|| given.get(index).and_then(Option::as_ref));
                let schema = known.map_or_else(|| source.schema(&reserved), Arc::clone);
                let contribution = schema.contribution();
                let beside = if is_firm { ReservedNames::default() } else { reserved.clone() };
                reserved.add(&contribution);
                offered.push((index, schema, contribution, beside));
            }
        }
    }
    offered.sort_unstable_by_key(|(index, ..)| *index);
    let (mut schemas, mut contributions, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for (index, schema, contribution, reserved) in offered {
        schemas.push(schema);
        contributions.push((SourceId(index as u16), contribution));
        beside.push(reserved);
    }
    OfferedField { schemas, contributions, reserved: beside.into() }
}

#[cfg(test)]
mod tests {
    use std::{rc::Rc, sync::Mutex};

    use prony_graphql::{
        Name,
        error::GraphqlError,
        schema::build::{field_with_arguments, named},
    };
    use prony_source::{FieldRequest, PreparedField, Source, SourceSession};

    use super::*;

    /// Offers query fields of these names and types.
    #[derive(Debug)]
    struct Fields {
        fields: Arc<Mutex<Vec<(&'static str, &'static str)>>>,
        yields: bool,
    }

    #[derive(Debug)]
    struct FieldsSchema(Vec<(&'static str, &'static str)>);

    impl Source for Fields {
        fn product(&self) -> &'static str {
            "fields"
        }

        fn yields_names(&self) -> bool {
            self.yields
        }

        fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
            Arc::new(FieldsSchema(self.fields.lock().expect("no test panics with it").clone()))
        }

        fn attach(&self) -> Rc<dyn SourceSession> {
            unreachable!("nothing is asked")
        }
    }

    impl SourceSchema for FieldsSchema {
        fn contribution(&self) -> Contribution {
            let field = |(name, of): &(&str, &str)| {
                let (name, of) = (Name::new_unchecked(name), Name::new_unchecked(of));
                field_with_arguments(&name, Vec::new(), named(&of))
            };
            Contribution { query: self.0.iter().map(field).collect(), ..Contribution::default() }
        }

        fn contents(&self) -> String {
            format!("{} fields", self.0.len())
        }

        fn list_fields(&self) -> Vec<&str> {
            Vec::new()
        }

        fn plan(&self, _request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
            unreachable!("nothing is asked")
        }
    }

    type Offer = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

    fn source(name: &str, yields: bool, fields: &[(&'static str, &'static str)]) -> (NamedSource, Offer) {
        let offer: Offer = Arc::new(Mutex::new(fields.to_vec()));
        let source = Arc::new(Fields { fields: Arc::clone(&offer), yields });
        (NamedSource { name: name.to_owned(), source, address: String::new(), is_prefixed: false }, offer)
    }

    fn merged(sources: &[NamedSource], before: &[Arc<dyn SourceSchema>]) -> Result<Merged, Vec<SchemaFault>> {
        merge(MergeInputs { sources, joins: &Arc::default(), before, held: &[], given: &[] })
    }

    fn fields(merged: &Merged) -> Vec<String> {
        let sdl = merged.schema.sdl();
        let lines = sdl.lines().filter(|line| !line.contains("\"\"\""));
        let fields = lines.filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
        fields.map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn a_source_whose_names_make_no_schema_is_left_out() {
        let (tables, _) = source("tables", false, &[("rows", "Int")]);
        let (graph, offer) = source("graph", true, &[("nodes", "Missing")]);
        let (other, _) = source("other", true, &[("things", "Int")]);
        let sources = [graph, tables, other];
        let at_start = merged(&sources, &[]).expect("the tables make a schema");
        assert_eq!(fields(&at_start), ["rows", "things"]);
        let told: Vec<bool> = at_start.refused.iter().map(Option::is_some).collect();
        assert_eq!(told, [true, false, false]);
        assert!(at_start.refused[0].as_ref().is_some_and(|faults| faults.contains("Missing")));

        // What was served before stays.
        *offer.lock().expect("no test panics with it") = vec![("nodes", "Int")];
        let mended = merged(&sources, &at_start.schemas).expect("all make a schema");
        assert_eq!(fields(&mended), ["nodes", "rows", "things"]);
        assert!(mended.refused.iter().all(Option::is_none));
        *offer.lock().expect("no test panics with it") = vec![("rows", "Int"), ("more", "Int")];
        let broken = merged(&sources, &mended.schemas).expect("the tables make a schema");
        assert_eq!(fields(&broken), ["nodes", "rows", "things"]);
        assert!(broken.refused[0].is_some());
    }

    #[test]
    fn a_source_alone_is_served_without_its_schema() {
        let (graph, _) = source("graph", true, &[("__nodes", "Int")]);
        let merged = merged(&[graph], &[]).expect("a schema of nothing is one");
        assert_eq!(fields(&merged), ["no_queries"]);
    }

    #[test]
    fn sources_whose_names_are_their_owners_must_make_a_schema() {
        let (one, _) = source("one", false, &[("rows", "Int")]);
        let (two, _) = source("two", false, &[("rows", "Int")]);
        let (graph, _) = source("graph", true, &[("nodes", "Int")]);
        assert!(merged(&[one, two, graph], &[]).is_err());
    }
}
