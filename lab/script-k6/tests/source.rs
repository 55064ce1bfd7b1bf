//! Scripts of several files on the virtual machine: imports, `CommonJS`, TypeScript, libraries, and places of errors.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod support;

use expect_test::{Expect, expect};
use prony_script_k6::{Clock, Entry, Machine, Main, Script, Sources, builtins};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use support::Driver;
use tempfile::TempDir;

/// A folder with the files, and the script whose main module is the first of them.
fn script_of(files: &[(&str, &str)]) -> (TempDir, Script) {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let main = Main::read(Path::new(files[0].0), folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let builtins = builtins();
    let names = builtins.modules.iter().map(|module| module.specifier);
    let sources = Sources::load(main, names).unwrap_or_else(|error| panic!("{error}"));
    let entry = sources.entry().to_owned();
    (folder, Script::new(entry, Arc::new(sources), builtins))
}

/// What `setup` returns, or the error it ends with.
fn check(files: &[(&str, &str)], expected: &Expect) {
    let (folder, script) = script_of(files);
    let outcome = Driver::default().run(script, Entry::Setup);
    let shown = match outcome.returned {
        Some(Ok(json)) => json.unwrap_or_else(|| "nothing".to_owned()),
        Some(Err(error)) => error.to_string(),
        None => "it did not end".to_owned(),
    };
    expected.assert_eq(&shown.replace(&folder.path().display().to_string(), "FOLDER"));
}

fn check_one(main: &str, expected: &Expect) {
    check(&[("main.js", main)], expected);
}

#[test]
fn common_js_and_es_modules_import_each_other() {
    check(
        &[
            (
                "main.js",
                "import whole, { a, late } from './lib.cjs';
                 import * as all from './lib.cjs';
                 import fn from './function.cjs';
                 const again = require('./lib.cjs');
                 const es = require('./es.js');
                 export function setup() {
                     return { a, late, isOne: again === whole, keys: Object.keys(all), fn: fn(2), es: [es.default, es.named], lib: again.inner };
                 }",
            ),
            (
                "lib.cjs",
                "const { value } = require('./es.js').named; exports.a = value; exports.inner = require('./deep/inner.cjs'); for (const n of ['late']) exports[n] = typeof this;",
            ),
            ("deep/inner.cjs", "exports.partial = require('../lib.cjs').a; exports.here = typeof module.exports;"),
            ("function.cjs", "module.exports = (x) => x * 2; module.exports.more = 1;"),
            ("es.js", "export default 'd'; export const named = { value: 5 };"),
        ],
        &expect![[r#"{"a":5,"late":"object","isOne":true,"keys":["a","default","inner","late","module.exports"],"fn":4,"es":["d",{"value":5}],"lib":{"partial":5,"here":"object"}}"#]],
    );
}

#[test]
fn a_module_resolves_paths_from_its_own_folder() {
    check(
        &[
            (
                "in/main.js",
                "import { there } from '../lib/es.js'; const tried = (path) => { try { return import.meta.resolve(path); } catch (error) { return String(error); } };
                 const init = ['./x.txt', '../lib/', '/abs/./y', 'file:///z', 'https://a.test/b', 'k6/http', '', undefined].map(tried);
                 export function setup() { return { init, late: import.meta.resolve('./late'), there, opened: open.length, place: new Error().stack.includes('main.js:3:') }; }",
            ),
            (
                "lib/es.js",
                "const { required } = require(import.meta.resolve('./deep/a.js')); export const there = [import.meta.resolve('../up.js'), open(import.meta.resolve('./data.txt')), required];",
            ),
            ("lib/data.txt", "data"),
            ("lib/deep/a.js", "export const required = import.meta.resolve('./b');"),
        ],
        &expect![[r#"{"init":["file://FOLDER/in/x.txt","file://FOLDER/lib/","file:///abs/y","file:///z","https://a.test/b","GoError: The moduleSpecifier \"k6/http\" couldn't be recognised as something k6 supports.","GoError: import.meta.resolve() needs a path","GoError: import.meta.resolve() needs a path"],"late":"file://FOLDER/in/late","there":["file://FOLDER/up.js","data","file://FOLDER/lib/deep/b"],"opened":1,"place":true}"#]],
    );
}

/// As in k6, where the exports of its modules are found when they are used.
#[test]
fn names_that_a_module_of_k6_lacks_are_undefined() {
    check(
        &[
            (
                "main.js",
                "import http, { get, pick as chosen, cookieJar } from 'k6/http';
                 import { sleep, nothing } from 'k6';
                 import * as all from 'k6';
                 import { again, kept } from './lib.ts';
                 export { absent } from 'k6/crypto';
                 export function setup() {
                     return [typeof get, typeof chosen, typeof cookieJar, typeof sleep, typeof nothing, typeof all.check, typeof again, kept, http.get === get];
                 }",
            ),
            ("lib.ts", "import { Options, later } from 'k6/metrics'; import { md5 } from 'k6/crypto'; export const again = later, kept: string = typeof md5; export let o: Options;"),
        ],
        &expect![[r#"["function","undefined","function","function","undefined","function","undefined","function",true]"#]],
    );
    // What a library lacks is an error there too.
    let (_folder, script) = script_of(&[(
        "main.js",
        "import { nope } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js'; export function setup() {}",
    )]);
    let machine = Machine::new(Arc::new(script), Clock::Real(Instant::now())).unwrap();
    let error = machine.inspect().unwrap_err().to_string();
    assert!(error.contains("'nope'"), "{error}");
}

/// Each file of the name `data.txt` holds the folder that it is in.
#[test]
fn files_are_opened_from_the_folder_of_the_module_that_is_evaluated() {
    check(
        &[
            (
                "in/main.js",
                "import { own, load } from '../lib/es.js';
                 import { SharedArray } from 'k6/data';
                 const called = load();
                 const before = open('data.txt');
                 const required = require('../cjs/a.cjs');
                 const shared = new SharedArray('s', () => [open('./data.txt')])[0];
                 const again = load();
                 const missing = (() => { try { require('../cjs/throws.cjs') } catch (e) { return open('data.txt') } })();
                 export function setup() { return { own, called, before, required, shared, again, missing }; }",
            ),
            ("in/data.txt", "in"),
            (
                "lib/es.js",
                "import { deep } from './deep/es.js'; export const load = () => open('data.txt');
                 export const own = [open('data.txt'), load(), deep];",
            ),
            ("lib/data.txt", "lib"),
            ("lib/deep/es.js", "export const deep = open('./data.txt');"),
            ("lib/deep/data.txt", "deep"),
            (
                "cjs/a.cjs",
                "exports.before = open('data.txt'); exports.es = require('./far/es.js').far;
                 exports.load = require('../lib/es.js').load(); exports.after = open('data.txt');",
            ),
            ("cjs/data.txt", "cjs"),
            ("cjs/far/es.js", "import { inner } from './in/es.js'; export const far = [open('data.txt'), inner];"),
            ("cjs/far/data.txt", "far"),
            ("cjs/far/in/es.js", "export const inner = open('data.txt');"),
            ("cjs/far/in/data.txt", "inner"),
            ("cjs/throws.cjs", "throw new Error(open('data.txt'));"),
        ],
        &expect![[r#"{"own":["lib","lib","deep"],"called":"in","before":"in","required":{"before":"cjs","es":["far","inner"],"load":"cjs","after":"cjs"},"shared":"in","again":"in","missing":"in"}"#]],
    );
}

/// A body that has awaited something goes on in its own folder.
#[test]
fn a_body_that_awaits_opens_from_its_own_folder() {
    check(
        &[
            (
                "main.js",
                "import { a } from './a/m.js'; import { b } from './b/m.js'; const own = open('data.txt');
                 export function setup() { return [a, b, own]; }",
            ),
            ("data.txt", "main"),
            ("a/m.js", "await null; export const a = open('data.txt');"),
            ("a/data.txt", "a"),
            ("b/m.js", "await null; export const b = await Promise.resolve().then(() => open('data.txt'));"),
            ("b/data.txt", "b"),
        ],
        &expect![[r#"["a","b","main"]"#]],
    );
}

#[test]
fn a_main_file_may_be_common_js() {
    check(
        &[(
            "main.js",
            "(function (target, modules) { for (const name in modules) target[name] = modules[name]; })(exports, { setup: () => 'from a bundle', default: () => {} });",
        )],
        &expect![[r#""from a bundle""#]],
    );
}

#[test]
fn packages_require_data_and_files_that_export_nothing() {
    check(
        &[
            (
                "main.js",
                "import { table, rest } from 'shop'; export function setup() { return { table, rest }; }",
            ),
            (
                "node_modules/shop/index.js",
                "exports.table = require('./data/table.json'); exports.rest = typeof require('./nothing.js');",
            ),
            ("node_modules/shop/data/table.json", "{\n  \"$id\": \"t\", \"rows\": [1, null]\n}\n"),
            ("node_modules/shop/nothing.js", "module.exports = exports = undefined;"),
        ],
        &expect![[r#"{"table":{"$id":"t","rows":[1,null]},"rest":"object"}"#]],
    );
}

#[test]
fn common_js_throws_from_where_it_stands() {
    check(
        &[
            ("main.js", "export function setup() { require('./bad.cjs'); }"),
            ("bad.cjs", "const a = 1;\nfunction inner() {\n  null.x;\n}\ninner();\n"),
        ],
        &expect![[r#"
            TypeError: cannot read property 'x' of null
            	at inner (file://FOLDER/bad.cjs:3:3)
            	at <anonymous> (file://FOLDER/bad.cjs:5:1)
            	at call (native)
            	at run (source:commonjs:10:67)
            	at <anonymous> (file://FOLDER/bad.cjs:1:1)
            	at <anonymous> (source:commonjs:27:32)
            	at setup (file://FOLDER/main.js:1:26)"#]],
    );
    check_one(
        "export function setup() { return require('./none.js'); }",
        &expect![[r#"
        Error: cannot find ./none.js: tried FOLDER/none.js
        	at <anonymous> (source:commonjs:25:37)
        	at setup (file://FOLDER/main.js:1:33)"#]],
    );
    check_one(
        "export function setup() { return require('').x; }",
        &expect![[r#"
        TypeError: require() needs a path or the name of a module
        	at <anonymous> (source:commonjs:23:15)
        	at setup (file://FOLDER/main.js:1:33)"#]],
    );
}

#[test]
fn an_interval_goes_on_that_is_shorter_than_its_callback() {
    check_one(
        "import { sleep } from 'k6';
         export async function setup() {
             const seen = [];
             await new Promise((done) => {
                 const timer = setInterval(() => {
                     seen.push(seen.length);
                     sleep(0.02);
                     if (seen.length === 3) { clearInterval(timer); done(); }
                 }, 5);
             });
             return seen;
         }",
        &expect!["[0,1,2]"],
    );
}

#[test]
fn import_cycles_work() {
    check(
        &[
            (
                "main.js",
                "import { b } from './b.js'; export function a() { return 'a'; } export function setup() { return b(); }",
            ),
            ("b.js", "import { a } from './main.js'; export function b() { return a() + 'b'; }"),
        ],
        &expect![[r#""ab""#]],
    );
}

#[test]
fn errors_of_typescript_show_the_authors_places() {
    check(
        &[
            (
                "main.ts",
                "import { Thing, boom } from './lib/boom.ts';\nexport function setup(): unknown {\n  const thing: Thing = { a: 'é' };\n  return boom(thing);\n}\n",
            ),
            (
                "lib/boom.ts",
                "export interface Thing {\n  a: string;\n}\n\nenum Level { Low, High }\n\nexport function boom(thing: Thing): never {\n  const level: Level = Level.High;\n  /* é */ throw new Error(`level ${level as number} of ${thing!.a}`);\n}\n",
            ),
        ],
        &expect![[r#"
            Error: level 1 of é
            	at boom (file://FOLDER/lib/boom.ts:9:58)
            	at setup (file://FOLDER/main.ts:4:15)"#]],
    );
}

#[test]
fn the_stack_of_an_error_says_what_it_is_and_shows_the_authors_places() {
    check(
        &[(
            "main.ts",
            "class Refused extends Error { constructor(m: string) { super(m); this.name = 'Refused'; } }
             interface Nothing { a: number }
             function inner(x: number): void {
                 throw new Refused('no ' + x);
             }
             const read = (error: unknown) => (error as Error).stack!.replace(/:\\d+\\)/g, ')');
             export function setup(): unknown {
                 try { inner(1); } catch (error) { return [read(error), String(error), { stack: 5 }.stack]; }
             }",
        )],
        &expect![[
            r#"["Refused: no 1\n\tat Refused (file://FOLDER/main.ts:1)\n\tat inner (file://FOLDER/main.ts:4)\n\tat setup (file://FOLDER/main.ts:8)\n","Refused: no 1",5]"#
        ]],
    );
}

/// Libraries look at their callers so.
#[test]
fn a_stack_that_a_script_prepares_itself_is_what_it_has_made() {
    check_one(
        "export function setup() {
             Error.prepareStackTrace = (error, places) => [Array.isArray(places)];
             const prepared = new Error('no').stack;
             Error.prepareStackTrace = undefined;
             return [prepared, typeof new Error('no').stack, Object.create(Error.prototype).stack === undefined];
         }",
        &expect![[r#"[[true],"string",true]"#]],
    );
}

#[test]
fn papaparse_reads_and_writes() {
    check_one(
        "import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';
         export function setup() {
             const steps = [];
             papaparse.parse('1,2\\n3,4', { step: (row, parser) => { steps.push(row.data); parser.abort(); } });
             return {
                 header: papaparse.parse('name,age,on\\nAnn,5,true\\n\"B, b\",,x\\n', { header: true, dynamicTyping: true, skipEmptyLines: true }),
                 uneven: papaparse.parse('a,a\\n1\\n1,2,3', { header: true }),
                 typed: papaparse.parse('1,2', { dynamicTyping: { 1: true }, transform: (text) => text + '0' }).data,
                 steps,
                 csv: papaparse.unparse([{ a: 1, b: 'x,\"y\"' }, { a: null, b: new Date(0) }]),
                 rows: papaparse.unparse([['a', ' b'], ['c']], { delimiter: ';', newline: '|', quotes: [true] }),
                 fields: papaparse.unparse({ fields: ['n'], data: [[1], [2]] }),
             };
         }",
        &expect![[r#"{"header":{"data":[{"name":"Ann","age":5,"on":true},{"name":"B, b","age":null,"on":"x"}],"errors":[],"meta":{"delimiter":",","linebreak":"\n","aborted":false,"truncated":false,"cursor":33,"fields":["name","age","on"]}},"uneven":{"data":[{"a":"1"},{"a":"1","a_1":"2","__parsed_extra":["3"]}],"errors":[{"type":"FieldMismatch","code":"TooFewFields","message":"Too few fields: expected 2 fields but parsed 1","row":0},{"type":"FieldMismatch","code":"TooManyFields","message":"Too many fields: expected 2 fields but parsed 3","row":1}],"meta":{"delimiter":",","linebreak":"\n","aborted":false,"truncated":false,"cursor":11,"fields":["a","a_1"],"renamedHeaders":{"a_1":"a"}}},"typed":[["10",20]],"steps":[["1","2"]],"csv":"a,b\r\n1,\"x,\"\"y\"\"\"\r\n,1970-01-01T00:00:00.000Z","rows":"\"a\";\" b\"|\"c\"","fields":"n\r\n1\r\n2"}"#]],
    );
}

#[test]
fn urls_are_cut_and_changed() {
    check_one(
        "import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';
         export function setup() {
             const url = new URL('../a b?x=1&x=2#end', 'https://ann:pw@Example.com:8443/shop/cart');
             const parts = [url.href, url.origin, url.protocol, url.username, url.host, url.port, url.pathname, url.search, url.hash];
             url.searchParams.append('y', 'ä &');
             url.searchParams.delete('x', '1');
             url.port = '443';
             url.hash = '';
             const query = new URLSearchParams([['b', '1'], ['a', '2'], ['b', '3']]);
             query.set('b', '4');
             query.sort();
             let bad;
             try { new URL('/only/a/path'); } catch (error) { bad = error.name; }
             return { parts, changed: String(url), json: JSON.stringify({ url }), query: query.toString(), all: [...query], object: String(new URLSearchParams({ q: \"it's\" })), bad, can: URL.canParse('x:') };
         }",
        &expect![[r##"{"parts":["https://ann:pw@example.com:8443/a%20b?x=1&x=2#end","https://example.com:8443","https:","ann","example.com:8443","8443","/a%20b","?x=1&x=2","#end"],"changed":"https://ann:pw@example.com/a%20b?x=2&y=%C3%A4+%26","json":"{\"url\":\"https://ann:pw@example.com/a%20b?x=2&y=%C3%A4+%26\"}","query":"a=2&b=4","all":[["a","2"],["b","4"]],"object":"q=it%27s","bad":"TypeError","can":true}"##]],
    );
}

#[test]
fn forms_become_bytes() {
    check_one(
        "import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';
         export function setup() {
             const form = new FormData();
             form.append('text', 'é');
             form.append('file', { data: new Uint8Array([65, 66]).buffer, filename: 'a\"b.txt', content_type: 'text/plain' });
             form.append('other', 'inner', 'n.bin');
             const body = String.fromCharCode(...new Uint8Array(form.body()));
             return body.split(form.boundary).join('B');
         }",
        &expect![[r#""--B\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nÃ©\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b.txt\"\r\nContent-Type: text/plain\r\n\r\nAB\r\n--B\r\nContent-Disposition: form-data; name=\"other\"; filename=\"n.bin\"\r\nContent-Type: application/octet-stream\r\n\r\ninner\r\n--B--\r\n""#]],
    );
}

#[test]
fn the_reporter_writes_a_page() {
    check_one(
        "import { htmlReport } from 'https://raw.githubusercontent.com/benc-uk/k6-reporter/main/dist/bundle.js';
         export function setup() { return htmlReport({ metrics: {} }, { title: 'T' }).match(/<title>.*<.title>/)[0]; }",
        &expect![[r#""<title>T</title>""#]],
    );
}

#[test]
fn the_summary_is_written_as_text_and_junit() {
    check_one(
        "import { textSummary, jUnit } from 'https://jslib.k6.io/k6-summary/0.1.0/index.js';
         import { textSummary as old } from 'https://jslib.k6.io/k6-summary/0.0.1/index.js';
         const data = { options: {}, metrics: { checks: { type: 'rate', contains: 'default', values: { rate: 0.5, passes: 1, fails: 1 }, thresholds: { 'rate>0.9': { ok: false } } } } };
         export function setup() { return [textSummary(data, { indent: '>', enableColors: false }), old(data, { enableColors: false }), jUnit(data).length]; }",
        &expect![[r#"[">  ✗ checks...: 50.00% 1 out of 2","   ✗ checks...: 50.00% ✓ 1 ✗ 1",245]"#]],
    );
}

#[test]
fn utils_do_what_their_names_say() {
    check_one(
        "import { check, findBetween, normalDistributionStages, parseDuration, randomIntBetween, randomItem, randomString, uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
         export function setup() {
             const numbers = Array.from({ length: 1000 }, () => randomIntBetween(3, 5));
             return {
                 numbers: [Math.min(...numbers), Math.max(...numbers)],
                 item: ['a', 'b'].includes(randomItem(['a', 'b'])),
                 text: [/^[a-z]{8}$/.test(randomString(8)), randomString(3, 'x')],
                 uuids: [uuidv4(), uuidv4(true)].map((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
                 found: [findBetween('<b>1</b><b>2</b>', '<b>', '</b>'), findBetween('<b>1</b><b>2</b>', '<b>', '</b>', true), findBetween('x', 'a', 'b')],
                 stages: normalDistributionStages(100, 60, 4),
                 duration: parseDuration('1m30.5s'),
             };
         }",
        &expect![[r#"{"numbers":[3,5],"item":true,"text":[true,"xxx"],"uuids":[true,true],"found":["1",["1","2"],""],"stages":[{"duration":"10s","target":14},{"duration":"10s","target":61},{"duration":"10s","target":100},{"duration":"10s","target":61},{"duration":"10s","target":14},{"duration":"10s","target":0}],"duration":90500}"#]],
    );
}

/// The names and answers are those of RFC 9562, appendix A, and of Python's `uuid` module.
#[test]
fn uuids_are_made_and_read() {
    check_one(
        "import uuid, { NIL, v3, v5, validate, version } from 'https://jslib.k6.io/uuid/1.0.0/index.js';
         export function setup() {
             const ids = [uuid.v1(), uuid.v1(), uuid.v4()];
             return {
                 named: [v3('www.example.com', v3.DNS), v5('www.example.com', v5.DNS)],
                 fixed: uuid.v1({ msecs: 1645557742000, clockseq: 0x33c8, node: [0x9f, 0x6b, 0xde, 0xce, 0xd8, 0x46] }),
                 versions: ids.map(version),
                 valid: [...ids.map(validate), validate(NIL), validate('x')],
                 ascending: uuid.parse(ids[1]).join() !== uuid.parse(ids[0]).join(),
                 back: uuid.stringify(uuid.parse(v5.DNS)),
             };
         }",
        &expect![[r#"{"named":["5df41881-3aed-3515-88a7-2f4a814cf09e","2ed6657d-e927-568b-95e1-2665a8aea6a2"],"fixed":"c232ab00-9414-11ec-b3c8-9f6bdeced846","versions":[1,1,4],"valid":[true,true,true,true,false],"ascending":true,"back":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}"#]],
    );
}
