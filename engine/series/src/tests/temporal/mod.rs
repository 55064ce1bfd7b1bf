//! The temporal interface of NGSI-LD: entities in, their evolution out.

pub(crate) mod access;
pub(crate) mod create;
mod oracle;
pub(crate) mod queries;

use std::fmt::Write as _;

use super::harness::{Harness, Responded};

const PREFIX: &str = "/ngsi-ld/v1/temporal";

/// Writes a temporal entity; the status.
fn create(harness: &Harness, body: &str) -> Responded {
    harness.request("POST", &format!("{PREFIX}/entities"), &["content-type: application/ld+json"], body)
}

/// A table of requests and responses; headers that are of interest stand before the body.
fn table(harness: &Harness, targets: &[&str]) -> String {
    let mut table = String::new();
    for target in targets {
        let responded = harness.request("GET", &format!("{PREFIX}{target}"), &[], "");
        writeln!(table, "{target}\n  {}", shown(&responded)).unwrap();
    }
    table
}

fn shown(responded: &Responded) -> String {
    let mut text = responded.status.as_u16().to_string();
    for (name, value) in &responded.headers {
        write!(text, " {name}: {value}").unwrap();
    }
    format!("{text} {}", responded.body).replace("https://uri.etsi.org/ngsi-ld/errors/", "…/")
}

/// A vehicle of the specification's examples, another one, and a room that version 2 was notified of.
fn filled() -> Harness {
    let harness = Harness::new();
    for body in [
        r#"{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","@context":["https://example.org/c.jsonld"],
            "speed":[{"type":"Property","value":120,"observedAt":"2020-08-01T12:03:00Z"},
                     {"type":"Property","value":80,"observedAt":"2020-08-01T14:05:00+02:00","unitCode":"KMH"},
                     {"type":"Property","value":100,"observedAt":"2020-08-01T12:07:00.500Z"}],
            "fuelLevel":[{"type":"Property","value":67,"observedAt":"2020-08-01T12:03:00Z"},
                         {"type":"Property","value":53,"observedAt":"2020-08-01T13:05:00Z"},
                         {"type":"Property","value":40.5,"observedAt":"2020-08-01T14:07:00Z"}],
            "brandName":{"type":"Property","value":"Mercedes","observedAt":"2020-08-01T12:03:00Z"},
            "isParkedIn":{"type":"Relationship","object":"urn:ngsi-ld:Parking:1","observedAt":"2020-08-01T13:05:00Z"},
            "location":[{"type":"GeoProperty","value":{"type":"Point","coordinates":[2.17,41.38]},"observedAt":"2020-08-01T12:03:00Z"},
                        {"type":"GeoProperty","value":{"type":"Point","coordinates":[2.5,41.5]},"observedAt":"2020-08-01T14:07:00Z"}]}"#,
        r#"{"id":"urn:ngsi-ld:Vehicle:B c/d","type":["Vehicle"],
            "speed":[{"value":10,"observedAt":"1970-01-01T00:00:00Z"},{"value":-0.5,"observedAt":"9999-12-31T23:59:59.999Z"}],
            "isOn":[{"value":true,"observedAt":"2020-08-01T12:00:00Z"},{"value":false,"observedAt":"2020-08-01T12:10:00Z"}],
            "tags":{"type":"ListProperty","valueList":["a",1,true],"observedAt":"2020-08-01T12:00:00Z"},
            "names":{"type":"LanguageProperty","languageMap":{"de":"Größe","en":"size"},"observedAt":"2020-08-01T12:00:00Z"},
            "address":{"value":{"city":{"name":"Berlin"},"street":["A","B"]},"observedAt":"2020-08-01T12:00:00Z"},
            "serviced":{"value":{"@type":"DateTime","@value":"2020-07-01T00:00:00Z"},"observedAt":"2020-08-01T12:00:00Z"}}"#,
    ] {
        let responded = create(&harness, body);
        assert_eq!(responded.status.as_u16(), 201, "{}", responded.body);
    }
    harness.notify(
        r#"[{"id":"Room:1","type":"Room","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:30:00Z"},
             "temperature":{"type":"Number","value":21.5},"note":{"type":"Text","value":"say \"x\""},"count":{"type":"Integer","value":7}},
            {"id":"Room:1","type":"Floor","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:30:00Z"},"n":{"type":"Number","value":1}}]"#,
        &[],
    );
    harness.notify(
        r#"[{"id":"Room:1","type":"Room","TimeInstant":{"type":"DateTime","value":"2025-01-01T00:00:00Z"},"secret":{"type":"Number","value":9}}]"#,
        &["fiware-service: factory"],
    );
    harness
}
