//! The tests of the API again, with series on PostgreSQL: the responses are the same.

use prony_series_postgres::{PostgresEngine, PostgresSettings};
use prony_series_store::{Engine, Kind, Value};
use prony_testkit::TestDatabase;

use super::{
    deletes, further_queries, graphql,
    harness::{Harness, on_postgres},
    hidden, incoming, notify,
    on_databases::the_same_tests,
    queries, row_formats, temporal,
};

the_same_tests!(on_postgres);

#[test]
fn what_a_column_cannot_have_is_null_and_counted() {
    on_postgres(|| {
        let harness = Harness::new();
        let row = |time: &str, text: &str| {
            format!(
                r#"{{"id":"a","type":"T","state":{{"type":"Text","value":"{text}"}},"TimeInstant":{{"type":"DateTime","value":"{time}"}}}}"#
            )
        };
        let rows = [row("9999-12-31T23:59:59Z", "late"), row("1970-01-01T00:00:00Z", "a\\u0000b")];
        harness.notify(&format!("[{}]", rows.join(",")), &[]);
        assert_eq!(
            harness.get("/v2/entities/a/attrs/state"),
            r#"200 {"id":"a","type":"T","attrName":"state","index":["1970-01-01T00:00:00.000+00:00","9999-12-31T23:59:59.000+00:00"],"values":[null,"late"]}"#
        );
        assert_eq!(harness.series.misfit_count(), 1);
        let body = r#"{"data":[{"id":"a\u0000","type":"T","x":{"type":"Number","value":1}}]}"#;
        let refused = harness.request("POST", "/v2/notify", &[], body);
        assert_eq!(refused.status.as_u16(), 400);
        assert!(refused.body.contains("U+0000"), "{}", refused.body);
    });
}

/// Such were refused with 503 for ever: every table has columns of these names, or another attribute's column was called so.
#[test]
fn attributes_may_be_called_as_columns_that_there_are() {
    on_postgres(|| {
        let harness = Harness::new();
        let names =
            ["time", "attribute 0", "xmin", "xmax", "cmin", "cmax", "ctid", "tableoid", "attribute 2"];
        let attribute =
            |(value, name): (usize, &&str)| format!(r#""{name}":{{"type":"Integer","value":{value}}}"#);
        let attributes: Vec<String> = names.iter().enumerate().map(attribute).collect();
        harness.notify(&format!(r#"[{{"id":"a","type":"T",{}}}]"#, attributes.join(",")), &[]);
        for (value, name) in names.iter().enumerate() {
            let found = harness.get(&format!("/v2/entities/a/attrs/{}/value", name.replace(' ', "%20")));
            assert!(found.ends_with(&format!(r#""values":[{value}]}}"#)), "{name}: {found}");
        }
    });
}

/// Where a sum is more than a double can be, PostgreSQL has an error, and no figure of the attribute was shown.
#[test]
fn sums_beyond_all_doubles_do_not_hide_other_figures() {
    let figures = || {
        let harness = Harness::new();
        let row = |second: i32, value: &str| {
            format!(
                r#"{{"id":"a","type":"T","x":{{"type":"Number","value":{value}}},"observedAt":"2024-01-01T00:00:0{second}Z"}}"#
            )
        };
        let values = ["1.7976931348623157e308", "1.7976931348623157e308", "-2.5", "1e290"];
        let rows: Vec<String> = (0..).zip(values).map(|(second, value)| row(second, value)).collect();
        harness.notify(&format!("[{}]", rows.join(",")), &[]);
        let of_query = |query: &str| {
            let found = harness.get(&format!("/v2/entities/a/attrs/x/value?{query}"));
            found.split_once("\"values\":").map_or_else(|| found.clone(), |(_, values)| values.to_owned())
        };
        let mut all = Vec::new();
        for method in ["count", "min", "max", "sum", "avg"] {
            all.push(of_query(&format!("aggrMethod={method}")));
            all.push(of_query(&format!("aggrMethod={method}&aggrPeriod=day&fromDate=2024-01-01T00:00:01Z")));
        }
        all.join(" ")
    };
    let expected = "[4]} [3]} [-2.5]} [-2.5]} [1.7976931348623157e+308]} [1.7976931348623157e+308]} [null]} \
                    [1.7976931348623157e+308]} [null]} [5.992310449541053e+307]}";
    assert_eq!(figures(), expected);
    on_postgres(|| assert_eq!(figures(), expected));
}

/// Parts that rows of other months bring take the rows that are there already.
#[test]
fn rows_stay_when_their_months_get_parts() {
    let database = TestDatabase::create();
    let engine = PostgresEngine::open(PostgresSettings::new(database.url())).unwrap();
    let written = (&engine as &dyn Engine).write_and_wait(|write| {
        let table = write.table("", "Room")?;
        let series = write.series(table, "Room:1", "/")?;
        let (attribute, _) = write.attribute(table, "n", "Integer", || Kind::Integer)?;
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        for (number, months) in (0..).zip([0, -2, -5, 7, -400, 400]) {
            write.row(series, now + months * 2_629_800_000, &[(attribute, Value::Integer(number))])?;
        }
        Ok(())
    });
    written.unwrap();
    let of = |sql: &str| database.query(sql)[0][0].clone().unwrap();
    let in_other = "select count(*) from prony_tenant.room_1_other";
    assert_eq!(of(in_other), "5");
    engine.put_in_order().unwrap();
    assert_eq!(of(in_other), "2", "those that are far away");
    assert_eq!(of("select count(*) from prony_tenant.room_1"), "6");
}
