//! From what was typed to settings: flags over the file over defaults, variables of the environment filled in,
//! and checks that need more than one value.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use prony_source::config::{
    Faults, GivenValue, Kinds, OptionOf, Origin, SourceEntry, SourceKind, SourceUrl, TypedValue, substitute,
};

use super::{
    options::{Section, TLS_PATHS},
    places::SourcePlaces,
    redis,
    restart::RestartOptions,
    settings::Settings,
    source::SourceSettings,
    traces_environment,
    typed::{Given, Typed, TypedSource},
};
use crate::tls::TlsSettings;

/// Merges the file with the command line, which wins. Sources of the command line come instead of the file's.
/// `variable` answers for the environment.
pub(super) fn resolve(
    kinds: Kinds<'_>,
    file: Typed<'_>,
    line: Typed<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    faults: &mut Faults,
) -> Settings {
    let mut settings = Settings::default();
    let access = file.access;
    if let Some(access) = &access {
        settings.hosts.clone_from(&access.hosts);
    }
    settings.joins = file.joins;
    settings.limits.weights = file.weights.unwrap_or_default();
    let (of_sources, of_server): (Vec<_>, Vec<_>) =
        file.values.into_iter().chain(line.values).partition(|given| given.section == Section::Source);
    for given in &of_server {
        let key = given.value.option.spec().key;
        if let Some(option) = server_option(given.section, key) {
            option.apply(&mut settings, &value_of(given));
        }
    }
    if !file.names_sources && !line.names_sources {
        faults.push(Origin::Argument, none_given(kinds));
    }
    let mut resolver = Resolver {
        kinds,
        variable,
        flags: of_sources.into_iter().map(|given| given.value).collect(),
        names: BTreeSet::new(),
        found: Vec::new(),
        variables: Vec::new(),
        restart: RestartOptions::of_server(
            of_server.iter().map(|given| (given.section.key(), &given.value)),
            settings.limits.weights.clone(),
        ),
    };
    for source in if line.sources.is_empty() { file.sources } else { line.sources } {
        settings.sources.extend(resolver.source(source, faults));
    }
    let Resolver { found, variables, restart, .. } = resolver;
    settings.restart = restart;
    if let Some(mut access) = access {
        access.tell_sources(&variables, faults);
        settings.access = Arc::new(access);
    }
    fill_redis(&mut settings, &of_server, variable, faults);
    traces_environment::complete(&mut settings.traces, &of_server, variable, faults);
    check_listening(&settings, &of_server, faults);
    check_processors(&of_server, faults);
    check_tls(&settings.tls, &of_server, file.client_certificates, faults);
    check_numbers(kinds, &found, faults);
    let is_given = |key: &str| {
        let mut given = of_server.iter().filter(|given| given.section == Section::Server);
        given.any(|given| given.value.option.spec().key == key)
    };
    apply_defaults(kinds, &found, &mut settings, &is_given);
    settings
}

/// Fills variables of the environment into the address of the Redis that servers share.
fn fill_redis(
    settings: &mut Settings,
    given: &[Given],
    variable: &dyn Fn(&str) -> Option<String>,
    faults: &mut Faults,
) {
    let url = &mut settings.operation_limits.redis.url;
    if url.is_empty() {
        return;
    }
    let is_it = |given: &&Given| given.section == Section::Limits && given.value.option.spec().key == "redis";
    let given = given.iter().rfind(is_it);
    let origin = || given.map_or(Origin::Argument, |given| given.value.origin.clone());
    match substitute(url, variable) {
        Ok(filled) => *url = filled,
        Err(fault) => return faults.push(origin(), fault.to_string()),
    }
    if let Err(message) = redis::check(url) {
        faults.push(origin(), message);
    }
}

/// Other machines than this one are let in only where it is said who may ask.
fn check_listening(settings: &Settings, given: &[Given], faults: &mut Faults) {
    if !settings.lets_only_this_machine_in() {
        return;
    }
    if let Some(address) = settings.listen.iter().find(|address| !address.ip().is_loopback()) {
        let listen = given.iter().rfind(|given| given.value.option.spec().key == "listen");
        let origin = listen.map_or(Origin::Argument, |given| given.value.origin.clone());
        let message = format!(
            "{address} can be reached from other machines, and nothing says who may ask: add [auth] to the configuration, or \
             let everybody do everything with --open (`auth = \"open\"` in the file)"
        );
        faults.push(origin, message);
    }
}

/// One of both says how many processors are used. A flag wins over what the file says of the other.
fn check_processors(given: &[Given], faults: &mut Faults) {
    let find = |key: &str| {
        let is_it = |given: &&Given| given.section == Section::Server && given.value.option.spec().key == key;
        given.iter().rfind(is_it).map(|given| &given.value)
    };
    let (Some(cpus), Some(cores)) = (find("cpus"), find("cores")) else { return };
    let is_beside = std::mem::discriminant(&cpus.origin) == std::mem::discriminant(&cores.origin);
    if is_beside && !cores.value.list().is_empty() {
        let message = "`cores` says which processors are used, and `cpus` how many: give one of them";
        faults.push(cores.origin.clone(), message);
    }
}

/// The value of a server's option. Files of TLS are named from the file that names them, as those of `[auth]` are.
fn value_of(given: &Given) -> TypedValue {
    let Origin::File { path, .. } = &given.value.origin else { return given.value.value.clone() };
    if given.section != Section::Tls || !TLS_PATHS.contains(&given.value.option.spec().key) {
        return given.value.value.clone();
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    let from_there = |text: &String| match text.as_str() {
        "" => String::new(),
        text => directory.join(text).to_string_lossy().into_owned(),
    };
    match &given.value.value {
        TypedValue::Text(text) => TypedValue::Text(from_there(text)),
        TypedValue::List(list) => TypedValue::List(list.iter().map(from_there).collect()),
        other => other.clone(),
    }
}

/// What needs what; whether the files can be read is found at the start.
fn check_tls(
    settings: &TlsSettings,
    given: &[Given],
    client_certificates: Option<Origin>,
    faults: &mut Faults,
) {
    let origin = |key: &str| {
        let is_it = |given: &&Given| given.section == Section::Tls && given.value.option.spec().key == key;
        given.iter().rfind(is_it).map_or(Origin::Argument, |given| given.value.origin.clone())
    };
    match (&settings.certificate, &settings.key) {
        (Some(_), None) => faults.push(origin("certificate"), "a certificate needs its `key` (--tls-key)"),
        (None, Some(_)) => faults.push(origin("key"), "a key needs its `certificate` (--tls-certificate)"),
        _ => {}
    }
    let (certificates, keys) = (settings.sni_certificates.len(), settings.sni_keys.len());
    if certificates != keys {
        let message =
            format!("there are {certificates} `sni_certificates` and {keys} `sni_keys`: each needs its own");
        faults.push(origin(if certificates == 0 { "sni_keys" } else { "sni_certificates" }), message);
    } else if certificates > 0 && settings.certificate.is_none() {
        let message = "they are beside the one that all others get: add `certificate` and `key` to [tls]";
        faults.push(origin("sni_certificates"), message);
    }
    if settings.client_ca.is_some() && settings.certificate.is_none() {
        let message = "clients bring certificates over TLS alone: add `certificate` and `key` to [tls]";
        faults.push(origin("client_ca"), message);
    }
    if !settings.revocation_lists.is_empty() && settings.client_ca.is_none() {
        let message = "revocation lists are for certificates of clients: add `client_ca` to [tls]";
        faults.push(origin("revocation_lists"), message);
    }
    if let Some(origin) = client_certificates.filter(|_| settings.client_ca.is_none()) {
        let message = "certificates of clients are verified here: add `client_ca` to [tls], with `certificate` and `key`";
        faults.push(origin, message);
    }
}

fn server_option(section: Section, key: &str) -> Option<&'static OptionOf<Settings>> {
    section.options().iter().find(|option| option.spec.key == key)
}

/// `a, b or c`.
pub fn alternatives(words: &[&str]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

fn none_given(kinds: Kinds<'_>) -> String {
    let commands = kinds.iter().map(|kind| format!("`prony serve {}`, ", kind.address().short));
    format!("none is given; write {}or [[source]] in the file of --config", commands.collect::<String>())
}

fn unknown_address(kinds: Kinds<'_>, url: &SourceUrl) -> String {
    let known: Vec<&str> = kinds.iter().map(|kind| kind.address().short).collect();
    let (shown, path) = (url.without_secrets(), Path::new(&url.0));
    if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
        return format!("`{shown}` is no source; a configuration is given by --config {shown}");
    }
    if let Some(address) = kinds.iter().find_map(|kind| kind.address_of(path)) {
        return format!("`{shown}` is no source; write {address}");
    }
    // What follows a file is read behind its scheme alone.
    if let Some((path, parameters)) = url.0.split_once('?') {
        let address = kinds.iter().find_map(|kind| kind.address_of(Path::new(path)));
        if let Some(address) = address {
            return format!("`{shown}` is no source; write {address}?{parameters}");
        }
    }
    let is_of_a_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let has_scheme = url.0.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(is_of_a_scheme));
    let what = if has_scheme {
        "no source"
    } else if path.is_dir() {
        "a directory without a graph or series in it"
    } else if path.is_file() {
        "a file and no SQLite database"
    } else {
        "no source, and there is no such file"
    };
    format!("`{shown}` is {what}; write {}", alternatives(&known))
}

/// What to say where an address names a file or directory that is of another kind than it says. Opened by the wrong one, a directory would
/// have the files of both.
fn of_another_kind(kinds: Kinds<'_>, index: usize, url: &SourceUrl) -> Option<String> {
    let (_, path) = url.0.split_once(':')?;
    let path = Path::new(path);
    if kinds[index].address_of(path).is_some() {
        return None;
    }
    let other = kinds.iter().find_map(|kind| kind.address_of(path))?;
    Some(format!("`{}` is a source of another kind; write {other}", url.without_secrets()))
}

/// Makes sources ready to be opened, one after the other.
struct Resolver<'a> {
    kinds: Kinds<'a>,
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// They hold for all sources and win over what the file says of one.
    flags: Vec<GivenValue>,
    names: BTreeSet<String>,
    /// Indexes of the kinds of the sources.
    found: Vec<usize>,
    /// Variables of the session that sources want to know.
    variables: Vec<(String, Origin)>,
    restart: RestartOptions,
}

impl Resolver<'_> {
    fn source(&mut self, source: TypedSource<'_>, faults: &mut Faults) -> Option<SourceSettings> {
        let origin = source.url_origin;
        let filled = substitute(&source.url, self.variable);
        let filled = filled.map_err(|fault| faults.push(origin.clone(), fault.to_string()));
        // Of an address that lacks a variable the kind may be known all the same, and with it more faults.
        let (is_filled, url) = (filled.is_ok(), SourceUrl(filled.unwrap_or(source.url)));
        let known = |url: &SourceUrl| self.kinds.iter().position(|kind| kind.address().fits(&url.0));
        let found = known(&url).map(|index| (index, url.clone())).or_else(|| {
            // A file names its sources for other days and other machines; a command is for what is there now.
            let path = Path::new(&url.0);
            let address = self.kinds.iter().find_map(|kind| kind.address_of(path));
            let url = SourceUrl(address.filter(|_| origin == Origin::Argument)?);
            known(&url).map(|index| (index, url))
        });
        let Some((index, url)) = found else {
            if is_filled {
                faults.push(origin, unknown_address(self.kinds, &url));
            }
            return None;
        };
        if let Some(message) = of_another_kind(self.kinds, index, &url) {
            faults.push(origin, message);
            return None;
        }
        let values: Vec<GivenValue> = source.values.into_iter().chain(self.flags.iter().cloned()).collect();
        let entry =
            SourceEntry { url: &url, url_origin: &origin, values: &values, sections: &source.sections };
        let opener = self.kinds[index].configure(&entry, faults).filter(|_| is_filled)?;
        let wanted = opener.session_variables().into_iter();
        self.variables.extend(wanted.map(|variable| (variable, origin.clone())));
        let name = self.name(source.name, &url, origin, faults)?;
        let taken_again = self.kinds[index].taken_again();
        self.restart.add_source(&name, &values, &source.sections, taken_again);
        self.found.push(index);
        let places = SourcePlaces::of(&values, &source.sections);
        Some(SourceSettings { name, url, opener, places })
    }

    /// The source's name, where no other has it.
    fn name(
        &mut self,
        given: Option<String>,
        url: &SourceUrl,
        origin: Origin,
        faults: &mut Faults,
    ) -> Option<String> {
        let mut name = given.unwrap_or_else(|| name_of(url));
        if origin == Origin::Argument && self.names.contains(&name) {
            // The command line has no way to name a source.
            name = format!("{name}-{}", self.names.len() + 1);
        }
        if self.names.insert(name.clone()) {
            return Some(name);
        }
        faults.push(origin, format!("two sources are named `{name}`; give one another `name`"));
        None
    }
}

/// Says where there are two sources of a kind of which there can be one.
fn check_numbers(kinds: Kinds<'_>, found: &[usize], faults: &mut Faults) {
    for (index, kind) in kinds.iter().enumerate() {
        let number = found.iter().filter(|of| **of == index).count();
        if let (2.., Some(message)) = (number, kind.only_one()) {
            faults.push(Origin::Argument, message);
        }
    }
}

/// Gives options of the server that are not given the defaults of the kinds that are served.
fn apply_defaults(
    kinds: Kinds<'_>,
    found: &[usize],
    settings: &mut Settings,
    is_given: &dyn Fn(&str) -> bool,
) {
    let served = |index: &usize| found.contains(index);
    let is_alone = found.windows(2).all(|pair| pair[0] == pair[1]);
    let served: Vec<&dyn SourceKind> = (0..kinds.len()).filter(served).map(|index| kinds[index]).collect();
    for option in Section::Server.options().iter().filter(|option| !is_given(option.spec.key)) {
        let read = |text: &str| {
            let value = option.spec.kind.read_texts(&[text.to_owned()]);
            value.expect("kinds of sources give values that the option takes")
        };
        let defaults = served.iter().flat_map(|kind| kind.server_defaults());
        let defaults =
            defaults.filter(|other| other.key == option.spec.key && (is_alone || !other.only_alone));
        let highest = defaults.map(|other| read(other.value)).reduce(higher);
        if let Some(value) = highest {
            option.apply(settings, &value);
        }
    }
}

/// The higher of two numbers; of others the later one.
fn higher(one: TypedValue, other: TypedValue) -> TypedValue {
    if other.number() < one.number() { one } else { other }
}

/// `shop` for `sqlite:data/shop.db` and for `postgres://host/shop?…`.
fn name_of(url: &SourceUrl) -> String {
    let plain = url.without_secrets();
    let plain = plain.trim_end_matches('/');
    let last = plain.rsplit(['/', ':']).next().unwrap_or_default();
    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
    if stem.is_empty() { "database".to_owned() } else { stem.to_owned() }
}
