//! Roles and keys are read again while the server runs.

use std::time::{Duration, Instant};

use prony_server::config::{Reloaded, Settings};

use super::{ACCESS, access, bearer, body, settings, token};
use crate::support::{PATIENCE, Rewritten, Server, Wire, query};

#[test]
fn a_right_file_counts_at_once_and_a_wrong_one_never() {
    let file = Rewritten::new(ACCESS);
    let reload = file
        .reload(|text| if text == "wrong" { Err("line 1: a mistake".to_owned()) } else { Ok(access(text)) });
    let server = Server::with(|settings| {
        settings.access = access(ACCESS);
        settings.reload = Some(reload);
    });
    let (query, customer) = ("{ albums { AlbumId } }", bearer(&token("customer", 2)));
    let two = r#"{"data":{"albums":[{"AlbumId":1},{"AlbumId":2}]}}"#;
    let one = r#"{"data":{"albums":[{"AlbumId":1}]}}"#;
    let until = |expected: &str| {
        let deadline = Instant::now() + PATIENCE;
        while body(&server, &customer, query) != expected {
            assert!(Instant::now() < deadline, "it does not become {expected}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until(two);
    file.write(&ACCESS.replace("limit = 2", "limit = 1"));
    until(one);
    // Half of it, a mistake in the text, and permissions that do not fit the tables.
    file.write_mistake("");
    assert_eq!(body(&server, &customer, query), one);
    file.write_mistake("wrong");
    file.write_mistake(&ACCESS.replace("tables.Album", "tables.Albun").replace("limit = 2", "limit = 7"));
    assert_eq!(body(&server, &customer, query), one);
    // Without such documents this role would be answered nothing.
    let mute = "[roles.visitor]\nonly_persisted_documents = true\n[roles.visitor.sources";
    file.write_mistake(&ACCESS.replacen("[roles.visitor.sources", mute, 1).replace("limit = 2", "limit = 7"));
    assert_eq!(body(&server, &customer, query), one);
    file.write(ACCESS);
    until(two);
}

/// They counted from a restart on alone.
#[test]
fn the_names_under_which_the_server_is_asked_for_are_read_again() {
    let named = |name: &str| ACCESS.replacen("[auth]\n", &format!("[auth]\nhosts = [\"{name}\"]\n"), 1);
    let read = |text: &str| {
        let Settings { access, hosts, .. } = settings(text);
        Reloaded { hosts: Some(hosts), ..Reloaded::from(access) }
    };
    let file = Rewritten::new(&named("one.test"));
    let reload = file.reload(move |text| Ok(read(text)));
    let first = settings(&named("one.test"));
    let server = Server::with(|settings| {
        settings.access = first.access;
        settings.hosts = first.hosts;
        settings.reload = Some(reload);
    });
    let ask = |wire: &mut Wire, host: &str| {
        wire.send(query("{ __typename }").replacen("host: localhost", &format!("host: {host}"), 1));
        wire.response()
    };
    let mut kept = server.connect();
    assert!(ask(&mut kept, "one.test").starts_with("HTTP/1.1 200"));
    assert!(ask(&mut server.connect(), "two.test").starts_with("HTTP/1.1 421"));
    file.write(&named("two.test"));
    let deadline = Instant::now() + PATIENCE;
    while !ask(&mut server.connect(), "two.test").starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < deadline, "it is not asked for by its new name");
        std::thread::sleep(Duration::from_millis(50));
    }
    let refused = ask(&mut kept, "one.test");
    assert!(refused.starts_with("HTTP/1.1 421"), "also where it was asked for by that before: {refused}");
}
