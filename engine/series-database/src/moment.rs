//! Times, as the protocol has them.

use bytes::{BufMut as _, BytesMut};
use prony_series_store::calendar::{DAY_MS, days_of_date};
use prony_series_store::{TimeMs, TimeRange};
use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// The times that it has.
pub const TIMES: TimeRange = TimeRange {
    from_ms: days_of_date((-4712, 1, 1)) * DAY_MS,
    to_ms: days_of_date((294_276, 1, 1)) * DAY_MS - 1,
};
/// 2000-01-01, from which PostgreSQL counts.
const EPOCH_MS: i64 = 946_684_800_000;

/// A time, as the protocol has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub TimeMs);

impl Moment {
    /// The nearest that there is.
    pub fn nearest(time_ms: TimeMs) -> Self {
        Self(time_ms.clamp(TIMES.from_ms, TIMES.to_ms))
    }
}

impl ToSql for Moment {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i64((self.0 - EPOCH_MS) * 1000);
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(micros.div_euclid(1000).saturating_add(EPOCH_MS)))
    }

    fn accepts(of: &Type) -> bool {
        [Type::TIMESTAMPTZ, Type::TIMESTAMP].contains(of)
    }
}

pub fn now_ms() -> TimeMs {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as TimeMs
}
