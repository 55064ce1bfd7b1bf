//! How exactly a rate of 50,000 requests/s is kept when more are offered: by one server with two cores, and by two servers that share
//! it in a Redis. Prints what was let in beside what may be, and how often the Redis was asked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use prony_testkit::RedisServer;

use crate::{data, drivers::script_file, statistics::print_table, subject::Subject};

const RATE_PER_S: f64 = 50_000.0;
const BURST: f64 = 500.0;
const SECONDS: u32 = 10;
const CONNECTIONS: u32 = 8;
/// Requests that wrk sends together: one at a time would measure round trips.
const PIPELINED: u32 = 32;

/// What one wrk has counted.
struct Offered {
    requests: f64,
    refused: f64,
    seconds: f64,
}

/// Prints a row for each way of counting; the aim is a difference of at most 1 %.
pub(crate) fn exactness() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = script_file(folder.path(), "pipelined.lua", &script());
    let head =
        ["counted", "offered/s", "let in", "may be let in", "difference", "calls of Redis", "a request"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for _ in 0..crate::ROUNDS {
        let one = Subject::start(&config(folder.path(), ""), &[], Some("0,1"));
        rows.push(row("in process", &offer(&[&one], &script), None));
        drop(one);
        let redis = RedisServer::start(&[]);
        let limits = format!("[limits]\nredis = \"redis://127.0.0.1:{}\"\n", redis.port());
        let config = config(folder.path(), &limits);
        let servers = ["0", "1"].map(|core| Subject::start(&config, &[], Some(core)));
        let offered = offer(&servers.each_ref(), &script);
        let calls = servers.iter().map(redis_calls).sum();
        rows.push(row("two servers, over Redis", &offered, Some(calls)));
    }
    print_table(&rows);
}

fn row(name: &str, offered: &[Offered], calls: Option<f64>) -> Vec<String> {
    let requests: f64 = offered.iter().map(|of| of.requests).sum();
    let let_in = requests - offered.iter().map(|of| of.refused).sum::<f64>();
    let seconds = offered.iter().map(|of| of.seconds).fold(0.0, f64::max);
    let most = RATE_PER_S.mul_add(seconds, BURST);
    vec![
        name.to_owned(),
        format!("{:.0}", requests / seconds),
        format!("{let_in:.0}"),
        format!("{most:.0}"),
        format!("{:+.2} %", (let_in / most - 1.0) * 100.0),
        calls.map_or_else(String::new, |calls| format!("{calls:.0}")),
        calls.map_or_else(String::new, |calls| format!("{:.4}", calls / requests)),
    ]
}

/// A wrk for each server, all at the same time.
fn offer(servers: &[&Subject], script: &Path) -> Vec<Offered> {
    let urls: Vec<String> = servers.iter().map(|server| server.graphql_url()).collect();
    thread::scope(|scope| {
        let each = urls.iter().map(|url| scope.spawn(move || wrk(url, script)));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|thread| thread.join().expect("wrk has run")).collect()
    })
}

fn wrk(url: &str, script: &Path) -> Offered {
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{SECONDS}s"), "-s"])
        .arg(script)
        .arg(url)
        .output()
        .expect("wrk is installed (apt-get install wrk)");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Socket errors"), "wrk saw failures:\n{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let before = |word: &str| words.iter().position(|known| *known == word).map(|place| words[place - 1]);
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    // `500000 requests in 10.02s, 1.00GB read`, and `Non-2xx or 3xx responses: 7`.
    let place = words.iter().position(|word| *word == "in");
    let seconds = place.and_then(|place| words[place + 1].trim_end_matches([',', 's']).parse().ok());
    let refused = words.iter().position(|word| *word == "responses:").map(|place| words[place + 1]);
    Offered {
        requests: number(before("requests")).expect("wrk says how many"),
        refused: number(refused).unwrap_or(0.0),
        seconds: seconds.expect("wrk says how long"),
    }
}

fn redis_calls(server: &Subject) -> f64 {
    let text = ureq::get(format!("{}/metrics", server.url)).call().expect("the subject responds");
    let text = text.into_body().read_to_string().expect("it is text");
    let line = text.lines().find_map(|line| line.strip_prefix("prony_shared_limits_calls_total{} "));
    line.and_then(|value| value.parse().ok()).expect("it counts its calls")
}

/// The flag that names the file.
fn config(folder: &Path, limits: &str) -> String {
    let path: PathBuf = folder.join(format!("limits{}.toml", limits.len()));
    let text = format!(
        "[[source]]\nurl = \"{}\"\n[auth]\nanonymous = \"visitor\"\n[roles.visitor]\nunrestricted = true\n\
         [[operation]]\nmatch = \"*\"\nrate_limit = [{{ by = \"everybody\", rate = \"{RATE_PER_S:.0}/s\", burst = {BURST:.0} }}]\n{limits}",
        data::sqlite_source()
    );
    fs::write(&path, text).expect("the temporary folder is writable");
    format!("--config={}", path.display())
}

fn script() -> String {
    format!(
        r#"
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{{"query":"{{ __typename }}"}}'
function init(args)
  local all = {{}}
  for place = 1, {PIPELINED} do all[place] = wrk.format() end
  requests = table.concat(all)
end
function request() return requests end
"#
    )
}
