//! Tests to come in this file: properties.
