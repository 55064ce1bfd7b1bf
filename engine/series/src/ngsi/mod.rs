//! NGSI version 2 and NGSI-LD as data: bodies, times, conversions of values, places. Knows neither HTTP nor the store's files.

pub(crate) mod attribute_type;
pub(crate) mod convert;
pub(crate) mod entity;
pub(crate) mod geometry;
pub(crate) mod json;
pub(crate) mod metadata;
pub(crate) mod time;
pub(crate) mod time_index;
