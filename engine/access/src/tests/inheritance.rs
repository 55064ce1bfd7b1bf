//! Roles that inherit: unions that are exact, and what is refused because none would be.

use expect_test::{Expect, expect};

use super::*;
use crate::explain;

/// Two roles `a` and `b` with these permissions of table `t`, and `both`, which inherits from them.
fn both(a: &str, b: &str, own: &str) -> String {
    format!(
        "[roles.a.sources.s.tables.t]\n{a}\n[roles.b.sources.s.tables.t]\n{b}\n[roles.both]\ninherits = [\"a\", \"b\"]\n{own}\n\
         [auth]\nanonymous = \"both\"\n[auth.mtls]\nclaims = {{ me = \"subject\" }}\n"
    )
}

fn check(a: &str, b: &str, own: &str, expected: &Expect) {
    let (settings, faults) = Beside::new().read(&both(a, b, own));
    let shown = if faults.is_empty() {
        let role = settings.roles.iter().find(|role| &*role.name == "both").expect("it is there");
        explain(role, &settings.names)
    } else {
        faults
    };
    expected.assert_eq(&shown);
}

const MINE: &str = "rows = { owner = { eq = \"$me\" } }";
const OPEN: &str = "rows = { open = { eq = true } }";

#[test]
fn rows_are_united_where_columns_are_alike() {
    let select = |rows| format!("select = {{ columns = [\"id\", \"x\"], {rows}, limit = 10 }}");
    check(
        &select(MINE),
        &select(OPEN),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  id, x    rows {or: [{owner: {eq: $me}}, {open: {eq: true}}]}; at most 10 rows
    "#]],
    );
    let wider = select(MINE).replace("limit = 10", "limit = 50");
    check(
        &wider,
        &select(OPEN),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  id, x    rows {or: [{owner: {eq: $me}}, {open: {eq: true}}]}; at most 50 rows
    "#]],
    );
    check(
        &select(MINE),
        &select("rows = {}"),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  id, x    all rows; at most 10 rows
    "#]],
    );
    let delete = |rows| format!("delete = {{ {rows} }}");
    check(
        &delete(MINE),
        &delete(OPEN),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      delete           rows {or: [{owner: {eq: $me}}, {open: {eq: true}}]}
    "#]],
    );
}

#[test]
fn columns_are_united_where_rows_are_alike() {
    let select = |columns: &str| format!("select = {{ columns = {columns}, {MINE} }}");
    check(
        &select("[\"a\"]"),
        &select("[\"b\"]"),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  a, b     rows {owner: {eq: $me}}
    "#]],
    );
    check(
        &select("[\"a\"]"),
        &select("\"*\""),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      rows {owner: {eq: $me}}
    "#]],
    );
    // Each use of a column is united by itself.
    check(
        &select("[\"a\"], filter_columns = []"),
        &select("[\"b\"], sort_columns = [\"c\"], aggregates = true"),
        "",
        &expect![[r#"
            role both

            source s
              TABLE  MAY     COLUMNS  WITH
              t      select  a, b     rows {owner: {eq: $me}}; filter by b; sort by a, c; aggregates of b
        "#]],
    );
    let insert = |columns: &str| format!("insert = {{ columns = {columns}, set = {{ owner = \"$me\" }} }}");
    check(
        &insert("[\"a\"]"),
        &insert("[\"b\"]"),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      insert  a, b     set owner = $me
    "#]],
    );
    let update = |columns: &str| format!("update = {{ columns = {columns}, {MINE} }}");
    check(
        &update("[\"a\"]"),
        &update("[\"b\"]"),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      update  a, b     rows {owner: {eq: $me}}; check {owner: {eq: $me}}
    "#]],
    );
}

#[test]
fn the_one_that_includes_the_other_is_taken() {
    check(
        &format!("select = {{ columns = [\"a\"], {MINE} }}"),
        "select = { columns = [\"a\", \"b\"], limit = 5 }",
        "",
        &expect![[r#"
            role both

            source s
              TABLE  MAY     COLUMNS  WITH
              t      select  a, b     all rows
        "#]],
    );
    check(
        "select = true",
        &format!("select = {{ columns = [\"a\"], {MINE} }}"),
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      all rows; aggregates
    "#]],
    );
    check(
        &format!("update = {{ columns = [\"a\"], {MINE} }}"),
        "update = true",
        "",
        &expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      update  all      all rows
    "#]],
    );
}

/// A union of both would show columns of rows that neither of the two may see.
#[test]
fn what_has_no_exact_union_is_refused() {
    let a = format!(
        "select = {{ columns = [\"a\"], {MINE} }}\ninsert = {{ columns = [\"a\"], set = {{ owner = \"$me\" }} }}\n\
         update = {{ columns = [\"a\"], {MINE} }}"
    );
    let b = format!(
        "select = {{ columns = [\"b\"], {OPEN} }}\ninsert = {{ columns = [\"a\"] }}\nupdate = {{ columns = [\"a\"], {OPEN} }}"
    );
    check(
        &a,
        &b,
        "",
        &expect![[r#"
        prony.toml:10:18: `b` gives select of `t` for other columns of other rows than what `both` inherits before it; no permission is exactly both: write `select` of [roles.both.sources.s] for `t` itself, which then holds instead of them
        prony.toml:10:18: `b` gives insert of `t` for other values that are set than what `both` inherits before it; no permission is exactly both: write `insert` of [roles.both.sources.s] for `t` itself, which then holds instead of them
        prony.toml:10:18: `b` gives update of `t` for other rows with another check than what `both` inherits before it; no permission is exactly both: write `update` of [roles.both.sources.s] for `t` itself, which then holds instead of them"#]],
    );
    // What the role says itself holds instead.
    check(
        &a,
        &b,
        "[roles.both.sources.s.tables.t]\nselect = { columns = [\"id\"] }\ninsert = true\nupdate = false",
        &expect![[r#"
            role both

            source s
              TABLE  MAY     COLUMNS  WITH
              t      select  id       all rows
                     insert  all
        "#]],
    );
    // One has all rows of the other, and not all of its columns.
    for (a, b) in [
        ("select = { columns = [\"a\"] }", format!("select = {{ columns = [\"b\"], {MINE} }}")),
        (
            "insert = { columns = [\"a\"] }",
            "insert = { columns = [\"b\"], check = { b = { gt = 1 } } }".to_owned(),
        ),
        ("update = { columns = [\"a\"] }", format!("update = {{ columns = [\"b\"], {MINE} }}")),
    ] {
        for (a, b) in [(a, b.as_str()), (b.as_str(), a)] {
            let (_, faults) = Beside::new().read(&both(a, b, ""));
            assert!(faults.contains("no permission is exactly both"), "{a} {b}: {faults}");
        }
    }
    // A column that can be read in all rows of both, and aggregates of one, are no union either.
    check(
        &format!("select = {{ columns = [\"a\"], {MINE}, aggregates = true }}"),
        &format!("select = {{ columns = [\"a\"], {OPEN} }}"),
        "",
        &expect![
            "prony.toml:6:18: `b` gives select of `t` for other columns of other rows than what `both` inherits before it; no permission is exactly both: write `select` of [roles.both.sources.s] for `t` itself, which then holds instead of them"
        ],
    );
    check(
        "insert = { columns = [\"a\"], check = { a = { gt = 1 } } }",
        "insert = { columns = [\"b\"], check = { b = { gt = 1 } } }",
        "",
        &expect![
            "prony.toml:6:18: `b` gives insert of `t` for other columns with another check than what `both` inherits before it; no permission is exactly both: write `insert` of [roles.both.sources.s] for `t` itself, which then holds instead of them"
        ],
    );
}

#[test]
fn chains_of_roles_and_unrestricted_ones() {
    let text = r#"
[auth]
anonymous = "c"
[roles.c]
inherits = ["b"]
sources.s.tables.t.delete = false
[roles.b]
inherits = ["a"]
sources.s.tables.u.select = true
sources.z.tables.z.select = true
[roles.a.sources.s.tables]
t = { select = true, delete = true }
[roles.root]
unrestricted = true
[roles.boss]
inherits = ["a", "root"]
"#;
    let settings = Beside::new().settings(text);
    let shown: Vec<String> = settings.roles.iter().map(|role| explain(role, &settings.names)).collect();
    expect![[r#"
        role c

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      all rows; aggregates
          u      select  all      all rows; aggregates

        source z
          TABLE  MAY     COLUMNS  WITH
          z      select  all      all rows; aggregates

        role b

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      all rows; aggregates
                 delete           all rows
          u      select  all      all rows; aggregates

        source z
          TABLE  MAY     COLUMNS  WITH
          z      select  all      all rows; aggregates

        role a

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      all rows; aggregates
                 delete           all rows

        role root: everything, with all rows of all sources

        role boss: everything, with all rows of all sources
    "#]]
    .assert_eq(&shown.join("\n"));
    let role = &settings.roles[0];
    let places = [
        role.table_origin("s", "t"),
        role.table_origin("s", "u"),
        role.source_origin("z"),
        role.table_origin("s", "x"),
    ];
    let places = places.map(|origin| origin.map(ToString::to_string));
    let expected =
        ["prony.toml:6:18", "prony.toml:9:18", "prony.toml:10:9"].map(|place| Some(place.to_owned()));
    assert_eq!(places[..3], expected);
    assert_eq!(places[3], None);
}

#[test]
fn circles_and_unknown_roles_are_faults() {
    let text = r#"
[auth]
anonymous = "a"
[roles.a]
inherits = ["b", "custmer", "b"]
[roles.b]
inherits = "c"
[roles.c]
inherits = ["a", "c"]
[roles.customer]
[roles.Customer]
"#;
    let (_, faults) = Beside::new().read(text);
    expect![[r#"
        prony.toml:5:18: role `custmer` is unknown; did you mean `customer`?
        prony.toml:5:29: `b` is inherited twice
        prony.toml:9:13: `c` inherits from `a`, which inherits from it
        prony.toml:9:18: `c` inherits from `c`, which inherits from it
        prony.toml:11:8: roles `customer` and `Customer` have one name but for its case"#]]
    .assert_eq(&faults);
}
