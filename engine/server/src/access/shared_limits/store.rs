//! A connection to the Redis that servers share: one script call takes units of several limits, and calls do not wait for each other's
//! responses.

use std::{fmt::Write as _, time::Duration};

use prony_access::{SharedBound, StoreCall, StoreReply};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, IntoConnectionInfo as _, RedisError, ServerErrorKind,
    aio::MultiplexedConnection,
};

use crate::{clock::unix_now, config::RedisSettings};

const SCRIPT: &str = include_str!("limits.lua");
/// Connecting takes several round trips.
const CONNECT_TIMEOUTS: u32 = 4;
/// Counts of a window that is over are kept so much longer, for servers whose clocks are behind.
const WINDOW_MARGIN_MS: i64 = 60_000;

/// A connection.
#[derive(Debug, Clone)]
pub(super) struct Store {
    connection: MultiplexedConnection,
    /// What the script is known by.
    digest: String,
    prefix: String,
}

/// An address without its password.
pub(super) fn shown(url: &str) -> String {
    let scheme = if url.starts_with("rediss:") { "rediss" } else { "redis" };
    url.into_connection_info()
        .map_or_else(|_| scheme.to_owned(), |info| format!("{scheme}://{}", info.addr()))
}

impl Store {
    /// It is there once it has read the script: a server that hangs is none.
    pub(super) async fn connect(settings: &RedisSettings) -> Result<Self, String> {
        let timeout = settings.timeout * CONNECT_TIMEOUTS;
        let connected = tokio::time::timeout(timeout, Self::connect_slowly(settings, timeout)).await;
        connected.map_err(|_| late(timeout))?.map_err(|error| error.to_string())
    }

    async fn connect_slowly(settings: &RedisSettings, timeout: Duration) -> Result<Self, RedisError> {
        let RedisSettings { url, prefix, .. } = settings;
        let config = AsyncConnectionConfig::new();
        let config =
            config.set_connection_timeout(Some(timeout)).set_response_timeout(Some(settings.timeout));
        let client = Client::open(url.as_str())?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let digest = redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query_async(&mut connection).await?;
        Ok(Self { connection, digest, prefix: prefix.clone() })
    }

    /// Whether it is there.
    pub(super) async fn ping(&mut self) -> Result<(), String> {
        redis::cmd("PING").exec_async(&mut self.connection).await.map_err(|error| error.to_string())
    }

    /// Takes and gives back units. After an error nothing is known of them.
    pub(super) async fn call(&mut self, calls: &[StoreCall]) -> Result<Vec<StoreReply>, String> {
        let known = self.command("EVALSHA", &self.digest, calls);
        let found: Result<Vec<u64>, RedisError> = known.query_async(&mut self.connection).await;
        let found = match found {
            // It was started anew, or its scripts were removed; it keeps what it is given.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.command("EVAL", SCRIPT, calls).query_async(&mut self.connection).await
            }
            found => found,
        };
        let numbers: Vec<u64> = found.map_err(|error| error.to_string())?;
        let replies = numbers.chunks_exact(3).map(|numbers| StoreReply {
            granted: numbers[0],
            left: numbers[1],
            wait_ns: numbers[2].saturating_mul(1_000),
        });
        let replies: Vec<StoreReply> = replies.collect();
        if replies.len() == calls.len() {
            Ok(replies)
        } else {
            Err(format!("it has replied with {} numbers for {} limits", numbers.len(), calls.len()))
        }
    }

    fn command(&self, name: &str, script: &str, calls: &[StoreCall]) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(calls.len());
        for call in calls {
            command.arg(self.key(call));
        }
        for call in calls {
            match call.bound {
                SharedBound::Rate(limit) => {
                    // In microseconds.
                    let interval = format!("{:.3}", limit.interval_ns() as f64 / 1e3);
                    command.arg("rate").arg(interval).arg(limit.burst);
                }
                SharedBound::Quota { most, ends_at } => {
                    let left_ms = (ends_at - unix_now()).max(0) * 1_000 + WINDOW_MARGIN_MS;
                    command.arg("quota").arg(left_ms).arg(most);
                }
            }
            command.arg(call.unused).arg(call.least).arg(call.need).arg(call.ahead);
        }
        command
    }

    /// It has no names: who asks cannot be read from it.
    fn key(&self, call: &StoreCall) -> String {
        let mut key = format!("{}{:032x}", self.prefix, u128::from_be_bytes(call.key));
        if let SharedBound::Quota { ends_at, .. } = call.bound {
            // Writing to a string cannot fail.
            let _ = write!(key, ":{ends_at}");
        }
        key
    }
}

fn late(timeout: Duration) -> String {
    format!("there was no response in {} ms", timeout.as_millis())
}
