//! Scripts on the virtual machine: modules, parking, errors, limits, and the parts of a script's life.

mod k6_support;

use expect_test::{Expect, expect};
use k6_support::{Driver, Outcome, script, script_of};
use prony_load_model::Nanos;
use prony_load_scripts::k6::host::Clock;
use prony_load_scripts::k6::program::Entry;
use prony_load_scripts::k6::vm::{Machine, Script};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

fn shown(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (user, ended, error) in &outcome.iterations {
        let error = error.as_deref().unwrap_or("ok");
        writeln!(text, "user {user} at {ended}: {error}").unwrap();
    }
    if let Some(returned) = &outcome.returned {
        match returned {
            Ok(json) => writeln!(text, "returned {}", json.as_deref().unwrap_or("nothing")).unwrap(),
            Err(error) => writeln!(text, "failed: {error}").unwrap(),
        }
    }
    text
}

fn check(main: &str, expected: &Expect) {
    expected.assert_eq(&shown(&Driver::default().run(script(main), Entry::Iterations)));
}

/// Runs as `setup`, whose result is shown.
fn check_result(main: &str, expected: &Expect) {
    expected.assert_eq(&shown(&Driver::default().run(script(main), Entry::Setup)));
}

fn init_error(script: Script) -> String {
    let machine = Machine::new(Arc::new(script), Clock::Real(Instant::now())).unwrap();
    machine.inspect().unwrap_err().to_string()
}

#[test]
fn sleep_and_get_take_their_time() {
    let main = "
        import http from 'k6/http';
        import { sleep } from 'k6';
        export function setup() {
            const answers = [];
            for (let i = 0; i < 3; i++) {
                const r = http.get('http://localhost:8080/item/' + i);
                answers.push(r.status + ' ' + r.body);
                sleep(0.5);
            }
            return { answers };
        }";
    check_result(
        main,
        &expect![[r#"
            user 0 at 1.53 s: ok
            returned {"answers":["200 hello","200 hello","200 hello"]}
        "#]],
    );
}

#[test]
fn users_park_within_each_others_calls() {
    let main = "
        import http from 'k6/http';
        import { sleep } from 'k6';
        export default function () {
            [3, 1, 2].forEach((n) => sleep((n + __VU) / 10));
            [1, 2].sort((a, b) => { sleep(0.01 * __VU); return a - b; });
            function* items() { yield http.get('http://localhost/' + __VU + '/' + __ITER).body; sleep(0.1); yield 1; }
            if ([...items()].join() !== 'hello,1') throw new Error('mixed up');
        }";
    let driver = Driver { users: 3, iterations: 2, ..Driver::default() };
    let outcome = driver.run(script(main), Entry::Iterations);
    expect![[r#"
        user 0 at 1.02 s: ok
        user 1 at 1.33 s: ok
        user 2 at 1.64 s: ok
        user 0 at 2.04 s: ok
        user 1 at 2.66 s: ok
        user 2 at 3.28 s: ok
    "#]]
    .assert_eq(&shown(&outcome));
    let mut paths: Vec<_> =
        outcome.requests.iter().map(|(_, text)| text.split(' ').nth(1).unwrap().to_owned()).collect();
    paths.sort();
    assert_eq!(paths, ["/1/0", "/1/1", "/2/0", "/2/1", "/3/0", "/3/1"]);
}

#[test]
fn errors_name_the_authors_places_whoever_ran_in_between() {
    let main = "import { sleep } from 'k6';
import { deep } from './lib.js';
export default function () {
    sleep(__VU / 10);
    deep(__VU);
}";
    let lib = "import { sleep } from 'k6';
export function deep(n) {
    [0].forEach(function each() {
        sleep(1 / n);
        throw new TypeError('at ' + n);
    });
}";
    let driver = Driver { users: 2, ..Driver::default() };
    let outcome = driver.run(script_of(&[("main.js", main), ("lib.js", lib)]), Entry::Iterations);
    expect![[r#"
        user 1 at 700 ms: TypeError: at 2
        	at each (lib.js:5:37)
        	at forEach (native)
        	at deep (lib.js:3:17)
        	at default (main.js:5:10)
        user 0 at 1.10 s: TypeError: at 1
        	at each (lib.js:5:37)
        	at forEach (native)
        	at deep (lib.js:3:17)
        	at default (main.js:5:10)
    "#]]
    .assert_eq(&shown(&outcome));
}

#[test]
fn what_is_thrown_and_is_no_error_is_said_too() {
    check(
        "export default () => { throw 'a text'; }",
        &expect![[r#"
            user 0 at 0 s: a text
        "#]],
    );
    check(
        "export default () => { throw { toString() { throw 1; } }; }",
        &expect![[r#"
            user 0 at 0 s: something was thrown that cannot be written as text
        "#]],
    );
}

#[test]
fn promises_of_nobody_end_the_iteration() {
    check(
        "export default async function () { await null; throw new Error('late'); }",
        &expect![[r#"
            user 0 at 0 s: Uncaught (in promise) Error: late
            	at default (main.js:1:58)
        "#]],
    );
    check(
        "import { sleep } from 'k6';
         export default function () { Promise.reject(new Error('lost')); sleep(1); }",
        &expect![[r#"
            user 0 at 1.00 s: Uncaught (in promise) Error: lost
            	at default (main.js:2:58)
        "#]],
    );
    check(
        "export default function () { const p = Promise.reject(1); p.catch(() => {}); }",
        &expect![[r#"
            user 0 at 0 s: ok
        "#]],
    );
}

#[test]
fn reactions_that_are_ready_run_before_a_call_blocks() {
    check_result(
        "import { sleep } from 'k6';
         export async function setup() {
             const order = [];
             Promise.resolve().then(() => { order.push('reaction'); sleep(2); order.push('reaction woke'); });
             sleep(1);
             order.push('woke');
             await null;
             order.push('awaited');
             return order;
         }",
        &expect![[r#"
            user 0 at 2.00 s: ok
            returned ["reaction","reaction woke","woke","awaited"]
        "#]],
    );
}

#[test]
fn the_parts_of_a_life_get_their_data_and_give_their_results() {
    let main = "
        export const options = { vus: 3, thresholds: { http_req_duration: ['p(95)<500'] } };
        export function setup() { return { token: 'abc', list: [1, 2] }; }
        export default function (data) { data.list.push(3); if (data.list.length !== 3) throw new Error('shared'); }
        export function teardown(data) { return data.token; }
        export function handleSummary(data) { return { 'a.json': JSON.stringify(data.metrics) }; }
        export const notAFunction = 1;";
    let machine = Machine::new(Arc::new(script(main)), Clock::Real(Instant::now())).unwrap();
    expect![[r#"
        Inspected {
            options: Object {
                "vus": Number(3),
                "thresholds": Object {
                    "http_req_duration": Array [
                        String("p(95)<500"),
                    ],
                },
            },
            functions: [
                "default",
                "handleSummary",
                "setup",
                "teardown",
            ],
        }"#]]
    .assert_eq(&format!("{:#?}", machine.inspect().unwrap()));
    let setup = Driver::default().run(script(main), Entry::Setup);
    let data: Arc<str> = setup.returned.unwrap().unwrap().unwrap().into();
    let run = |entry, iterations| {
        let driver = Driver { setup_data: Some(data.clone()), iterations, ..Driver::default() };
        shown(&driver.run(script(main), entry))
    };
    expect![[r#"
        user 0 at 0 s: ok
        returned "abc"
    "#]]
    .assert_eq(&run(Entry::Teardown, 1));
    expect![[r#"
        user 0 at 0 s: ok
        returned {"a.json":"{\"checks\":1}"}
    "#]]
    .assert_eq(&run(Entry::Summary("{\"metrics\":{\"checks\":1}}".into()), 1));
}

#[test]
fn init_errors_name_their_places() {
    let check = |files: &[(&str, &str)], expected: Expect| expected.assert_eq(&init_error(script_of(files)));
    check(
        &[("main.js", "const a = 1;\nconst b = ;")],
        expect![[r#"
        SyntaxError: unexpected token in expression: ';'
        	at main.js:2:11"#]],
    );
    check(
        &[("main.js", "import './missing.js';")],
        expect!["Error: main.js imports ./missing.js, which is not there"],
    );
    check(
        &[("main.js", "import { nothing } from './lib.js';"), ("lib.js", "export const a = 1;")],
        expect!["SyntaxError: Could not find export 'nothing' in module 'lib.js'"],
    );
    check(
        &[("main.js", "import './lib.js';"), ("lib.js", "\nthrow new RangeError('early');")],
        expect![[r#"
        RangeError: early
        	at <anonymous> (lib.js:2:11)"#]],
    );
    check(
        &[("main.js", "import { sleep } from 'k6'; sleep(1);")],
        expect![[r#"
        TypeError: sleep cannot be called in the init context; call it in a function of the script
        	at sleep (k6:5:12)
        	at <anonymous> (main.js:1:28)"#]],
    );
    check(
        &[("main.js", "import vm from 'prony:vm';")],
        expect!["Error: main.js imports prony:vm, which is not there"],
    );
    check(
        &[("main.js", "await new Promise(() => {});")],
        expect![
            "the init code awaits something that does not come: nothing can be waited for in the init context"
        ],
    );
    check(
        &[("main.js", "open('./none.txt');")],
        expect![[r#"
        Error: no file ./none.txt
        	at <anonymous> (main.js:1:1)"#]],
    );
}

#[test]
fn imports_may_go_in_circles() {
    let a = "import { b } from './b.js'; export function a() { return 'a' + b(); }
        export function setup() { return a(); }";
    let b = "import { a } from './main.js'; export function b() { return typeof a; }";
    let outcome =
        Driver { users: 3, ..Driver::default() }.run(script_of(&[("main.js", a), ("b.js", b)]), Entry::Setup);
    assert_eq!(outcome.returned, Some(Ok(Some("\"afunction\"".to_owned()))));
}

#[test]
fn files_are_opened_in_init_only() {
    let main = "const text = open('./a.txt'); const bytes = new Uint8Array(open('a.txt', 'b'));
        export function setup() { return [text, bytes.length]; }
        export default function () { open('a.txt'); }";
    let files = [("main.js", main), ("a.txt", "grüß")];
    let setup = Driver::default().run(script_of(&files), Entry::Setup);
    assert_eq!(setup.returned, Some(Ok(Some("[\"grüß\",6]".to_owned()))));
    let run = Driver::default().run(script_of(&files), Entry::Iterations);
    expect![[r#"
        user 0 at 0 s: TypeError: open() can only be called in the init context, at the top of the script
        	at default (main.js:3:38)
    "#]]
    .assert_eq(&shown(&run));
}

#[test]
fn an_interrupted_iteration_unwinds_without_being_seen() {
    let main = "
        import { sleep } from 'k6';
        export default function () {
            for (;;) { try { sleep(10); } catch (e) { sleep(1000); } finally { sleep(1000); } }
        }";
    let driver = Driver { users: 2, end: Some(Nanos::from_secs(15)), ..Driver::default() };
    expect![[r#"
        user 0 at 15.0 s: the iteration was interrupted
        	at sleep (k6:6:21)
        	at default (main.js:4:80)
        user 1 at 15.0 s: the iteration was interrupted
        	at sleep (k6:6:21)
        	at default (main.js:4:80)
    "#]]
    .assert_eq(&shown(&driver.run(script(main), Entry::Iterations)));
}

#[test]
fn endless_recursion_is_an_exception() {
    check(
        "function f(n) { return 1 + f(n + 1); }
         export default function () { try { f(0); } catch (e) { throw new Error(e.message); } }",
        &expect![[r#"
            user 0 at 0 s: Error: Maximum call stack size exceeded
            	at default (main.js:2:81)
        "#]],
    );
    check(
        "async function f(n) { return 1 + await f(n + 1); }
         export default async function () { try { await f(0); } catch (e) { throw new Error(e.message); } }",
        &expect![[r#"
            user 0 at 0 s: Uncaught (in promise) Error: Maximum call stack size exceeded
            	at default (main.js:2:93)
        "#]],
    );
}

#[test]
fn an_endless_loop_ends_with_its_place() {
    let main = "export default function () {\n    let n = 0;\n    for (;;) {\n        n += 1;\n    }\n}";
    let mut script = script(main);
    script.limits.run_time = std::time::Duration::from_millis(50);
    expect![[r#"
        user 0 at 0 s: the script has computed for 0.05 s without waiting for anything; look for a loop that does not end
        	at default (main.js:1:15)
    "#]].assert_eq(&shown(&Driver::default().run(script, Entry::Iterations)));
    let mut script = self::script("for (;;) {}");
    script.limits.run_time = std::time::Duration::from_millis(50);
    expect![[r#"
        the script has computed for 0.05 s without waiting for anything; look for a loop that does not end
        	at <anonymous> (main.js:1:1)"#]]
    .assert_eq(&init_error(script));
}
