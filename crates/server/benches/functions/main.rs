//! Functions in process, from the bytes of a request to the bytes of its answer: time and allocations of each kind
//! of request on the music example, with the plan cache and without.
//!
//! `cargo bench -p prony-server --bench functions`, or with the name of one request and a count to run it alone, so
//! that an instruction counter sees nothing else.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod memory;

use std::{hint::black_box, time::Instant};

use futures_util::FutureExt as _;
use prony_server::{Service, examples::music};

struct Case {
    name: &'static str,
    query: &'static str,
    variables: &'static str,
}

const CASES: [Case; 5] = [
    Case { name: "single", query: "{ artist(id: 2) { id name } }", variables: "{}" },
    Case {
        name: "list",
        query: "{ artists(searchText: \"queen\") { id name records { id name } company { id name } } }",
        variables: "{}",
    },
    Case {
        name: "three",
        query: "query($id: Int!) { one: artist(id: $id) { id name } \
                queens: artists(searchText: \"queen\") { name records(searchText: \"1\") { name } } \
                some: findArtistsById(ids: [1, 2, 3]) { name @toUpper company { name } } }",
        variables: "{\"id\":2}",
    },
    Case {
        name: "six",
        query: "query($id: Int!, $other: Int!, $text: String, $ids: [Int!]!, $with: Boolean!, $without: Boolean!) { \
                artist(id: $id) { name @skip(if: $without) records(searchText: $text) @include(if: $with) { id name genre { name } } } \
                other: artist(id: $other) { id name company @include(if: $with) { name } } \
                findArtistsById(ids: $ids) { id name records(searchText: $text) @skip(if: $without) { id name } } }",
        variables: "{\"id\":1,\"other\":3,\"text\":\"4\",\"ids\":[2,4,5],\"with\":true,\"without\":false}",
    },
    Case { name: "introspection", query: INTROSPECTION, variables: "{}" },
];

const INTROSPECTION: &str = "{ __schema { queryType { name } mutationType { name } types { kind name description \
    fields(includeDeprecated: true) { name description args { name description type { ...T } defaultValue } type { ...T } \
    isDeprecated deprecationReason } inputFields { name type { ...T } defaultValue } interfaces { ...T } \
    enumValues(includeDeprecated: true) { name } possibleTypes { ...T } } \
    directives { name description locations args { name type { ...T } } } } } \
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

const ROUNDS: usize = 20_000;
/// A document that no cache has seen is parsed, validated and planned.
const COLD_ROUNDS: usize = 2_000;

impl Case {
    /// The request; with a number, one that no other has.
    fn request(&self, number: Option<usize>) -> Vec<u8> {
        let comment = number.map_or_else(String::new, |number| format!(" # {number}"));
        let query = serde_json::Value::from(format!("{}{comment}", self.query));
        format!("{{\"query\":{query},\"variables\":{}}}", self.variables).into_bytes()
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|text| !text.starts_with("--")).collect();
    let service = Service::new(music::functions()).expect("the example is sound");
    let ask = |request: &[u8]| service.execute(request).now_or_never().expect("nothing waits");
    if let [name, count] = arguments.as_slice() {
        let case = CASES.iter().find(|case| case.name == name).expect("one of the names");
        let request = case.request(None);
        for _ in 0..count.parse::<usize>().expect("a count") {
            black_box(ask(&request));
        }
        return;
    }
    println!(
        "{:14} {:>9} {:>9} {:>9} {:>7}   {:>9} {:>7}",
        "", "median", "p99", "least", "allocs", "cold", "allocs"
    );
    for case in &CASES {
        let request = case.request(None);
        let answer = String::from_utf8(ask(&request)).expect("JSON is UTF-8");
        assert!(!answer.contains("\"errors\""), "{answer}");
        let (times, allocations) = measure(ROUNDS, || drop(black_box(ask(black_box(&request)))));
        let requests: Vec<Vec<u8>> = (0..COLD_ROUNDS).map(|number| case.request(Some(number))).collect();
        let mut next = requests.iter();
        let (cold, cold_allocations) = measure(COLD_ROUNDS - 1, || {
            let request = next.next().expect("one for each round");
            drop(black_box(ask(request)));
        });
        println!(
            "{:14} {:>6} ns {:>6} ns {:>6} ns {:>7}   {:>6} ns {:>7}",
            case.name,
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            times[0],
            allocations,
            cold[cold.len() / 2],
            cold_allocations
        );
    }
}

/// Nanoseconds of each round, sorted, and the allocations of the usual one.
fn measure(rounds: usize, mut once: impl FnMut()) -> (Vec<u64>, usize) {
    once();
    let mut times = Vec::with_capacity(rounds);
    let mut allocations = Vec::with_capacity(rounds);
    for _ in 1..rounds {
        let (before, begun) = (memory::allocations(), Instant::now());
        once();
        times.push(begun.elapsed().as_nanos() as u64);
        allocations.push(memory::allocations() - before);
    }
    times.sort_unstable();
    allocations.sort_unstable();
    (times, allocations[allocations.len() / 2])
}
