//! Answers over Chinook, against SQL written by hand.

use prony_source::CommonSettings;
use prony_testkit::{chinook, postgres::TestDatabase};

use crate::tests::*;
use prony_sql::settings::TableSettings;

/// The data equals what the query gives, with every resolver model.
fn check(database: &TestDatabase, cases: &[(&str, Json, &str)]) {
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            for (text, variables, sql) in cases {
                let rows = database.query(sql);
                let wanted: Json = serde_json::from_str(rows[0][0].as_deref().unwrap()).unwrap();
                let data = served.data(&session, text, variables.clone()).await;
                assert_eq!(data, wanted, "{model:?}: {text}");
            }
        });
    }
}

#[test]
fn chinook_answers_equal_hand_written_sql() {
    let database = chinook::postgres_database();
    check(
        &database,
        &[
            (
                "{ artists(limit: 3, offset: 5) { artist_id name __typename } }",
                none(),
                "select json_build_object('artists', (select json_agg(json_build_object('artist_id', artist_id,
                 'name', name, '__typename', 'Artist')) from (select * from artist order by artist_id limit 3
                 offset 5) t))",
            ),
            (
                "query($g: Int!, $n: Int) { artists(where: {artist_id: {gt: $g}}, limit: $n) {
                 n: name albums(limit: 2, sort: {title: desc}) { title t: tracks(limit: 1) { name milliseconds }
                 tracks_aggregate { count sum { milliseconds } } } } }",
                json!({"g": 20, "n": 7}),
                "select json_build_object('artists', (select json_agg(json_build_object('n', name, 'albums',
                 (select coalesce(json_agg(json_build_object('title', title, 't', (select
                 coalesce(json_agg(json_build_object('name', name, 'milliseconds', milliseconds)), '[]') from
                 (select * from track t where t.album_id = a.album_id order by track_id limit 1) t),
                 'tracks_aggregate', (select json_build_object('count', count(*), 'sum',
                 json_build_object('milliseconds', sum(milliseconds))) from track t where t.album_id =
                 a.album_id))), '[]') from (select * from album a where a.artist_id = r.artist_id order by title
                 desc, album_id limit 2) a))) from (select * from artist where artist_id > 20 order by
                 artist_id limit 7) r))",
            ),
            (
                "{ employees { last_name employee: reports_to_employee { last_name employee: reports_to_employee { last_name } } employees { first_name } } }",
                none(),
                "select json_build_object('employees', json_agg(json_build_object('last_name', e.last_name,
                 'employee', (select json_build_object('last_name', b.last_name, 'employee', (select
                 json_build_object('last_name', c.last_name) from employee c where c.employee_id =
                 b.reports_to)) from employee b where b.employee_id = e.reports_to), 'employees', (select
                 coalesce(json_agg(json_build_object('first_name', s.first_name) order by s.employee_id), '[]')
                 from employee s where s.reports_to = e.employee_id)) order by e.employee_id)) from employee e",
            ),
            (
                "{ tracks(where: {album: {artist: {name: {ilike: \"%queen%\"}}}, or: [{milliseconds: {lt: 100000}},
                 {unit_price: {gt: 1}}, {name: {in: [\"We Will Rock You\", \"x'y\"]}}]}) { name unit_price } }",
                none(),
                "select json_build_object('tracks', coalesce(json_agg(json_build_object('name', t.name,
                 'unit_price', unit_price) order by track_id), '[]')) from track t join album using (album_id)
                 join artist a using (artist_id) where a.name ilike '%queen%' and (milliseconds < 100000 or
                 unit_price > 1 or t.name in ('We Will Rock You'))",
            ),
            (
                "{ invoices_aggregate(where: {billing_country: {eq: \"Germany\"}}) { count sum { total }
                 avg { total } min { invoice_date total } max { billing_city } }
                 none: invoices_aggregate(where: {invoice_id: {lt: 0}}) { count sum { total } max { total } } }",
                none(),
                "select json_build_object('invoices_aggregate', (select json_build_object('count', count(*), 'sum',
                 json_build_object('total', sum(total)), 'avg', json_build_object('total', avg(total)::float8),
                 'min', json_build_object('invoice_date', min(invoice_date), 'total', min(total)), 'max',
                 json_build_object('billing_city', max(billing_city))) from invoice where billing_country =
                 'Germany'), 'none', json_build_object('count', 0, 'sum', json_build_object('total', null),
                'max', json_build_object('total', null)))",
            ),
            (
                "{ playlists(limit: 4) { name playlist_tracks(limit: 2, offset: 1) { track { name } }
                 playlist_tracks_aggregate { count } } }",
                none(),
                "select json_build_object('playlists', json_agg(json_build_object('name', name, 'playlist_tracks',
                 (select coalesce(json_agg(json_build_object('track', (select json_build_object('name', name)
                 from track t where t.track_id = x.track_id))), '[]') from (select * from playlist_track x where
                 x.playlist_id = p.playlist_id order by playlist_id, track_id limit 2 offset 1) x),
                 'playlist_tracks_aggregate', (select json_build_object('count', count(*)) from playlist_track x
                 where x.playlist_id = p.playlist_id)))) from (select * from playlist p order by playlist_id
                 limit 4) p",
            ),
        ],
    );
}

#[test]
fn hostile_values_and_aliases_stay_data() {
    let database = TestDatabase::create();
    database.execute(
        "create table \"we\"\"ird\" (id int primary key, \"a'b\" text, note text);
         create table note (id serial primary key, body text not null);
         insert into note (body) values ('''; drop table note; --'), (E'\\\\ \" \\n \\x01 ü 😀'), ('plain')",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for body in ["'; drop table note; --", "\\ \" \n \u{1} ü 😀", "nothing", "$1", "%", "\\"] {
            let text = "query($b: String!) { notes(where: {body: {eq: $b}}) { __drop_: body } }";
            let data = served.data(&session, text, json!({"b": body})).await;
            let rows = database.query("select body from note where body <> 'plain'");
            let is_stored = rows.iter().any(|row| row[0].as_deref() == Some(body));
            let wanted = if is_stored { json!([{"__drop_": body}]) } else { json!([]) };
            assert_eq!(data["notes"], wanted, "{body}");
        }
        let with_nul = served
            .plan("query($b: String!) { notes(where: {body: {eq: $b}}) { id } }", json!({"b": "a\u{0}b"}));
        assert_eq!(with_nul.outcome(&session).await, Err(ErrorCode::BadUserInput));
        assert_eq!(database.query("select count(*) from note")[0][0].as_deref(), Some("3"));
    });
}

#[test]
fn limits_apply_per_parent_and_are_bounded() {
    let database = chinook::postgres_database();
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let text = "query($n: Int) { artists(limit: $n) { artist_id } }";
        for (limit, code) in [(-1, ErrorCode::BadUserInput), (10_001, ErrorCode::LimitExceeded)] {
            let planned = served.plan(text, json!({"n": limit}));
            assert_eq!(planned.outcome(&session).await, Err(code), "limit {limit}");
        }
        let all = served.data(&session, text, json!({"n": null})).await;
        assert_eq!(all["artists"].as_array().unwrap().len(), 100);
        let nothing = served.data(&session, text, json!({"n": 0})).await;
        assert_eq!(nothing["artists"], json!([]));
    });
}

/// A number in the document is as wrong as the same one in a variable: an error of its field, and not of the request.
#[test]
fn wrong_limits_of_the_document_are_errors_of_fields() {
    let database = chinook::postgres_database();
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            for (text, code) in [
                ("{ artists(limit: -1) { artist_id } }", ErrorCode::BadUserInput),
                ("{ artists(limit: 10001) { artist_id } }", ErrorCode::LimitExceeded),
                ("{ artists(offset: -1) { artist_id } }", ErrorCode::BadUserInput),
                ("{ artists { albums(limit: 10001) { album_id } } }", ErrorCode::LimitExceeded),
                ("{ artists(limit: 0) { albums(limit: -1) { album_id } } }", ErrorCode::BadUserInput),
            ] {
                assert_eq!(served.plan(text, none()).outcome(&session).await, Err(code), "{model:?} {text}");
            }
        });
    }
}

#[test]
fn an_answer_over_the_limit_of_bytes_is_refused() {
    let database = chinook::postgres_database();
    on_a_core(async {
        let settings = RelationalSettings {
            common: CommonSettings { max_response_bytes: 1000, ..CommonSettings::default() },
            ..settings(ResolverModel::Subquery)
        };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        let large = served.plan("{ tracks(limit: 3000) { name composer } }", none());
        assert_eq!(large.outcome(&session).await, Err(ErrorCode::LimitExceeded));
        let small = served.plan("{ tracks(limit: 3) { name } }", none());
        assert!(small.outcome(&session).await.is_ok());
    });
}

#[test]
fn rows_come_in_the_order_of_a_key_that_is_not_served() {
    let database = TestDatabase::create();
    database.execute(
        "create table shelves (id int primary key);
         create table items (code text primary key, shelf_id int references shelves, name text);
         insert into shelves values (1);
         insert into items values ('c', 1, 'x'), ('a', 1, 'y'), ('b', 1, 'y');",
    );
    for model in MODELS {
        on_a_core(async {
            let mut settings = settings(model);
            let table = TableSettings { exclude_columns: vec!["code".into()], ..TableSettings::default() };
            settings.tables.insert("items".into(), table);
            let served = Served::open(&database.url(), &settings).await;
            let session = served.session();
            let text = "{ items(limit: 2, offset: 1) { name } shelves { items { name } } sorted: items(sort: {name: asc}) { name } }";
            let data = served.data(&session, text, none()).await;
            let (x, y) = (json!({"name": "x"}), json!({"name": "y"}));
            assert_eq!(data["items"], json!([y, x]), "{model:?}");
            assert_eq!(data["shelves"], json!([{"items": [y, y, x]}]), "{model:?}");
            assert_eq!(data["sorted"], json!([x, y, y]), "{model:?}");
        });
    }
}
