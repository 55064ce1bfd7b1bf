//! Attacks on a graph that is large: 200,000 nodes of a type, or as many relationships of one node.

use std::{fmt::Write as _, thread, time::Duration};

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{ask, post_json, prepare, request, send},
    site::Site,
};

const CLASS: &str = "graph";
const MANY: usize = 200_000;
/// At the other ends of the hub's relationships.
const LEAVES: usize = 1_000;
const SLOW: Duration = Duration::from_millis(200);
/// The calm client asks by then, and still for a second.
const CALM_ASKS: Duration = Duration::from_secs(1);
const INDEX: &str = "/db/rage/schema/nodes/Item/properties/name/index";

fn nodes(kind: &str, count: usize, properties: &str) -> String {
    (0..count).fold(String::new(), |mut lines, place| {
        let _ =
            writeln!(lines, "{{\"type\":\"{kind}\",\"key\":\"{place}\",\"properties\":{{{properties}}}}}");
        lines
    })
}

/// Lines of nodes or relationships, all of which are new.
fn make(site: &Site, path: &str, lines: &str) {
    let report = prepare(site, path, lines);
    assert!(report.contains("\"failed\": 0"), "{path}: {report}");
}

fn items(site: &Site, round: usize) {
    if round > 0 {
        return;
    }
    prepare(site, "POST /db/rage/schema/nodes/Item/properties/name/string", "");
    let name = format!("\"name\":\"{}\"", "a".repeat(60));
    make(site, "POST /db/rage/nodes", &nodes("Item", MANY, &name));
}

/// The round before has deleted it, or still does.
fn hub(site: &Site, round: usize) {
    if round == 0 {
        make(site, "POST /db/rage/nodes", &nodes("Leaf", LEAVES, ""));
    }
    prepare(site, "POST /db/rage/nodes", &nodes("Hub", 1, ""));
    let lines = (0..MANY).fold(String::new(), |mut lines, place| {
        let _ = writeln!(
            lines,
            "{{\"type\":\"OF\",\"from\":{{\"type\":\"Hub\",\"key\":\"0\"}},\"to\":{{\"type\":\"Leaf\",\"key\":\"{}\"}}}}",
            place % LEAVES
        );
        lines
    });
    make(site, "POST /db/rage/relationships", &lines);
}

/// Once a round: then the hub is gone.
fn deletion(field: &Field<'_>) -> Answer {
    if field.number > 0 {
        return field.hold(SLOW, || true);
    }
    thread::sleep(CALM_ASKS);
    send(field, &request(field.site, "DELETE /db/rage/node/Hub/0", "", b""))
}

fn index(field: &Field<'_>) -> Answer {
    let made = send(field, &request(field.site, &format!("POST {INDEX}"), "", b""));
    send(field, &request(field.site, &format!("DELETE {INDEX}"), "", b""));
    made
}

/// A pattern over the names of all items.
fn like(name: &'static str, operator: &str, pattern: &str) -> Attack {
    let document = format!(
        "query($p: String) {{ items(where: {{ name: {{ {operator}: $p }} }}, limit: 1) {{ _key }} }}"
    );
    let variables = format!("{{\"p\":\"{pattern}\"}}");
    Attack::new(CLASS, name, 4, move |field| ask(field, &document, &variables)).prepared(items)
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(CLASS, "a node of 200,000 relationships is deleted", 1, deletion).prepared(hub),
        Attack::new(CLASS, "all relationships of a node of 200,000", 4, |field| {
            send(field, &request(field.site, "GET /db/rage/node/Hub/0/relationships", "", b""))
        })
        .prepared(|site, round| {
            if round == 0 {
                hub(site, round);
            }
        }),
        Attack::new(CLASS, "an index of 200,000 nodes, made and removed", 1, index).prepared(items),
        Attack::new(CLASS, "a find without an index among 200,000 nodes", 4, |field| {
            send(field, &post_json(field.site, "/db/rage/nodes/Item/name/CONTAINS", "\"zzz\""))
        })
        .prepared(items),
        like("`like` with 30 wildcards over 200,000 names", "like", &format!("{}b", "%a".repeat(30))),
        like("`ilike` with 30 wildcards over 200,000 names", "ilike", &format!("{}B", "%A".repeat(30))),
        like("`like` with 60,000 wildcards over 200,000 names", "like", &format!("{}b", "%a".repeat(60_000))),
        Attack::new(CLASS, "all nodes in an order without an index", 4, |field| {
            ask(field, "{ items(sort: { name: desc }, limit: 10) { _key } }", "{}")
        })
        .prepared(items),
    ]
}
