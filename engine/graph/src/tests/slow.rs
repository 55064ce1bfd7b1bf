//! Fields that take long are written down without the values of variables.

use prony_graph_store::Side;
use prony_testkit::log::logged;

use crate::{GraphSettings, tests::harness::Served};

/// Far more than are looked at in a millisecond.
const MANY: usize = 60_000;

/// What is logged while many nodes are put in order.
fn log_of(slow_statement_ms: u32) -> String {
    let served = Served::set(&GraphSettings { slow_statement_ms, ..GraphSettings::default() });
    served.write(|write| {
        write.make_type(Side::Nodes, "User")?;
        for index in 0..MANY {
            write.create_node("User", &format!("{index:05}"), &[])?;
        }
        Ok(())
    });
    logged(|| {
        let text = "query ($is: String, $few: Int) {
            people: users(where: {_key: {ne: $is}}, sort: {_key: desc}, limit: $few) { _key } }";
        let answer = served.answer(text, r#"{"is": "geheim", "few": 1}"#);
        assert!(answer.contains("59999"), "{answer}");
    })
}

#[test]
fn a_slow_field_is_written_down_without_its_values() {
    let log = log_of(1);
    for part in ["slow statement", "people: list User", "$1 string(6), $2 int", "duration_ms="] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("geheim"), "{log}");
}

#[test]
fn nothing_is_written_down_where_nobody_wants_it() {
    assert!(!log_of(0).contains("slow statement"));
}
