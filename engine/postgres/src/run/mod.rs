//! Running statements on one core, and writing their rows.

pub(crate) mod capture;
pub(crate) mod explain;
pub(crate) mod plan_choice;
pub(crate) mod rows;
pub(crate) mod running;
pub(crate) mod scope;
pub(crate) mod session;
pub(crate) mod transaction;
