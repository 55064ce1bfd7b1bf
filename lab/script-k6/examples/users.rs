//! What users of a k6 script take: memory and init time of many, and the time of an iteration and of a park.
//!
//! `cargo run --release -p prony-script-k6 --example users -- 2000 [empty|http]`

#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]

use prony_model::Nanos;
use prony_model::program::call::WaitEvent;
use prony_model::program::{Event, Outgoing, Program as _, Step, ThreadPlace, UserPlace};
use prony_script_k6::{
    Clock, Entry, IterationEnd, Modules, Script, ScriptProgram, ScriptWorkload, Watcher, builtins,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

const MAIN: &str = "
    import http from 'k6/http';
    import { sleep } from 'k6';
    import { query } from './a.js';
    import { headers } from './b.js';
    import { wait } from './c.js';
    export default function () {
        const body = JSON.stringify({ query, variables: { id: __VU } });
        for (const name of Object.keys(headers)) if (!body || !name) throw new Error(name);
        [1].forEach(() => sleep(wait(2)));
    }";
const A: &str = "export const query = `query Artist($id: Int!) { artist(id: $id) { name albums { title tracks { name } } } }`;
    export function pick(list) { return list[Math.floor(Math.random() * list.length)]; }";
const B: &str = "export const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
    export class Client { constructor(url) { this.url = url; } path(p) { return `${this.url}/${p}`; } }";
const C: &str = "export function wait(n) { return n + Math.random(); }
    export const table = Array.from({ length: 50 }, (_, i) => ({ id: i, name: `item ${i}` }));";
const EMPTY_ASLEEP: &str = "import { sleep } from 'k6'; export default function () { sleep(2); }";
const HTTP: &str =
    "import http from 'k6/http'; import { sleep } from 'k6'; export default function () { sleep(2); }";
const EMPTY: &str = "export default function () {}";
const PARKS: &str = "import { sleep } from 'k6'; export default function () { for (;;) sleep(0.001); }";

struct Texts(&'static str);

impl Modules for Texts {
    fn resolve(&self, _from: &str, specifier: &str) -> Result<String, String> {
        Ok(specifier.to_owned())
    }

    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        Ok(match name {
            "./a.js" => A,
            "./b.js" => B,
            "./c.js" => C,
            _ => self.0,
        }
        .into())
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        Err(format!("no file {path}"))
    }
}

struct Silent;

impl Watcher for Silent {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        assert!(
            iteration.error.is_none(),
            "{}",
            iteration.error.map(ToString::to_string).unwrap_or_default()
        );
    }
}

fn main() {
    let users = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    // Each in a process of its own: what one frees another would take.
    let main = match std::env::args().nth(2).as_deref() {
        Some("empty") => EMPTY_ASLEEP,
        Some("http") => HTTP,
        _ => MAIN,
    };
    many(users, main);
    one("a call of an empty function", EMPTY, |program| {
        let step = program.next(user(0), Event::Begin, &mut Outgoing::default());
        assert_eq!(step, Ok(Step::EndIteration));
    });
    one("a sleep within an iteration", PARKS, |program| {
        let step = program.next(user(0), Event::Waited(WaitEvent::Woken), &mut Outgoing::default());
        assert!(matches!(step, Ok(Step::Wait(_))));
    });
}

fn many(users: u32, main: &'static str) {
    let workload = workload(main, users);
    let before = resident_kib();
    let began = Instant::now();
    let (mut program, clock) = program(&workload);
    println!("{users} users: init {:.3} s", began.elapsed().as_secs_f64());
    let made = resident_kib();
    println!("  {:.1} KiB a user after init", (made - before) as f64 / f64::from(users));
    for round in 0..2 {
        for number in 0..users {
            let step = program.next(user(number), Event::Begin, &mut Outgoing::default());
            assert!(matches!(step, Ok(Step::Wait(_))), "{step:?}");
        }
        let each = (resident_kib() - before) as f64 / f64::from(users);
        println!("  {each:.1} KiB a user, all asleep in iteration {round}");
        clock.set(clock.get().plus(Nanos::from_secs(5)));
        for number in 0..users {
            let step = program.next(user(number), Event::Waited(WaitEvent::Woken), &mut Outgoing::default());
            assert_eq!(step, Ok(Step::EndIteration));
        }
    }
    let began = Instant::now();
    drop(program);
    println!("  freed in {:.3} s", began.elapsed().as_secs_f64());
}

fn one(what: &str, main: &'static str, mut step: impl FnMut(&mut ScriptProgram<'_>)) {
    const TIMES: u32 = 300_000;
    let workload = workload(main, 1);
    let (mut program, clock) = program(&workload);
    if main == PARKS {
        assert!(program.next(user(0), Event::Begin, &mut Outgoing::default()).is_ok());
    }
    let began = Instant::now();
    for _ in 0..TIMES {
        clock.set(clock.get().plus(Nanos::from_millis(2)));
        step(&mut program);
    }
    println!("{what}: {:.0} ns", began.elapsed().as_nanos() as f64 / f64::from(TIMES));
}

fn workload(main: &'static str, users: u32) -> ScriptWorkload {
    let script = Script::new("main.js", Arc::new(Texts(main)), builtins());
    let mut workload = ScriptWorkload::new(Arc::new(script), Entry::Iterations, Arc::new(Silent));
    workload.users = users;
    workload
}

fn program(workload: &ScriptWorkload) -> (ScriptProgram<'_>, Rc<Cell<Nanos>>) {
    let clock = Rc::new(Cell::new(Nanos::ZERO));
    let thread = ThreadPlace { number: 0, threads: 1 };
    let program = ScriptProgram::new(workload, thread, Clock::Virtual(Rc::clone(&clock)));
    (program.unwrap_or_else(|error| panic!("{error}")), clock)
}

const fn user(number: u32) -> UserPlace {
    UserPlace { number, scenario: 0 }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
