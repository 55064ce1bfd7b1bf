//! The tests of the API again, with series on QuestDB: the responses are the same.

use prony_series_store::OnDuplicate;

use super::{
    deletes, further_queries, graphql,
    harness::{Harness, on_questdb},
    hidden, incoming, notify,
    on_databases::the_same_tests,
    queries, row_formats, temporal,
};
use crate::settings::SeriesSettings;

the_same_tests!(on_questdb);

#[test]
fn what_questdb_cannot_have_is_refused_or_null_and_counted() {
    on_questdb(|| {
        let harness = Harness::new();
        let row = |time: &str, text: &str| {
            format!(
                r#"{{"id":"a","type":"T","state":{{"type":"Text","value":"{text}"}},"TimeInstant":{{"type":"DateTime","value":"{time}"}}}}"#
            )
        };
        let rows = [row("9999-12-31T23:59:59Z", "late"), row("1970-01-01T00:00:00Z", "a\\u0000b")];
        harness.notify(&format!("[{}]", rows.join(",")), &[]);
        let found = r#"200 {"id":"a","type":"T","attrName":"state","index":["1970-01-01T00:00:00.000+00:00","9999-12-31T23:59:59.000+00:00"],"values":[null,"late"]}"#;
        assert_eq!(harness.get("/v2/entities/a/attrs/state"), found);
        assert_eq!(harness.series.misfit_count(), 1);
        let long = row("2024-01-01T00:00:00Z", &"x".repeat(1_100_000));
        for (row, told) in
            [(row("1969-12-31T23:59:59Z", "early"), "0 to 253402300799999"), (long, "the limit is")]
        {
            let refused = harness.request("POST", "/v2/notify", &[], &format!("{{\"data\":[{row}]}}"));
            assert_eq!(refused.status.as_u16(), 400, "{}", refused.body);
            assert!(refused.body.contains(told), "{}", refused.body);
        }
        assert_eq!(harness.get("/v2/entities/a/attrs/state"), found, "nothing of them is kept");
    });
}

/// Names that would be something else in a statement, a line or a column are what they are.
#[test]
fn names_are_kept_as_they_are() {
    on_questdb(|| {
        let harness = Harness::new();
        let odd = r#"it's \\ \"odd\" -- ; ) or 1=1 $1 % 温度,=\n"#;
        harness.notify(
            &format!(
                r#"[{{"id":"{odd}","type":"T","{odd}":{{"type":"Text","value":"{odd}"}},"Deleted":{{"type":"Number","value":2}},
                "TimeInstant":{{"type":"DateTime","value":"2024-01-01T00:00:00Z"}}}},
                {{"id":"other","type":"t","x":{{"type":"Number","value":1}},"TimeInstant":{{"type":"DateTime","value":"2024-01-01T00:00:00Z"}}}}]"#
            ),
            &["fiware-servicepath: /a'b"],
        );
        let found = harness.get("/v2/types/T");
        assert!(found.contains(&format!(r#""attrName":"{odd}","values":["{odd}"]"#)), "{found}");
        assert!(found.contains(r#""attrName":"Deleted","values":[2.0]"#), "{found}");
        assert!(!found.contains("other"), "{found}");
        let found = harness.request("GET", "/v2/types/T", &["fiware-servicepath: /a'b"], "");
        assert!(
            found.body.contains(&format!(r#""entityId":"{odd}""#))
                || found.body.contains(&format!(r#""id":"{odd}""#)),
            "{}",
            found.body
        );
    });
}

/// QuestDB's index of entities takes a text in quotes for what is between them, and finds none with a quote in it.
#[test]
fn ids_with_quotes_have_rows_of_their_own() {
    on_questdb(|| {
        let settings = SeriesSettings { on_duplicate: OnDuplicate::Replace, ..SeriesSettings::default() };
        let harness = Harness::with(settings);
        let ids = ["it's", "'", "'null'", "null", "','", "''", "b'c'"];
        for attribute in ["a", "b"] {
            for (value, id) in ids.iter().enumerate() {
                harness.notify(
                    &format!(
                        r#"[{{"id":"{id}","type":"T","{attribute}":{{"type":"Integer","value":{value}}},
                        "TimeInstant":{{"type":"DateTime","value":"2024-01-01T00:00:00Z"}}}}]"#
                    ),
                    &[],
                );
            }
        }
        let read = |id: &str| harness.get(&format!("/v2/entities/{id}/value?attrs=a,b"));
        for (value, id) in ids.iter().enumerate() {
            let both = format!(
                r#"200 {{"index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{{"attrName":"a","values":[{value}]}},{{"attrName":"b","values":[{value}]}}]}}"#
            );
            assert_eq!(read(id), both, "{id}");
        }
        let deleted = harness.request("DELETE", "/v2/entities/'null'", &[], "");
        assert_eq!(deleted.status.as_u16(), 204, "{}", deleted.body);
        assert_eq!(read("'null'"), "200 []");
        assert!(read("null").contains(r#""values":[3]"#), "{}", read("null"));
        let last = harness.get("/v2/types/T/attrs/a/value?id=it's,b'c'&lastN=5");
        assert!(last.contains(r#""id":"b'c'""#) && last.contains(r#""id":"it's""#), "{last}");
    });
}
