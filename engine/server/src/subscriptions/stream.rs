//! One stream of server-sent events (HTML Living Standard, section 9.2), in the two modes of the protocol of the npm
//! package graphql-sse: one operation a stream, or all operations of a client on one reserved stream.

use std::{
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use prony_graphql::{
    budget::ResponseBudget,
    error::{ErrorCode, GraphqlError},
    request::RequestParameters,
};
use tokio::time::{Instant, Sleep};

use super::{
    operations::{NOT_ALLOWED, Operations},
    outbox::{Bounds, Item, Outbox, Stop, no_room},
    protocol,
    reservations::{Claim, Order},
    wrap::Wrap,
};
use crate::{
    access::{self, LetGo},
    clock::unix_now,
    graphql::{
        CoreEngine, ExecutionContext as _, RequestContext, outcome::RequestError, pipeline::AllowedKinds,
    },
    observe::Counted,
};

/// A line that says nothing. The first one also makes browsers see the stream as open.
const COMMENT: &[u8] = b":\n\n";

const NOT_ACCEPTED: &str = "the credentials are not accepted any more";
const OTHER_RIGHTS: &str = "what the client may see has changed with the configuration: subscribe again";

/// Messages that wait are sent together up to about this.
const PIECE_BYTES: usize = 16 << 10;

/// The body of a response; it lives on its connection's core, and dropping it ends its operations.
#[derive(Debug)]
pub(crate) struct EventStream {
    operations: Operations,
    outbox: Rc<Outbox>,
    core: Rc<CoreEngine>,
    keep_alive: Pin<Box<Sleep>>,
    /// When it is no longer known who asks for one of the operations.
    expiry: Option<access::Expiry>,
    /// With which configuration it was seen who may go on; none where somebody new is to be looked at.
    looked_at: Option<u64>,
    mode: Mode,
    /// Said first.
    opening: Option<BytesMut>,
    /// Counts the long messages among what is written next.
    held: Vec<Arc<ResponseBudget>>,
    ended: bool,
    _counted: Counted,
}

/// Bytes that are given to the connection together, with what counts them until they are sent.
struct HeldPiece {
    bytes: Bytes,
    _held: Vec<Arc<ResponseBudget>>,
}

impl AsRef<[u8]> for HeldPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Stream for EventStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.get_mut().poll(context)
    }
}

#[derive(Debug)]
enum Mode {
    Distinct,
    Single(Claim),
}

impl EventStream {
    /// A stream for one operation; `network` where its client is limited by its address. Errors from before its execution are events too; none only where the method does not allow
    /// its kind.
    pub(crate) fn distinct(
        core: &Rc<CoreEngine>,
        network: Option<IpAddr>,
        context: RequestContext,
        parameters: RequestParameters,
        allowed: AllowedKinds,
    ) -> Option<Self> {
        let mut stream = Self::new(core, network, Mode::Distinct);
        match stream.operations.start("".into(), context, parameters, allowed, wrap(None)) {
            Ok(()) => stream.follow_expiry(),
            Err(RequestError::NotAllowed) => return None,
            Err(error) => {
                stream.refuse("", error);
                stream.ended = true;
            }
        }
        Some(stream)
    }

    /// A reserved stream.
    pub(crate) fn single(core: &Rc<CoreEngine>, network: Option<IpAddr>, claim: Claim) -> Self {
        Self::new(core, network, Mode::Single(claim))
    }

    fn new(core: &Rc<CoreEngine>, network: Option<IpAddr>, mode: Mode) -> Self {
        let settings = &core.settings().subscriptions;
        let outbox = core.hub.outbox(Bounds::of(settings));
        Self {
            operations: Operations::new(Rc::clone(core), Rc::clone(&outbox), network),
            outbox,
            keep_alive: Box::pin(tokio::time::sleep(settings.ping_interval)),
            expiry: None,
            looked_at: None,
            mode,
            opening: Some(COMMENT.into()),
            held: Vec::new(),
            ended: false,
            _counted: core.metrics().stream_opens(),
            core: Rc::clone(core),
        }
    }

    /// Waits for the first of the credentials that expire.
    fn follow_expiry(&mut self) {
        self.expiry = self.operations.next_expiry().map(access::Expiry::at);
    }

    /// Ends operations whose credentials have expired; those that others were brought for go on.
    fn poll_expiry(&mut self, context: &mut Context<'_>, out: &mut BytesMut) {
        while !self.ended
            && let Some(expiry) = &mut self.expiry
            && expiry.poll(context).is_ready()
        {
            self.end_expired(out);
            self.follow_expiry();
        }
    }

    fn end_expired(&mut self, out: &mut BytesMut) {
        let expired = GraphqlError::new(ErrorCode::Unauthenticated, "the credentials have expired");
        for id in self.operations.expired(unix_now()) {
            self.end_with(&id, &expired, out);
        }
    }

    /// Ends operations of those who may not go on, where who may do what was read again.
    fn look_again(&mut self, out: &mut BytesMut) {
        let generation = self.core.site().access.generation();
        if self.ended || self.looked_at.replace(generation) == Some(generation) {
            return;
        }
        for (id, why) in self.operations.look_again() {
            let error = match why {
                LetGo::Refused => GraphqlError::new(ErrorCode::Unauthenticated, NOT_ACCEPTED),
                LetGo::OtherRights => GraphqlError::new(ErrorCode::SubscriptionEnded, OTHER_RIGHTS),
            };
            self.end_with(&id, &error, out);
        }
    }

    fn end_with(&mut self, id: &str, error: &GraphqlError, out: &mut BytesMut) {
        let errors = self.operations.error_list(std::slice::from_ref(error));
        self.operations.stop(id);
        match &self.mode {
            Mode::Distinct => {
                write_errors(out, None, &errors);
                self.ended = true;
            }
            Mode::Single(claim) => {
                claim.release(id);
                write_errors(out, Some(id), &errors);
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = self.opening.take().unwrap_or_default();
        if !self.ended {
            self.outbox.register(context);
            self.poll_orders(context);
            self.operations.poll(context);
            self.write_waiting(&mut out);
            if let Some(stop) = self.outbox.stopped() {
                self.stop(stop, &mut out);
            }
            self.poll_expiry(context, &mut out);
            self.look_again(&mut out);
        }
        if !out.is_empty() {
            return Poll::Ready(Some(self.piece(out.freeze())));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        if self.keep_alive.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let interval = self.core.settings().subscriptions.ping_interval;
        self.keep_alive.as_mut().reset(Instant::now() + interval);
        // Wakes the connection when the next one is due.
        let _ = self.keep_alive.as_mut().poll(context);
        Poll::Ready(Some(Bytes::from_static(COMMENT)))
    }

    fn piece(&mut self, bytes: Bytes) -> Bytes {
        if self.held.is_empty() {
            return bytes;
        }
        Bytes::from_owner(HeldPiece { bytes, _held: std::mem::take(&mut self.held) })
    }

    fn poll_orders(&mut self, context: &mut Context<'_>) {
        loop {
            let Mode::Single(claim) = &mut self.mode else { return };
            let Poll::Ready(Some(order)) = claim.inbox.poll_recv(context) else { return };
            match order {
                Order::Stop { id } => self.operations.stop(&id),
                Order::Start { id, request } => {
                    let (context, parameters) = *request;
                    let (wrap, allowed) = (wrap(Some(&id)), AllowedKinds::All);
                    let started = self.operations.start((&*id).into(), context, parameters, allowed, wrap);
                    match started {
                        Ok(()) => {
                            self.follow_expiry();
                            self.looked_at = None;
                        }
                        Err(error) => self.refuse(&id, error),
                    }
                }
            }
        }
    }

    /// The errors of an operation that has not begun, and its end.
    fn refuse(&mut self, id: &str, error: RequestError) {
        let errors = self.operations.error_list(&error.into_errors(NOT_ALLOWED));
        let out = self.opening.get_or_insert_default();
        match &self.mode {
            Mode::Distinct => write_errors(out, None, &errors),
            Mode::Single(claim) => {
                claim.release(id);
                write_errors(out, Some(id), &errors);
            }
        }
    }

    fn write_waiting(&mut self, out: &mut BytesMut) {
        if let Some(refused) = self.opening.take() {
            out.extend_from_slice(&refused);
        }
        while out.len() < PIECE_BYTES {
            match self.outbox.pop() {
                Some(Item::Text(text)) => out.extend_from_slice(&text),
                Some(Item::Result { wrap, payload, .. }) => {
                    match payload.hold_copy(&self.core.site().responses) {
                        Ok(held) => self.held.extend(held),
                        Err(error) => return self.outbox.has_no_room(error),
                    }
                    for part in [&wrap.before, &payload.bytes[..], wrap.after] {
                        out.extend_from_slice(part);
                    }
                }
                Some(Item::Completed { serial, id }) if self.operations.completed(&id, serial) => {
                    match &self.mode {
                        Mode::Distinct => {
                            write_complete(out, None);
                            self.ended = true;
                            return;
                        }
                        Mode::Single(claim) => {
                            claim.release(&id);
                            write_complete(out, Some(&id));
                        }
                    }
                }
                Some(Item::Completed { .. } | Item::Ping) => {}
                None => return,
            }
        }
    }

    /// Says of all operations why they end.
    fn write_end(&self, out: &mut BytesMut, why: &str) {
        let errors = protocol::error_list(why);
        for id in self.operations.ids() {
            let id = matches!(self.mode, Mode::Single(_)).then_some(&**id);
            write_errors(out, id, &errors);
        }
    }

    /// What the inside wants ended. A client takes a stream that ends before `complete` for a broken connection, and comes
    /// back, as it should when the server stops.
    fn stop(&mut self, stop: Stop, out: &mut BytesMut) {
        match stop {
            Stop::Slow { messages, bytes } => self.write_end(
                out,
                &format!("the client reads too slowly: {messages} messages, {bytes} bytes wait for it"),
            ),
            Stop::NoRoom { max_bytes } => self.write_end(out, &no_room(max_bytes)),
            Stop::Broken => {}
            Stop::Restart => {
                self.operations.end_subscriptions();
                if !self.operations.is_empty() {
                    return;
                }
                out.extend_from_slice(b": the server is stopping; connect again\n\n");
            }
        }
        self.operations.clear();
        self.ended = true;
    }
}

/// What goes around a result; with an id where operations share the stream.
fn wrap(id: Option<&str>) -> Wrap {
    match id {
        None => Wrap { before: Bytes::from_static(b"event: next\ndata: "), after: b"\n\n" },
        Some(id) => {
            let before = format!("event: next\ndata: {{\"id\":{},\"payload\":", protocol::quoted(id));
            Wrap { before: before.into(), after: b"}\n\n" }
        }
    }
}

fn write_complete(out: &mut BytesMut, id: Option<&str>) {
    out.extend_from_slice(b"event: complete\ndata:");
    if let Some(id) = id {
        out.extend_from_slice(format!(" {{\"id\":{}}}", protocol::quoted(id)).as_bytes());
    }
    out.extend_from_slice(b"\n\n");
}

/// `errors` is a JSON list.
fn write_errors(out: &mut BytesMut, id: Option<&str>, errors: &str) {
    out.extend_from_slice(&wrap(id).around(format!("{{\"errors\":{errors}}}").as_bytes()));
    write_complete(out, id);
}
