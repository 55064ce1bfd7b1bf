//! What of a sample an extractor or an assertion looks at, as its field "Apply to" says.

/// Which results of a sample are looked at: its own, those of redirects and embedded resources that are part of it, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleScope {
    Main,
    Parts,
    All,
}
