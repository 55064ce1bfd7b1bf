//! Which interceptors tables have, for all roles and for one.

use std::{fmt::Write as _, io, path::Path, sync::Mutex};

use expect_test::{Expect, expect};
use prony_source::{
    config::{Faults, Origin},
    interceptors::{InterceptorLimits, InterceptorLoader, Interceptors, RequestedModule},
};

use super::Beside;
use crate::{AccessSettings, InterceptorsByTable, explain};

const AUTH: &str = "[auth]\n[[auth.jwt]]\naudience = \"a\"\nsecret = \"${JWT_SECRET}\"\nalgorithms = [\"HS256\"]\nclaims = { role = \"/role\" }\n";

fn described(of: &InterceptorsByTable) -> String {
    let mut text = String::new();
    for (source, tables) in of {
        for (table, interceptors) in tables {
            for (operation, modules) in &interceptors.operations {
                let paths: Vec<&str> = modules.iter().map(|module| &*module.path).collect();
                writeln!(text, "{source}.{table} {operation}: {}", paths.join(" ")).expect("it is a text");
            }
        }
    }
    text
}

fn of_role<'s>(settings: &'s AccessSettings, name: &str) -> &'s InterceptorsByTable {
    let role = settings.roles.iter().find(|role| *role.name == *name);
    &role.expect("the role is there").interceptors
}

#[test]
fn a_text_is_for_all_operations_and_a_table_for_some() {
    let text = r#"
        [interceptors]
        timeout_ms = 20
        [interceptors.sources.shop.tables]
        orders = "a.ts"
        items = { insert = ["a.ts", "b.js"], event = "c.mjs" }"#;
    let settings = Beside::new().settings(text);
    expect![[r#"
        shop.items event: c.mjs
        shop.items insert: a.ts b.js
        shop.orders select: a.ts
        shop.orders aggregate: a.ts
        shop.orders event: a.ts
        shop.orders insert: a.ts
        shop.orders update: a.ts
        shop.orders delete: a.ts
    "#]]
    .assert_eq(&described(&settings.interceptors.tables));
    assert_eq!(settings.interceptors.limits.timeout.as_millis(), 20);
}

#[test]
fn roles_inherit_what_is_called_unless_they_say_something_themselves() {
    let text = r#"
        [roles.a.sources.s.tables.t]
        select = true
        interceptors = { select = "a.ts" }
        [roles.b.sources.s.tables.t]
        select = true
        interceptors = { select = ["a.ts", "b.ts"], delete = "b.ts" }
        [roles.both]
        inherits = ["a", "b"]
        [roles.own]
        inherits = ["a", "b"]
        sources.s.tables.t.interceptors = { update = "o.ts" }
        [roles.none]
        inherits = ["a"]
        sources.s.tables.t.interceptors = false"#;
    let settings = Beside::new().settings(&format!("{AUTH}{text}"));
    expect![[r#"
        s.t select: a.ts b.ts
        s.t delete: b.ts
    "#]]
    .assert_eq(&described(of_role(&settings, "both")));
    expect![[r#"
        s.t update: o.ts
    "#]]
    .assert_eq(&described(of_role(&settings, "own")));
    expect![""].assert_eq(&described(of_role(&settings, "none")));
    let role = settings.roles.iter().find(|role| &*role.name == "both").expect("the role is there");
    expect![[r#"
        role both

        source s
          TABLE  MAY     COLUMNS  WITH
          t      select  all      all rows; aggregates
                 calls            interceptors of select: a.ts, b.ts
                 calls            interceptors of delete: b.ts
    "#]]
    .assert_eq(&explain(role, &settings.names));
}

#[test]
fn mistakes_are_told_with_their_places() {
    let check = |text: &str, expected: &Expect| expected.assert_eq(&Beside::new().read(text).1);
    check(
        "[interceptors]\ntimeout_ms = 0\nthread = 1\nsources.s.tables.t = { insert = \"a.py\", remove = \"a.ts\" }",
        &expect![[r#"
            prony.toml:2:14: `timeout_ms`: write a whole number from 1 to 60000
            prony.toml:3:1: `thread` is no option of [interceptors]; did you mean `threads`?
            prony.toml:4:33: `a.py` is no module: a file that ends in .ts, .js or .mjs
            prony.toml:4:41: operation `remove` is unknown"#]],
    );
    check(
        "[interceptors.sources.s]\ntables.t = [\"a.ts\", \"a.ts\"]\ntable.t = 1",
        &expect![[r#"
        prony.toml:2:21: `a.ts` stands twice
        prony.toml:3:1: `table` is no option of [interceptors.sources.s]; did you mean `tables`?"#]],
    );
}

#[derive(Debug, Default)]
struct Listing(Mutex<Vec<String>>);

impl InterceptorLoader for Listing {
    fn load(
        &self,
        modules: &[RequestedModule<'_>],
        _limits: &InterceptorLimits,
        _read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
        faults: &mut Faults,
    ) -> Option<Box<dyn Interceptors>> {
        faults.push(Origin::Argument, "listed");
        self.0.lock().expect("nothing panics").extend(modules.iter().map(|module| module.path.to_owned()));
        None
    }
}

#[test]
fn each_module_is_loaded_once() {
    let text = "[roles.a.sources.s.tables.t]\ninterceptors = \"b.ts\"\n[interceptors.sources.s.tables]\nt = \"a.ts\"\nu = \"b.ts\"";
    let mut settings = Beside::new().settings(&format!("{AUTH}{text}"));
    let read = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let (listing, mut faults) = (Listing::default(), Faults::default());
    settings.load_interceptors(Some(&listing), &read, &mut faults);
    assert_eq!(*listing.0.lock().expect("nothing panics"), ["a.ts", "b.ts"]);
    settings.load_interceptors(None, &read, &mut faults);
    let told: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
    expect![[r#"
        source: listed
        prony.toml:10:5: this program runs no interceptors"#]]
    .assert_eq(&told.join("\n"));
    let mut without = Beside::new().settings("");
    without.load_interceptors(None, &read, &mut Faults::default());
    assert!(without.interceptors.modules.is_none());
}
