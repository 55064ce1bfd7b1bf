//! A network between the server and its database that can lose connections without a word, as when a machine loses its power.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};

/// Its threads end with the process.
pub(crate) struct Network {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// How often connections were lost: those that were made before have not the same number.
    losses: AtomicU32,
    made: AtomicU32,
    /// Sockets of lost connections, which stay open so that nobody is told.
    lost: Mutex<Vec<[TcpStream; 2]>>,
}

impl Network {
    /// What comes to its `port` goes to `target` of this machine.
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let shared = Arc::new(Shared {
            losses: AtomicU32::new(0),
            made: AtomicU32::new(0),
            lost: Mutex::new(Vec::new()),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { continue };
                of_thread.made.fetch_add(1, SeqCst);
                carry(&of_thread, &near, &far);
                carry(&of_thread, &far, &near);
            }
        });
        Self { port, shared }
    }

    /// What is sent over the connections that there are now never comes.
    ///
    /// # Panics
    /// Where there never was one.
    pub(crate) fn lose_connections(&self) {
        self.shared.losses.fetch_add(1, SeqCst);
        assert!(self.shared.made.load(SeqCst) > 0, "no connection goes through this network");
    }
}

/// Carries what comes from one end to the other, on a thread of its own.
fn carry(shared: &Arc<Shared>, from: &TcpStream, to: &TcpStream) {
    let number = shared.losses.load(SeqCst);
    let shared = Arc::clone(shared);
    let clone = |stream: &TcpStream| stream.try_clone().expect("a socket more");
    let (mut from, mut to) = (clone(from), clone(to));
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        loop {
            let count = from.read(&mut bytes).unwrap_or(0);
            if shared.losses.load(SeqCst) != number {
                shared.lost.lock().unwrap_or_else(PoisonError::into_inner).push([from, to]);
                return;
            }
            if count == 0 || to.write_all(&bytes[..count]).is_err() {
                let _ = to.shutdown(Shutdown::Both);
                return;
            }
        }
    });
}
