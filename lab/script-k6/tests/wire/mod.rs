//! A runner without sockets: requests are texts, answers are bytes after ten milliseconds of virtual time each.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]
#![allow(clippy::format_push_string, clippy::format_collect, reason = "legible, and not hot")]

use prony_metrics::samples::Event as SampleEvent;
use prony_metrics::{Batch, builtin};
use prony_model::Nanos;
use prony_model::program::call::{
    Ask, AskId, Call, CallBytes, CallFault, CallFaultKind, CallTimes, Peer, WaitEvent,
};
use prony_model::program::{Answer, Event, Keep, Outgoing, Program as _, Step, ThreadPlace, UserPlace};
use prony_script_k6::{
    Clock, Entry, HttpOptions, HttpSettings, IterationEnd, Modules, Script, ScriptProgram, ScriptWorkload,
    Watcher, builtins,
};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

type Server = Box<dyn Fn(&str) -> Result<Vec<u8>, CallFaultKind>>;

pub(crate) struct Wire {
    server: Server,
    options: HttpOptions,
    shows_requests: bool,
    has_samples: bool,
}

/// Status line, header lines and body as bytes.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}\r\n{body}").into_bytes()
}

/// Answers with the request's text.
pub(crate) fn echo(text: &str) -> Vec<u8> {
    answer("200 OK", "", text)
}

struct OneModule(String);

impl Modules for OneModule {
    fn resolve(&self, _from: &str, specifier: &str) -> Result<String, String> {
        Err(format!("no module {specifier}"))
    }

    fn text(&self, _name: &str) -> Result<Arc<str>, String> {
        Ok(self.0.as_str().into())
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        Err(format!("no file {path}"))
    }
}

/// Errors of iterations, and what threads handed over.
#[derive(Default)]
struct Log {
    errors: Mutex<Vec<String>>,
    batches: Mutex<Vec<Batch>>,
}

impl Watcher for Log {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        self.errors.lock().unwrap().extend(iteration.error.map(ToString::to_string));
    }

    fn samples(&self, _thread: ThreadPlace, batch: Batch) -> Batch {
        self.batches.lock().unwrap().push(batch);
        Batch::default()
    }
}

impl Log {
    /// Counted requests and failures with their tags.
    fn samples(&self) -> String {
        let mut shown = String::new();
        for batch in &*self.batches.lock().unwrap() {
            let sets: HashMap<_, _> = batch.sets.iter().map(|(id, set)| (*id, Arc::clone(set))).collect();
            for event in &batch.events {
                let SampleEvent::Sample { metric, set, value, .. } = event else { continue };
                let name = match *metric {
                    builtin::HTTP_REQS => "request",
                    builtin::HTTP_REQ_FAILED => "failed",
                    _ => continue,
                };
                let tags: Vec<String> =
                    sets[set].iter().map(|(name, value)| format!("{name}={value:?}")).collect();
                shown += &format!("* {name} {value} {}\n", tags.join(" "));
            }
        }
        shown
    }
}

impl Wire {
    pub(crate) fn new(server: impl Fn(&str) -> Vec<u8> + 'static) -> Self {
        Self::with_server(Box::new(move |text| Ok(server(text))))
    }

    pub(crate) fn failing(server: impl Fn(&str) -> CallFaultKind + 'static) -> Self {
        Self::with_server(Box::new(move |text| Err(server(text))))
    }

    fn with_server(server: Server) -> Self {
        Self { server, options: HttpOptions::default(), shows_requests: true, has_samples: false }
    }

    pub(crate) fn with_options(self, options: HttpOptions) -> Self {
        Self { options, ..self }
    }

    /// Shows the samples of `http_reqs` and `http_req_failed` with their tags.
    pub(crate) fn with_samples(self) -> Self {
        Self { has_samples: true, ..self }
    }

    /// Does not show what was sent.
    pub(crate) fn quiet(self) -> Self {
        Self { shows_requests: false, ..self }
    }

    /// The text is the body of `setup`.
    pub(crate) fn run(self, body: &str) -> String {
        self.run_setup(&format!("import http from 'k6/http'; export function setup() {{ {body} }}"))
    }

    pub(crate) fn run_setup(self, main: &str) -> String {
        self.drive(main, Entry::Setup, 1)
    }

    pub(crate) fn run_iterations(self, main: &str, iterations: u32) -> String {
        self.drive(main, Entry::Iterations, iterations)
    }

    fn drive(self, main: &str, entry: Entry, iterations: u32) -> String {
        let mut script = Script::new("main.js", Arc::new(OneModule(main.to_owned())), builtins());
        script.shared::<HttpSettings>().set(self.options.clone());
        script.recorder.has_outputs = true;
        let log = Arc::new(Log::default());
        let workload = ScriptWorkload::new(Arc::new(script), entry, Arc::clone(&log) as Arc<dyn Watcher>);
        let clock = Rc::new(Cell::new(Nanos::ZERO));
        let thread = ThreadPlace { number: 0, threads: 1 };
        let program = ScriptProgram::new(&workload, thread, Clock::Virtual(Rc::clone(&clock))).unwrap();
        let mut run =
            Run { wire: &self, program, clock, queue: VecDeque::new(), sent: String::new(), open: 0 };
        for _ in 0..iterations {
            run.iteration();
        }
        let mut shown = std::mem::take(&mut run.sent);
        drop(run);
        if self.has_samples {
            shown += &log.samples();
        }
        match workload.take_returned() {
            Some(Ok(json)) => shown += &lines_of(json.as_deref().unwrap_or("nothing")),
            Some(Err(error)) => shown += &format!("failed: {error}\n"),
            None => {}
        }
        log.errors.lock().unwrap().iter().for_each(|error| shown += &format!("error: {error}\n"));
        shown.replace('\r', "").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }
}

/// A list with a line for each item.
fn lines_of(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::Array(items)) => items.iter().map(|item| format!("= {item}\n")).collect(),
        _ => format!("= {json}\n"),
    }
}

/// A call, whether it is by HEAD, what of its answer is wanted, and what comes.
type Coming = (AskId, bool, Keep, Result<Vec<u8>, CallFaultKind>);

struct Run<'a> {
    wire: &'a Wire,
    program: ScriptProgram<'a>,
    clock: Rc<Cell<Nanos>>,
    queue: VecDeque<Coming>,
    sent: String,
    /// Calls at the same time.
    open: usize,
}

const USER: UserPlace = UserPlace { number: 0, scenario: 0 };

impl Run<'_> {
    fn iteration(&mut self) {
        let mut out = Outgoing::default();
        let mut step = self.program.next(USER, Event::Begin, &mut out).unwrap();
        self.send(out);
        while step != Step::EndIteration {
            self.clock.set(self.clock.get().plus(Nanos::from_millis(10)));
            let Some((call, is_head, keep, outcome)) = self.queue.pop_front() else {
                panic!("nothing comes: {step:?}")
            };
            self.open -= 1;
            let mut out = Outgoing::default();
            step = self.hear(call, is_head, keep, &outcome, &mut out);
            self.send(out);
        }
    }

    fn hear(
        &mut self,
        call: AskId,
        is_head: bool,
        keep: Keep,
        outcome: &Result<Vec<u8>, CallFaultKind>,
        out: &mut Outgoing,
    ) -> Step {
        let times = CallTimes { ended: self.clock.get(), ..CallTimes::default() };
        let (peer, bytes) = (Peer::default(), CallBytes::default());
        let news = match outcome {
            Ok(bytes_of) => {
                let end = bytes_of.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
                let (head, body) = bytes_of.split_at(end);
                let status = std::str::from_utf8(&head[9..12]).unwrap().parse().unwrap();
                let body = if is_head || keep == Keep::Head { b"" } else { body };
                let answer = Answer { status, head, body, has_graphql_errors: false };
                WaitEvent::Answered { call, answer, times, peer, bytes }
            }
            Err(kind) => {
                let fault = CallFault { kind: *kind, message: "why".to_owned() };
                WaitEvent::Failed { call, fault, times, peer, bytes }
            }
        };
        self.program.next(USER, Event::Waited(news), out).unwrap()
    }

    fn send(&mut self, out: Outgoing) {
        for ask in out.asks {
            let Ask::Call(Call { id, text, is_head, keep, .. }) = ask else {
                panic!("only calls are answered")
            };
            let text = String::from_utf8_lossy(&out.text[text]).into_owned();
            self.open += 1;
            if self.wire.shows_requests {
                let lines = text.trim_end().replace("\r\n", "\n  ").replace("\n  \n", "\n\n");
                self.sent += &format!("{}> {lines}\n", self.open);
            }
            let outcome = (self.wire.server)(&text);
            self.queue.push_back((id, is_head, keep, outcome));
        }
    }
}
