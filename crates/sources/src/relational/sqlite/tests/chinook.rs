//! Tests to come in this file: chinook.
