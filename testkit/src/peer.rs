//! A TCP peer that follows a script: answers in pieces, stalls, resets. For tests of clients and, from the
//! other side, of servers that must survive such clients' counterparts.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How often a waiting peer looks whether the test is over.
const POLL: Duration = Duration::from_millis(20);

/// One thing that the peer does on a connection. After the last one it closes the connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Reads one HTTP/1.1 request: its head and `Content-Length` bytes of body.
    ReadRequest,
    /// Reads until this many further bytes have come.
    ReadBytes(usize),
    /// Writes all at once.
    Write(Vec<u8>),
    /// Writes in pieces of this many bytes, each flushed, with a pause between them.
    WritePieces {
        bytes: Vec<u8>,
        piece: usize,
        pause: Duration,
    },
    Pause(Duration),
    /// Neither reads nor writes until the test drops the peer.
    Stall,
    /// Reads and discards until the client closes.
    ReadToEnd,
    /// Cuts the connection with RST instead of FIN.
    Reset,
    /// Starts the connection's script again: a server that keeps connections alive.
    Repeat,
}

/// Listens on 127.0.0.1; connection *n* follows script *n*, later ones the last script.
#[derive(Debug)]
pub struct ScriptedPeer {
    address: SocketAddr,
    shared: Arc<PeerState>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct PeerState {
    over: AtomicBool,
    /// What each connection has read, in the order of their acceptance.
    received: Mutex<Vec<Vec<u8>>>,
}

impl PeerState {
    fn received(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl ScriptedPeer {
    /// # Panics
    /// Without a script, or when the loopback cannot be listened on.
    pub fn start(scripts: Vec<Vec<Step>>) -> Self {
        assert!(!scripts.is_empty(), "a scripted peer needs at least one script");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(PeerState::default());
        let acceptor = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &scripts, &shared))
        };
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Every connection answers every request with these bytes.
    pub fn answering(response: impl Into<Vec<u8>>) -> Self {
        Self::start(vec![vec![Step::ReadRequest, Step::Write(response.into()), Step::Repeat]])
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections have been accepted.
    pub fn connections(&self) -> usize {
        self.shared.received().len()
    }

    /// What connection `index` has sent so far.
    pub fn received(&self, index: usize) -> Vec<u8> {
        self.shared.received().get(index).cloned().unwrap_or_default()
    }
}

impl Drop for ScriptedPeer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the acceptor; when that fails there is none left to wake.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, scripts: &[Vec<Step>], shared: &PeerState) {
    thread::scope(|scope| {
        for (index, stream) in listener.incoming().enumerate() {
            if shared.is_over() {
                return;
            }
            let Ok(stream) = stream else { return };
            shared.received().push(Vec::new());
            let script = scripts.get(index).or(scripts.last()).expect("there is a script");
            // A client that goes away ends its script early; that is what some tests are about.
            scope.spawn(move || drop(Connection { stream, index, shared, pending: 0 }.follow(script)));
        }
    });
}

struct Connection<'a> {
    stream: TcpStream,
    index: usize,
    shared: &'a PeerState,
    /// Bytes received but not yet used by a step, at the end of what was received.
    pending: usize,
}

impl Connection<'_> {
    fn follow(&mut self, script: &[Step]) -> io::Result<()> {
        self.stream.set_read_timeout(Some(POLL))?;
        self.stream.set_nodelay(true)?;
        'script: loop {
            for step in script {
                if self.shared.is_over() {
                    return Ok(());
                }
                if matches!(step, Step::Repeat) {
                    continue 'script;
                }
                self.take(step)?;
            }
            return Ok(());
        }
    }

    fn take(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::ReadRequest => self.read_request(),
            Step::ReadBytes(count) => self.read_until(|bytes| (bytes.len() >= *count).then_some(*count)),
            Step::Write(bytes) => self.stream.write_all(bytes),
            Step::WritePieces { bytes, piece, pause } => self.write_pieces(bytes, *piece, *pause),
            Step::Pause(duration) => {
                thread::sleep(*duration);
                Ok(())
            }
            Step::Stall => {
                while !self.shared.is_over() {
                    thread::sleep(POLL);
                }
                Ok(())
            }
            Step::ReadToEnd => self.read_until(|_| None),
            Step::Reset => {
                rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO))?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Step::Repeat => Ok(()),
        }
    }

    fn write_pieces(&mut self, bytes: &[u8], piece: usize, pause: Duration) -> io::Result<()> {
        for chunk in bytes.chunks(piece.max(1)) {
            self.stream.write_all(chunk)?;
            thread::sleep(pause);
        }
        Ok(())
    }

    fn read_request(&mut self) -> io::Result<()> {
        self.read_until(|bytes| {
            let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
            let whole = head + content_length(&bytes[..head]);
            (bytes.len() >= whole).then_some(whole)
        })
    }

    /// Reads until `used` says how many of the unused bytes a step takes. The client's end is an error.
    fn read_until(&mut self, used: impl Fn(&[u8]) -> Option<usize>) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        loop {
            {
                let received = self.shared.received();
                let bytes = &received[self.index];
                if let Some(count) = used(&bytes[bytes.len() - self.pending..]) {
                    self.pending -= count;
                    return Ok(());
                }
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.shared.received()[self.index].extend_from_slice(&buffer[..count]);
                    self.pending += count;
                }
                // A process that was stopped and goes on is interrupted in a wait that has a timeout, signal(7).
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) =>
                {
                    if self.shared.is_over() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let text = String::from_utf8_lossy(head);
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";

    fn exchange(script: Vec<Step>, request: &[u8]) -> io::Result<Vec<u8>> {
        let peer = ScriptedPeer::start(vec![script]);
        let mut stream = TcpStream::connect(peer.address())?;
        stream.write_all(request)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn answers_come_in_pieces() {
        let bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        let pieces = Step::WritePieces { bytes: bytes.clone(), piece: 3, pause: Duration::ZERO };
        assert_eq!(exchange(vec![Step::ReadRequest, pieces], REQUEST).unwrap(), bytes);
    }

    #[test]
    fn a_reset_is_seen_as_a_reset() {
        let error = exchange(vec![Step::ReadRequest, Step::Reset], REQUEST).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_stalled_peer_ends_with_the_test() {
        let peer = ScriptedPeer::start(vec![vec![Step::Stall]]);
        let mut stream = TcpStream::connect(peer.address()).unwrap();
        stream.set_read_timeout(Some(POLL)).unwrap();
        let mut byte = [0];
        assert!(stream.read(&mut byte).is_err());
        drop(peer);
        stream.set_read_timeout(None).unwrap();
        assert_eq!(stream.read(&mut byte).unwrap(), 0);
    }

    #[test]
    fn pipelined_requests_are_told_apart_and_kept() {
        let peer = ScriptedPeer::answering("ok");
        let mut stream = TcpStream::connect(peer.address()).unwrap();
        stream.write_all(&REQUEST.repeat(2)).unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"okok");
        assert_eq!(peer.received(0), REQUEST.repeat(2));
        assert_eq!(peer.connections(), 1);
    }

    #[test]
    fn each_connection_follows_its_own_script() {
        let write = |text: &str| vec![Step::Write(text.into())];
        let peer = ScriptedPeer::start(vec![write("first"), write("later")]);
        let answers: Vec<String> = (0..3)
            .map(|_| {
                let mut text = String::new();
                TcpStream::connect(peer.address()).unwrap().read_to_string(&mut text).unwrap();
                text
            })
            .collect();
        assert_eq!(answers, ["first", "later", "later"]);
    }
}
