//! How long a long plan takes before its first request: read, compiled and checked, the process's own start included.

use crate::PRONY;
use crate::statistics::median;
use crate::studies::{Length, code_assertion, collection, element, header, plan, post, text};
use std::fs;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 21;
/// Each request has four elements beside itself.
const REQUESTS: usize = 100;

pub(crate) fn of_a_long_plan() {
    let below: String = (0..REQUESTS).map(request).collect();
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("plan.jmx"), plan(10, Length::Seconds(10), &below))
        .expect("room for a plan");
    let mut times_ms = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let output =
            Command::new(PRONY).current_dir(folder.path()).args(["run", "plan.jmx", "--check"]).output();
        times_ms.push(begin.elapsed().as_secs_f64() * 1e3);
        let output = output.expect("the program is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let longest = times_ms.iter().copied().fold(0.0, f64::max);
    println!(
        "a plan of {} elements is checked in {:.1} ms (median of {ROUNDS}, longest {longest:.1} ms)",
        REQUESTS * 5,
        median(&times_ms)
    );
}

fn request(number: usize) -> String {
    let headers = collection("HeaderManager.headers", &header("X-Number", &number.to_string()));
    let extractor = element(
        "RegexExtractor",
        "take",
        &(text("RegexExtractor.refname", &format!("v{number}"))
            + &text("RegexExtractor.regex", "id\":(\\d+),\"title\":\"([^\"]*)\"")
            + &text("RegexExtractor.template", "$1$")
            + &text("RegexExtractor.match_number", "1")
            + &text("RegexExtractor.useHeaders", "false")),
        "",
    );
    let below = element("HeaderManager", "headers", &headers, "")
        + &extractor
        + &code_assertion()
        + &element("ConstantTimer", "pause", &text("ConstantTimer.delay", "${__Random(1,10,)}"), "");
    let body = format!("{{\"query\":\"{{ item(id: {number}) {{ id title }} }}\",\"v\":\"${{v{number}}}\"}}");
    post(&format!("request {number}"), 8080, &format!("/path/{number}"), &body, &below)
}
