//! Where the version of all names stands that servers of the same database share, by the setting `metadata_cache`.

use crate::error::OpenError;
use crate::settings::MetadataCache;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// A response of Redis that is later counts as none.
const TIMEOUT: Duration = Duration::from_millis(250);

/// Who is asked whether there are new names.
#[derive(Debug)]
pub(crate) struct NamesCache {
    settings: MetadataCache,
    redis: Option<Client>,
    connection: Mutex<Option<MultiplexedConnection>>,
    key: String,
    is_away: AtomicBool,
}

impl NamesCache {
    pub(crate) fn new(settings: MetadataCache, database: &str) -> Result<Self, OpenError> {
        let redis = match &settings {
            MetadataCache::Redis(url) => {
                let opened = Client::open(url.as_str());
                Some(opened.map_err(|error| OpenError::Redis { why: error.to_string() })?)
            }
            MetadataCache::None | MetadataCache::Memory => None,
        };
        let key = format!("prony:series:{database}:version");
        Ok(Self { settings, redis, connection: Mutex::default(), key, is_away: AtomicBool::new(false) })
    }

    /// Whether the database is asked each time.
    pub(crate) fn asks_database(&self) -> bool {
        self.settings == MetadataCache::None
    }

    pub(crate) fn asks_redis(&self) -> bool {
        self.redis.is_some()
    }

    /// What Redis has; none where it has nothing or does not respond.
    pub(crate) async fn version(&self) -> Option<i64> {
        let mut command = redis::cmd("GET");
        command.arg(&self.key);
        self.ask::<Option<i64>>(&command).await.flatten()
    }

    /// Tells others of a version.
    pub(crate) async fn publish(&self, version: i64) {
        let mut command = redis::cmd("SET");
        command.arg(&self.key).arg(version);
        let _: Option<()> = self.ask(&command).await;
    }

    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Option<T> {
        let client = self.redis.as_ref()?;
        let mut connection = self.connection.lock().await;
        let asked = async {
            let open = match connection.take() {
                Some(open) => open,
                None => connect(client).await?,
            };
            let open = connection.insert(open);
            command.query_async(open).await
        };
        let responded = match tokio::time::timeout(TIMEOUT * 2, asked).await {
            Ok(responded) => responded.map_err(|error| error.to_string()),
            Err(_) => Err(format!("there was no response in {} ms", (TIMEOUT * 2).as_millis())),
        };
        match responded {
            Ok(value) => {
                if self.is_away.swap(false, Ordering::Relaxed) {
                    tracing::info!("the Redis for names of series responds again");
                }
                Some(value)
            }
            Err(error) => {
                *connection = None;
                if !self.is_away.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        error,
                        "the Redis for names of series does not respond; the database is asked instead"
                    );
                }
                None
            }
        }
    }
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    let config = AsyncConnectionConfig::new();
    let config = config.set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
    client.get_multiplexed_async_connection_with_config(&config).await
}
