//! Configuration as users write it: what is resolved, and every fault with its place.

use std::path::Path;

use expect_test::{Expect, expect};
use prony_server::config::{self, CommandLine, OPTIONS, Settings};

fn load(text: &str, line: CommandLine) -> Result<Settings, config::Faults> {
    let variable = |name: &str| (name == "PGPASSWORD").then(|| "s3cret".to_owned());
    config::load(Some((Path::new("prony.toml"), text)), line, &variable)
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
url = "mysql://host/shop"
[[source]]
url = "postgres://ann:${MISSING}@host/shop"
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
            the configuration has 12 faults
              prony.toml:3:13: `max_depth`: 0 is out of range; write a whole number from 1 to 1000000000
              prony.toml:4:17: `introspection`: write true or false, not a text
              prony.toml:6:10: `format`: `xml` is unknown; write one of text, json
              prony.toml:8:7: `mysql://host/shop` is no source; write sqlite:FILE, postgres://… or graph:DIRECTORY
              prony.toml:10:7: the environment has no variable `MISSING`; set it before starting
              prony.toml:11:1: a source needs its `url`, such as "sqlite:shop.db"
              prony.toml:16:13: default_limit 500 is over max_limit 100
              prony.toml:18:7: two sources are named `shop`; give one another `name`
              prony.toml:20:1: `type_nam` is no option of a table; did you mean `type_name`?
              prony.toml:21:15: `primary_key`: invalid type: string "id", expected a sequence
              prony.toml:22:28: `type`: unknown variant `Integer`, expected one of `Int`, `BigInt`, `Float`, `Decimal`, `Boolean`, `String`, `UUID`, `JSON`
              prony.toml:23:1: `relations`: missing field `target`"#]],
    );
}

#[test]
fn nothing_to_serve_says_how() {
    check_faults(
        "",
        expect![
            "source: none is given; write `prony serve sqlite:FILE`, `prony serve postgres://…`, `prony serve graph:DIRECTORY`, or [[source]] in the file of --config"
        ],
    );
}

#[test]
fn flags_win_over_the_file_and_variables_are_filled_in() {
    let flag = |name: &str, value: &str| {
        let option = OPTIONS.iter().find(|option| option.flag == Some(name)).expect("the flag exists");
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
                relational: RelationalSettings {
                    common: CommonSettings {
                        default_limit: 20,
                        max_limit: 50,
                        statement_timeout_ms: 10000,
                        max_response_bytes: 67108864,
                        subscriptions: true,
                    },
                    resolver: PerNest,
                    schemas: [],
                    connections_per_core: 4,
                    include_tables: [],
                    exclude_tables: [],
                    listen: false,
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
                        },
                    },
                },
                graph: GraphSettings {
                    durability: Sync,
                    recover: false,
                    snapshot_at_log_bytes: 268435456,
                    indexes: [],
                },
            },
        ]"#]]
    .assert_eq(&format!(
        "{:?}\n{:?}\n{}\n{:#?}",
        settings.listen, settings.cores, settings.limits.max_depth, settings.sources
    ));
}

#[test]
fn sources_of_the_command_line_come_instead_of_the_files() {
    let line = CommandLine { sources: vec!["sqlite:a/b.c.db".to_owned()], flags: Vec::new() };
    let settings = load("[[source]]\nurl = \"sqlite:shop.db\"\n", line).expect("both are right");
    assert_eq!(settings.sources.len(), 1);
    assert_eq!(settings.sources[0].name, "b");
}

#[test]
fn sources_of_the_command_line_get_names_of_their_own() {
    let sources =
        ["sqlite:a/shop.db", "sqlite:b/shop.db", "postgres://host/shop"].map(str::to_owned).to_vec();
    let settings =
        config::load(None, CommandLine { sources, flags: Vec::new() }, &|_| None).expect("they are right");
    let names: Vec<&str> = settings.sources.iter().map(|source| &*source.name).collect();
    assert_eq!(names, ["shop", "shop-2", "shop-3"]);
}

/// The table's texts are what the program does: each default, written in a file, changes nothing.
#[test]
fn defaults_of_the_table_are_the_defaults() {
    let source = "[[source]]\nurl = \"sqlite:shop.db\"\n";
    let plain = load(source, CommandLine::default()).expect("the source is right");
    for option in OPTIONS.iter().filter(|option| option.key != "cpus") {
        let section = option.section.key();
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

/// The reference in the documentation is the table.
#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = std::fs::read_to_string(&path).expect("the documentation is there");
    let (begin, end) = ("<!-- options -->\n", "<!-- end of options -->");
    let from = text.find(begin).expect("the table begins") + begin.len();
    let to = text.find(end).expect("the table ends");
    let wanted = config::reference();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{}{wanted}{}", &text[..from], &text[to..]))
            .expect("it can be written");
        return;
    }
    assert_eq!(&text[from..to], wanted, "run the test with UPDATE_EXPECT=1");
}

#[test]
fn indexes_of_a_graph_are_named_whole() {
    let text = "[[source]]\nurl = \"graph:g\"\nindexes = [\"nodes/a/b/age/integer\", \"relationships/KNOWS/since/double\"]\n";
    let settings = load(text, CommandLine::default()).expect("the text is right");
    let indexes = &settings.sources[0].graph.indexes;
    let named: Vec<_> =
        indexes.iter().map(|index| (&*index.type_name, &*index.property, index.kind.name())).collect();
    assert_eq!(named, [("a/b", "age", "integer"), ("KNOWS", "since", "double")]);
    check_faults(
        "[[source]]\nurl = \"graph:g\"\nindexes = [\"nodes/User/tags/string_list\"]\n",
        expect![[r#"
            prony.toml:3:11: `nodes/User/tags/string_list` is no index; write "nodes/TYPE/PROPERTY/KIND" or "relationships/…", with the kind boolean, integer, double or string"#]],
    );
}
