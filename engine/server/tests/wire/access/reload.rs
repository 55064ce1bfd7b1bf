//! Roles and keys are read again while the server runs.

use std::time::{Duration, Instant};

use super::{ACCESS, access, bearer, body, token};
use crate::support::{PATIENCE, Rewritten, Server};

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
    file.write(ACCESS);
    until(two);
}
