//! What is read of a recording: HAR 1.2, as browsers save it, with what Chromium and Firefox add.

use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
pub(super) struct Har {
    pub(super) log: Log,
}

#[derive(Debug, Deserialize)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    /// ISO 8601.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) started_date_time: String,
    /// In milliseconds; -1 where it is not known.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) time: f64,
    pub(super) request: RecordedRequest,
    pub(super) response: RecordedResponse,
    /// Of Chromium.
    #[serde(default, rename = "_resourceType", deserialize_with = "or_default")]
    pub(super) resource_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) headers: Vec<Pair>,
    pub(super) post_data: Option<PostData>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mime_type: String,
    pub(super) text: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) params: Vec<Param>,
    /// Of Firefox and others: `base64`.
    pub(super) encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Param {
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) value: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RecordedResponse {
    /// 0 where none came.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) status: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) headers: Vec<Pair>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) content: Content,
}

#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mime_type: String,
    pub(super) text: Option<String>,
    pub(super) encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) value: String,
}

/// Some programs write `null` for what they do not know.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

impl RecordedResponse {
    pub(super) fn header<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let is_it = move |pair: &&Pair| pair.name.eq_ignore_ascii_case(name);
        // Firefox joins several of a name by ends of lines.
        self.headers.iter().filter(is_it).flat_map(|pair| pair.value.split('\n'))
    }
}
