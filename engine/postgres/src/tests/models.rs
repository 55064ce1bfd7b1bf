//! The three resolver models give the same bytes for generated schemas, rows and selections.

use std::fmt::Write as _;

use prony_testkit::postgres::TestDatabase;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::tests::*;

/// One column of each interesting kind; a table has some of them.
const COLUMNS: [(&str, &str, &str); 9] = [
    ("n", "int", "(i * 7919) % 23 - 11"),
    ("big", "bigint", "i::bigint * 4611686018427387"),
    ("f", "float8", "case i % 5 when 0 then 'NaN' else i / 7.0 end"),
    ("d", "numeric(12,3)", "i / 8.0"),
    ("t", "text", "case i % 4 when 0 then null else repeat(E'\\\\ü\"\\n', i % 3) || i end"),
    ("b", "boolean", "nullif(i % 3, 0) = 1"),
    ("at", "timestamp", "timestamp '2021-01-01' + i * interval '1 hour 1 ms'"),
    ("u", "uuid", "md5(i::text)::uuid"),
    ("a", "text[]", "array['x', null, i::text]"),
];

/// What is generated of a table: which columns it has, to which tables it refers, the kind of its key.
#[derive(Debug, Clone)]
struct TableDraft {
    columns: Vec<usize>,
    parents: Vec<usize>,
    rows: usize,
    composite_key: bool,
}

fn tables() -> impl Strategy<Value = Vec<TableDraft>> {
    let table = (
        proptest::sample::subsequence((0..COLUMNS.len()).collect::<Vec<_>>(), 1..5),
        proptest::collection::vec(0usize..4, 0..3),
        0usize..40,
        any::<bool>(),
    );
    let draft = table.prop_map(|(columns, parents, rows, composite_key)| TableDraft {
        columns,
        parents,
        rows,
        composite_key,
    });
    proptest::collection::vec(draft, 2..5)
}

/// `create table` and its rows. Foreign keys refer to earlier tables or to the table itself.
fn ddl(drafts: &[TableDraft]) -> String {
    let mut sql = String::new();
    for (number, draft) in drafts.iter().enumerate() {
        let mut columns = vec!["id int".to_owned(), "part text".to_owned()];
        let mut values = vec!["i".to_owned(), "'p' || i % 2".to_owned()];
        for &column in &draft.columns {
            let (name, ty, value) = COLUMNS[column];
            columns.push(format!("\"{name}\" {ty}"));
            values.push(value.to_owned());
        }
        for (link, parent) in draft.parents.iter().enumerate() {
            let parent = parent % (number + 1);
            columns.push(format!("link{link}_id int"));
            columns.push(format!("link{link}_part text"));
            let reference = if is_composite(drafts, parent) {
                format!("foreign key (link{link}_id, link{link}_part) references item{parent} (id, part)")
            } else {
                format!("foreign key (link{link}_id) references item{parent} (id)")
            };
            columns.push(reference);
            let rows = drafts[parent].rows.max(1);
            let target = if drafts[parent].rows == 0 {
                "null::int".to_owned()
            } else {
                format!("nullif((i * {}) % {}, 0)", link + 3, rows + 1)
            };
            values.push(target.clone());
            values.push(format!("'p' || {target} % 2"));
        }
        let key = if draft.composite_key { "id, part" } else { "id" };
        let _ = write!(
            sql,
            "create table item{number} ({}, primary key ({key}));\n\
             insert into item{number} select {} from generate_series(1, {}) i;\n",
            columns.join(", "),
            values.join(", "),
            draft.rows
        );
    }
    sql
}

fn is_composite(drafts: &[TableDraft], table: usize) -> bool {
    drafts[table].composite_key
}

/// A selection over the model: each number picks what comes next.
fn selection(model: &Model, table: &prony_sql::model::Table, depth: usize, picks: &mut Picks<'_>) -> String {
    let mut fields = vec!["__typename".to_owned(), format!("key: {}", table.columns[0].field)];
    for column in &table.columns {
        if picks.next(2) == 0 {
            fields.push(column.field.to_string());
        }
    }
    for (index, relation) in table.relations.iter().enumerate() {
        if depth == 0 || picks.next(3) == 0 {
            continue;
        }
        let target = model.table(relation.target);
        let inner = selection(model, target, depth - 1, picks);
        if let Some(aggregate) = &relation.aggregate_field {
            fields.push(format!("r{index}: {} {inner}", with_arguments(&relation.field, picks)));
            fields.push(format!("{aggregate} {{ count max {{ id }} sum {{ id }} avg {{ id }} }}"));
        } else {
            fields.push(format!("r{index}: {} {inner}", relation.field));
        }
    }
    format!("{{ {} }}", fields.join(" "))
}

fn with_arguments(field: &str, picks: &mut Picks<'_>) -> String {
    let mut arguments = Vec::new();
    match picks.next(4) {
        0 => arguments.push(format!("limit: {}", picks.next(5))),
        1 => arguments.push(format!("offset: {}", picks.next(4))),
        2 => arguments.push("limit: $n, offset: $o".to_owned()),
        _ => {}
    }
    if picks.next(2) == 0 {
        arguments.push("sort: {part: desc, id: asc}".to_owned());
    }
    match picks.next(4) {
        0 => arguments.push("where: {id: {gt: $n}}".to_owned()),
        1 => arguments.push("where: {or: [{id: {in: $ids}}, {not: {part: {eq: \"p1\"}}}]}".to_owned()),
        _ => {}
    }
    if arguments.is_empty() { field.to_owned() } else { format!("{field}({})", arguments.join(", ")) }
}

struct Picks<'a>(std::slice::Iter<'a, u32>);

impl Picks<'_> {
    fn next(&mut self, below: u32) -> u32 {
        self.0.next().unwrap_or(&7) % below
    }
}

const HEAD: &str = "query($n: Int = 2, $o: Int = 1, $ids: [Int!] = [1, 3, 5, 7, 9])";

async fn answers(database: &TestDatabase, resolver: ResolverModel, picks: &[u32]) -> Vec<(String, String)> {
    let served = Served::open(&database.url(), &settings(resolver)).await;
    let session = served.session();
    let mut answers = Vec::new();
    for table in &served.model.tables {
        let mut picks = Picks(picks.iter());
        let list = with_arguments(&table.list_name, &mut picks);
        let inner = selection(&served.model, table, 2, &mut picks);
        let text = format!(
            "{HEAD} {{ {list} {inner} unused: {}(limit: $n, offset: $o, where: {{id: {{in: $ids}}}}) {{ id }} }}",
            table.list_name
        );
        answers.push((text.clone(), served.ask(&session, &text, none()).await));
    }
    answers
}

/// Where two answers part.
fn difference(wanted: &str, answer: &str) -> String {
    let same = wanted.bytes().zip(answer.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[same.saturating_sub(100)..(same + 100).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("wanted …{}…\nanswer …{}…", around(wanted), around(answer))
}

#[test]
fn models_answer_alike() {
    let mut runner = TestRunner::new(Config { cases: 8, max_shrink_iters: 0, ..Config::default() });
    let cases = (tables(), proptest::collection::vec(any::<u32>(), 60));
    runner
        .run(&cases, |(drafts, picks)| {
            let database = TestDatabase::create();
            database.execute(&ddl(&drafts));
            on_a_core(async {
                let wanted = answers(&database, ResolverModel::Subquery, &picks).await;
                for (text, answer) in &wanted {
                    prop_assert!(!answer.contains("\"errors\""), "{text}: {answer}");
                }
                for resolver in [ResolverModel::PerNest, ResolverModel::Bucket] {
                    let answers = answers(&database, resolver, &picks).await;
                    for ((text, wanted), (_, answer)) in wanted.iter().zip(&answers) {
                        prop_assert!(
                            answer == wanted,
                            "{resolver:?}: {text}\n{}",
                            difference(wanted, answer)
                        );
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}

/// Many operations at once, so that buckets are shared.
#[test]
fn buckets_that_are_shared_answer_alike() {
    let database = prony_testkit::chinook::postgres_database();
    let text = "query($g: Int) { albums(where: {album_id: {gt: $g}}, limit: 3) { title artist { name }
                tracks(limit: 2) { name genre { name } } tracks_aggregate { count } } }";
    let mut all = Vec::new();
    for resolver in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(resolver)).await;
            let session = served.session();
            // One plan for all, as from the plan cache.
            let first = served.plan(text, json!({"g": 0}));
            let asked = (0..40).map(|g| {
                let variables = served.plan(text, json!({"g": g})).variables;
                let (prepared, session) = (&first.prepared[0], &session);
                async move { session.query(prepared, &variables).await }
            });
            all.push(futures_util::future::join_all(asked).await);
        });
    }
    assert!(all[0].iter().all(|result| result.errors.is_empty()));
    assert_eq!(all[1], all[0]);
    assert_eq!(all[2], all[0]);
}
