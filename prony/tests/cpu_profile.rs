//! Profiles of a server's processor time: for operators alone, one at a time, in the form that `go tool pprof` reads. The server is a process of its
//! own: the clock that takes samples interrupts all threads of one.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use prony_testkit::PronyProcess;
use prost::Message as _;

const TOLD: &str = "operators are listened to on http://";

/// What a test reads of a profile: `profile.proto` of pprof.
#[derive(Clone, PartialEq, prost::Message)]
struct Profile {
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
}

/// The server, its address, and that of its operators.
fn serve() -> (PronyProcess, String, String) {
    let mut process = PronyProcess::start(
        env!("CARGO_BIN_EXE_prony"),
        ["example", "donuts", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
    );
    let public = process.wait_for_url();
    process.wait_for_text(&format!("{TOLD}127.0.0.1:"));
    let said = process.stderr() + &process.stdout();
    let rest = said.split(TOLD).nth(1).expect("the address follows");
    let admin = rest.split(": /").next().expect("paths follow").to_owned();
    (process, public.trim_start_matches("http://").to_owned(), admin)
}

/// Status and body.
fn get(address: &str, path: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it responds");
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a response has a head");
    let status = std::str::from_utf8(&bytes[9..12]).ok().and_then(|digits| digits.parse().ok());
    (status.expect("a status"), bytes.split_off(end + 4))
}

fn unpacked(bytes: &[u8]) -> Profile {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).expect("it is packed by gzip");
    Profile::decode(&*plain).expect("it is such a message")
}

#[test]
fn a_profile_is_taken_of_a_server_that_works_and_a_second_one_is_refused_meanwhile() {
    let (_process, public, admin) = serve();
    let is_over = AtomicBool::new(false);
    let outcomes = thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                get(&public, "/graphql?query=%7B__schema%7Btypes%7Bname%20fields%7Bname%7D%7D%7D%7D");
            }
        });
        let both = [(); 2].map(|()| threads.spawn(|| get(&admin, "/debug/pprof/profile?seconds=3")));
        let outcomes = both.map(|thread| thread.join().expect("it responds"));
        is_over.store(true, Ordering::Relaxed);
        outcomes
    });
    let [taken, refused] =
        if outcomes[0].0 == 200 { outcomes } else { [outcomes[1].clone(), outcomes[0].clone()] };
    assert_eq!((taken.0, refused.0), (200, 409));
    assert!(String::from_utf8_lossy(&refused.1).contains("one at a time"));

    let profile = unpacked(&taken.1);
    assert_eq!(profile.string_table[1..5], ["samples", "count", "cpu", "nanoseconds"]);
    assert!(!profile.sample.is_empty(), "it has worked");
    for sample in &profile.sample {
        assert_eq!(sample.value[1], sample.value[0] * profile.period);
        let is_known = |id: &u64| profile.location.iter().any(|location| location.id == *id);
        assert!(sample.location_id.iter().all(is_known));
    }
    // Of stacks and not only of where the processor was, and mostly of code that is in files.
    assert!(profile.sample.iter().any(|sample| sample.location_id.len() > 3));
    let in_files = profile.location.iter().filter(|location| location.mapping_id > 0).count();
    assert!(2 * in_files > profile.location.len(), "{in_files} of {}", profile.location.len());

    // Once it is done there may be another.
    assert_eq!(get(&admin, "/debug/pprof/profile?seconds=1").0, 200);
}

#[test]
fn profiles_are_for_operators_and_not_for_long() {
    let (_process, public, admin) = serve();
    assert_eq!(get(&public, "/debug/pprof/profile?seconds=1").0, 404);
    for query in ["seconds=0", "seconds=61", "seconds=x"] {
        let (status, body) = get(&admin, &format!("/debug/pprof/profile?{query}"));
        assert_eq!(status, 400, "{query}");
        assert!(String::from_utf8_lossy(&body).contains("from 1 to 60"), "{query}");
    }
}
