//! A webhook that says who asks: how much it is asked at a time, and what happens while it is silent.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{ask, serve};
use crate::support::{PATIENCE, Server};

/// Keeps what it is asked until it is told to respond.
struct Silent {
    address: SocketAddr,
    state: Arc<(Mutex<Asked>, Condvar)>,
    responds: Arc<AtomicBool>,
}

#[derive(Default)]
struct Asked {
    now: usize,
    most: usize,
    all: usize,
}

impl Silent {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let webhook = Self { address, state: Arc::default(), responds: Arc::default() };
        let (state, responds) = (Arc::clone(&webhook.state), Arc::clone(&webhook.responds));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let (state, responds) = (Arc::clone(&state), Arc::clone(&responds));
                thread::spawn(move || {
                    let lines = BufReader::new(stream.try_clone().expect("it can be read")).lines();
                    lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
                    let (asked, changed) = &*state;
                    let mut now = asked.lock().expect("no test panics with it");
                    now.now += 1;
                    now.all += 1;
                    now.most = now.most.max(now.now);
                    changed.notify_all();
                    let waited =
                        changed.wait_timeout_while(now, PATIENCE, |_| !responds.load(Ordering::SeqCst));
                    let mut now = waited.expect("no test panics with it").0;
                    now.now -= 1;
                    drop(now);
                    let _ = stream.write_all(
                        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 16\r\n\r\n{\"role\":\"admin\"}",
                    );
                });
            }
        });
        webhook
    }

    fn serve(&self, settings: &str) -> Server {
        serve(&format!(
            "[auth]\n[auth.webhook]\naddress = \"http://{}/who\"\nforward = [\"x-who\"]\n{settings}\n[roles.admin]\nunrestricted = true\n",
            self.address
        ))
    }

    fn wait_until_asked(&self, times: usize) {
        let (asked, changed) = &*self.state;
        let asked = asked.lock().expect("no test panics with it");
        let waited = changed.wait_timeout_while(asked, PATIENCE, |asked| asked.all < times);
        assert!(!waited.expect("no test panics with it").1.timed_out(), "it was not asked {times} times");
    }

    fn respond(&self) {
        self.responds.store(true, Ordering::SeqCst);
        let (asked, changed) = &*self.state;
        drop(asked.lock().expect("no test panics with it"));
        changed.notify_all();
    }
}

#[test]
fn it_is_asked_by_as_many_at_a_time_as_it_may_be() {
    let webhook = Silent::start();
    let server = webhook.serve("max_in_flight = 2\ntimeout_ms = 60000");
    let responses = thread::scope(|scope| {
        let server = &server;
        let asking: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || ask(server, &format!("x-who: {number}\r\n"), "{ __typename }")))
            .collect();
        webhook.wait_until_asked(2);
        webhook.respond();
        asking.into_iter().map(|asking| asking.join().expect("it is answered")).collect::<Vec<_>>()
    });
    assert!(responses.iter().all(|response| response.starts_with("HTTP/1.1 200")), "{responses:#?}");
    let asked = webhook.state.0.lock().expect("no test panics with it");
    assert_eq!((asked.most, asked.all), (2, 8));
}

/// Each had a thread that waited, and those behind them waited for one without end.
#[test]
fn while_it_is_silent_others_are_refused_and_later_served() {
    let webhook = Silent::start();
    let server = webhook.serve("max_in_flight = 1\ntimeout_ms = 400");
    thread::scope(|scope| {
        let server = &server;
        let asking: Vec<_> = (0..4)
            .map(|number| scope.spawn(move || ask(server, &format!("x-who: {number}\r\n"), "{ __typename }")))
            .collect();
        for asking in asking {
            let response = asking.join().expect("it is answered");
            assert!(response.starts_with("HTTP/1.1 503") && response.contains("UNAVAILABLE"), "{response}");
        }
    });
    webhook.respond();
    // On a machine that does much else it may take longer than `timeout_ms` once more.
    let is_served = || ask(&server, "x-who: ann\r\n", "{ __typename }").starts_with("HTTP/1.1 200");
    assert!((0..50).any(|_| is_served()), "it is not asked any more");
}
