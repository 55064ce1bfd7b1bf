//! Streams that clients have reserved (single connection mode of GraphQL over server-sent events). They are the site's:
//! a stream lives on the core to which its connection came, and orders for it reach it from all cores.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use prony_graphql::request::RequestParameters;
use tokio::sync::mpsc;

use super::settings::SubscriptionSettings;
use crate::graphql::RequestContext;

/// What requests of other connections want of a stream.
#[derive(Debug)]
pub(crate) enum Order {
    Start { id: Box<str>, request: Box<(RequestContext, RequestParameters)> },
    Stop { id: Box<str> },
}

/// Orders that wait for a stream, which takes them whenever it is polled.
const MAX_ORDERS: usize = 256;

/// The reserved and the open streams, by their tokens.
#[derive(Debug, Default)]
pub(crate) struct Reservations(Mutex<HashMap<Box<str>, Arc<Reservation>>>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Reservation {
    orders: mpsc::Sender<Order>,
    inner: Mutex<ReservationState>,
    made: Instant,
}

#[derive(Debug)]
struct ReservationState {
    /// Until the stream is opened.
    inbox: Option<mpsc::Receiver<Order>>,
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
    /// Reserves a stream; none where too many wait to be opened. The token is 128 random bits.
    pub(crate) fn reserve(
        &self,
        settings: &SubscriptionSettings,
    ) -> Result<Option<Box<str>>, getrandom::Error> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits)?;
        let token: Box<str> = format!("{:032x}", u128::from_be_bytes(bits)).into();
        let mut streams = lock(&self.0);
        if streams.len() >= settings.max_reservations {
            let now = Instant::now();
            streams.retain(|_, stream| !stream.is_over(now, settings));
            if streams.values().filter(|stream| stream.waits()).count() >= settings.max_reservations {
                return Ok(None);
            }
        }
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let inner = Mutex::new(ReservationState { inbox: Some(inbox), operations: HashSet::new() });
        streams.insert(token.clone(), Arc::new(Reservation { orders, inner, made: Instant::now() }));
        Ok(Some(token))
    }

    /// The stream of a token that is still good.
    pub(crate) fn find(&self, token: &str, settings: &SubscriptionSettings) -> Option<Arc<Reservation>> {
        let mut streams = lock(&self.0);
        if streams.get(token)?.is_over(Instant::now(), settings) {
            streams.remove(token);
            return None;
        }
        streams.get(token).cloned()
    }

    /// Opens a reserved stream; none where it is open already.
    pub(crate) fn claim(self: &Arc<Self>, token: &str, reservation: Arc<Reservation>) -> Option<Claim> {
        let inbox = lock(&reservation.inner).inbox.take()?;
        Some(Claim { reservations: Arc::clone(self), token: token.into(), reservation, inbox })
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
        lock(&self.reservations.0).remove(&self.token);
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
        let token = streams.reserve(&settings).unwrap().unwrap();
        let found = streams.find(&token, &settings).unwrap();
        let claim = streams.claim(&token, Arc::clone(&found)).unwrap();
        assert!(streams.claim(&token, found).is_none());
        drop(claim);
        assert!(streams.find(&token, &settings).is_none());
    }

    #[test]
    fn reservations_are_bounded_and_go_out_of_date() {
        let (streams, mut settings) = (Arc::new(Reservations::default()), settings());
        let first = streams.reserve(&settings).unwrap().unwrap();
        let second = streams.reserve(&settings).unwrap().unwrap();
        assert_ne!(first, second);
        assert_eq!(streams.reserve(&settings).unwrap(), None);
        let open = streams.claim(&first, streams.find(&first, &settings).unwrap()).unwrap();
        let third = streams.reserve(&settings).unwrap().unwrap();
        assert_eq!(streams.reserve(&settings).unwrap(), None);
        settings.reservation_timeout = Duration::ZERO;
        assert!(streams.find(&third, &settings).is_none());
        assert!(streams.reserve(&settings).unwrap().is_some());
        assert!(streams.find(&first, &settings).is_some(), "open ones have no end");
        drop(open);
    }

    #[test]
    fn ids_are_used_once_at_a_time() {
        let (streams, settings) = (Arc::new(Reservations::default()), settings());
        let token = streams.reserve(&settings).unwrap().unwrap();
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
        let token = streams.reserve(&settings).unwrap().unwrap();
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
