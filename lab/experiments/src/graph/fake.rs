//! A graph as far as the experiment asks for one, for tests: counts, and answers with the statuses of the interface.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// How well it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    Good,
    /// Acknowledges one node that it does not keep.
    Forgets,
    /// Refuses every relationship.
    Refuses,
}

/// Listens as long as the process lives; its threads end with their connections.
pub(super) struct Graph {
    port: u16,
}

struct State {
    nodes: AtomicU64,
    relationships: AtomicU64,
    forgotten: AtomicU64,
    habit: Habit,
}

impl Graph {
    pub(super) fn start(nodes: u64, relationships: u64, habit: Habit) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            nodes: nodes.into(),
            relationships: relationships.into(),
            forgotten: AtomicU64::new(u64::from(habit == Habit::Forgets)),
            habit,
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                thread::spawn(move || state.serve(&stream));
            }
        });
        Self { port }
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        while let Some(Ok(line)) = lines.next() {
            let closes = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty());
            let closes = closes.filter(|line| line.to_lowercase() == "connection: close").count() > 0;
            let (status, body) = self.answer(&line);
            let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            let mut out = stream;
            out.write_all(text.as_bytes()).ok()?;
            if closes {
                return stream.shutdown(std::net::Shutdown::Both).ok();
            }
        }
        None
    }

    fn answer(&self, line: &str) -> (u16, String) {
        let path = line.split(' ').nth(1).unwrap().trim_start_matches("/db/rage/");
        if let Some((what, query)) = path.split_once("?limit=1&skip=") {
            let count = if what == "nodes" { &self.nodes } else { &self.relationships };
            let is_some = query.parse::<u64>().unwrap() < count.load(Ordering::SeqCst);
            return (200, if is_some { "[{}]" } else { "[]" }.to_owned());
        }
        match (line.starts_with("POST"), path.contains("/relationship/")) {
            (false, _) => (200, "{}".to_owned()),
            (true, true) if self.habit == Habit::Refuses => (400, "\"Invalid Request\"".to_owned()),
            (true, true) => (201, count(&self.relationships)),
            (true, false) => {
                let forgets = self
                    .forgotten
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                    .is_ok();
                (201, if forgets { "{}".to_owned() } else { count(&self.nodes) })
            }
        }
    }
}

fn count(of: &AtomicU64) -> String {
    format!("{{\"id\":{}}}", of.fetch_add(1, Ordering::SeqCst))
}
