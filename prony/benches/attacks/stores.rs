//! Attacks on the calls of graphs and series.

use std::fmt::Write as _;

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{ask, post_json, request, send},
    filters::longest_pattern,
};

const CLASS: &str = "stores";

fn get(name: &'static str, clients: usize, path: String) -> Attack {
    Attack::new(CLASS, name, clients, move |field| {
        send(field, &request(field.site, &format!("GET {path}"), "", b""))
    })
}

fn post(name: &'static str, clients: usize, path: &'static str, body: String) -> Attack {
    Attack::new(CLASS, name, clients, move |field| send(field, &post_json(field.site, path, &body)))
}

/// A pattern that is searched for in texts of a graph, which the attackers have made with their first acts.
fn pattern(name: &'static str, pattern: &str) -> Attack {
    const LIKE: &str = "query($p: String) { scrolls(where: { text: { like: $p } }) { _key } }";
    let (variables, text) =
        (format!("{{\"p\":\"{pattern}\"}}"), format!("{{\"text\":\"{}\"}}", "a".repeat(1_000_000)));
    Attack::new(CLASS, name, 4, move |field| match field.number {
        0 => send(field, &post_json(field.site, "/db/rage/schema/nodes/Scroll", "")),
        1 => send(field, &post_json(field.site, "/db/rage/schema/nodes/Scroll/properties/text/string", "")),
        2 => {
            let path = format!("/db/rage/node/Scroll/s{}", field.client);
            send(field, &post_json(field.site, &path, &text))
        }
        _ => ask(field, LIKE, &variables),
    })
}

/// Lines of nodes of a type.
fn nodes(field: &Field<'_>, count: u64) -> Answer {
    let mut lines = String::new();
    for place in 0..count {
        let _ = writeln!(
            lines,
            "{{\"type\":\"User\",\"key\":\"u{}_{place}\",\"properties\":{{\"name\":\"n{place}\"}}}}",
            field.unique()
        );
    }
    send(field, &post_json(field.site, "/db/rage/nodes", &lines))
}

fn entity(attributes: usize, id: &str) -> String {
    let all: Vec<String> = (0..attributes)
        .map(|place| format!("\"a{place}\":{{\"type\":\"Number\",\"value\":{place}.5}}"))
        .collect();
    format!("{{\"data\":[{{\"id\":\"{id}\",\"type\":\"Wide\",{}}}]}}", all.join(","))
}

fn polygon(points: usize) -> String {
    let all: Vec<String> = (0..points).map(|place| format!("{},{}", place % 80, (place * 7) % 170)).collect();
    all.join(";")
}

fn tags(count: usize) -> String {
    (0..count).fold(String::new(), |mut all, place| {
        let _ = write!(all, ",t{place}=1");
        all
    })
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(CLASS, "a graph: 5,000 nodes at once", 4, |field| nodes(field, 5_000)),
        Attack::new(CLASS, "a graph: a new type each time", 4, |field| {
            let line = format!("POST /db/rage/node/T{}/k", field.unique());
            send(field, &request(field.site, &line, "Content-Type: application/json\r\n", b"{}"))
        }),
        get("a graph: all nodes", 4, "/db/rage/nodes?limit=1000000".into()),
        pattern("a graph: a pattern of 60,000 wildcards over a text of 1 MB", &"%a".repeat(60_000)),
        pattern("a graph: the longest pattern of underscores over it", &longest_pattern()),
        post("a graph: a value 100,000 levels deep", 4, "/db/rage/node/User/deep", format!("{{\"p\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000))),
        post("series: 4,000 attributes", 4, "/v2/notify", entity(4_000, "wide")),
        Attack::new(CLASS, "series: 4,000 attributes, read again", 4, |field| {
            if field.number == 0 {
                return send(field, &post_json(field.site, "/v2/notify", &entity(4_000, "wide")));
            }
            send(field, &request(field.site, "GET /v2/entities/wide", "", b""))
        }),
        Attack::new(CLASS, "series: an entity each time", 4, |field| {
            send(field, &post_json(field.site, "/v2/notify", &entity(2, &format!("e{}", field.unique()))))
        }),
        Attack::new(CLASS, "series: a type each time", 4, |field| {
            let body = format!("{{\"data\":[{{\"id\":\"e\",\"type\":\"T{}\",\"a\":{{\"value\":1}}}}]}}", field.unique());
            send(field, &post_json(field.site, "/v2/notify", &body))
        }),
        post("series: a body 500,000 levels deep", 4, "/v2/notify", "[".repeat(500_000)),
        get("series: a regular expression that others choke on", 4, format!("/v2/entities?idPattern={}$", "(a*)*".repeat(100))),
        get("series: a range of repetitions", 4, "/v2/entities?idPattern=((a%7B1,1000%7D)%7B1,1000%7D)%7B1,1000%7D".into()),
        get("series: a polygon of 5,000 points that crosses itself", 4, format!("/v2/entities?georel=coveredBy&geometry=polygon&coords={}", polygon(5_000))),
        get("series: a period of a second for ten thousand years", 4, "/v2/types/Wide/attrs/a1?aggrMethod=avg&aggrPeriod=second&fill=null&fromDate=0001-01-01&toDate=9999-12-31".into()),
        post("series: lines with 100,000 tags", 4, "/write", format!("m{} v=1", tags(60_000))),
    ]
}
