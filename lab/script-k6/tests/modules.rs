//! The modules beside `k6/http` and `k6/metrics`, as scripts see them; what they print was compared with k6's.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod support;

use expect_test::{Expect, expect};
use prony_script_k6::{Entry, Log, Reader, Style};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use support::{Driver, script};

/// What a script logs.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs one iteration; each line of `tries`, an expression, is logged with what it gives or throws.
fn check(init: &str, tries: &str, expected: &Expect) {
    let tries: String =
        tries.lines().map(str::trim).filter(|line| !line.is_empty()).fold(String::new(), |mut list, line| {
            list.push_str("() => (");
            list.push_str(line);
            list.push_str("),\n");
            list
        });
    let main = format!(
        "{init}
        const show = (value) => value instanceof ArrayBuffer ? 'buffer ' + value.byteLength : String(value);
        export default function () {{
            for (const attempt of [{tries}]) {{
                try {{
                    console.log(attempt.toString().slice(7, -1) + ' => ' + show(attempt()));
                }} catch (error) {{
                    console.log(attempt.toString().slice(7, -1) + ' !! ' + error);
                }}
            }}
        }}"
    );
    expected.assert_eq(&logged(&main));
}

/// What a script logs in one iteration, without times.
fn logged(main: &str) -> String {
    let script = script(main);
    let lines = Lines::default();
    let log = script.shared::<Log>();
    log.set_output(Box::new(lines.clone()), Style::Plain, Reader::Any);
    let outcome = Driver::default().run(script, Entry::Iterations);
    log.flush();
    assert!(outcome.requests.is_empty() && outcome.returned.is_none(), "nothing is called here");
    let mut text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for (_, _, error) in outcome.iterations {
        text.push_str(&error.map_or(String::new(), |error| format!("error: {error}\n")));
    }
    let lines = text.lines().map(|line| {
        let line = line.split_once(" level=").map_or(line, |(_, rest)| rest);
        let line = line.strip_prefix("info msg=").unwrap_or(line);
        line.strip_suffix(" source=console").unwrap_or(line)
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn encoding_takes_all_alphabets_and_forms() {
    check(
        "import { b64encode, b64decode } from 'k6/encoding';",
        "b64encode('a?>')
         b64encode('a?>~', 'rawstd')
         b64encode('a?>~', 'rawurl')
         b64encode(new Uint8Array([255, 254]), 'url')
         b64encode(new Uint8Array([0, 1, 2, 3]).subarray(1, 3).buffer)
         b64decode('YT8-', 'url', 's')
         b64decode('YQ==')
         b64decode('aGk=x')
         b64encode(1)
         b64encode({})",
        &expect![[r#"
            "b64encode('a?>') => YT8+"
            "b64encode('a?>~', 'rawstd') => YT8+fg"
            "b64encode('a?>~', 'rawurl') => YT8-fg"
            "b64encode(new Uint8Array([255, 254]), 'url') => __4="
            "b64encode(new Uint8Array([0, 1, 2, 3]).subarray(1, 3).buffer) => AAECAw=="
            "b64decode('YT8-', 'url', 's') => a?>"
            "b64decode('YQ==') => buffer 1"
            "b64decode('aGk=x') !! GoError: illegal base64 data at input byte 4"
            "b64encode(1) !! GoError: invalid type int64, expected string, []byte or ArrayBuffer"
            "b64encode({}) !! GoError: invalid type map[string]interface {}, expected string, []byte or ArrayBuffer"
        "#]],
    );
}

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    check(
        "import { b64encode } from 'k6/encoding'; import crypto from 'k6/crypto'; import { check } from 'k6';
         const cut = 'a😀'.slice(0, 2);",
        "b64encode(cut)
         crypto.hexEncode(cut)
         cut
         check(1, { [cut]: true }, { tag: cut })",
        &expect![[r#"
            "b64encode(cut) => Ye+/vQ=="
            "crypto.hexEncode(cut) => 61efbfbd"
            "cut => a�"
            "check(1, { [cut]: true }, { tag: cut }) => true"
        "#]],
    );
}

#[test]
fn nothing_is_written_of_what_is_null_or_undefined() {
    check(
        "import http from 'k6/http'; import { b64decode } from 'k6/encoding';
         const jar = new http.CookieJar();",
        "http.url`http://h/?a=${undefined}&b=${null}&c=${1}`.url
         jar.set('http://h/', 'a', null) && jar.cookiesForURL('http://h/').a[0] === ''
         b64decode(null)
         b64decode(undefined, 'std', 's') === ''",
        &expect![[r#"
            "http.url`http://h/?a=${undefined}&b=${null}&c=${1}`.url => http://h/?a=&b=&c=1"
            "jar.set('http://h/', 'a', null) && jar.cookiesForURL('http://h/').a[0] === '' => true"
            "b64decode(null) => buffer 0"
            "b64decode(undefined, 'std', 's') === '' => true"
        "#]],
    );
}

#[test]
fn crypto_hashes_as_k6_does() {
    check(
        "import crypto, { createHash } from 'k6/crypto'; import * as all from 'k6/crypto';",
        "crypto.md5('a', 'hex')
         crypto.sha1(new Uint8Array([97]), 'base64')
         crypto.sha512_224('abc', 'hex')
         crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'base64rawurl')
         crypto.sha256('a', 'binary')
         crypto.hexEncode('ab')
         crypto.randomBytes(4)
         (() => { const h = createHash('sha1'); h.update('a'); h.update('bc'); return h.digest('hex') + h.digest('hex').length; })()
         Object.keys(all).length
         crypto.sha256('a')
         crypto.sha256(1, 'hex')
         crypto.md5([1], 'hex')
         crypto.hmac('nope', 'a', 'b', 'hex')
         crypto.randomBytes(0)
         createHash('nope')",
        &expect![[r#"
            "crypto.md5('a', 'hex') => 0cc175b9c0f1b6a831c399e269772661"
            "crypto.sha1(new Uint8Array([97]), 'base64') => hvfkN/qlp/zhXR3cuerq6jd2Z7g="
            "crypto.sha512_224('abc', 'hex') => 4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"
            "crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'base64rawurl') => W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM"
            "crypto.sha256('a', 'binary') => buffer 32"
            "crypto.hexEncode('ab') => 6162"
            "crypto.randomBytes(4) => buffer 4"
            "(() => { const h = createHash('sha1'); h.update('a'); h.update('bc'); return h.digest('hex') + h.digest('hex').length; })() => a9993e364706816aba3e25717850c26c9cd0d89d40"
            "Object.keys(all).length => 15"
            "crypto.sha256('a') !! GoError: invalid output encoding: "
            "crypto.sha256(1, 'hex') !! GoError: sha256 failed: invalid type int64, expected string, []byte or ArrayBuffer"
            "crypto.md5([1], 'hex') !! GoError: md5 failed: invalid type []interface {}, expected string, []byte or ArrayBuffer"
            "crypto.hmac('nope', 'a', 'b', 'hex') !! GoError: invalid algorithm: nope"
            "crypto.randomBytes(0) !! GoError: invalid size"
            "createHash('nope') !! GoError: invalid algorithm: nope"
        "#]],
    );
}

#[test]
fn shared_arrays_are_read_as_arrays_and_cannot_be_written() {
    check(
        "import { SharedArray } from 'k6/data';
         const sa = new SharedArray('x', () => [{a: 1}, {a: 2, b: [1]}, 3, 's', null]);
         let made = 0;
         new SharedArray('once', () => { made++; return []; });
         new SharedArray('once', () => { made++; return []; });
         const refused = (...args) => { try { new SharedArray(...args); } catch (error) { return String(error); } };
         const refusals = [refused('', () => []), refused('y', () => 1), refused('y', 'x'), refused('y', async () => [])];",
        "made
         refusals.join('; ')
         sa.length
         JSON.stringify(sa)
         sa[1].a + sa['1'].b[0]
         [sa[5], sa[-1], sa[1.5], sa.at(-1)].map(String).join()
         Array.isArray(sa) && sa instanceof Array
         Object.keys(sa).join()
         [...sa].length + sa.map((x) => x).length
         sa.filter((x) => x && x.a).length
         sa.find((x) => x.a === 2).b[0]
         sa.indexOf(3)
         sa.slice(1, 3).length
         Object.isFrozen(sa[1]) && Object.isFrozen(sa[1].b)
         '0' in sa && !('9' in sa)
         sa[0] = 1
         sa[0].a = 9
         sa.push(1)
         sa.x = 1
         sa.sort()
         delete sa[0]
         Object.freeze(sa)
         sa.hasOwnProperty(0)
         new SharedArray('late', () => [])",
        &expect![[r#"
            "made => 1"
            "refusals.join('; ') => GoError: empty name provided to SharedArray's constructor; GoError: only arrays can be made into SharedArray; GoError: a function is expected as the second argument of SharedArray's constructor; GoError: SharedArray constructor does not support async functions as second argument"
            "sa.length => 5"
            "JSON.stringify(sa) => [{\"a\":1},{\"a\":2,\"b\":[1]},3,\"s\",null]"
            "sa[1].a + sa['1'].b[0] => 3"
            "[sa[5], sa[-1], sa[1.5], sa.at(-1)].map(String).join() => undefined,undefined,undefined,null"
            "Array.isArray(sa) && sa instanceof Array => true"
            "Object.keys(sa).join() => 0,1,2,3,4"
            "[...sa].length + sa.map((x) => x).length => 10"
            "sa.filter((x) => x && x.a).length => 2"
            "sa.find((x) => x.a === 2).b[0] => 1"
            "sa.indexOf(3) => 2"
            "sa.slice(1, 3).length => 2"
            "Object.isFrozen(sa[1]) && Object.isFrozen(sa[1].b) => true"
            "'0' in sa && !('9' in sa) => true"
            "sa[0] = 1 !! TypeError: SharedArray is immutable"
            "sa[0].a = 9 !! TypeError: 'a' is read-only"
            "sa.push(1) !! TypeError: SharedArray is immutable"
            "sa.x = 1 !! TypeError: Cannot set property \"x\" on a dynamic array"
            "sa.sort() !! TypeError: SharedArray is immutable"
            "delete sa[0] !! TypeError: SharedArray is immutable"
            "Object.freeze(sa) !! TypeError: SharedArray is immutable"
            "sa.hasOwnProperty(0) => true"
            "new SharedArray('late', () => []) !! GoError: new SharedArray must be called in the init context"
        "#]],
    );
}

#[test]
fn checks_and_groups_take_what_k6_takes() {
    check(
        "import { check, group, fail, sleep, randomSeed } from 'k6'; import exec from 'k6/execution';
         const early = (f) => { try { f(); } catch (error) { return String(error); } };
         const refusals = [early(() => check(1, { a: true })), early(() => group('a', () => 1))];",
        "refusals.join('; ')
         check(5, { a: (x) => x === 5, b: true, c: 1, d: 'x' })
         check(5, { a: (x) => x === 4 })
         check(null, {})
         check(1, [true, false])
         check(1)
         check(1, null)
         check(1, { 'a::b': true })
         check(1, { a: async () => 1 })
         check(1, { a: () => { throw new Error('in check'); } })
         check(1, { t: true }, { tag: 'v' })
         check(1, { t: true }, { tag: {} })
         group('outer', () => group('inner', () => exec.vu.tags.group)) + '.' + exec.vu.tags.group
         group('g', () => { throw new Error('boom'); })
         exec.vu.tags.group.length
         group('g')
         group('g', async () => 1)
         group('a::b', () => 1)
         fail('x')
         fail(null)
         sleep(0.01)
         (randomSeed(5), [Math.random(), randomSeed(5), Math.random()].filter((x, i, all) => x === all[0]).length)
         Math.random() < 1",
        &expect![[r#"
            "refusals.join('; ') => GoError: Using check() in the init context is not supported; GoError: Using group() in the init context is not supported"
            "check(5, { a: (x) => x === 5, b: true, c: 1, d: 'x' }) => true"
            "check(5, { a: (x) => x === 4 }) => false"
            "check(null, {}) => true"
            "check(1, [true, false]) => false"
            "check(1) !! GoError: no checks provided to `check`"
            "check(1, null) !! TypeError: Cannot convert undefined or null to object"
            "check(1, { 'a::b': true }) !! GoError: group and check names may not contain '::'"
            "check(1, { a: async () => 1 }) !! GoError: the built-in check() does not support async functions as arguments. Use the JavaScript utils library as a replacement. Refer to https://grafana.com/docs/k6/latest/javascript-api/jslib/utils/check/ for more info"
            "check(1, { a: () => { throw new Error('in check'); } }) !! Error: in check"
            "check(1, { t: true }, { tag: 'v' }) => true"
            "check(1, { t: true }, { tag: {} }) !! GoError: invalid value for metric tag 'tag': only String, Boolean and Number types are accepted as a metric tag values"
            "group('outer', () => group('inner', () => exec.vu.tags.group)) + '.' + exec.vu.tags.group => ::outer::inner."
            "group('g', () => { throw new Error('boom'); }) !! Error: boom"
            "exec.vu.tags.group.length => 0"
            "group('g') !! GoError: group() requires a callback as a second argument"
            "group('g', async () => 1) !! GoError: group() does not support async functions as arguments, please see https://grafana.com/docs/k6/latest/javascript-api/k6/group/ for more info"
            "group('a::b', () => 1) !! GoError: group and check names may not contain '::'"
            "fail('x') !! GoError: x"
            "fail(null) !! GoError"
            "sleep(0.01) => undefined"
            "(randomSeed(5), [Math.random(), randomSeed(5), Math.random()].filter((x, i, all) => x === all[0]).length) => 2"
            "Math.random() < 1 => true"
        "#]],
    );
}

#[test]
fn execution_tells_of_user_and_run() {
    check(
        "import exec from 'k6/execution';
         const early = (f) => { try { f(); } catch (error) { return String(error); } };
         const refusals = [early(() => exec.scenario.name), early(() => exec.vu.idInTest),
             early(() => exec.instance.vusActive), early(() => exec.test.options)];",
        "refusals.join('; ')
         exec.vu.idInTest
         exec.vu.iterationInScenario + exec.vu.iterationInInstance
         exec.instance.iterationsCompleted
         exec.scenario.iterationInTest
         exec.scenario.startTime > 1e12
         exec.vu.tags.foo
         exec.vu.tags.foo = 'bar'
         exec.vu.tags.n = 1.5
         typeof exec.vu.tags.n
         (exec.vu.tags = { lost: 1 }, exec.vu.tags.lost + exec.vu.tags.n)
         exec.vu.metrics.tags = {}
         exec.vu.tags.o = {}
         Object.keys(exec.vu.tags).sort().join()
         'foo' in exec.vu.tags
         delete exec.vu.tags.foo
         exec.vu.tags.foo
         JSON.stringify(exec.vu.metrics.tags)
         exec.vu.metrics.metadata.m = 'x'
         JSON.stringify(exec.vu.metrics.metadata)
         exec.vu.metrics.metadata.z = {}
         Object.isFrozen(exec.test.options)
         exec.test.fail('why')",
        &expect![[r#"
            "refusals.join('; ') => GoError: getting scenario information outside of the VU context is not supported; GoError: getting VU information in the init context is not supported; GoError: getting instance information in the init context is not supported; GoError: getting test options in the init context is not supported"
            "exec.vu.idInTest => 1"
            "exec.vu.iterationInScenario + exec.vu.iterationInInstance => 0"
            "exec.instance.iterationsCompleted => 0"
            "exec.scenario.iterationInTest => 0"
            "exec.scenario.startTime > 1e12 => true"
            "exec.vu.tags.foo => undefined"
            "exec.vu.tags.foo = 'bar' => bar"
            "exec.vu.tags.n = 1.5 => 1.5"
            "typeof exec.vu.tags.n => string"
            "(exec.vu.tags = { lost: 1 }, exec.vu.tags.lost + exec.vu.tags.n) => undefined1.5"
            "exec.vu.metrics.tags = {} !! TypeError: 'tags' is read-only"
            "exec.vu.tags.o = {} !! TypeError: invalid value for metric tag 'o': only String, Boolean and Number types are accepted as a metric tag values"
            "Object.keys(exec.vu.tags).sort().join() => foo,group,n"
            "'foo' in exec.vu.tags => true"
            "delete exec.vu.tags.foo => true"
            "exec.vu.tags.foo => undefined"
            "JSON.stringify(exec.vu.metrics.tags) => {\"group\":\"\",\"n\":\"1.5\"}"
            "exec.vu.metrics.metadata.m = 'x' => x"
            "JSON.stringify(exec.vu.metrics.metadata) => {\"m\":\"x\"}"
            "exec.vu.metrics.metadata.z = {} !! TypeError: invalid value for metric metadata 'z': only String, Boolean and Number types are accepted as a metric metadata value"
            "Object.isFrozen(exec.test.options) => true"
            error msg="test marked as failed: why"
            "exec.test.fail('why') => undefined"
        "#]],
    );
}

#[test]
fn an_abort_cannot_be_caught() {
    let main = "
        import exec from 'k6/execution';
        export default function () {
            try { exec.test.abort('enough'); } catch { console.log('caught'); }
            console.log('went on');
        }";
    expect![[r#"
        error: the iteration was ended by the script
        	at default (main.js:4:29)
    "#]]
    .assert_eq(&logged(main));
}

#[test]
fn timers_of_init_code_ring_in_the_first_iteration() {
    let main = "
        setTimeout(() => console.log('rung'), 5);
        clearTimeout(setTimeout(() => console.log('never'), 1));
        export default function () { console.log('called'); }";
    expect![[r#"
        called
        rung
    "#]]
    .assert_eq(&logged(main));
}

#[test]
fn timers_run_after_the_function() {
    let main = "
        import { setTimeout as imported } from 'k6/timers';
        export default function () {
            const order = [];
            const note = (what) => { order.push(what); console.log(order.join()); };
            imported((a, b) => note(a + b), 20, 'x', 'y');
            setTimeout(() => note('first'), 10);
            clearTimeout(setTimeout(() => note('never'), 1));
            let ticks = 0;
            const ticking = setInterval(() => { note('tick'); if (++ticks === 3) clearInterval(ticking); }, 8);
            Promise.resolve().then(() => note('promise'));
            note('function');
            try { setTimeout(1); } catch (error) { console.log(String(error)); }
            try { setTimeout(); } catch (error) { console.log(String(error)); }
        }";
    expect![[r#"
        function
        "TypeError: setTimeout's callback isn't a callable function"
        "GoError: setTimeout's callback isn't a callable function"
        "function,promise"
        "function,promise,tick"
        "function,promise,tick,first"
        "function,promise,tick,first,tick"
        "function,promise,tick,first,tick,xy"
        "function,promise,tick,first,tick,xy,tick"
    "#]]
    .assert_eq(&logged(main));
}

#[test]
fn the_console_writes_values_as_k6_does() {
    let main = r#"
        export default function () {
            console.log('text', 1, true, null, undefined, { a: 1, b: [1, 'x', { c: null }], d: undefined, f() {} });
            console.log([1, , 3], () => 1, new Error('boom'), new Date(0), { e: new TypeError('x') }, Symbol('s'), 1n);
            console.log(new Uint8Array([1, 2]), new ArrayBuffer(2), new Float64Array([1.5]), new Uint8Array(0));
            console.log({ n: NaN, s: 'q"x' }, new Map([[1, 2]]), /x/g, {}, [], { a: [] }, [[]], '');
            const c = { 'a-b': 1, 1: 2 };
            c.c = c;
            console.log(c, [new Date(NaN)], -0, 1e21, [1.5, Infinity], { d: new Date(1) });
            console.log('%s x', 'y');
            let deep = {};
            for (let i = 0; i < 1000; i++) deep = { deep };
            console.log(deep);
            console.log();
            console.debug('hidden');
            console.warn('warned');
        }"#;
    expect![[r#"
        "text 1 true null undefined { a: 1, b: [ 1, \"x\", { c: null } ], d: null, f: [object Function] }"
        "[ 1, null, 3 ] [object Function] Error: boom \"1970-01-01T00:00:00.000Z\" { e: TypeError: x } s 1"
        "Uint8Array(2) [ 1, 2 ] ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 } Float64Array(1) [ 1.5 ] Uint8Array(0) []"
        "{ n: NaN, s: \"q\"x\" } {} {} {} [] { a: [] } [ [] ] "
        "{ 1: 2, a-b: 1, c: [Circular] } [ {} ] 0 1e+21 [ 1.5, Infinity ] { d: \"1970-01-01T00:00:00.001Z\" }"
        "%s x y"
        "{ deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: { deep: [Object] } } } } } } } } } } } } } } } } } } } } } } } }"
        info
        warning msg=warned
    "#]].assert_eq(&logged(main));
}

#[test]
fn pages_are_searched_and_read() {
    check(
        r#"import { parseHTML } from 'k6/html';
         const page = parseHTML('<ul class="a b"><li id="1" data-user-id="7">One</li><li>Two<br></li></ul>' +
             '<form action="/go?x=1" method="post"><input name="n" value="v w"><select name="s"><option>p</option>' +
             '<option selected value="q">Q</option></select></form><a href="../x#h">link</a>', 'http://h:81/p/q');"#,
        "page.find('li').text()
         page.find('li').size() + page.find('nothing').size()
         page.find('li').eq(1).html()
         page.find('li').first().attr('id') + page.find('ul').attr('none', 'default')
         page.find('ul').attr('none')
         page.find('li').last().prev().text()
         page.find('li').map((i, s) => i + s.text()).join()
         (() => { const seen = []; page.find('li').each((i, e) => seen.push(i + e.nodeName() + e.textContent())); return seen.join(); })()
         page.find('li').filter((i, s) => s.text() === 'Two').html()
         page.find('li').is('#1')
         page.find('ul').has('li').size()
         page.find('li').not('#1').text()
         page.find('li').data('userId')
         page.find('form').serialize()
         JSON.stringify(page.find('form').serializeArray())
         JSON.stringify(page.find('form').serializeObject())
         page.find('select').val()
         page.find('li').toArray().length + page.find('li').get().length
         page.find('li').get(0).id() + page.find('li').get(-1).innerHTML()
         page.find('li').parents().size() + ' ' + page.find('li').parentsUntil('html').size()
         page.find('ul').children('#1').end().size()
         page.find('ul').get(0).classList().join('+')
         page.find('a').get(0).href() + ' ' + page.find('a').get(0).hash() + ' ' + page.find('a').get(0).port()
         page.find('form').get(0).action() + ' ' + page.find('form').get(0).method()
         page.find('form').get(0).elements().map((e) => e.name()).join()
         page.find('option').get(1).selected() + ' ' + page.find('option').get(1).index()
         page.find('input').get(0).form().nodeName()
         page.find('li').get(0).nextSibling().textContent()
         page.find('li').get(0).attributes()['data-user-id'].value
         page.find('li').index(page.find('li').eq(1))
         page.find(1)",
        &expect![[r#"
            "page.find('li').text() => OneTwo"
            "page.find('li').size() + page.find('nothing').size() => 2"
            "page.find('li').eq(1).html() => Two<br/>"
            "page.find('li').first().attr('id') + page.find('ul').attr('none', 'default') => 1default"
            "page.find('ul').attr('none') => undefined"
            "page.find('li').last().prev().text() => One"
            "page.find('li').map((i, s) => i + s.text()).join() => 0One,1Two"
            "(() => { const seen = []; page.find('li').each((i, e) => seen.push(i + e.nodeName() + e.textContent())); return seen.join(); })() => 0liOne,1liTwo"
            "page.find('li').filter((i, s) => s.text() === 'Two').html() => Two<br/>"
            "page.find('li').is('#1') => false"
            "page.find('ul').has('li').size() => 1"
            "page.find('li').not('#1').text() => OneTwo"
            "page.find('li').data('userId') => 7"
            "page.find('form').serialize() => n=v+w&s=q"
            "JSON.stringify(page.find('form').serializeArray()) => [{\"name\":\"n\",\"value\":\"v w\"},{\"name\":\"s\",\"value\":\"q\"}]"
            "JSON.stringify(page.find('form').serializeObject()) => {\"n\":\"v w\",\"s\":\"q\"}"
            "page.find('select').val() => q"
            "page.find('li').toArray().length + page.find('li').get().length => 4"
            "page.find('li').get(0).id() + page.find('li').get(-1).innerHTML() => 1Two<br/>"
            "page.find('li').parents().size() + ' ' + page.find('li').parentsUntil('html').size() => 3 2"
            "page.find('ul').children('#1').end().size() => 1"
            "page.find('ul').get(0).classList().join('+') => a+b"
            "page.find('a').get(0).href() + ' ' + page.find('a').get(0).hash() + ' ' + page.find('a').get(0).port() => http://h:81/x#h #h 81"
            "page.find('form').get(0).action() + ' ' + page.find('form').get(0).method() => http://h:81/go?x=1 post"
            "page.find('form').get(0).elements().map((e) => e.name()).join() => n,s"
            "page.find('option').get(1).selected() + ' ' + page.find('option').get(1).index() => true 1"
            "page.find('input').get(0).form().nodeName() => form"
            "page.find('li').get(0).nextSibling().textContent() => Two"
            "page.find('li').get(0).attributes()['data-user-id'].value => 7"
            "page.find('li').index(page.find('li').eq(1)) => 1"
            "page.find(1) !! TypeError: invalid argument, cannot use a 'number' as a selector"
        "#]],
    );
}

#[test]
fn random_values_fill_arrays() {
    check(
        "",
        "crypto.getRandomValues(new Uint32Array(4)).some((x) => x > 0)
         /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())
         crypto.getRandomValues(new Uint8Array(70000))
         crypto.getRandomValues(1)",
        &expect![[r#"
            "crypto.getRandomValues(new Uint32Array(4)).some((x) => x > 0) => true"
            "/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()) => true"
            "crypto.getRandomValues(new Uint8Array(70000)) !! GoError: QuotaExceededError: typedArray parameter is too big; maximum length is 65536 bytes"
            "crypto.getRandomValues(1) !! GoError: typedArray parameter isn't a TypedArray instance"
        "#]],
    );
}

#[test]
fn subtle_signs_encrypts_and_derives() {
    let main = r#"
        const subtle = crypto.subtle;
        const bytes = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
        const hex = (buffer) => Array.from(new Uint8Array(buffer), (b) => b.toString(16).padStart(2, '0')).join('');
        const refused = async (promise) => { try { await promise; return 'went well'; } catch (e) { return `${e.name}: ${e.message}`; } };
        export default async function () {
            console.log(hex(await subtle.digest('SHA-256', bytes('abc'))));
            const raw = bytes('0123456789abcdef');
            const hmac = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-1' }, true, ['sign', 'verify']);
            const mac = await subtle.sign('HMAC', hmac, bytes('text'));
            console.log(mac.byteLength, await subtle.verify('HMAC', hmac, mac, bytes('text')), hmac.type, hmac.algorithm);
            const gcm = { name: 'aes-gcm', iv: new Uint8Array(12), additionalData: bytes('more') };
            const aes = await subtle.importKey('raw', raw, 'AES-GCM', true, ['encrypt', 'decrypt']);
            const secret = await subtle.encrypt(gcm, aes, bytes('secret'));
            console.log(hex(await subtle.decrypt(gcm, aes, secret)) === hex(bytes('secret')), await subtle.exportKey('jwk', aes));
            const password = await subtle.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
            const derivation = { name: 'PBKDF2', hash: 'SHA-1', salt: bytes('salt'), iterations: 4096 };
            console.log(hex(await subtle.deriveBits(derivation, password, 160)));
            const derived = await subtle.deriveKey(derivation, password, { name: 'AES-CBC', length: 128 }, true, ['encrypt']);
            console.log(hex(await subtle.exportKey('raw', derived)));
            const pair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
            const how = { name: 'ECDSA', hash: { name: 'SHA-256' } };
            const signature = await subtle.sign(how, pair.privateKey, bytes('text'));
            const spki = await subtle.exportKey('spki', pair.publicKey);
            const again = await subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']);
            console.log(signature.byteLength, await subtle.verify(how, again, signature, bytes('text')), pair.publicKey.usages);
            const other = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-384' }, true, ['deriveBits']);
            const bits = await subtle.deriveBits({ name: 'ECDH', public: other.publicKey }, other.privateKey, 256);
            console.log(bits.byteLength);
            console.log(await refused(subtle.exportKey('raw', password)));
            console.log(await refused(subtle.sign('HMAC', aes, raw)));
            console.log(await refused(subtle.encrypt(gcm, hmac, raw)));
            console.log(await refused(subtle.importKey('raw', bytes('short'), 'AES-CBC', true, ['encrypt'])));
            console.log(await refused(subtle.digest('MD5', raw)));
            console.log(await refused(subtle.sign('HMAC', {}, raw)));
            console.log(await refused(subtle.digest('SHA-1', 'text')));
        }"#;
    expect![[r#"
        ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
        "20 true secret { name: \"HMAC\", hash: { name: \"SHA-1\" }, length: 128 }"
        "true { kty: \"oct\", k: \"MDEyMzQ1Njc4OWFiY2RlZg\", alg: \"A128GCM\", ext: true, key_ops: [ \"encrypt\", \"decrypt\" ] }"
        4b007901b765489abead49d926f721d065a429c1
        4b007901b765489abead49d926f721d0
        "64 true [ \"verify\" ]"
        32
        "InvalidAccessError: the key is not extractable"
        "InvalidAccessError: key algorithm does not match the operation's"
        "InvalidAccessError: key algorithm does not match the operation's"
        "DataError: invalid key length 5 bytes"
        "NotSupportedError: unsupported hash algorithm: MD5"
        "TypeError: called on something else than what it belongs to"
        "TypeError: data must be an ArrayBuffer or a view of one"
    "#]].assert_eq(&logged(main));
}

#[test]
fn readable_streams_give_what_their_source_enqueues() {
    let main = r#"
        import { ReadableStream, CountQueuingStrategy, ReadableStreamDefaultReader } from "k6/experimental/streams";
        const failed = (promise) => promise.then(() => "none", (error) => `${error.name}: ${error.message}`);
        const thrown = (work) => { try { work(); return "none"; } catch (error) { return `${error.name}: ${error.message}`; } };
        export default async function () {
            let pulls = 0;
            const source = {
                start(controller) { controller.enqueue("a"); },
                pull(controller) { pulls++; controller.enqueue(pulls); if (pulls === 3) controller.close(); },
            };
            const stream = new ReadableStream(source, new CountQueuingStrategy({ highWaterMark: 2 }));
            const reader = stream.getReader();
            const seen = [stream.locked];
            for (let read; !(read = await reader.read()).done;) seen.push(read.value);
            console.log(JSON.stringify(seen), pulls, (await reader.closed) === undefined);
            let reason;
            const endless = new ReadableStream({ cancel(given) { reason = given; } });
            const first = endless.getReader(), waiting = first.read();
            console.log(await failed(endless.cancel()), "|", thrown(() => endless.getReader()));
            first.releaseLock();
            console.log(await failed(waiting), "|", await failed(first.read()), "|", endless.locked);
            await endless.cancel("enough");
            console.log(reason, JSON.stringify(await new ReadableStreamDefaultReader(endless).read()));
            const broken = new ReadableStream({ pull() { throw new Error("no more"); } }).getReader();
            console.log(await failed(broken.read()), "|", await failed(broken.closed));
            let sizes;
            const sized = new ReadableStream({ start(controller) { controller.enqueue("four"); sizes = [controller.desiredSize]; controller.error("over"); sizes.push(controller.desiredSize); } }, { highWaterMark: 10, size: (chunk) => chunk.length });
            console.log(JSON.stringify(sizes), await sized.getReader().read().catch((error) => error));
            console.log([
                thrown(() => new ReadableStream({ type: "bytes" })), thrown(() => new ReadableStream({ type: "x" })),
                thrown(() => new ReadableStream(1)), thrown(() => new ReadableStream({ pull: 1 })),
                thrown(() => new ReadableStream({}, { highWaterMark: -1 })), thrown(() => new CountQueuingStrategy({})),
                thrown(() => endless.tee()), thrown(() => endless.getReader({ mode: "byob" })),
            ].join("\n"));
        }"#;
    expect![[r#"
        "[true,\"a\",1,2,3] 3 true"
        "TypeError: cannot cancel a locked stream | TypeError: stream is locked"
        "TypeError: reader released | TypeError: stream is undefined | false"
        "enough {\"done\":true}"
        "Error: no more | Error: no more"
        "[6,null] over"
        "GoError: NotSupportedError:'bytes' stream is not supported yet\nTypeError: invalid underlying source type\nTypeError: underlyingSource must be an object\nTypeError: underlyingSource.[[pull]] must be a function\nRangeError: highWaterMark must be a non-negative number\nTypeError: CountQueuingStrategy argument must have 'highWaterMark' property\nGoError: NotSupportedError:'tee()' is not supported yet\nGoError: NotSupportedError:'byob' mode is not supported yet"
    "#]].assert_eq(&logged(main));
}
