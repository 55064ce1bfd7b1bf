//! The same 10,000,000 rows in the engine, in `InfluxDB` 1.x and in `DuckDB`: how fast they go in, how long four queries take, and how many bytes
//! a value has on the disk, for decimals and for doubles that are none. The engine and `InfluxDB` take the same lines and answer over
//! HTTP; `DuckDB` reads the same rows as CSV and answers within the process of a Python that has it, without a network between.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{free_port, process::PronyProcess};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    ROUNDS,
    statistics::{median, print_table},
    subject::Subject,
};

const ENTITIES: u32 = 1_000;
const MINUTES: u32 = 10_000;
/// Of a row: a temperature and a pressure.
const VALUES: u32 = 2;
const MINUTES_A_DAY: u32 = 24 * 60;
/// 2024-01-01, when the first rows are of.
const BEGIN_S: u64 = 1_704_067_200;
/// Lines of a body: ten minutes of all entities.
const MINUTES_A_BODY: u32 = 10;
const CONNECTIONS: usize = 4;
/// So long without a change of its files, and a store is taken to be at rest.
const REST: Duration = Duration::from_secs(15);
const REST_MAX: Duration = Duration::from_secs(240);
const START_MAX: Duration = Duration::from_secs(30);
/// Of the sums that the stores' answers must agree in.
const TOLERANCE: f64 = 1e-9;

/// Where the settings of the measurement differ from the file's defaults: its own places, and full compaction at once rather than after
/// four hours without a write.
const INFLUX_SETTINGS: &str = r#"
reporting-disabled = true
bind-address = "127.0.0.1:@RPC"
[meta]
dir = "@DIR/meta"
[data]
dir = "@DIR/data"
wal-dir = "@DIR/wal"
index-version = "tsi1"
query-log-enabled = false
cache-snapshot-write-cold-duration = "5s"
compact-full-write-cold-duration = "5s"
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:@HTTP"
log-enabled = false
max-body-size = 0
"#;

/// Each line of its input is a statement and how often to run it; each line of its output the seconds of each time, and what it gave.
const PYTHON: &str = r#"
import duckdb, json, sys, time
connection = duckdb.connect(sys.argv[1])
connection.execute("SET enable_progress_bar = false")
print(json.dumps(duckdb.__version__), flush=True)
for line in sys.stdin:
    statement, times = json.loads(line)
    seconds, rows = [], []
    for _ in range(times):
        begin = time.perf_counter()
        rows = connection.execute(statement).fetchall()
        seconds.append(time.perf_counter() - begin)
    numbers = [row[-1] for row in rows if isinstance(row[-1], (int, float))]
    print(json.dumps([seconds, len(numbers), sum(numbers)]), flush=True)
"#;

/// What the temperatures are; the pressure is a whole number of three digits in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temperature {
    TwoDecimals,
    /// 24 bits of noise.
    Floats,
    /// 53 bits of noise.
    Doubles,
}

impl Temperature {
    const ALL: [Self; 3] = [Self::TwoDecimals, Self::Floats, Self::Doubles];

    fn label(self) -> &'static str {
        match self {
            Self::TwoDecimals => "two decimals",
            Self::Floats => "noise of 24 bits (a float)",
            Self::Doubles => "noise of 53 bits (a double)",
        }
    }

    /// A wave over the day, and noise.
    fn of(self, entity: u32, minute: u32) -> f64 {
        let phase = f64::from((minute + 37 * entity) % MINUTES_A_DAY) / f64::from(MINUTES_A_DAY);
        let wave = 20.0 + 5.0 * (phase * std::f64::consts::TAU).sin();
        let noise = mixed(entity, minute) as f64 / u64::MAX as f64 / 5.0;
        match self {
            Self::TwoDecimals => ((wave + noise) * 100.0).round() / 100.0,
            Self::Floats => f64::from((wave + noise) as f32),
            Self::Doubles => wave + noise,
        }
    }
}

fn pressure(entity: u32, minute: u32) -> u64 {
    u64::from(700 + (minute / 60 + entity) % 40) + mixed(entity, minute) / 20 % 3
}

/// A number that looks drawn and is the same in every run (the finalizer of `SplitMix64`).
fn mixed(entity: u32, minute: u32) -> u64 {
    let mut state = (u64::from(entity) << 32 | u64::from(minute)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// In the order of time, as things tell of themselves.
fn bodies(temperature: Temperature) -> Vec<String> {
    let body = |from: u32| {
        let mut body = String::new();
        for minute in from..from + MINUTES_A_BODY {
            let time = (BEGIN_S + u64::from(minute) * 60) * 1_000_000_000;
            for entity in 0..ENTITIES {
                let (degrees, pressure) = (temperature.of(entity, minute), pressure(entity, minute));
                writeln!(body, "Room,id=Room:{entity} temperature={degrees},pressure={pressure}i {time}")
                    .expect("writing into memory does not fail");
            }
        }
        body
    };
    (0..MINUTES).step_by(MINUTES_A_BODY as usize).map(body).collect()
}

/// The same rows for `DuckDB`, with times in seconds.
fn table(temperature: Temperature, path: &Path) {
    let mut file = std::io::BufWriter::new(fs::File::create(path).expect("a file can be made"));
    for minute in 0..MINUTES {
        let time = BEGIN_S + u64::from(minute) * 60;
        for entity in 0..ENTITIES {
            let (degrees, pressure) = (temperature.of(entity, minute), pressure(entity, minute));
            writeln!(file, "{time},Room:{entity},{pressure},{degrees}").expect("the disk has room");
        }
    }
    file.flush().expect("the disk has room");
}

#[derive(Debug, Clone, Copy)]
enum Question {
    LastTen,
    Day,
    Hourly,
    DailyAll,
}

impl Question {
    const ALL: [Self; 4] = [Self::LastTen, Self::Day, Self::Hourly, Self::DailyAll];

    fn label(self) -> &'static str {
        match self {
            Self::LastTen => "last 10 of one entity",
            Self::Day => "a day of one attribute",
            Self::Hourly => "hourly averages of one entity",
            Self::DailyAll => "daily averages of all",
        }
    }

    /// In each round.
    fn times(self) -> usize {
        match self {
            Self::LastTen => 200,
            Self::Day | Self::Hourly => 50,
            Self::DailyAll => 3,
        }
    }

    fn ngsi(self, room: u32) -> String {
        let one = format!("/v2/entities/Room:{room}/attrs/temperature");
        match self {
            Self::LastTen => format!("{one}?lastN=10"),
            Self::Day => format!("{one}?fromDate=2024-01-04T00:00:00Z&toDate=2024-01-04T23:59:59.999Z"),
            Self::Hourly => format!("{one}?aggrMethod=avg&aggrPeriod=hour"),
            Self::DailyAll => {
                "/v2/types/Room/attrs/temperature?aggrMethod=avg&aggrPeriod=day&limit=1000000".to_owned()
            }
        }
    }

    fn influx(self, room: u32) -> String {
        let one = format!("id = 'Room:{room}'");
        let all = "time >= '2024-01-01T00:00:00Z' AND time < '2024-01-08T00:00:00Z'";
        match self {
            Self::LastTen => {
                format!("SELECT temperature FROM Room WHERE {one} ORDER BY time DESC LIMIT 10")
            }
            Self::Day => format!(
                "SELECT temperature FROM Room WHERE {one} AND time >= '2024-01-04T00:00:00Z' AND time < '2024-01-05T00:00:00Z'"
            ),
            Self::Hourly => {
                format!(
                    "SELECT mean(temperature) FROM Room WHERE {one} AND {all} GROUP BY time(1h) fill(none)"
                )
            }
            Self::DailyAll => {
                format!("SELECT mean(temperature) FROM Room WHERE {all} GROUP BY time(1d), id fill(none)")
            }
        }
    }

    fn sql(self, room: u32) -> String {
        let one = format!("id = 'Room:{room}'");
        match self {
            Self::LastTen => {
                format!("SELECT time, temperature FROM room WHERE {one} ORDER BY time DESC LIMIT 10")
            }
            Self::Day => format!(
                "SELECT time, temperature FROM room WHERE {one} AND time >= '2024-01-04' AND time < '2024-01-05' ORDER BY time"
            ),
            Self::Hourly => format!(
                "SELECT date_trunc('hour', time) AS hour, avg(temperature) FROM room WHERE {one} GROUP BY hour ORDER BY hour"
            ),
            Self::DailyAll => {
                "SELECT id, date_trunc('day', time) AS day, avg(temperature) FROM room GROUP BY id, day ORDER BY id, day"
                    .to_owned()
            }
        }
    }
}

/// How many numbers an answer has, and their sum.
type Answer = (usize, f64);

/// One of the stores while it runs.
trait Store {
    fn name(&self) -> String;
    /// Rows a second.
    fn fill(&mut self, temperature: Temperature) -> f64;
    /// Seconds of each time, and the last answer.
    fn ask(&mut self, question: Question, room: u32, times: usize) -> (Vec<f64>, Answer);
    /// Puts its files together as it does by itself in time; nothing is asked of it any more.
    fn settle(&mut self) {}
    fn folder(&self) -> &Path;
}

pub(crate) fn beside_each_other() {
    let mut bytes = vec![vec!["bytes a value; temperatures of".to_owned()]];
    for temperature in Temperature::ALL {
        let mut stores: [Box<dyn Store>; 3] =
            [Box::new(Engine::start()), Box::new(Influx::start()), Box::new(Duck::start())];
        let rates: Vec<f64> = stores.iter_mut().map(|store| store.fill(temperature)).collect();
        let names: Vec<String> = stores.iter().map(|store| store.name()).collect();
        if bytes.len() == 1 {
            bytes[0].extend(names.iter().cloned());
            print_times(&mut stores, &names, &rates);
        }
        for store in &mut stores {
            store.settle();
        }
        let rests: Vec<f64> = stores.iter().map(|store| bytes_at_rest(store.folder()) as f64).collect();
        let values = f64::from(ENTITIES) * f64::from(MINUTES) * f64::from(VALUES);
        let mut row = vec![temperature.label().to_owned()];
        row.extend(rests.iter().map(|rest| format!("{:.2}", rest / values)));
        bytes.push(row);
    }
    print_table(&bytes);
}

fn print_times(stores: &mut [Box<dyn Store>], names: &[String], rates: &[f64]) {
    let mut rows = vec![vec![format!("{} rows", u64::from(ENTITIES) * u64::from(MINUTES))]];
    rows[0].extend(names.iter().cloned());
    rows.push(vec!["rows/s in".to_owned()]);
    rows[1].extend(rates.iter().map(|rate| format!("{rate:.0}")));
    for question in Question::ALL {
        let mut found = vec![Vec::new(); stores.len()];
        // The first round warms up, and is not counted.
        for round in 0..=ROUNDS {
            let room = ENTITIES / 2 + round as u32;
            let mut expected: Option<Answer> = None;
            for (store, found) in stores.iter_mut().zip(&mut found) {
                let (seconds, answer) = store.ask(question, room, question.times());
                let (count, sum) = *expected.get_or_insert(answer);
                let differs = answer.0 != count || (answer.1 - sum).abs() > TOLERANCE * sum.abs();
                assert!(
                    !differs,
                    "{}: {} gives {answer:?}, not {:?}",
                    question.label(),
                    store.name(),
                    (count, sum)
                );
                if round > 0 {
                    found.push(median(&seconds) * 1e3);
                }
            }
        }
        let mut row = vec![format!("{}, p50, ms", question.label())];
        row.extend(found.iter().map(|times| format!("{:.3}", median(times))));
        rows.push(row);
    }
    print_table(&rows);
}

/// Once nothing changes any more.
fn bytes_at_rest(folder: &Path) -> u64 {
    let begin = Instant::now();
    let (mut size, mut since) = (bytes_in(folder), Instant::now());
    while since.elapsed() < REST && begin.elapsed() < REST_MAX {
        thread::sleep(Duration::from_millis(500));
        let now = bytes_in(folder);
        if now != size {
            (size, since) = (now, Instant::now());
        }
    }
    size
}

fn bytes_in(folder: &Path) -> u64 {
    // Files go while a store compacts.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Each body once, over some connections; rows a second.
fn post_all(url: &str, bodies: &[String]) -> f64 {
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    thread::scope(|threads| {
        for _ in 0..CONNECTIONS {
            threads.spawn(|| {
                let agent = agent();
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    agent.post(url).send(body).unwrap_or_else(|error| panic!("{url} refuses lines: {error}"));
                }
            });
        }
    });
    f64::from(ENTITIES) * f64::from(MINUTES) / begin.elapsed().as_secs_f64()
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).build().into()
}

/// Gets the same path so often; numbers of the answer are read by `numbers`, which is not timed.
fn get(
    agent: &ureq::Agent,
    url: &str,
    times: usize,
    numbers: impl Fn(&Value) -> Answer,
) -> (Vec<f64>, Answer) {
    let mut seconds = Vec::with_capacity(times);
    let mut text = String::new();
    for _ in 0..times {
        let begin = Instant::now();
        let answer = agent.get(url).call().unwrap_or_else(|error| panic!("{url}: {error}"));
        text = answer.into_body().read_to_string().expect("an answer in UTF-8");
        seconds.push(begin.elapsed().as_secs_f64());
    }
    (seconds, numbers(&serde_json::from_str(&text).expect("an answer in JSON")))
}

fn add(numbers: impl Iterator<Item = f64>) -> Answer {
    numbers.fold((0, 0.0), |(count, sum), number| (count + 1, sum + number))
}

struct Engine {
    /// None once it has settled.
    subject: Option<Subject>,
    directory: TempDir,
    agent: ureq::Agent,
}

impl Engine {
    fn start() -> Self {
        let directory = directory();
        let subject = Subject::start(&format!("series:{}", directory.path().display()), &[], None);
        Self { subject: Some(subject), directory, agent: agent() }
    }

    fn url(&self) -> &str {
        &self.subject.as_ref().expect("it runs").url
    }
}

impl Store for Engine {
    fn name(&self) -> String {
        "Prony".to_owned()
    }

    fn fill(&mut self, temperature: Temperature) -> f64 {
        post_all(&format!("{}/write", self.url()), &bodies(temperature))
    }

    fn ask(&mut self, question: Question, room: u32, times: usize) -> (Vec<f64>, Answer) {
        let url = format!("{}{}", self.url(), question.ngsi(room));
        get(&self.agent, &url, times, |json| match json["entities"].as_array() {
            Some(entities) => add(entities.iter().flat_map(|entity| numbers(&entity["values"]))),
            None => add(numbers(&json["values"])),
        })
    }

    /// Of the log, up to 64 MiB are there in rows; with so few rows that would be most of its bytes.
    fn settle(&mut self) {
        drop(self.subject.take());
        let mut compact = Command::new(env!("CARGO_BIN_EXE_prony"));
        let status = compact.args(["series", "compact"]).arg(self.directory.path()).status();
        assert!(status.expect("prony can be started").success(), "the store compacts");
    }

    fn folder(&self) -> &Path {
        self.directory.path()
    }
}

fn numbers(values: &Value) -> impl Iterator<Item = f64> {
    values.as_array().into_iter().flatten().filter_map(Value::as_f64)
}

struct Influx {
    _process: PronyProcess,
    url: String,
    directory: TempDir,
    agent: ureq::Agent,
    version: String,
}

impl Influx {
    fn start() -> Self {
        let directory = directory();
        let (rpc, http) = (free_port(), free_port());
        let settings = INFLUX_SETTINGS
            .replace("@RPC", &rpc.to_string())
            .replace("@HTTP", &http.to_string())
            .replace("@DIR", &directory.path().display().to_string());
        let path = directory.path().join("influxdb.conf");
        fs::write(&path, settings).expect("the target's folder can be written");
        let process = PronyProcess::start("influxd", [Path::new("-config"), &path]);
        let (url, agent) = (format!("http://127.0.0.1:{http}"), agent());
        let begin = Instant::now();
        let version = loop {
            match agent.get(format!("{url}/ping")).call() {
                Ok(answer) => {
                    let version = answer.headers().get("x-influxdb-version");
                    break version.and_then(|version| version.to_str().ok()).unwrap_or("?").to_owned();
                }
                Err(error) => assert!(begin.elapsed() < START_MAX, "InfluxDB does not answer: {error}"),
            }
            thread::sleep(Duration::from_millis(50));
        };
        let created = agent.post(format!("{url}/query?q=CREATE%20DATABASE%20rooms")).send_empty();
        created.expect("InfluxDB makes a database");
        Self { _process: process, url, directory, agent, version }
    }
}

impl Store for Influx {
    fn name(&self) -> String {
        format!("InfluxDB {}", self.version)
    }

    fn fill(&mut self, temperature: Temperature) -> f64 {
        post_all(&format!("{}/write?db=rooms", self.url), &bodies(temperature))
    }

    fn ask(&mut self, question: Question, room: u32, times: usize) -> (Vec<f64>, Answer) {
        let statement = question.influx(room).replace(' ', "%20").replace('>', "%3E").replace('<', "%3C");
        let url = format!("{}/query?db=rooms&epoch=ms&q={statement}", self.url);
        get(&self.agent, &url, times, |json| {
            let series = json["results"][0]["series"].as_array().into_iter().flatten();
            let rows = series.flat_map(|series| series["values"].as_array().into_iter().flatten());
            add(rows.filter_map(|row| row[1].as_f64()))
        })
    }

    fn folder(&self) -> &Path {
        self.directory.path()
    }
}

struct Duck {
    python: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    version: String,
    database: PathBuf,
    directory: TempDir,
}

impl Duck {
    fn start() -> Self {
        let directory = directory();
        let database = directory.path().join("database");
        fs::create_dir(&database).expect("the target's folder can be written");
        let program = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut python = Command::new(program)
            .args(["-c", PYTHON])
            .arg(database.join("rooms.duckdb"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python can be started");
        let (input, output) = (python.stdin.take().expect("piped"), python.stdout.take().expect("piped"));
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).expect("Python writes UTF-8");
        let version =
            serde_json::from_str(&line).expect("a Python with DuckDB (pip install duckdb; PYTHON names it)");
        Self { python, input, output, version, database, directory }
    }

    fn run(&mut self, statement: &str, times: usize) -> (Vec<f64>, Answer) {
        let asked = serde_json::json!([statement, times]);
        writeln!(self.input, "{asked}").expect("Python reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("Python writes UTF-8");
        let (seconds, count, sum) = serde_json::from_str(&line).expect("DuckDB runs the statement");
        (seconds, (count, sum))
    }
}

impl Drop for Duck {
    fn drop(&mut self) {
        // It ends anyway when its input does.
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}

impl Store for Duck {
    fn name(&self) -> String {
        format!("DuckDB {}, in process", self.version)
    }

    fn fill(&mut self, temperature: Temperature) -> f64 {
        let rows = self.directory.path().join("rows.csv");
        table(temperature, &rows);
        self.run("CREATE TABLE room (time TIMESTAMP, id VARCHAR, pressure INTEGER, temperature DOUBLE)", 1);
        let columns = "{'s': 'BIGINT', 'id': 'VARCHAR', 'pressure': 'INTEGER', 'temperature': 'DOUBLE'}";
        let copy = format!(
            "INSERT INTO room SELECT to_timestamp(s)::TIMESTAMP, id, pressure, temperature FROM read_csv('{}', header = false, columns = {columns})",
            rows.display()
        );
        let (seconds, _) = self.run(&copy, 1);
        let (checkpoint, _) = self.run("CHECKPOINT", 1);
        fs::remove_file(&rows).expect("the file was there");
        f64::from(ENTITIES) * f64::from(MINUTES) / (seconds[0] + checkpoint[0])
    }

    fn ask(&mut self, question: Question, room: u32, times: usize) -> (Vec<f64>, Answer) {
        self.run(&question.sql(room), times)
    }

    fn folder(&self) -> &Path {
        &self.database
    }
}

fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target's folder")
}
