//! `k6/http` from a script's side: what goes over the wire, what comes back, and what is recorded of it.
//!
//! No sockets: answers are bytes, time is virtual.

mod wire;

use expect_test::{Expect, expect};
use prony_model::program::call::CallFaultKind;
use prony_script_k6::HttpOptions;
use wire::{Wire, answer, echo};

/// Runs a `setup` function's body and shows what it returned and what was sent.
fn check(body: &str, wire: Wire, expected: &Expect) {
    expected.assert_eq(&wire.run(body));
}

#[test]
fn a_plain_get_is_sent_as_k6_sends_it() {
    check(
        "const r = http.get('http://h:81/a?b=c');
         return [r.status, r.status_text, r.body, r.url, r.proto, r.error, r.error_code, r.headers, r.request]",
        Wire::new(|_| answer("200 OK", "x-a: 1\r\nX-A: 2\r\n", "hello")),
        &expect![[r#"
            1> GET /a?b=c HTTP/1.1
              Host: h:81
              User-Agent: prony/VERSION
            = 200
            = "200 OK"
            = "hello"
            = "http://h:81/a?b=c"
            = "HTTP/1.1"
            = ""
            = 0
            = {"X-A":"1, 2"}
            = {"method":"GET","url":"http://h:81/a?b=c","headers":{"User-Agent":["prony/VERSION"]},"body":"","cookies":{}}
        "#]],
    );
}

#[test]
fn a_response_shows_its_properties_as_k6_does() {
    check(
        "const r = http.get('http://h/');
         const seen = []; for (const key in r) seen.push(key);
         r.extra = 1; r.body = 'mine';
         return [Object.keys(r), seen.length, JSON.parse(JSON.stringify(r)).timings, { ...r }.status, 'json' in r,
             typeof r.json, r.hasOwnProperty('status'), r.headers === r.headers, r.nothing === undefined, r.body,
             String(r), r.extra]",
        Wire::new(|_| answer("200 OK", "", "hello")),
        &expect![[r#"
            1> GET / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            = ["remote_ip","remote_port","url","status","status_text","proto","headers","cookies","body","timings","tls_version","tls_cipher_suite","ocsp","error","error_code","request","clickLink","html","json","submitForm","extra"]
            = 20
            = {"duration":10,"blocked":0,"looking_up":0,"connecting":0,"tls_handshaking":0,"sending":0,"waiting":10,"receiving":0}
            = 200
            = true
            = "function"
            = true
            = true
            = true
            = "mine"
            = "[object Object]"
            = 1
        "#]],
    );
}

#[test]
fn bodies_are_sent_by_their_kind() {
    check(
        "http.post('http://h/', 'text');
         http.post('http://h/', { b: [1, 2.5, 'x y'], a: null, d: { z: 1 }, e: true, u: undefined });
         http.put('http://h/', new Uint8Array([65, 66]).buffer, { headers: { 'content-type': 'a/b', 'X-n': 1 } });
         http.patch('http://h/', new Uint8Array([67]));
         http.del('http://h/');
         http.options('http://h/', null, {});
         http.head('http://h/');
         http.request('PURGE', 'http://u:p@h/');
         return [http.post('http://h/', 5).error, http.post('http://h/', [1]).error]",
        Wire::new(echo),
        &expect![[r#"
            1> POST / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 4
  
              text
            1> POST / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 63
              Content-Type: application/x-www-form-urlencoded
  
              a=%3Cnil%3E&b=1&b=2.5&b=x+y&d=map%5Bz%3A1%5D&e=true&u=%3Cnil%3E
            1> PUT / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 2
              Content-Type: a/b
              X-N: 1
  
              AB
            1> PATCH / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 1
  
              C
            1> DELETE / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> OPTIONS / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> HEAD / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> PURGE / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Authorization: Basic dTpw
            = "unknown request body type int64"
            = "unknown request body type []interface {}"
        "#]],
    );
}

#[test]
fn a_file_is_sent_as_multipart() {
    check(
        "const r = http.post('http://h/', { field: 'v', file: http.file('DATA', 'a.txt', 'text/plain') });
         const boundary = /boundary=(.*)/.exec(r.request.headers['Content-Type'][0])[1];
         let error; try { http.file(5); } catch (e) { error = e.message; }
         return [boundary.length, r.request.body.split(boundary).join('B'), error]",
        Wire::new(|_| answer("200 OK", "", "")).quiet(),
        &expect![[r#"
            = 60
            = "--B\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nv\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nDATA\r\n--B--\r\n"
            = "invalid type int64, expected string or ArrayBuffer"
        "#]],
    );
}

#[test]
fn redirects_are_followed_and_counted() {
    let server = |text: &str| match text.split(' ').nth(1) {
        Some("/1") => answer("302 Found", "Location: /2\r\nSet-Cookie: a=b; Path=/\r\n", ""),
        Some("/2") => answer("307 Temporary Redirect", "Location: http://other/3\r\n", ""),
        Some("/loop") => answer("301 Moved", "Location: /loop\r\n", ""),
        _ => answer("200 OK", "", "end"),
    };
    check(
        "const r = http.post('http://h/1', 'body', { headers: { 'Content-Type': 'x' } });
         const loop = http.get('http://h/loop', { redirects: 2 });
         const none = http.get('http://h/1', { redirects: 0 });
         return [r.status, r.url, r.request.method, loop.status, loop.url, none.status, none.headers.Location]",
        Wire::new(server).with_samples(),
        &expect![[r#"
            1> POST /1 HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 4
              Content-Type: x
  
              body
            1> GET /2 HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: a=b
              Referer: http://h/1
            1> GET /3 HTTP/1.1
              Host: other
              User-Agent: prony/VERSION
              Referer: http://h/2
            1> GET /loop HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: a=b
            1> GET /loop HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: a=b
              Referer: http://h/loop
            1> GET /loop HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: a=b
              Referer: http://h/loop
            1> GET /1 HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: a=b
            * request 1 expected_response="true" group="::setup" method="POST" name="http://h/1" proto="HTTP/1.1" status="302" url="http://h/1"
            * failed 0 expected_response="true" group="::setup" method="POST" name="http://h/1" proto="HTTP/1.1" status="302" url="http://h/1"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/2" proto="HTTP/1.1" status="307" url="http://h/2"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/2" proto="HTTP/1.1" status="307" url="http://h/2"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://other/3" proto="HTTP/1.1" status="200" url="http://other/3"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://other/3" proto="HTTP/1.1" status="200" url="http://other/3"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/loop" proto="HTTP/1.1" status="301" url="http://h/loop"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/1" proto="HTTP/1.1" status="302" url="http://h/1"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/1" proto="HTTP/1.1" status="302" url="http://h/1"
            = 200
            = "http://other/3"
            = "POST"
            = 301
            = "http://h/loop"
            = 302
            = "/2"
        "#]],
    );
}

#[test]
fn cookies_come_back_until_the_iteration_ends() {
    let server = |text: &str| match text.split(' ').nth(1) {
        Some("/set") => {
            let lines = "Set-Cookie: s=1; Path=/; HttpOnly; Max-Age=9\r\nSet-Cookie: q=\"a b\"\r\nSet-Cookie: s=2; Path=/x\r\n";
            answer("200 OK", lines, "")
        }
        _ => answer("200 OK", "", ""),
    };
    check(
        "const r = http.get('http://h/set');
         http.get('http://h/x', { cookies: { own: 'c', s: { value: 'mine', replace: true } } });
         const jar = http.cookieJar();
         jar.set('http://h/', 'j', 'v', { path: '/only', max_age: 5 });
         const found = [jar.cookiesForURL('http://h/only'), jar instanceof http.CookieJar];
         jar.delete('http://h/only', 'q');
         jar.clear('http://h/x');
         const own = new http.CookieJar();
         own.set('http://h/', 'o', '1');
         http.get('http://h/', { jar: own });
         http.get('http://h/only');
         let error; try { jar.set('http://h/', 'a', 'b', { expires: 'never' }); } catch (e) { error = e.message; }
         return [r.cookies.s.length, r.cookies.s[0], r.cookies.q[0].value, found, error]",
        Wire::new(server),
        &expect![[r#"
            1> GET /set HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> GET /x HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: own=c; s=mine; q="a b"
            1> GET / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: o=1
            1> GET /only HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Cookie: j=v
            = 2
            = {"name":"s","value":"1","domain":"","path":"/","http_only":true,"secure":false,"max_age":9,"expires":-6795364578871}
            = "a b"
            = [{"j":["v"],"s":["1"],"q":["a b"]},true]
            = "unable to parse \"expires\" date string \"never\""
        "#]],
    );
}

#[test]
fn jars_are_new_with_each_iteration_unless_they_are_kept() {
    let main = "import http from 'k6/http'; export default function () { http.get('http://h/'); }";
    let server = |_: &str| answer("200 OK", "Set-Cookie: a=b\r\n", "");
    expect![[r#"
        1> GET / HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
        1> GET / HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
    "#]]
    .assert_eq(&Wire::new(server).run_iterations(main, 2));
    let kept = HttpOptions { keeps_cookies: true, ..HttpOptions::default() };
    expect![[r#"
        1> GET / HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
        1> GET / HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
          Cookie: a=b
    "#]]
    .assert_eq(&Wire::new(server).with_options(kept).run_iterations(main, 2));
}

#[test]
fn digest_authentication_takes_two_requests() {
    let server = |text: &str| {
        if text.contains("Authorization: Digest") {
            answer("200 OK", "", "in")
        } else {
            answer(
                "401 Unauthorized",
                "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n",
                "",
            )
        }
    };
    check(
        "const r = http.get('http://user:secret@h/x', { auth: 'digest' });
         let error; try { http.get('http://h/', { auth: 'ntlm' }); } catch (e) { error = e.message; }
         return [r.status, r.body, r.url, error, http.get('http://h/', { auth: 'ntlm' }).error]",
        Wire::new(server).with_samples().quiet(),
        &expect![[r#"
            * request 1 error_code="1401" expected_response="true" group="::setup" method="GET" name="http://h/x" proto="HTTP/1.1" status="401" url="http://h/x"
            * failed 0 error_code="1401" expected_response="true" group="::setup" method="GET" name="http://h/x" proto="HTTP/1.1" status="401" url="http://h/x"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/x" proto="HTTP/1.1" status="200" url="http://h/x"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/x" proto="HTTP/1.1" status="200" url="http://h/x"
            = 200
            = "in"
            = "http://h/x"
            = null
            = "`auth: \"ntlm\"` is not supported: it belongs to a connection, not to a request; use basic or digest authentication, or a header `Authorization`"
        "#]],
    );
}

#[test]
fn the_body_of_a_redirect_that_is_not_followed_is_unpacked() {
    let server = |text: &str| {
        let status = if text.starts_with("GET /end") { "200 OK" } else { "302 Found" };
        let place = if text.starts_with("GET /nowhere") { "" } else { "Location: /end\r\n" };
        let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
        let mut bytes = answer(status, &format!("{place}Content-Encoding: gzip\r\n"), "");
        bytes.extend_from_slice(gzip);
        bytes
    };
    check(
        "const none = http.get('http://h/', { redirects: 0 });
         const nowhere = http.get('http://h/nowhere');
         return [none.status, none.body, nowhere.status, nowhere.body, http.get('http://h/').body]",
        Wire::new(server).quiet(),
        &expect![[r#"
            = 302
            = "hello"
            = 302
            = "hello"
            = "hello"
        "#]],
    );
}

#[test]
fn packed_bodies_are_unpacked_and_packed() {
    let server = |text: &str| {
        if text.starts_with("GET /broken") {
            return answer("200 OK", "Content-Encoding: gzip\r\n", "no gzip");
        }
        let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
        let mut bytes = answer("200 OK", "Content-Encoding: gzip\r\n", "");
        bytes.extend_from_slice(gzip);
        bytes
    };
    check(
        "const r = http.get('http://h/');
         const broken = http.get('http://h/broken');
         const sent = http.post('http://h/', 'x'.repeat(100), { compression: 'deflate, gzip' });
         const bytes = http.get('http://h/', { responseType: 'binary' }).body;
         return [r.body, broken.error_code, broken.status, sent.request.headers, sent.request.body.length,
             bytes instanceof ArrayBuffer, bytes.byteLength, http.get('http://h/', { responseType: 'none' }).body,
             http.get('http://h/', { compression: 'lzw' }).error, http.get('http://h/', { responseType: 'z' }).error]",
        Wire::new(server).quiet(),
        &expect![[r#"
            = "hello"
            = 1701
            = 0
            = {"User-Agent":["prony/VERSION"],"Content-Encoding":["deflate, gzip"]}
            = 100
            = true
            = 5
            = null
            = "unknown compression algorithm lzw, supported algorithms are [gzip deflate zstd br]"
            = "z does not belong to ResponseType values"
        "#]],
    );
}

#[test]
fn json_is_read_whole_or_by_path() {
    check(
        r#"const r = http.get('http://h/');
         const bad = http.get('http://h/bad');
         let error; try { bad.json(); } catch (e) { error = String(e); }
         return [r.json(), r.json() === r.json(), r.json('a.#.b'), r.json('a.#(b>1).b'), r.json('none') === undefined,
             bad.json('a') === undefined, error]"#,
        Wire::new(|text| {
            let is_bad = text.contains("/bad");
            answer(
                "200 OK",
                "",
                if is_bad { "{\n\"a\": x}" } else { r#"{"a":[{"b":1},{"b":2}],"n":1.50,"t":"\u00e9"}"# },
            )
        })
        .quiet(),
        &expect![[r#"
            = {"a":[{"b":1},{"b":2}],"n":1.5,"t":"é"}
            = true
            = [1,2]
            = 2
            = true
            = true
            = "GoError: cannot parse json due to an error at line 2, character 6 , error: invalid character 'x' looking for beginning of value"
        "#]],
    );
}

#[test]
fn what_fails_has_k6s_codes_and_is_recorded() {
    let wire = Wire::failing(|text| match text.split(' ').nth(1) {
        Some("/timeout") => CallFaultKind::Timeout,
        Some("/reset") => CallFaultKind::Reset,
        _ => CallFaultKind::Refused,
    });
    check(
        "const shown = (r) => [r.status, r.error, r.error_code, r.body, r.url, r.request && r.request.method];
         let thrown; try { http.get('http://u:p@h/', { throw: true }); } catch (e) { thrown = [e.message, e instanceof Error]; }
         return [shown(http.get('http://h/')), shown(http.get('http://h/timeout', { timeout: '2s' })),
             shown(http.post('http://h/reset', 'x')), shown(http.get('/path')), shown(http.get('http://a b/')),
             shown(http.get(undefined)), shown(http.get('http://h/', { timeout: 'soon' })), thrown]",
        wire.with_samples().quiet(),
        &expect![[r#"
            * request 1 error="dial: connection refused" error_code="1212" expected_response="false" group="::setup" method="GET" name="http://****:****@h/" status="0" url="http://****:****@h/"
            * failed 1 error="dial: connection refused" error_code="1212" expected_response="false" group="::setup" method="GET" name="http://****:****@h/" status="0" url="http://****:****@h/"
            * request 1 error="dial: connection refused" error_code="1212" expected_response="false" group="::setup" method="GET" name="http://h/" status="0" url="http://h/"
            * failed 1 error="dial: connection refused" error_code="1212" expected_response="false" group="::setup" method="GET" name="http://h/" status="0" url="http://h/"
            * request 1 error="request timeout" error_code="1050" expected_response="false" group="::setup" method="GET" name="http://h/timeout" status="0" url="http://h/timeout"
            * failed 1 error="request timeout" error_code="1050" expected_response="false" group="::setup" method="GET" name="http://h/timeout" status="0" url="http://h/timeout"
            * request 1 error="read: connection reset by peer" error_code="1220" expected_response="false" group="::setup" method="POST" name="http://h/reset" status="0" url="http://h/reset"
            * failed 1 error="read: connection reset by peer" error_code="1220" expected_response="false" group="::setup" method="POST" name="http://h/reset" status="0" url="http://h/reset"
            * request 1 error="unsupported protocol scheme \"\"" error_code="1000" expected_response="false" group="::setup" method="GET" name="/path" status="0" url="/path"
            * failed 1 error="unsupported protocol scheme \"\"" error_code="1000" expected_response="false" group="::setup" method="GET" name="/path" status="0" url="/path"
            = [0,"dial: connection refused",1212,null,"http://h/","GET"]
            = [0,"request timeout",1050,null,"http://h/timeout","GET"]
            = [0,"read: connection reset by peer",1220,null,"http://h/reset","POST"]
            = [0,"unsupported protocol scheme \"\"",1000,null,"/path","GET"]
            = [0,"invalid URL: parse \"http://a b/\": invalid character \" \" in host name",1020,[],"",null]
            = [0,"invalid URL: '#<nil>'",1020,[],"",null]
            = [0,"invalid timeout value: time: invalid duration \"soon\"",0,[],"",null]
            = ["Get \"http://u:***@h/\": dial tcp h: connect: connection refused",true]
        "#]],
    );
}

#[test]
fn expected_statuses_decide_what_failed() {
    check(
        "const list = http.expectedStatuses(404, { min: 500, max: 502 });
         http.get('http://h/', { responseCallback: list });
         http.get('http://h/');
         http.get('http://h/', { responseCallback: null });
         http.setResponseCallback(list);
         http.get('http://h/', { tags: { name: 'named', n: 1 } });
         http.get(http.url`http://h/${7}/x`);
         const errors = [() => http.expectedStatuses(), () => http.expectedStatuses(1, 'x'),
             () => http.expectedStatuses({ min: 1, max: 'x' }), () => http.setResponseCallback(5)];
         return errors.map((call) => { try { call(); } catch (e) { return e.message; } })",
        Wire::new(|_| answer("404 Not Found", "", "")).with_samples().quiet(),
        &expect![[r#"
            * request 1 error_code="1404" expected_response="true" group="::setup" method="GET" name="http://h/" proto="HTTP/1.1" status="404" url="http://h/"
            * failed 0 error_code="1404" expected_response="true" group="::setup" method="GET" name="http://h/" proto="HTTP/1.1" status="404" url="http://h/"
            * request 1 error_code="1404" expected_response="false" group="::setup" method="GET" name="http://h/" proto="HTTP/1.1" status="404" url="http://h/"
            * failed 1 error_code="1404" expected_response="false" group="::setup" method="GET" name="http://h/" proto="HTTP/1.1" status="404" url="http://h/"
            * request 1 error_code="1404" group="::setup" method="GET" name="http://h/" proto="HTTP/1.1" status="404" url="http://h/"
            * request 1 error_code="1404" expected_response="true" group="::setup" method="GET" n="1" name="named" proto="HTTP/1.1" status="404" url="named"
            * failed 0 error_code="1404" expected_response="true" group="::setup" method="GET" n="1" name="named" proto="HTTP/1.1" status="404" url="named"
            * request 1 error_code="1404" expected_response="true" group="::setup" method="GET" name="http://h/${}/x" proto="HTTP/1.1" status="404" url="http://h/${}/x"
            * failed 0 error_code="1404" expected_response="true" group="::setup" method="GET" name="http://h/${}/x" proto="HTTP/1.1" status="404" url="http://h/${}/x"
            = "no arguments"
            = "argument number 2 to expectedStatuses was neither an integer nor an object like {min:100, max:329}"
            = "both min and max need to be integers for argument number 1"
            = "unsupported argument, expected http.expectedStatuses"
        "#]],
    );
}

#[test]
fn a_status_without_a_reason_stays_so_and_no_method_is_get() {
    check(
        "const r = http.request('', 'http://h/'); return [r.status, r.status_text, r.request.method]",
        Wire::new(|_| answer("200", "", "")),
        &expect![[r#"
            1> GET / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            = 200
            = "200"
            = "GET"
        "#]],
    );
}

#[test]
fn the_name_of_a_template_stands_for_its_redirects_too() {
    let answers = |text: &str| match text.split(' ').nth(1) {
        Some("/7") => answer("302 Found", "Location: /end\r\n", ""),
        _ => answer("200 OK", "", ""),
    };
    check(
        "http.get(http.url`http://h/${7}`); return http.get(http.url`http://h/${7}`, { tags: {} }).url",
        Wire::new(answers).with_samples().quiet(),
        &expect![[r#"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="302" url="http://h/${}"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="302" url="http://h/${}"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="200" url="http://h/${}"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="200" url="http://h/${}"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="302" url="http://h/${}"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="302" url="http://h/${}"
            * request 1 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="200" url="http://h/${}"
            * failed 0 expected_response="true" group="::setup" method="GET" name="http://h/${}" proto="HTTP/1.1" status="200" url="http://h/${}"
            = "http://h/end"
        "#]],
    );
}

#[test]
fn batches_run_in_parallel_within_their_limits() {
    let options = HttpOptions { batch: 3, batch_per_host: 2, ..HttpOptions::default() };
    check(
        "const list = http.batch(['http://a/0', ['POST', 'http://a/1', 'body'], { url: 'http://a/2', method: 'put' },
             'http://b/3', { url: 'http://b/4', params: { tags: { t: 'x' } } }]);
         const named = http.batch({ one: 'http://a/5', two: ['GET', 'http://b/6'] });
         const errors = [() => http.batch(), () => http.batch([], []), () => http.batch(5)];
         return [list.map((r) => r.url), Object.keys(named), named.two.url, http.batch([]), http.batch({}),
             http.batch(['http://a/', { method: 'GET' }]).map((r) => r && r.error),
             errors.map((call) => { try { call(); } catch (e) { return e.message; } })]",
        Wire::new(|text| answer("200 OK", "", text.split(' ').nth(1).unwrap_or_default())).with_options(options),
        &expect![[r#"
            1> GET /0 HTTP/1.1
              Host: a
              User-Agent: prony/VERSION
            2> POST /1 HTTP/1.1
              Host: a
              User-Agent: prony/VERSION
              Content-Length: 4
  
              body
            2> PUT /2 HTTP/1.1
              Host: a
              User-Agent: prony/VERSION
              Content-Length: 0
            3> GET /3 HTTP/1.1
              Host: b
              User-Agent: prony/VERSION
            3> GET /4 HTTP/1.1
              Host: b
              User-Agent: prony/VERSION
            1> GET /5 HTTP/1.1
              Host: a
              User-Agent: prony/VERSION
            2> GET /6 HTTP/1.1
              Host: b
              User-Agent: prony/VERSION
            = ["http://a/0","http://a/1","http://a/2","http://b/3","http://b/4"]
            = ["one","two"]
            = "http://b/6"
            = []
            = {}
            = ["","batch request 1 doesn't have a url key"]
            = ["no argument was provided to http.batch()","http.batch() accepts only an array or an object of requests","invalid http.batch() argument type int64"]
        "#]],
    );
}

#[test]
fn requests_without_blocking_give_promises() {
    let main = "import http from 'k6/http';
        export async function setup() {
            const both = await Promise.all([http.asyncRequest('GET', 'http://h/1'), http.asyncRequest('POST', 'http://h/2', 'x')]);
            const order = both.map((r) => r.body);
            const failed = await http.asyncRequest('GET', 'http://a b/', null, {}).then((r) => r.error_code);
            return [order, failed];
        }";
    let server = |text: &str| answer("200 OK", "", text.split(' ').nth(1).unwrap_or_default());
    expect![[r#"
        1> GET /1 HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
        2> POST /2 HTTP/1.1
          Host: h
          User-Agent: prony/VERSION
          Content-Length: 1
  
          x
        = ["/1","/2"]
        = 1020
    "#]]
    .assert_eq(&Wire::new(server).run_setup(main));
}

#[test]
fn there_are_no_requests_before_the_test_begins() {
    let main = "import http from 'k6/http';
        let error; try { http.get('http://h/'); } catch (e) { error = e.message; }
        let jar; try { http.cookieJar(); } catch (e) { jar = e.message; }
        let batch; try { http.batch([]); } catch (e) { batch = e.message; }
        export function setup() { return [error, jar, batch, http.TLS_1_3, http.OCSP_STATUS_GOOD]; }";
    expect![[r#"
        = "Making http requests in the init context is not supported"
        = "Making cookie jars in the init context is not supported"
        = "Using batch in the init context is not supported"
        = "tls1.3"
        = "good"
    "#]]
    .assert_eq(&Wire::new(echo).run_setup(main));
}

#[test]
fn option_throw_throws_and_bodies_can_be_discarded() {
    let options = HttpOptions { throws: true, discards_bodies: true, ..HttpOptions::default() };
    check(
        "let error; try { http.get('http://a b/'); } catch (e) { error = e.message; }
         const r = http.get('http://h/');
         let json; try { r.json(); } catch (e) { json = e.message; }
         return [error, r.body, json, http.get('http://h/', { responseType: 'text' }).body]",
        Wire::new(|_| answer("200 OK", "", "hello")).with_options(options),
        &expect![[r#"
            1> GET / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> GET / HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            = "invalid URL: parse \"http://a b/\": invalid character \" \" in host name"
            = null
            = "the body is null so we can't transform it to JSON - this likely was because of a request error getting the response"
            = "hello"
        "#]],
    );
}

#[test]
fn forms_are_submitted_and_links_are_followed() {
    let page = "<title>T</title><form action='../search?old=1'><input name=q value='a b'><input type=submit name=go value=Go></form>\
        <form id=f method=post><input name=x value=1></form><a href='/next?n=1'>next</a><a id=none>no link</a>";
    check(
        "const r = http.get('http://h/dir/page');
         r.submitForm();
         r.submitForm({ formSelector: '#f', fields: { x: 2, y: 'z' }, params: { headers: { 'X-P': '1' } } });
         r.clickLink();
         const errors = [() => r.submitForm({ formSelector: '#none' }), () => r.clickLink({ selector: 'p' }),
             () => r.clickLink({ selector: '#none' })];
         return [r.html('title').text(), r.html().find('a').size(),
             errors.map((call) => { try { call(); } catch (e) { return e.message; } })]",
        Wire::new(move |_| answer("200 OK", "", page)),
        &expect![[r#"
            1> GET /dir/page HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> GET /search?go=Go&q=a+b&x=1 HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> POST /dir/page HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
              Content-Length: 7
              Content-Type: application/x-www-form-urlencoded
              X-P: 1
  
              x=2&y=z
            1> GET /next?n=1 HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            1> GET /dir/page HTTP/1.1
              Host: h
              User-Agent: prony/VERSION
            = "T"
            = 2
            = [null,"no element found for selector 'p' in response 'http://h/dir/page'","no valid href attribute value found on element '#none' in response 'http://h/dir/page'"]
        "#]],
    );
}
