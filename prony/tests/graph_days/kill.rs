//! Kill -9 at random moments under a concurrent load of writes, again and again on the same files: what was acknowledged
//! is there, and nothing else. `PRONY_GRAPH_KILLS=200` for the longer form, `PRONY_SEED` to repeat one.

use crate::client::{Answer, Client};
use crate::model::{Call, Part, RELATIONSHIP_TYPES, TYPES, parts};
use crate::serve::{Server, configured, settings, start_command};
use prony_testkit::process::Signal;
use prony_testkit::seed::Seeded;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const KILLS: u32 = 10;
const WRITERS: usize = 8;
/// Of a writer; then it deletes, so that slots are used again.
const NODES_MAX: usize = 60;
/// So short that snapshots are taken all the while.
const SNAPSHOT_AT_LOG_BYTES: u64 = 20_000;
/// Answers after which the server is killed, at most.
const ANSWERS_MAX: u64 = 3000;

#[test]
fn what_was_acknowledged_outlives_kill_9_and_nothing_else_does() {
    let kills = std::env::var("PRONY_GRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut chance = Seeded::new();
    let directory = tempfile::tempdir().unwrap();
    let graph = directory.path().join("graphs/rage");
    let mut known = vec![Part::default(); WRITERS];
    let mut under_way: Vec<Option<Call>> = vec![None; WRITERS];
    let (mut answers, mut unanswered) = (0, 0);
    for round in 0..=kills {
        let server = begin(directory.path());
        check(&server, &mut known, &under_way).unwrap_or_else(|what| {
            panic!("after kill {round} of seed {}: {what}\n{}", chance.seed(), server.process)
        });
        if round == kills {
            break;
        }
        let limit = chance.random_range(1..=ANSWERS_MAX);
        let seeds: Vec<u64> = (0..WRITERS).map(|_| chance.next_u64()).collect();
        under_way = load(&server, &mut known, &seeds, limit);
        answers += limit;
        unanswered += under_way.iter().flatten().count();
        assert_eq!(server.process.wait().status.code(), None, "it was killed");
        let found = prony_graph_store::check(&graph).unwrap();
        assert_eq!(
            found.problems,
            Vec::<String>::new(),
            "after kill {} of seed {}",
            round + 1,
            chance.seed()
        );
    }
    let names = std::fs::read_dir(&graph).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().any(|name| name.to_string_lossy().starts_with("snapshot-")), "none was taken");
    assert!(unanswered > 0, "all {kills} kills met a server that had nothing to do");
    println!("{kills} kills, {answers} answers kept, {unanswered} calls were under way");
}

fn begin(directory: &Path) -> Server {
    let settings = settings(directory, &directory.join("graphs"), SNAPSHOT_AT_LOG_BYTES);
    let server = start_command(configured(Command::new(env!("CARGO_BIN_EXE_prony")), &settings));
    let client = Client::new(&server.url);
    for (side, types) in [("nodes", TYPES), ("relationships", RELATIONSHIP_TYPES)] {
        for of in types {
            let of = of.replace(' ', "%20").replace('/', "%2F");
            for (name, kind) in [("text", "string"), ("number", "integer"), ("tags", "string_list")] {
                let (status, _) =
                    client.ask("POST", &format!("/schema/{side}/{of}/properties/{name}/{kind}"), None);
                assert_eq!(status, 201, "{name} of {of}");
            }
        }
    }
    server
}

fn check(server: &Server, known: &mut [Part], under_way: &[Option<Call>]) -> Result<(), String> {
    let client = Client::new(&server.url);
    let all = |path: &str| client.ask("GET", path, None).1;
    let (nodes, relationships) = (all("/nodes?limit=1000000"), all("/relationships?limit=1000000"));
    let found = parts(&nodes, &relationships, &all("/schema/nodes"), known.len())?;
    for ((writer, known), found) in known.iter_mut().enumerate().zip(found) {
        known
            .settle(&found, under_way[writer].as_ref())
            .map_err(|what| format!("writer {writer}: {what}"))?;
        for (key, node) in &known.nodes {
            let degree = known
                .relationships
                .values()
                .map(|one| u64::from(one.from == *key) + u64::from(one.to == *key));
            let answer = all(&format!("/node/{}/degree", node.id));
            if answer["degree"] != json!(degree.sum::<u64>()) {
                return Err(format!("node {key} of id {} has another degree: {answer}", node.id));
            }
        }
    }
    Ok(())
}

/// Writes until the server is killed, after so many answers; what each writer was waiting for then.
fn load(server: &Server, known: &mut [Part], seeds: &[u64], limit: u64) -> Vec<Option<Call>> {
    let answers = AtomicU64::new(0);
    let rest = |chance: &mut ChaCha8Rng| {
        // Whoever gets the last answer kills, while the others' calls are under way.
        if answers.fetch_add(1, Ordering::Relaxed) + 1 == limit {
            for _ in 0..chance.random_range(0..20_000) {
                std::hint::spin_loop();
            }
            server.process.signal(Signal::KILL);
        }
    };
    thread::scope(|scope| {
        let writers = known.iter_mut().zip(seeds).enumerate().map(|(writer, (part, seed))| {
            scope.spawn(move || {
                let mut chance = ChaCha8Rng::seed_from_u64(*seed);
                let client = Client::new(&server.url);
                loop {
                    let call = next(writer, part, &mut chance);
                    let (method, path, body) = call.request(part);
                    let Some(answer) = client.try_ask(method, &path, body.as_ref()) else {
                        return Some(call);
                    };
                    accept(part, &call, &answer);
                    rest(&mut chance);
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer does not panic")).collect()
    })
}

fn accept(part: &mut Part, call: &Call, (status, body): &Answer) {
    let expected = match call {
        Call::Create { .. } | Call::Relate { .. } | Call::MakeType { .. } => 201,
        _ => 204,
    };
    assert_eq!(*status, expected, "{call:?}: {body}");
    part.apply(call, body["id"].as_u64());
}

fn next(writer: usize, part: &Part, chance: &mut ChaCha8Rng) -> Call {
    let choice = chance.random_range(0..100);
    if part.nodes.is_empty() || (choice < 25 && part.nodes.len() < NODES_MAX) {
        // A key that was deleted comes back.
        let key = (0..).map(|_| format!("{writer}-{}/%", chance.random_range(0..NODES_MAX * 4)));
        let key = key.into_iter().find(|key| !part.nodes.contains_key(key)).unwrap();
        return Call::Create { of: TYPES[chance.random_range(0..3)], key, properties: properties(chance) };
    }
    let node = |chance: &mut ChaCha8Rng| {
        part.nodes.keys().nth(chance.random_range(0..part.nodes.len())).unwrap().clone()
    };
    let relationship = |chance: &mut ChaCha8Rng| {
        let count = part.relationships.len();
        (count > 0).then(|| *part.relationships.keys().nth(chance.random_range(0..count)).unwrap())
    };
    let relate = |chance: &mut ChaCha8Rng| Call::Relate {
        of: RELATIONSHIP_TYPES[chance.random_range(0..3)],
        from: node(chance),
        to: node(chance),
        properties: properties(chance),
    };
    match choice {
        0..60 if part.relationships.len() < NODES_MAX * 4 => relate(chance),
        60..70 => {
            Call::Set { key: node(chance), properties: properties(chance), keeps_others: chance.random() }
        }
        70..76 => match relationship(chance) {
            Some(id) => Call::SetRelationship { id, properties: properties(chance) },
            None => relate(chance),
        },
        76..78 => Call::MakeType { name: format!("Own{writer}-{}", chance.random_range(0..10_u8)) },
        78..84 => Call::DeleteNode { key: node(chance) },
        _ => match relationship(chance) {
            Some(id) => Call::DeleteRelationship { id },
            None => relate(chance),
        },
    }
}

fn properties(chance: &mut ChaCha8Rng) -> Map<String, Value> {
    let mut properties = Map::new();
    if chance.random() {
        let length = if chance.random_range(0..50) == 0 { 20_000 } else { 12 };
        properties.insert("text".to_owned(), json!("x\u{e9}\"".repeat(chance.random_range(0..length) / 4)));
    }
    if chance.random() {
        properties.insert("number".to_owned(), json!(chance.random::<i64>()));
    }
    if chance.random_range(0..4) == 0 {
        properties.insert("tags".to_owned(), json!(["a", "b;c"]));
    }
    properties
}
