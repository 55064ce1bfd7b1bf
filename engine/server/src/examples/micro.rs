//! The micro-benchmarks of functions: requests to the music example, and the times and allocations of whatever answers
//! them, from bytes to bytes. Who counts allocations is the caller's business. Peers are measured the same way: they
//! include this file.

use std::{hint::black_box, time::Instant};

/// One request.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    query: &'static str,
    variables: &'static str,
}

/// From the simplest to the largest.
pub const CASES: [Case; 5] = [
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

impl Case {
    /// The case of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// The request; with a number, one that no other has.
    pub fn request(&self, number: Option<usize>) -> Vec<u8> {
        let comment = number.map_or_else(String::new, |number| format!(" # {number}"));
        let query = serde_json::Value::from(format!("{}{comment}", self.query));
        format!("{{\"query\":{query},\"variables\":{}}}", self.variables).into_bytes()
    }
}

/// How often a benchmark executes a case, and how often with documents that no cache has seen.
const ROUNDS: usize = 20_000;
const COLD_ROUNDS: usize = 2_000;

/// A row of a benchmark's table without its name.
pub const COLUMNS: [&str; 6] =
    ["median, µs", "p99, µs", "allocations", "cold median, µs", "cold p99, µs", "cold allocations"];

/// What answers requests, and what counts the calling thread's allocations.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub ask: &'a dyn Fn(&[u8]) -> Vec<u8>,
    pub allocations: fn() -> u64,
}

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Subject").finish_non_exhaustive()
    }
}

/// Of many executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    pub median_ns: u64,
    pub p99_ns: u64,
    /// Of the usual one.
    pub allocations: u64,
}

impl Subject<'_> {
    /// What a benchmark says of a case, by [`COLUMNS`].
    pub fn row(&self, case: &Case) -> [String; COLUMNS.len()] {
        let (warm, cold) = (self.warm(case, ROUNDS), self.cold(case, COLD_ROUNDS));
        let microseconds = |nanoseconds: u64| format!("{:.2}", nanoseconds as f64 / 1e3);
        [
            microseconds(warm.median_ns),
            microseconds(warm.p99_ns),
            warm.allocations.to_string(),
            microseconds(cold.median_ns),
            microseconds(cold.p99_ns),
            cold.allocations.to_string(),
        ]
    }

    /// The same request so often, after once unmeasured.
    pub fn warm(&self, case: &Case, executions: usize) -> Figures {
        let request = case.request(None);
        (self.ask)(&request);
        self.measure(executions, |_| request.as_slice())
    }

    /// Requests with documents that nobody has sent before: they are parsed, validated and planned.
    pub fn cold(&self, case: &Case, executions: usize) -> Figures {
        let requests: Vec<Vec<u8>> = (0..executions).map(|number| case.request(Some(number))).collect();
        self.measure(executions, |round| &requests[round])
    }

    fn measure<'r>(&self, executions: usize, request: impl Fn(usize) -> &'r [u8]) -> Figures {
        let mut times = Vec::with_capacity(executions);
        let mut allocations = Vec::with_capacity(executions);
        for round in 0..executions {
            let request = black_box(request(round));
            let (before, begun) = ((self.allocations)(), Instant::now());
            drop(black_box((self.ask)(request)));
            times.push(begun.elapsed().as_nanos() as u64);
            allocations.push((self.allocations)() - before);
        }
        times.sort_unstable();
        allocations.sort_unstable();
        let at =
            |values: &[u64], percent: usize| values.get(values.len() * percent / 100).copied().unwrap_or(0);
        Figures { median_ns: at(&times, 50), p99_ns: at(&times, 99), allocations: at(&allocations, 50) }
    }
}
