//! One WebSocket: frames to the session of its protocol, the session's actions to operations, results to frames. It ends
//! when the client goes, breaks the protocol, reads too slowly or falls silent, or when the server stops.

use std::{
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Sink, Stream, future::LocalBoxFuture};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Instant, Sleep},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        error::{CapacityError, ProtocolError},
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{Data, OpCode},
            },
        },
    },
};

use http::request::Parts;
use prony_access::AuthRefusal;
use prony_graphql::{request::RequestParameters, variables::ForwardedHeaders};
use serde_json::Value as Json;

use super::{
    handshake::Upgrade,
    operations::{NOT_ALLOWED, Operations},
    outbox::{Bounds, Item, Outbox, Stop, no_room},
    protocol::{Action, Close, Dialect, Session},
    settings::SubscriptionSettings,
};
use crate::{
    access::{self, LetGo},
    graphql::{
        Asker, CoreEngine, ExecutionContext as _, Renewal, RequestContext,
        outcome::HeldBytes,
        pipeline::{self, AllowedKinds},
    },
    http::authentication,
};

/// The payload of a WebSocket's `connection_init`, among the extensions of the head that a context is made of. Pages put
/// their tokens there, because they cannot send headers with a WebSocket.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionInit(pub Json);

/// How long a client may take to read why it is cut and to answer.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// How much of what it sends meanwhile is read.
const DROPPED_BYTES_MAX: usize = 4 << 20;

/// Messages of a client between two looks at what waits for it.
const MESSAGES_AT_ONCE: usize = 32;

/// What is read at a time; idle sockets keep so much.
const READ_BUFFER_BYTES: usize = 1 << 10;

/// What is written at a time where several messages wait.
const WRITE_BUFFER_BYTES: usize = 16 << 10;

/// Serves a connection that has left HTTP, to its end; `part` is what was read behind the request. Sockets are many and do
/// nothing most of the time, so what only their beginning and their end need is boxed.
pub(crate) fn serve<S>(
    stream: S,
    part: Vec<u8>,
    upgrade: Upgrade,
    core: Rc<CoreEngine>,
) -> impl Future<Output = ()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let opening = Box::pin(open(stream, part, upgrade, core));
    async move {
        let mut socket = opening.await;
        let _counted = socket.core.metrics().socket_opens();
        poll_fn(|context| socket.poll(context)).await;
        let is_cut = socket.client == Client::Babbles;
        Box::pin(end(socket.stream.get_mut(), is_cut)).await;
    }
}

/// Sends nothing more. What a client that is cut still sends is read for a moment: a reset would take from it why.
async fn end(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), is_cut: bool) {
    let ended = async {
        stream.shutdown().await?;
        let (mut scratch, mut left) = ([0; READ_BUFFER_BYTES], DROPPED_BYTES_MAX);
        while is_cut && left > 0 {
            match stream.read(&mut scratch).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let _ = tokio::time::timeout(CLOSE_TIME, ended).await;
}

async fn open<S>(stream: S, part: Vec<u8>, upgrade: Upgrade, core: Rc<CoreEngine>) -> Box<Socket<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = config(&core.settings().subscriptions);
    let stream = WebSocketStream::from_partially_read(stream, part, Role::Server, Some(config)).await;
    Box::new(Socket::new(stream, upgrade, core))
}

fn config(settings: &SubscriptionSettings) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(Some(settings.max_message_bytes))
        .max_frame_size(Some(settings.max_message_bytes))
}

/// What the socket's one timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// `connection_init` has not come yet.
    Init,
    Ping,
    Pong,
    /// The close has been said.
    End,
}

struct Socket<S> {
    stream: WebSocketStream<S>,
    session: Session,
    operations: Operations,
    outbox: Rc<Outbox>,
    core: Rc<CoreEngine>,
    timer: Pin<Box<Sleep>>,
    due: Due,
    /// Something has come since the last ping.
    heard: bool,
    /// To be said behind what waits.
    close: Option<Close>,
    client: Client,
    /// Counts the message that is being sent, where it is long.
    sending: HeldBytes,
    /// Pongs that were made since the client last had all that was written, and their bytes.
    pongs: (usize, usize),
    /// Where it matters who asks: the head of the opening, until that is known, and on where it is known for a time alone.
    head: Option<Box<Parts>>,
    context: RequestContext,
    meeting: Option<Box<Meeting>>,
    /// When who asks is no longer known.
    expiry: Option<access::Expiry>,
}

/// Finding out who asks, which may have to wait for others; nothing else of the client is done meanwhile.
struct Meeting {
    asker: LocalBoxFuture<'static, Result<Option<Asker>, AuthRefusal>>,
    head: Box<Parts>,
    /// Those that sources want to know, with the credentials of the payload.
    headers: Option<ForwardedHeaders>,
    /// Whether the client has been let in already, and must be the same.
    renews: bool,
    /// What follows if nobody is refused.
    actions: Vec<Action>,
}

/// What may still come from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Talks,
    /// It has said that it closes.
    Closes,
    /// Its frames cannot be understood any more.
    Babbles,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    fn new(stream: WebSocketStream<S>, upgrade: Upgrade, core: Rc<CoreEngine>) -> Self {
        let Upgrade { dialect, head, network, address } = upgrade;
        let settings = &core.settings().subscriptions;
        let outbox = core.hub.outbox(Bounds::of(settings));
        let timer = Box::pin(tokio::time::sleep(settings.init_timeout));
        let max_operations = settings.max_operations;
        let mut socket = Self {
            stream,
            session: Session::new(
                dialect.as_ref().map_or(Dialect::Transport, |dialect| *dialect),
                max_operations,
            )
            .meeting(head.is_some()),
            operations: Operations::new(Rc::clone(&core), Rc::clone(&outbox), network),
            outbox,
            core,
            timer,
            due: Due::Init,
            heard: false,
            close: None,
            client: Client::Talks,
            sending: None,
            pongs: (0, 0),
            head,
            context: RequestContext { address, ..RequestContext::default() },
            meeting: None,
            expiry: None,
        };
        if let Err(close) = dialect {
            socket.end(close);
        }
        socket
    }

    /// Ready when the connection has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.outbox.register(context);
        self.poll_meeting(context);
        self.look_again();
        if self.meeting.is_none() && self.poll_read(context).is_ready() {
            return Poll::Ready(());
        }
        self.poll_expiry(context);
        self.operations.poll(context);
        if self.due != Due::End
            && let Some(stop) = self.outbox.stopped()
        {
            self.stop(stop);
        }
        if self.poll_timer(context).is_ready() {
            return Poll::Ready(());
        }
        let Poll::Ready(written) = self.poll_write(context) else { return Poll::Pending };
        self.pongs = (0, 0);
        // Everything is sent; what a babbling client would say to the close is of no interest.
        let is_over = written.is_err() || self.client == Client::Babbles && self.close.is_none();
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when nothing more will come.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MESSAGES_AT_ONCE {
            if self.client == Client::Babbles {
                return Poll::Pending;
            }
            if self.meeting.is_some() {
                self.poll_meeting(context);
                if self.meeting.is_some() {
                    return Poll::Pending;
                }
            }
            let Some(message) = ready!(Pin::new(&mut self.stream).poll_next(context)) else {
                return Poll::Ready(());
            };
            self.heard = true;
            match message {
                Ok(message) => self.receive(message),
                Err(error) => match fault(&error, self.core.settings().subscriptions.max_message_bytes) {
                    None => return Poll::Ready(()),
                    Some(close) => {
                        self.client = Client::Babbles;
                        self.end(close);
                    }
                },
            }
        }
        // The client has more to say, and others wait.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// A pong was made, and waits behind all that the client has not read: of that there is a bound.
    fn pinged(&mut self, payload_bytes: usize) {
        const HEADER_BYTES: usize = 2;
        let (pongs, bytes) = self.pongs;
        self.pongs = (pongs + 1, bytes + HEADER_BYTES + payload_bytes);
        if pongs >= self.core.settings().subscriptions.max_queued_messages {
            self.client = Client::Babbles;
            self.outbox.overflow(self.pongs.0, self.pongs.1);
        }
    }

    fn receive(&mut self, message: Message) {
        if let Message::Ping(payload) = &message {
            self.pinged(payload.len());
        }
        if self.due == Due::End && !matches!(message, Message::Close(_)) {
            return;
        }
        let actions = match message {
            Message::Text(text) => self.session.receive(&text),
            Message::Binary(_) => self.session.receive_binary(),
            // The answer to it is written with the next flush.
            Message::Close(_) => {
                self.client = Client::Closes;
                self.operations.clear();
                self.wait_for(Due::End, CLOSE_TIME);
                Vec::new()
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Vec::new(),
        };
        self.perform(actions);
        if self.due == Due::Init && !self.session.is_opening() {
            self.wait_for(Due::Ping, self.core.settings().subscriptions.ping_interval);
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        let mut actions = actions.into_iter();
        while let Some(action) = actions.next() {
            match action {
                Action::Meet(payload) => return self.meet(payload, false, actions.collect()),
                Action::Renew(payload) => return self.meet(payload, true, actions.collect()),
                Action::Send(text) => self.push(text.into_owned()),
                Action::Start { id, parameters } => self.start(&id, parameters),
                Action::Stop { id } => self.operations.stop(&id),
                Action::Close(close) => self.end(close),
            }
        }
    }

    /// Finds out who asks, once for all operations of the connection, and again where that is known for a time alone and the client
    /// brings new credentials.
    fn meet(&mut self, payload: Json, renews: bool, actions: Vec<Action>) {
        let Some(mut head) = self.head.take() else { return self.perform(actions) };
        let (core, peer) = (Rc::clone(&self.core), access::peer(&head).clone());
        let is_proxied = core.site().access.is_proxy(peer.address);
        let fields = access::with_payload(&head.headers, &payload, is_proxied);
        let headers = core.site().wanted_headers(access::for_sources(&head.headers, &fields));
        head.extensions.insert(ConnectionInit(payload));
        let asker = async move {
            let fields = || fields.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            let access = &core.site().access;
            let asker = access.identify(fields(), &peer).await;
            asker.inspect_err(|refusal| {
                let address = access.client_address(fields(), peer.address);
                authentication::note(&*core, refusal, address);
            })
        };
        self.meeting = Some(Box::new(Meeting { asker: Box::pin(asker), head, headers, renews, actions }));
    }

    fn poll_meeting(&mut self, context: &mut Context<'_>) {
        let Some(meeting) = &mut self.meeting else { return };
        let Poll::Ready(asker) = meeting.asker.as_mut().poll(context) else { return };
        let Some(meeting) = self.meeting.take() else { return };
        if self.due == Due::End {
            return;
        }
        let Meeting { head, headers, renews, actions, .. } = *meeting;
        let let_in = match asker {
            Err(refusal) => Err(Close::refused(&refusal)),
            Ok(asker) if renews => {
                self.check_renewal(asker.as_ref()).and_then(|()| self.let_in(head, headers, asker))
            }
            Ok(asker) => self.let_in(head, headers, asker),
        };
        let actions = let_in.map_or_else(|close| self.session.close(close), |()| actions);
        self.perform(actions);
    }

    /// What is open goes on for whom it was begun.
    fn check_renewal(&self, asker: Option<&Asker>) -> Result<(), Close> {
        match self.context.asker.as_ref().zip(asker).map(|(known, asker)| known.goes_on_as(asker)) {
            Some(Renewal::Same) => Ok(()),
            Some(Renewal::SomebodyElse) => {
                Err(Close::forbidden("Forbidden: the new credentials are of somebody else"))
            }
            Some(Renewal::OtherConfiguration) | None => Err(Close::let_go(LetGo::OtherRights)),
        }
    }

    fn let_in(
        &mut self,
        head: Box<Parts>,
        headers: Option<ForwardedHeaders>,
        asker: Option<Asker>,
    ) -> Result<(), Close> {
        let context = self.core.site().context(&head, asker);
        let caller = context.caller.map(|asked| {
            asked.map_err(|error| {
                let error = pipeline::for_the_client(&*self.core, *error);
                if error.detail.is_some() { Close::internal() } else { Close::forbidden(error.message) }
            })
        });
        self.context = RequestContext { caller: caller.transpose()?.map(Ok), headers, ..context };
        self.expiry = self.context.expires_at().map(access::Expiry::at);
        self.head = self.expiry.as_ref().map(|_| head);
        Ok(())
    }

    /// Ends the connection with the credentials that it was opened with.
    fn poll_expiry(&mut self, context: &mut Context<'_>) {
        let is_over = self.expiry.as_mut().is_some_and(|expiry| expiry.poll(context).is_ready());
        if is_over {
            self.expiry = None;
            let actions = self.session.close(Close::forbidden("Forbidden: the credentials have expired"));
            self.perform(actions);
        }
    }

    /// Ends the connection of somebody who may not go on, where who may do what was read again; what others begin from now on is judged
    /// by what was read.
    fn look_again(&mut self) {
        // Who is asked who they are is let in by what was read.
        let is_asked = self.session.is_opening() && self.head.is_some();
        if self.due == Due::End || is_asked || self.meeting.is_some() {
            return;
        }
        match self.core.site().access.look_again(self.context.asker.as_ref()) {
            Ok(None) => {}
            Ok(known) => self.context.asker = known,
            Err(why) => {
                let actions = self.session.close(Close::let_go(why));
                self.perform(actions);
            }
        }
    }

    fn push(&self, text: String) {
        self.outbox.push(Item::Text(text.into()));
    }

    fn start(&mut self, id: &Rc<str>, parameters: RequestParameters) {
        if self.outbox.stopped().is_some() {
            // The client asks again where it connects to next.
            return;
        }
        let wrap = self.session.wrap(id);
        let context = self.context.clone();
        let started = self.operations.start(Rc::clone(id), context, parameters, AllowedKinds::All, wrap);
        if let Err(error) = started {
            let errors = self.operations.error_list(&error.into_errors(NOT_ALLOWED));
            for text in self.session.refused(id, &errors) {
                self.push(text);
            }
        }
    }

    /// What the inside wants ended.
    fn stop(&mut self, stop: Stop) {
        let close = match stop {
            Stop::Slow { messages, bytes } => Close::new(
                1013,
                format!("the client reads too slowly: {messages} messages, {bytes} bytes wait for it"),
            ),
            Stop::NoRoom { max_bytes } => Close::new(1013, no_room(max_bytes)),
            Stop::Broken => Close::internal(),
            Stop::Restart => {
                // Not completed: there will be more events, elsewhere or later.
                self.operations.end_subscriptions();
                if !self.operations.is_empty() {
                    return;
                }
                Close::restart()
            }
        };
        let actions = self.session.close(close);
        self.perform(actions);
    }

    fn end(&mut self, close: Close) {
        self.operations.clear();
        self.close = Some(close);
        self.wait_for(Due::End, CLOSE_TIME);
    }

    fn wait_for(&mut self, due: Due, time: Duration) {
        self.due = due;
        self.timer.as_mut().reset(Instant::now() + time);
    }

    /// Ready when the client is given up.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let settings = &self.core.settings().subscriptions;
            let (interval, timeout) = (settings.ping_interval, settings.ping_timeout);
            match self.due {
                Due::Init => {
                    let actions = self.session.init_time_over();
                    self.perform(actions);
                }
                Due::Ping => {
                    self.heard = false;
                    self.outbox.push(Item::Ping);
                    if let Some(text) = self.session.keep_alive() {
                        self.push(text.to_owned());
                    }
                    self.wait_for(Due::Pong, timeout);
                }
                Due::Pong if self.heard => self.wait_for(Due::Ping, interval),
                Due::Pong | Due::End => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Ready when nothing waits.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<tungstenite::Result<()>> {
        while self.client != Client::Closes {
            if self.sending.is_some() {
                ready!(Pin::new(&mut self.stream).poll_flush(context))?;
                self.sending = None;
            }
            ready!(Pin::new(&mut self.stream).poll_ready(context))?;
            let Some(message) = self.next_message() else { break };
            Pin::new(&mut self.stream).start_send(message)?;
        }
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.sending = None;
        Poll::Ready(Ok(()))
    }

    fn next_message(&mut self) -> Option<Message> {
        while let Some(item) = self.outbox.pop() {
            match item {
                Item::Text(text) => return Some(text_message(text)),
                Item::Result { wrap, payload, .. } => match payload.hold_copy(&self.core.site().responses) {
                    Ok(held) => {
                        self.sending = held;
                        return Some(text_message(wrap.around(&payload.bytes)));
                    }
                    Err(error) => self.outbox.has_no_room(error),
                },
                Item::Ping => return Some(Message::Ping(Bytes::new())),
                Item::Completed { serial, id } => {
                    if self.operations.completed(&id, serial)
                        && let Some(text) = self.session.complete(&id)
                    {
                        return Some(text_message(text.into()));
                    }
                }
            }
        }
        let Close { code, reason } = self.close.take()?;
        Some(Message::Close(Some(CloseFrame { code: code.into(), reason: reason.as_ref().into() })))
    }
}

/// All that we send is UTF-8 already, which a message of text would be checked for once more.
fn text_message(text: Bytes) -> Message {
    Message::Frame(Frame::message(text, OpCode::Data(Data::Text), true))
}

/// What a client is told of its faulty frames; none where the connection is gone.
fn fault(error: &tungstenite::Error, max_message_bytes: usize) -> Option<Close> {
    match error {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. }) => {
            let reason =
                format!("a message is over the limit of {max_message_bytes} bytes (max_message_bytes)");
            Some(Close::new(1009, reason))
        }
        tungstenite::Error::Utf8(_) => Some(Close::new(1007, "a message is not UTF-8")),
        tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
        tungstenite::Error::Protocol(fault) => Some(Close::new(1002, fault.to_string())),
        _ => None,
    }
}
