//! `k6/metrics` from the script to the summary's data.

use expect_test::{Expect, expect};
use prony_metrics::{Batch, Engine, Thresholds};
use prony_model::Nanos;
use prony_model::program::{Event, Outgoing, Program as _, Step, ThreadPlace, UserPlace};
use prony_script_k6::{
    AddRules, Clock, Entry, IterationEnd, Log, Machine, Modules, Reader, Script, ScriptProgram,
    ScriptWorkload, Style, Summary, SummaryOptions, Watcher, builtins,
};
use serde_json::Value;
use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

const WRITTEN: &str = "text can be appended to";

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panicked")
}

/// A script of one file.
struct OneFile(String);

impl Modules for OneFile {
    fn resolve(&self, _from: &str, specifier: &str) -> Result<String, String> {
        Err(format!("{specifier} is not built in"))
    }

    fn text(&self, _name: &str) -> Result<Arc<str>, String> {
        Ok(self.0.as_str().into())
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        Err(format!("there is no {path}"))
    }
}

fn script(main: &str) -> Script {
    Script::new("main.js", Arc::new(OneFile(main.to_owned())), builtins())
}

struct Collect {
    engine: Engine,
    errors: Mutex<String>,
}

impl Watcher for Collect {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        if let Some(error) = iteration.error {
            writeln!(locked(&self.errors), "{error}").expect(WRITTEN);
        }
    }

    fn samples(&self, thread: ThreadPlace, batch: Batch) -> Batch {
        self.engine.exchange(thread.number, batch)
    }
}

/// Lines of the log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        locked(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Ran {
    summary: Summary,
    errors: String,
    log: String,
}

fn run(script: Script, iterations: u32) -> Ran {
    let lines = Lines::default();
    let log = script.shared::<Log>();
    log.set_output(Box::new(lines.clone()), Style::Plain, Reader::Any);
    let engine = Engine::new(&script.recorder, Thresholds::default(), Vec::new());
    let collect = Arc::new(Collect { engine, errors: Mutex::default() });
    let workload = ScriptWorkload::new(Arc::new(script), Entry::Iterations, Arc::<Collect>::clone(&collect));
    let clock = Clock::Virtual(Rc::new(Cell::new(Nanos::from_secs(1))));
    let mut program =
        ScriptProgram::new(&workload, ThreadPlace { number: 0, threads: 1 }, clock).expect("init code runs");
    for _ in 0..iterations {
        let place = UserPlace { number: 0, scenario: 0 };
        let step = program.next(place, Event::Begin, &mut Outgoing::default()).expect("an iteration runs");
        assert_eq!(step, Step::EndIteration);
    }
    drop(program);
    log.flush();
    let duration = Nanos::from_secs(2);
    collect.engine.finish(duration);
    let trend_stats = ["avg", "max", "count"].map(str::to_owned).to_vec();
    let summary =
        Summary::of(&collect.engine, SummaryOptions { duration, trend_stats, ..SummaryOptions::default() });
    let errors = std::mem::take(&mut *locked(&collect.errors));
    let log = String::from_utf8(locked(&lines.0).clone()).expect("lines are text");
    Ran { summary, errors, log }
}

/// The script's own metrics, its errors, and the messages of the log.
fn check(main: &str, iterations: u32, expected: &Expect) {
    let Ran { summary, errors, log } = run(script(main), iterations);
    let data = summary.data();
    let mut text = String::new();
    for (name, metric) in data["metrics"].as_object().expect("metrics by name") {
        if name.starts_with("my_") {
            writeln!(text, "{name}: {metric}").expect(WRITTEN);
        }
    }
    text += &errors;
    for line in log.lines() {
        let message = line.split_once("msg=").map_or(line, |(_, message)| message);
        writeln!(text, "log: {message}").expect(WRITTEN);
    }
    expected.assert_eq(&text);
}

#[test]
fn metrics_of_all_kinds_are_defined_and_added_to() {
    let main = "
        import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
        import metrics from 'k6/metrics';
        const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate');
        const times = new Trend('my_times', true), sizes = new metrics.Trend('my_sizes');
        const { add } = count;
        export default function () {
            const results = [count.add(2), add(0.5, { kind: 'a', number: 1, flag: true }), gauge.add(__ITER - 5)];
            results.push(rate.add(__ITER === 0), rate.add('0'), rate.add([]), times.add('12.5'), sizes.add(Infinity));
            if (results.some((result) => result !== true)) throw new Error(results.join());
            if (Object.keys(count).join() !== 'name,add' || count.name !== 'my_count') throw new Error('shape');
        }";
    check(
        main,
        2,
        &expect![[r#"
        my_count: {"type":"counter","contains":"default","values":{"count":5,"rate":2.5}}
        my_gauge: {"type":"gauge","contains":"default","values":{"value":-4,"min":-5,"max":0}}
        my_rate: {"type":"rate","contains":"default","values":{"rate":0.8333333333333334,"passes":5,"fails":1}}
        my_sizes: {"type":"trend","contains":"default","values":{"avg":null,"max":null,"count":2}}
        my_times: {"type":"trend","contains":"time","values":{"avg":12.5,"max":12.5,"count":2}}
    "#]],
    );
}

#[test]
fn what_is_no_number_is_warned_of_and_not_counted() {
    let main = "
        import { Counter, Trend } from 'k6/metrics';
        const count = new Counter('my_count'), times = new Trend('my_times');
        export default function () {
            const results = [count.add(), count.add(undefined), count.add(null), count.add(NaN), count.add('x'.repeat(130))];
            results.push(times.add({ a: 1 }));
            if (results.some((result) => result !== false)) throw new Error(results.join());
            count.add(1);
        }";
    check(
        main,
        1,
        &expect![[r#"
            my_count: {"type":"counter","contains":"default","values":{"count":1,"rate":0.5}}
            log: "metric 'my_count' got no value; pass a number or a boolean"
            log: "metric 'my_count' got 'undefined', which is no number; pass a number or a boolean"
            log: "metric 'my_count' got 'null', which is no number; pass a number or a boolean"
            log: "metric 'my_count' got 'NaN', which is no number; pass a number or a boolean"
            log: "metric 'my_count' got 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (30 characters left out) xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', which is no number; pass a number or a boolean"
            log: "metric 'my_times' got '[object Object]', which is no number; pass a number or a boolean"
        "#]],
    );
    let script = script(main);
    script.shared::<AddRules>().throws.store(true, Ordering::Relaxed);
    let Ran { errors, .. } = run(script, 1);
    expect![[r#"
        Error: metric 'my_count' got no value; pass a number or a boolean
        	at <anonymous> (k6/metrics:10:71)
        	at default (main.js:5:36)
    "#]]
    .assert_eq(&errors);
}

#[test]
fn mistakes_are_exceptions() {
    let iteration = |code: &str| {
        format!(
            "import {{ Counter }} from 'k6/metrics'; const c = new Counter('my_c'); export default () => {{ {code} }}"
        )
    };
    check(
        &iteration("new Counter('my_late')"),
        1,
        &expect![[r#"
            TypeError: new metrics can only be called in the init context, at the top of the script
            	at <anonymous> (k6/metrics:7:60)
            	at default (main.js:1:97)
        "#]],
    );
    check(
        &iteration("c.add(1, { list: [1] })"),
        1,
        &expect![[r#"
            Error: metric 'my_c' got a tag 'list' that is neither a text nor a number nor a boolean
            	at <anonymous> (k6/metrics:10:71)
            	at default (main.js:1:94)
        "#]],
    );
    check(
        &iteration("c.add(1, null); c.add(1, 'text'); c.name = 'other';"),
        1,
        &expect![[r#"
        my_c: {"type":"counter","contains":"default","values":{"count":2,"rate":1}}
        TypeError: 'name' is read-only
        	at default (main.js:1:127)
    "#]],
    );
    let init = |code: &str| {
        let script = script(&format!(
            "import {{ Counter, Trend }} from 'k6/metrics'; {code}; export default () => {{}}"
        ));
        let machine = Machine::new(Arc::new(script), Clock::Real(Instant::now()));
        machine.unwrap().inspect().unwrap_err().to_string()
    };
    let mut text = String::new();
    for code in [
        "new Counter('my metric')",
        "new Trend('my_t'); new Trend('my_t', true)",
        "new Counter('http_reqs', true)",
        "new Trend('http_reqs')",
        "new Counter('my_c').add(1)",
        "Counter('my_c')",
    ] {
        writeln!(text, "{code}: {}", init(code)).expect(WRITTEN);
    }
    expect![[r#"
        new Counter('my metric'): Error: 'my metric' cannot be the name of a metric: take 2 to 129 ASCII letters, digits and underscores, without a digit at the start
        	at <anonymous> (k6/metrics:7:60)
        	at <anonymous> (main.js:1:50)
        new Trend('my_t'); new Trend('my_t', true): Error: metric 'my_t' has values of type default already and cannot have time ones too
        	at <anonymous> (k6/metrics:7:60)
        	at <anonymous> (main.js:1:69)
        new Counter('http_reqs', true): Error: metric 'http_reqs' has values of type default already and cannot have time ones too
        	at <anonymous> (k6/metrics:7:60)
        	at <anonymous> (main.js:1:50)
        new Trend('http_reqs'): Error: metric 'http_reqs' is a counter already and cannot be a trend too
        	at <anonymous> (k6/metrics:7:60)
        	at <anonymous> (main.js:1:50)
        new Counter('my_c').add(1): TypeError: add() of a metric cannot be called in the init context; call it in a function of the script
        	at <anonymous> (k6/metrics:10:71)
        	at <anonymous> (main.js:1:65)
        Counter('my_c'): TypeError: class constructors must be invoked with 'new'
        	at <anonymous> (k6/metrics:6:5)
        	at <anonymous> (main.js:1:45)
    "#]].assert_eq(&text);
}

#[test]
fn samples_of_a_script_reach_the_text_of_the_summary() {
    let main = "
        import { Trend } from 'k6/metrics';
        const times = new Trend('my_times', true);
        export default function () { times.add(1500, { step: 'a' }); }";
    let data: Value = run(script(main), 3).summary.data();
    assert_eq!(data["metrics"]["iterations"]["values"]["count"], 3);
    assert_eq!(
        data["metrics"]["my_times"]["values"],
        serde_json::json!({"avg": 1500, "max": 1500, "count": 3})
    );
}
