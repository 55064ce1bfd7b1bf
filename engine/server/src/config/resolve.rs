//! From what was typed to settings: flags over the file over defaults, variables of the environment filled in,
//! and checks that need more than one value.

use prony_graph::GraphSettings;
use std::collections::BTreeSet;

use prony_sql::settings::RelationalSettings;

use super::{
    Given, Settings, SourceSettings, SourceUrl, Typed, TypedSource,
    fault::{Faults, Origin},
    options::Effect,
    settings::{GRAPH_HEADER_BYTES, GRAPH_LISTEN, GRAPH_URI_BYTES},
};

/// Merges the file with the command line, which wins. Sources of the command line come instead of the file's.
/// `variable` answers for the environment.
pub(super) fn resolve(
    file: Typed,
    line: Typed,
    variable: &dyn Fn(&str) -> Option<String>,
    faults: &mut Faults,
) -> Settings {
    let mut settings = Settings::default();
    let values: Vec<Given> = file.values.into_iter().chain(line.values).collect();
    for given in &values {
        if let Effect::Settings(apply) = given.option.effect
            && let Err(message) = apply(&mut settings, &given.value)
        {
            faults.push(given.origin.clone(), message);
        }
    }
    let sources = if line.sources.is_empty() { file.sources } else { line.sources };
    if !file.names_sources && !line.names_sources {
        let message = "none is given; write `prony serve sqlite:FILE`, `prony serve postgres://…`, \
            `prony serve graph:DIRECTORY`, or [[source]] in the file of --config";
        faults.push(Origin::Argument, message);
    }
    let mut names = BTreeSet::new();
    for source in sources {
        settings.sources.extend(resolve_source(source, &values, variable, &mut names, faults));
    }
    let graphs = settings.sources.iter().filter(|source| source.url.graph_directory().is_some()).count();
    if graphs > 1 {
        let message = "there can be one graph: its directory holds as many databases as /dbs makes";
        faults.push(Origin::Argument, message);
    }
    let is_given = |key: &str| values.iter().any(|given| given.option.key == key);
    if graphs > 0 && graphs == settings.sources.len() && !is_given("listen") {
        settings.listen = vec![GRAPH_LISTEN];
    }
    // Keys of nodes stand in paths.
    if graphs > 0 && !is_given("max_uri_bytes") {
        settings.max_uri_bytes = GRAPH_URI_BYTES;
    }
    if graphs > 0 && !is_given("max_header_bytes") {
        settings.max_header_bytes = GRAPH_HEADER_BYTES;
    }
    settings
}

fn resolve_source(
    source: TypedSource,
    common: &[Given],
    variable: &dyn Fn(&str) -> Option<String>,
    names: &mut BTreeSet<String>,
    faults: &mut Faults,
) -> Option<SourceSettings> {
    let origin = source.url_origin.clone();
    let url = match substitute(&source.url, variable) {
        Ok(url) => SourceUrl(url),
        Err(message) => {
            faults.push(origin, message);
            return None;
        }
    };
    if !["sqlite:", "postgres://", "postgresql://", "graph:"].iter().any(|scheme| url.0.starts_with(scheme)) {
        let message = format!(
            "`{}` is no source; write sqlite:FILE, postgres://… or graph:DIRECTORY",
            url.without_secrets()
        );
        faults.push(origin, message);
        return None;
    }
    if url.graph_directory().is_some_and(|directory| directory.as_os_str().is_empty()) {
        faults.push(origin, "`graph:` lacks its directory; write graph:DIRECTORY");
        return None;
    }
    let relational = relational(&source, common, faults);
    let graph = graph(&source, common, faults);
    let is_argument = origin == Origin::Argument;
    let mut name = source.name.unwrap_or_else(|| name_of(&url));
    if is_argument && names.contains(&name) {
        // The command line has no way to name a source.
        name = format!("{name}-{}", names.len() + 1);
    }
    if !names.insert(name.clone()) {
        faults.push(origin, format!("two sources are named `{name}`; give one another `name`"));
        return None;
    }
    Some(SourceSettings { name, url, relational, graph })
}

/// Flags hold for all sources and win over what the file says of one.
fn relational(source: &TypedSource, common: &[Given], faults: &mut Faults) -> RelationalSettings {
    let mut relational = RelationalSettings { tables: source.tables.clone(), ..Default::default() };
    let mut limits = None;
    for given in source.values.iter().chain(common) {
        if let Effect::Source(apply) = given.option.effect {
            apply(&mut relational, &given.value);
            if given.option.key.ends_with("_limit") {
                limits = Some(given.origin.clone());
            }
        }
    }
    let (default, highest) = (relational.common.default_limit, relational.common.max_limit);
    if let (Some(origin), true) = (limits, default > highest) {
        let message = format!("default_limit {default} is over max_limit {highest}");
        faults.push(origin, message);
    }
    relational
}

/// As [`relational`].
fn graph(source: &TypedSource, common: &[Given], faults: &mut Faults) -> GraphSettings {
    let mut graph = GraphSettings::default();
    for given in source.values.iter().chain(common) {
        if let Effect::Graph(apply) = given.option.effect
            && let Err(message) = apply(&mut graph, &given.value)
        {
            faults.push(given.origin.clone(), message);
        }
    }
    graph
}

/// `shop` for `sqlite:data/shop.db` and for `postgres://host/shop?…`.
fn name_of(url: &SourceUrl) -> String {
    let plain = url.without_secrets();
    let plain = plain.trim_end_matches('/');
    let last = plain.rsplit(['/', ':']).next().unwrap_or_default();
    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
    if stem.is_empty() { "database".to_owned() } else { stem.to_owned() }
}

/// Fills in `${NAME}`.
fn substitute(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) =
            after.split_once('}').ok_or_else(|| format!("`${{{after}` lacks its closing brace"))?;
        let value = variable(name)
            .ok_or_else(|| format!("the environment has no variable `{name}`; set it before starting"))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}
