//! Requests while the tables change: each is right by the schema of before or by the one of after, or has a clear error.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use super::{ALL, BOTH, CHECKED, Site};
use crate::support::{Wire, query};

/// A response to one of the operations: right, or with an error that says what has happened.
fn is_clear(response: &str, right: &[&str]) -> bool {
    let is_refused = response.contains("GRAPHQL_VALIDATION_FAILED") && response.contains("is not");
    right.contains(&response)
        || response.contains(r#""code":"SCHEMA_CHANGED""#)
        || response.contains("GRAPHQL_VALIDATION_FAILED")
        || is_refused
}

#[test]
fn no_request_gets_a_wrong_response_meanwhile() {
    for site in Site::both(CHECKED) {
        let is_over = Arc::new(AtomicBool::new(false));
        let right = Arc::new(AtomicU64::new(0));
        let address = site.address();
        let operations: [(&str, &[&str]); 5] = [
            (ALL, &[BOTH]),
            (
                "{ shelves { id title } }",
                &[r#"{"data":{"shelves":[{"id":1,"title":"a"},{"id":2,"title":"b"}]}}"#],
            ),
            (
                "{ shelves { id place } }",
                &[r#"{"data":{"shelves":[{"id":1,"place":"north"},{"id":2,"place":"south"}]}}"#],
            ),
            (
                "{ shelves(where: {label: {eq: \"b\"}}) { id } shelves_aggregate { count } }",
                &[r#"{"data":{"shelves":[{"id":2}],"shelves_aggregate":{"count":2}}}"#],
            ),
            (
                "mutation { updateShelf(pk_columns: {id: 1}, label: \"a\") { result } }",
                &[r#"{"data":{"updateShelf":{"result":true}}}"#],
            ),
        ];
        let clients: Vec<_> = operations
            .into_iter()
            .map(|(text, expected)| {
                let (is_over, right) = (Arc::clone(&is_over), Arc::clone(&right));
                thread::spawn(move || {
                    let mut wire = Wire::to(address);
                    while !is_over.load(SeqCst) {
                        wire.send(query(text));
                        let response = wire.response();
                        let body = response.lines().last().unwrap_or_default();
                        assert!(is_clear(body, expected), "{text}: {body}");
                        if expected.contains(&body) {
                            right.fetch_add(1, SeqCst);
                        }
                    }
                })
            })
            .collect();
        for round in 0..8 {
            site.database.execute("ALTER TABLE shelf RENAME COLUMN label TO title");
            site.until("{ shelves { id title } }", r#""title":"a""#);
            site.database.execute(&format!(
                "ALTER TABLE shelf ADD COLUMN size{round} INTEGER; CREATE TABLE box{round} (id INTEGER PRIMARY KEY, shelf_id INTEGER REFERENCES shelf (id))"
            ));
            site.database.execute("ALTER TABLE shelf RENAME COLUMN title TO label");
            site.until(ALL, BOTH);
            site.database
                .execute(&format!("DROP TABLE box{round}; ALTER TABLE shelf DROP COLUMN size{round}"));
            thread::sleep(Duration::from_millis(30));
        }
        is_over.store(true, SeqCst);
        for client in clients {
            client.join().expect("each response was clear");
        }
        assert!(right.load(SeqCst) > 100, "{} were right", right.load(SeqCst));
        site.until(ALL, BOTH);
    }
}
