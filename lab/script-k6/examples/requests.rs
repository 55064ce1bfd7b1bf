//! What requests of a k6 script take beside the socket: the time of a plain GET and of a GraphQL call with a check of
//! its answer, from one answer to the next.
//!
//! `cargo run --release -p prony-script-k6 --example requests [-- TIMES]`. Where time cannot be trusted, the
//! difference of `valgrind --tool=callgrind` with two of TIMES counts instructions.

#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]

use prony_model::Nanos;
use prony_model::program::call::{Ask, CallBytes, CallTimes, Peer, WaitEvent};
use prony_model::program::{Answer, Event, Outgoing, Program as _, Step, ThreadPlace, UserPlace};
use prony_script_k6::{
    Clock, Entry, IterationEnd, Modules, Script, ScriptProgram, ScriptWorkload, Watcher, builtins,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

const GET: &str =
    "import http from 'k6/http'; export default function () { http.get('http://127.0.0.1:8080/plain'); }";
const STATUS: &str = "import http from 'k6/http';
    export default function () { if (http.get('http://127.0.0.1:8080/plain').status !== 200) throw new Error('status'); }";
const GRAPHQL: &str = "import http from 'k6/http';
    const query = `query Artist($id: Int!) { artist(id: $id) { name albums { title tracks { name } } } }`;
    const params = { headers: { 'Content-Type': 'application/json' } };
    export default function () {
        const body = JSON.stringify({ query, variables: { id: 1 + __ITER % 100 } });
        const r = http.post('http://127.0.0.1:8080/graphql', body, params);
        if (r.status !== 200 || r.json().data.artist.name === '') throw new Error('no artist');
    }";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 08:00:00 GMT\r\nContent-Type: application/json\r\n\
    Content-Length: 88\r\nConnection: keep-alive\r\n\r\n";
const BODY: &[u8] =
    br#"{"data":{"artist":{"name":"AC/DC","albums":[{"title":"Let There Be Rock","tracks":[]}]}}}"#;
const TIMES: u32 = 300_000;

struct Text(&'static str);

impl Modules for Text {
    fn resolve(&self, _from: &str, specifier: &str) -> Result<String, String> {
        Err(format!("no module {specifier}"))
    }

    fn text(&self, _name: &str) -> Result<Arc<str>, String> {
        Ok(self.0.into())
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        Err(format!("no file {path}"))
    }
}

struct Silent;

impl Watcher for Silent {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        if let Some(error) = iteration.error {
            panic!("{error}");
        }
    }
}

fn main() {
    let times = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(TIMES);
    for (what, main) in [("a plain GET", GET), ("a GET and its status", STATUS), ("a GraphQL call", GRAPHQL)]
    {
        let each = measure(main, times);
        println!("{what}: {each:.0} ns an iteration");
    }
}

fn measure(main: &'static str, times: u32) -> f64 {
    let script = Script::new("main.js", Arc::new(Text(main)), builtins());
    let workload = ScriptWorkload::new(Arc::new(script), Entry::Iterations, Arc::new(Silent));
    let clock = Rc::new(Cell::new(Nanos::ZERO));
    let thread = ThreadPlace { number: 0, threads: 1 };
    let program = ScriptProgram::new(&workload, thread, Clock::Virtual(Rc::clone(&clock)));
    let mut program = program.unwrap_or_else(|error| panic!("{error}"));
    let mut out = Outgoing::default();
    (0..times / 10).for_each(|_| iteration(&mut program, &mut out, &clock));
    let began = Instant::now();
    (0..times).for_each(|number| {
        iteration(&mut program, &mut out, &clock);
        if number % 10_000 == 0 {
            program.end_second();
        }
    });
    began.elapsed().as_nanos() as f64 / f64::from(times)
}

fn iteration(program: &mut ScriptProgram<'_>, out: &mut Outgoing, clock: &Cell<Nanos>) {
    let user = UserPlace { number: 0, scenario: 0 };
    out.clear();
    let step = program.next(user, Event::Begin, out);
    assert!(matches!(step, Ok(Step::Wait(_))), "{step:?}");
    let Some(Ask::Call(call)) = out.asks.pop() else { panic!("a request was to be sent") };
    let asked = clock.get();
    clock.set(asked.plus(Nanos::from_micros(100)));
    let times = CallTimes {
        asked,
        resolved: asked,
        connected: asked,
        ready: asked,
        sent: asked,
        first_byte: Some(clock.get()),
        ended: clock.get(),
        is_new_connection: false,
    };
    let (peer, bytes) = (Peer::default(), CallBytes { sent: 90, received: 220 });
    let answer = Answer { status: 200, head: HEAD, body: BODY, has_graphql_errors: false };
    out.clear();
    let step = program.next(
        user,
        Event::Waited(WaitEvent::Answered { call: call.id, answer, times, peer, bytes }),
        out,
    );
    assert_eq!(step, Ok(Step::EndIteration));
}
