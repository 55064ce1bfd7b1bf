//! Relations from foreign keys and from the user's settings, and their names.
//!
//! A has-one is named after its column without `_id` (`venue_id` → `venue`), or the column and the target
//! (`created_by` → `created_by_member`); of a composite key, after the target. A has-many is named after the
//! referring table (`meetups`), with the columns behind it where the table refers twice or more
//! (`member_follows_on_created_by`). A name that is taken gets the longer form, then a number.

use prony_source::dialect::names;
use std::collections::{HashMap, HashSet};

use crate::model::{
    Cardinality, ColumnId, Relation, Table, TableId, choose,
    columns::{free_name, unknown_column},
    faults::{Faults, suggestion},
    naming::{described, invalid_name},
    served::ServedTable,
};
use crate::{catalog::Catalog, settings::RelationSettings};

/// A foreign key or a relation of the settings, on its way to a has-one and a has-many.
struct Link {
    from: usize,
    to: usize,
    /// Column of `from`, column of `to`.
    pairs: Vec<(ColumnId, ColumnId)>,
    one: Option<Box<str>>,
    many: Option<Box<str>>,
    /// Key of the table's settings and index among its relations.
    settings: Option<(String, usize)>,
    is_foreign_key: bool,
}

/// Adds the relations of all tables: has-ones in the order of the keys, then has-manys in the order of the
/// referring tables.
pub(super) fn connect(
    catalog: &Catalog,
    prefix: &str,
    served: &[ServedTable<'_>],
    tables: &mut [Table],
    faults: &mut Faults,
    notes: &mut Vec<String>,
) {
    let mut links = foreign_keys(catalog, served);
    add_from_settings(catalog, served, &mut links, faults);
    let mut namer = Namer::new(prefix, served, tables, notes);
    namer.take_given(&mut links, faults);
    namer.name_ones(&mut links);
    namer.name_manys(&mut links);
    push_relations(links, tables, notes);
    exclude(served, tables, faults);
}

/// One link per key; a key that is declared twice counts once.
fn foreign_keys(catalog: &Catalog, served: &[ServedTable<'_>]) -> Vec<Link> {
    let mut positions = vec![None; catalog.tables.len()];
    for (position, table) in served.iter().enumerate() {
        positions[table.catalog_index] = Some(position);
    }
    let mut links: Vec<Link> = Vec::new();
    for (from, table) in served.iter().enumerate() {
        let first = links.len();
        for key in &table.source.foreign_keys {
            let Some(to) = positions[key.target_table] else { continue };
            let pair = |(&column, &target): (&usize, &usize)| {
                Some((table.column_ids[column]?, served[to].column_ids[target]?))
            };
            let pairs: Option<Vec<_>> = key.columns.iter().zip(&key.target_columns).map(pair).collect();
            let Some(pairs) = pairs else { continue };
            if !links[first..].iter().any(|link| link.to == to && link.pairs == pairs) {
                links.push(Link {
                    from,
                    to,
                    pairs,
                    one: None,
                    many: None,
                    settings: None,
                    is_foreign_key: true,
                });
            }
        }
    }
    links
}

fn add_from_settings(
    catalog: &Catalog,
    served: &[ServedTable<'_>],
    links: &mut Vec<Link>,
    faults: &mut Faults,
) {
    for (from, table) in served.iter().enumerate() {
        let Some((key, settings)) = table.overrides else { continue };
        for (index, relation) in settings.relations.iter().enumerate() {
            let path = ["tables", key, "relations", &index.to_string()];
            let Some((to, pairs)) = resolve(catalog, served, from, relation, &path, faults) else { continue };
            let settings = Some((key.to_owned(), index));
            let (one, many) = (relation.name.as_deref(), relation.reverse_name.as_deref());
            let (one, many) = (one.map(Box::from), many.map(Box::from));
            let same = |link: &&mut Link| link.from == from && link.to == to && link.pairs == pairs;
            match links.iter_mut().find(same) {
                Some(link) => {
                    link.one = one;
                    link.many = many;
                    link.settings = settings;
                }
                None => links.push(Link { from, to, pairs, one, many, settings, is_foreign_key: false }),
            }
        }
    }
}

type Resolved = (usize, Vec<(ColumnId, ColumnId)>);

fn resolve(
    catalog: &Catalog,
    served: &[ServedTable<'_>],
    from: usize,
    relation: &RelationSettings,
    path: &[&str; 4],
    faults: &mut Faults,
) -> Option<Resolved> {
    let at = |last: &'static str| [path[0], path[1], path[2], path[3], last];
    let target = choose::find(catalog, &relation.target, &at("target"), faults)?;
    let Some(to) = served.iter().position(|table| table.catalog_index == target) else {
        faults.add(&at("target"), format!("`{}` is not served", relation.target));
        return None;
    };
    if relation.columns.is_empty() || relation.columns.len() != relation.target_columns.len() {
        let message = format!(
            "{} columns cannot be compared with {} `target_columns`; give as many, and at least one",
            relation.columns.len(),
            relation.target_columns.len()
        );
        faults.add(&at("columns"), message);
        return None;
    }
    let mut columns = |table: &ServedTable<'_>, names: &[String], key: &'static str| {
        let found: Vec<Option<ColumnId>> = names
            .iter()
            .map(|name| {
                let index = table.source.columns.iter().position(|column| *column.name == **name);
                let id = index.and_then(|index| table.column_ids[index]);
                if id.is_none() {
                    faults.add(&at(key), unknown_column(table.source, name));
                }
                id
            })
            .collect();
        found.into_iter().collect::<Option<Vec<_>>>()
    };
    let own = columns(&served[from], &relation.columns, "columns");
    let targets = columns(&served[to], &relation.target_columns, "target_columns");
    Some((to, own?.into_iter().zip(targets?).collect()))
}

/// Fields of each table's row type that are in use, and what names are made of.
struct Namer<'a> {
    /// Of names of types and root fields; fields of rows have none.
    prefix: &'a str,
    taken: Vec<HashSet<Box<str>>>,
    served: &'a [ServedTable<'a>],
    tables: &'a [Table],
    /// By table; made when first asked for.
    singulars: Vec<Option<Box<str>>>,
    notes: &'a mut Vec<String>,
}

impl<'a> Namer<'a> {
    fn new(
        prefix: &'a str,
        served: &'a [ServedTable<'a>],
        tables: &'a [Table],
        notes: &'a mut Vec<String>,
    ) -> Self {
        let fields = |table: &Table| table.columns.iter().map(|column| column.field.clone()).collect();
        let taken = tables.iter().map(fields).collect();
        Self { prefix, taken, served, tables, singulars: vec![None; tables.len()], notes }
    }

    fn take_given(&mut self, links: &mut [Link], faults: &mut Faults) {
        for link in links {
            let Some((key, index)) = &link.settings else { continue };
            let path = ["tables", key, "relations", &index.to_string()];
            for (name, last, table, many) in [
                (link.one.as_deref(), "name", link.from, false),
                (link.many.as_deref(), "reverse_name", link.to, true),
            ] {
                let Some(name) = name else { continue };
                let path = [path[0], path[1], path[2], path[3], last];
                if !names::is_graphql_name(name) || (many && !names::is_list_name(name)) {
                    faults.add(&path, invalid_name(name));
                } else if !self.is_free(table, name, many) {
                    let table = described(self.served[table].source);
                    faults.add(&path, format!("{table} already has a field `{name}`"));
                } else {
                    self.take(table, name, many);
                }
            }
        }
    }

    fn name_ones(&mut self, links: &mut [Link]) {
        for link in links.iter_mut().filter(|link| link.one.is_none()) {
            let target = self.singular(link.to);
            let columns = self.columns(link);
            let long = names::graphql_name(&format!("{}_{target}", columns.join("_")));
            let short = match &*columns {
                [column] => match column.strip_suffix("_id") {
                    Some(stem) if !stem.is_empty() => stem.to_owned(),
                    _ => long.clone(),
                },
                _ => target.into_string(),
            };
            link.one = Some(self.claim(link.from, &short, &long, false));
        }
    }

    fn name_manys(&mut self, links: &mut [Link]) {
        let mut references: HashMap<(usize, usize), u32> = HashMap::with_capacity(links.len());
        for link in links.iter().filter(|link| link.is_foreign_key) {
            *references.entry((link.from, link.to)).or_default() += 1;
        }
        for link in links.iter_mut().filter(|link| link.many.is_none()) {
            let plural = self.plural(link.from);
            let long = format!("{plural}_on_{}", self.columns(link).join("_and_"));
            let several = references.get(&(link.from, link.to)).is_some_and(|&count| count > 1);
            let short = if several { long.clone() } else { plural };
            link.many = Some(self.claim(link.to, &short, &long, true));
        }
    }

    /// The link's own columns in snake_case.
    fn columns(&self, link: &Link) -> Vec<String> {
        let table = &self.tables[link.from];
        link.pairs.iter().map(|&(own, _)| names::snake_case(&table.column(own).name)).collect()
    }

    /// The name of a table's list, in which the prefix of root fields says nothing.
    fn plural(&self, table: usize) -> String {
        let name = &*self.tables[table].list_name;
        let is_given = self.served[table].overrides.is_some_and(|(_, settings)| settings.list_name.is_some());
        let prefix = Some(self.prefix).filter(|prefix| !prefix.is_empty() && !is_given);
        let without = prefix.and_then(|prefix| {
            name.strip_prefix(&*names::snake_case(prefix))?
                .strip_prefix('_')
                .filter(|rest| names::is_list_name(rest))
        });
        without.unwrap_or(name).to_owned()
    }

    fn singular(&mut self, table: usize) -> Box<str> {
        let served = &self.served[table];
        let singular = self.singulars[table].get_or_insert_with(|| {
            let given = served.overrides.and_then(|(_, settings)| settings.type_name.as_deref());
            given.map_or_else(|| names::singular_snake(&served.source.name), names::snake_case).into()
        });
        singular.clone()
    }

    fn claim(&mut self, table: usize, short: &str, long: &str, many: bool) -> Box<str> {
        let name = if self.is_free(table, short, many) {
            short.into()
        } else {
            free_name(long, |name| self.is_free(table, name, many))
        };
        if *name != *short {
            let table = described(self.served[table].source);
            self.notes.push(format!("a relation of {table} is called `{name}` because `{short}` is in use"));
        }
        self.take(table, &name, many);
        name
    }

    fn is_free(&self, table: usize, name: &str, many: bool) -> bool {
        let taken = &self.taken[table];
        let aggregate_is_taken = || taken.contains(aggregate_field(name).as_str());
        !(taken.contains(name) || many && aggregate_is_taken())
    }

    fn take(&mut self, table: usize, name: &str, many: bool) {
        let taken = &mut self.taken[table];
        taken.insert(name.into());
        if many {
            taken.insert(aggregate_field(name).into());
        }
    }
}

fn aggregate_field(many: &str) -> String {
    format!("{many}_aggregate")
}

/// `RelationId` counts to 65,535: what a table has beyond is not served.
const MAX_RELATIONS: usize = u16::MAX as usize;

fn push_relations(links: Vec<Link>, tables: &mut [Table], notes: &mut Vec<String>) {
    let mut push = |table: usize, relation: Relation, tables: &mut [Table]| {
        if tables[table].relations.len() < MAX_RELATIONS {
            tables[table].relations.push(relation);
        } else {
            let name = &tables[table].name;
            notes.push(format!(
                "relation `{}` of `{name}` is left out: the limit is {MAX_RELATIONS}",
                relation.field
            ));
        }
    };
    for link in &links {
        let field = link.one.clone().unwrap_or_default();
        let (target, pairs) = (TableId(link.to as u32), link.pairs.clone());
        let one = Relation { field, cardinality: Cardinality::One, target, pairs, aggregate_field: None };
        push(link.from, one, tables);
    }
    for link in links {
        let field = link.many.unwrap_or_default();
        let many = Relation {
            aggregate_field: Some(aggregate_field(&field).into()),
            field,
            cardinality: Cardinality::Many,
            target: TableId(link.from as u32),
            pairs: link.pairs.iter().map(|&(own, target)| (target, own)).collect(),
        };
        push(link.to, many, tables);
    }
}

fn exclude(served: &[ServedTable<'_>], tables: &mut [Table], faults: &mut Faults) {
    for (table, served) in tables.iter_mut().zip(served) {
        let Some((key, settings)) = served.overrides else { continue };
        for (index, name) in settings.exclude_relations.iter().enumerate() {
            let before = table.relations.len();
            let known: Vec<Box<str>> =
                table.relations.iter().map(|relation| relation.field.clone()).collect();
            table.relations.retain(|relation| *relation.field != **name);
            if table.relations.len() == before {
                let hint = suggestion(name, known.iter().map(|field| &**field));
                let message = format!("{} has no relation `{name}`{hint}", described(served.source));
                faults.add(&["tables", key, "exclude_relations", &index.to_string()], message);
            }
        }
    }
}
