//! Scripts on the virtual machine: modules, parking, errors, limits, and the parts of a script's life.

mod support;

use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::program::StopFlag;
use prony_script_k6::{Clock, Entry, Machine, Script};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;
use support::{Driver, Outcome, script, script_of};

fn shown(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (user, ended, error) in &outcome.iterations {
        let error = error.as_deref().unwrap_or("ok");
        let _ = writeln!(text, "user {user} at {ended}: {error}");
    }
    let _ = match &outcome.returned {
        None => Ok(()),
        Some(Ok(json)) => writeln!(text, "returned {}", json.as_deref().unwrap_or("nothing")),
        Some(Err(error)) => writeln!(text, "failed: {error}"),
    };
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
    let machine = Machine::new(Arc::new(script), Clock::Real(Instant::now())).expect("a machine");
    machine.inspect().expect_err("init code with an error").to_string()
}

#[test]
fn what_a_user_has_on_its_stack_is_there_after_a_long_sleep() {
    // What only the deep calls needed of the stack is given back while the user sleeps beneath its own calls.
    let main = "
        import { sleep } from 'k6';
        const deep = (n) => n === 0 ? 0 : 1 + deep(n - 1);
        function rest(n, values) {
            const own = values.map((value) => value + n);
            if (n > 0) return rest(n - 1, own) + own[0];
            sleep(600);
            return deep(60) + own[2];
        }
        export function setup() {
            return [0, 1, 2].map((i) => deep(60) + rest(8, [i, 1, 2]));
        }";
    let outcome = Driver::default().run(script(main), Entry::Setup);
    assert!(shown(&outcome).ends_with("returned [362,370,378]\n"), "{}", shown(&outcome));
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
            	at default (main.js:1:29)
        "#]],
    );
    check(
        "export default () => { throw { toString() { throw 1; } }; }",
        &expect![[r#"
            user 0 at 0 s: something was thrown that cannot be written as text
            	at default (main.js:1:29)
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
        export function handleSummary(data) { return { 'a.json': JSON.stringify(data.metrics), 'b.bin': new Uint16Array([1, 2]).subarray(1), none: null }; }
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
        let driver = Driver { setup_data: Some(Arc::clone(&data)), iterations, ..Driver::default() };
        shown(&driver.run(script(main), entry))
    };
    expect![[r#"
        user 0 at 0 s: ok
        returned "abc"
    "#]]
    .assert_eq(&run(Entry::Teardown, 1));
    expect![[r#"
        user 0 at 0 s: ok
        returned {"a.json":"{\"checks\":1}","b.bin":{"base64":"AgA="}}
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
            	at sleep (k6:7:13)
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
        	at sleep (k6:8:21)
        	at default (main.js:4:80)
        user 1 at 15.0 s: the iteration was interrupted
        	at sleep (k6:8:21)
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
fn an_endless_loop_ends_with_its_place_when_its_time_is_over() {
    let limited = || Driver { time_limit: Nanos::ZERO, ..Driver::default() };
    let main = "export default function () {\n    let n = 0;\n    for (;;) {\n        n += 1;\n    }\n}";
    expect![[r#"
        user 0 at 0 s: the iteration was interrupted
        	at default (main.js:1:15)
    "#]]
    .assert_eq(&shown(&limited().run(script(main), Entry::Iterations)));
    let main = "export default async function () { for (;;) await null; }";
    expect![[r#"
        user 0 at 0 s: the iteration was interrupted
    "#]]
    .assert_eq(&shown(&limited().run(script(main), Entry::Iterations)));
    let main = "export function setup() { for (;;) { try { for (;;); } finally { continue; } } }";
    expect![[r#"
        user 0 at 0 s: the iteration was interrupted
        	at setup (main.js:1:1)
        failed: the iteration was interrupted
        	at setup (main.js:1:1)
    "#]]
    .assert_eq(&shown(&limited().run(script(main), Entry::Setup)));
}

#[test]
fn the_time_of_an_iteration_is_counted_from_its_own_beginning_and_goes_on_after_a_wait() {
    let mut script = script(
        "import { compute } from 'test';
         import { sleep } from 'k6';
         export default function () {
             sleep(1.5);
             for (let step = 0; step < (__ITER === 1 ? Infinity : 100); step += 1) {
                 compute(0.01);
                 for (let n = 0; n < 10000; n += 1);
             }
         }",
    );
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    let driver = Driver { iterations: 3, time_limit: Nanos::from_secs(3), ..Driver::default() };
    expect![[r#"
        user 0 at 2.50 s: ok
        user 0 at 5.50 s: the iteration was interrupted
        	at default (main.js:6:18)
        user 0 at 8.00 s: ok
    "#]]
    .assert_eq(&shown(&driver.run(script, Entry::Iterations)));
}

#[test]
fn a_stop_ends_what_computes_and_begins_nothing_more() {
    let stop = StopFlag::default();
    let mut script =
        script("import { stopRun } from 'test'; export default function () { stopRun(); for (;;); }");
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    asynchronous::STOP.set(stop.clone());
    let driver = Driver { users: 2, iterations: 2, stop, ..Driver::default() };
    expect![[r#"
        user 0 at 0 s: the iteration was interrupted
        	at default (main.js:1:61)
    "#]]
    .assert_eq(&shown(&driver.run(script, Entry::Iterations)));
    let stop = StopFlag::default();
    stop.stop();
    let script = self::script("for (;;) {}");
    let machine = Machine::of_run(Arc::new(script), Clock::Real(Instant::now()), stop);
    let error = machine.expect("a machine").inspect().expect_err("init code that does not end");
    expect!["the iteration was interrupted"].assert_eq(&error.to_string());
}

#[test]
fn users_that_compute_run_in_turns_wherever_they_are_in_the_language() {
    let mut script = script(
        "import { compute } from 'test';
         import { sleep } from 'k6';
         const spin = (n = 12000) => { compute(0.0011); let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum; };
         function* numbers() { try { for (let i = 0; i < 5; i++) { spin(); yield i; } } finally { spin(); } }
         const later = async (n) => { spin(); await null; spin(); return n; };
         export default async function () {
             let seen = '';
             for (const n of numbers()) { seen += n; if (n === 3) break; }
             seen += [3, 1, 2].sort((a, b) => { spin(); return a - b; }).join('');
             seen += 'abc'.replace(/[abc]/g, (c) => { spin(); return c + __VU; });
             seen += JSON.stringify({ toJSON() { spin(); return [__VU]; } });
             try { spin(); throw new Error('mine' + __VU); } catch (e) { spin(); seen += e.message; }
             seen += (await later(7)) + (await Promise.all([later(8), later(9)])).join('');
             sleep(0.1);
             seen += [...'ab'].map((c) => `${c}${spin(6000) > 0}`);
             const expected = `0123123a${__VU}b${__VU}c${__VU}[${__VU}]mine${__VU}789atrue,btrue`;
             if (seen !== expected) throw new Error(`${seen} is not ${expected}`);
         }",
    );
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    let driver = Driver { users: 5, iterations: 4, ..Driver::default() };
    let outcome = driver.run(script, Entry::Iterations);
    let failed: Vec<_> = outcome.iterations.iter().filter(|(.., error)| error.is_some()).collect();
    assert_eq!((failed.len(), outcome.iterations.len()), (0, 20), "{failed:?}");
    // Nobody was done before the others had begun to be.
    let users: Vec<_> = outcome.iterations.iter().take(5).map(|(user, ..)| *user).collect();
    assert_eq!(users, [0, 1, 2, 3, 4]);
}

fn small(main: &str) -> Script {
    let mut script = script(main);
    script.limits.memory_bytes = 8 << 20;
    script
}

#[test]
fn memory_without_bound_ends_its_iteration_and_no_other() {
    for hoard in [
        "const kept = []; for (;;) kept.push({ n: kept.length })",
        "const kept = []; for (;;) kept.push('x'.repeat(100000) + kept.length)",
        "const kept = []; for (;;) kept.push(new Uint8Array(100000))",
        "const kept = []; for (;;) { try { kept.push(new Array(50).fill(1)) } catch (e) { } }",
        "const kept = []; const f = async () => { kept.push(await new Array(99).fill(1)); return f() }; return f()",
        "const kept = []; for (;;) kept.push((async () => { await kept; return new Array(9) })())",
    ] {
        let main = format!(
            "import {{ sleep }} from 'k6';
             export default function () {{ if (__VU === 2) {{ sleep(1); {hoard}; }} sleep(__VU); }}"
        );
        let driver = Driver { users: 3, iterations: 2, ..Driver::default() };
        let outcome = driver.run(small(&main), Entry::Iterations);
        let failed: Vec<_> = outcome.iterations.iter().filter(|(.., error)| error.is_some()).collect();
        // What runs goes on; what would begin does not, because the run has ended.
        assert_eq!((failed.len(), outcome.iterations.len()), (1, 4), "{hoard}: {failed:?}");
        for (user, _, error) in failed {
            let error = error.as_deref().unwrap();
            assert_eq!(*user, 1, "{hoard}");
            assert!(error.contains("all of the 8 MiB"), "{hoard}: {error}");
        }
    }
}

#[test]
fn an_exception_for_want_of_memory_can_be_caught_where_one_piece_was_too_large() {
    let main = "export default function () {
        try { new ArrayBuffer(1e9); } catch (e) { return; }
        throw new Error('it was given');
    }";
    expect![[r#"
        user 0 at 0 s: ok
    "#]]
    .assert_eq(&shown(&Driver::default().run(small(main), Entry::Iterations)));
}

/// Timers and calls that go on without blocking, as the parts of k6 make them.
mod asynchronous {
    #![expect(clippy::needless_pass_by_value, reason = "native functions are given their arguments")]

    use prony_model::Nanos;
    use prony_model::program::StopFlag;
    use prony_script_k6::host_of;
    use prony_script_k6::{Builtin, Native};
    use rquickjs::{Ctx, Function, Object};
    use std::cell::RefCell;

    pub(crate) const MODULES: &[Builtin] = &[Builtin {
        specifier: "test",
        text: "import native from 'prony:test';
            export const after = (seconds, callback) => native.after(seconds, () => callback());
            export const pause = (seconds) => new Promise((resolve) => after(seconds, resolve));
            export const stop = (id) => native.stop(id);
            export const end = () => native.end();
            export const compute = (seconds) => native.compute(seconds);
            export const stopRun = () => native.stopRun();",
    }];
    pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:test", install }];

    thread_local! {
        /// What `stopRun` stops.
        pub(crate) static STOP: RefCell<StopFlag> = RefCell::default();
    }

    fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
        exports.set("after", Function::new(ctx.clone(), after)?)?;
        exports.set("stop", Function::new(ctx.clone(), stop)?)?;
        exports.set("compute", Function::new(ctx.clone(), compute)?)?;
        exports.set("stopRun", Function::new(ctx.clone(), stop_run)?)?;
        exports.set("end", Function::new(ctx.clone(), end)?)
    }

    fn after<'js>(ctx: Ctx<'js>, seconds: f64, callback: Function<'js>) -> f64 {
        let host = host_of(&ctx);
        let due = host.now().plus(Nanos::from_secs_f64(seconds));
        let id = host.user().waits.start_timer(due);
        host.on_news(&ctx, id, callback);
        id as f64
    }

    fn stop(ctx: Ctx<'_>, id: f64) {
        let host = host_of(&ctx);
        host.user().waits.stop_timer(id as u64);
        host.off_news(id as u64);
    }

    fn compute(seconds: f64) {
        super::support::compute_for(Nanos::from_secs_f64(seconds));
    }

    fn stop_run() {
        STOP.with_borrow(StopFlag::stop);
    }

    fn end(ctx: Ctx<'_>) -> rquickjs::Result<()> {
        Err(host_of(&ctx).end_iteration(&ctx))
    }
}

fn check_asynchronous(main: &str, expected: &Expect) {
    let mut script = script(main);
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    expected.assert_eq(&shown(&Driver::default().run(script, Entry::Setup)));
}

#[test]
fn callbacks_come_in_the_order_of_their_times_and_end_the_iteration_when_none_is_left() {
    check_asynchronous(
        "import { after, pause, stop } from 'test';
         import { sleep } from 'k6';
         export async function setup() {
             const order = [];
             after(3, () => { order.push('late'); sleep(1); after(0, () => order.push('from a callback')); });
             const stopped = after(2, () => order.push('never'));
             after(1, () => { order.push('early'); stop(stopped); });
             sleep(2.5);
             order.push('slept');
             await pause(1.5);
             order.push('paused');
             return order;
         }",
        &expect![[r#"
            user 0 at 4.00 s: ok
            returned ["slept","early","late","paused","from a callback"]
        "#]],
    );
}

#[test]
fn an_interrupted_iteration_hears_no_callbacks() {
    let mut script = script(
        "import { after, pause } from 'test';
         export default async function () { after(20, () => { throw 1; }); try { await pause(30); } finally { throw 2; } }",
    );
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    let driver = Driver { end: Some(Nanos::from_secs(10)), iterations: 2, ..Driver::default() };
    expect![[r#"
        user 0 at 10.0 s: the iteration was interrupted
    "#]]
    .assert_eq(&shown(&driver.run(script, Entry::Iterations)));
}

#[test]
fn what_callbacks_throw_ends_the_iteration() {
    check_asynchronous(
        "import { after } from 'test';
         export function setup() { after(1, () => { throw new Error('in a callback'); }); after(2, () => {}); }",
        &expect![[r#"
            user 0 at 1.00 s: Error: in a callback
            	at <anonymous> (main.js:2:63)
            	at <anonymous> (test:2:85)
            failed: Error: in a callback
            	at <anonymous> (main.js:2:63)
            	at <anonymous> (test:2:85)
        "#]],
    );
}

#[test]
fn an_iteration_that_ends_itself_is_not_caught() {
    check_asynchronous(
        "import { end } from 'test';
         export function setup() { try { end(); } catch (e) { return 'caught'; } finally { for (;;) {} } }",
        &expect![[r#"
            user 0 at 0 s: the iteration was ended by the script
            	at end (test:5:45)
            	at setup (main.js:2:42)
            failed: the iteration was ended by the script
            	at end (test:5:45)
            	at setup (main.js:2:42)
        "#]],
    );
}

#[test]
fn bytecode_of_another_thread_is_the_same_module() {
    let files = [
        ("main.js", "import { one } from './lib.js'; export const setup = () => one() + 1;"),
        ("lib.js", "export function one() { return 1; }"),
    ];
    let script = Arc::new(script_of(&files));
    for _ in 0..2 {
        let script = Arc::clone(&script);
        let functions = std::thread::spawn(move || {
            Machine::new(script, Clock::Real(Instant::now())).unwrap().inspect().unwrap().functions
        });
        assert_eq!(functions.join().unwrap(), ["setup"]);
    }
}

/// Thousands of users whose calls, errors, generators, callbacks and promises are mixed by chance, which is the
/// script's own: each user checks what it gets back.
#[test]
fn users_stay_apart_under_random_switches() {
    let main = "
        import http from 'k6/http';
        import { sleep } from 'k6';
        import { pause } from 'test';
        let seed;
        const chance = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
        function wait(tag) {
            if (chance(2)) sleep(chance(50) / 1000);
            else if (http.get('http://localhost/' + tag).body !== '/' + tag) throw new Error('not mine: ' + tag);
            return tag;
        }
        function thrower(depth) {
            if (depth > 0) return thrower(depth - 1) + 1;
            wait('thrower');
            throw new RangeError('deep ' + __VU);
        }
        function* generator(n) { for (let i = 0; i < n; i++) yield wait('g' + i + '-' + __VU); }
        const kinds = [
            () => { const got = [1, 2, 3].map((i) => wait('m' + i + '-' + __VU)).join(); if (got !== `m1-${__VU},m2-${__VU},m3-${__VU}`) throw new Error(got); },
            () => { const got = [...generator(3)].length; if (got !== 3) throw new Error('generator'); },
            () => {
                try { thrower(chance(20)); } catch (e) {
                    if (e.message !== 'deep ' + __VU || !e.stack.includes('thrower')) throw new Error('stack of another: ' + e.stack);
                    const frames = e.stack.trim().split('\\n').length;
                    if (frames > 40) throw new Error('a chain too long: ' + frames);
                }
            },
            async () => { await pause(chance(30) / 1000); wait('a' + __VU); await null; wait('b' + __VU); },
            () => { [3, 1, 2].sort((a, b) => { wait('s' + __VU); return a - b; }); },
            () => { 'a-b-c'.replace(/[a-z]/g, (c) => wait(c + __VU)); },
            () => { JSON.parse('{\"a\":[1,2]}', (k, v) => { if (chance(3) === 0) wait('j' + __VU); return v; }); },
            () => { const o = { get x() { return wait('get' + __VU); }, toString() { return wait('str' + __VU); } }; if (o.x + o !== `get${__VU}str${__VU}`) throw new Error('getter'); },
            () => { const e = {}; (function inner() { wait('cap'); Error.captureStackTrace(e, inner); })(); if (typeof e.stack !== 'string') throw new Error('captured'); },
        ];
        export default async function () {
            seed = __VU * 7919 + __ITER;
            for (let i = 0; i < 4; i++) await kinds[chance(kinds.length)]();
            await Promise.all([kinds[3](), kinds[3]()]);
        }";
    let mut script = script(main);
    script.builtins = script.builtins.with(asynchronous::MODULES, asynchronous::NATIVES);
    let mut count = 0_u64;
    let driver = Driver {
        users: 2_000,
        iterations: 3,
        server: Box::new(move |text| {
            count += 1;
            let path = text.split(' ').nth(1).unwrap().to_owned();
            (200, path, Nanos::from_micros(count * 7919 % 40_000))
        }),
        ..Driver::default()
    };
    let outcome = driver.run(script, Entry::Iterations);
    assert_eq!(outcome.iterations.len(), 6_000);
    let failed: Vec<_> = outcome.iterations.iter().filter(|(.., error)| error.is_some()).take(3).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(outcome.requests.len() > 10_000, "{}", outcome.requests.len());
}

#[test]
fn globals_that_few_look_at_are_as_if_they_had_always_been_there() {
    let main = "
        const own = (name) => {
            const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
            return [writable, enumerable, configurable].join();
        };
        console.log = () => 'mine';
        globalThis.crypto = 'none';
        Object.defineProperty(globalThis, 'setInterval', { value: 'another', configurable: true });
        Object.defineProperty(globalThis, 'Int8Array', { value: 'third', configurable: true });
        Object.defineProperty(globalThis, 'Atomics', { value: 'fourth', configurable: true });
        globalThis.Float64Array = class Mine extends Float64Array {};
        export function setup() {
            const bytes = new Uint8Array([1, 2]);
            return [
                'ArrayBuffer' in globalThis, typeof clearTimeout, typeof setTimeout, typeof missing,
                console.log(), crypto, setInterval, Int8Array, Atomics, Float64Array.name,
                bytes.buffer instanceof ArrayBuffer, Object.prototype.toString.call(bytes),
                own('console'), own('setTimeout'), own('Uint8Array'),
            ].join(' ');
        }";
    check_result(
        main,
        &expect![[r#"
        user 0 at 0 s: ok
        returned "true function function undefined mine none another third fourth Mine true [object Uint8Array] true,false,true true,false,true true,false,true"
    "#]],
    );
}

#[test]
fn a_file_of_bytes_is_a_buffer_though_nothing_looked_at_the_class() {
    let main = "
        const bytes = open('main.js', 'b');
        export function setup() {
            return [Object.prototype.toString.call(bytes), bytes.constructor === ArrayBuffer, bytes.byteLength > 100];
        }";
    check_result(
        main,
        &expect![[r#"
        user 0 at 0 s: ok
        returned ["[object ArrayBuffer]",true,true]
    "#]],
    );
}
