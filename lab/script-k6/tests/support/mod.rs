//! Scripts driven without sockets and on virtual time: modules in memory, a runner that answers calls by a function.

#![allow(dead_code, reason = "each test is a program of its own and uses a part of it")]

use prony_model::Nanos;
use prony_model::program::call::{Ask, AskId, Call, CallBytes, CallTimes, Peer, WaitEvent};
use prony_model::program::{Answer, Event, Outgoing, Program as _, Step, StopFlag, ThreadPlace, UserPlace};
use prony_script_k6::{
    Clock, Ended, Entry, IterationEnd, Modules, ScenarioSpec, Script, ScriptProgram, ScriptWorkload, Watcher,
    builtins,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Modules and files by name; the main one is `main.js`. Imports `./x.js` are `x.js`.
pub(crate) struct InMemory(pub(crate) BTreeMap<String, String>);

impl Modules for InMemory {
    fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        let name = specifier.trim_start_matches("./");
        let known = self.0.contains_key(name).then(|| name.to_owned());
        known.ok_or_else(|| format!("{from} imports {specifier}, which is not there"))
    }

    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        self.0.get(name).map(|text| text.as_str().into()).ok_or_else(|| format!("no module {name}"))
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        let text = self.0.get(path.trim_start_matches("./"));
        text.map(|text| text.as_bytes().into()).ok_or_else(|| format!("no file {path}"))
    }
}

pub(crate) fn script(main: &str) -> Script {
    script_of(&[("main.js", main)])
}

pub(crate) fn script_of(files: &[(&str, &str)]) -> Script {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Script::new("main.js", Arc::new(InMemory(files)), builtins())
}

/// Iterations that ended: user, when, and the error's text.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Mutex<Vec<(u32, Nanos, Option<String>)>>);

impl Watcher for Log {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        let error = iteration.error.map(ToString::to_string);
        self.0.lock().expect("no thread panicked").push((iteration.user.number, iteration.ended, error));
    }
}

/// Answers a request's text with a status, a body, and after how long.
pub(crate) type Server = Box<dyn FnMut(&str) -> (u16, String, Nanos)>;

pub(crate) struct Driver {
    pub(crate) server: Server,
    pub(crate) users: u32,
    pub(crate) iterations: u32,
    pub(crate) scenarios: Vec<ScenarioSpec>,
    pub(crate) setup_data: Option<Arc<str>>,
    /// When all users are interrupted.
    pub(crate) end: Option<Nanos>,
    /// Of each iteration; looked at while it computes.
    pub(crate) time_limit: Nanos,
    pub(crate) stop: StopFlag,
}

pub(crate) struct Outcome {
    pub(crate) iterations: Vec<(u32, Nanos, Option<String>)>,
    pub(crate) returned: Option<Ended>,
    /// Request texts in the order they were sent, with their users.
    pub(crate) requests: Vec<(u32, String)>,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            server: Box::new(|_| (200, "hello".to_owned(), Nanos::from_millis(10))),
            users: 1,
            iterations: 1,
            scenarios: Vec::new(),
            setup_data: None,
            end: None,
            time_limit: Nanos::MAX,
            stop: StopFlag::default(),
        }
    }
}

thread_local! {
    static CLOCK: RefCell<Option<Rc<Cell<Nanos>>>> = const { RefCell::new(None) };
}

/// Time passes while a user of this thread's driver computes.
pub(crate) fn compute_for(time: Nanos) {
    CLOCK.with_borrow(|clock| {
        let clock = clock.as_ref().expect("a driver runs");
        clock.set(clock.get().plus(time));
    });
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Answer(u32, AskId, u16, String),
    Wake(u32, u64),
}

struct Run<'a> {
    program: ScriptProgram<'a>,
    clock: Rc<Cell<Nanos>>,
    server: Server,
    time_limit: Nanos,
    /// By time and order of making.
    queue: BTreeSet<(Nanos, u64, Due)>,
    made: u64,
    /// Steps that each user has taken: a wake-up for an earlier one is void.
    steps: HashMap<u32, u64>,
    left: HashMap<u32, u32>,
    requests: Vec<(u32, String)>,
}

impl Driver {
    pub(crate) fn run(self, script: Script, entry: Entry) -> Outcome {
        let log = Arc::new(Log::default());
        let mut workload = ScriptWorkload::new(Arc::new(script), entry, Arc::<Log>::clone(&log));
        workload.users = self.users;
        workload.stop = self.stop.clone();
        workload.scenarios.clone_from(&self.scenarios);
        workload.setup_data.clone_from(&self.setup_data);
        let requests = self.drive(&workload).unwrap_or_else(|error| panic!("{error}"));
        let iterations = std::mem::take(&mut *log.0.lock().expect("no thread panicked"));
        Outcome { iterations, returned: workload.take_returned(), requests }
    }

    /// The error is that of init code.
    fn drive(self, workload: &ScriptWorkload) -> Result<Vec<(u32, String)>, String> {
        let clock = Rc::new(Cell::new(Nanos::ZERO));
        CLOCK.set(Some(Rc::clone(&clock)));
        let thread = ThreadPlace { number: 0, threads: 1 };
        let program = ScriptProgram::new(workload, thread, Clock::Virtual(Rc::clone(&clock)))
            .map_err(|error| error.to_string())?;
        let mut run = Run {
            program,
            clock,
            server: self.server,
            time_limit: self.time_limit,
            queue: BTreeSet::new(),
            made: 0,
            steps: HashMap::new(),
            left: (0..self.users).map(|user| (user, self.iterations)).collect(),
            requests: Vec::new(),
        };
        for user in 0..self.users {
            run.begin(user);
        }
        while let Some((time, _, due)) = run.queue.pop_first() {
            if let Some(end) = self.end.filter(|end| time >= *end) {
                run.clock.set(end);
                run.interrupt(self.users);
                break;
            }
            run.clock.set(time);
            run.happen(due);
        }
        Ok(run.requests)
    }
}

impl Run<'_> {
    fn begin(&mut self, user: u32) {
        let left = self.left.get_mut(&user).expect("each user is counted");
        if *left == 0 {
            return;
        }
        *left -= 1;
        let mut out = Outgoing::default();
        let place = UserPlace { number: user, scenario: 0 };
        self.program.limit_iteration(place, self.time_limit);
        let step = self.program.next(place, Event::Begin, &mut out).expect("an iteration begins");
        self.act(user, step, out);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Wake(user, step) if self.steps.get(&user) != Some(&step) => {}
            Due::Wake(user, _) => self.hear(user, WaitEvent::Woken),
            Due::Answer(user, call, status, body) => {
                let (times, peer, bytes) = (CallTimes::default(), Peer::default(), CallBytes::default());
                let body = body.as_bytes();
                let head = b"HTTP/1.1 200 OK\r\n\r\n";
                let answer = Answer { status, head, body, has_graphql_errors: false };
                self.hear(user, WaitEvent::Answered { call, answer, times, peer, bytes });
            }
        }
    }

    fn hear(&mut self, user: u32, news: WaitEvent<'_>) {
        let mut out = Outgoing::default();
        let place = UserPlace { number: user, scenario: 0 };
        let step = self.program.next(place, Event::Waited(news), &mut out).expect("a user hears");
        self.act(user, step, out);
    }

    fn interrupt(&mut self, users: u32) {
        for user in 0..users {
            let mut out = Outgoing::default();
            let place = UserPlace { number: user, scenario: 0 };
            let step = self
                .program
                .next(place, Event::Waited(WaitEvent::Interrupted), &mut out)
                .expect("a user hears");
            assert_eq!(step, Step::EndInterrupted);
        }
    }

    fn act(&mut self, user: u32, step: Step, out: Outgoing) {
        let count = self.steps.entry(user).or_default();
        *count += 1;
        let count = *count;
        for ask in out.asks {
            let Ask::Call(Call { id, text, .. }) = ask else { panic!("only calls are answered") };
            let text = String::from_utf8(out.text[text].to_vec()).expect("requests are text");
            let (status, body, after) = (self.server)(&text);
            self.requests.push((user, text));
            self.later(after, Due::Answer(user, id, status, body));
        }
        match step {
            Step::Wait(Some(after)) => self.later(after, Due::Wake(user, count)),
            Step::Wait(None) => {}
            Step::EndIteration | Step::EndInterrupted => self.begin(user),
            Step::StopThread => self.left.values_mut().for_each(|left| *left = 0),
            other => panic!("{other:?}"),
        }
    }

    fn later(&mut self, after: Nanos, due: Due) {
        self.made += 1;
        self.queue.insert((self.clock.get().plus(after), self.made, due));
    }
}
