//! Opens connections: the hosts in their order, with TLS and without as `sslmode` has it, until one is the server that is wanted.

use std::{
    future::poll_fn,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};
use tokio_postgres::{CancelToken, Client, Config, Connection, SimpleQueryMessage, Socket, config::SslMode};

use crate::{
    Address, ConnectError, ConnectErrorKind,
    address::Wanted,
    error::describe,
    place::Place,
    tls::{Tls, TlsStream},
    tls_files::TlsMode,
};

/// Pauses between attempts of a patient start: the first, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The driver's half of a connection; it must be polled as long as the client is used.
pub type PgConnection = Connection<Socket, TlsStream<Socket>>;

/// An open connection.
pub struct Connected {
    pub client: Client,
    pub connection: PgConnection,
    pub canceller: Canceller,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connected").finish_non_exhaustive()
    }
}

/// Asks the server of a connection to cancel what it is running.
#[derive(Clone)]
pub struct Canceller {
    token: CancelToken,
    tls: Tls,
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Canceller").finish_non_exhaustive()
    }
}

impl Canceller {
    /// Returns when the server has taken the request, which says nothing about the statement.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn cancel(&self) -> Result<(), tokio_postgres::Error> {
        self.token.cancel_query(self.tls.clone()).await
    }
}

/// Opens connections to the servers of an address.
#[derive(Debug)]
pub struct Connector {
    address: Address,
    /// The place of the last connection: where one server of several is wanted, it is asked first the next time.
    last: AtomicUsize,
}

impl Connector {
    pub fn new(address: Address) -> Self {
        Self { address, last: AtomicUsize::new(0) }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Opens a connection to the first host that is what is wanted.
    ///
    /// # Errors
    /// Why the last host could not be had, or what is wrong with the address's files.
    pub async fn connect(&self) -> Result<Connected, ConnectError> {
        if self.address.wanted == Wanted::PreferStandby {
            return match self.connect_to(Wanted::Standby).await {
                Err(_) => self.connect_to(Wanted::Any).await,
                connected => connected,
            };
        }
        self.connect_to(self.address.wanted).await
    }

    /// As [`connect`](Self::connect), again and again for so long where the reason may pass: a server that is being started.
    ///
    /// # Errors
    /// As of [`connect`](Self::connect), with how long it was tried.
    pub async fn connect_patiently(&self, patience: Duration) -> Result<Connected, ConnectError> {
        let started = Instant::now();
        let (mut pause, mut last_reason) = (FIRST_PAUSE, None);
        loop {
            let mut error = match self.connect().await {
                Ok(connected) => return Ok(connected),
                Err(error) => error,
            };
            let left = patience.saturating_sub(started.elapsed());
            if !error.kind.may_pass() || left.is_zero() {
                if last_reason.is_some() {
                    error.reason = format!("{} (tried for {} s)", error.reason, started.elapsed().as_secs());
                }
                return Err(error);
            }
            if last_reason.as_ref() != Some(&error.reason) {
                let (database, reason) = (&error.target, &error.reason);
                tracing::warn!(%database, %reason, "cannot connect yet; trying again for {} s", left.as_secs().max(1));
                last_reason = Some(error.reason);
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    async fn connect_to(&self, wanted: Wanted) -> Result<Connected, ConnectError> {
        let count = self.address.places.len();
        let mut failed = None;
        for index in self.order(wanted) {
            for place in self.candidates(&self.address.places[index], wanted).await {
                match self.connect_at(&place, wanted).await {
                    Ok(connected) => {
                        self.last.store(index, Relaxed);
                        return Ok(connected);
                    }
                    Err(mut error) => {
                        if count > 1 {
                            error.reason = format!("{}:{}: {}", place.host, place.port, error.reason);
                        }
                        // What will not pass by itself is more worth to be told.
                        if failed.as_ref().is_none_or(|other: &ConnectError| other.kind.may_pass()) {
                            failed = Some(error);
                        }
                    }
                }
            }
        }
        Err(failed.expect("an address has a host"))
    }

    /// Where a server must be what is wanted, each address of its name is tried: the driver takes the first that lets it in.
    async fn candidates(&self, place: &Place, wanted: Wanted) -> Vec<Place> {
        if wanted == Wanted::Any {
            return vec![place.clone()];
        }
        let found = timeout(self.address.attempt_limit(), place.at_each_address()).await.unwrap_or_default();
        // Why a name has no address is told by the attempt.
        if found.is_empty() { vec![place.clone()] } else { found }
    }

    /// Where one server of several is wanted, the one of the last time first: the others may not even answer.
    fn order(&self, wanted: Wanted) -> impl Iterator<Item = usize> + use<> {
        let count = self.address.places.len();
        let first = if self.address.is_shuffled {
            use std::hash::{BuildHasher, RandomState};
            (RandomState::new().hash_one(count) % count as u64) as usize
        } else if matches!(wanted, Wanted::Any) {
            0
        } else {
            self.last.load(Relaxed)
        };
        (0..count).map(move |index| (first + index) % count)
    }

    /// At one host, with TLS first or last.
    async fn connect_at(&self, place: &Place, wanted: Wanted) -> Result<Connected, ConnectError> {
        match place.tls_mode(self.address.tls.mode) {
            TlsMode::Disable => self.attempt(place, SslMode::Disable, wanted).await,
            TlsMode::Allow => match self.attempt(place, SslMode::Disable, wanted).await {
                Err(error) if error.is_authorization() => self.attempt(place, SslMode::Require, wanted).await,
                outcome => outcome,
            },
            TlsMode::Prefer => match self.attempt(place, SslMode::Prefer, wanted).await {
                Err(error) if error.kind == ConnectErrorKind::Tls || error.is_authorization() => {
                    let plain = self.attempt(place, SslMode::Disable, wanted).await;
                    // A server that lets nobody in without TLS says nothing of why there was none.
                    plain.map_err(|refused| if refused.is_authorization() { error } else { refused })
                }
                outcome => outcome,
            },
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => {
                self.attempt(place, SslMode::Require, wanted).await
            }
        }
    }

    async fn attempt(&self, place: &Place, mode: SslMode, wanted: Wanted) -> Result<Connected, ConnectError> {
        let target = self.address.description();
        let tls = if mode == SslMode::Disable {
            Tls::off()
        } else {
            let config = self.address.tls.client_config();
            Tls::new(config.map_err(|reason| ConnectError::config(target, reason))?)
        };
        let mut config =
            place.with_password(self.address.pass_file.as_ref(), self.address.process_user.as_deref());
        config.ssl_mode(mode);
        let limit = self.address.attempt_limit();
        timeout(limit, self.open(place, &config, tls, wanted)).await.unwrap_or_else(|_| {
            let reason =
                format!("no answer within {} s; check that host and port are right", limit.as_secs());
            Err(ConnectError::new(ConnectErrorKind::Unreachable, target, reason))
        })
    }

    async fn open(
        &self,
        place: &Place,
        config: &Config,
        tls: Tls,
        wanted: Wanted,
    ) -> Result<Connected, ConnectError> {
        let target = self.address.description();
        let failed = |error| ConnectError::attempting(target, &place.host, error);
        let (client, mut connection) = config.connect(tls.clone()).await.map_err(|error| {
            if config.get_ssl_mode() == SslMode::Require && !tls.has_begun() {
                ConnectError::without_tls(target, &place.host, error)
            } else {
                failed(error)
            }
        })?;
        if let Some(missing) = missing(&client, &mut connection, wanted).await.map_err(failed)? {
            let reason = format!("the server is {missing}; target_session_attrs asks for another");
            return Err(ConnectError::new(ConnectErrorKind::NotReady, target, reason));
        }
        let canceller = Canceller { token: client.cancel_token(), tls };
        Ok(Connected { client, connection, canceller })
    }
}

/// What the server is where that is not what is wanted.
async fn missing(
    client: &Client,
    connection: &mut PgConnection,
    wanted: Wanted,
) -> Result<Option<&'static str>, tokio_postgres::Error> {
    let (question, other, name) = match wanted {
        Wanted::Any | Wanted::PreferStandby => return Ok(None),
        Wanted::ReadWrite => ("show transaction_read_only", "on", "read-only"),
        Wanted::ReadOnly => ("show transaction_read_only", "off", "not read-only"),
        Wanted::Primary => ("select pg_catalog.pg_is_in_recovery()", "t", "a standby"),
        Wanted::Standby => ("select pg_catalog.pg_is_in_recovery()", "f", "a primary"),
    };
    let rows = driven(connection, client.simple_query(question)).await?;
    let is_other = rows.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0) == Some(other),
        _ => false,
    });
    Ok(is_other.then_some(name))
}

/// A future that needs the connection to be carried on.
async fn driven<T>(
    connection: &mut PgConnection,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    let mut work = pin!(work);
    let mut is_open = true;
    loop {
        let message = poll_fn(|context| connection.poll_message(context));
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            message = message, if is_open => match message {
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!(reason = %describe(&error), "a connection broke before it was used");
                    return Err(error);
                }
                // The work is told by its own end.
                None => is_open = false,
            },
        }
    }
}
