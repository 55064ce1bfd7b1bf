//! Streams that clients have reserved (single connection mode of GraphQL over server-sent events). They are the site's:
//! a stream lives on the core to which its connection came, and orders for it reach it from all cores.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use prony_graphql::request::RequestParameters;
use tokio::sync::mpsc;

use super::settings::SubscriptionSettings;
use crate::{
    graphql::RequestContext,
    networks::{NetworkCounts, NetworkShare},
};

/// What requests of other connections want of a stream.
#[derive(Debug)]
pub(crate) enum Order {
    Start { id: Box<str>, request: Box<(RequestContext, RequestParameters)> },
    Stop { id: Box<str> },
}

/// Orders that wait for a stream, which takes them whenever it is polled.
const MAX_ORDERS: usize = 256;

/// One of so many parts of what may wait to be opened is what one address may have.
const PARTS: usize = 10;

/// But so many at least: people behind one address.
const NETWORK_MIN: usize = 64;

/// The reserved and the open streams, by their tokens.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    streams: Mutex<Streams>,
    /// Those that wait to be opened.
    by_network: Arc<NetworkCounts>,
}

#[derive(Debug, Default)]
struct Streams {
    by_token: HashMap<Box<str>, Arc<Reservation>>,
    /// Tokens of those that wait to be opened, as they were reserved, so that the first is out of date first. Others may stand among them that
    /// are open or gone.
    in_order: VecDeque<Box<str>>,
    /// How many wait to be opened.
    waiting: usize,
}

/// Why a stream is not reserved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReservationFault {
    /// Too many wait to be opened.
    TooMany,
    /// As many as one address may have wait to be opened.
    TooManyOfAddress,
    NoRandomness(getrandom::Error),
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Reservation {
    orders: mpsc::Sender<Order>,
    inner: Mutex<ReservationState>,
    made: Instant,
}

#[derive(Debug)]
struct ReservationState {
    /// Until the stream is opened, with the place that it has among those of its client's address.
    inbox: Option<(mpsc::Receiver<Order>, NetworkShare)>,
    /// Ids in use.
    operations: HashSet<Box<str>>,
}

/// Why an order is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderFault {
    Doubled,
    TooMany,
    /// The stream has just ended.
    Gone,
}

/// The open stream's side of a reservation; dropping it ends the reservation.
#[derive(Debug)]
pub(crate) struct Claim {
    reservations: Arc<Reservations>,
    token: Box<str>,
    reservation: Arc<Reservation>,
    pub(super) inbox: mpsc::Receiver<Order>,
}

impl Reservations {
    /// Reserves a stream for a client, of which the network is known where it is limited by its address. The token is 128 random bits.
    pub(crate) fn reserve(
        &self,
        network: Option<IpAddr>,
        settings: &SubscriptionSettings,
    ) -> Result<Box<str>, ReservationFault> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(ReservationFault::NoRandomness)?;
        let token: Box<str> = format!("{:032x}", u128::from_be_bytes(bits)).into();
        let mut streams = lock(&self.streams);
        let made = Instant::now();
        streams.forget_old(made, settings);
        if streams.waiting >= settings.max_reservations {
            return Err(ReservationFault::TooMany);
        }
        let most = (settings.max_reservations / PARTS).max(NETWORK_MIN);
        let share = self.by_network.take(network, most).ok_or(ReservationFault::TooManyOfAddress)?;
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let inner = Mutex::new(ReservationState { inbox: Some((inbox, share)), operations: HashSet::new() });
        streams.by_token.insert(token.clone(), Arc::new(Reservation { orders, inner, made }));
        streams.in_order.push_back(token.clone());
        streams.waiting += 1;
        Ok(token)
    }

    /// The stream of a token that is still good.
    pub(crate) fn find(&self, token: &str, settings: &SubscriptionSettings) -> Option<Arc<Reservation>> {
        let mut streams = lock(&self.streams);
        if streams.by_token.get(token)?.is_over(Instant::now(), settings) {
            streams.forget(token);
            return None;
        }
        streams.by_token.get(token).cloned()
    }

    /// Opens a reserved stream; none where it is open already.
    pub(crate) fn claim(self: &Arc<Self>, token: &str, reservation: Arc<Reservation>) -> Option<Claim> {
        // Its place goes behind the locks.
        let mut streams = lock(&self.streams);
        let (inbox, _place) = lock(&reservation.inner).inbox.take()?;
        // One that went out of date meanwhile has left the others already.
        if streams.by_token.contains_key(token) {
            streams.waiting -= 1;
        }
        drop(streams);
        Some(Claim { reservations: Arc::clone(self), token: token.into(), reservation, inbox })
    }
}

impl Streams {
    /// Those that were not opened in time; each is looked at once.
    fn forget_old(&mut self, now: Instant, settings: &SubscriptionSettings) {
        while let Some(first) = self.in_order.front() {
            let waits = self.by_token.get(first).filter(|stream| stream.waits());
            if waits.is_some_and(|stream| !stream.is_over(now, settings)) {
                return;
            }
            let is_over = waits.is_some();
            let Some(first) = self.in_order.pop_front() else { return };
            if is_over {
                self.forget(&first);
            }
        }
    }

    /// One that waits to be opened.
    fn forget(&mut self, token: &str) {
        if self.by_token.remove(token).is_some() {
            self.waiting -= 1;
        }
    }
}

impl Reservation {
    fn waits(&self) -> bool {
        lock(&self.inner).inbox.is_some()
    }

    fn is_over(&self, now: Instant, settings: &SubscriptionSettings) -> bool {
        now.saturating_duration_since(self.made) > settings.reservation_timeout && self.waits()
    }

    /// Has an operation started where the stream is.
    pub(crate) fn start(
        &self,
        id: &str,
        context: RequestContext,
        parameters: RequestParameters,
        max_operations: usize,
    ) -> Result<(), OrderFault> {
        let mut inner = lock(&self.inner);
        if inner.operations.contains(id) {
            return Err(OrderFault::Doubled);
        }
        if inner.operations.len() >= max_operations {
            return Err(OrderFault::TooMany);
        }
        let order = Order::Start { id: id.into(), request: Box::new((context, parameters)) };
        self.orders.try_send(order).map_err(OrderFault::from)?;
        inner.operations.insert(id.into());
        Ok(())
    }

    /// Has an operation stopped; one that is not there has ended a moment ago. One that could not be told of stays, so that
    /// the client can ask again.
    pub(crate) fn stop(&self, id: &str) -> Result<(), OrderFault> {
        let mut inner = lock(&self.inner);
        if !inner.operations.contains(id) {
            return Ok(());
        }
        let sent = self.orders.try_send(Order::Stop { id: id.into() }).map_err(OrderFault::from);
        if sent != Err(OrderFault::TooMany) {
            inner.operations.remove(id);
        }
        sent
    }
}

impl From<mpsc::error::TrySendError<Order>> for OrderFault {
    fn from(error: mpsc::error::TrySendError<Order>) -> Self {
        match error {
            mpsc::error::TrySendError::Full(_) => Self::TooMany,
            mpsc::error::TrySendError::Closed(_) => Self::Gone,
        }
    }
}

impl Claim {
    /// An operation has ended; its id is free again.
    pub(crate) fn release(&self, id: &str) {
        lock(&self.reservation.inner).operations.remove(id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&self.reservations.streams).by_token.remove(&self.token);
    }
}

/// Nothing panics while one is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings() -> SubscriptionSettings {
        SubscriptionSettings { max_reservations: 2, ..SubscriptionSettings::default() }
    }

    #[test]
    fn a_stream_is_opened_once_and_frees_its_place() {
        let (streams, settings) = (Arc::new(Reservations::default()), settings());
        let token = streams.reserve(None, &settings).unwrap();
        let found = streams.find(&token, &settings).unwrap();
        let claim = streams.claim(&token, Arc::clone(&found)).unwrap();
        assert!(streams.claim(&token, found).is_none());
        drop(claim);
        assert!(streams.find(&token, &settings).is_none());
    }

    #[test]
    fn reservations_are_bounded_and_go_out_of_date() {
        let (streams, mut settings) = (Arc::new(Reservations::default()), settings());
        let first = streams.reserve(None, &settings).unwrap();
        let second = streams.reserve(None, &settings).unwrap();
        assert_ne!(first, second);
        assert_eq!(streams.reserve(None, &settings), Err(ReservationFault::TooMany));
        let open = streams.claim(&first, streams.find(&first, &settings).unwrap()).unwrap();
        let third = streams.reserve(None, &settings).unwrap();
        assert_eq!(streams.reserve(None, &settings), Err(ReservationFault::TooMany));
        settings.reservation_timeout = Duration::ZERO;
        assert!(streams.find(&third, &settings).is_none());
        streams.reserve(None, &settings).unwrap();
        assert!(streams.find(&first, &settings).is_some(), "open ones have no end");
        drop(open);
    }

    #[test]
    fn one_address_does_not_take_all_reservations() {
        let streams = Arc::new(Reservations::default());
        let mut settings = SubscriptionSettings { max_reservations: 1000, ..SubscriptionSettings::default() };
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|text| Some(text.parse().unwrap()));
        let tokens: Vec<_> = (0..100).map(|_| streams.reserve(one, &settings).unwrap()).collect();
        assert_eq!(streams.reserve(one, &settings), Err(ReservationFault::TooManyOfAddress));
        for network in [other, None] {
            streams.reserve(network, &settings).unwrap();
        }
        let open = streams.claim(&tokens[0], streams.find(&tokens[0], &settings).unwrap()).unwrap();
        streams.reserve(one, &settings).expect("one of them waits no more");
        assert_eq!(streams.reserve(one, &settings), Err(ReservationFault::TooManyOfAddress));
        settings.reservation_timeout = Duration::ZERO;
        streams.reserve(one, &settings).expect("the others are out of date");
        drop(open);
    }

    /// Each refusal looked at all reservations.
    #[test]
    fn what_waits_is_counted_whatever_becomes_of_it() {
        let streams = Arc::new(Reservations::default());
        let mut settings = SubscriptionSettings { max_reservations: 7, ..SubscriptionSettings::default() };
        let counts = |streams: &Reservations| {
            let streams = lock(&streams.streams);
            let waiting = streams.by_token.values().filter(|stream| stream.waits()).count();
            (streams.waiting, waiting, streams.by_token.len(), streams.in_order.len())
        };
        let tokens: Vec<_> = (0..7).map(|_| streams.reserve(None, &settings).unwrap()).collect();
        let claim = |token: &str| streams.claim(token, streams.find(token, &settings).unwrap());
        let (first, sixth) = (claim(&tokens[0]).unwrap(), claim(&tokens[5]).unwrap());
        drop(sixth);
        assert_eq!(counts(&streams), (5, 5, 6, 7));
        let late = streams.find(&tokens[2], &settings).unwrap();
        settings.reservation_timeout = Duration::ZERO;
        assert!(
            streams.find(&tokens[1], &settings).is_none() && streams.find(&tokens[2], &settings).is_none()
        );
        assert!(streams.claim(&tokens[2], late).is_some(), "it was found in time");
        assert_eq!(counts(&streams), (3, 3, 4, 7));
        streams.reserve(None, &settings).unwrap();
        assert_eq!(counts(&streams), (1, 1, 2, 1), "the first is open, and one was made now");
        drop(first);
        assert_eq!(counts(&streams), (1, 1, 1, 1));
    }

    #[test]
    fn ids_are_used_once_at_a_time() {
        let (streams, settings) = (Arc::new(Reservations::default()), settings());
        let token = streams.reserve(None, &settings).unwrap();
        let stream = streams.find(&token, &settings).unwrap();
        let start = |id| stream.start(id, RequestContext::default(), RequestParameters::default(), 2);
        assert_eq!(start("a"), Ok(()));
        assert_eq!(start("a"), Err(OrderFault::Doubled));
        assert_eq!(start("b"), Ok(()));
        assert_eq!(start("c"), Err(OrderFault::TooMany));
        assert_eq!(stream.stop("a"), Ok(()));
        assert_eq!(stream.stop("a"), Ok(()));
        assert_eq!(start("c"), Ok(()));
        let mut claim = streams.claim(&token, Arc::clone(&stream)).unwrap();
        claim.release("b");
        assert_eq!(start("b"), Ok(()));
        let mut kinds = Vec::new();
        while let Ok(order) = claim.inbox.try_recv() {
            kinds.push(match order {
                Order::Start { id, .. } => format!("start {id}"),
                Order::Stop { id } => format!("stop {id}"),
            });
        }
        assert_eq!(kinds.join(", "), "start a, start b, stop a, start c, start b");
        drop(claim);
        assert_eq!(start("d"), Err(OrderFault::TooMany));
        stream.stop("c").unwrap_err();
        assert_eq!(start("d"), Err(OrderFault::Gone));
    }

    #[test]
    fn what_could_not_be_stopped_can_be_stopped_again() {
        let (streams, settings) = (Arc::new(Reservations::default()), settings());
        let token = streams.reserve(None, &settings).unwrap();
        let stream = streams.find(&token, &settings).unwrap();
        let start = || stream.start("a", RequestContext::default(), RequestParameters::default(), 2);
        for _ in 1..MAX_ORDERS / 2 {
            assert_eq!((start(), stream.stop("a")), (Ok(()), Ok(())));
        }
        stream.start("b", RequestContext::default(), RequestParameters::default(), 2).unwrap();
        assert_eq!(start(), Ok(()));
        assert_eq!(stream.stop("a"), Err(OrderFault::TooMany), "nobody takes orders");
        assert_eq!(start(), Err(OrderFault::Doubled), "it is still to be begun");
        let mut claim = streams.claim(&token, Arc::clone(&stream)).unwrap();
        assert!(claim.inbox.try_recv().is_ok());
        assert_eq!(stream.stop("a"), Ok(()));
        assert_eq!(start(), Err(OrderFault::TooMany), "the last place was taken by the stop");
    }
}
