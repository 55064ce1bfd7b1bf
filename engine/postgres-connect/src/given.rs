//! Parameters as they were given.

use std::collections::BTreeMap;

/// Values by their parameters' names, as they were written.
pub(crate) type Given = BTreeMap<String, String>;
