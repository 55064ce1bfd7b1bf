//! Attacks on tables in PostgreSQL: sessions that are kept busy, locks that others hold, and conditions that are long.

use crate::{
    bank::{Answer, Attack, Field},
    exchange::ask,
    site::Served,
};

const CLASS: &str = "postgres";

fn attack(
    name: &'static str,
    clients: usize,
    act: impl Fn(&Field<'_>) -> Answer + Send + Sync + 'static,
) -> Attack {
    Attack::new(CLASS, name, clients, act).on(Served::Postgres)
}

/// The same query with the same variables, again and again.
fn query(name: &'static str, clients: usize, query: &'static str, variables: String) -> Attack {
    attack(name, clients, move |field| ask(field, query, &variables))
}

/// The first attacker holds the lock, in a session that is not the server's; the others wait for it.
fn locked(field: &Field<'_>) -> Answer {
    if field.client > 0 {
        return ask(field, "{ pages(limit: 1) { id } }", "{}");
    }
    field.site.execute("BEGIN; LOCK TABLE pages IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1); COMMIT;");
    Answer::Held
}

/// Conditions in conditions.
fn nots(depth: usize) -> String {
    format!("{{\"w\":{}{{\"id\":{{\"eq\":1}}}}{}}}", "{\"not\":".repeat(depth), "}".repeat(depth))
}

pub(crate) fn attacks() -> Vec<Attack> {
    let where_of = "query($w: AuthorWhere) { authors(where: $w) { id } }";
    let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    vec![
        // As many as a core has connections for statements that it has not planned before.
        attack("four statements never seen, of two seconds each", 4, |field| {
            let number = field.unique();
            ask(field, &format!("{{ n{number}: naps {{ n{number}: rest }} }}"), "{}")
        }),
        query("sixteen statements of two seconds each", 16, "{ naps { rest } }", "{}".into()),
        attack("a table that another session has locked", 9, locked),
        query(
            "`in` of 100,000 numbers",
            4,
            where_of,
            format!("{{\"w\":{{\"id\":{{\"in\":[{}]}}}}}}", numbers.join(",")),
        ),
        query("`not` in itself 100 times", 4, where_of, nots(100)),
        query("`not` in itself 50,000 times", 4, where_of, nots(50_000)),
        query(
            "lists in lists without limits",
            4,
            "{ authors { books { author { books { author { books { id } } } } } } }",
            "{}".into(),
        ),
        query(
            "relations in conditions, six deep",
            4,
            "{ authors(where: { books: { author: { books: { author: { books: { author: { name: { like: \"%zzz%\" } } } } } } } }) { id } }",
            "{}".into(),
        ),
        query(
            "a pattern of 40,000 wildcards over a text of 1 MB",
            4,
            "query($p: String) { pages(where: { body: { like: $p } }) { id } }",
            format!("{{\"p\":\"{}b\"}}", "%a".repeat(40_000)),
        ),
        attack("rows that are written all the time", 4, |field| {
            let mutation = format!(
                "mutation {{ createAuthor(id: {}, name: \"n\") {{ id }} }}",
                1_000_000 + field.unique()
            );
            ask(field, &mutation, "{}")
        }),
    ]
}
