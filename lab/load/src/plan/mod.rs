//! Plan files: TOML in, a checked [`Plan`] out, or every mistake with its line and column.

mod answers;
mod feed;
mod keys;
mod load;
#[cfg(test)]
mod properties;
mod reader;
mod request;
mod scenario;
mod schema;
mod sections;
mod subscription;
mod table_file;
mod tables;
mod validate;

pub use schema::{plan_keys_markdown, plan_schema};

use prony_model::Plan;
use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("cannot read the plan {path}: {cause}")]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{0}")]
    Mistakes(Mistakes),
    #[error("{path} {what}")]
    NoPlan { path: PathBuf, what: &'static str },
}

/// All mistakes in a plan, in the order of their places. Shown one a line as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    pub file: String,
    pub list: Vec<Mistake>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// From 1; the column counts characters.
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.list.iter().enumerate() {
            let Mistake { line, column, message } = mistake;
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{line}:{column}: {message}", self.file)?;
        }
        Ok(())
    }
}

/// Reads a plan file. Files that it names are looked for beside it.
pub fn read_plan(path: &Path) -> Result<Plan, PlanError> {
    let text =
        fs::read_to_string(path).map_err(|cause| PlanError::Unreadable { path: path.to_owned(), cause })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let directory = path.parent().unwrap_or(Path::new(""));
    parse_plan(&text, &stem, directory).map_err(|list| match of_another_kind(path) {
        Some(what) => PlanError::NoPlan { path: path.to_owned(), what },
        None => {
            PlanError::Mistakes(Mistakes { file: path.display().to_string(), list: located(&text, list) })
        }
    })
}

/// What a file is whose name is none of a plan, and what to do with it.
fn of_another_kind(path: &Path) -> Option<&'static str> {
    const KINDS: [(&str, &str); 3] = [
        (
            ".prony.json",
            "is a result, and no plan; `prony report` shows it, `prony compare` holds it against another one",
        ),
        (".jtl", "has samples of JMeter, and is no plan; `prony report` counts them"),
        (".csv", "is a table, and no plan; where it has samples of JMeter, `prony report` counts them"),
    ];
    let name = path.file_name()?.to_str()?;
    KINDS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, what)| *what)
}

/// The files that a plan's text names, as it names them: tables that feed it, certificates and keys. Nothing of a text that is no
/// plan.
pub fn plan_files(text: &str) -> Vec<String> {
    let Ok(plan) = text.parse::<toml::Table>() else { return Vec::new() };
    let texts = |value: &toml::Value| match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(list) => list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let of = |table: &toml::Table, keys: &[&str]| {
        keys.iter().filter_map(|key| table.get(*key)).flat_map(texts).collect::<Vec<_>>()
    };
    let table = |key: &str| plan.get(key).and_then(toml::Value::as_table);
    let variables = table("variables").into_iter().flat_map(toml::Table::values);
    let mut files: Vec<String> = variables
        .filter_map(toml::Value::as_table)
        .flat_map(|variable| of(variable, &["csv", "jsonl"]))
        .chain(table("tls").into_iter().flat_map(|tls| of(tls, &["ca", "cert", "key"])))
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// A mistake before its place was turned into line and column.
#[derive(Debug)]
struct Found {
    span: Range<usize>,
    message: String,
}

fn parse_plan(text: &str, default_name: &str, directory: &Path) -> Result<Plan, Vec<Found>> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let found = errors
            .into_iter()
            .map(|error| Found { span: error.span().unwrap_or(0..0), message: error.message().to_owned() });
        return Err(found.collect());
    }
    sections::plan(&table, default_name, directory)
}

fn located(text: &str, mut found: Vec<Found>) -> Vec<Mistake> {
    found.sort_by_key(|found| found.span.start);
    let place = |found: Found| {
        let before = &text[..found.span.start.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Mistake {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: found.message,
        }
    };
    found.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use prony_model::result::PlanSummary;

    fn check(plan: &str, expected: &Expect) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("users.csv"), "id,mail\n7,a@x\n08,b@x\n").unwrap();
        fs::write(directory.path().join("empty.csv"), "id,mail\n").unwrap();
        fs::write(directory.path().join("ragged.csv"), "id,mail\n1\n").unwrap();
        let path = directory.path().join("plan.toml");
        fs::write(&path, plan).unwrap();
        let shown = match read_plan(&path) {
            Ok(plan) => serde_json::to_string_pretty(&PlanSummary::of(&plan, None)).unwrap(),
            Err(PlanError::Mistakes(mistakes)) => {
                Mistakes { file: "plan.toml".to_owned(), ..mistakes }.to_string()
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown.replace(&*directory.path().to_string_lossy(), "DIR"));
    }

    #[test]
    fn a_whole_plan_is_read() {
        check(
            r#"
target = "http://localhost:8080/api"
seed = 42
timeout = "5s"
think_time = { min = "1s", max = "3s" }
connections = "fresh"
warm_up = "2s"
stages = [{ duration = "30s", users = 100 }, { duration = "1m", users = 100 }]
thresholds = ["p95<500ms, errors<1%", "p99{name:one}<1s"]
headers = { Authorization = "Bearer ${user.id}" }

[variables]
offset = { range = [0, 100] }
city = { list = ["Oslo", 7], order = "sequential" }
user = { csv = "users.csv" }

[[requests]]
name = "one"
weight = 3
path = "/v/${offset}?c=${city}"

[[requests]]
name = "two"
graphql = { query = "query($o: Int) { a(o: $o) }", variables = { o = "${offset}", m = "x ${user.mail}" }, operation_name = "Q" }
"#,
            &expect![[r#"
                {
                  "name": "plan",
                  "targets": [
                    "http://localhost:8080/api"
                  ],
                  "scenarios": [
                    {
                      "name": "default",
                      "start_ns": 0,
                      "load": {
                        "model": "closed",
                        "stages": [
                          {
                            "duration_ns": 30000000000,
                            "users": 100
                          },
                          {
                            "duration_ns": 60000000000,
                            "users": 100
                          }
                        ]
                      },
                      "pacing": {
                        "pacing": "think_time",
                        "distribution": "uniform",
                        "min_ns": 1000000000,
                        "max_ns": 3000000000
                      },
                      "tags": {}
                    }
                  ],
                  "timeout_ns": 5000000000,
                  "wire": {
                    "protocol": "http1",
                    "connections": "fresh",
                    "streams": 1,
                    "pipeline": 1,
                    "dns": "once",
                    "tls": {
                      "insecure": false,
                      "ca": [],
                      "cert": null,
                      "key": null,
                      "server_name": null,
                      "resume": true
                    }
                  },
                  "warm_up_ns": 2000000000,
                  "seed": 42,
                  "requests": [
                    {
                      "name": "one",
                      "method": "GET",
                      "weight": 3
                    },
                    {
                      "name": "two",
                      "method": "POST",
                      "weight": 1
                    }
                  ],
                  "tags": {},
                  "rate_cap_per_s": 50.0
                }"#]],
        );
    }

    #[test]
    fn three_mistakes_are_three_lines() {
        check(
            r#"target = "http://localhost"
usrs = 10
duration = "10 parsecs"
users = 10

[[requests]]
name = "é"
path = "/a/${nobody}"
"#,
            &expect![[r"
                plan.toml:2:1: unknown key `usrs`; did you mean `users`?
                plan.toml:3:12: `10 parsecs` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`
                plan.toml:8:8: unknown variable `nobody`; no variable is defined"]],
        );
    }

    #[test]
    fn loads_that_contradict_themselves_are_refused() {
        check(
            r#"target = "http://a"
targets = { b = "http://b" }
users = 10
rate = 5
rate_stages = [{ duration = "1s", rate = -1 }]
max_duration = "1s"
pacing = "1s"
think_time = { mean = "1s", min = "1s", distribution = "lognormal" }
pipeline = 4
protocol = "http2"
tls = { cert = "c.pem" }
requests = [{ path = "/" }]
"#,
            &expect![[r#"
                plan.toml:1:10: `target` and `targets` exclude each other; leave one out
                plan.toml:5:15: `rate`, `rate_stages` exclude each other; leave one
                plan.toml:5:42: `rate` must be a number that is not negative
                plan.toml:7:10: `pacing` and `think_time` exclude each other; leave one out
                plan.toml:9:12: pipelining belongs to HTTP/1.1; HTTP/2 has `streams`
                plan.toml:11:7: no target is encrypted; write `https://` for at least one
                plan.toml:11:16: a client certificate needs its key too; set `tls.key` (PEM files)"#]],
        );
        check(
            r#"target = "http://a"
users = 10
spacing = "poisson"
requests = [{ path = "/" }]
"#,
            &expect![[r#"
                plan.toml:1:1: `duration` is missing; write for example `duration = "30s"`
                plan.toml:3:11: `spacing` has no meaning without `rate` or `rate_stages`"#]],
        );
        check(
            r#"target = "http://a"
duration = "10s"

[[scenarios]]
start = "1s"
iterations = 2
steps = ["a", { request = "b", think_tme = "1s" }]
mix = { a = 1 }

[[scenarios]]
name = "x"
users = 1
duration = "1s"
steps = ["c"]

[[scenarios]]
name = "x"
users = 1
duration = "1s"
mix = { a = 0 }

[[requests]]
name = "a"
path = "/"
target = "nowhere"
"#,
            &expect![[r#"
                plan.toml:2:12: `duration` belongs into the scenarios, each of which has its own
                plan.toml:4:1: `name` is missing; write for example `name = "browse"`
                plan.toml:4:1: `users` is missing; write for example `users = 10`
                plan.toml:7:32: unknown key `think_tme`; did you mean `think_time`?
                plan.toml:8:7: `steps` and `mix` exclude each other; leave one out
                plan.toml:14:9: unknown request `c`; requests are: a
                plan.toml:17:8: two scenarios are named `x`
                plan.toml:20:7: there is no request to send; give one a weight above 0
                plan.toml:25:10: unknown target `nowhere`; targets are: default"#]],
        );
    }

    #[test]
    fn values_that_cannot_be_there_are_refused() {
        check(
            r#"target = "http://a"
users = 1
iterations = 3
steps = ["use", "login"]

[variables]
user = { csv = "users.csv", order = "unique", share = "each_user" }

[[requests]]
name = "login"
path = "/${user.id}"
captures = { token = { json = "/t" } }

[[requests]]
name = "use"
path = "/${token}"
"#,
            &expect![[r#"
                plan.toml:7:8: `user` has 2 rows and gives none twice, but each user can ask for 3; add rows, or write `order = "sequential"`
                plan.toml:15:8: `use` needs `${token}`, which no earlier step of `default` captures"#]],
        );
        check(
            r#"target = "http://a"
users = 1
duration = "1s"
variables.token = { list = [1], share = "each_user" }

[[requests]]
path = "/"
captures = { token = { json = "/t" }, "a.b" = { header = "x" } }

[[requests]]
path = "/${other}"
captures = { other = { json = "/t" } }
"#,
            &expect![[r#"
                plan.toml:4:19: `token` takes rows at random, which are not counted out among users; leave `share` out or write `order = "sequential"`
                plan.toml:8:22: `token` is a variable already; capture into another name
                plan.toml:8:47: `a.b` cannot be written as `${a.b}`; use another name"#]],
        );
        check(
            r#"target = "http://a"
users = 1
duration = "1s"

[[requests]]
name = "capture"
path = "/"
captures = { other = { json = "/t" } }

[[requests]]
path = "/${other}"
"#,
            &expect![
                "plan.toml:10:1: `request 2` needs `${other}`, which another request captures, and each iteration of `default` is a single request; give it `steps`"
            ],
        );
    }

    #[test]
    fn checks_and_captures_that_make_no_sense_are_refused() {
        check(
            r#"target = "http://a"
users = 1
duration = "1s"
thresholds = ["p95{group:none}<1s", "p95{kind:none}<1s", "p95{release:1}<1s"]
tags = { release = "1" }

[[requests]]
path = "/"
tags = { kind = "read" }
captures.a = { json = "t" }
captures.b = { matches = 'x(' }
captures.c = {}
captures.d = { json = "/a", header = "b" }
captures.e = { jsn = "/a" }
checks = [
  { matches = "[z-a]" },
  { status = 200, contains = "x" },
  { json = "/~2" },
  { exists = true },
  { name = "nothing" },
  { contains = "a", lacks = "b" },
  { bytes_min = 9, bytes_max = 3 },
  { contains = "${nobody}" },
  { contains = "x" },
  { contains = "x" },
  { status = 700 },
  "x",
]
"#,
            &expect![[r#"
                plan.toml:4:15: threshold is for `none`; groups are: there is none
                plan.toml:4:37: threshold is for `none`; values of the tag `kind` are: read
                plan.toml:4:58: threshold is for `release`; tags are: kind, name, group
                plan.toml:10:23: `t` is no JSON pointer: it must be empty or start with `/`, as in `/data/items/0/id`
                plan.toml:11:26: `x(` is no regular expression: unclosed group at character 2
                plan.toml:12:14: needs one of `json`, `header`, `matches`
                plan.toml:13:38: `json` and `header` exclude each other; leave one out
                plan.toml:14:16: unknown key `jsn`; did you mean `json`?
                plan.toml:16:15: `[z-a]` is no regular expression: invalid character class range, the start must be <= the end at character 2
                plan.toml:17:30: `status` and `contains` are two checks; write a table for each
                plan.toml:18:12: `/~2` is no JSON pointer: after `~` stands `0` (for `~`) or `1` (for `/`)
                plan.toml:19:14: `exists` looks at a `json` value or a `header`; name one
                plan.toml:20:3: checks nothing; write one of `status`, `json`, `header`, `equals`, `contains`, `lacks`, `matches`, `bytes_min`, `bytes_max`
                plan.toml:21:3: `contains`, `lacks` are several checks; write a table for each
                plan.toml:22:17: no body has at least 9 and at most 3 bytes
                plan.toml:23:3: unknown variable `nobody`; no variable is defined
                plan.toml:25:3: two checks are named `body contains "x"`; they are counted by name
                plan.toml:26:14: `status` must be from 0 to 599, not 700
                plan.toml:27:3: expected a table with `name`, `status`, `json`, `header`, `exists`, `equals`, `contains`, `lacks`, `matches`, `bytes_min`, `bytes_max`, not a text"#]],
        );
    }

    #[test]
    fn what_can_never_hold_or_be_sent_is_refused() {
        check(
            r#"target = "http://a"
users = 1
duration = "1s"
mix = {}

[variables]
id = { list = [1, 18446744073709551616] }

[[requests]]
name = "a"
path = "/"
json = { id = 18446744073709551615, far = -9223372036854775809, no = [nan, 1e999] }
expect_status = []
captures.a = { header = "X Id", default = 99999999999999999999 }
checks = [{ status = [] }, { header = "" }, { json = "/a", equals = inf }]
"#,
            &expect![[r#"
                plan.toml:4:7: `mix` names no request; write for example `{ browse = 9, buy = 1 }`
                plan.toml:7:19: 18446744073709551616 is beyond the range of 64 bits with a sign; write it in `body`, or take it from a `jsonl` file
                plan.toml:12:15: 18446744073709551615 is beyond the range of 64 bits with a sign; write it in `body`, or take it from a `jsonl` file
                plan.toml:12:43: -9223372036854775809 is beyond the range of 64 bits with a sign; write it in `body`, or take it from a `jsonl` file
                plan.toml:12:71: nan is no number that JSON can hold
                plan.toml:12:76: 1e999 is no number that JSON can hold
                plan.toml:13:17: `expect_status` names no status, so no response can have it; write for example `[200, 404]`
                plan.toml:14:25: `X Id` is not a header name
                plan.toml:14:43: 99999999999999999999 is beyond the range of 64 bits with a sign; write it in `body`, or take it from a `jsonl` file
                plan.toml:15:22: `status` names no status, so no response can have it; write for example `[200, 404]`
                plan.toml:15:39: `` is not a header name
                plan.toml:15:69: inf is no number that JSON can hold"#]],
        );
        check(
            "target = 'http://a'\nusers = 2000000\niterations = 0\n[[requests]]\npath = '/'\n",
            &expect![[r#"
                plan.toml:2:9: 2000000 users are more than the limit of 1000000; ask for fewer
                plan.toml:2:9: there are no iterations to make; ask for at least one"#]],
        );
    }

    #[test]
    fn thresholds_are_for_what_is_sent() {
        check(
            r#"target = "http://a"
thresholds = ["p95{name:one}<1s", "p95{name:two}<1s", "p95{group:g}<1s", "p95{kind:x}<1s", "p95{same:s}<1s"]

[[scenarios]]
name = "A"
users = 1
duration = "1s"
steps = ["one"]
tags = { kind = "x", same = "s" }

[[scenarios]]
name = "B"
users = 1
duration = "1s"
mix = { one = 1, two = 0 }
tags = { kind = "y", same = "s" }

[[requests]]
name = "one"
path = "/"

[[requests]]
name = "two"
path = "/"
group = "g"
"#,
            &expect![[r"
                plan.toml:2:35: threshold `p95{name:two}<1s` is for requests that no scenario sends; name it in `steps` or `mix`, or give it a weight
                plan.toml:2:55: threshold `p95{group:g}<1s` is for requests that no scenario sends; name it in `steps` or `mix`, or give it a weight
                plan.toml:2:74: threshold `p95{kind:x}<1s` is for requests that no scenario sends; a request has a scenario's tag where all scenarios that send it have it: give the tag to the request"]],
        );
    }

    #[test]
    fn pipelines_go_to_one_target_and_have_rows_enough() {
        let plan = |rest: &str| {
            format!(
                "targets = {{ a = 'http://a', b = 'http://b' }}\nusers = 2\niterations = 2\npipeline = 3\n{rest}\
                 [[requests]]\nname = 'one'\npath = '/${{row}}'\n\
                 [[requests]]\nname = 'two'\npath = '/'\ntarget = 'b'\n"
            )
        };
        let rows = "[variables]\nrow = { list = [1, 2, 3, 4, 5, 6, 7, 8], order = 'unique' }\n";
        check(
            &plan(&format!("mix = {{ one = 1 }}\n{rows}")),
            &expect![[r#"
                plan.toml:7:7: `row` has 8 rows and gives none twice, but the load can ask for 12; add rows, or write `order = "sequential"`"#]],
        );
        check(
            &plan(rows),
            &expect![
                "plan.toml:4:12: requests of a pipeline share a connection, and those of `default` go to several targets; write a scenario for each target, or leave `pipeline` out"
            ],
        );
        check(
            &plan(&format!("steps = ['one', 'two']\n{rows}")),
            &expect![
                "plan.toml:4:12: each of `steps` waits for the response of the one before; leave `pipeline` out"
            ],
        );
    }

    #[test]
    fn each_mistake_says_what_to_write() {
        check(
            r#"target = "ftp://localhost"
think_time = 2
connections = "keep"
stages = [{ duration = "1s" }, { duration = "1s", users = -1, user = 3 }, 5]
thresholds = ["p95<500ms", "p99", "p95{name:nobody}<1s"]
seed = "x"

[variables]
a = { range = [5, 1] }
b = { list = [] }
c = { rang = [1, 2] }
d = { csv = "none.csv" }
e = { csv = "empty.csv" }
f = { csv = "ragged.csv" }
g = 5
h = { list = [1], range = [1, 2] }

[[requests]]
path = "no/slash"
method = "GE T"
body = "x"
graphql = { query = "{ a }" }
expect_status = [99]

[[requests]]
weight = "many"
"#,
            &expect![[r#"
                plan.toml:1:10: target `ftp://localhost` must start with `http://` or `https://`
                plan.toml:2:14: expected a duration such as `"30s"` or a table with `min`, `max`, `mean`, `deviation`, `distribution`, not a whole number
                plan.toml:3:15: unknown connections `keep`; did you mean `kept`?
                plan.toml:4:11: `users` is missing; write for example `users = 100`
                plan.toml:4:59: `users` must be from 0 to 4294967295, not -1
                plan.toml:4:63: unknown key `user`; did you mean `users`?
                plan.toml:4:75: expected a table with `duration`, `users`, not a whole number
                plan.toml:5:28: threshold `p99`: has no comparison; write for example `p95<500ms`
                plan.toml:5:35: threshold is for `nobody`; requests are: request 1, request 2
                plan.toml:6:8: expected a whole number, not a text
                plan.toml:9:5: range of `a` is empty: 5 is above 1; write the smaller one first
                plan.toml:10:5: `b` has no values; give it at least one
                plan.toml:11:7: unknown key `rang`; did you mean `range`?
                plan.toml:12:13: cannot use the CSV file `none.csv`: DIR/none.csv: No such file or directory (os error 2)
                plan.toml:13:13: cannot use the CSV file `empty.csv`: it has a header but no rows; add at least one
                plan.toml:14:13: cannot use the CSV file `ragged.csv`: CSV error: record 1 (line: 2, byte: 8): found record with 1 fields, but the previous record has 2 fields
                plan.toml:15:5: expected a table with `range`, `list`, `csv`, `jsonl`, `token`, `order`, `share`, `take`, `types`, not a whole number
                plan.toml:16:5: `range`, `list` exclude each other; leave one
                plan.toml:20:10: `GE T` is not an HTTP method
                plan.toml:21:8: `body` and `graphql` exclude each other; leave one out
                plan.toml:23:17: status 99 cannot be expected; use 200 to 599
                plan.toml:25:1: `path` is missing; write for example `path = "/items"`
                plan.toml:26:10: expected a whole number, not a text"#]],
        );
        check("target = 'http://x'\nusers = [\n", &expect!["plan.toml:2:10: unclosed array, expected `]`"]);
        check(
            "",
            &expect![[r#"
                plan.toml:1:1: there is no request; add `[[requests]]` with a `path` or `graphql`
                plan.toml:1:1: `stages` is missing; write for example `stages = [{ duration = "30s", users = 100 }]`
                plan.toml:1:1: `target` is missing; write for example `target = "http://127.0.0.1:8080"`"#]],
        );
    }

    #[test]
    fn users_beside_subscriptions_need_a_request_too() {
        let stages = "target = 'http://x'\nstages = [{ duration = '1s', users = 1 }]\n";
        let missing =
            &expect!["plan.toml:1:1: there is no request; add `[[requests]]` with a `path` or `graphql`"];
        check(&format!("{stages}subscriptions = []\n"), missing);
        check(&format!("{stages}[[subscriptions]]\nquery = 'subscription {{ a }}'\nclients = 1\n"), missing);
    }

    #[test]
    fn the_files_of_a_plan_are_named() {
        let text = r#"
target = "https://a"
tls = { ca = ["ca.pem", "other.pem"], cert = "c.pem", key = "k.pem", server_name = "a" }
[variables]
one = { csv = "users.csv" }
two = { jsonl = "../data/ä.jsonl", order = "unique" }
same = { csv = "users.csv", types = "text" }
list = { list = ["not.csv"] }
"#;
        let expected = ["../data/ä.jsonl", "c.pem", "ca.pem", "k.pem", "other.pem", "users.csv"];
        assert_eq!(plan_files(text), expected);
        assert_eq!(plan_files("no plan"), Vec::<String>::new());
    }
}
