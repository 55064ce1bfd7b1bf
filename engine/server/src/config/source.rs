//! One source of a configuration.

use std::sync::Arc;

use prony_source::config::{SourceOpener, SourceUrl};

use super::places::SourcePlaces;

/// One source, ready to be opened.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    /// For logs, metrics and `/health`; unique.
    pub name: String,
    pub url: SourceUrl,
    pub opener: Arc<dyn SourceOpener>,
    /// Where its parts stand.
    pub places: SourcePlaces,
}
