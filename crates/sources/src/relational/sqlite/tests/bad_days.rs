//! Tests to come in this file: bad_days.
