//! Databases behind an engine: started in a directory of their own on a free port and gone when they are dropped, or the user's own at an
//! address. What is asked of them is left to the experiments.

mod error;
mod postgres;
mod programs;
mod questdb;
mod redis;
mod scratch;
mod server;

pub use self::error::DatabaseError;
pub(crate) use self::postgres::{PostgresPlace, provide as provide_postgres};
pub(crate) use self::questdb::{QuestPlace, ScratchTables, provide as provide_questdb};
pub(crate) use self::redis::{RedisPlace, provide as provide_redis};
pub(crate) use self::scratch::ScratchDatabase;
