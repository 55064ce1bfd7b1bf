//! Tests to come in this file: mutations.
