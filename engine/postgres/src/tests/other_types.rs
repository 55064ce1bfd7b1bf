//! Columns to which the settings give another type than PostgreSQL's.

use prony_testkit::postgres::TestDatabase;

use crate::tests::*;
use prony_sql::settings::{ColumnSettings, ColumnTypeOverride, TableSettings};

const TABLES: &str = r#"
    create table owners (id int primary key);
    create table things (
        id int primary key, owner_id int references owners, doc text, price varchar(20), share numeric, flag smallint,
        wide bigint, known uuid, agreed boolean, raw bytea, old json, new jsonb, truth boolean);
    insert into owners values (1);
    insert into things values
        (1, 1, '{"a": [1]}', '2.50', 'NaN', 1, 0, '123e4567-e89b-12d3-a456-426614174000', true, '\x00ff', '[1]', '{"b": 1}', true),
        (2, 1, null, '"}1', 0.5, 0, 1, null, false, null, null, null, null);
"#;

fn typed(columns: &[(&str, ColumnTypeOverride)], resolver: ResolverModel) -> RelationalSettings {
    let mut settings = settings(resolver);
    let columns = columns.iter().map(|&(name, given)| {
        (name.to_owned(), ColumnSettings { r#type: Some(given), ..ColumnSettings::default() })
    });
    let table = TableSettings { columns: columns.collect(), ..TableSettings::default() };
    settings.tables.insert("things".to_owned(), table);
    settings
}

const GIVEN: [(&str, ColumnTypeOverride); 11] = [
    ("doc", ColumnTypeOverride::Json),
    ("price", ColumnTypeOverride::Decimal),
    ("share", ColumnTypeOverride::Json),
    ("flag", ColumnTypeOverride::Boolean),
    ("wide", ColumnTypeOverride::Boolean),
    ("known", ColumnTypeOverride::String),
    ("agreed", ColumnTypeOverride::String),
    ("raw", ColumnTypeOverride::String),
    ("old", ColumnTypeOverride::String),
    ("new", ColumnTypeOverride::String),
    ("truth", ColumnTypeOverride::Int),
];

/// Texts that were called JSON or decimals were spliced into the response as they are.
#[test]
fn columns_of_another_type_are_served_in_its_form() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    for resolver in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &typed(&GIVEN, resolver)).await;
            let session = served.session();
            let all = "id doc price share flag wide known agreed raw old new truth";
            let text = format!("{{ things {{ {all} }} owners {{ things {{ {all} }} }} }}");
            let data = served.data(&session, &text, none()).await;
            let things = json!([
                {"id": 1, "doc": {"a": [1]}, "price": "2.50", "share": "NaN", "flag": true, "wide": false,
                 "known": "123e4567-e89b-12d3-a456-426614174000", "agreed": "true", "raw": "\\x00ff", "old": "[1]",
                 "new": "{\"b\": 1}", "truth": 1},
                {"id": 2, "doc": null, "price": "\"}1", "share": 0.5, "flag": false, "wide": true, "known": null,
                 "agreed": "false", "raw": null, "old": null, "new": null, "truth": null},
            ]);
            assert_eq!(data["things"], things);
            assert_eq!(data["owners"][0]["things"], things);
        });
    }
}

#[test]
fn columns_of_another_type_are_compared_and_summed_up_as_their_own_type_is() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        let served = Served::open(&database.url(), &typed(&GIVEN, ResolverModel::Subquery)).await;
        let session = served.session();
        for (filter, id) in [
            ("flag: {eq: true}", 1),
            ("wide: {in: [true]}", 2),
            ("known: {gt: \"00000000-0000-0000-0000-000000000000\"}", 1),
            ("agreed: {eq: \"true\"}", 1),
            ("old: {is_null: false}", 1),
            ("new: {eq: \"{\\\"b\\\": 1}\"}", 1),
            ("truth: {eq: 1}", 1),
            ("price: {in: [\"2.50\"]}", 1),
        ] {
            let data =
                served.data(&session, &format!("{{ things(where: {{{filter}}}) {{ id }} }}"), none()).await;
            assert_eq!(data, json!({"things": [{"id": id}]}), "{filter}");
        }
        let members = "price flag wide known agreed raw old new truth";
        let text = format!("{{ things_aggregate {{ sum {{ {members} }} max {{ {members} }} }} }}");
        let data = served.data(&session, &text, none()).await;
        let nothing = json!({"price": null, "flag": null, "wide": null, "known": null, "agreed": null, "raw": null,
                             "old": null, "new": null, "truth": null});
        assert_eq!(data["things_aggregate"]["sum"], nothing);
        let most = json!({"price": "2.50", "flag": true, "wide": true, "known": "123e4567-e89b-12d3-a456-426614174000",
                          "agreed": "true", "raw": "\\x00ff", "old": null, "new": "{\"b\": 1}", "truth": 1});
        assert_eq!(data["things_aggregate"]["max"], most);
        let write = "mutation { createThing(id: 3, flag: true, wide: true, doc: [1], agreed: \"false\", price: 1.5) { id } }";
        assert_eq!(served.data(&session, write, none()).await, json!({"createThing": {"id": 3}}));
        let text = "{ things(where: {id: {eq: 3}}) { flag wide doc agreed price } }";
        let row = json!({"flag": true, "wide": true, "doc": [1], "agreed": "false", "price": "1.5"});
        assert_eq!(served.data(&session, text, none()).await, json!({"things": [row]}));
    });
}

/// It was told as a value of the request, in which there was none.
#[test]
fn a_stored_text_that_is_none_of_its_type_is_told_as_stored() {
    let database = TestDatabase::create();
    database.execute(
        "create table things (id int primary key, doc text); insert into things values (1, 'x,\"y\":1');
         create view broken as select 1 / (id - 1) as n from things;",
    );
    for resolver in MODELS {
        on_a_core(async {
            let settings = typed(&[("doc", ColumnTypeOverride::Json)], resolver);
            let served = Served::open(&database.url(), &settings).await;
            let session = served.session();
            for text in ["{ things { doc } }", "{ brokens { n } }"] {
                let read = served.plan(text, none());
                assert_eq!(read.outcome(&session).await, Err(ErrorCode::ValueOutOfRange), "{text}");
            }
        });
    }
}
