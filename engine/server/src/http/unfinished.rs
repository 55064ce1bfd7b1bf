//! Bodies of requests that have not come to their end: all together are bounded, since each is held until then, and those of one client's
//! address to a part of that, so that nobody shuts out the others.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use http::StatusCode;
use prony_source::http_api::BodyError;

use crate::{
    config::Settings,
    networks::{NetworkCounts, NetworkShare},
};

/// One of so many parts is what the bodies of one address may have; one body has room in it, whatever it is.
const PARTS: usize = 4;

/// What the bodies of all requests have, of which the end has not come.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedBodies {
    bytes: AtomicUsize,
    by_network: Arc<NetworkCounts>,
}

/// What one of them has. Dropping it gives the bytes back.
pub(super) struct Unfinished<'a> {
    all: &'a UnfinishedBodies,
    share: NetworkShare,
    own_bytes: usize,
    max_bytes: usize,
    max_share_bytes: usize,
}

impl UnfinishedBodies {
    /// One more, of which nothing has come.
    pub(super) fn begin(&self, network: Option<IpAddr>, settings: &Settings) -> Unfinished<'_> {
        let max_bytes = settings.max_unfinished_bodies_bytes;
        let max_share_bytes = (max_bytes / PARTS).max(settings.max_body_bytes);
        let share = self.by_network.begin(network);
        Unfinished { all: self, share, own_bytes: 0, max_bytes, max_share_bytes }
    }
}

impl Unfinished<'_> {
    /// More of it has come.
    ///
    /// # Errors
    /// Those of its address, or all together, have more than they may have.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), BodyError> {
        if !self.share.add(bytes, self.max_share_bytes) {
            let message = format!(
                "the bodies that are being received from this address have more than {} bytes together (a quarter of \
                 max_unfinished_bodies_bytes): send fewer at a time",
                self.max_share_bytes
            );
            return Err(BodyError { status: StatusCode::TOO_MANY_REQUESTS, message });
        }
        self.own_bytes += bytes;
        if self.all.bytes.fetch_add(bytes, Relaxed) + bytes <= self.max_bytes {
            return Ok(());
        }
        let message = format!(
            "the bodies that are being received have more than {} bytes together (max_unfinished_bodies_bytes): try again",
            self.max_bytes
        );
        Err(BodyError { status: StatusCode::SERVICE_UNAVAILABLE, message })
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.all.bytes.fetch_sub(self.own_bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statuses of bodies of so many bytes that are held beside each other, 200 for those that have room.
    fn held(max_body_bytes: usize, bodies: &[(Option<&str>, usize)]) -> Vec<u16> {
        let settings = Settings { max_unfinished_bodies_bytes: 1000, max_body_bytes, ..Settings::default() };
        let all = UnfinishedBodies::default();
        let mut open = Vec::new();
        let mut statuses = Vec::new();
        for (network, bytes) in bodies {
            let network = network.map(|text| text.parse().expect("it is an address"));
            let mut body = all.begin(network, &settings);
            statuses.push(body.add(*bytes).map_or_else(|refused| refused.status.as_u16(), |()| 200));
            // One that is refused gives back what it had.
            if statuses.last() == Some(&200) {
                open.push(body);
            }
        }
        drop(open);
        assert_eq!(all.bytes.load(Relaxed), 0);
        statuses
    }

    #[test]
    fn one_address_leaves_room_for_others() {
        let (one, other) = (Some("192.0.2.1"), Some("192.0.2.2"));
        let bodies = [(one, 200), (one, 51), (one, 50), (other, 250), (other, 1), (one, 1)];
        assert_eq!(held(100, &bodies), [200, 429, 200, 200, 429, 429]);
    }

    #[test]
    fn all_together_are_bounded_too() {
        let bodies = [(None, 900), (Some("192.0.2.1"), 101), (Some("192.0.2.1"), 100)];
        assert_eq!(held(100, &bodies), [200, 503, 200], "this machine is not limited by its address");
    }

    #[test]
    fn one_body_always_has_room_in_the_share() {
        assert_eq!(held(400, &[(Some("192.0.2.1"), 400), (Some("192.0.2.1"), 1)]), [200, 429]);
    }
}
