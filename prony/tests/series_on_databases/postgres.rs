//! `prony serve series+postgres://…` from outside: notified, queried, without its database for a while, and beside another server of the same
//! database.

use std::{process::Command, thread, time::Duration};

use prony_testkit::{Cluster, PronyProcess, RedisServer, TestDatabase};

use super::{Clients, agent, becomes, entity, get, notify, schema, serve, values};

fn start(cluster: &Cluster, arguments: &[&str]) -> (PronyProcess, String) {
    serve(&cluster.url("postgres"), arguments)
}

/// Tables were made, and put in order.
#[test]
fn who_only_looks_makes_nothing() {
    let database = TestDatabase::create();
    let empty = schema(&database.url());
    assert!(empty.contains("type Query "), "{empty}");
    let made = database.query("select nspname from pg_namespace where nspname like 'prony%'");
    assert!(made.is_empty(), "{made:?}");
    let (_process, url) = serve(&database.url(), &[]);
    assert_eq!(notify(&url, &entity("first", "n", 0)).0, 200);
    assert_ne!(schema(&database.url()), empty);
}

#[test]
fn what_was_acknowledged_is_there_after_the_database_was_gone() {
    let cluster = Cluster::start_new().unwrap();
    let (_process, url) = start(&cluster, &[]);
    assert_eq!(notify(&url, &entity("first", "n", 0)).0, 200);
    let clients = Clients::start(&url, 120);
    thread::sleep(Duration::from_millis(100));
    cluster.kill().unwrap();
    assert_eq!(notify(&url, &entity("x", "n", 1)).0, 503);
    assert_eq!(get(&url, "/v2/types/Gr%C3%B6%C3%9Fe").0, 503, "reads say so too");
    cluster.start().unwrap();
    assert!(becomes(|| notify(&url, &entity("back", "n", 1)).0 == 200), "{:?}", get(&url, "/health"));
    clients.wait_and_find(&url);
    assert!(becomes(|| get(&url, "/health").0 == 200), "{:?}", get(&url, "/health"));
}

/// Types, attributes and entities that two servers bring at the same time are all there, and each sees those of the other.
#[test]
fn two_servers_of_one_database_agree_on_names() {
    let cluster = Cluster::start_new().unwrap();
    let redis = RedisServer::start(&[]);
    let redis_url = format!("redis://127.0.0.1:{}", redis.port());
    let with_redis = ["--metadata-cache", "redis", "--metadata-redis", &redis_url];
    for arguments in [&["--metadata-cache", "none"][..], &with_redis[..]] {
        let (_one, one) = start(&cluster, arguments);
        let (_other, other) = start(&cluster, arguments);
        let kind = arguments[1];
        let writers: Vec<_> = [one.clone(), other.clone()]
            .into_iter()
            .enumerate()
            .map(|(server, url)| {
                let kind = kind.to_owned();
                thread::spawn(move || {
                    for number in 0..30 {
                        let own = entity(
                            &format!("{kind}:{server}:{number}"),
                            &format!("own_{server}_{number}"),
                            number,
                        );
                        let shared = entity(&format!("{kind}:shared"), &format!("shared_{number}"), number);
                        assert_eq!(notify(&url, &format!("{own},{shared}")).0, 200);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        for url in [&one, &other] {
            for number in 0..30 {
                for server in 0..2 {
                    let (id, attribute) =
                        (format!("{kind}:{server}:{number}"), format!("own_{server}_{number}"));
                    assert_eq!(values(url, &id, &attribute), [number], "{kind} {id}");
                }
            }
            let shared = values(url, &format!("{kind}:shared"), "shared_7");
            assert_eq!(shared, [7, 7], "{kind}: of both");
        }
        // A type that one deletes is gone for the other, and comes again with what that one writes.
        let deleted =
            agent().delete(format!("{one}/v2/types/Gr%C3%B6%C3%9Fe?dropTable=true")).call().unwrap();
        assert_eq!(deleted.status().as_u16(), 204);
        assert_eq!(values(&other, &format!("{kind}:shared"), "shared_7"), Vec::<u64>::new());
        assert_eq!(notify(&other, &entity(&format!("{kind}:shared"), "shared_7", 9)).0, 200);
        assert_eq!(values(&one, &format!("{kind}:shared"), "shared_7"), [9]);
    }
}

#[test]
fn a_redis_that_is_needed_and_not_named_is_told() {
    let address = "series+postgres://nobody@127.0.0.1:1/x";
    let told = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let output = command.arg("serve").arg(address).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = told(&["--metadata-cache", "redis"]);
    assert!(code == Some(2) && text.contains("metadata_redis"), "{text}");
    let (code, text) = told(&[]);
    assert!(code == Some(2) && text.contains("127.0.0.1:1/x"), "{text}");
}
