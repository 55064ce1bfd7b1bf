//! Connections: opened, kept while nobody needs them, and made anew when they break. Whoever asks something of the database waits on a thread
//! of their own; a thread of this module's does the input and output.

use crate::column::quoted;
use crate::fault::{Fault, OpenError};
use futures_util::future::{pending, poll_fn};
use prony_postgres_connect::{Address, Connected, Connector, Environment};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::{AsyncMessage, Client, Statement};

/// What the database is told of who asks.
const APPLICATION: &str = "prony";
/// Beyond the longest that a statement may take, a database that is silent is taken to be gone.
const GRACE: Duration = Duration::from_secs(5);
/// Notifications that wait to be taken.
const NOTIFICATIONS_MAX: usize = 1024;
/// Prepared statements of one connection; then it forgets all.
const STATEMENTS_MAX: usize = 256;

/// How connections are made and kept.
#[derive(Debug)]
pub struct SessionSettings {
    /// Statements with which each begins.
    pub setup: String,
    /// The longest that a statement may take; there is no limit where it is zero.
    pub statement_timeout: Duration,
    /// How many are kept that nobody uses now.
    pub idle_max: usize,
}

/// One database.
#[derive(Debug)]
pub struct Database {
    handle: Handle,
    connector: Connector,
    /// `host:port/database`, for people.
    pub description: Arc<str>,
    settings: SessionSettings,
    /// Connections that nobody uses now.
    idle: Mutex<Vec<Session>>,
    /// Its end ends the thread.
    _stop: oneshot::Sender<()>,
}

/// A connection that listens to a channel.
#[derive(Debug)]
pub struct Listening {
    pub session: Session,
    /// Payloads; it ends with the connection.
    pub notifications: mpsc::Receiver<String>,
    has_lost: Arc<AtomicBool>,
}

impl Listening {
    /// Whether notifications came faster than they were taken since this was asked before.
    pub fn take_lost(&self) -> bool {
        self.has_lost.swap(false, Ordering::AcqRel)
    }
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    /// Reads the address; nothing is connected yet.
    ///
    /// # Errors
    /// The address cannot be read, or no thread can be started.
    pub fn new(url: &str, settings: SessionSettings) -> Result<Self, OpenError> {
        let address = Address::resolve(url, &Environment::of_process(), APPLICATION);
        let address = address.map_err(|error| OpenError::Address { why: error.reason })?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(OpenError::Thread)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            runtime.block_on(async {
                // It is never sent; it ends when the database is dropped.
                let _ = stopped.await;
            });
        };
        thread::Builder::new().name("series-database".to_owned()).spawn(run).map_err(OpenError::Thread)?;
        let (description, connector) = (address.description().into(), Connector::new(address));
        let idle = Mutex::default();
        Ok(Self { handle, connector, description, settings, idle, _stop: stop })
    }

    /// Waits for something that the database is asked, on a thread that may wait.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let timeout = self.settings.statement_timeout;
        let limit = if timeout.is_zero() { None } else { Some(timeout + GRACE) };
        self.handle.block_on(async {
            let late = async {
                match limit {
                    Some(limit) => tokio::time::sleep(limit).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                done = work => done,
                () = late => Err(Fault::late(limit.unwrap_or_default())),
            }
        })
    }

    /// As [`Self::wait`], for as long as it takes.
    pub fn block<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// Lets something go on that nobody waits for.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// A connection that nobody else uses, which may turn out to be broken where it was used before.
    pub async fn session(&self) -> Result<Session, Fault> {
        loop {
            let idle = lock(&self.idle).pop();
            match idle {
                Some(session) if session.is_closed() => {}
                Some(session) => return Ok(session),
                None => return self.connect().await,
            }
        }
    }

    pub async fn connect(&self) -> Result<Session, Fault> {
        let connected = self.connector.connect().await.map_err(|error| Fault::gone(&error.reason))?;
        let Connected { client, connection, .. } = connected;
        self.handle.spawn(async move {
            // Whoever has sent a statement is told of what is wrong.
            let _ = connection.await;
        });
        self.set_up(client).await
    }

    /// A connection of its own that listens to a channel.
    pub async fn listen(&self, channel: &str) -> Result<Listening, Fault> {
        let connected = self.connector.connect().await.map_err(|error| Fault::gone(&error.reason))?;
        let Connected { client, mut connection, .. } = connected;
        let (sender, notifications) = mpsc::channel(NOTIFICATIONS_MAX);
        let has_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&has_lost);
        self.handle.spawn(async move {
            // Whoever has sent a statement is told of what is wrong, and whoever listens by the channel's end.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notification) = message
                    && sender.try_send(notification.payload().to_owned()).is_err()
                {
                    lost.store(true, Ordering::Release);
                }
            }
        });
        let session = self.set_up(client).await?;
        session.batch_execute(&format!("listen {}", quoted(channel))).await?;
        Ok(Listening { session, notifications, has_lost })
    }

    async fn set_up(&self, client: Client) -> Result<Session, Fault> {
        if !self.settings.setup.is_empty() {
            client.batch_execute(&self.settings.setup).await?;
        }
        Ok(Session { client, statements: Mutex::default() })
    }

    /// Keeps a connection for others, where it is good and there is room.
    pub fn give_back(&self, session: Session) {
        let mut idle = lock(&self.idle);
        if !session.is_closed() && idle.len() < self.settings.idle_max {
            idle.push(session);
        }
    }

    /// Closes what nobody uses: after one was found broken, the others of its time are too.
    pub fn forget_idle(&self) {
        lock(&self.idle).clear();
    }
}

impl Session {
    /// A prepared statement, kept for the next time.
    pub async fn statement(&self, sql: &str) -> Result<Statement, Fault> {
        if let Some(known) = lock(&self.statements).get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.client.prepare(sql).await?;
        let mut statements = lock(&self.statements);
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        statements.insert(sql.to_owned(), prepared.clone());
        Ok(prepared)
    }
}
