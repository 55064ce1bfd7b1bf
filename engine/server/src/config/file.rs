//! Reading `prony.toml`: walks the parsed tree beside the tables of options, so that every fault is found, not
//! only the first one.

use std::{collections::BTreeSet, iter, path::Path};

use prony_access::{AccessSettings, ConfigInputs, Openness};
use prony_source::config::{
    ConfigOption, Faults, FileEntry, FileText, Kinds, Origin, SourceSection, described, suggestion,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Program, complexity,
    options::{self, Section},
    typed::{Given, Typed, TypedSource},
};

/// The tables of who asks, of what roles may do, of limits by operation, and of what is called around fields.
const AUTH: &str = "auth";
const ROLES: &str = "roles";
const OPERATION: &str = "operation";
/// The tables of fields from one source to another.
const JOIN: &str = "join";
/// What fields count for.
const COMPLEXITY: &str = "complexity";
const INTERCEPTORS: &str = "interceptors";
const OF_ACCESS: [&str; 4] = [AUTH, ROLES, OPERATION, INTERCEPTORS];

/// Reads the text of the file at `path`, which is only for messages. What is faulty is left out of the answer, so
/// that the rest can be checked too.
pub(super) fn read<'t>(
    Program { kinds, interceptors: loader }: Program<'_>,
    inputs: &ConfigInputs<'_>,
    path: &Path,
    text: &'t str,
) -> (Typed<'t>, Faults) {
    let file = FileText::new(path, text);
    let mut faults = Faults::default();
    let (table, syntax) = DeTable::parse_recoverable(text);
    // What is left out of a text that is no TOML may be its sources.
    let mut typed = Typed { names_sources: !syntax.is_empty(), ..Typed::default() };
    for error in syntax {
        faults.push(file.place(&error.span().unwrap_or_default()), error.message());
    }
    let of_access = |name: &str| file.entries(table.get_ref()).find(|entry| entry.name() == name);
    let mut access = AccessSettings::read(of_access(AUTH), of_access(ROLES), inputs, &mut faults);
    typed.client_certificates = of_access(AUTH).and_then(|auth| certificates(&file, &auth));
    if let Some(operations) = of_access(OPERATION) {
        access.read_operations(operations, &mut faults);
        if access.openness != Openness::Closed {
            let message = "rules for operations need [auth], which says who asks; `anonymous` is enough";
            faults.push(operations.key_origin(), message);
        }
    }
    if let Some(interceptors) = of_access(INTERCEPTORS) {
        access.read_interceptors(interceptors, &mut faults);
    }
    access.load_interceptors(loader, inputs.file, &mut faults);
    typed.access = Some(access);
    typed.weights = of_access(COMPLEXITY).map(|entry| complexity::read(entry, &mut faults));
    let is_of_access = |name: &str| OF_ACCESS.contains(&name) || name == COMPLEXITY;
    for entry in file.entries(table.get_ref()).filter(|entry| !is_of_access(entry.name())) {
        if entry.name() == Section::Source.key() {
            SourceReader::new(kinds, &file).read(entry.value(), &mut typed, &mut faults);
        } else if entry.name() == JOIN {
            typed.joins = entry.read_tables(&mut faults);
        } else {
            read_section(kinds, entry, &mut typed, &mut faults);
        }
    }
    (typed, faults)
}

/// Where certificates of clients are asked for.
fn certificates(file: &FileText<'_>, auth: &FileEntry<'_, '_>) -> Option<Origin> {
    let DeValue::Table(table) = auth.value().get_ref() else { return None };
    file.entries(table).find(|entry| entry.name() == "mtls").map(|entry| entry.key_origin())
}

/// What to say of an option that stands in another section than in its own.
fn elsewhere(kinds: Kinds<'_>, key: &str) -> Option<String> {
    let options = options::options(kinds);
    let found = options.iter().find(|listed| listed.spec().key == key)?;
    Some(match found.section {
        Section::Source => "; it is an option of [[source]]".to_owned(),
        section => format!("; it is an option of [{}]", section.key()),
    })
}

fn read_section(kinds: Kinds<'_>, entry: FileEntry<'_, '_>, typed: &mut Typed<'_>, faults: &mut Faults) {
    let name = entry.name();
    let Some(section) = Section::OF_SERVER.into_iter().find(|section| section.key() == name) else {
        let known = Section::OF_SERVER.into_iter().chain([Section::Source]).map(Section::key);
        let known = known.chain(OF_ACCESS).chain([JOIN, COMPLEXITY]);
        let near = elsewhere(kinds, name).unwrap_or_else(|| suggestion(name, known));
        faults.push(entry.key_origin(), format!("`{name}` is no section{near}"));
        return;
    };
    if !matches!(entry.value().get_ref(), DeValue::Table(_)) {
        let found = described(entry.value().get_ref());
        let message = format!("`{name}` is a section: write [{name}], not {found}");
        faults.push(entry.value_origin(), message);
        return;
    }
    for entry in entry.table(faults) {
        if let Some(option) = section.options().iter().find(|option| option.spec.key == entry.name()) {
            let value = entry.option(option, faults);
            typed.values.extend(value.map(|value| Given { section, value }));
        } else if let Some(place) = elsewhere(kinds, entry.name()) {
            faults.push(entry.key_origin(), format!("`{}` is no option of [{name}]{place}", entry.name()));
        } else {
            let known = section.options().iter().map(|option| option.spec.key);
            entry.unknown(&format!("[{name}]"), known, faults);
        }
    }
}

/// Reads `[[source]]`. Which kind a source is of may stand in a variable of the environment, so that options and sections of
/// all kinds are taken here.
struct SourceReader<'a, 't> {
    kinds: Kinds<'a>,
    file: &'a FileText<'t>,
    options: Vec<&'static dyn ConfigOption>,
    sections: BTreeSet<&'static str>,
    /// Keys of addresses.
    addresses: Vec<&'static str>,
}

impl<'a, 't> SourceReader<'a, 't> {
    fn new(kinds: Kinds<'a>, file: &'a FileText<'t>) -> Self {
        let sections = kinds.iter().flat_map(|kind| kind.sections()).copied().collect();
        let addresses = iter::once("url").chain(kinds.iter().filter_map(|kind| kind.address_key())).collect();
        Self { kinds, file, options: options::of_sources(kinds), sections, addresses }
    }

    fn read(&self, value: &Spanned<DeValue<'t>>, typed: &mut Typed<'t>, faults: &mut Faults) {
        let DeValue::Array(items) = value.get_ref() else {
            typed.names_sources = true;
            faults.push(self.file.place(&value.span()), "sources are a list: write [[source]]");
            return;
        };
        typed.names_sources |= !items.is_empty();
        for item in items {
            let DeValue::Table(table) = item.get_ref() else {
                faults.push(self.file.place(&item.span()), "a source is a table: write [[source]]");
                continue;
            };
            let given = self.addresses.iter().filter(|key| table.contains_key(**key)).count();
            if given > 1 {
                let message = format!("a source has one address: write one of {}", self.addresses.join(", "));
                faults.push(self.file.place(&item.span()), message);
            }
            if given == 0 {
                let message = "a source needs its `url`, such as \"sqlite:shop.db\"";
                faults.push(self.file.place(&item.span()), message);
            }
            typed.sources.extend(self.read_source(table, faults));
        }
    }

    fn read_source(&self, table: &DeTable<'t>, faults: &mut Faults) -> Option<TypedSource<'t>> {
        let (mut url, mut name) = (None, None);
        let (mut values, mut sections) = (Vec::new(), Vec::new());
        for entry in self.file.entries(table) {
            let option = self.options.iter().find(|option| option.spec().key == entry.name());
            match (entry.name(), option) {
                (key, _) if self.addresses.contains(&key) => {
                    url = entry.text(faults).map(|url| (url, entry.value_origin()));
                }
                ("name", _) => name = entry.text(faults),
                (_, Some(option)) => values.extend(entry.option(*option, faults)),
                (key, None) if self.sections.contains(key) => {
                    sections.push(SourceSection::new(self.file, entry));
                }
                (_, None) => self.unknown(entry, faults),
            }
        }
        let (url, url_origin) = url?;
        Some(TypedSource { url, url_origin, name, values, sections })
    }

    fn unknown(&self, entry: FileEntry<'_, '_>, faults: &mut Faults) {
        if let Some(place) = elsewhere(self.kinds, entry.name()) {
            faults.push(entry.key_origin(), format!("`{}` is no option of [source]{place}", entry.name()));
            return;
        }
        let options = self.options.iter().map(|option| option.spec().key);
        let known = options
            .chain(self.addresses.iter().copied())
            .chain(["name"])
            .chain(self.sections.iter().copied());
        entry.unknown("[source]", known, faults);
    }
}
