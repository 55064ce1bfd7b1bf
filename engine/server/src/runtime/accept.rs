//! The acceptor: takes sockets from all listeners and hands each to the core with the fewest connections, so
//! that few connections spread evenly too.

use std::{
    cell::Cell,
    io,
    net::{IpAddr, TcpListener as StandardTcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{
    admin,
    connections::{Arrival, Entrance},
    core::CoreThread,
    crowd::Crowd,
    listen::BACKLOG,
    load::{ConnectionLimits, Load, LoadPlace, NoRoom},
    refusal::respond_and_close,
    stop::{StopPhase, Stopping},
};
use crate::access::Access;

/// Pause after the system refused a socket (descriptors used up), so that the acceptor does not spin.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(50);

/// Clients that are told at the same time that the server is full; more are closed without a word.
const REFUSALS_AT_ONCE: usize = 64;

/// The log says not more often that connections are refused.
const SAY_EVERY: Duration = Duration::from_secs(10);

const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 79\r\n\r\n\
    {\"errors\":[{\"message\":\"the server is at its limit of connections; try later\"}]}";

const REFUSAL_OF_ADDRESS: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json; charset=utf-8\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 120\r\n\r\n\
    {\"errors\":[{\"message\":\"this address has as many connections as one may have (max_connections_per_address); try later\"}]}";

/// What is behind the listeners.
#[derive(Debug)]
pub(super) struct Acceptor<'a> {
    pub(super) cores: &'a [CoreThread],
    pub(super) limits: ConnectionLimits,
    /// Says which proxies are trusted: they are not limited by their address.
    pub(super) access: &'a Access,
    /// Who comes with TLS would not understand why there is no room.
    pub(super) has_tls: bool,
    pub(super) crowd: &'a Crowd,
    /// Connections of operators, which are not among those of the cores.
    pub(super) operators: Arc<Load>,
    /// When the log has last said that connections are refused.
    pub(super) said: Cell<Option<Instant>>,
}

impl Acceptor<'_> {
    /// Accepts until stopping begins, and then those who wait already; the listeners are closed when it returns.
    pub(super) async fn run(
        &self,
        listeners: Vec<(StandardTcpListener, Entrance)>,
        mut stopping: Stopping,
    ) -> io::Result<()> {
        let refusals = Arc::new(Semaphore::new(REFUSALS_AT_ONCE));
        let listeners: Vec<(TcpListener, Entrance)> = listeners
            .into_iter()
            .map(|(listener, entrance)| Ok((TcpListener::from_std(listener)?, entrance)))
            .collect::<io::Result<_>>()?;
        let mut loops: FuturesUnordered<_> = listeners
            .iter()
            .map(|(listener, entrance)| self.accept(listener, *entrance, &refusals))
            .collect();
        tokio::select! {
            _ = loops.next() => {}
            () = stopping.reached(StopPhase::Draining) => {}
        }
        drop(loops);
        for (listener, entrance) in listeners {
            self.accept_waiting(&listener.into_std()?, entrance, &refusals)?;
        }
        Ok(())
    }

    /// Accepts those whom the system has connected already: the end of the listener would reset their connections, though they may have sent a
    /// request. Who is faster than that waits no longer than the others.
    fn accept_waiting(
        &self,
        listener: &StandardTcpListener,
        entrance: Entrance,
        refusals: &Arc<Semaphore>,
    ) -> io::Result<()> {
        for _ in 0..BACKLOG {
            match listener.accept() {
                Ok((socket, peer)) => {
                    socket.set_nonblocking(true)?;
                    self.admit(TcpStream::from_std(socket)?, peer.ip(), entrance, refusals);
                }
                Err(error) if is_the_clients(&error) => {}
                // Nobody waits any more.
                Err(_) => break,
            }
        }
        Ok(())
    }

    async fn accept(&self, listener: &TcpListener, entrance: Entrance, refusals: &Arc<Semaphore>) {
        loop {
            match listener.accept().await {
                Ok((socket, peer)) => self.admit(socket, peer.ip(), entrance, refusals),
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE_AFTER_REFUSAL).await;
                }
            }
        }
    }

    fn admit(&self, socket: TcpStream, peer: IpAddr, entrance: Entrance, refusals: &Arc<Semaphore>) {
        match entrance {
            Entrance::Public => self.hand_over(socket, peer, refusals),
            Entrance::Admin if self.operators.open_connections() < admin::MAX_CONNECTIONS => {
                self.give(socket, entrance, |_| self.operators.take_place(None));
            }
            Entrance::Admin => {}
        }
    }

    fn hand_over(&self, socket: TcpStream, peer: IpAddr, refusals: &Arc<Semaphore>) {
        let open: usize = self.cores.iter().map(|core| core.load.open_connections()).sum();
        let share = match self.limits.take(open, self.access.peer_network(peer)) {
            Ok(share) => share,
            Err(room) => {
                self.say(room, peer);
                if !self.has_tls {
                    refuse(socket, room, refusals);
                }
                return;
            }
        };
        self.crowd.note(open + 1);
        self.give(socket, Entrance::Public, |core| core.load.take_place(Some(share)));
    }

    /// Tells the log.
    fn say(&self, room: NoRoom, peer: IpAddr) {
        if self.said.get().is_some_and(|said| said.elapsed() < SAY_EVERY) {
            return;
        }
        self.said.set(Some(Instant::now()));
        match room {
            NoRoom::All => tracing::warn!(
                "connections are refused: there are as many as there may be (max_connections, or the limit on open files)"
            ),
            NoRoom::Address => tracing::warn!(
                address = %peer,
                "connections of an address are refused: it has as many as one may have (max_connections_per_address); a proxy is named in \
                 trusted_proxies"
            ),
        }
    }

    /// Gives the socket to the core with the fewest connections.
    fn give(&self, socket: TcpStream, entrance: Entrance, place: impl FnOnce(&CoreThread) -> LoadPlace) {
        // Writes are whole responses; waiting for the client's acknowledgement would only delay them.
        let _ = socket.set_nodelay(true);
        let Ok(socket) = socket.into_std() else { return };
        let Some(core) = self.cores.iter().min_by_key(|core| core.load.open_connections()) else { return };
        let place = place(core);
        // Fails only when the core's thread has panicked; the socket then closes with the arrival.
        if core.inbox.send(Arrival { socket, entrance, place }).is_err() {
            tracing::error!("a core no longer takes connections");
        }
    }
}

/// Errors of one socket that went away before it was accepted, `accept(2)`.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

fn refuse(socket: TcpStream, room: NoRoom, refusals: &Arc<Semaphore>) {
    let response = match room {
        NoRoom::All => REFUSAL,
        NoRoom::Address => REFUSAL_OF_ADDRESS,
    };
    let Ok(permit) = Arc::clone(refusals).try_acquire_owned() else { return };
    tokio::task::spawn_local(async move {
        let _permit = permit;
        respond_and_close(socket, response).await;
    });
}

#[cfg(test)]
mod tests {
    use std::{net::TcpStream as StandardTcpStream, thread};

    use tokio::sync::mpsc;

    use super::*;
    use crate::runtime::{listen, stop};

    /// Their connections were reset, and whoever had sent a request could not know its fate.
    #[test]
    fn those_who_wait_when_stopping_begins_are_accepted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = listen::bind(([127, 0, 0, 1], 0).into()).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let clients = [(); 3].map(|()| StandardTcpStream::connect(address).expect("it listens"));
        let (inbox, mut arrivals) = mpsc::unbounded_channel();
        let cores = [CoreThread { load: Arc::default(), inbox, thread: thread::spawn(|| {}) }];
        let (stopper, stopping) = stop::channel();
        stopper.raise(StopPhase::Draining);
        let (crowd, access) = (Crowd::default(), Access::new(&Arc::default(), None));
        let acceptor = Acceptor {
            cores: &cores,
            limits: ConnectionLimits::new(clients.len(), None),
            access: &access,
            has_tls: false,
            crowd: &crowd,
            operators: Arc::default(),
            said: Cell::default(),
        };
        let accepted = runtime.block_on(acceptor.run(vec![(listener, Entrance::Public)], stopping));
        accepted.expect("sockets can be taken");
        for client in &clients {
            let arrival = arrivals.try_recv().expect("each is given to a core");
            assert_eq!(arrival.socket.peer_addr().ok(), client.local_addr().ok());
        }
        assert!(StandardTcpStream::connect(address).is_err(), "nobody listens any more");
    }
}
