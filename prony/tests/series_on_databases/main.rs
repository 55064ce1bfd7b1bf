//! `prony serve` with series in a database, from outside: notified, queried, without its database for a while.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod postgres;
mod questdb;

use std::{
    process::Command,
    thread::{self, JoinHandle},
    time::Duration,
};

use prony_testkit::PronyProcess;

/// A server of series in the database at an address.
fn serve(database: &str, arguments: &[&str]) -> (PronyProcess, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("series+{database}")).args(["--listen", "127.0.0.1:0"]).args(arguments);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    (process, url)
}

/// What `prony schema` prints of the series in the database at an address.
fn schema(database: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("schema").arg(format!("series+{database}"));
    let looked = PronyProcess::start_command(command).wait();
    assert_eq!(looked.status.code(), Some(0), "{}", looked.stderr);
    looked.stdout
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

/// Tries until it is so.
fn becomes(mut is_so: impl FnMut() -> bool) -> bool {
    (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50));
        is_so()
    })
}

/// Clients that notify an entity each, also while there is no database.
struct Clients(Vec<JoinHandle<Told>>);

/// What a client was told of its notifications.
struct Told {
    acknowledged: Vec<u64>,
    refused: usize,
}

impl Clients {
    fn start(url: &str, notifications: u64) -> Self {
        let client = |client: usize| {
            let url = url.to_owned();
            thread::spawn(move || {
                let mut told = Told { acknowledged: Vec::new(), refused: 0 };
                for number in 0..notifications {
                    match notify(&url, &entity(&format!("e:{client}"), "n", number)) {
                        (200, _) => told.acknowledged.push(number),
                        (503, body) => {
                            assert!(body.contains("Notification not processed or not updated"), "{body}");
                            told.refused += 1;
                            thread::sleep(Duration::from_millis(20));
                        }
                        other => panic!("{other:?}"),
                    }
                }
                told
            })
        };
        Self((0..4).map(client).collect())
    }

    /// What is found of each client's entity in the end, in which all is that was acknowledged.
    fn wait_and_find(self, url: &str) -> Vec<Vec<u64>> {
        let wait = |(client, thread): (usize, JoinHandle<Told>)| {
            let Told { acknowledged, refused } = thread.join().unwrap();
            assert!(!acknowledged.is_empty() && refused > 0, "client {client} has seen both");
            let found = values(url, &format!("e:{client}"), "n");
            let lost: Vec<_> = acknowledged.iter().filter(|number| !found.contains(number)).collect();
            assert!(lost.is_empty(), "client {client} has lost {lost:?}");
            found
        };
        self.0.into_iter().enumerate().map(wait).collect()
    }
}
