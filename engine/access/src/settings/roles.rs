//! Reading `[roles.…]`, and giving each role what it inherits.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    mem,
    sync::Arc,
};

use prony_source::{
    config::{Faults, FileEntry, Origin},
    permissions::{FieldPermissions, Permissions, TablePermissions},
};

use super::{
    condition::Conditions,
    fields::{Fields, unknown},
    permission::{self, OPERATIONS},
    shared::SharedPermissions,
    union,
};
use crate::{
    interceptors::TableInterceptors,
    role::{Places, Role, RoleId, SourcePlaces},
};

/// A text that no role may have for its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a role: letters, digits, `_`, `-` and `.`, a letter first, {max} at most", max = MAX_NAME_BYTES)]
pub struct NotARoleName(String);

/// Whether a role may have this name.
///
/// # Errors
/// It may not.
pub fn check_role_name(name: &str) -> Result<(), NotARoleName> {
    let mut letters = name.chars();
    let fits = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
        && name.len() <= MAX_NAME_BYTES;
    if fits { Ok(()) } else { Err(NotARoleName(name.to_owned())) }
}

/// A role as it is written.
struct WrittenRole {
    name: String,
    origin: Origin,
    inherits: Vec<(String, Origin)>,
    unrestricted: bool,
    policies: BTreeSet<String>,
    max_depth: Option<u64>,
    max_complexity: Option<u64>,
    only_persisted_documents: bool,
    sources: BTreeMap<String, WrittenSource>,
}

struct WrittenSource {
    origin: Origin,
    everything: bool,
    tables: BTreeMap<String, WrittenTable>,
    fields: FieldPermissions,
}

struct WrittenTable {
    origin: Origin,
    given: Arc<TablePermissions>,
    /// Operations that it says it may not do, whatever it inherits.
    denied: Vec<&'static str>,
    /// None where it says nothing of them.
    interceptors: Option<TableInterceptors>,
}

/// What a role may do altogether.
#[derive(Clone, Default)]
struct Effective {
    unrestricted: bool,
    policies: BTreeSet<String>,
    sources: BTreeMap<String, EffectiveSource>,
}

#[derive(Clone)]
struct EffectiveSource {
    origin: Origin,
    everything: bool,
    tables: BTreeMap<String, (Origin, Arc<TablePermissions>)>,
    interceptors: BTreeMap<String, TableInterceptors>,
    fields: FieldPermissions,
}

/// Bytes that a role's name may have; it comes in a header and stands in metrics.
const MAX_NAME_BYTES: usize = 64;

/// All roles, in the order of the file.
pub(super) fn read(roles: FileEntry<'_, '_>, conditions: &mut Conditions, faults: &mut Faults) -> Vec<Role> {
    let mut reader = RoleReader { conditions, shared: SharedPermissions::default() };
    let mut written: Vec<WrittenRole> =
        roles.table(faults).into_iter().map(|entry| reader.role(entry, faults)).collect();
    let mut folded = BTreeMap::new();
    for role in &written {
        if let Some(other) = folded.insert(role.name.to_ascii_lowercase(), role.name.as_str()) {
            let message = format!("roles `{other}` and `{}` have one name but for its case", role.name);
            faults.push(role.origin.clone(), message);
        }
    }
    let count = written.len();
    let state = vec![State::Open; count];
    let mut resolver = Resolver { written: &mut written, state, shared: reader.shared, faults };
    (0..count).for_each(|index| resolver.resolve(index));
    let state = resolver.state;
    written.iter().zip(state).map(|(role, state)| finished(role, state)).collect()
}

/// The role of this name; where there is none, that is a fault.
pub(super) fn find(roles: &[Role], name: &str, origin: Origin, faults: &mut Faults) -> Option<RoleId> {
    let found = roles.iter().position(|role| *role.name == *name);
    if found.is_none() {
        unknown("role", name, roles.iter().map(|role| &*role.name), origin, faults);
    }
    found.map(|index| RoleId(index as u32))
}

fn finished(role: &WrittenRole, state: State) -> Role {
    let State::Done(effective) = state else { unreachable!("all roles are resolved") };
    let (mut permissions, mut places) = (BTreeMap::new(), Places::default());
    let mut interceptors = BTreeMap::new();
    for (source, written) in effective.sources {
        if !written.interceptors.is_empty() {
            interceptors.insert(source.clone(), written.interceptors);
        }
        let (mut tables, mut origins) = (BTreeMap::new(), BTreeMap::new());
        for (table, (origin, permissions)) in written.tables {
            origins.insert(table.clone(), origin);
            tables.insert(table, permissions);
        }
        let (fields, policies) = (written.fields, effective.policies.clone());
        let everything = written.everything;
        permissions.insert(source.clone(), Permissions { everything, tables, fields, policies });
        places.0.insert(source, SourcePlaces { origin: written.origin, tables: origins });
    }
    Role {
        name: Arc::from(&*role.name),
        unrestricted: effective.unrestricted,
        max_depth: role.max_depth.map(|depth| depth as usize),
        max_complexity: role.max_complexity,
        only_persisted_documents: role.only_persisted_documents,
        permissions,
        policies: Arc::new(effective.policies),
        interceptors,
        places,
    }
}

/// Reads roles as they are written.
struct RoleReader<'r> {
    conditions: &'r mut Conditions,
    shared: SharedPermissions,
}

impl RoleReader<'_> {
    fn role(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> WrittenRole {
        let name = entry.name();
        if let Err(fault) = check_role_name(name) {
            faults.push(entry.key_origin(), fault.to_string());
        }
        let mut fields = Fields::of(entry, format!("[roles.{name}]"), faults);
        let inherits = fields.texts("inherits", faults);
        let unrestricted = fields.boolean("unrestricted", false, faults);
        let policies = fields.texts("policies", faults).into_iter().map(|(name, _)| name).collect();
        let max_depth = fields.number("max_depth", (1, 1_000_000_000), faults);
        let max_complexity = fields.number("max_complexity", (1, u64::MAX >> 1), faults);
        let only_persisted_documents = fields.boolean("only_persisted_documents", false, faults);
        let sources = fields.take("sources");
        if let (true, Some(sources)) = (unrestricted, &sources) {
            let message = format!("`{name}` is unrestricted: what else it may do with sources says nothing");
            faults.push(sources.key_origin(), message);
        }
        let sources = sources.map_or_else(Vec::new, |sources| sources.table(faults));
        let sources = sources.into_iter().map(|source| {
            let read = self.source(source, faults);
            (source.name().to_owned(), read)
        });
        let sources = sources.collect();
        fields.end(faults);
        let (name, origin) = (name.to_owned(), entry.key_origin());
        WrittenRole {
            name,
            origin,
            inherits,
            unrestricted,
            policies,
            max_depth,
            max_complexity,
            only_persisted_documents,
            sources,
        }
    }

    fn source(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> WrittenSource {
        let mut fields = Fields::of(entry, format!("the permissions for `{}`", entry.name()), faults);
        let mut tables = BTreeMap::new();
        let everything = fields.boolean("everything", false, faults);
        for group in [fields.take("tables"), fields.take("types")].into_iter().flatten() {
            for table in group.table(faults) {
                let own = permission::read(table, self.conditions, faults);
                let given = self.shared.share(own.given);
                let (denied, interceptors) = (own.denied, own.interceptors);
                let written = WrittenTable { origin: table.key_origin(), given, denied, interceptors };
                if tables.insert(table.name().to_owned(), written).is_some() {
                    faults.push(table.key_origin(), format!("`{}` is given twice", table.name()));
                }
            }
        }
        let granted = fields.texts("fields", faults).into_iter().map(|(name, _)| name);
        let granted = FieldPermissions::new(granted);
        fields.end(faults);
        if everything && !tables.is_empty() {
            let message = "with `everything`, what else may be done with tables says nothing";
            faults.push(entry.key_origin(), message);
        }
        WrittenSource { origin: entry.key_origin(), everything, tables, fields: granted }
    }
}

#[derive(Clone)]
enum State {
    Open,
    /// What it inherits is being resolved.
    Begun,
    Done(Effective),
}

/// Gives roles what they inherit, those first that others inherit.
struct Resolver<'r> {
    /// Taken apart as they are resolved.
    written: &'r mut [WrittenRole],
    state: Vec<State>,
    shared: SharedPermissions,
    faults: &'r mut Faults,
}

impl Resolver<'_> {
    fn resolve(&mut self, index: usize) {
        if !matches!(self.state[index], State::Open) {
            return;
        }
        self.state[index] = State::Begun;
        let role = &mut self.written[index];
        let (inherits, sources) = (mem::take(&mut role.inherits), mem::take(&mut role.sources));
        let policies = mem::take(&mut role.policies);
        let (role, is_unrestricted) = (role.name.clone(), role.unrestricted);
        let mut effective = Effective { policies, ..Effective::default() };
        let mut inherited_names = BTreeSet::new();
        for (name, origin) in &inherits {
            if !inherited_names.insert(name) {
                self.faults.push(origin.clone(), format!("`{name}` is inherited twice"));
                continue;
            }
            let Some(inherited) = self.written.iter().position(|role| role.name == *name) else {
                let known = self.written.iter().map(|role| role.name.as_str());
                unknown("role", name, known, origin.clone(), self.faults);
                continue;
            };
            self.resolve(inherited);
            match self.state[inherited].clone() {
                State::Done(inherited) => {
                    for fault in unite(&mut effective, inherited, &sources, &mut self.shared) {
                        self.faults.push(origin.clone(), fault.message(&role, name));
                    }
                }
                State::Open | State::Begun => {
                    let message = format!("`{role}` inherits from `{name}`, which inherits from it");
                    self.faults.push(origin.clone(), message);
                }
            }
        }
        effective.unrestricted |= is_unrestricted;
        if effective.unrestricted {
            effective.sources.clear();
        } else {
            own(&mut effective, sources, &mut self.shared);
        }
        self.state[index] = State::Done(effective);
    }
}

/// An operation of a table whose inherited permissions have no union.
struct TableNoUnion {
    source: String,
    table: String,
    fault: union::NoUnion,
}

impl TableNoUnion {
    fn message(&self, role: &str, inherited: &str) -> String {
        let (Self { source, table, .. }, union::NoUnion { operation, difference }) = (self, self.fault);
        format!(
            "`{inherited}` gives {operation} of `{table}` for {difference} than what `{role}` inherits before it; no permission is \
             exactly both: write `{operation}` of [roles.{role}.sources.{source}] for `{table}` itself, which then holds instead of them"
        )
    }
}

impl EffectiveSource {
    fn of(origin: Origin) -> Self {
        let (tables, interceptors) = (BTreeMap::new(), BTreeMap::new());
        Self { origin, everything: false, tables, interceptors, fields: FieldPermissions::default() }
    }
}

/// Adds what another role may do. What a role says itself of an operation is not inherited, so that nothing has to be united
/// there.
fn unite(
    effective: &mut Effective,
    inherited: Effective,
    own: &BTreeMap<String, WrittenSource>,
    shared: &mut SharedPermissions,
) -> Vec<TableNoUnion> {
    let mut faults = Vec::new();
    effective.unrestricted |= inherited.unrestricted;
    effective.policies.extend(inherited.policies);
    for (source, added) in inherited.sources {
        let own = own.get(&source);
        let united = effective.sources.entry(source.clone());
        let united = united.or_insert_with(|| EffectiveSource::of(added.origin));
        united.everything |= added.everything;
        united.fields = united.fields.union(&added.fields);
        for (table, added) in added.interceptors {
            let says = own.and_then(|own| own.tables.get(&table)?.interceptors.as_ref());
            if says.is_none() {
                united.interceptors.entry(table).or_default().add(&added);
            }
        }
        for (table, (place, mut added)) in added.tables {
            if let Some(own) = own.and_then(|own| own.tables.get(&table)) {
                added = shared.share(without(&added, own));
            }
            let Some((_, known)) = united.tables.get_mut(&table) else {
                united.tables.insert(table, (place, added));
                continue;
            };
            match union::tables(known, &added) {
                Ok(permissions) => *known = shared.share(permissions),
                Err(all) => {
                    let of_table =
                        |fault| TableNoUnion { source: source.clone(), table: table.clone(), fault };
                    faults.extend(all.into_iter().map(of_table));
                }
            }
        }
    }
    faults
}

/// What is left of permissions without the operations of which a role says something itself.
fn without(inherited: &TablePermissions, own: &WrittenTable) -> TablePermissions {
    fn unless<P: Clone>(inherited: Option<&P>, is_own: bool) -> Option<P> {
        inherited.filter(|_| !is_own).cloned()
    }
    let [select, insert, update, delete] = OPERATIONS;
    let (given, is_denied) = (&own.given, |operation| own.denied.contains(&operation));
    TablePermissions {
        select: unless(inherited.select.as_ref(), given.select.is_some() || is_denied(select)),
        insert: unless(inherited.insert.as_ref(), given.insert.is_some() || is_denied(insert)),
        update: unless(inherited.update.as_ref(), given.update.is_some() || is_denied(update)),
        delete: unless(inherited.delete.as_ref(), given.delete.is_some() || is_denied(delete)),
    }
}

/// Adds what a role says itself.
fn own(effective: &mut Effective, sources: BTreeMap<String, WrittenSource>, shared: &mut SharedPermissions) {
    for (source, written) in sources {
        let united = effective.sources.entry(source);
        let united = united.or_insert_with(|| EffectiveSource::of(written.origin.clone()));
        united.origin = written.origin;
        united.everything |= written.everything;
        united.fields = united.fields.union(&written.fields);
        for (table, WrittenTable { origin, given, interceptors, .. }) in written.tables {
            if let Some(interceptors) = interceptors {
                united.interceptors.insert(table.clone(), interceptors);
            }
            match united.tables.entry(table) {
                Entry::Vacant(place) => {
                    place.insert((origin, given));
                }
                Entry::Occupied(mut known) => {
                    let inherited = &known.get().1;
                    let both = TablePermissions {
                        select: given.select.as_ref().or(inherited.select.as_ref()).cloned(),
                        insert: given.insert.as_ref().or(inherited.insert.as_ref()).cloned(),
                        update: given.update.as_ref().or(inherited.update.as_ref()).cloned(),
                        delete: given.delete.as_ref().or(inherited.delete.as_ref()).cloned(),
                    };
                    known.insert((origin, shared.share(both)));
                }
            }
        }
    }
}
