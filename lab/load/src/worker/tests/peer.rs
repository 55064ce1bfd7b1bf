//! A peer in virtual time: it takes connections over a Unix-domain socket on the client's own thread, and answers each request
//! as its script says. Time passes only while the client waits.

use prony_client::VirtualTime;
use prony_model::Nanos;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// This response, so long after the request.
    After(Nanos, &'static str),
    Never,
    /// The connection is closed, so long after the request.
    Close(Nanos),
}

/// A request that came: when, and over which connection, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) at: Nanos,
    pub(super) connection: usize,
}

pub(super) struct Peer {
    listener: UnixListener,
    now: Nanos,
    /// With what of a request has come.
    connections: Vec<(UnixStream, Vec<u8>)>,
    /// In the order of time, then of requests.
    due: BTreeMap<(Nanos, usize), (usize, Reply)>,
    seen: Rc<RefCell<Vec<Seen>>>,
    /// By the number of the request, and when it came.
    script: Box<dyn FnMut(usize, Nanos) -> Reply>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Peer {
    pub(super) fn listen(path: &Path, script: impl FnMut(usize, Nanos) -> Reply + 'static) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self {
            listener,
            now: Nanos::ZERO,
            connections: Vec::new(),
            due: BTreeMap::new(),
            seen: Rc::default(),
            script: Box::new(script),
        }
    }

    /// Forgets who has connected to see whether anybody listens.
    pub(super) fn begin(&mut self) {
        while self.listener.accept().is_ok() {}
    }

    pub(super) fn seen(&self) -> Rc<RefCell<Vec<Seen>>> {
        Rc::clone(&self.seen)
    }

    fn take_requests(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).unwrap();
            self.connections.push((stream, Vec::new()));
        }
        for (connection, (stream, text)) in self.connections.iter_mut().enumerate() {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                text.extend_from_slice(&buffer[..count]);
            }
            while let Some(end) = memchr::memmem::find(text, b"\r\n\r\n") {
                text.drain(..end + 4);
                let mut seen = self.seen.borrow_mut();
                let (number, now) = (seen.len(), self.now);
                seen.push(Seen { at: now, connection });
                let reply = (self.script)(number, now);
                if let Reply::After(after, _) | Reply::Close(after) = reply {
                    self.due.insert((now.plus(after), number), (connection, reply));
                }
            }
        }
    }

    fn reply(&mut self, connection: usize, reply: Reply) {
        let (stream, _) = &mut self.connections[connection];
        let done = match reply {
            Reply::After(_, text) => stream.write_all(text.as_bytes()),
            Reply::Close(_) => stream.shutdown(Shutdown::Both),
            Reply::Never => Ok(()),
        };
        // The client may have given the connection up.
        done.or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected => Ok(()),
            _ => Err(error),
        })
        .unwrap();
    }
}

impl VirtualTime for Peer {
    fn now(&self) -> Nanos {
        self.now
    }

    fn pass(&mut self, until: Nanos) {
        self.take_requests();
        let Some((at, _)) = self.due.first_key_value().map(|(key, _)| *key).filter(|(at, _)| *at <= until)
        else {
            self.now = until;
            return;
        };
        self.now = self.now.max(at);
        // What is due at the same moment comes at the same moment.
        while let Some(first) = self.due.first_entry().filter(|first| first.key().0 <= self.now) {
            let (connection, reply) = first.remove();
            self.reply(connection, reply);
        }
    }
}
