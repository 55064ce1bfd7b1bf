//! Subscriptions of an upstream: one stream there for all here that ask the same ([`websocket`], or server-sent events by
//! [`sse`]). Where its connection is lost, subscribers are told of the gap, and it is connected again.

mod message;
mod sse;
mod websocket;

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use futures_util::stream;
use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment},
    response::FieldResult,
    variables::Variables,
};
use prony_source::{Events, PreparedField};

use self::message::{Headers, Message};
use crate::{
    client::SendErrorKind,
    plan::UpstreamField,
    response,
    settings::SubscriptionTransport,
    upstream::{Endpoint, Upstream},
};

/// A lost connection is opened again after this time, and after twice as long each time that it fails.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LAST: Duration = Duration::from_secs(15);

/// A subscription that is open.
enum Stream {
    WebSocket(Box<websocket::Socket>),
    Sse(Box<sse::EventStream>),
}

impl Stream {
    /// At one address, or at another where that one does not take it.
    async fn open(
        upstream: &Arc<Upstream>,
        request: &[u8],
        own: &ClientHeaders,
    ) -> Result<(Self, CountedStream), SendErrorKind> {
        let mut headers = own.forwarded.clone();
        let authorization = upstream.authorization(&own.credentials).await?;
        headers.extend(authorization.map(|value| (AUTHORIZATION.into(), value.as_bytes().into())));
        let (mut tried, mut failure) = (Vec::new(), SendErrorKind::Closed);
        while let Some(index) = upstream.address_for_stream(&tried) {
            let counted = CountedStream::new(upstream, index);
            let endpoint = &upstream.endpoints[index];
            match Self::open_at(upstream, endpoint, request.to_vec(), &headers).await {
                Ok(stream) => return Ok((stream, counted)),
                Err(error) => {
                    let address = &endpoint.address;
                    tracing::debug!(%address, %error, "a subscription cannot be opened");
                    if let (SendErrorKind::NoEvents { status: 401 }, Some(exchange)) =
                        (&error, &upstream.exchange)
                    {
                        exchange.forget(&own.credentials);
                    }
                    failure = error;
                }
            }
            tried.push(index);
        }
        Err(failure)
    }

    async fn open_at(
        upstream: &Upstream,
        endpoint: &Endpoint,
        request: Vec<u8>,
        headers: &Headers,
    ) -> Result<Self, SendErrorKind> {
        Ok(match upstream.settings.subscription_transport {
            SubscriptionTransport::WebSocket => Self::WebSocket(Box::new(
                websocket::Socket::open(upstream, endpoint, request, headers).await?,
            )),
            SubscriptionTransport::Sse => {
                Self::Sse(Box::new(sse::EventStream::open(upstream, endpoint, request, headers).await?))
            }
        })
    }

    async fn next(&mut self) -> Result<Message, SendErrorKind> {
        match self {
            Self::WebSocket(socket) => socket.next().await,
            Self::Sse(events) => events.next().await,
        }
    }
}

/// Counts a subscription at its address as long as it is there.
struct CountedStream {
    upstream: Arc<Upstream>,
    index: usize,
}

impl CountedStream {
    fn new(upstream: &Arc<Upstream>, index: usize) -> Self {
        upstream.endpoints[index].streams.fetch_add(1, Relaxed);
        Self { upstream: Arc::clone(upstream), index }
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        self.upstream.endpoints[self.index].streams.fetch_sub(1, Relaxed);
    }
}

struct Feed {
    upstream: Arc<Upstream>,
    field: Arc<UpstreamField>,
    request: Vec<u8>,
    headers: ClientHeaders,
    state: State,
}

/// Of the client's headers what is forwarded, and of what credentials for the upstream are made.
struct ClientHeaders {
    forwarded: Headers,
    credentials: Headers,
}

const AUTHORIZATION: &str = "authorization";

enum State {
    /// It has never been open.
    New,
    Open {
        stream: Stream,
        _counted: CountedStream,
    },
    /// It was lost, and is opened after this time.
    Lost(Duration),
    Ended,
}

/// The events of a root field.
pub(crate) fn events(upstream: &Arc<Upstream>, field: &PreparedField, variables: &Variables) -> Events {
    let field = field.shared::<UpstreamField>();
    let wanted = |(name, _): &&(Box<str>, Box<[u8]>)| {
        upstream.settings.forward_headers.iter().any(|known| **known == **name)
    };
    let headers = ClientHeaders {
        forwarded: variables.headers().iter().filter(wanted).cloned().collect(),
        credentials: variables
            .headers()
            .iter()
            .filter(|(name, _)| **name == *AUTHORIZATION)
            .cloned()
            .collect(),
    };
    let feed = Feed {
        upstream: Arc::clone(upstream),
        request: UpstreamField::request(&[&field], variables),
        headers,
        field,
        state: State::New,
    };
    Box::pin(stream::unfold(feed, |mut feed| async { feed.next().await.map(|result| (result, feed)) }))
}

impl Feed {
    /// The next event, or what has become of the subscription; none when it has ended.
    async fn next(&mut self) -> Option<FieldResult> {
        loop {
            match &mut self.state {
                State::Ended => return None,
                State::New => match Stream::open(&self.upstream, &self.request, &self.headers).await {
                    Ok((stream, counted)) => self.state = State::Open { stream, _counted: counted },
                    Err(error) => {
                        self.state = State::Ended;
                        let (code, message) = match &error {
                            SendErrorKind::Exchange(error) => (error.code(), error.message()),
                            _ => (
                                ErrorCode::SourceUnavailable,
                                "the service behind this field cannot be reached; try again later",
                            ),
                        };
                        return Some(self.failed(code, message, &error.to_string()));
                    }
                },
                State::Lost(after) => {
                    let after = *after;
                    tokio::time::sleep(after).await;
                    self.state = match Stream::open(&self.upstream, &self.request, &self.headers).await {
                        Ok((stream, counted)) => State::Open { stream, _counted: counted },
                        Err(_) => State::Lost((after * 2).min(RETRY_LAST)),
                    };
                }
                State::Open { stream, .. } => match stream.next().await {
                    Ok(Message::Next(body)) => return Some(self.event(&body)),
                    Ok(Message::Errors(errors)) => {
                        self.state = State::Ended;
                        let body = [b"{\"errors\":", errors.as_slice(), b"}"].concat();
                        return Some(self.event(&body));
                    }
                    Ok(Message::Complete) => self.state = State::Ended,
                    Err(error) => {
                        self.state = State::Lost(RETRY_FIRST);
                        let message = "the connection to the service behind this field was lost, and events with it; it is \
                                       opened again";
                        return Some(self.failed(ErrorCode::EventsLost, message, &error.to_string()));
                    }
                },
            }
        }
    }

    fn event(&self, body: &[u8]) -> FieldResult {
        match response::fields(body, &[&self.field], self.upstream.shown()) {
            Ok(mut results) => results.pop().expect("each field has a result"),
            Err(fault) => {
                let message = "the service behind this field has sent an event that cannot be read";
                self.failed(ErrorCode::SourceFailed, message, &fault.to_string())
            }
        }
    }

    fn failed(&self, code: ErrorCode, message: &str, detail: &str) -> FieldResult {
        let path = vec![PathSegment::Key(self.field.response_key.as_str().into())];
        let error = GraphqlError::new(code, message).with_detail(detail).with_path(path);
        FieldResult::failed(error.at(self.field.position))
    }
}
