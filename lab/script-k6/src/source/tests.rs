//! Scripts of several files, through the boundary that the virtual machine sees.

use super::position::Position;
use super::{Main, Sources};
use expect_test::{Expect, expect};
use std::path::Path;
use tempfile::TempDir;

const BUILTINS: [&str; 4] = ["k6", "k6/http", "jslib:papaparse", "source:commonjs"];

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn load(folder: &Path, main: &str) -> Result<Sources, String> {
    let main = Main::read(Path::new(main), folder).map_err(|error| error.to_string())?;
    Sources::load(main, BUILTINS).map_err(|error| error.to_string())
}

/// What is wrong with the script `main.js` (or the first file) among files.
fn check_faults(files: &[(&str, &str)], expected: &Expect) {
    let folder = folder(files);
    let error = load(folder.path(), files[0].0).expect_err("the script is faulty");
    expected.assert_eq(&error.replace(&folder.path().display().to_string(), "FOLDER"));
}

/// The text that runs of the first file.
fn check_text(files: &[(&str, &str)], expected: &Expect) {
    let folder = folder(files);
    let sources = load(folder.path(), files[0].0).expect("the script is right");
    let text = sources.text(sources.entry()).expect("the main module has a text");
    expected.assert_eq(&text.replace(&folder.path().display().to_string(), "FOLDER"));
}

/// The full name that the first file's import of `specifier` has.
fn check_import(files: &[(&str, &str)], specifier: &str, expected: &str) {
    let folder = folder(files);
    let sources = load(folder.path(), files[0].0).expect("the script is right");
    let name = sources.resolve(sources.entry(), specifier).unwrap_or_else(|message| message);
    let canonical = folder.path().canonicalize().expect("the folder is there");
    let name = name.replace(&canonical.display().to_string(), "FOLDER");
    assert_eq!(name.replace(&folder.path().display().to_string(), "FOLDER"), expected, "{specifier}");
}

#[test]
fn imports_of_all_kinds_are_found() {
    let files = [
        ("main.js", "export default function () {}"),
        ("lib/a.js", "export const a = 1;"),
        ("lib/with space.js", "export const a = 1;"),
        ("node_modules/plain/index.js", "module.exports = {};"),
        ("node_modules/both/package.json", r#"{"main": "./cjs.js", "module": "./esm.js"}"#),
        ("node_modules/both/cjs.js", ""),
        ("node_modules/both/esm.js", "export const a = 1; export * from './inner';"),
        ("node_modules/both/inner.js", "export const b = 1;"),
        (
            "node_modules/@scope/pkg/package.json",
            r#"{"exports": {".": {"import": "./m.mjs"}, "./sub": "./s.js"}}"#,
        ),
        ("node_modules/@scope/pkg/m.mjs", "export default 1;"),
        ("node_modules/@scope/pkg/s.js", "export default 1;"),
        (
            "node_modules/web/package.json",
            r#"{"exports": {".": {"node": "./node.js", "browser": "./web.js", "import": "./node.js"}}}"#,
        ),
        ("node_modules/web/node.js", "import 'node:crypto';"),
        ("node_modules/web/web.js", "export default 1;"),
    ];
    let check = |specifier: &str, expected: &str| check_import(&files, specifier, expected);
    check("./lib/a.js", "file://FOLDER/lib/a.js");
    check("./lib/../lib/./a.js", "file://FOLDER/lib/a.js");
    check("./lib/with%20space.js", "file://FOLDER/lib/with space.js");
    check("plain", "file://FOLDER/node_modules/plain/index.js");
    check("both", "file://FOLDER/node_modules/both/esm.js");
    check("@scope/pkg", "file://FOLDER/node_modules/@scope/pkg/m.mjs");
    check("@scope/pkg/sub", "file://FOLDER/node_modules/@scope/pkg/s.js");
    check("web", "file://FOLDER/node_modules/web/web.js");
    check("k6/http", "k6/http");
    check("https://jslib.k6.io/papaparse/5.1.1/index.js", "jslib:papaparse");
}

#[test]
fn absolute_paths_and_file_urls_are_found() {
    let folder = folder(&[("main.js", "export default 1"), ("a.js", "export const a = 1;")]);
    let sources = load(folder.path(), "main.js").expect("the script is right");
    let path = folder.path().join("a.js").display().to_string();
    let name = format!("file://{path}");
    assert_eq!(sources.resolve(sources.entry(), &path), Ok(name.clone()));
    assert_eq!(sources.resolve(sources.entry(), &name), Ok(name));
}

#[test]
fn all_imports_that_lead_nowhere_are_told_with_their_places() {
    check_faults(
        &[
            (
                "main.js",
                "import http from 'k6/http';\nimport { a } from './a.js';\nimport x from './nope.js';\nimport _ from 'lodash';\nimport g from 'k6/net/grpc';\nimport { browser } from 'k6/browser';\nimport h from 'k6/htpp';\nimport sql from 'k6/x/sql';\nimport { s3 } from 'https://jslib.k6.io/aws/0.11.0/s3.js';\nexport * from './b';\nexport default function () {}\n",
            ),
            ("a.js", "export { c as a } from '../outside/c.js';"),
            ("b.ts", ""),
        ],
        &expect![[r#"
            main.js:3:15: cannot find ./nope.js: tried FOLDER/nope.js
             3 | import x from './nope.js';
               |               ^
            main.js:4:15: cannot find the package lodash: no `node_modules` in FOLDER or above it has it; run `npm install lodash` where the script is, or import a file with './'
             4 | import _ from 'lodash';
               |               ^
            main.js:5:15: no module k6/net/grpc: not yet: it belongs to a later tier of k6's modules
             5 | import g from 'k6/net/grpc';
               |               ^
            main.js:6:25: no module k6/browser: never: it drives a browser; measure the page's requests instead
             6 | import { browser } from 'k6/browser';
               |                         ^
            main.js:7:15: no module k6/htpp: unknown: k6 has no module of this name; did you mean k6/http?
             7 | import h from 'k6/htpp';
               |               ^
            main.js:8:17: no module k6/x/sql: never: extensions are compiled into k6's own program
             8 | import sql from 'k6/x/sql';
               |                 ^
            main.js:9:20: https://jslib.k6.io/aws/0.11.0/s3.js is not a library that is built in, and scripts are never downloaded; save it beside the script, `curl -o s3.js 'https://jslib.k6.io/aws/0.11.0/s3.js'`, and import './s3.js'
             9 | import { s3 } from 'https://jslib.k6.io/aws/0.11.0/s3.js';
               |                    ^
            a.js:1:24: cannot find ../outside/c.js: tried /tmp/outside/c.js
             1 | export { c as a } from '../outside/c.js';
               |                        ^"#]],
    );
}

#[test]
fn syntax_errors_show_the_line() {
    check_faults(
        &[
            ("main.js", "import './b.js';\nexport default 1;"),
            ("b.js", "const a = 1;\nexport function f( {\n"),
        ],
        &expect![[r#"
            b.js:3:1: syntax error: expected `}` but found `EOF`
             3 |
               | ^"#]],
    );
    check_faults(
        &[("main.js", "let é = 1; const a: number = 5;")],
        &expect![[r#"
            main.js:1:18: syntax error: missing initializer in const declaration; it is right as TypeScript: give the file a name that ends in .ts
             1 | let é = 1; const a: number = 5;
               |                  ^"#]],
    );
    check_faults(
        &[("main.ts", "let a: number = ;")],
        &expect![[r#"
            main.ts:1:17: syntax error: unexpected token
             1 | let a: number = ;
               |                 ^"#]],
    );
    check_faults(
        &[("main.js", "let a = 1; let a = 2;")],
        &expect![[r#"
            main.js:1:5: syntax error: identifier `a` has already been declared
             1 | let a = 1; let a = 2;
               |     ^"#]],
    );
}

#[test]
fn cycles_and_missing_calls_of_require_are_no_faults() {
    let folder = folder(&[
        ("main.js", "import { b } from './b.js'; export const a = 1; try { require('./none.js') } catch {}"),
        ("b.js", "import { a } from './main.js'; export const b = 2;"),
    ]);
    let sources = load(folder.path(), "main.js").expect("a cycle is right");
    assert_eq!(sources.names().len(), 2);
}

#[test]
fn javascript_runs_as_it_is_written() {
    let text = "import http from 'k6/http';\n\nexport default () => http.get('x'); // a comment\n";
    check_text(
        &[("main.js", text)],
        &expect![[r#"
        import http from 'k6/http';

        export default () => http.get('x'); // a comment
    "#]],
    );
    check_text(&[("main.js", "await 5;")], &expect!["await 5;"]);
}

#[test]
fn common_js_becomes_a_module() {
    check_text(
        &[(
            "main.js",
            "#!/usr/bin/env k6\nexports.options = {};\nmodule.exports.a = 1;\nObject.defineProperty(exports, 'b', {});\nexports.default = function () {}; // end",
        )],
        &expect![[r#"
            import{run as $run}from"source:commonjs";const $all=$run("file://FOLDER/main.js",function(module,exports,require){///usr/bin/env k6
            exports.options = {};
            module.exports.a = 1;
            Object.defineProperty(exports, 'b', {});
            exports.default = function () {}; // end
            });export{$all as "module.exports"};const $default=$all.default;export default $default===void 0?$all:$default;const $0=$all["a"];export{$0 as "a"};const $1=$all["b"];export{$1 as "b"};const $2=$all["options"];export{$2 as "options"};"#]],
    );
    check_text(
        &[("main.js", "import 'k6';\nconst http = require('k6/http');")],
        &expect![[r#"
        import{requireFrom as $require}from"source:commonjs";const require=$require("file://FOLDER/main.js");import 'k6';
        const http = require('k6/http');"#]],
    );
}

#[test]
fn names_imported_of_common_js_are_exported() {
    let folder = folder(&[
        ("main.js", "import { late } from './lib.js'; export { other as mine } from './lib.js';"),
        ("lib.js", "for (const name of ['late', 'other']) exports[name] = 1;"),
    ]);
    let sources = load(folder.path(), "main.js").expect("the script is right");
    let name = sources.resolve(sources.entry(), "./lib.js").expect("it is there");
    let text = sources.text(&name).expect("it has a text");
    let (_, after) = text.split_once("\n});").expect("it is a function's body");
    expect![[r#"export{$all as "module.exports"};const $default=$all.default;export default $default===void 0?$all:$default;const $0=$all["late"];export{$0 as "late"};const $1=$all["other"];export{$1 as "other"};"#]].assert_eq(after);
}

#[test]
fn types_are_stripped_and_what_they_stand_for_stays() {
    check_text(
        &[
            (
                "main.ts",
                "import { Options, type Thing } from './types.ts';\nimport http, { RefinedResponse } from 'k6/http';\nenum Kind { A = 1, B, C = 'c' }\nconst enum Fast { X = 7 }\nnamespace Shop { export const url = 'x'; export namespace In { export const y = 1; } }\nclass P { constructor(private readonly name: string, public age = 5) {} declare z: number; }\nabstract class Q<T> extends P { abstract f(): T; g?(): void; }\nexport const options: Options = { vus: 1 } satisfies Options;\nfunction over(a: string): void;\nfunction over(a: any) { return a!.b as unknown as Thing; }\nexport default function <T,>(this: Window, data?: T): void {\n  const r: RefinedResponse<'text'> = <any>http.get('x' as const);\n  over(Kind.A); over(Fast.X); over(Shop.url);\n}\n",
            ),
            ("types.ts", "export interface Options { vus: number }\nexport type Thing = string;"),
        ],
        &expect![[r#"
            import http from "k6/http";
            var Kind = function(Kind) {
            	Kind[Kind["A"] = 1] = "A";
            	Kind[Kind["B"] = 2] = "B";
            	Kind["C"] = "c";
            	return Kind;
            }(Kind || {});
            var Fast = function(Fast) {
            	Fast[Fast["X"] = 7] = "X";
            	return Fast;
            }(Fast || {});
            let Shop;
            (function(_Shop) {
            	const url = _Shop.url = "x";
            	let In;
            	(function(_In) {
            		const y = _In.y = 1;
            	})(In || (In = _Shop.In || (_Shop.In = {})));
            })(Shop || (Shop = {}));
            class P {
            	name;
            	age;
            	constructor(name, age = 5) {
            		this.name = name;
            		this.age = age;
            	}
            }
            class Q extends P {}
            export const options = { vus: 1 };
            function over(a) {
            	return a.b;
            }
            export default function(data) {
            	const r = http.get("x");
            	over(Kind.A);
            	over(Fast.X);
            	over(Shop.url);
            }
        "#]],
    );
}

#[test]
fn places_lead_back_to_what_the_author_wrote() {
    let text = "interface A {\n  b: string;\n}\nexport default function (data: A): void {\n  const x: number = 5; /* é𝒳 */ const y: A = data.b.c();\n  throw new Error('boom');\n}\n";
    let folder = folder(&[("main.ts", text)]);
    let sources = load(folder.path(), "main.ts").expect("the script is right");
    let run = sources.text(sources.entry()).expect("it has a text");
    for needle in ["data.b.c", ".c()", "new Error", "throw", "'boom'"] {
        let lines = super::position::Lines::of(&run);
        let needle_run = needle.replace('\'', "\"");
        let offset = run.find(&needle_run).unwrap_or_else(|| panic!("{needle} in {run}"));
        let at = lines.position(&run, offset as u32);
        let place = sources.author_place(sources.entry(), at.line, at.column).1;
        let author = super::position::Lines::of(text);
        let expected = author.position(text, text.find(needle).expect("it is there") as u32);
        assert_eq!(place, expected, "{needle}");
    }
}

#[test]
fn places_on_the_first_line_do_not_count_what_is_ours() {
    let folder = folder(&[("main.js", "exports.default = () => { boom(); };\nboom();")]);
    let sources = load(folder.path(), "main.js").expect("the script is right");
    let run = sources.text(sources.entry()).expect("it has a text");
    let offset = run.find("boom").expect("it is there") as u32;
    let place = super::position::Lines::of(&run).position(&run, offset);
    let of = |line, column| sources.author_place(sources.entry(), line, column).1;
    assert_eq!(of(place.line, place.column), Position { line: 1, column: 27 });
    assert_eq!(of(2, 1), Position { line: 2, column: 1 });
}

/// `QuickJS` counts the bytes of a line.
#[test]
fn columns_behind_other_letters_than_those_of_ascii_are_characters() {
    let text = "export const a = 1;\nexport default () => { const s = 'ä𝒳'; boom(); };\n";
    let folder = folder(&[("main.js", text), ("common.js", "const s = 'ä𝒳'; boom();")]);
    let check = |name: &str| {
        let sources = load(folder.path(), name).expect("the script is right");
        let run = sources.text(sources.entry()).expect("it has a text");
        let before = &run[..run.find("boom").expect("it is there")];
        let line = before.lines().count() as u32;
        let bytes = before.lines().next_back().expect("there is a line").len() as u32;
        sources.author_place(sources.entry(), line, bytes + 1).1
    };
    assert_eq!(check("main.js"), Position { line: 2, column: 40 });
    assert_eq!(check("common.js"), Position { line: 1, column: 17 });
}

#[test]
fn files_are_opened_from_the_folder_of_the_script() {
    let folder = folder(&[("in/main.js", "export default 1;"), ("data.csv", "a,b"), ("dir/x", "")]);
    let sources = load(folder.path(), "in/main.js").expect("the script is right");
    let open = |path: &str| sources.open(sources.entry(), path).map(|bytes| bytes.to_vec());
    assert_eq!(open("../data.csv"), Ok(b"a,b".to_vec()));
    assert!(open("../dir").expect_err("it is a folder").contains("is a folder"));
    assert!(open("none.csv").expect_err("it is not there").starts_with("cannot open none.csv: "));
}

#[test]
fn standard_input_may_be_typescript_and_imports_from_the_working_folder() {
    let folder = folder(&[("a.js", "export const a = 1;")]);
    let text = "import { a } from './a.js'; const b: number = a; export default () => {};".to_owned();
    let sources = Sources::load(Main::standard_input(text, folder.path()), BUILTINS).expect("it is right");
    assert_eq!(sources.entry(), "file:///-");
    assert!(sources.text("file:///-").expect("it has a text").contains("const b = a;"));
}

#[test]
fn names_that_a_file_does_not_export_are_told_with_their_places() {
    check_faults(
        &[
            (
                "main.js",
                "import one, { two, tow } from './a.js';\nimport { far, near } from './stars.js';\nimport * as all from './a.js';\nexport { gone } from './a.js';\nimport own, { asked } from './common.js';\nimport { get } from './k6.js';\nexport { own };\nexport default () => [one, two, tow, far, near, all, asked, get];",
            ),
            ("a.js", "export const two = 2;"),
            ("stars.js", "export * from './stars.js'; export * from './deep.js';"),
            ("deep.js", "export const far = 1; export default 5;"),
            ("common.js", "exports.other = 1;"),
            ("k6.js", "export * from 'k6/http';"),
        ],
        &expect![[r#"
            main.js:1:8: ./a.js has no default export
             1 | import one, { two, tow } from './a.js';
               |        ^
            main.js:1:20: ./a.js has no `tow`; did you mean `two`?
             1 | import one, { two, tow } from './a.js';
               |                    ^
            main.js:2:15: ./stars.js has no `near`
             2 | import { far, near } from './stars.js';
               |               ^
            main.js:4:10: ./a.js has no `gone`
             4 | export { gone } from './a.js';
               |          ^"#]],
    );
}

/// What `--check` prints for a script whose only built-in modules are those here.
fn check_needs(files: &[(&str, &str)], expected: &Expect) {
    use crate::vm::{Builtin, Builtins};
    let http = Builtin {
        specifier: "k6/http",
        text: "const get = 1; export { get }; export const CookieJar = 2; export default { get, CookieJar, post() {} };",
    };
    let utils = Builtin { specifier: "jslib:k6-utils", text: "export const randomItem = 1;" };
    let folder = folder(files);
    let main = Main::read(Path::new(files[0].0), folder.path()).expect("it is there");
    let check = super::Check::of(main, &Builtins::default().with(&[http, utils], &[]));
    let shown = check.to_string();
    expected.assert_eq(&shown.replace(&folder.path().display().to_string(), "FOLDER"));
}

#[test]
fn a_check_tells_all_that_is_needed_and_missing() {
    check_needs(
        &[
            (
                "main.ts",
                "import http, { gett, type Params } from 'k6/http';\nimport { check } from 'k6';\nimport { randomItem, nope } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\nimport grpc from 'k6/net/grpc';\nimport './lib.js';\nexport const options: Options = { vus: 1, vu: 2, ext: {} };\nexport default function (p: Params) {\n  http.get('x'); http.foo('y'); gett(check, randomItem, nope, grpc);\n  { const http = { own() {} }; http.own(); }\n}\n",
            ),
            (
                "lib.js",
                "import * as h from 'k6/http'; h.post(); h.pots(); require('./none.js'); require('k6/browser');",
            ),
        ],
        &expect![[r#"
            2 files and 5 modules from elsewhere
              https://jslib.k6.io/k6-utils/1.4.0/index.js  works    main.ts:3:34
              k6                                           not yet  main.ts:2:23
              k6/browser                                   never    lib.js:1:81
              k6/http                                      works    lib.js:1:20, main.ts:1:41
              k6/net/grpc                                  not yet  main.ts:4:18

            Missing:
            lib.js:1:43: k6/http has no `pots`; did you mean `post`?
             1 | import * as h from 'k6/http'; h.post(); h.pots(); require('./none.js'); require('k6/browser');
               |                                           ^
            lib.js:1:59: cannot find ./none.js: tried FOLDER/none.js
             1 | import * as h from 'k6/http'; h.post(); h.pots(); require('./none.js'); require('k6/browser');
               |                                                           ^
            lib.js:1:81: no module k6/browser: never: it drives a browser; measure the page's requests instead
             1 | import * as h from 'k6/http'; h.post(); h.pots(); require('./none.js'); require('k6/browser');
               |                                                                                 ^
            main.ts:1:16: k6/http has no `gett`; did you mean `get`?
             1 | import http, { gett, type Params } from 'k6/http';
               |                ^
            main.ts:2:23: no module k6: not yet: it belongs to a later tier of k6's modules
             2 | import { check } from 'k6';
               |                       ^
            main.ts:3:22: https://jslib.k6.io/k6-utils/1.4.0/index.js has no `nope`
             3 | import { randomItem, nope } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
               |                      ^
            main.ts:4:18: no module k6/net/grpc: not yet: it belongs to a later tier of k6's modules
             4 | import grpc from 'k6/net/grpc';
               |                  ^
            main.ts:8:23: k6/http has no `foo`
             8 |   http.get('x'); http.foo('y'); gett(check, randomItem, nope, grpc);
               |                       ^

            Without effect:
            main.ts:6:43: there is no option `vu`
             6 | export const options: Options = { vus: 1, vu: 2, ext: {} };
               |                                           ^
            main.ts:6:50: the option `ext` has no meaning here
             6 | export const options: Options = { vus: 1, vu: 2, ext: {} };
               |                                                  ^

            8 things are missing."#]],
    );
}

#[test]
fn a_check_looks_at_what_only_a_call_imports_and_not_at_what_an_import_is_called_elsewhere() {
    check_needs(
        &[
            (
                "main.js",
                "import http from 'k6/http';\nexport { http };\nexport default async () => { await import('./late.js'); };",
            ),
            ("late.js", "import { nope } from './a.js';"),
            ("a.js", "export const two = 2;"),
        ],
        &expect![[r#"
            3 files and 1 module from elsewhere
              k6/http  works    main.js:1:18

            Missing:
            late.js:1:10: ./a.js has no `nope`
             1 | import { nope } from './a.js';
               |          ^

            1 thing is missing."#]],
    );
}

#[test]
fn a_check_finds_files_that_would_be_opened_and_are_not_there() {
    check_needs(
        &[
            (
                "in/main.js",
                "import './lib.js'; import { load } from '../other/load.js';\nexport const a = [open('a.csv'), open(`b.csv`), load()];\n{ const open = (x) => x; open('own.csv'); }\nexport default () => {};",
            ),
            ("in/lib.js", "const one = open('../data/one.json', 'b'), two = open('../data/two.json');"),
            ("data/one.json", "1"),
            ("other/load.js", "export const load = () => [open('beside_main.csv'), open('nowhere.csv')];"),
            ("in/beside_main.csv", "x"),
        ],
        &expect![[r#"
            3 files and 0 modules from elsewhere

            Missing:
            in/lib.js:1:55: open() finds no file ../data/two.json: tried FOLDER/data/two.json
             1 | const one = open('../data/one.json', 'b'), two = open('../data/two.json');
               |                                                       ^
            in/main.js:2:24: open() finds no file a.csv: tried FOLDER/in/a.csv
             2 | export const a = [open('a.csv'), open(`b.csv`), load()];
               |                        ^
            other/load.js:1:58: open() finds no file nowhere.csv: tried FOLDER/other/nowhere.csv
             1 | export const load = () => [open('beside_main.csv'), open('nowhere.csv')];
               |                                                          ^

            3 things are missing."#]],
    );
}

#[test]
fn a_check_of_a_whole_script_and_of_no_script() {
    check_needs(
        &[("main.js", "import http from 'k6/http'; export default () => http.get('x');")],
        &expect![[r#"
            1 file and 1 module from elsewhere
              k6/http  works    main.js:1:18

            Nothing is missing."#]],
    );
    check_needs(
        &[("main.js", "import http from 'k6/http'; export default () => { http.get('x' };")],
        &expect![[r#"
            0 files and 0 modules from elsewhere

            Missing:
            main.js:1:65: syntax error: expected `,` or `)` but found `}`
             1 | import http from 'k6/http'; export default () => { http.get('x' };
               |                                                                 ^

            1 thing is missing."#]],
    );
}
