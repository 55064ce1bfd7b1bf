//! Looks at the tables of a database while it is served, over a connection of its own, by which the database may tell of changes by
//! itself.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use prony_postgres_connect::{Connected, PgConnection};
use prony_sql::{
    catalog::Catalog,
    follow::{CatalogReader, CatalogVersion},
    settings::{PoolMode, RelationalSettings},
};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use tokio_postgres::{AsyncMessage, Client, Error};

use crate::{
    changes::schema_trigger::{SCHEMA_CHANNEL, SCHEMA_TRIGGER},
    connect::{
        config::{PlanMode, Target},
        session_setup,
    },
    discover::{DiscoverError, discover},
    error::describe,
};

/// Reading the catalog may take this long, also of a database with many thousand tables.
pub(crate) const DISCOVERY_LIMIT: Duration = Duration::from_secs(60);

/// Rows of the system catalog from which the tables are made out, as one number each kind: a row that is changed has another `xmin`.
/// Enums and domains may lie in schemas that are not served, and what the role may read is also what roles may that it is a member of; a
/// superuser may read all. The last column says how many triggers tell of changes.
const VERSION: &str = "
    WITH served AS (SELECT oid FROM pg_namespace
                    WHERE CASE WHEN cardinality($1::text[]) = 0 THEN nspname = current_schema() ELSE nspname = ANY ($1) END),
        classes AS (SELECT c.oid, c.xmin FROM pg_class AS c
                    WHERE c.relnamespace IN (SELECT oid FROM served) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
        rows (kind, oid, part, changed) AS (
            SELECT 1, oid, 0, xmin FROM classes
            UNION ALL SELECT 2, attrelid, attnum::int, a.xmin FROM pg_attribute AS a
                WHERE attnum > 0 AND attrelid IN (SELECT oid FROM classes)
            UNION ALL SELECT 3, k.oid, 0, k.xmin FROM pg_constraint AS k
                WHERE connamespace IN (SELECT oid FROM served) AND contype IN ('p', 'f')
            UNION ALL SELECT 4, indexrelid, 0, i.xmin FROM pg_index AS i
                WHERE indisunique AND indrelid IN (SELECT oid FROM classes)
            UNION ALL SELECT 5, t.oid, 0, t.xmin FROM pg_trigger AS t
                WHERE NOT tgisinternal AND tgtype & 7 = 7 AND tgrelid IN (SELECT oid FROM classes)
            UNION ALL SELECT 6, e.oid, 0, e.xmin FROM pg_enum AS e
            UNION ALL SELECT 7, d.oid, 0, d.xmin FROM pg_type AS d WHERE typtype = 'd'
            UNION ALL SELECT 8, oid, 0, '0' FROM served
            UNION ALL SELECT 9, objoid, objsubid, d.xmin FROM pg_description AS d
                WHERE classoid = 'pg_class'::regclass AND objoid IN (SELECT oid FROM classes)
            UNION ALL SELECT 10, oid, 0, '0' FROM pg_roles
                WHERE pg_has_role(oid, 'USAGE') AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))
    SELECT count(*), coalesce(sum(hashtextextended(concat_ws(':', kind, oid, part, changed), 0)), 0)::text,
           (SELECT count(*) FROM pg_event_trigger WHERE evtname LIKE $2 || '%' AND evtenabled IN ('O', 'A'))
    FROM rows";

/// Connects when it first looks, and again where the connection has ended.
#[derive(Debug)]
pub struct PostgresCatalogReader {
    target: Arc<Target>,
    schemas: Vec<String>,
    /// Whether the connection stays for the next look.
    is_kept: bool,
    connection: Option<Kept>,
    is_told: bool,
}

#[derive(Debug)]
struct Kept {
    client: Client,
    /// The tables have changed, or the connection has ended.
    told: Arc<Notify>,
    /// Whether it hears what the database tells.
    listens: bool,
    driver: JoinHandle<()>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl PostgresCatalogReader {
    pub(crate) fn new(target: &Arc<Target>, settings: &RelationalSettings) -> Self {
        Self {
            target: Arc::clone(target),
            schemas: settings.schemas.clone(),
            is_kept: settings.schema_check_ms > 0,
            connection: None,
            is_told: false,
        }
    }

    async fn connect(&self) -> Result<Kept, String> {
        let Connected { client, connection, .. } =
            self.target.connector.connect().await.map_err(|error| error.reason)?;
        let told = Arc::new(Notify::new());
        let driver = tokio::spawn(drive(connection, Arc::clone(&told)));
        let mut kept = Kept { client, told, driver, listens: false };
        session_setup::apply(&kept.client, &self.target, PlanMode::Custom).await?;
        if self.is_kept && self.target.pool_mode == PoolMode::Session {
            kept.listens = match kept.client.batch_execute(&format!("listen {SCHEMA_CHANNEL}")).await {
                Ok(()) => true,
                // A standby refuses it, and its tables change as those of its primary do: they are looked at all the same.
                Err(error) if error.as_db_error().is_some() && !kept.client.is_closed() => false,
                Err(error) => return Err(describe(&error)),
            };
        }
        Ok(kept)
    }

    /// Looks in a transaction, over the connection that is there or a new one.
    async fn look<T>(
        &mut self,
        look: impl AsyncFnOnce(&Client) -> Result<T, DiscoverError>,
    ) -> Result<(CatalogVersion, T), String> {
        let kept = match self.connection.take().filter(|kept| !kept.client.is_closed()) {
            Some(kept) => kept,
            None => self.connect().await?,
        };
        let looked = timeout(
            DISCOVERY_LIMIT,
            in_transaction(&kept.client, &self.target, async |client| {
                let (version, triggers) = version(client, &self.schemas).await?;
                Ok((version, triggers, look(client).await?))
            }),
        );
        let looked = looked.await.map_err(|_| format!("no answer within {} s", DISCOVERY_LIMIT.as_secs()))?;
        let (version, triggers, found) = looked.map_err(|error| error.described())?;
        self.is_told = triggers == 2 && kept.listens;
        self.connection = Some(kept).filter(|_| self.is_kept);
        Ok((version, found))
    }
}

impl CatalogReader for PostgresCatalogReader {
    async fn version(&mut self) -> Result<CatalogVersion, String> {
        Ok(self.look(async |_| Ok(())).await?.0)
    }

    async fn read(&mut self) -> Result<(CatalogVersion, Catalog), String> {
        let schemas = self.schemas.clone();
        self.look(async |client| discover(client, &schemas).await).await
    }

    async fn told(&mut self) {
        match &self.connection {
            Some(kept) => kept.told.notified().await,
            None => std::future::pending().await,
        }
    }

    fn is_told(&self) -> bool {
        self.is_told && self.connection.is_some()
    }
}

/// The catalog with its version, from one snapshot as far as the database's functions look at one.
pub(crate) async fn read(
    client: &Client,
    target: &Target,
    schemas: &[String],
) -> Result<(CatalogVersion, Catalog), DiscoverError> {
    in_transaction(client, target, async |client| {
        let (version, _) = version(client, schemas).await?;
        Ok((version, discover(client, schemas).await?))
    })
    .await
}

/// One transaction: a pooler may give the next one to another server's session. Catalogs of many thousand tables take longer than a
/// request may.
async fn in_transaction<T>(
    client: &Client,
    target: &Target,
    look: impl AsyncFnOnce(&Client) -> Result<T, DiscoverError>,
) -> Result<T, DiscoverError> {
    let setup = session_setup::of_transaction(target).unwrap_or_default();
    client
        .batch_execute(&format!(
            "begin isolation level repeatable read; {setup}; set local statement_timeout = {}",
            DISCOVERY_LIMIT.as_millis()
        ))
        .await?;
    let found = look(client).await?;
    client.batch_execute("commit").await?;
    Ok(found)
}

async fn version(client: &Client, schemas: &[String]) -> Result<(CatalogVersion, i64), Error> {
    let row = client.query_one(VERSION, &[&schemas, &SCHEMA_TRIGGER]).await?;
    let (count, sum): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
    let mut hasher = DefaultHasher::new();
    (count, sum).hash(&mut hasher);
    Ok((CatalogVersion(hasher.finish()), row.try_get(2)?))
}

/// Carries the connection to its end.
async fn drive(mut connection: PgConnection, told: Arc<Notify>) {
    loop {
        let message = std::future::poll_fn(|context| connection.poll_message(context)).await;
        match message {
            Some(Ok(AsyncMessage::Notification(_))) => told.notify_one(),
            Some(Ok(_)) => {}
            // Requests under way say why.
            Some(Err(_)) | None => break,
        }
    }
    told.notify_one();
}
