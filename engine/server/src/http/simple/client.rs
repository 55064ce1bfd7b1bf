//! Whose connection it is, and what is known of who asks on it.

use std::net::IpAddr;

use prony_access::LastToken;

use super::request::SimpleRequest;
use crate::{
    access::{Known, Peer},
    graphql::{CoreEngine, ExecutionContext as _},
};

#[derive(Debug)]
pub(super) struct SimpleClient {
    peer: Peer,
    last_token: LastToken,
}

impl SimpleClient {
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer, last_token: LastToken::default() }
    }

    pub(super) fn address(&self) -> IpAddr {
        self.peer.address
    }

    /// Who asks, where that is known without waiting.
    pub(super) fn try_identify(&self, core: &CoreEngine, request: &SimpleRequest<'_>) -> Known {
        core.site().access.try_identify(request.fields(), &self.peer, &self.last_token)
    }
}
