//! What tests share: a temporary PostgreSQL, QuestDB or Redis, seeded chance, scripted peers, oracles' conditions and schemas, the `prony`
//! process and sample data. A dev-dependency only; its helpers panic with a full message where a test could do nothing else.

pub mod certificates;
pub mod chinook;
pub mod condition;
#[cfg(feature = "source")]
pub mod counters;
pub mod jmeter;
#[cfg(feature = "log")]
pub mod log;
pub mod nats;
pub mod peer;
pub mod port;
pub mod postgres;
pub mod process;
pub mod questdb;
pub mod redis;
pub mod secure_peer;
pub mod seed;
pub mod type_map;
mod watchdog;

pub use certificates::Certificates;
pub use condition::Condition;
#[cfg(feature = "source")]
pub use counters::{Counters, CountersKind};
pub use jmeter::JMeter;
pub use nats::NatsServer;
pub use port::free_port;
pub use postgres::{Cluster, TestDatabase};
pub use process::PronyProcess;
pub use questdb::{QuestServer, questdb_program};
pub use redis::RedisServer;
pub use secure_peer::{SecurePeer, SecurePeerOptions};
pub use seed::Seeded;
