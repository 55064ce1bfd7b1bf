//! `prony serve` with series in a database, from outside: notified, queried, without its database for a while.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod postgres;
mod questdb;

use std::{process::Command, time::Duration};

use prony_testkit::PronyProcess;

/// A server of series in the database at an address.
fn serve(database: &str, arguments: &[&str]) -> (PronyProcess, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("series+{database}")).args(["--listen", "127.0.0.1:0"]).args(arguments);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    (process, url)
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(60)))
        .http_status_as_error(false)
        .build()
        .into()
}

/// Status and body.
fn get(url: &str, path: &str) -> (u16, String) {
    let mut response = agent().get(format!("{url}{path}")).call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

/// Status and body.
fn notify(url: &str, entities: &str) -> (u16, String) {
    let body = format!("{{\"data\":[{entities}]}}");
    let request = agent().post(format!("{url}/v2/notify")).content_type("application/json");
    let mut response = request.send(body).unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

fn entity(id: &str, attribute: &str, number: u64) -> String {
    let time = format!("2024-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
    format!(
        r#"{{"id":"{id}","type":"Größe","{attribute}":{{"type":"Integer","value":{number}}},"TimeInstant":{{"type":"DateTime","value":"{time}"}}}}"#
    )
}

/// The values of an attribute of an entity.
fn values(url: &str, id: &str, attribute: &str) -> Vec<u64> {
    let (status, body) = get(url, &format!("/v2/entities/{id}/attrs/{attribute}/value"));
    assert_eq!(status, 200, "{body}");
    let Some((_, list)) = body.split_once("\"values\":[") else { return Vec::new() };
    list.split([',', ']']).filter_map(|number| number.parse().ok()).collect()
}
