//! Every kind of column there and back, at the root, nested, per level, and as a filter.

use expect_test::{Expect, expect};
use prony_testkit::postgres::TestDatabase;

use crate::tests::*;
use prony_sql::settings::{ColumnSettings, ColumnTypeOverride, TableSettings};

const EVERYTHING: &str = r#"
create type mood as enum ('sad', 'happy');
create type "odd mood" as enum ('so-so', 'a b');
create domain email as text check (value like '%@%');
create table owner (id int primary key);
create table thing (
    id int primary key, owner_id int references owner,
    small smallint, big bigint, r real, f float8, n numeric(20,4), b boolean,
    t text, v varchar(20), c char(5), e email, m mood, om "odd mood", u uuid, j json, jb jsonb, raw bytea,
    ts timestamp, tz timestamptz, d date, ti time, iv interval, ip inet, p point,
    ints int[], texts text[], floats float8[], moods mood[], stamps timestamp[], blobs bytea[], nums numeric[]);
insert into owner values (1);
insert into thing values
 (1, 1, -32768, 9223372036854775807, 0.1, 1e300, 12345678901234.5678, true,
  E'q"\\ \n ü\u0001', 'x', 'ab', 'a@b', 'happy', 'a b', '123e4567-e89b-12d3-a456-426614174000',
  '{"a": [1, 2]}', '{"b":null}', '\x00ff10',
  '2021-01-01 18:00:00', '2021-01-01 18:00:00.25+02', '2021-12-31', '23:59:59', '1 day 2 hours', '10.0.0.1/8',
  '(1,2)', '{1,null,3}', '{a,"b\"c",null}', '{1.5,NaN,Infinity}', '{happy,sad}', '{2021-01-01 18:00:00}',
  '{"\\x0a"}', '{1.10,null}'),
 (2, 1, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
  null, null, null, null, null, null, null, null, null, null, null, null),
 (3, 1, 1, 1, 'NaN', '-Infinity', 'NaN', false, '', '', '', '@', 'sad', 'so-so',
  '00000000-0000-0000-0000-000000000000', 'null', '0', '', 'infinity', '-infinity', '0044-03-15 BC', '00:00', '0',
  '::1', '(0,0)', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
"#;

const ALL: &str = "id small big r f n b t v c e m om u j jb raw ts tz d ti iv ip p ints texts floats moods stamps \
                   blobs nums";

/// The rows as they are served, the same at the root, below a parent, and with all resolver models.
fn check(expected: &Expect) {
    let database = TestDatabase::create();
    database.execute(EVERYTHING);
    let mut answers = Vec::new();
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let root = served.plan(&format!("{{ things {{ {ALL} }} }}"), none());
            answers.push(root.outcome(&session).await.unwrap());
            let nested = served.plan(&format!("{{ owners {{ things {{ {ALL} }} }} }}"), none());
            let nested = nested.outcome(&session).await.unwrap();
            let inner = nested.strip_prefix("[{\"things\":").unwrap().strip_suffix("}]").unwrap();
            answers.push(inner.to_owned());
        });
    }
    for answer in &answers[1..] {
        assert_eq!(*answer, answers[0]);
    }
    let _: Json = serde_json::from_str(&answers[0]).unwrap();
    expected.assert_eq(&answers[0].replace("},{", "},\n{"));
}

#[test]
fn every_type_is_served_in_one_form() {
    check(&expect![[r#"
        [{"id":1,"small":-32768,"big":9223372036854775807,"r":0.1,"f":1e+300,"n":12345678901234.5678,"b":true,"t":"q\"\\ \n ü\u0001","v":"x","c":"ab","e":"a@b","m":"happy","om":"a b","u":"123e4567-e89b-12d3-a456-426614174000","j":{"a": [1, 2]},"jb":{"b": null},"raw":"AP8Q","ts":"2021-01-01T18:00:00","tz":"2021-01-01T16:00:00.25+00:00","d":"2021-12-31","ti":"23:59:59","iv":"1 day 02:00:00","ip":"10.0.0.1/8","p":"(1,2)","ints":[1,null,3],"texts":["a","b\"c",null],"floats":[1.5,null,null],"moods":["happy","sad"],"stamps":["2021-01-01T18:00:00"],"blobs":["Cg=="],"nums":[1.10,null]},
        {"id":2,"small":null,"big":null,"r":null,"f":null,"n":null,"b":null,"t":null,"v":null,"c":null,"e":null,"m":null,"om":null,"u":null,"j":null,"jb":null,"raw":null,"ts":null,"tz":null,"d":null,"ti":null,"iv":null,"ip":null,"p":null,"ints":null,"texts":null,"floats":null,"moods":null,"stamps":null,"blobs":null,"nums":null},
        {"id":3,"small":1,"big":1,"r":null,"f":null,"n":null,"b":false,"t":"","v":"","c":"","e":"@","m":"sad","om":"so-so","u":"00000000-0000-0000-0000-000000000000","j":null,"jb":0,"raw":"","ts":"infinity","tz":"-infinity","d":"0044-03-15 BC","ti":"00:00:00","iv":"00:00:00","ip":"::1/128","p":"(0,0)","ints":[],"texts":[],"floats":[],"moods":[],"stamps":[],"blobs":[],"nums":[]}]"#]]);
}

#[test]
fn every_type_can_be_filtered_by() {
    let database = TestDatabase::create();
    database.execute(EVERYTHING);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let filters = [
            ("small: {eq: -32768}", vec![1]),
            ("small: {lt: 100000}", vec![1, 3]),
            ("big: {eq: 9223372036854775807}", vec![1]),
            ("big: {in: [1, 2]}", vec![3]),
            ("r: {eq: 0.1}", vec![1]),
            ("f: {gt: 1e299}", vec![1]),
            ("n: {gt: 12345678901234.5}", vec![1, 3]),
            ("n: {lt: 12345678901234.6}", vec![1]),
            ("b: {eq: false}", vec![3]),
            ("b: {ne: false}", vec![1]),
            ("t: {like: \"q%\"}", vec![1]),
            ("v: {ilike: \"X\"}", vec![1]),
            ("c: {eq: \"ab\"}", vec![1]),
            ("c: {eq: \"abcdefgh\"}", vec![]),
            ("e: {in: [\"@\", \"x\"]}", vec![3]),
            ("m: {eq: happy}", vec![1]),
            ("m: {in: [happy, sad]}", vec![1, 3]),
            ("om: {eq: \"so-so\"}", vec![3]),
            ("u: {eq: \"123E4567-e89b-12d3-a456-426614174000\"}", vec![1]),
            ("u: {not_in: [\"123e4567-e89b-12d3-a456-426614174000\"]}", vec![3]),
            ("ts: {lte: \"2021-01-01T18:00:00\"}", vec![1]),
            ("tz: {gt: \"2021-01-01T16:00:00.2Z\"}", vec![1]),
            ("d: {lt: \"2000-01-01\"}", vec![3]),
            ("small: {is_null: true}", vec![2]),
            ("not: {small: {eq: 1}}", vec![1]),
            ("not: {small: {gt: null}}", vec![]),
            ("not: {t: {like: null}}", vec![]),
            ("or: [{not: {m: {in: null}}}, {id: {eq: 3}}]", vec![3]),
        ];
        for (filter, ids) in filters {
            let text = format!("{{ things(where: {{{filter}}}) {{ id }} }}");
            let data = served.data(&session, &text, none()).await;
            let wanted: Vec<Json> = ids.iter().map(|id| json!({"id": id})).collect();
            assert_eq!(data["things"], json!(wanted), "{filter}");
        }
    });
}

/// PostgreSQL has no sum of them: the request failed.
#[test]
fn oids_have_sums_and_averages() {
    let database = TestDatabase::create();
    database.execute(
        "create domain part_number as oid;
         create table parts (id int primary key, number oid, other part_number);
         insert into parts values (1, 4000000000, 1), (2, 4000000000, null), (3, null, 2);",
    );
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let text = "{ parts_aggregate { sum { number other } avg { number } max { number } } }";
            let data = served.data(&session, text, none()).await;
            let wanted = json!({
                "sum": {"number": 8_000_000_000_i64, "other": 3},
                "avg": {"number": 4_000_000_000_i64},
                "max": {"number": 4_000_000_000_i64},
            });
            assert_eq!(data["parts_aggregate"], wanted, "{model:?}");
        });
    }
}

/// The operators of enumerated types and their `max` do not take domains of them: the request failed.
#[test]
fn domains_of_enums_are_compared() {
    let database = TestDatabase::create();
    database.execute(
        "create type mood as enum ('sad', 'happy');
         create type \"odd mood\" as enum ('so-so', 'a b');
         create domain known_mood as mood;
         create domain odd_mood as \"odd mood\";
         create table feelings (m known_mood primary key, o odd_mood);
         insert into feelings values ('sad', 'so-so'), ('happy', 'a b');",
    );
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            for (filter, found) in [
                ("m: {eq: happy}", vec!["happy"]),
                ("m: {ne: happy}", vec!["sad"]),
                ("m: {in: [sad, happy]}", vec!["sad", "happy"]),
                ("m: {not_in: []}", vec!["sad", "happy"]),
                ("o: {eq: \"so-so\"}", vec!["sad"]),
                ("o: {gt: \"so-so\"}", vec!["happy"]),
                ("o: {in: [\"a b\"]}", vec!["happy"]),
                ("o: {like: \"s%\"}", vec!["sad"]),
            ] {
                let text = format!("{{ feelings(where: {{{filter}}}) {{ m }} }}");
                let data = served.data(&session, &text, none()).await;
                let wanted: Vec<Json> = found.iter().map(|mood| json!({"m": mood})).collect();
                assert_eq!(data["feelings"], json!(wanted), "{model:?}: {filter}");
            }
            let text = "{ feelings_aggregate { max { m o } min { m o } } }";
            let data = served.data(&session, text, none()).await;
            let wanted = json!({"max": {"m": "happy", "o": "a b"}, "min": {"m": "sad", "o": "so-so"}});
            assert_eq!(data["feelings_aggregate"], wanted, "{model:?}");
            let text = "mutation { updateFeeling(pk_columns: {m: sad}, o: \"a b\") { result }
                                   b: updateFeeling(pk_columns: {m: sad}, o: \"so-so\") { result } }";
            let data = served.data(&session, text, none()).await;
            assert_eq!(data, json!({"updateFeeling": {"result": true}, "b": {"result": true}}), "{model:?}");
        });
    }
}

/// An extension's types may be in a schema to which the search path does not lead. `citext` was compared as `text` there, and `ltree`
/// not at all.
#[test]
fn operators_are_found_beside_their_types() {
    let database = TestDatabase::create();
    database.execute(
        "create schema \"Odd one\";
         create extension citext schema \"Odd one\";
         create extension ltree schema \"Odd one\";
         create domain mail as \"Odd one\".citext;
         create table owners (name \"Odd one\".citext primary key, mail mail, path \"Odd one\".ltree);
         create table pets (id int primary key, owner \"Odd one\".citext references owners);
         insert into owners values ('ada', 'Ada@x', 'a.b'), ('Bob', 'B@x', 'a');
         insert into pets values (1, 'ADA'), (2, 'bob'), (3, 'Ada');",
    );
    let text = "{ owners { name pets { id } } pets { owner_owner { name } }
                  a: owners(where: {name: {eq: \"ADA\"}}) { name }
                  b: owners(where: {name: {not_in: [\"BOB\"]}}) { name }
                  c: owners(where: {path: {gte: \"a.b\"}}) { name }
                  d: owners(where: {mail: {in: [\"ADA@X\"]}}) { name }
                  e: owners(where: {pets: {id: {eq: 3}}}) { name }
                  owners_aggregate { max { name path } min { name } } }";
    let update = "mutation { updateOwner(pk_columns: {name: \"ADA\"}, mail: \"ada@X\") { result } }";
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let ada = json!([{"name": "ada"}]);
            let wanted = json!({
                "owners": [
                    {"name": "ada", "pets": [{"id": 1}, {"id": 3}]},
                    {"name": "Bob", "pets": [{"id": 2}]}
                ],
                "pets": [
                    {"owner_owner": {"name": "ada"}},
                    {"owner_owner": {"name": "Bob"}},
                    {"owner_owner": {"name": "ada"}}
                ],
                "a": ada, "b": ada, "c": ada, "d": ada, "e": ada,
                "owners_aggregate": {"max": {"name": "Bob", "path": "a.b"}, "min": {"name": "ada"}},
            });
            assert_eq!(served.data(&session, text, none()).await, wanted, "{model:?}");
            let updated = served.data(&session, update, none()).await;
            assert_eq!(updated, json!({"updateOwner": {"result": true}}), "{model:?}");
        });
    }
}

/// PostgreSQL compares no texts of two collations unless told by which, and its foreign keys go by that of the key.
#[test]
fn relations_go_by_the_collation_of_the_key() {
    let database = TestDatabase::create();
    database.execute(
        "create table cities (name text collate \"C\" primary key);
         create table streets (id int primary key, city text collate \"POSIX\" references cities);
         insert into cities values ('Graz'), ('Linz');
         insert into streets values (1, 'Graz'), (2, 'Graz'), (3, null);",
    );
    let text =
        "{ cities { name streets { id } streets_aggregate { count } } streets { id city_city { name } }
                  a: cities(where: {streets: {id: {eq: 2}}}) { name }
                  b: streets(where: {city_city: {name: {eq: \"Graz\"}}}) { id } }";
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let data = served.data(&served.session(), text, none()).await;
            let wanted = json!({
                "cities": [
                    {"name": "Graz", "streets": [{"id": 1}, {"id": 2}], "streets_aggregate": {"count": 2}},
                    {"name": "Linz", "streets": [], "streets_aggregate": {"count": 0}}
                ],
                "streets": [
                    {"id": 1, "city_city": {"name": "Graz"}},
                    {"id": 2, "city_city": {"name": "Graz"}},
                    {"id": 3, "city_city": null}
                ],
                "a": [{"name": "Graz"}],
                "b": [{"id": 1}, {"id": 2}],
            });
            assert_eq!(data, wanted, "{model:?}");
        });
    }
}

/// Arrays of keys that are arrays or rows themselves came apart into the items and columns of these.
#[test]
fn keys_of_arrays_and_composite_types_stay_whole() {
    let database = TestDatabase::create();
    database.execute(
        "create type place as (x int, y text);
         create table paths (steps int[] primary key, at place unique);
         create table walks (id int primary key, steps int[] references paths, at place references paths (at));
         insert into paths values ('{}', (1, 'a')), ('{1,2}', (1, 'b,c')), ('{{1,2},{3,4}}', null);
         insert into walks values (1, '{1,2}', (1, 'a')), (2, '{{1,2},{3,4}}', (1, 'b,c')), (3, '{}', null);",
    );
    let text = "{ paths { walks_on_steps { id } walks_on_at { id } walks_on_at_aggregate { count } }
                  walks { steps_path { at } at_path { steps } } }";
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let data = served.data(&served.session(), text, none()).await;
            let wanted = json!({
                "paths": [
                    {"walks_on_steps": [{"id": 3}], "walks_on_at": [{"id": 1}], "walks_on_at_aggregate": {"count": 1}},
                    {"walks_on_steps": [{"id": 1}], "walks_on_at": [{"id": 2}], "walks_on_at_aggregate": {"count": 1}},
                    {"walks_on_steps": [{"id": 2}], "walks_on_at": [], "walks_on_at_aggregate": {"count": 0}}
                ],
                "walks": [
                    {"steps_path": {"at": "(1,\"b,c\")"}, "at_path": {"steps": []}},
                    {"steps_path": {"at": null}, "at_path": {"steps": [1, 2]}},
                    {"steps_path": {"at": "(1,a)"}, "at_path": null}
                ],
            });
            assert_eq!(data, wanted, "{model:?}");
        });
    }
}

/// `IS NOT NULL` of PostgreSQL is false of a row in which one column is null.
#[test]
fn a_row_of_nulls_is_no_null() {
    let database = TestDatabase::create();
    database.execute(
        "create type place as (x int, y text);
         create table spots (id int primary key, at place);
         insert into spots values (1, (1, 'a')), (2, (1, null)), (3, (null, null)), (4, null);",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let text = "{ spots(where: {at: {is_null: true}}) { id } a: spots(where: {at: {is_null: false}}) { id }
                      b: spots(where: {at: {eq: null}}) { id } c: spots(where: {not: {at: {ne: null}}}) { id } }";
        let data = served.data(&served.session(), text, none()).await;
        let wanted = json!({
            "spots": [{"id": 4}], "a": [{"id": 1}, {"id": 2}, {"id": 3}], "b": [{"id": 4}], "c": [{"id": 4}],
        });
        assert_eq!(data, wanted);
    });
}

/// The database's own text of a time has a blank where the `T` is that is served.
#[test]
fn patterns_match_times_as_they_are_served() {
    let database = TestDatabase::create();
    database.execute(
        "create table talks (id int primary key, at timestamp, stamp timestamptz);
         insert into talks values (1, '2021-01-01 18:00', '2021-01-01 18:00+00'), (2, 'infinity', null),
                                  (3, '2021-01-02 18:00', '2021-01-01 18:00:00.5+00');",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let text = r#"{ talks(where: {at: {like: "2021-01-01T18%"}}) { id } a: talks(where: {at: {ilike: "%t18:00:00"}}) { id }
                        b: talks(where: {stamp: {like: "%T18:00:00.5+00:00"}}) { id } c: talks(where: {at: {like: "inf%"}}) { id } }"#;
        let data = served.data(&served.session(), text, none()).await;
        let wanted = json!({
            "talks": [{"id": 1}], "a": [{"id": 1}, {"id": 3}], "b": [{"id": 3}], "c": [{"id": 2}],
        });
        assert_eq!(data, wanted);
    });
}

/// A key that is a number with a scale is found by the integers that refer to it.
#[test]
fn integers_refer_to_numbers_with_a_scale() {
    let database = TestDatabase::create();
    database.execute(
        "create table parts (id numeric(10, 2) primary key);
         create table orders (id int primary key, part_id bigint references parts);
         insert into parts values (3), (4.5); insert into orders values (1, 3), (2, 3);",
    );
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let text = "{ parts { id orders { id part { id } } } }";
            let answer = served.ask(&served.session(), text, none()).await;
            expect![[r#"{"data":{"parts":[{"id":3.00,"orders":[{"id":1,"part":{"id":3.00}},{"id":2,"part":{"id":3.00}}]},{"id":4.50,"orders":[]}]}}"#]].assert_eq(&answer);
        });
    }
}

/// PostgreSQL's own `avg` refuses numbers whose squares are beyond the range, and with it the whole field failed.
#[test]
fn averages_of_large_numbers_are_numbers() {
    let database = TestDatabase::create();
    database.execute(
        "create table samples (id int primary key, f float8, r real);
         insert into samples values (1, 1e300, 0.5), (2, 3e300, 1.5), (3, null, null), (4, 5e-324, 1e30);",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let text = "{ samples_aggregate(where: {id: {lte: 3}}) { count avg { f r } }
                      none: samples_aggregate(where: {id: {gt: 4}}) { avg { f r } }
                      small: samples_aggregate(where: {id: {eq: 4}}) { avg { f } } }";
        let answer = served.ask(&served.session(), text, none()).await;
        expect![[r#"{"data":{"samples_aggregate":{"count":3,"avg":{"f":2e+300,"r":1}},"none":{"avg":{"f":null,"r":null}},"small":{"avg":{"f":5e-324}}}}"#]].assert_eq(&answer);
    });
}

/// It was said of a stored number, where the one in the filter is beyond the range.
#[test]
fn a_number_in_a_filter_beyond_its_column_is_told() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key, r real); insert into t values (1, 0.5)");
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let response = served.ask(&served.session(), "{ ts(where: {r: {lt: 1e300}}) { id } }", none()).await;
        assert!(response.contains("summed up or compared with"), "{response}");
        assert!(response.contains("VALUE_OUT_OF_RANGE"), "{response}");
    });
}

/// It was said that the value does not fit its column.
#[test]
fn a_pattern_that_ends_with_its_escape_is_told() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key, label text); insert into t values (1, 'ab')");
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let text = r#"{ ts(where: {label: {like: "a\\"}}) { id } }"#;
        let response = served.ask(&served.session(), text, none()).await;
        assert!(response.contains("a pattern of `like` must not end with a single"), "{response}");
        assert!(response.contains("BAD_USER_INPUT"), "{response}");
    });
}

/// The greatest and least are those of the type, and not of its text form.
#[test]
fn extremes_are_those_of_the_type() {
    let database = TestDatabase::create();
    database.execute(
        "create type pair as (a int, b int);
         create table extremes (id int primary key, span interval, ip inet, net cidr, price money, at timetz, label \"char\",
             range int4range, flags bit varying, composed pair, day date);
         insert into extremes values
             (1, '9 days', '10.0.0.9', '9.0.0.0/8', '9', '23:00+00', 'b', '[9,10)', '01', row(9, 1), '9999-12-31'),
             (2, '10 days', '10.0.0.10', '10.0.0.0/8', '10', '22:00-05', 'a', '[10,20)', '001', row(10, null), '10000-01-01'),
             (3, null, null, null, null, null, null, null, null, null, null);",
    );
    let columns = "span ip net price at label range flags composed day";
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let text = format!("{{ extremes_aggregate {{ max {{ {columns} }} min {{ {columns} }} }} }}");
            let data = served.data(&session, &text, none()).await;
            let (max, min) = (&data["extremes_aggregate"]["max"], &data["extremes_aggregate"]["min"]);
            let wanted = json!({
                "span": "10 days", "ip": "10.0.0.10/32", "net": "10.0.0.0/8", "price": "$10.00", "at": "22:00:00-05",
                "label": "b", "range": "[10,20)", "flags": "01", "composed": "(10,)", "day": "10000-01-01"
            });
            assert_eq!(*max, wanted, "{model:?}");
            let wanted = json!({
                "span": "9 days", "ip": "10.0.0.9/32", "net": "9.0.0.0/8", "price": "$9.00", "at": "23:00:00+00",
                "label": "a", "range": "[9,10)", "flags": "001", "composed": "(9,1)", "day": "9999-12-31"
            });
            assert_eq!(*min, wanted, "{model:?}");
        });
    }
}

/// What cannot be sorted or compared is not offered to be, and served as before.
#[test]
fn types_without_an_order_are_only_asked_whether_they_are_null() {
    let database = TestDatabase::create();
    database.execute(
        "create type place as (name text, spot point);
         create table shapes (id int primary key, spot point, doc xml, docs json[], spots point[], at place, span interval);
         insert into shapes values (1, '(1,2)', '<a/>', array['{}']::json[], array['(1,2)']::point[], row('x', '(1,2)'), '1 day'),
             (2, null, null, null, null, null, null);",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let input = |name: &str| -> Vec<String> {
            let object = served.schema.valid().get_input_object(name).unwrap();
            object.fields.iter().map(|(name, field)| format!("{name}: {}", field.ty)).collect()
        };
        assert_eq!(input("ShapeSort"), ["id: SortOperator", "span: SortOperator"]);
        assert_eq!(input("NullWhere"), ["is_null: Boolean"]);
        let clauses = input("ShapeClauses");
        for column in
            ["spot: NullWhere", "doc: NullWhere", "docs: ListWhere", "at: NullWhere", "span: StrWhere"]
        {
            assert!(clauses.iter().any(|known| known == column), "{column}: {clauses:?}");
        }
        let text = "{ shapes(where: {spot: {is_null: false}, doc: {is_null: false}, at: {is_null: false}}) { id spot doc at spots docs }
                     shapes_aggregate { max { spot doc docs at spots span } } }";
        let data = served.data(&session, text, none()).await;
        let wanted = json!([{"id": 1, "spot": "(1,2)", "doc": "<a/>", "at": "(x,\"(1,2)\")", "spots": ["(1,2)"], "docs": [{}]}]);
        assert_eq!(data["shapes"], wanted);
        let wanted =
            json!({"spot": null, "doc": null, "docs": null, "at": null, "spots": null, "span": "1 day"});
        assert_eq!(data["shapes_aggregate"]["max"], wanted);
    });
}

/// Each row of an array is one text, and not its first column.
#[test]
fn arrays_of_composite_types_keep_their_rows_whole() {
    let database = TestDatabase::create();
    database.execute(
        "create type pair as (a int, b text);
         create type single as (a int);
         create table lots (id int primary key, lot_id int references lots, pairs pair[], singles single[], days date[]);
         insert into lots values (1, null, array[row(2, 'b'), row(1, 'a'), null]::pair[], array[row(5)]::single[], '{2021-12-31}'),
             (2, 1, '{}', null, '{null}');",
    );
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let text = "{ lots { pairs singles days lot { pairs } } }";
            let data = served.data(&session, text, none()).await;
            let first = json!(["(2,b)", "(1,a)", null]);
            let wanted = json!([
                {"pairs": first, "singles": ["(5)"], "days": ["2021-12-31"], "lot": null},
                {"pairs": [], "singles": null, "days": [null], "lot": {"pairs": first}}
            ]);
            assert_eq!(data["lots"], wanted, "{model:?}");
        });
    }
}

#[test]
fn wrong_values_name_their_column() {
    let database = TestDatabase::create();
    database.execute(EVERYTHING);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for (filter, message) in [
            ("ts: {eq: \"yesterday evening\"}", "the value of ts does not fit the type of its column"),
            (
                "ts: {eq: \"no\"}, d: {eq: \"no\"}",
                "the value of one of ts, d does not fit the type of its column",
            ),
            (
                "t: {like: \"\\\\\"}",
                "a pattern of `like` must not end with a single `\\`, which escapes what follows",
            ),
        ] {
            let planned = served.plan(&format!("{{ things(where: {{{filter}}}) {{ id }} }}"), none());
            let result = planned.results(&session).await.remove(0);
            assert_eq!(result.errors[0].message, message, "{filter}");
            assert_eq!(result.errors[0].code, ErrorCode::BadUserInput, "{filter}");
        }
    });
}

/// Types with a syntax of their own give the code of a statement that is none, which was told as a fault of the server.
#[test]
fn texts_that_are_none_of_their_type_are_bad_values() {
    let database = TestDatabase::create();
    database.execute(
        "create table term (id int primary key, query tsquery, words tsvector, path jsonpath);
         insert into term values (1, 'a & b', 'a', '$.a');",
    );
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            for (text, message) in [
                ("{ terms(where: {query: {eq: \"(1\"}}) { id } }", "the value of query does not fit"),
                (
                    "{ terms_aggregate(where: {words: {in: [\"'\"]}}) { count } }",
                    "the value of words does not fit",
                ),
                (
                    "mutation { updateTerm(pk_columns: {id: 1}, path: \"$[\") { result } }",
                    "the value of path does not fit",
                ),
            ] {
                let response = served.ask(&session, text, none()).await;
                assert!(response.contains(message) && response.contains("BAD_USER_INPUT"), "{response}");
            }
        });
    }
}

#[test]
fn every_type_is_written_as_it_is_read() {
    let database = TestDatabase::create();
    database.execute(EVERYTHING);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let create = r#"mutation { createThing(id: 10, small: 7, big: "9007199254740993", r: 0.5, f: 2.25,
            n: 1.2345, b: true, t: "x'y", v: "v", c: "c", e: "a@b", m: happy, om: "a b",
            u: "123e4567-e89b-12d3-a456-426614174000", j: {a: [1, null]}, jb: [true], raw: "AP8Q",
            ts: "2021-01-01T18:00:00", tz: "2021-01-01T18:00:00Z", d: "2021-12-31", ti: "23:59", iv: "1 day",
            ip: "10.0.0.1", p: "(1,2)", ints: [1, null], texts: ["a\"b", "{,}"], floats: [1.5], moods: [sad],
            stamps: ["2021-01-01T18:00:00"], blobs: ["AP8Q"], nums: [1.10]) { id } }"#;
        let data = served.data(&session, create, none()).await;
        assert_eq!(data, json!({"createThing": {"id": 10}}));
        let text = format!("{{ things(where: {{id: {{eq: 10}}}}) {{ {ALL} }} }}");
        let row = served.plan(&text, none()).outcome(&session).await.unwrap();
        expect![[r#"[{"id":10,"small":7,"big":9007199254740993,"r":0.5,"f":2.25,"n":1.2345,"b":true,"t":"x'y","v":"v","c":"c","e":"a@b","m":"happy","om":"a b","u":"123e4567-e89b-12d3-a456-426614174000","j":{"a":[1,null]},"jb":[true],"raw":"AP8Q","ts":"2021-01-01T18:00:00","tz":"2021-01-01T18:00:00+00:00","d":"2021-12-31","ti":"23:59:00","iv":"1 day","ip":"10.0.0.1/32","p":"(1,2)","ints":[1,null],"texts":["a\"b","{,}"],"floats":[1.5],"moods":["sad"],"stamps":["2021-01-01T18:00:00"],"blobs":["AP8Q"],"nums":[1.1]}]"#]].assert_eq(&row);
    });
}

#[test]
fn a_stored_number_beyond_its_field_is_told() {
    let database = TestDatabase::create();
    database.execute(
        "create table t (id int primary key, big bigint); insert into t values (1, 5), (2, 5000000000)",
    );
    for resolver in MODELS {
        on_a_core(async {
            let mut settings = settings(resolver);
            let column =
                ColumnSettings { r#type: Some(ColumnTypeOverride::Int), ..ColumnSettings::default() };
            let table =
                TableSettings { columns: [("big".into(), column)].into(), ..TableSettings::default() };
            settings.tables.insert("t".into(), table);
            let served = Served::open(&database.url(), &settings).await;
            let session = served.session();
            let fits = served.plan("{ ts(where: {id: {eq: 1}}) { big } }", none());
            assert_eq!(fits.outcome(&session).await, Ok("[{\"big\":5}]".into()));
            let beyond = served.plan("{ ts { big } }", none());
            assert_eq!(beyond.outcome(&session).await, Err(ErrorCode::ValueOutOfRange));
        });
    }
}

#[test]
fn wide_tables_and_many_aliases_fit_one_statement() {
    let database = TestDatabase::create();
    let columns: Vec<String> = (0..400).map(|number| format!("c{number} int default {number}")).collect();
    database.execute(&format!(
        "create table wide (id int primary key, wide_id int references wide, {}); insert into wide values (1, 1)",
        columns.join(", ")
    ));
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let all: Vec<String> = (0..400).map(|number| format!("c{number} a{number}: c{number}")).collect();
        let all = all.join(" ");
        let data = served.data(&session, &format!("{{ wides {{ {all} wide {{ {all} }} }} }}"), none()).await;
        assert_eq!(data["wides"][0]["c399"], json!(399));
        assert_eq!(data["wides"][0]["wide"]["a399"], json!(399));
    });
}
