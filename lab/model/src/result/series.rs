//! How the seconds of a run stand in its result file: a list for each column, not an object for each second, which for
//! a day is a third of the size and of the time to read. Programs take it as a table as it is.

use crate::result::SecondRow;
use crate::subscription::figures::SubscriberRow;
use crate::units::Nanos;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A module for each table: its lists, all equally long, and how rows become them.
macro_rules! table {
    ($name:ident of $row:ident { $($column:ident: $kind:ty),* $(,)? }) => {
        pub(crate) mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Columns {
                $($column: Vec<$kind>,)*
            }

            impl Columns {
                fn of(rows: &[$row]) -> Self {
                    Self { $($column: rows.iter().map(|row| row.$column).collect(),)* }
                }

                fn rows(&self) -> Result<Vec<$row>, String> {
                    let length = self.second.len();
                    $(if self.$column.len() != length {
                        let found = self.$column.len();
                        return Err(format!(
                            "`{}` has {found} seconds, `second` {length}",
                            stringify!($column)
                        ));
                    })*
                    Ok((0..length).map(|index| $row { $($column: self.$column[index],)* }).collect())
                }
            }

            pub(crate) fn serialize<S: Serializer>(rows: &[$row], to: S) -> Result<S::Ok, S::Error> {
                Columns::of(rows).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<$row>, D::Error> {
                Columns::deserialize(from)?.rows().map_err(D::Error::custom)
            }
        }
    };
}

table! {
    requests of SecondRow {
        second: u64,
        users: u32,
        started: u64,
        dropped: u64,
        successes: u64,
        failures: u64,
        timeouts: u64,
        bytes_received: u64,
        p50_ns: Option<Nanos>,
        p95_ns: Option<Nanos>,
        p99_ns: Option<Nanos>,
        max_ns: Option<Nanos>,
    }
}

table! {
    subscribers of SubscriberRow {
        second: u64,
        active: u64,
        events: u64,
        bytes: u64,
        missed: u64,
        p50_ns: Option<Nanos>,
        p99_ns: Option<Nanos>,
        max_ns: Option<Nanos>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super::requests")]
        series: Vec<SecondRow>,
    }

    #[test]
    fn seconds_are_written_as_columns_and_read_back() {
        let row = |second, p50_ns| SecondRow { second, users: 7, p50_ns, ..SecondRow::default() };
        let holder = Holder { series: vec![row(0, None), row(1, Some(Nanos(5)))] };
        let text = serde_json::to_string(&holder).unwrap();
        assert!(text.contains(r#""second":[0,1],"users":[7,7],"started":[0,0]"#), "{text}");
        assert!(text.contains(r#""p50_ns":[null,5]"#), "{text}");
        assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder);
        let torn = text.replace("[7,7]", "[7]");
        let error = serde_json::from_str::<Holder>(&torn).unwrap_err().to_string();
        assert!(error.contains("`users` has 1 seconds, `second` 2"), "{error}");
    }
}
