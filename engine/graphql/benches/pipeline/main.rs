//! Microseconds of the stages of a request on a schema of 100 tables, what hostile documents cost, and time and
//! memory of a schema of 5,000 tables. `cargo bench -p prony-graphql`.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(clippy::format_collect, reason = "legible, and not what is measured")]

mod memory;
mod tables;

use std::{hint::black_box, time::Instant};

use prony_graphql::{
    cache::{Cache, Weight},
    document::{Operation, limits::Limits},
    introspection,
    request::RequestParameters,
    response::{self, Detail, FieldResult},
    schema::Schema,
    selection::Selection,
    variables::Variables,
};

struct Plan(Selection);

impl Weight for Plan {
    fn weight_bytes(&self) -> usize {
        self.0.weight_bytes()
    }
}

fn main() {
    start(5_000);
    let schema = tables::schema(100);
    requests(&schema);
    weights(&schema);
    introspect(&schema);
    hostile(&schema);
}

/// The least of several batches: what the work costs when nothing disturbs it.
fn microseconds(mut work: impl FnMut()) -> f64 {
    const BATCHES: usize = 20;
    let mut best = f64::INFINITY;
    let first = Instant::now();
    work();
    let per_batch = (2_000.0 / first.elapsed().as_secs_f64() / 1e6).clamp(1.0, 500.0) as usize;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..per_batch {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / per_batch as f64);
    }
    best
}

fn start(count: usize) {
    let before = memory::allocated();
    let begin = Instant::now();
    let contribution = tables::contribution(count);
    let built = begin.elapsed();
    let schema = tables::merge(contribution);
    let total = begin.elapsed();
    let types = schema.valid().types.len();
    println!(
        "start, {count} tables, {types} types: {built:.1?} to build, {total:.1?} with merging and validation, \
         {:.1} MB held, {:.1} MB at most",
        (memory::allocated() - before) as f64 / 1e6,
        (memory::peak() - before) as f64 / 1e6,
    );
    black_box(schema);
}

const NESTED: &str = "query Meetups($where: Table7Clauses, $limit: Int, $offset: Int) { table_7s(where: $where, limit: $limit, \
     offset: $offset, sort: {id: asc}) { id name created_at parent { id name } children { id name children { id } } } }";
const SIMPLE: &str =
    "query ($limit: Int, $offset: Int) { table_7s(limit: $limit, offset: $offset) { id name } }";

fn requests(schema: &Schema) {
    for (name, query, variables) in [
        ("simple", SIMPLE, r#"{"limit":50,"offset":7}"#),
        ("nested", NESTED, r#"{"where":{"id":{"gt":4711}},"limit":50,"offset":7}"#),
    ] {
        let body = format!(r#"{{"query":{query:?},"variables":{variables}}}"#);
        let limits = Limits::default();
        let cold = microseconds(|| {
            let parameters = RequestParameters::from_json(body.as_bytes()).expect("it is one");
            let operation = Operation::parse(schema, &parameters.query, None, &limits).expect("it is valid");
            let (variables, _) = operation.coerce(schema, parameters.variables).expect("they fit");
            black_box(operation.select(schema, &variables).expect("they fit"));
        });
        let cache: Cache<Plan> = Cache::new(8 << 20, 8 << 20);
        let parameters = RequestParameters::from_json(body.as_bytes()).expect("it is one");
        let operation = Operation::parse(schema, &parameters.query, None, &limits).expect("it is valid");
        let operation = cache.insert_operation(&parameters.query, None, operation);
        let (variables, shape) = operation.coerce(schema, parameters.variables).expect("they fit");
        cache.insert_plan(
            operation.id(),
            shape,
            Plan(operation.select(schema, &variables).expect("they fit")),
        );
        let read = microseconds(|| {
            black_box(RequestParameters::from_json(body.as_bytes()).expect("it is one"));
        });
        let warm = microseconds(|| {
            let parameters = RequestParameters::from_json(body.as_bytes()).expect("it is one");
            let operation = cache.operation(&parameters.query, None).expect("it is kept");
            let (variables, shape) = operation.coerce(schema, parameters.variables).expect("they fit");
            let plan = cache.plan(operation.id(), &shape).expect("it is kept");
            let results = [FieldResult::data(b"[]".to_vec())];
            black_box((variables, response::assemble(&plan.0.fields, &results, Detail::Hidden)));
        });
        println!("{name}: cold {cold:.1} µs, warm {warm:.2} µs, of it {read:.2} µs to read the body");
    }
}

fn weights(schema: &Schema) {
    for (name, query) in [("simple", SIMPLE), ("nested", NESTED)] {
        let before = memory::allocated();
        let operation = Operation::parse(schema, query, None, &Limits::default()).expect("it is valid");
        let held = memory::allocated() - before;
        println!("operation {name}: {held} bytes held, {} estimated", operation.weight_bytes());
    }
}

fn introspect(schema: &Schema) {
    let query = "{ __schema { types { name kind fields { name args { name type { name kind ofType { name kind \
                 ofType { name } } } } type { name kind ofType { name kind ofType { name } } } } } } }";
    let limits = Limits::default();
    let operation = Operation::parse(schema, query, None, &limits).expect("it is valid");
    let selection = operation.select(schema, &Variables::default()).expect("it has no variables");
    let mut bytes = 0;
    let time = microseconds(|| {
        let answer = introspection::answer(schema, &selection.fields[0], &Variables::default(), &limits);
        bytes = answer.data.expect("it fits").len();
    });
    println!("introspection of 100 tables: {:.1} ms for {bytes} bytes", time / 1e3);
}

/// Documents at and over the limits.
fn hostile(schema: &Schema) {
    let bomb = |levels: usize| {
        let fragments = (0..levels).map(|level| {
            let next = level + 1;
            format!(
                "fragment F{level} on Table7 {{ a: children {{ ...F{next} }} b: children {{ ...F{next} }} }} "
            )
        });
        let fragments: String = fragments.collect();
        format!("{{ table_7s {{ ...F0 }} }} {fragments} fragment F{levels} on Table7 {{ id }}")
    };
    let aliases = |count: usize| -> String {
        let aliases: String = (0..count).map(|index| format!("a{index}:id ")).collect();
        format!("{{ table_7s {{ {aliases} }} }}")
    };
    let repeated = |count: usize, part: &str| format!("{{ table_7s {{ {} }} }}", part.repeat(count));
    let overlap = |depth: usize, width: usize| -> String {
        (0..depth).fold("id".into(), |inner, _| {
            let field = format!("children {{ {inner} }} ");
            field.repeat(width)
        })
    };
    let clauses = "{id: {gt: 1}} ".repeat(1_000);
    let documents = [
        ("1,000 aliases", aliases(1_000)),
        ("2,400 equal fields", repeated(2_400, "id ")),
        ("1,200 equal objects", repeated(1_200, "children { id } ")),
        ("overlapping 2^9", format!("{{ table_7s {{ {} }} }}", overlap(9, 2))),
        ("overlapping 6^3", format!("{{ table_7s {{ {} }} }}", overlap(3, 6))),
        ("1,000 clauses", format!("{{ table_7s(where: {{and: [{clauses}]}}) {{ id }} }}")),
        ("200 variables used 700 times", variables_bomb()),
        ("95 operations over one fragment", operations_bomb()),
        ("2,400 unknown fields", repeated(1_200, "nothing nix ")),
        ("10,000 aliases", aliases(10_000)),
        ("fragment bomb of 40 levels", bomb(40)),
        ("fragment bomb of 10 levels", bomb(10)),
        ("depth 5,000", format!("{{ table_7s {}id{} }}", "{ children ".repeat(5_000), "}".repeat(5_000))),
        ("5,000 brackets", "{".repeat(5_000)),
        ("9,900 stray names", "a ".repeat(9_900)),
        ("128 KB of NUL", "\0".repeat(128 << 10)),
    ];
    for (name, document) in documents {
        let mut outcome = String::new();
        let limits = Limits::default();
        let time = microseconds(|| {
            let parsed = Operation::parse(schema, &document, Some("A0"), &limits)
                .or_else(|_| Operation::parse(schema, &document, None, &limits));
            let selected = parsed.and_then(|operation| {
                let (variables, _) = operation.coerce(schema, serde_json::Map::new())?;
                operation.select(schema, &variables)
            });
            outcome = match selected {
                Ok(_) => "accepted".into(),
                Err(errors) => errors[0].to_string(),
            };
        });
        println!("{name}: {:.2} ms for {} bytes: {outcome:.100}", time / 1e3, document.len());
    }
}

fn variables_bomb() -> String {
    let definitions: String = (0..200).map(|index| format!("$v{index}: Int ")).collect();
    let uses: String = (0..700)
        .map(|index| format!("a{index}: children(limit: $v{}) {{ id }} ", 199 - index % 200))
        .collect();
    format!("query ({definitions}) {{ table_7s {{ {uses} }} }}")
}

fn operations_bomb() -> String {
    let operations: String =
        (0..95).map(|index| format!("query A{index} {{ table_7s {{ ...F }} }} ")).collect();
    format!("{operations} fragment F on Table7 {{ {} }}", "children { id } ".repeat(11))
}
