//! The text of a first configuration: what was chosen, what is most often wanted as remarks, and sources without their passwords.

use std::fmt::Write as _;

use prony_server::{
    config::{self, ListedOption, Section},
    graphql::SourceOutline,
};

use super::choices::{Choices, WhoAsks};
use crate::kinds::KINDS;

/// In the order in which somebody who begins wants to know of them.
const SHOWN: &[(Section, &[&str])] = &[
    (Section::Server, &["listen", "open", "hosts", "cors_origins", "console", "max_connections"]),
    (Section::Graphql, &["introspection", "max_depth", "max_operation_bytes"]),
    (Section::Log, &["format", "access_log", "request_ids"]),
];
const SHOWN_OF_SOURCES: &[&str] = &[
    "default_limit",
    "max_limit",
    "statement_timeout_ms",
    "read_only",
    "subscriptions",
    "exclude_tables",
    "durability",
];
/// The option that says which schemas of PostgreSQL are served; it stands in the file where it was given.
pub(super) const SCHEMAS: &str = "schemas";
/// Root fields that the remarks name.
const NAMED_FIELDS: usize = 12;
/// Tables of the role that is a remark; one that counts has them all.
const TABLES_OF_EXAMPLE: usize = 12;
/// The role and the name of the key.
pub(super) const OWNER: &str = "owner";
/// The role of whoever has no key.
const VISITOR: &str = "visitor";

/// The file, and the variables of the environment that it needs in place of passwords. `key` is what it keeps of an API key.
pub(super) fn configuration(
    sources: &[SourceOutline],
    addresses: &[&str],
    schemas: &[String],
    choices: Choices,
    key: Option<&str>,
) -> (String, Vec<String>) {
    let mut text = String::from(
        "# What `prony serve --config` serves with this file; `prony init` has written it. Lines without a # at their beginning count.\n\
         # All options: `prony docs`, Configuration.\n",
    );
    let chosen = chosen(choices);
    for (section, keys) in SHOWN {
        let _ = write!(text, "\n[{}]\n", section.key());
        let chosen = if *section == Section::Server { &chosen[..] } else { &[] };
        add_options(&mut text, *section, keys.iter().copied(), chosen);
    }
    let schemas: Vec<String> = schemas.iter().map(|schema| quoted(schema)).collect();
    let of_sources =
        if schemas.is_empty() { Vec::new() } else { vec![(SCHEMAS, format!("[{}]", schemas.join(", ")))] };
    let mut secrets = Vec::new();
    for (source, address) in sources.iter().zip(addresses) {
        let (address, variables) = without_passwords(address, secrets.len());
        let fields = named(&source.list_fields);
        let _ = write!(
            text,
            "\n[[source]]\n# {}{fields}\nname = {}\nurl = {}\n",
            source.contents,
            quoted(&source.name),
            quoted(&address)
        );
        let kind = KINDS.iter().find(|kind| kind.address().fits(&address));
        let options = kind.map(|kind| kind.options()).unwrap_or_default();
        let is_of_kind = |key: &&str| options.iter().any(|option| option.spec().key == *key);
        let given = of_sources.iter().map(|(key, _)| *key);
        let keys = given.chain(SHOWN_OF_SOURCES.iter().copied()).filter(is_of_kind);
        add_options(&mut text, Section::Source, keys, &of_sources);
        secrets.extend(variables);
    }
    add_access(&mut text, sources, choices.who, key);
    (text, secrets)
}

/// Keys of `[server]` with values that are not their defaults.
fn chosen(choices: Choices) -> Vec<(&'static str, String)> {
    let mut chosen = Vec::new();
    if let Some(listen) = choices.listen {
        chosen.push(("listen", format!("[\"{listen}\"]")));
    }
    if choices.who == WhoAsks::Everybody {
        chosen.push(("open", "true".to_owned()));
    }
    if !choices.console {
        chosen.push(("console", "false".to_owned()));
    }
    chosen
}

/// What each option does, with its default as a remark, or with what was chosen.
fn add_options<'a>(
    text: &mut String,
    section: Section,
    keys: impl Iterator<Item = &'a str>,
    chosen: &[(&str, String)],
) {
    let options = config::options(KINDS);
    for key in keys {
        let is_it = |option: &&ListedOption| option.section == section && option.spec().key == key;
        let option = options.iter().find(is_it).expect("the keys that are shown are options");
        let _ = match chosen.iter().find(|(chosen, _)| *chosen == key) {
            Some((_, value)) => write!(text, "# {}\n{key} = {value}\n", option.help),
            None => write!(text, "# {}\n# {key} = {}\n", option.help, option.spec().default),
        };
    }
}

/// Who may ask, what, and how much of it: lines that count where that was chosen, else remarks.
fn add_access(text: &mut String, sources: &[SourceOutline], who: WhoAsks, key: Option<&str>) {
    let (auth, visitor) = match who {
        WhoAsks::ThisMachine | WhoAsks::Everybody => ("# ", "# "),
        WhoAsks::Key => ("", "# "),
        WhoAsks::KeyAndVisitors => ("", ""),
    };
    let has_tables = sources.iter().any(|source| !source.table_names.is_empty());
    text.push_str(
        "\n# Who may ask: with [auth] nobody but whoever is known, and `anonymous` for all others. `prony key new` makes keys, `prony docs` has tokens.\n",
    );
    let _ = writeln!(text, "{auth}[auth]");
    if has_tables {
        let _ = writeln!(text, "{visitor}anonymous = \"{VISITOR}\"");
    }
    if let Some(key) = key {
        let _ = write!(text, "\n{}\n", key.trim_end());
    }
    text.push_str("\n# What they may do: roles see and change what they name, and nothing else.\n");
    let _ = writeln!(text, "{auth}[roles.{OWNER}]\n{auth}unrestricted = true");
    let most = if visitor.is_empty() { usize::MAX } else { TABLES_OF_EXAMPLE };
    for (source, table) in tables(sources).take(most) {
        let (source, table) = (table_key(source), table_key(table));
        let _ = writeln!(
            text,
            "\n{visitor}[roles.{VISITOR}.sources.{source}.tables.{table}]\n{visitor}select = {{ columns = \"*\", limit = 100 }}"
        );
    }
    text.push_str(
        "\n# How much of it: by operation, whoever asks.\n# [[operation]]\n# match = \"Mutation.*\"\n\
         # rate_limit = [{ by = \"address\", rate = \"10/s\", burst = 20 }]\n",
    );
}

/// The first fields by their names.
pub(super) fn named(fields: &[String]) -> String {
    match fields.len() {
        0 => String::new(),
        count if count > NAMED_FIELDS => format!(": {}, …", fields[..NAMED_FIELDS].join(", ")),
        _ => format!(": {}", fields.join(", ")),
    }
}

/// With the names of their sources.
fn tables(sources: &[SourceOutline]) -> impl Iterator<Item = (&str, &str)> {
    sources.iter().flat_map(|source| source.table_names.iter().map(move |table| (&*source.name, &**table)))
}

/// A key of TOML.
fn table_key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// An address whose passwords are variables of the environment, and the variables' names; `before` are there already.
fn without_passwords(address: &str, before: usize) -> (String, Vec<String>) {
    let kind = KINDS.iter().find(|kind| kind.address().fits(address));
    let mut places = kind.map(|kind| kind.secrets(address)).unwrap_or_default();
    places.retain(|place| !address[place.clone()].starts_with("${"));
    let name = if address.starts_with("http") { "UPSTREAM_PASSWORD" } else { "PGPASSWORD" };
    let variable = |number| if number == 0 { name.to_owned() } else { format!("{name}_{}", number + 1) };
    let variables: Vec<String> = (before..before + places.len()).map(variable).collect();
    let mut text = address.to_owned();
    for (place, variable) in places.into_iter().zip(&variables).rev() {
        text.replace_range(place, &format!("${{{variable}}}"));
    }
    (text, variables)
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(who: WhoAsks, table_names: &[&str]) -> String {
        let source = SourceOutline {
            name: "my shop".to_owned(),
            contents: "tables".to_owned(),
            list_fields: Vec::new(),
            table_names: table_names.iter().map(|name| (*name).to_owned()).collect(),
            notes: Vec::new(),
        };
        let choices = Choices { listen: "0.0.0.0:80".parse().ok(), who, console: false };
        let key = who.needs_key().then_some("[[auth.api_key]]\n");
        configuration(&[source], &["sqlite:shop.db"], &[], choices, key).0
    }

    /// The lines that count, behind the sources.
    fn access(who: WhoAsks, table_names: &[&str]) -> String {
        let text = written(who, table_names);
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let lines = lines.skip_while(|line| !line.starts_with("url = ")).skip(1);
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_was_chosen_counts_and_the_rest_is_remarks() {
        let text = written(WhoAsks::Everybody, &[]);
        for line in ["listen = [\"0.0.0.0:80\"]", "open = true", "console = false", "# max_depth = "] {
            assert!(text.contains(&format!("\n{line}")), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn roles_are_of_the_tables_that_are_there() {
        assert_eq!(access(WhoAsks::ThisMachine, &["customers"]), "");
        let text = written(WhoAsks::ThisMachine, &["customers", "public.orders"]);
        assert!(text.contains("\n# anonymous = \"visitor\"\n"), "{text}");
        assert!(
            text.contains("\n# [roles.visitor.sources.\"my shop\".tables.\"public.orders\"]\n"),
            "{text}"
        );
        let none = written(WhoAsks::ThisMachine, &[]);
        assert!(!none.contains("visitor"), "a role of nothing is no role\n{none}");
        let many = ["t"; 20];
        assert_eq!(written(WhoAsks::Key, &many).matches("roles.visitor").count(), TABLES_OF_EXAMPLE);
        assert_eq!(written(WhoAsks::KeyAndVisitors, &many).matches("roles.visitor").count(), 20);
        let owner = "[auth]\n[[auth.api_key]]\n[roles.owner]\nunrestricted = true";
        assert_eq!(access(WhoAsks::Key, &["customers"]), owner);
        let visitors = access(WhoAsks::KeyAndVisitors, &["customers"]);
        let role =
            "[roles.visitor.sources.\"my shop\".tables.customers]\nselect = { columns = \"*\", limit = 100 }";
        assert!(visitors.contains("anonymous = \"visitor\"") && visitors.ends_with(role), "{visitors}");
    }

    #[test]
    fn passwords_become_variables() {
        for (address, expected) in [
            ("postgres://ann:s3:cr@t@h/shop?x=1", "postgres://ann:${PGPASSWORD}@h/shop?x=1"),
            ("postgres://ann:s/cret@h/shop", "postgres://ann:${PGPASSWORD}@h/shop"),
            ("postgres://h/shop?user=ann&password=s", "postgres://h/shop?user=ann&password=${PGPASSWORD}"),
            (
                "postgres://ann:a@h/shop?password=b&sslmode=require",
                "postgres://ann:${PGPASSWORD}@h/shop?password=${PGPASSWORD_2}&sslmode=require",
            ),
            ("series+postgres://ann:s/cret@h/shop", "series+postgres://ann:${PGPASSWORD}@h/shop"),
            ("series+questdb://ann:s@h?http=h:9000", "series+questdb://ann:${PGPASSWORD}@h?http=h:9000"),
            ("https://ann:s@h/graphql", "https://ann:${UPSTREAM_PASSWORD}@h/graphql"),
        ] {
            assert_eq!(without_passwords(address, 0).0, expected);
        }
        for same in ["sqlite:a:b@c.db", "graph:a:b@c", "postgres://ann@h/d", "postgres://ann:${X}@h/d"] {
            assert_eq!(without_passwords(same, 0), (same.to_owned(), vec![]));
        }
        assert_eq!(without_passwords("postgres://a:b@h", 1).1, ["PGPASSWORD_2"]);
    }
}
