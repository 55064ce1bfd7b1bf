//! Attacks by what one query asks of the database.

use crate::{bank::Attack, exchange::ask};

const CLASS: &str = "filters";
const LIKE: &str = "query($p: String) { pages(where: { body: { like: $p } }) { id } }";

/// The same query with the same variables, again and again.
fn query(name: &'static str, clients: usize, query: &'static str, variables: String) -> Attack {
    Attack::new(CLASS, name, clients, move |field| ask(field, query, &variables))
}

fn pattern(text: &str) -> String {
    format!("{{\"p\":\"{text}\"}}")
}

/// The pattern of the most work for each character of a text: longer ones are refused.
pub(crate) fn longest_pattern() -> String {
    format!("%{}b%", "_".repeat(16_383))
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

/// Conditions in conditions.
fn nots(depth: usize) -> String {
    format!("{{\"w\":{}{{\"id\":{{\"eq\":1}}}}{}}}", "{\"not\":".repeat(depth), "}".repeat(depth))
}

/// Conditions that are long.
fn conditions() -> Vec<Attack> {
    let where_of = "query($w: AuthorWhere) { authors(where: $w) { id } }";
    vec![
        query(
            "a pattern of 4,000 letters over a text of 1 MB",
            4,
            LIKE,
            pattern(&format!("%{}b", "a".repeat(4_000))),
        ),
        query("a pattern of 60,000 letters over it", 4, LIKE, pattern(&format!("%{}b%", "a".repeat(60_000)))),
        query(
            "a pattern of 40,000 wildcards over it",
            4,
            LIKE,
            pattern(&format!("{}b", "%a".repeat(40_000))),
        ),
        query(
            "a pattern of 100,000 underscores over it",
            4,
            LIKE,
            pattern(&format!("%{}b", "_".repeat(100_000))),
        ),
        query("the longest pattern of underscores over it", 4, LIKE, pattern(&longest_pattern())),
        query(
            "`in` of 100,000 numbers",
            4,
            where_of,
            format!("{{\"w\":{{\"id\":{{\"in\":[{}]}}}}}}", list(100_000, |n| n.to_string())),
        ),
        query(
            "`or` of 1,000 conditions",
            4,
            where_of,
            format!("{{\"w\":{{\"or\":[{}]}}}}", list(1_000, |n| format!("{{\"id\":{{\"eq\":{n}}}}}"))),
        ),
        query("`not` in itself 100 times", 4, where_of, nots(100)),
        query("`not` in itself 50,000 times", 4, where_of, nots(50_000)),
    ]
}

/// Rows that are many.
fn rows() -> Vec<Attack> {
    vec![
        query(
            "relations in conditions, six deep",
            4,
            "{ authors(where: { books: { author: { books: { author: { books: { author: { name: { like: \"%zzz%\" } } } } } } } }) { id } }",
            "{}".into(),
        ),
        query("an offset of two thousand millions", 4, "{ books(offset: 2000000000) { id } }", "{}".into()),
        query("the largest limit", 4, "{ books(limit: 10000) { id title author { name } } }", "{}".into()),
        query(
            "lists in lists without limits",
            4,
            "{ authors { books { author { books { author { books { id } } } } } } }",
            "{}".into(),
        ),
        query(
            "all rows in an order without an index",
            4,
            "{ books(sort: { title: desc }, limit: 10000) { title } }",
            "{}".into(),
        ),
        query(
            "sums of everything, by author",
            4,
            "{ authors(limit: 2000) { books_aggregate { count sum { price } max { title } avg { price } } } }",
            "{}".into(),
        ),
        Attack::new(CLASS, "rows that are written all the time", 4, |field| {
            let mutation = format!(
                "mutation {{ createAuthor(id: {}, name: \"n\") {{ id }} }}",
                1_000_000 + field.unique()
            );
            ask(field, &mutation, "{}")
        }),
    ]
}

pub(crate) fn attacks() -> Vec<Attack> {
    [conditions(), rows()].into_iter().flatten().collect()
}
