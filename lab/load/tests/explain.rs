//! What `--explain` says of a plan.

use expect_test::expect_file;
use prony_load::{explain, read_plan};
use std::fs;

const PLAN: &str = r#"
targets = { shop = "http://127.0.0.1:8080", pay = "https://pay.example" }
warm_up = "5s"
think_time = { mean = "2s" }
thresholds = ["p95{group:checkout}<1s"]
observe = ["pid:1"]
tags = { release = "1.4" }
tls = { insecure = true }

[variables]
user = { csv = "users.csv", order = "unique" }
n = { range = [5, 5] }

[[scenarios]]
name = "buyers"
stages = [{ duration = "10s", users = 20 }, { duration = "50s", users = 20 }]
steps = ["login", { request = "buy", think_time = "1s" }, "pay"]
after_failure = "continue"
tags = { kind = "buyer" }

[[scenarios]]
name = "guests"
start = "10s"
rate = 40
duration = "50s"
spacing = "poisson"
mix = { look = 3, search = 1 }

[[requests]]
name = "login"
path = "/login"
json = { id = "${user.id}" }
captures = { token = { json = "/token" }, page = { header = "Link", matches = "<(.*)>", default = "/" } }

[[requests]]
name = "buy"
path = "/buy?n=${n}"
headers = { Authorization = "Bearer ${token}" }
checks = [{ json = "/ok", equals = true }, { name = "small", bytes_max = 1000 }]
group = "checkout"

[[requests]]
name = "pay"
target = "pay"
method = "POST"
path = "/pay"
expect_status = [201, 202]
group = "checkout"

[[requests]]
name = "look"
path = "/"

[[requests]]
name = "search"
path = "/search"

[[requests]]
name = "forgotten"
path = "/x"
"#;

#[test]
fn a_plan_is_told_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("users.csv"), "id,name\n7,Ann\n8,Bob\n").unwrap();
    let path = directory.path().join("shop.toml");
    fs::write(&path, PLAN).unwrap();
    let plan = read_plan(&path).unwrap_or_else(|error| panic!("{error}"));
    expect_file!["explain.txt"].assert_eq(&explain(&plan));
}
