//! wrk scripts, driven without sockets: what they are asked for, what they are given, and how they fail.

use expect_test::{Expect, expect};
use prony_model::program::{Answer, Event, Keep, Outgoing, Program, Step, ThreadPlace, UserPlace, Workload};
use prony_model::{Nanos, Outcome, TransportError};
use prony_script_wrk::{Limits, ScriptError, ScriptFiles, Settings, WrkScript, WrkUrl};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

const USER: UserPlace = UserPlace { number: 0, scenario: 0 };
/// Time enough for a busy machine.
const LIMITS: Limits =
    Limits { running: Duration::from_secs(60), preparing: Duration::from_secs(60), memory_bytes: 64 << 20 };
const SHORT: Duration = Duration::from_millis(200);

fn settings(source: &str) -> Settings {
    Settings {
        path: PathBuf::from("test.lua"),
        source: source.into(),
        url: WrkUrl {
            text: "http://localhost:8080/start?a=1".to_owned(),
            scheme: "http".to_owned(),
            host: "localhost".to_owned(),
            port: Some("8080".to_owned()),
            path: "/start?a=1".to_owned(),
        },
        headers: vec![("X-Line".to_owned(), "from the command line".to_owned())],
        method: "GET".to_owned(),
        body: None,
        arguments: vec!["first".to_owned(), "second".to_owned()],
        threads: 1,
        connect_timeout: Duration::from_millis(500),
        limits: LIMITS,
        files: ScriptFiles::AsNamed,
    }
}

fn prepare(source: &str) -> Result<WrkScript, String> {
    prepare_with(settings(source))
}

fn prepare_with(settings: Settings) -> Result<WrkScript, String> {
    WrkScript::prepare(settings, |error| panic!("{error}")).map_err(|error| error.to_string())
}

fn place(number: u32) -> ThreadPlace {
    ThreadPlace { number, threads: 1 }
}

/// One turn of a user: steps up to sending, the sent texts, and the answer judged.
fn turn(program: &mut dyn Program, head: &str, body: &str) -> Result<String, String> {
    let (mut text, mut event) = (String::new(), Event::Begin);
    loop {
        let mut out = Outgoing::default();
        let step = program.next(USER, event, &mut out).map_err(|error| error.to_string())?;
        match step {
            Step::Pause(time) => {
                let _ = writeln!(text, "pause {time}");
                event = Event::Paused;
            }
            Step::Send => {
                let sent = String::from_utf8(out.text).expect("the scripts here write text");
                let _ = writeln!(text, "{} requests:\n{}", out.requests.len(), sorted(&sent));
                for (index, request) in out.requests.iter().enumerate() {
                    let whole = request.keep == Keep::Whole;
                    let answer = Answer {
                        status: head[9..12].parse().expect("the heads here have a status"),
                        head: if whole { head.as_bytes() } else { b"" },
                        body: if whole { body.as_bytes() } else { b"" },
                        has_graphql_errors: false,
                    };
                    let outcome = program.judge(USER, index, &answer).map_err(|error| error.to_string())?;
                    let _ = writeln!(text, "judged {outcome:?}");
                }
                event = Event::Answered;
            }
            other => {
                let _ = writeln!(text, "{other:?}");
                return Ok(text);
            }
        }
    }
}

/// Header lines in alphabetical order, as Lua's tables have none; carriage returns not shown.
fn sorted(text: &str) -> String {
    let requests = text.split_inclusive("\r\n\r\n").map(|part| {
        let Some(head) = part.strip_suffix("\r\n\r\n") else { return part.to_owned() };
        let mut lines: Vec<_> = head.split("\r\n").collect();
        lines[1..].sort_unstable();
        lines.join("\n") + "\n\n"
    });
    requests.collect::<String>().trim_end().to_owned()
}

fn check_with(source: &str, head: &str, body: &str, turns: usize, expected: &Expect) {
    check_settings(settings(source), head, body, turns, expected);
}

fn check_settings(settings: Settings, head: &str, body: &str, turns: usize, expected: &Expect) {
    let shown = prepare_with(settings).and_then(|script| {
        let mut program = script.program(place(0)).map_err(|error| error.to_string())?;
        (0..turns).map(|_| turn(&mut *program, head, body)).collect::<Result<String, _>>()
    });
    expected.assert_eq(&shown.unwrap_or_else(|error| error + "\n"));
}

fn check(source: &str, expected: &Expect) {
    check_with(source, "HTTP/1.1 200 OK\r\n\r\n", "", 1, expected);
}

#[test]
fn without_functions_the_request_is_made_once() {
    check(
        "",
        &expect![[r#"
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
    check(
        "wrk.method = 'POST' wrk.body = 'a=1' wrk.headers['Content-Type'] = 'text/plain' wrk.path = '/form'",
        &expect![[r#"
            1 requests:
            POST /form HTTP/1.1
            Content-Length: 3
            Content-Type: text/plain
            Host: localhost:8080
            X-Line: from the command line

            a=1
            judged Success
            EndIteration
        "#]],
    );
}

#[test]
fn requests_are_written_with_what_is_given_and_the_rest_from_wrk() {
    let source = "local n = 0 function request() n = n + 1 wrk.headers['X-N'] = n \
        return wrk.format('PUT', '/n/' .. n, { A = 'b' }, 'body') .. wrk.format(nil, '/n') end";
    check_with(
        source,
        "HTTP/1.1 503 Busy\r\n\r\n",
        "",
        2,
        &expect![[r#"
        2 requests:
        PUT /n/1 HTTP/1.1
        A: b
        Content-Length: 4
        Host: localhost:8080

        bodyGET /n HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        X-N: 1
        judged Status(503)
        judged Status(503)
        EndIteration
        2 requests:
        PUT /n/2 HTTP/1.1
        A: b
        Content-Length: 4
        Host: localhost:8080

        bodyGET /n HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        X-N: 2
        judged Status(503)
        judged Status(503)
        EndIteration
    "#]],
    );
}

#[test]
fn init_gets_the_url_and_the_arguments() {
    let source = "function init(args) wrk.path = '/' .. args[0] .. '|' .. args[1] .. '|' .. args[2] .. '|' .. #args end";
    check(
        source,
        &expect![[r#"
        1 requests:
        GET /http://localhost:8080/start?a=1|first|second|2 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn a_script_may_have_functions_in_the_place_of_wrks() {
    check(
        "local old = wrk.init\n\
         function wrk.init(args) wrk.path = '/' .. #args .. seen old(args) end\n\
         function init() wrk.path = wrk.path .. '/init' end\n\
         function wrk.setup(thread) thread:set('seen', '/setup') end",
        &expect![[r#"
        1 requests:
        GET /2/setup/init HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
    check(
        "function wrk.init() wrk.headers.Host = 'a' function wrk.request() return wrk.format(nil, '/own') end end",
        &expect![[r#"
        1 requests:
        GET /own HTTP/1.1
        Host: a
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn a_body_that_is_no_text_ends_the_script() {
    check(
        "function request()\n local text = wrk.format('POST', '/', {}, {})\n return text\nend",
        &expect![[r#"
        the script test.lua failed in `request`: test.lua:2: wrk.format: the body is a table, not a text
    "#]],
    );
}

#[test]
fn an_init_of_wrk2_may_call_wrks() {
    let source = "function init(args) wrk.init(args) wrk.path = '/' .. #wrk.request() end";
    check(
        source,
        &expect![[r#"
        1 requests:
        GET /80 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn the_host_header_follows_wrk_unless_it_is_set() {
    check(
        "wrk.host = '::1' wrk.port = nil",
        &expect![[r#"
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: [::1]
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
    check(
        "wrk.headers.Host = 'other'",
        &expect![[r#"
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: other
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

/// Servers refuse a request with two.
#[test]
fn a_host_of_the_command_line_is_the_only_one_however_it_is_spelled() {
    for name in ["host", "HOST", "Host"] {
        let source = "function request() return wrk.format() .. wrk.format(nil, '/x', { A = 'b' }) end";
        let mut settings = settings(source);
        settings.headers = vec![(name.to_owned(), "other".to_owned())];
        let script = prepare_with(settings).unwrap();
        let mut program = script.program(place(0)).unwrap();
        let shown = turn(&mut *program, "HTTP/1.1 200 OK\r\n\r\n", "").unwrap();
        let hosts = shown.lines().filter(|line| line.to_ascii_lowercase().starts_with("host:"));
        assert_eq!(hosts.collect::<Vec<_>>(), ["Host: other"; 2], "{name}: {shown}");
    }
}

#[test]
fn delays_come_before_requests() {
    check(
        "function delay() return 12.5 end",
        &expect![[r#"
        pause 12.5 ms
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
    // Lua takes a text that says a number for one, and so does wrk.
    for text in ["'250'", "' 250.0 '", "'0xfa'"] {
        let script = prepare(&format!("function delay() return {text} end")).unwrap();
        let step = script.program(place(0)).unwrap().next(USER, Event::Begin, &mut Outgoing::default());
        assert_eq!(step, Ok(Step::Pause(Nanos::from_millis(250))), "{text}");
    }
    check(
        "function delay() return 'soon' end",
        &expect![[r#"
            the script test.lua failed in `delay`: test.lua:1: it returned a string, not a number of milliseconds
        "#]],
    );
    check(
        "function delay() return 1e300 end",
        &expect![[r#"
            the script test.lua failed in `delay`: test.lua:1: it returned 1e300 milliseconds; at most 86400000 (a day) can be waited
        "#]],
    );
}

#[test]
fn responses_are_shown_whole() {
    let source = "local seen = 'none' function request() return wrk.format(nil, '/' .. seen) end \
        function response(status, headers, body) seen = status .. '|' .. headers['X-Token'] .. '|' .. body end";
    let head = "HTTP/1.1 200 OK\r\nX-Token: one\r\nx-token: other\r\nX-Token:  two \r\n\r\n";
    check_with(
        source,
        head,
        "text",
        2,
        &expect![[r#"
        1 requests:
        GET /none HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
        1 requests:
        GET /200|two|text HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn headers_are_found_in_any_case() {
    let source = "function response(status, headers) \
        assert(headers['X-Token'] == 'small' and headers['Other'] == 'kept' and headers['X-None'] == nil) \
        for name in pairs(headers) do assert(name == 'x-token' or name == 'Other') end end";
    let head = "HTTP/1.1 200 OK\r\nx-token: small\r\nOther: kept\r\n\r\n";
    check_with(
        source,
        head,
        "",
        1,
        &expect![[r#"
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn a_thread_that_is_stopped_asks_for_nothing() {
    check_with(
        "function response() wrk.thread:stop() end",
        "HTTP/1.1 200 OK\r\n\r\n",
        "",
        2,
        &expect![[r#"
            1 requests:
            GET /start?a=1 HTTP/1.1
            Host: localhost:8080
            X-Line: from the command line
            judged Success
            StopThread
            StopThread
        "#]],
    );
}

#[test]
fn a_script_may_change_its_functions() {
    let source = "function request() request = function() return wrk.format(nil, '/later') end \
        return wrk.format(nil, '/first') end";
    check_with(
        source,
        "HTTP/1.1 200 OK\r\n\r\n",
        "",
        2,
        &expect![[r#"
        1 requests:
        GET /first HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
        1 requests:
        GET /later HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn every_library_of_luajit_is_there() {
    let source = "local ffi = require 'ffi' ffi.cdef 'int getpid();' assert(ffi.C.getpid() > 0) \
        assert(jit.version and os.time() and io.open and math.random(1, 2) and debug.traceback and bit.band) \
        assert(require 'wrk' == wrk)";
    check(
        source,
        &expect![[r#"
        1 requests:
        GET /start?a=1 HTTP/1.1
        Host: localhost:8080
        X-Line: from the command line
        judged Success
        EndIteration
    "#]],
    );
}

#[test]
fn a_failed_request_ends_the_turn() {
    let script = prepare("").unwrap();
    let mut program = script.program(place(0)).unwrap();
    let step = program.next(USER, Event::Failed(TransportError::Read), &mut Outgoing::default());
    assert_eq!(step, Ok(Step::EndIteration));
}

#[test]
fn errors_name_the_function_the_file_and_the_line() {
    check(
        "local x =\n\nend",
        &expect![[r#"
        the script test.lua failed in its main part: test.lua:3: unexpected symbol near 'end'
    "#]],
    );
    check(
        "\nerror('no data')",
        &expect![[r#"
        the script test.lua failed in its main part: test.lua:2: no data
    "#]],
    );
    check(
        "function setup(thread)\n thread:get(nil)\nend",
        &expect![[r#"
            the script test.lua failed in `setup`: test.lua:2: error converting Lua nil to String (expected string or number)
        "#]],
    );
    check(
        "function setup(thread)\n thread:set('f', print)\nend",
        &expect![[r#"
        the script test.lua failed in `setup`: test.lua:2: `f` cannot cross between threads: it is or holds a function; only nil, booleans, numbers, strings and tables of these can
    "#]],
    );
    check(
        "function setup(thread)\n thread.addr = 'localhost'\nend",
        &expect![[r#"
            the script test.lua failed in `setup`: test.lua:2: an address from wrk.lookup is needed here, not a string
        "#]],
    );
    check(
        "function setup(thread)\n thread:stop()\nend",
        &expect![[r#"
        the script test.lua failed in `setup`: test.lua:2: thread:stop() is for threads that run, not for `setup` or `init`
    "#]],
    );
    check(
        "function init(args)\n local n = nil + 1\nend",
        &expect![[r#"
        the script test.lua failed in `init`: test.lua:2: attempt to perform arithmetic on a nil value
    "#]],
    );
    check(
        "function delay()\n return missing.field\nend",
        &expect![[r#"
        the script test.lua failed in `delay`: test.lua:2: attempt to index global 'missing' (a nil value)
    "#]],
    );
    check(
        "function request()\n return missing.field\nend",
        &expect![[r#"
        the script test.lua failed in `request`: test.lua:2: attempt to index global 'missing' (a nil value)
    "#]],
    );
    check(
        "function response()\n error({})\nend",
        &expect![[r#"
            the script test.lua failed in `response`: test.lua:2: an error that is a table and no text
        "#]],
    );
    check(
        "function response()\n error('plain', 0)\nend",
        &expect![[r#"
        the script test.lua failed in `response`: test.lua:2: plain
    "#]],
    );
}

#[test]
fn what_request_returns_must_be_requests() {
    check(
        "function request() end",
        &expect![[r#"
            the script test.lua failed in `request`: test.lua:1: it returned nothing, not the text of a request; return wrk.format(…)
        "#]],
    );
    check(
        "function request() return {} end",
        &expect![[r#"
            the script test.lua failed in `request`: test.lua:1: it returned a table, not the text of a request; return wrk.format(…)
        "#]],
    );
    check(
        "function request() return 'hello' end",
        &expect![[r#"
            the script test.lua failed in `request`: test.lua:1: request 1 of the text has no empty line after its headers; wrk.format writes proper ones
        "#]],
    );
    check(
        "wrk.method = 'not a method'",
        &expect![[r#"
        the script test.lua failed in `request`: request 1 of the text is no HTTP/1.1 (invalid HTTP version); wrk.format writes proper ones
    "#]],
    );
}

#[test]
fn hosts_that_do_not_exist_are_named() {
    let error = prepare("\nwrk.lookup('does-not-exist.invalid', 'http')").unwrap_err();
    assert!(
        error.contains("test.lua:2") && error.contains("cannot resolve `does-not-exist.invalid`"),
        "{error}"
    );
    check(
        "wrk.lookup('localhost', 'gopher')",
        &expect![[r#"
        the script test.lua failed in its main part: test.lua:1: wrk.lookup: `gopher` is no service that is known; give `http`, `https` or a port
    "#]],
    );
}

#[test]
fn a_script_that_loops_is_cut_where_it_loops() {
    jitless(
        "function setup()\n while true do end\nend",
        &expect![[r#"
            the script test.lua failed in `setup`: test.lua:2: cut: it did not come back in time (0.2 s)
        "#]],
    );
    jitless(
        "function request()\n while true do pcall(error) end\nend",
        &expect![[r#"
            the script test.lua failed in `request`: test.lua:2: cut: it did not come back in time (0.2 s)
        "#]],
    );
}

#[test]
fn a_loop_that_was_compiled_is_reported_to_who_can_end_it() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let on_stuck = move |error: &ScriptError| sender.send(error.to_string()).unwrap();
    // It loops until this process ends.
    let settings = impatient("function init()\n while true do end\nend");
    std::thread::spawn(|| WrkScript::prepare(settings, on_stuck));
    expect!["the script test.lua did not come back from `init` within 0.2 s; it loops, waits, or does work that belongs in `init`"].assert_eq(&receiver.recv().unwrap());
}

fn jitless(source: &str, expected: &Expect) {
    let settings = impatient(&format!("jit.off() {source}"));
    check_settings(settings, "HTTP/1.1 200 OK\r\n\r\n", "", 1, expected);
}

fn impatient(source: &str) -> Settings {
    Settings { limits: Limits { running: SHORT, preparing: SHORT, ..LIMITS }, ..settings(source) }
}

#[test]
fn a_script_that_takes_all_memory_is_ended() {
    check(
        "function init()\n t = {}\n for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end\nend",
        &expect![[r#"
            the script test.lua failed in `init`: not enough memory: the script keeps more than a state may hold; keep less, or make requests when they are asked for
        "#]],
    );
}

#[test]
fn addresses_of_threads_are_those_that_setup_chose() {
    let mut settings = settings(
        "local n = 0 function setup(thread) n = n + 1 \
         if n == 2 then thread.addr = wrk.lookup('127.0.0.1', '81')[1] end \
         thread:set('shown', tostring(thread.addr)) end \
         function init() wrk.path = '/' .. tostring(wrk.thread.addr) .. '/' .. shown end",
    );
    settings.threads = 2;
    settings.url.host = "127.0.0.1".to_owned();
    let script = WrkScript::prepare(settings, |_| {}).unwrap();
    assert_eq!(script.address(place(0)), None);
    assert_eq!(script.address(place(1)), Some(([127, 0, 0, 1], 81).into()));
    let mut first = script.program(place(0)).unwrap();
    let shown = turn(&mut *first, "HTTP/1.1 200 OK\r\n\r\n", "").unwrap();
    assert!(shown.contains("GET /127.0.0.1:8080/127.0.0.1:8080 "), "{shown}");
    let mut second = script.program(place(1)).unwrap();
    let shown = turn(&mut *second, "HTTP/1.1 200 OK\r\n\r\n", "").unwrap();
    assert!(shown.contains("GET /127.0.0.1:81/127.0.0.1:81 "), "{shown}");
    assert!(script.program(place(2)).is_err());
}

#[test]
fn files_beside_the_script_can_be_required() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("paths.lua"), "return { '/from-file' }").unwrap();
    let mut settings = settings("#!/usr/bin/wrk -s\nwrk.path = require('paths')[1]");
    settings.path = directory.path().join("main.lua");
    let script = WrkScript::prepare(settings, |_| {}).unwrap();
    let mut program = script.program(place(0)).unwrap();
    let shown = turn(&mut *program, "HTTP/1.1 200 OK\r\n\r\n", "").unwrap();
    assert!(shown.contains("GET /from-file HTTP/1.1"), "{shown}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Settings::read_source("no-such.lua".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the script no-such.lua: No such file"), "{error}");
}

#[test]
fn a_pause_is_in_milliseconds() {
    let script = prepare("function delay() return 1500 end").unwrap();
    let mut program = script.program(place(0)).unwrap();
    let step = program.next(USER, Event::Begin, &mut Outgoing::default());
    assert_eq!(step, Ok(Step::Pause(Nanos::from_millis(1_500))));
}

#[test]
fn statuses_above_399_are_errors() {
    let script = prepare("").unwrap();
    let mut program = script.program(place(0)).unwrap();
    for (status, outcome) in [(399, Outcome::Success), (400, Outcome::Status(400))] {
        let answer = Answer { status, head: b"", body: b"", has_graphql_errors: false };
        assert_eq!(program.judge(USER, 0, &answer), Ok(outcome));
    }
}
