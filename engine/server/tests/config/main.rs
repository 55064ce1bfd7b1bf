//! Configuration as users write it: what is resolved, and every fault with its place.

mod environment;

use std::path::Path;

use expect_test::{Expect, expect};
use prony_graph::GraphKind;
use prony_postgres::PostgresKind;
use prony_server::config::{self, CommandLine, Kinds, Settings};
use prony_sqlite::SqliteKind;

static KINDS: Kinds<'static> = &[&SqliteKind, &PostgresKind, &GraphKind];

fn load(text: &str, line: CommandLine) -> Result<Settings, config::Faults> {
    let variable = |name: &str| (name == "PGPASSWORD").then(|| "s3cret".to_owned());
    config::load(KINDS, Some((Path::new("prony.toml"), text)), line, &variable)
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check_faults(text: &str, expected: Expect) {
    let faults = load(text, CommandLine::default()).expect_err("the text is faulty");
    expected.assert_eq(&faults.to_string());
}

#[test]
fn three_mistakes_are_three_reports_with_their_places() {
    check_faults(
        "[server]\nlisten = \"127.0.0.1\"\nmax_body_byts = 10\n\n[[source]]\nurl = \"sqlite:shop.db\"\nresolver = \"bukket\"\n",
        expect![[r"
            the configuration has 3 faults
              prony.toml:2:10: `127.0.0.1` is no address; write ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:8080
              prony.toml:3:1: `max_body_byts` is no option of [server]; did you mean `max_body_bytes`?
              prony.toml:7:12: `resolver`: `bukket` is unknown; write one of subquery, per-nest, bucket; did you mean `bucket`?"]],
    );
}

#[test]
fn broken_syntax_is_reported_with_the_rest() {
    check_faults(
        "[server]\nlisten = \nmax_headers = \"many\"\n[sorce]\n[[source]]\nurl = \"sqlite:shop.db\"\n",
        expect![[r"
            the configuration has 3 faults
              prony.toml:2:10: string values must be quoted, expected literal string
              prony.toml:3:15: `max_headers`: write a whole number from 1 to 10000, not a text
              prony.toml:4:2: `sorce` is no section; did you mean `source`?"]],
    );
}

/// Whoever forgets a bracket has named a source all the same.
#[test]
fn a_source_is_not_missed_where_the_syntax_is_broken() {
    check_faults(
        "[[source]\nurl = \"sqlite:shop.db\"\n",
        expect![[r"
            the configuration has 2 faults
              prony.toml:1:10: unclosed array table, expected `]`
              prony.toml:2:1: `url` is no section"]],
    );
}

#[test]
fn faults_of_all_kinds() {
    check_faults(
        r#"
[graphql]
max_depth = 0
introspection = "yes"
[log]
format = "xml"
[[source]]
url = "mysql://ann:s3cret@host/shop?password=s3cret"
[[source]]
url = "postgres://ann:${MISSING}@host/shop"
tables = "all"
[[source]]
name = "nameless"
[[source]]
url = "sqlite:shop.db"
default_limit = 500
max_limit = 100
[[source]]
url = "sqlite:other/shop.db"
[source.tables.venues]
type_nam = "Place"
primary_key = "id"
columns = { zip = { type = "Integer" } }
[[source.tables.venues.relations]]
columns = ["city_id"]
"#,
        expect![[r#"
            the configuration has 13 faults
              prony.toml:3:13: `max_depth`: 0 is out of range; write a whole number from 1 to 1000000000
              prony.toml:4:17: `introspection`: write true or false, not a text
              prony.toml:6:10: `format`: `xml` is unknown; write one of text, json
              prony.toml:8:7: `mysql://ann@host/shop` is no source; write sqlite:FILE, postgres://… or graph:DIRECTORY
              prony.toml:10:7: the environment has no variable `MISSING`; set it before starting, or `MISSING_FILE` to a file that has the value
              prony.toml:11:10: `tables` is a table, not a text
              prony.toml:12:1: a source needs its `url`, such as "sqlite:shop.db"
              prony.toml:17:13: default_limit 500 is over max_limit 100
              prony.toml:19:7: two sources are named `shop`; give one another `name`
              prony.toml:21:1: `type_nam` is no option of a table; did you mean `type_name`?
              prony.toml:22:15: `primary_key`: invalid type: string "id", expected a sequence
              prony.toml:23:28: `type`: unknown variant `Integer`, expected one of `Int`, `BigInt`, `Float`, `Decimal`, `Boolean`, `String`, `UUID`, `JSON`
              prony.toml:24:1: `relations`: missing field `target`"#]],
    );
}

/// They were taken, and a word that is no level left the log empty; an origin with a slash allowed nobody.
#[test]
fn what_could_never_count_is_no_value() {
    check_faults(
        r#"
[server]
hosts = ["shop.example", "http://shop.example"]
cors_origins = ["https://shop.example/"]
[log]
level = "loud"
[traces]
endpoint = "http://collector.example:99999"
[[source]]
url = "sqlite:shop.db"
"#,
        expect![[r#"
            the configuration has 4 faults
              prony.toml:3:9: `http://shop.example` is no name of a host; write shop.example, an address, or "*" for all
              prony.toml:4:16: `https://shop.example/` is no origin as browsers send it; write https://shop.example, with a port where it is another than 443 and without a slash at its end, or "*" for all
              prony.toml:6:9: `loud` is no log level; write error, warn, info, debug or trace, or a filter such as info,prony_server=debug
              prony.toml:8:12: its port is none; write http://HOST:PORT or https://HOST:PORT, with the path /v1/traces or without"#]],
    );
}

#[test]
fn hosts_origins_and_levels_have_several_forms() {
    let options = [
        ("server", "hosts", r#"["*", "shop.example", "shop.example:81", "[::1]"]"#),
        ("server", "cors_origins", r#"["*", "null", "https://shop.example", "http://a.example:8080"]"#),
        ("server", "cors_origins", r#"["safari-web-extension://A-1"]"#),
        ("log", "level", r#""WARN""#),
        ("log", "level", r#""off""#),
        ("log", "level", r#""info,prony_server=debug, hyper = 5""#),
        ("log", "level", r#""warn,prony_server[request{id=1,of=2}]=trace""#),
    ];
    for (section, key, value) in options {
        let text = format!("[{section}]\n{key} = {value}\n[[source]]\nurl = \"sqlite:shop.db\"\n");
        load(&text, CommandLine::default()).unwrap_or_else(|faults| panic!("{text}: {faults}"));
    }
    for value in
        ["HTTPS://shop.example", "https://Shop.example", "https://shop.example:443", "shop.example", ""]
    {
        let text = format!("[server]\ncors_origins = \"{value}\"\n[[source]]\nurl = \"sqlite:shop.db\"\n");
        assert!(load(&text, CommandLine::default()).is_err(), "{value}");
    }
}

#[test]
fn processors_are_given_by_their_number_or_each() {
    let source = "[[source]]\nurl = \"sqlite:shop.db\"\n";
    check_faults(
        &format!("[server]\ncpus = 2\ncores = \"0\"\n{source}"),
        expect![
            "prony.toml:3:9: `cores` says which processors are used, and `cpus` how many: give one of them"
        ],
    );
    for text in ["cpus = 2\n", "cores = [\"0\"]\n", "cpus = 2\ncores = []\n"] {
        let settings = load(&format!("[server]\n{text}{source}"), CommandLine::default());
        assert!(settings.is_ok(), "{text}");
    }
}

#[test]
fn an_option_in_another_section_is_told_its_own() {
    check_faults(
        r#"
max_depth = 5
[log]
listen = "127.0.0.1:8080"
max_limit = 10
[[source]]
url = "sqlite:shop.db"
level = "info"
"#,
        expect![[r"
            the configuration has 4 faults
              prony.toml:2:1: `max_depth` is no section; it is an option of [graphql]
              prony.toml:4:1: `listen` is no option of [log]; it is an option of [server]
              prony.toml:5:1: `max_limit` is no option of [log]; it is an option of [[source]]
              prony.toml:8:1: `level` is no option of [source]; it is an option of [log]"]],
    );
}

#[test]
fn nothing_to_serve_says_how() {
    for text in ["", "source = []\n"] {
        check_faults(
            text,
            expect![
                "source: none is given; write `prony serve sqlite:FILE`, `prony serve postgres://…`, `prony serve graph:DIRECTORY`, or [[source]] in the file of --config"
            ],
        );
    }
}

#[test]
fn flags_win_over_the_file_and_variables_are_filled_in() {
    let flag = |name: &str, value: &str| {
        let mut options = config::options(KINDS).into_iter();
        let option = options.find(|option| option.spec().flag == Some(name)).expect("the flag exists");
        (option, vec![value.to_owned()])
    };
    let text = "[server]\nlisten = [\"127.0.0.1:1\"]\ncpus = 2\n[graphql]\nmax_depth = 7\n[[source]]\n\
        url = \"postgres://ann:${PGPASSWORD}@host/shop?sslmode=require\"\nresolver = \"bucket\"\nmax_limit = 50\ndefault_limit = 20\n\
        [source.tables.venues]\ntype_name = \"Place\"\n";
    let line = CommandLine {
        sources: Vec::new(),
        flags: vec![
            flag("listen", "127.0.0.1:2,[::1]:3"),
            flag("resolver", "per-nest"),
            flag("cores", "0-2,5"),
        ],
        ..CommandLine::default()
    };
    let settings = load(text, line).expect("the text is right");
    expect![[r#"
        [127.0.0.1:2, [::1]:3]
        List([0, 1, 2, 5])
        7
        [
            SourceSettings {
                name: "shop",
                url: postgres://ann@host/shop,
                opener: PostgresOpener {
                    url: postgres://ann@host/shop,
                    settings: RelationalSettings {
                        common: CommonSettings {
                            default_limit: 20,
                            max_limit: 50,
                            statement_timeout_ms: 10000,
                            max_response_bytes: 67108864,
                            subscriptions: true,
                            read_only: false,
                        },
                        resolver: PerNest,
                        schemas: [],
                        session: None,
                        connections_per_core: 4,
                        max_connections: 80,
                        max_waiting: 1024,
                        lock_timeout_ms: 5000,
                        connect_wait_ms: 15000,
                        pool_mode: Session,
                        journal: Wal,
                        only_looks: false,
                        slow_statement_ms: 0,
                        slow_statement_plan: false,
                        include_tables: [],
                        exclude_tables: [],
                        listen: false,
                        schema_check_ms: 1000,
                        name_prefix: "",
                        tables: {
                            "venues": TableSettings {
                                type_name: Some(
                                    "Place",
                                ),
                                list_name: None,
                                exclude_columns: [],
                                columns: {},
                                primary_key: [],
                                relations: [],
                                exclude_relations: [],
                                insert: None,
                                update: None,
                                delete: None,
                            },
                        },
                    },
                },
                places: SourcePlaces { .. },
            },
        ]"#]]
    .assert_eq(&format!(
        "{:?}\n{:?}\n{}\n{:#?}",
        settings.listen, settings.cores, settings.limits.max_depth, settings.sources
    ));
}

#[test]
fn sources_of_the_command_line_come_instead_of_the_files() {
    let line = CommandLine { sources: vec!["sqlite:a/b.c.db".to_owned()], ..CommandLine::default() };
    let settings = load("[[source]]\nurl = \"sqlite:shop.db\"\n", line).expect("both are right");
    assert_eq!(settings.sources.len(), 1);
    assert_eq!(settings.sources[0].name, "b");
}

#[test]
fn sources_of_the_command_line_get_names_of_their_own() {
    let sources =
        ["sqlite:a/shop.db", "sqlite:b/shop.db", "postgres://host/shop"].map(str::to_owned).to_vec();
    let settings = config::load(KINDS, None, CommandLine { sources, ..CommandLine::default() }, &|_| None)
        .expect("they are right");
    let names: Vec<&str> = settings.sources.iter().map(|source| &*source.name).collect();
    assert_eq!(names, ["shop", "shop-2", "shop-3"]);
}

/// The tables' texts are what the program does: each default, written in a file, changes nothing.
#[test]
fn defaults_of_the_tables_are_the_defaults() {
    for source in ["[[source]]\nurl = \"sqlite:shop.db\"\n", "[[source]]\nurl = \"graph:g\"\n"] {
        let plain = load(source, CommandLine::default()).expect("the source is right");
        for listed in config::options(KINDS) {
            let (section, option) = (listed.section.key(), listed.spec());
            let has_another = section == "server" && source.contains("graph");
            // What is asked of the machine, or follows from other options.
            let is_found =
                matches!(option.key, "cpus" | "max_memory_bytes" | "explain" | "max_connections_per_address");
            if is_found || has_another {
                continue;
            }
            let line = format!("{} = {}\n", option.key, option.default);
            let text = if section == "source" {
                format!("{source}{line}")
            } else {
                format!("[{section}]\n{line}{source}")
            };
            let settings =
                load(&text, CommandLine::default()).unwrap_or_else(|faults| panic!("{text}: {faults}"));
            assert_eq!(format!("{settings:?}"), format!("{plain:?}"), "{line}");
        }
    }
}

/// A graph's clients know its port, and keys of nodes stand in paths.
#[test]
fn a_kind_brings_defaults_of_the_server() {
    let shown = |sources: &[&str], text: &str| {
        let sources = sources.iter().map(|source| (*source).to_owned()).collect();
        let settings = load(text, CommandLine { sources, ..CommandLine::default() }).expect("all is right");
        format!("{:?} {} {}", settings.listen, settings.max_uri_bytes, settings.max_header_bytes)
    };
    assert_eq!(shown(&["sqlite:shop.db"], ""), "[127.0.0.1:8080] 16384 32768");
    assert_eq!(shown(&["graph:g"], ""), "[127.0.0.1:7243] 65534 98304");
    assert_eq!(shown(&["graph:g", "sqlite:shop.db"], ""), "[127.0.0.1:8080] 65534 98304");
    let given = "[server]\nlisten = \"127.0.0.1:1\"\nmax_uri_bytes = 20\nmax_header_bytes = 8192\n";
    assert_eq!(shown(&["graph:g"], given), "[127.0.0.1:1] 20 8192");
}

#[test]
fn there_can_be_one_graph() {
    let sources = ["graph:g", "graph:h"].map(str::to_owned).to_vec();
    let faults = load("", CommandLine { sources, ..CommandLine::default() }).expect_err("there are two");
    expect!["source: there can be one graph: its directory holds as many databases as /dbs makes"]
        .assert_eq(&faults.to_string());
    let sources = vec!["graph:".to_owned()];
    let faults =
        load("", CommandLine { sources, ..CommandLine::default() }).expect_err("it has no directory");
    expect!["source: `graph:` lacks its directory; write graph:DIRECTORY"].assert_eq(&faults.to_string());
}

/// Series were begun in the directory of a graph, which then had the files of both.
#[test]
fn a_directory_is_opened_by_its_own_kind() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let graph = folder.path().join("social");
    std::fs::create_dir_all(graph.join("rage")).expect("it can be made");
    std::fs::write(graph.join("rage/log-000000000001"), "PRONYGRF").expect("it can be written");
    let loaded = |kind: &str| {
        let sources = vec![format!("{kind}:{}", graph.display())];
        load("", CommandLine { sources, ..CommandLine::default() })
    };
    assert!(loaded("graph").is_ok());
    let faults = loaded("sqlite").expect_err("it is a graph").to_string();
    let wanted = format!("is a source of another kind; write graph:{}", graph.display());
    assert!(faults.ends_with(&wanted), "{faults}");
    let sources = vec![format!("{}?mode=ro", graph.display())];
    let faults = load("", CommandLine { sources, ..CommandLine::default() }).expect_err("it has no scheme");
    let wanted = format!("is no source; write graph:{}?mode=ro", graph.display());
    assert!(faults.to_string().ends_with(&wanted), "{faults}");
}

#[test]
fn indexes_of_a_graph_are_named_whole() {
    check_faults(
        "[[source]]\nurl = \"graph:g\"\nindexes = [\"nodes/User/tags/string_list\"]\n",
        expect![[r#"
            prony.toml:3:11: `nodes/User/tags/string_list` is no index; write "nodes/TYPE/PROPERTY/KIND" or "relationships/…", with the kind boolean, integer, double or string"#]],
    );
}
