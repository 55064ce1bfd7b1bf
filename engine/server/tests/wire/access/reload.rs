//! Roles and keys are read again while the server runs.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use prony_server::config::Reload;

use super::{ACCESS, access, bearer, body, token};
use crate::support::{PATIENCE, Server};

#[test]
fn a_right_file_counts_at_once_and_a_wrong_one_never() {
    let text = Arc::new(Mutex::new(ACCESS.to_owned()));
    let changes = Arc::new(AtomicU64::new(1));
    let (to_read, to_stamp, first) = (Arc::clone(&text), Arc::clone(&changes), access(ACCESS));
    let read = move || {
        let text = to_read.lock().expect("no test panics with it").clone();
        if text == "wrong" { Err("line 1: a mistake".to_owned()) } else { Ok(access(&text)) }
    };
    let stamp = move || Some(SystemTime::UNIX_EPOCH + Duration::from_secs(to_stamp.load(Ordering::SeqCst)));
    let server = Server::with(|settings| {
        settings.access = first;
        settings.reload = Some(Reload::new(read, stamp));
    });
    let write = |written: &str| {
        *text.lock().expect("no test panics with it") = written.to_owned();
        changes.fetch_add(1, Ordering::SeqCst);
    };
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
    write(&ACCESS.replace("limit = 2", "limit = 1"));
    until(one);
    // Half of it, a mistake in the text, and permissions that do not fit the tables.
    write("");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(body(&server, &customer, query), one);
    write("wrong");
    write(&ACCESS.replace("tables.Album", "tables.Albun").replace("limit = 2", "limit = 7"));
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(body(&server, &customer, query), one);
    write(ACCESS);
    until(two);
}
