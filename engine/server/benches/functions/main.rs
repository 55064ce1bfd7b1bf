//! Functions in process, from the bytes of a request to the bytes of its answer: time and allocations of each kind
//! of request on the music example, with the plan cache and without.
//!
//! `cargo bench -p prony-server --bench functions`, or with the name of one request and a count to run it alone, so
//! that an instruction counter sees nothing else; `cold` behind them gives each request a document of its own.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;

use futures_util::FutureExt as _;
use prony_server::{
    Service,
    examples::{
        micro::{CASES, COLUMNS, Case, Subject},
        music,
    },
    observe::allocations::{CountingAllocator, allocations},
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|text| !text.starts_with("--")).collect();
    let service = Service::new(music::functions()).expect("the example is sound");
    let ask = |request: &[u8]| service.execute(request).now_or_never().expect("nothing waits");
    if let [name, count, rest @ ..] = arguments.as_slice() {
        let case = Case::named(name).expect("one of the names");
        let is_cold = rest.first().is_some_and(|word| word == "cold");
        for number in 0..count.parse::<usize>().expect("a count") {
            black_box(ask(&case.request(is_cold.then_some(number))));
        }
        return;
    }
    let subject = Subject { ask: &ask, allocations };
    println!("| request | {} |", COLUMNS.join(" | "));
    println!("|{}", "---|".repeat(1 + COLUMNS.len()));
    for case in &CASES {
        let answer = String::from_utf8(ask(&case.request(None))).expect("JSON is UTF-8");
        assert!(!answer.contains("\"errors\""), "{answer}");
        println!("| {} | {} |", case.name, subject.row(case).join(" | "));
    }
}
