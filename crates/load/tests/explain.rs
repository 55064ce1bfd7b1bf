//! What `--explain` says of a plan.

use expect_test::expect;
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
    expect![[r#"
        shop: at most 3160 requests in at most 1m00s, seed 1

        targets
          shop: http://127.0.0.1:8080
          pay: https://pay.example
          HTTP/1.1, kept connections, any certificate is taken; given up after 30.0 s

        scenario buyers
          closed: up to 20 users, for 1m00s
            0 s – 10.0 s: 0 users to 20 users
            10.0 s – 1m00s: 20 users
          each iteration: login, buy (then waits 1.00 s), pay
          waits 2.00 s in the mean (exponential) between iterations
          goes on after a step that failed
          asks for 20/s at most, were every answer immediate; at most 1160 requests
          tag kind: buyer

        scenario guests
          open: iterations start independent of one another (Poisson) for 50.0 s, served by 40 users; one that finds none free for 10.0 s is dropped
            10.0 s – 1m00s: 40/s
          each iteration one of: look 75.0 %, search 25.0 %
          asks for 40/s at its highest; about 2000 requests

        windows
          0 s – 10.0 s: ramp
          10.0 s – 15.0 s: warm-up
          15.0 s – 1m00s: steady state, which counts for the thresholds

        request login
          sent by buyers
          target shop
          expects a status from 200 to 299
          captures ${token} from json /token
          captures ${page} from header link matching <(.*)>, or its default
          tag kind: buyer
          for example:
            | POST /login HTTP/1.1
            | Host: 127.0.0.1:8080
            | User-Agent: prony/0.1.0
            | Content-Type: application/json
            | Content-Length: 8
            |
            | {"id":7}

        request buy
          sent by buyers
          target shop
          expects a status from 200 to 299
          check: json /ok equals true
          check: small
          group checkout
          tag kind: buyer
          for example:
            | GET /buy?n=5 HTTP/1.1
            | Host: 127.0.0.1:8080
            | User-Agent: prony/0.1.0
            | Authorization: Bearer TOKEN
            |

        request pay
          sent by buyers
          target pay
          expects status 201 or 202
          group checkout
          tag kind: buyer
          for example:
            | POST /pay HTTP/1.1
            | Host: pay.example
            | User-Agent: prony/0.1.0
            | Content-Length: 0
            |

        request look
          sent by guests
          target shop
          expects a status from 200 to 299
          for example:
            | GET / HTTP/1.1
            | Host: 127.0.0.1:8080
            | User-Agent: prony/0.1.0
            |

        request search
          sent by guests
          target shop
          expects a status from 200 to 299
          for example:
            | GET /search HTTP/1.1
            | Host: 127.0.0.1:8080
            | User-Agent: prony/0.1.0
            |

        request forgotten
          no scenario sends it
          target shop
          expects a status from 200 to 299
          for example:
            | GET /x HTTP/1.1
            | Host: 127.0.0.1:8080
            | User-Agent: prony/0.1.0
            |

        variables
          user: 2 rows of users.csv, columns id, name, 24 bytes in memory; each once over all users, who stop when none is left; one for each iteration
          n: whole numbers from 5 to 5, at random
          token: captured from answers
          page: captured from answers

        thresholds
          p95{group:checkout}<1s

        observers
          pid:1

        tags
          release: 1.4

        needs
          offered load: 60/s at most
          60 users, 80 connections
          180 descriptors
    "#]].assert_eq(&explain(&plan));
}
