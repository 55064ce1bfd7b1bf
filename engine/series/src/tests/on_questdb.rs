//! The tests of the API again, with series on QuestDB: the responses are the same.

use super::{
    deletes, further_queries, graphql,
    harness::{Harness, on_questdb},
    hidden, incoming, notify,
    on_databases::the_same_tests,
    queries, row_formats, temporal,
};

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
