//! Kill -9 while a node with very many relationships is deleted: afterwards all of it is there, or nothing.

use crate::client::Client;
use crate::serve::{Server, start};
use prony_testkit::process::Signal;
use std::fmt::Write as _;
use std::time::Duration;

const RELATIONSHIPS: u64 = 20_000;

fn fill(client: &Client, key: &str) {
    let (status, _) = client.ask("POST", &format!("/node/User/{key}"), None);
    assert_eq!(status, 201);
    let line = format!(
        "{{\"from\": {{\"type\": \"User\", \"key\": \"{key}\"}}, \"to\": {{\"type\": \"User\", \"key\": \"Zoë\"}}, \
         \"type\": \"FOLLOWS\"}}\n"
    );
    let lines = (0..RELATIONSHIPS).fold(String::new(), |mut lines, _| {
        lines.write_str(&line).unwrap();
        lines
    });
    let (status, report) = client.send("POST", "/relationships", &lines);
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["created"], RELATIONSHIPS, "{report}");
}

fn degree(client: &Client, key: &str) -> u64 {
    client.ask("GET", &format!("/node/User/{key}/degree"), None).1["degree"].as_u64().unwrap_or_default()
}

#[test]
fn a_hub_is_deleted_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let (mut known, mut cut_off) = (0, 0);
    for round in 0..4_u64 {
        let server = start(directory.path(), &[]);
        let client = Client::new(&server.url);
        if round == 0 {
            assert_eq!(client.ask("POST", "/node/User/Zo%C3%AB", None).0, 201);
        }
        let key = format!("hub{round}");
        fill(&client, &key);
        known += RELATIONSHIPS;
        let Server { process, url } = server;
        std::thread::scope(|scope| {
            let deletion =
                scope.spawn(|| Client::new(&url).try_ask("DELETE", &format!("/node/User/{key}"), None));
            std::thread::sleep(Duration::from_millis(3 + 15 * round));
            process.signal(Signal::KILL);
            cut_off += u32::from(deletion.join().unwrap().is_none());
        });
        assert_eq!(process.wait().status.code(), None, "it was killed");
        let server = start(directory.path(), &[]);
        let client = Client::new(&server.url);
        let is_there = client.ask("GET", &format!("/node/User/{key}"), None).0 == 200;
        if !is_there {
            known -= RELATIONSHIPS;
        }
        assert_eq!(degree(&client, &key), if is_there { RELATIONSHIPS } else { 0 }, "round {round}");
        assert_eq!(degree(&client, "Zo%C3%AB"), known, "round {round}");
        server.process.stop();
        let report = prony_graph_store::check(&directory.path().join("rage")).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "round {round}");
    }
    assert!(cut_off > 0, "all deletions were over when the server was killed");
}

/// Whoever waits for the answer finds nothing in the way: the type can go, ids are free.
#[test]
fn after_its_answer_nothing_is_left_of_a_hub() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &[]);
    let client = Client::new(&server.url);
    assert_eq!(client.ask("POST", "/node/User/Zo%C3%AB", None).0, 201);
    fill(&client, "hub");
    let first = client.ask("GET", "/relationships?limit=1", None).1[0]["id"].clone();
    assert_eq!(client.ask("DELETE", "/node/User/hub", None).0, 204);
    assert_eq!(client.ask("DELETE", "/node/User/hub", None).0, 304);
    assert_eq!(client.ask("POST", "/node/User/hub", None).0, 201);
    let made = client.ask("POST", "/node/User/hub/relationship/User/Zo%C3%AB/FOLLOWS", None);
    assert_eq!((made.0, &made.1["id"]), (201, &first), "the lowest id is free");
    let id = first.as_u64().unwrap();
    assert_eq!(client.ask("DELETE", &format!("/relationship/{id}"), None).0, 204);
    assert_eq!(client.ask("DELETE", "/schema/relationships/FOLLOWS", None).0, 204, "there is none of it");
    assert_eq!(client.ask("POST", "/schema/nodes/User/properties/n/integer", None).0, 201);
    for expected in [201, 201] {
        assert_eq!(client.ask("POST", "/schema/nodes/User/properties/n/index", None).0, expected);
    }
    assert_eq!(client.ask("POST", "/schema/nodes/User/properties/m/index", None).0, 304);
    assert_eq!(client.ask("GET", "/schema/nodes/User/indexes", None).1, serde_json::json!(["n"]));
    server.process.stop();
}
