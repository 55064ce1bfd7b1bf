//! The addresses of a target: found once, or again while the run goes by a thread that the event loops never wait for.

use crate::error::ClientError;
use crate::transport::Address;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Of one name. More would only share the load more finely.
pub(crate) const ADDRESSES_MAX: usize = 64;
/// A name server is asked for a target at most this often, however many connections are opened.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);

/// At least one.
#[derive(Debug)]
pub(crate) enum Addresses {
    Fixed(Vec<Address>),
    Renewed(Renewed),
}

/// Shared with the thread that asks; a connection takes what the last answer said.
#[derive(Debug)]
pub(crate) struct Renewed {
    latest: Arc<Mutex<Vec<Address>>>,
    /// Holds at most one wish; further ones are the same wish.
    ask: SyncSender<()>,
}

impl Addresses {
    /// Only addresses of the first one's family are taken, because only that was tried.
    pub(crate) fn renewed(host: &str, port: u16, first: Vec<Address>) -> Result<Self, ClientError> {
        let (name, is_ipv6) = ((host.to_owned(), port), is_ipv6(first.first()));
        let find = move || {
            let found = (name.0.as_str(), name.1).to_socket_addrs()?;
            Ok(found.filter(|address| address.is_ipv6() == is_ipv6).collect())
        };
        Renewed::start(first, RENEWAL_PAUSE, find)
            .map(Self::Renewed)
            .map_err(ClientError::system("start a thread"))
    }

    /// Uses the address whose turn it is.
    pub(crate) fn with<T>(&self, turn: u32, work: impl FnOnce(&Address) -> T) -> T {
        match self {
            Self::Fixed(addresses) => work(&addresses[turn as usize % addresses.len()]),
            Self::Renewed(renewed) => {
                // A full channel already holds the wish, a closed one has no one left to fulfil it.
                let _ = renewed.ask.try_send(());
                let addresses = renewed.latest.lock().unwrap_or_else(PoisonError::into_inner);
                let address = addresses[turn as usize % addresses.len()].clone();
                drop(addresses);
                work(&address)
            }
        }
    }

    pub(crate) fn first(&self) -> Address {
        match self {
            Self::Fixed(addresses) => addresses[0].clone(),
            Self::Renewed(renewed) => {
                renewed.latest.lock().unwrap_or_else(PoisonError::into_inner)[0].clone()
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Fixed(addresses) => addresses.len(),
            Self::Renewed(renewed) => renewed.latest.lock().unwrap_or_else(PoisonError::into_inner).len(),
        }
    }
}

fn is_ipv6(address: Option<&Address>) -> bool {
    matches!(address, Some(Address::Tcp(SocketAddr::V6(_))))
}

impl Renewed {
    fn start(
        first: Vec<Address>,
        pause: Duration,
        find: impl FnMut() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    ) -> io::Result<Self> {
        let latest = Arc::new(Mutex::new(first));
        let (ask, asked) = sync_channel(1);
        let shared = Arc::clone(&latest);
        // Ends with the run, which drops `ask`. It is not waited for: a name server may take its time.
        thread::Builder::new()
            .name("prony-resolve".to_owned())
            .spawn(move || renew(&asked, &shared, pause, find))?;
        Ok(Self { latest, ask })
    }
}

/// A name server that fails leaves the last answer in place: connections show whether it still holds.
fn renew(
    asked: &Receiver<()>,
    latest: &Mutex<Vec<Address>>,
    pause: Duration,
    mut find: impl FnMut() -> io::Result<Vec<SocketAddr>>,
) {
    let mut last: Option<Instant> = None;
    while asked.recv().is_ok() {
        if last.is_some_and(|last| last.elapsed() < pause) {
            continue;
        }
        last = Some(Instant::now());
        if let Ok(found) = find()
            && !found.is_empty()
        {
            let found = found.into_iter().take(ADDRESSES_MAX).map(Address::Tcp).collect();
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> Address {
        Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port)))
    }

    #[test]
    fn connections_take_turns() {
        let addresses = Addresses::Fixed(vec![address(1), address(2)]);
        let turns: Vec<_> = (0..3).map(|turn| addresses.with(turn, Address::clone)).collect();
        assert_eq!(turns, [address(1), address(2), address(1)]);
    }

    #[test]
    fn a_changed_name_is_followed_and_a_failing_name_server_keeps_the_last_answer() {
        let (say, said) = std::sync::mpsc::channel();
        let (done, is_done) = std::sync::mpsc::channel();
        let find = move || {
            let answer: io::Result<Vec<SocketAddr>> = said.recv().map_err(io::Error::other)?;
            done.send(()).map_err(io::Error::other)?;
            answer
        };
        let addresses = Addresses::Renewed(Renewed::start(vec![address(1)], Duration::ZERO, find).unwrap());
        let used = || addresses.with(0, Address::clone);
        assert_eq!(used(), address(1), "the wish is not waited for");
        say.send(Ok(vec![SocketAddr::from(([127, 0, 0, 1], 2))])).unwrap();
        is_done.recv().unwrap();
        // The answer is put in place after it was given: two more rounds show that the first is over.
        for _ in 0..2 {
            used();
            say.send(Err(io::Error::other("no name server"))).unwrap();
            is_done.recv().unwrap();
        }
        assert_eq!(used(), address(2));
    }
}
