//! The connection to NATS on a thread of its own, for callers that block: what is to be sent goes in, what comes and whether the
//! server is reached comes out. It connects again by itself, as long as it is held.

use crate::error::WorkersError;
use crate::message::BEAT;
use crate::parts::{Cutter, Joiner};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError};
use bytes::Bytes;
use futures_util::StreamExt as _;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// A connection over which so many pings stay unanswered is given up, so that a dropped link is noticed in seconds.
const PING_EVERY: Duration = Duration::from_secs(2);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(500);
/// What was said last is still sent.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);
/// The same of all that waits, where the server takes it slowly or not at all.
const CLOSE_PATIENCE: Duration = Duration::from_secs(4);
/// Of different things that the server refuses; those are few, and subjects have names of workers in them.
const REFUSALS_MAX: usize = 20;

/// Where the NATS server is, and how it is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NatsSettings {
    /// `nats://HOST:PORT`, `tls://…`, with a name and password where the server wants them.
    pub url: String,
    /// A file of credentials, as `nsc` makes them.
    pub credentials: Option<PathBuf>,
    /// Certificates that servers are trusted by, beside the system's.
    pub ca: Option<PathBuf>,
    /// The own certificate and its key.
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

impl NatsSettings {
    /// The address without a password, for people.
    pub(crate) fn shown(&self) -> String {
        match (self.url.split_once("://"), self.url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => self.url.clone(),
        }
    }

    /// Certificates are of no use but in TLS, so that whoever names some wants nothing to go over the network without it.
    fn wants_tls(&self) -> bool {
        self.url.starts_with("tls://") || self.ca.is_some() || self.cert.is_some()
    }

    fn options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::new()
            .name("prony")
            .require_tls(self.wants_tls())
            .connection_timeout(CONNECT_PATIENCE)
            .ping_interval(PING_EVERY)
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| {
                RECONNECT_PAUSE_MAX.min(Duration::from_millis(50 * attempt as u64))
            });
        // The client does not look at what stands before the host.
        let address: Option<ServerAddr> = self.url.parse().ok();
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        options = match address.as_ref().map(|address| (address.username(), address.password())) {
            Some((Some(user), Some(password))) => options.user_and_password(decoded(user), decoded(password)),
            Some((Some(token), None)) => options.token(decoded(token)),
            _ => options,
        };
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            options = options.add_client_certificate(cert.clone(), key.clone());
        }
        options
    }
}

/// What the link tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    Message(Vec<u8>),
    Connected,
    Disconnected,
    /// Something is refused over a connection that stays, in the server's words; told once each.
    Refused(String),
}

/// By subject.
type Message = (String, Bytes);

#[derive(Debug)]
enum Outgoing {
    Message(Message),
    /// Sent again and again while nothing else is.
    Beats(Vec<Message>),
}

type Deliver = Arc<dyn Fn(LinkEvent) + Send + Sync>;

/// Closed, and what was sent last flushed, when it is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    outgoing: Option<UnboundedSender<Outgoing>>,
    /// Dropped when nothing more is to be sent.
    open: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Connects and listens to these subjects.
    pub(crate) fn open(
        settings: &NatsSettings,
        subjects: Vec<String>,
        deliver: impl Fn(LinkEvent) + Send + Sync + 'static,
    ) -> Result<Self, WorkersError> {
        let (outgoing, queue) = unbounded_channel();
        let (open, closed) = oneshot::channel();
        let (opened, is_open) = mpsc::channel();
        let (settings, deliver): (_, Deliver) = (settings.clone(), Arc::new(deliver));
        let shown = settings.shown();
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Err(cause) => drop(opened.send(Err((cause.to_string(), HINT_ADDRESS)))),
                Ok(runtime) => runtime.block_on(async {
                    match connect(&settings, subjects, &deliver).await {
                        Err(cause) => drop(opened.send(Err(cause))),
                        Ok(client) => {
                            let _ = opened.send(Ok(()));
                            tokio::select! {
                                () = carry(&client, queue) => {}
                                () = too_late(closed) => {}
                            }
                        }
                    }
                }),
            }
        };
        let thread = thread::Builder::new().name("prony-nats".to_owned()).spawn(work);
        let thread = thread.map_err(WorkersError::Thread)?;
        let is_open = is_open.recv().unwrap_or_else(|_| Err(("its thread ended".to_owned(), HINT_ADDRESS)));
        is_open.map_err(|(cause, hint)| WorkersError::Connect { url: shown, cause, hint })?;
        Ok(Self { outgoing: Some(outgoing), open: Some(open), thread: Some(thread) })
    }

    /// Sends a message, at once or when the server is reached again.
    pub(crate) fn send(&self, subject: &str, message: &impl Serialize) {
        self.send_bytes(subject, written(message));
    }

    pub(crate) fn send_bytes(&self, subject: &str, message: Bytes) {
        if let Some(outgoing) = &self.outgoing {
            // The thread ends before this only where it panicked, which shows as silence.
            let _ = outgoing.send(Outgoing::Message((subject.to_owned(), message)));
        }
    }

    /// Says these again and again while there is nothing else to say, until it is told others or [`Self::end_beats`].
    pub(crate) fn beat(&self, beats: Vec<(String, impl Serialize)>) {
        let beats = beats.into_iter().map(|(subject, beat)| (subject, written(&beat)));
        self.set_beats(beats.collect());
    }

    pub(crate) fn end_beats(&self) {
        self.set_beats(Vec::new());
    }

    fn set_beats(&self, beats: Vec<Message>) {
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.send(Outgoing::Beats(beats));
        }
    }
}

fn written(message: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(message).expect("messages can be written"))
}

impl Drop for Link {
    fn drop(&mut self) {
        self.outgoing = None;
        drop(self.open.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What people are told of [`LinkEvent::Refused`].
pub(crate) fn refusal(text: &str) -> String {
    format!(
        "the NATS server refuses: {text}; see the permissions and limits of its user, who publishes and subscribes to prony.v1.>"
    )
}

/// What the server has refused so far: each message that it does not take would be told of again.
#[derive(Debug, Default)]
struct Refusals(Mutex<BTreeSet<String>>);

impl Refusals {
    fn is_new(&self, text: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.len() < REFUSALS_MAX && known.insert(text.to_owned())
    }
}

/// Why there is no connection, and what to try.
type NotOpen = (String, &'static str);

const HINT_ADDRESS: &str =
    "see that it runs there, that the address of --nats is right and that nothing is in the way";
const HINT_TLS: &str = "see that it runs there and speaks TLS, that --nats-ca has the certificate by which its own is signed, and that the name in \
                        --nats is in that certificate; a server that asks for certificates gets one with --nats-cert and --nats-key";
const HINT_CREDENTIALS: &str = "see that --nats-credentials names a file as `nsc generate creds` makes it, of a user of this server's operator";
const HINT_PASSWORD: &str = "it refuses who asks: write its user and password as nats://USER:PASSWORD@HOST:PORT, or give \
                             --nats-credentials FILE where it has accounts";

fn not_open(settings: &NatsSettings, error: &ConnectError) -> NotOpen {
    let hint = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication
            if settings.credentials.is_some() =>
        {
            HINT_CREDENTIALS
        }
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => HINT_PASSWORD,
        ConnectErrorKind::Tls => HINT_TLS,
        _ if settings.wants_tls() => HINT_TLS,
        _ => HINT_ADDRESS,
    };
    (error.to_string(), hint)
}

async fn connect(
    settings: &NatsSettings,
    subjects: Vec<String>,
    deliver: &Deliver,
) -> Result<Client, NotOpen> {
    let (told, refusals) = (Arc::clone(deliver), Refusals::default());
    let options = settings.options().event_callback(move |event| {
        match event {
            Event::Connected => told(LinkEvent::Connected),
            Event::Disconnected | Event::Closed => told(LinkEvent::Disconnected),
            Event::ServerError(ServerError::Other(text)) if refusals.is_new(&text) => {
                told(LinkEvent::Refused(text));
            }
            _ => {}
        }
        std::future::ready(())
    });
    let options = match &settings.credentials {
        Some(path) => options.credentials_file(path).await.map_err(|cause| {
            (format!("cannot read the credentials {}: {cause}", path.display()), HINT_CREDENTIALS)
        })?,
        None => options,
    };
    let client = options.connect(settings.url.as_str()).await.map_err(|error| not_open(settings, &error))?;
    let lost = |error: &dyn std::error::Error| (error.to_string(), HINT_ADDRESS);
    for subject in subjects {
        let mut subscriber = client.subscribe(subject).await.map_err(|error| lost(&error))?;
        let deliver = Arc::clone(deliver);
        tokio::spawn(async move {
            let mut joiner = Joiner::default();
            while let Some(message) = subscriber.next().await {
                if let Some(whole) = joiner.take(&message.payload, Instant::now()) {
                    deliver(LinkEvent::Message(whole));
                }
            }
        });
    }
    // What is said from now on finds these subscriptions.
    client.flush().await.map_err(|error| lost(&error))?;
    Ok(client)
}

/// Some time after nobody has anything to send any more: a server that is gone takes nothing, and is not waited for.
async fn too_late(closed: oneshot::Receiver<()>) {
    // Nothing is ever sent: it fails when the link is dropped.
    let _ = closed.await;
    tokio::time::sleep(CLOSE_PATIENCE).await;
}

/// Until nobody has anything to send any more.
async fn carry(client: &Client, mut queue: UnboundedReceiver<Outgoing>) {
    let mut sender = [0; 8];
    let _ = getrandom::fill(&mut sender);
    let mut cutter = Cutter::new(u64::from_be_bytes(sender));
    let mut beats = Vec::new();
    loop {
        match tokio::time::timeout(BEAT, queue.recv()).await {
            Ok(None) => break,
            Ok(Some(Outgoing::Message(message))) => publish(client, &mut cutter, &message).await,
            Ok(Some(Outgoing::Beats(others))) => beats = others,
            Err(_) => {
                for beat in &beats {
                    publish(client, &mut cutter, beat).await;
                }
            }
        }
    }
    let _ = tokio::time::timeout(FLUSH_PATIENCE, client.flush()).await;
}

async fn publish(client: &Client, cutter: &mut Cutter, (subject, message): &Message) {
    for part in cutter.cut(message, client.max_payload()) {
        // Fails only where the client was closed, which nobody does.
        let _ = client.publish(subject.clone(), part).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::NatsServer;

    /// More than the client holds back waits for a server that does not come again.
    #[test]
    fn a_link_to_a_server_that_is_gone_is_closed_all_the_same() {
        let server = NatsServer::start();
        let settings = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let (sender, events) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let link = Link::open(&settings, vec!["a".to_owned()], deliver).unwrap();
        drop(server);
        while events.recv_timeout(Duration::from_secs(30)).unwrap() != LinkEvent::Disconnected {}
        (0..5_000).for_each(|number| link.send("b", &number));
        let closing = Instant::now();
        drop(link);
        assert!(closing.elapsed() < 3 * CLOSE_PATIENCE, "it took {:?}", closing.elapsed());
    }
}
