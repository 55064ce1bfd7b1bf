//! Modules as operators write them: what is told of them at the start, and what their calls come to.

use std::{collections::BTreeMap, io, path::Path, time::Duration};

use expect_test::{Expect, expect};
use futures_util::future::join_all;
use prony_source::{
    config::{Faults, Origin},
    interceptors::{
        InterceptorCall, InterceptorError, InterceptorLimits, InterceptorLoader, InterceptorPhase,
        Interceptors, RequestedModule,
    },
};

use crate::JavaScriptLoader;

type Files<'f> = &'f [(&'f str, &'f str)];

/// The time is that of the wall: a busy machine may keep a call from its processor for a while.
fn limits() -> InterceptorLimits {
    InterceptorLimits { timeout: Duration::from_secs(1), memory_bytes: 8 << 20, threads: 2, queue: 16 }
}

/// Loads these modules of these files; all faults, a line each, where there are any.
fn load_with(
    paths: &[&str],
    files: Files<'_>,
    limits: &InterceptorLimits,
) -> Result<Box<dyn Interceptors>, String> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let read = |path: &Path| {
        let text = path.to_str().and_then(|path| files.get(path));
        text.map(|text| text.as_bytes().to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    let origin = Origin::File { path: Path::new("prony.toml").into(), line: 3, column: 1 };
    let modules: Vec<_> = paths.iter().map(|path| RequestedModule { path, origin: &origin }).collect();
    let mut faults = Faults::default();
    let loaded = JavaScriptLoader.load(&modules, limits, &read, &mut faults);
    let lines: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
    loaded.ok_or_else(|| lines.join("\n"))
}

fn load(text: &str) -> Box<dyn Interceptors> {
    load_with(&["i/o.ts"], &[("i/o.ts", text)], &limits()).expect("the module is right")
}

fn call_of(modules: &dyn Interceptors, path: &str, phase: InterceptorPhase, values: &str) -> InterceptorCall {
    let module = modules.module(path).expect("the module is there").id;
    InterceptorCall { module, phase, values: values.into(), context: br#"{"role":"clerk"}"#.to_vec() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(future)
}

/// Calls a function of `i/o.ts`; what it comes to, in words.
fn call(modules: &dyn Interceptors, phase: InterceptorPhase, values: &str) -> String {
    match block_on(modules.call(call_of(modules, "i/o.ts", phase, values))) {
        Ok(json) => String::from_utf8(json).expect("JSON is UTF-8"),
        Err(InterceptorError::Refused { message, code }) => format!("refused: {message} {code:?}"),
        Err(error) => format!("failed: {error}"),
    }
}

fn before(text: &str, values: &str, expected: &Expect) {
    expected.assert_eq(&call(&*load(text), InterceptorPhase::Before, values));
}

#[test]
fn functions_change_what_they_are_given() {
    let values = r#"[{"arguments":{"n":1}}]"#;
    before(
        "export function before(r: any) { r.arguments.n += 1 }",
        values,
        &expect![[r#"[{"arguments":{"n":2}}]"#]],
    );
    before(
        "export const before = (r: any, c: any) => ({ arguments: c })",
        values,
        &expect![[r#"[{"arguments":{"role":"clerk"}}]"#]],
    );
    before(
        "export async function before(r: any) { await null; return { ...r, a: 1 } }",
        values,
        &expect![[r#"[{"arguments":{"n":1},"a":1}]"#]],
    );
    before("export function before() { return null }", values, &expect!["[null]"]);
    before("export function before() { return () => 1 }", "[1, 2]", &expect!["[null,null]"]);
}

#[test]
fn large_whole_numbers_arrive_as_texts() {
    before(
        "export function before(n: any) { return [typeof n, n] }",
        "[9007199254740993, 7]",
        &expect![[r#"[["string","9007199254740993"],["number",7]]"#]],
    );
    before(
        "export function before(row: any) { row.seen = true }",
        r#"[{"id":9007199254740993,"data":{"n":[-9007199254740993]}}]"#,
        &expect![[r#"[{"id":9007199254740993,"data":{"n":[-9007199254740993]},"seen":true}]"#]],
    );
    let modules = load("export const before = (_: any, { row }: any) => [row.id, row.owner, row.note]");
    let context = br#"{"row":{"id":9007199254740993,"owner":7,"note":"9007199254740993"}}"#.to_vec();
    let call =
        InterceptorCall { context, ..call_of(&*modules, "i/o.ts", InterceptorPhase::Before, "[null]") };
    let returned = block_on(modules.call(call)).map(|json| String::from_utf8(json).expect("JSON is UTF-8"));
    assert_eq!(returned.as_deref(), Ok(r#"[["9007199254740993",7,"9007199254740993"]]"#));
}

#[test]
fn functions_refuse_with_a_code_of_their_own() {
    let declared = "declare function refuse(message: string, code?: string): never;\n";
    let text = format!("{declared}export function before() {{ refuse('not today', 'CLOSED') }}");
    before(&text, "[1]", &expect![[r#"refused: not today Some("CLOSED")"#]]);
    before("export async function before() { refuse('no') }", "[1]", &expect!["refused: no None"]);
    before("export function before() { refuse('no', null) }", "[1]", &expect!["refused: no None"]);
}

#[test]
fn whatever_is_logged_fails_no_call() {
    let text = "export function before(n: any) {\n  const own: any = {};\n  own.own = own;\n  \
                console.log(own, 10n, Symbol('s'), Object.create(null), () => 1, undefined, new Error('e'), '\\ud800');\n  return n\n}";
    before(text, "[1]", &expect!["[1]"]);
}

#[test]
fn failures_name_the_file_and_the_line_that_was_written() {
    let text = "interface Row { id: number }\n\nexport function before(row: Row) {\n  return missing(row)\n}";
    before(text, "[1]", &expect!["failed: i/o.ts:4:10: before: ReferenceError: missing is not defined"]);
    before(
        "export function before() {\n  throw 'a text'\n}",
        "[1]",
        &expect!["failed: i/o.ts: before: a text was thrown"],
    );
    before(
        "export function before() { return new Promise(() => {}) }",
        "[1]",
        &expect!["failed: i/o.ts: before: it waits for a promise that nothing settles"],
    );
    before(
        "export function before(r: any) {\n  r = {}; r.r = r;\n  return r\n}",
        "[1]",
        &expect!["failed: i/o.ts: before: TypeError: circular reference"],
    );
    before("export function after() {}", "[1]", &expect!["failed: i/o.ts: it exports no `before`"]);
}

#[test]
fn functions_end_with_their_time_and_their_memory_and_begin_anew() {
    let text = "let calls = 0;\nexport function before(how: string) {\n  calls++;\n  while (how == 'loop') {}\n  \
                if (how == 'grow') for (const all = ['x'];;) all.push(all.join() + calls);\n  return calls\n}";
    let modules = load_with(&["i/o.ts"], &[("i/o.ts", text)], &InterceptorLimits { threads: 1, ..limits() });
    let modules = modules.expect("the module is right");
    let call = |how: &str| call(&*modules, InterceptorPhase::Before, &format!("[\"{how}\"]"));
    expect!["[1]"].assert_eq(&call("count"));
    expect!["[2]"].assert_eq(&call("count"));
    expect!["failed: i/o.ts:3:3: before: it took longer than it may"].assert_eq(&call("loop"));
    expect!["[1]"].assert_eq(&call("count"));
    expect!["failed: i/o.ts:5:61: before: InternalError: out of memory"].assert_eq(&call("grow"));
    expect!["[1]"].assert_eq(&call("count"));
}

#[test]
fn a_loop_in_a_promise_and_a_deep_recursion_end() {
    before(
        "export async function before() {\n  await null;\n  for (;;) {}\n}",
        "[1]",
        &expect!["failed: i/o.ts: before: it took longer than it may"],
    );
    before(
        "export function before(n: any) {\n  return before(n) + 1\n}",
        "[1]",
        &expect!["failed: i/o.ts:2:17: before: RangeError: Maximum call stack size exceeded"],
    );
}

/// QuickJS asks for the time between steps, and this is one step of some seconds.
#[test]
fn a_function_that_cannot_be_ended_holds_up_neither_its_caller_nor_others() {
    let text = "export function before(how: string) {\n  if (how == 'reverse') Array.prototype.reverse.call({ length: 1e8 });\n  \
                return how\n}";
    let limits = InterceptorLimits { threads: 1, timeout: Duration::from_millis(200), ..limits() };
    let modules = load_with(&["i/o.ts"], &[("i/o.ts", text)], &limits).expect("the module is right");
    let calls = ["[\"reverse\"]", "[\"another\"]"].map(|values| {
        let call = call_of(&*modules, "i/o.ts", InterceptorPhase::Before, values);
        modules.call(call)
    });
    let results = block_on(join_all(calls));
    let given_up = "i/o.ts: before: it took longer than it may".to_owned();
    assert_eq!(results[0], Err(InterceptorError::Failed(given_up)));
    assert_eq!(results[1].as_deref(), Ok(&br#"["another"]"#[..]));
}

/// What has ended too late has failed as what was ended.
#[test]
fn a_step_that_takes_too_long_fails_the_call() {
    let text = "export function before() {\n  Array.prototype.reverse.call({ length: 1e7 });\n  return 1\n}";
    let limits = InterceptorLimits { timeout: Duration::from_millis(20), ..limits() };
    let modules = load_with(&["i/o.ts"], &[("i/o.ts", text)], &limits).expect("the module is right");
    expect!["failed: i/o.ts: before: it took longer than it may"].assert_eq(&call(
        &*modules,
        InterceptorPhase::Before,
        "[1]",
    ));
}

#[test]
fn more_calls_than_may_wait_are_refused() {
    let text = "export function before() { for (const end = Date.now() + 50; Date.now() < end;) {} }";
    let limits = InterceptorLimits { threads: 1, queue: 2, ..limits() };
    let modules = load_with(&["i/o.ts"], &[("i/o.ts", text)], &limits).expect("the module is right");
    let results = block_on(join_all(
        (0..8).map(|_| modules.call(call_of(&*modules, "i/o.ts", InterceptorPhase::Before, "[1]"))),
    ));
    let refused = results.iter().filter(|result| **result == Err(InterceptorError::Overloaded { limit: 2 }));
    let (refused, done) = (refused.count(), results.iter().filter(|result| result.is_ok()).count());
    assert!(refused >= 5 && refused + done == 8, "{results:?}");
}

#[test]
fn modules_import_files_beside_them() {
    let files = [
        (
            "i/o.ts",
            "import { twice } from './lib/twice.ts';\nimport type { T } from './none.ts';\nexport const before = (n: number) => twice(n)",
        ),
        (
            "i/lib/twice.ts",
            "import { by } from '../by.js';\nexport function twice(n: number): number { return by(n, 2) }",
        ),
        (
            "i/by.js",
            "export const by = (n, m) => { if (n > 9) throw new RangeError('too much'); return n * m }",
        ),
    ];
    let modules = load_with(&["i/o.ts"], &files, &limits()).expect("the modules are right");
    expect!["[2,4]"].assert_eq(&call(&*modules, InterceptorPhase::Before, "[1, 2]"));
    expect!["failed: i/by.js:1:52: before: RangeError: too much"].assert_eq(&call(
        &*modules,
        InterceptorPhase::Before,
        "[10]",
    ));
}

#[test]
fn all_mistakes_of_all_modules_are_told_at_once() {
    let files = [
        ("syntax.ts", "export function before(r: any) {\n  return r.\n}"),
        ("export.js", "export const before = 1;"),
        ("nothing.js", "const a = 1;"),
        ("throws.ts", "type A = 1;\nexport function after() {}\nthrow new Error('at the start');"),
        ("loops.js", "export function after() {}\nfor (;;) {}"),
        ("circle.js", "import './circle.js';\nexport function after() {}"),
        (
            "imports.js",
            "import a from 'lodash';\nimport b from './gone.js';\nimport { c } from './nothing.js';\nexport function after() {}",
        ),
    ];
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).chain(["absent.ts"]).collect();
    let faults = load_with(&paths, &files, &limits()).expect_err("nothing of it is right");
    expect![[r#"
        syntax.ts:3:1: syntax error: unexpected token
        export.js:1:1: TypeError: `before` is exported and is no function
        nothing.js:1:1: TypeError: it exports neither a function `before` nor one `after`
        throws.ts:3:11: Error: at the start
        loops.js:1:1: it took longer than it may
        circle.js:1:8: `circle.js` imports itself, through circle.js
        imports.js:1:15: `lodash` cannot be imported: modules import files beside them, by a path that begins with ./ or ../ and ends in .ts, .js or .mjs
        imports.js:2:15: gone.js cannot be read: entity not found
        prony.toml:3:1: absent.ts cannot be read: entity not found"#]].assert_eq(&faults);
}

#[test]
fn functions_reach_nothing_outside() {
    let text = "export function before() { return ['fetch', 'require', 'process', 'std', 'os', 'setTimeout', 'console', 'refuse'].map((name) => typeof globalThis[name]) }";
    before(
        text,
        "[1]",
        &expect![[
            r#"[["undefined","undefined","undefined","undefined","undefined","undefined","object","function"]]"#
        ]],
    );
}
