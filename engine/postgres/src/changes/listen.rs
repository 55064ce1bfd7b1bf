//! The one connection of a source that listens for changes made by others, on a thread of its own: it connects again
//! when it breaks, and reads what has happened meanwhile.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use prony_postgres_connect::PgConnection;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use tokio_postgres::{AsyncMessage, Client};

use crate::{
    changes::{
        change_table::{ChangeTable, tables_with_triggers},
        triggers::CHANNEL,
    },
    connect::{
        config::{PlanMode, Target},
        session_setup,
    },
    error::describe,
};
use prony_sql::{changes::Feed, model::Model};

/// Pauses between attempts to connect: the first, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// How long nothing may be heard before the table is looked at all the same, which also shows a dead connection; and how
/// often it is found out which tables have triggers.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// One look at the table may take this long.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// What a listener has done so far, for the metrics.
#[derive(Debug, Default)]
pub struct ListenerState {
    connected: AtomicBool,
    connections: AtomicU64,
    changes: AtomicU64,
}

impl ListenerState {
    pub fn is_connected(&self) -> bool {
        self.connected.load(Relaxed)
    }

    /// How often it has connected.
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Changes that it has read.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }
}

/// The listening thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) state: Arc<ListenerState>,
    _stop: oneshot::Sender<()>,
}

struct Worker {
    target: Arc<Target>,
    model: Arc<Model>,
    feed: Arc<Feed>,
    state: Arc<ListenerState>,
    table: ChangeTable,
    /// Told of the first attempt's end.
    tried: Option<oneshot::Sender<()>>,
    last_reason: Option<String>,
    /// When it was found out last which tables have triggers; `None` where that is due.
    triggers_known: Option<Instant>,
}

/// The transaction that a notification names; others are of triggers that have come or gone, or of strangers.
type Notified = Option<u64>;

impl Listener {
    /// Returns after the first attempt to connect, so that what changes from then on is published once.
    pub(crate) async fn start(
        target: &Arc<Target>,
        model: &Arc<Model>,
        feed: &Arc<Feed>,
    ) -> io::Result<Self> {
        let state = Arc::new(ListenerState::default());
        let (stop, stopped) = oneshot::channel();
        let (tried, first_attempt) = oneshot::channel();
        let mut worker = Worker {
            target: Arc::clone(target),
            model: Arc::clone(model),
            feed: Arc::clone(feed),
            state: Arc::clone(&state),
            table: ChangeTable::new(model, feed),
            tried: Some(tried),
            last_reason: None,
            triggers_known: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("pg-listener".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = worker.work() => {}
                    _ = stopped => {}
                }
            });
        })?;
        // Fails only with the thread, which has said why.
        let _ = first_attempt.await;
        Ok(Self { state, _stop: stop })
    }
}

impl Worker {
    async fn work(&mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let before = self.state.connections();
            let reason = self.session().await;
            self.state.connected.store(false, Relaxed);
            if self.state.connections() > before {
                pause = FIRST_PAUSE;
            }
            self.tried = None;
            if self.last_reason.as_ref() != Some(&reason) {
                let database = &self.target.description;
                tracing::warn!(%database, reason, "does not hear of changes made by others; trying again");
                self.last_reason = Some(reason);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// One connection to its end; says why it has ended.
    async fn session(&mut self) -> String {
        let connected = match self.target.connector.connect().await {
            Ok(connected) => connected,
            Err(error) => return error.reason,
        };
        self.triggers_known = None;
        let (sender, notified) = mpsc::unbounded_channel();
        let driver = tokio::spawn(drive(connected.connection, sender));
        let ended = self.listen(&connected.client, notified).await;
        driver.abort();
        ended
    }

    async fn listen(&mut self, client: &Client, mut notified: mpsc::UnboundedReceiver<Notified>) -> String {
        if let Err(reason) = session_setup::apply(client, &self.target, PlanMode::Custom).await {
            return reason;
        }
        let setup = format!("set statement_timeout = {}; listen {CHANNEL}", LOOK_LIMIT.as_millis());
        if let Err(error) = client.batch_execute(&setup).await {
            return describe(&error);
        }
        loop {
            match timeout(LOOK_LIMIT, self.look(client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return self.explained(&error),
                Err(_) => return format!("no answer within {} s", LOOK_LIMIT.as_secs()),
            }
            match timeout(LOOK_EVERY, notified.recv()).await {
                Ok(Some(notified)) => self.notified(notified),
                Ok(None) => return "the connection was closed".to_owned(),
                Err(_) => {}
            }
            while let Ok(notified) = notified.try_recv() {
                self.notified(notified);
            }
        }
    }

    fn notified(&mut self, notified: Notified) {
        match notified {
            Some(transaction) => self.table.notified(transaction),
            None => self.triggers_known = None,
        }
    }

    async fn look(&mut self, client: &Client) -> Result<(), tokio_postgres::Error> {
        if let Some(model) = self.feed.model().filter(|model| !Arc::ptr_eq(model, &self.model)) {
            self.table.renew(&model);
            self.model = model;
            self.triggers_known = None;
        }
        if self.triggers_known.is_none_or(|known| known.elapsed() >= LOOK_EVERY) {
            let tables = tables_with_triggers(client, &self.model).await?;
            self.triggers_known = Some(Instant::now());
            // Before the table is read: what this server has published until now is in what is read next.
            self.feed.set_captured_by_triggers(&tables);
            self.table.hear_of(tables);
        }
        self.table.read(client, &self.state.changes).await?;
        if !self.state.is_connected() {
            let (database, tables) = (&self.target.description, self.table.tables());
            tracing::info!(%database, tables, "hears of changes made by others");
            self.last_reason = None;
            self.state.connections.fetch_add(1, Relaxed);
            self.state.connected.store(true, Relaxed);
            self.tried = None;
        }
        Ok(())
    }

    /// Undefined schema, table or function: then this server publishes its own changes.
    fn explained(&mut self, error: &tokio_postgres::Error) -> String {
        let code = error.code().map(tokio_postgres::error::SqlState::code);
        let reason = describe(error);
        match code {
            Some("3F000" | "42P01" | "42883") => {
                self.feed.set_captured_by_triggers(&[]);
                self.table.hear_of(Vec::new());
                format!("{reason}; install the triggers with `prony triggers install`")
            }
            Some("42501") => format!("{reason}; grant it with `prony triggers install --reader ROLE`"),
            _ => reason,
        }
    }
}

/// Carries the connection, and hands over the transactions that notifications name.
async fn drive(mut connection: PgConnection, sender: mpsc::UnboundedSender<Notified>) {
    loop {
        let message = std::future::poll_fn(|context| connection.poll_message(context)).await;
        match message {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                if sender.send(notification.payload().parse().ok()).is_err() {
                    return;
                }
            }
            Some(Ok(_)) => {}
            // Requests under way say why.
            Some(Err(_)) | None => return,
        }
    }
}
