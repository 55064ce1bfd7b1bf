//! Texts in the cells of the tables.

/// Where there is no figure.
pub(super) const NONE: &str = "-";

/// Of a share from 0 to 1.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(NONE.to_owned(), |share| format!("{:.0} %", share * 100.0))
}
