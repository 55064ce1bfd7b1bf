//! One core's connections to one address of an upstream.

use std::{cell::RefCell, fmt::Write as _, rc::Rc, sync::Arc, time::Duration};

use prony_source::ContentCoding;
use tokio::time::Instant;

use super::{
    coding::decode,
    connection::Connection,
    error::SendError,
    http2::Http2,
    message::{ACCEPT, IncomingResponse, OutgoingRequest, TraceFields},
    transport::{Connector, Opened},
};
use crate::address::Address;

const AUTHORIZATION: &[u8] = b"\r\nauthorization: ";

#[derive(Debug)]
pub(crate) struct Pool {
    address: Arc<Address>,
    connector: Connector,
    idle_timeout: Duration,
    /// Headers of the configuration.
    headers: Rc<[(String, String)]>,
    /// The head of each request over HTTP/1.1, up to the fields that differ.
    head: Vec<u8>,
    /// The one that was used last is used first.
    idle: RefCell<Vec<Connection>>,
    http2: RefCell<Option<Http2>>,
}

impl Pool {
    pub(crate) fn new(
        address: Arc<Address>,
        connector: Connector,
        idle_timeout: Duration,
        headers: Rc<[(String, String)]>,
    ) -> Self {
        let Address { target, authority, .. } = &*address;
        let mut head = format!(
            "POST {target} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\naccept: {ACCEPT}\r\n"
        );
        for (name, value) in &*headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("content-length: ");
        Self {
            address,
            connector,
            idle_timeout,
            headers,
            head: head.into_bytes(),
            idle: RefCell::default(),
            http2: RefCell::default(),
        }
    }

    /// Sends a request, over a connection that is there or a new one; the body of the response is decoded where it is not wanted
    /// as it comes.
    pub(crate) async fn send(&self, request: &OutgoingRequest<'_>) -> Result<IncomingResponse, SendError> {
        let mut response = self.send_to_one(request).await?;
        if !request.kept_codings.include(response.coding) {
            let body = std::mem::take(&mut response.body);
            let decoded = decode(response.coding, body, request.limits.max_bytes).await;
            response.body = decoded.map_err(|kind| SendError::sent(kind, true))?;
            response.coding = ContentCoding::Identity;
        }
        Ok(response)
    }

    async fn send_to_one(&self, request: &OutgoingRequest<'_>) -> Result<IncomingResponse, SendError> {
        if let Some(http2) = self.known_http2() {
            match self.send_by_http2(&http2, request).await {
                // The upstream ends a connection when it likes; what it has not taken there it takes over a new one.
                Err(error) if !error.may_have_arrived && error.ends_connection() => {}
                sent => return sent,
            }
        } else if let Some(connection) = self.take_idle() {
            return self.exchange(connection, request).await;
        }
        let Opened { transport, is_http2 } = self.connector.open(&self.address).await?;
        if !is_http2 {
            return self.exchange(Connection::new(transport, Instant::now()), request).await;
        }
        let http2 = if let Some(known) = self.known_http2() {
            // Another request was faster.
            known
        } else {
            let opened = Http2::open(transport).await?;
            self.http2.replace(Some(opened.clone()));
            opened
        };
        self.send_by_http2(&http2, request).await
    }

    async fn send_by_http2(
        &self,
        http2: &Http2,
        request: &OutgoingRequest<'_>,
    ) -> Result<IncomingResponse, SendError> {
        let sent = http2.exchange(&self.address, &self.headers, request).await;
        if sent.as_ref().is_err_and(SendError::ends_connection) {
            // It may have failed many requests, and another one be there already.
            self.http2.borrow_mut().take_if(|known| known.is_same(http2));
        }
        sent
    }

    fn known_http2(&self) -> Option<Http2> {
        let mut known = self.http2.borrow_mut();
        known.take_if(|http2| http2.is_idle_for(self.idle_timeout));
        known.clone()
    }

    async fn exchange(
        &self,
        mut connection: Connection,
        request: &OutgoingRequest<'_>,
    ) -> Result<IncomingResponse, SendError> {
        let exchanged = connection.exchange(&self.written(request), &request.limits).await?;
        if exchanged.is_reusable {
            connection.idle_since = Instant::now();
            self.idle.borrow_mut().push(connection);
        }
        Ok(exchanged.response)
    }

    /// Head and body.
    fn written(&self, request: &OutgoingRequest<'_>) -> Vec<u8> {
        let forwarded: usize = request.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        let authorization = request.authorization.map_or(0, |value| AUTHORIZATION.len() + value.len());
        let capacity = self.head.len() + forwarded + authorization + request.body.len() + 24;
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(itoa::Buffer::new().format(request.body.len()).as_bytes());
        for (name, value) in request.headers {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
        }
        for (name, value) in request.trace.iter().flat_map(TraceFields::iter) {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
        }
        if let Some(value) = request.authorization {
            out.extend_from_slice(AUTHORIZATION);
            out.extend_from_slice(value.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(&request.body);
        out
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if connection.idle_since.elapsed() > self.idle_timeout {
                // Those below it have waited longer.
                idle.clear();
                return None;
            }
            if connection.is_open() {
                return Some(connection);
            }
        }
        None
    }

    /// Lets go connections that nobody has used for long.
    pub(crate) fn close_idle(&self) {
        let limit = self.idle_timeout;
        self.idle.borrow_mut().retain(|connection| connection.idle_since.elapsed() <= limit);
        self.http2.borrow_mut().take_if(|http2| http2.is_idle_for(limit));
    }
}
