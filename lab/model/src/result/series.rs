//! How the seconds of a run stand in its result file: a list for each column, not an object for each second, which for
//! a day is a third of the size and of the time to read. Programs take it as a table as it is.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A row of a table that is saved by columns.
pub(crate) trait Row: Sized {
    /// A list for each column, all equally long.
    type Columns: Serialize + for<'de> Deserialize<'de>;

    fn columns(rows: &[Self]) -> Self::Columns;

    /// The error names the column whose length is another than that of `second`.
    fn rows(columns: &Self::Columns) -> Result<Vec<Self>, String>;
}

pub(crate) fn serialize<R: Row, S: Serializer>(rows: &[R], to: S) -> Result<S::Ok, S::Error> {
    R::columns(rows).serialize(to)
}

pub(crate) fn deserialize<'de, R: Row, D: Deserializer<'de>>(from: D) -> Result<Vec<R>, D::Error> {
    R::rows(&R::Columns::deserialize(from)?).map_err(D::Error::custom)
}

/// The columns of a row, and how rows become them. Those behind `and` came later: files without them have the given value.
macro_rules! table {
    (
        $columns:ident of $row:ident { $($column:ident: $kind:ty),* $(,)? }
        $(and { $($later:ident: $later_kind:ty = $value:expr),* $(,)? })?
    ) => {
        #[derive(Serialize, Deserialize)]
        pub(crate) struct $columns {
            $($column: Vec<$kind>,)*
            $($(#[serde(default)] $later: Vec<$later_kind>,)*)?
        }

        impl $crate::result::series::Row for $row {
            type Columns = $columns;

            fn columns(rows: &[Self]) -> $columns {
                $columns {
                    $($column: rows.iter().map(|row| row.$column).collect(),)*
                    $($($later: rows.iter().map(|row| row.$later).collect(),)*)?
                }
            }

            fn rows(columns: &$columns) -> Result<Vec<Self>, String> {
                let length = columns.second.len();
                $(if columns.$column.len() != length {
                    let found = columns.$column.len();
                    return Err(format!(
                        "`{}` has {found} seconds, `second` {length}",
                        stringify!($column)
                    ));
                })*
                let row = |index: usize| Self {
                    $($column: columns.$column[index],)*
                    $($($later: columns.$later.get(index).copied().unwrap_or($value),)*)?
                };
                Ok((0..length).map(row).collect())
            }
        }
    };
}

pub(crate) use table;
