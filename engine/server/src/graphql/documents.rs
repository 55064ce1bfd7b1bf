//! Persisted documents: texts that requests name instead of sending them. Trusted ones come from a file or directory when
//! the server starts; automatic ones (Apollo's protocol, version 1) from clients, within a bound in bytes.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use prony_access::Role;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    request::RequestParameters,
};
use quick_cache::{Weighter, sync::Cache};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// Documents that are kept for automatic use are at least about this long; only sizes the cache's table.
const USUAL_BYTES: u64 = 1 << 10;

/// How documents may be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSettings {
    /// A directory of `.graphql` files, or a JSON file; none where the text is empty.
    pub path: PathBuf,
    /// Whether only documents of the path are answered.
    pub only: bool,
    /// Bytes of documents that clients have registered; 0 for none.
    pub automatic_bytes: u64,
}

impl Default for DocumentSettings {
    fn default() -> Self {
        Self { path: PathBuf::new(), only: false, automatic_bytes: 4 << 20 }
    }
}

/// Why the trusted documents cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    #[error("persisted documents {} cannot be read: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "persisted documents {} are neither an object of ids and texts nor a manifest \
         (apollo-persisted-query-manifest): {source}", .path.display()
    )]
    Form { path: PathBuf, source: serde_json::Error },
    #[error("persisted documents {}: two documents have the id `{id}` and other texts", .path.display())]
    Twice { path: PathBuf, id: String },
    #[error("persisted documents {} hold none; a directory needs files that end in .graphql or .gql", .path.display())]
    Empty { path: PathBuf },
    #[error("only_persisted_documents needs persisted_documents: a directory or file of what is answered")]
    NothingToAnswer,
}

/// All documents that have a name.
#[derive(Debug)]
pub(crate) struct Documents {
    by_id: HashMap<Box<str>, Arc<str>>,
    /// Each with an id that it was given.
    texts: HashMap<Arc<str>, Box<str>>,
    only: bool,
    automatic: Option<Cache<[u8; 32], Arc<str>, ByLength>>,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<[u8; 32], Arc<str>> for ByLength {
    fn weight(&self, _: &[u8; 32], text: &Arc<str>) -> u64 {
        text.len() as u64 + 64
    }
}

/// What a JSON file holds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Manifest {
    /// `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": […]}`.
    Apollo { operations: Vec<ManifestOperation> },
    /// Ids and texts.
    Plain(DocumentTexts),
}

/// As they stand in the file, so that an id that comes twice is found.
struct DocumentTexts(Vec<(String, String)>);

impl<'de> Deserialize<'de> for DocumentTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = DocumentTexts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of ids and texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DocumentTexts, A::Error> {
        let mut texts = Vec::new();
        while let Some(pair) = map.next_entry()? {
            texts.push(pair);
        }
        Ok(DocumentTexts(texts))
    }
}

#[derive(Deserialize)]
struct ManifestOperation {
    id: String,
    body: String,
}

impl Documents {
    pub(crate) fn open(settings: &DocumentSettings) -> Result<Self, DocumentsError> {
        let automatic = settings.automatic_bytes;
        let mut documents = Self {
            by_id: HashMap::new(),
            texts: HashMap::new(),
            only: settings.only,
            automatic: (automatic > 0 && !settings.only).then(|| {
                Cache::with_weighter((automatic / USUAL_BYTES).max(16) as usize, automatic, ByLength)
            }),
        };
        if settings.path.as_os_str().is_empty() {
            return if settings.only { Err(DocumentsError::NothingToAnswer) } else { Ok(documents) };
        }
        for (id, text) in read(&settings.path)? {
            documents.trust(&settings.path, id, &text)?;
        }
        if documents.texts.is_empty() {
            return Err(DocumentsError::Empty { path: settings.path.clone() });
        }
        Ok(documents)
    }

    /// Known under its own id, and under the checksum of its text.
    fn trust(&mut self, path: &Path, id: String, text: &str) -> Result<(), DocumentsError> {
        // Editors end a file with a line break, of which clients know nothing.
        let checksums = [text, text.trim_end()].map(|text| hex(&Sha256::digest(text)));
        let (text, name): (Arc<str>, Box<str>) = (text.trim_end().into(), id.as_str().into());
        let prefixed = checksums.clone().map(|checksum| format!("sha256:{checksum}"));
        for id in [id].into_iter().chain(prefixed).chain(checksums) {
            if let Some(known) = self.by_id.insert(id.clone().into(), Arc::clone(&text))
                && known != text
            {
                return Err(DocumentsError::Twice { path: path.to_owned(), id });
            }
        }
        self.texts.entry(text).or_insert(name);
        Ok(())
    }

    /// The trusted ones with an id of each, in no order.
    pub(crate) fn trusted(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(text, id)| (&**id, &**text))
    }

    /// Whether there is something that a role can be answered which is answered these alone.
    pub(super) fn has_trusted(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Whether a role is answered other texts than the trusted ones; whoever has none is.
    pub(super) fn takes_texts(&self, role: Option<&Role>) -> bool {
        !self.only && !role.is_some_and(|role| role.only_persisted_documents)
    }

    /// Fills in the text of a request that names it, and refuses what a role may not ask.
    pub(crate) fn resolve(
        &self,
        parameters: &mut RequestParameters,
        role: Option<&Role>,
    ) -> Result<(), GraphqlError> {
        let takes_texts = self.takes_texts(role);
        if let Some(id) = parameters.document_id.take() {
            let text = self.by_id.get(&*id).ok_or_else(|| unknown(&id))?;
            if !parameters.query.is_empty() && parameters.query.trim_end() != &**text {
                return Err(GraphqlError::new(
                    ErrorCode::BadUserInput,
                    "query is not the document that documentId names",
                ));
            }
            parameters.query = text.to_string();
        } else if let Some(named) = parameters.extensions.get("persistedQuery") {
            let named = named.clone();
            self.resolve_automatic(parameters, &named, takes_texts)?;
        }
        if !takes_texts && !self.texts.contains_key(parameters.query.trim_end()) {
            let message = if self.only {
                "this server answers persisted documents only; ask its operator to add this one"
            } else {
                "your role is answered persisted documents only; ask the server's operator to add this one"
            };
            return Err(GraphqlError::new(ErrorCode::DocumentNotFound, message));
        }
        Ok(())
    }

    fn resolve_automatic(
        &self,
        parameters: &mut RequestParameters,
        named: &Json,
        takes_texts: bool,
    ) -> Result<(), GraphqlError> {
        let checksum = named.get("sha256Hash").and_then(Json::as_str).and_then(unhex);
        let (Some(checksum), Some(1)) = (checksum, named.get("version").and_then(Json::as_u64)) else {
            let message =
                "extensions.persistedQuery must have version 1 and sha256Hash, 64 hexadecimal digits";
            return Err(GraphqlError::new(ErrorCode::BadUserInput, message));
        };
        if parameters.query.is_empty() {
            parameters.query = self.registered(&checksum, takes_texts)?.to_string();
            return Ok(());
        }
        if *Sha256::digest(parameters.query.as_bytes()) != checksum {
            return Err(GraphqlError::new(ErrorCode::BadUserInput, "provided sha does not match query"));
        }
        if let Some(automatic) = self.automatic.as_ref().filter(|_| takes_texts) {
            automatic.insert(checksum, Arc::from(&*parameters.query));
        }
        Ok(())
    }

    /// The messages are what Apollo's clients look for: they then send the text.
    fn registered(&self, checksum: &[u8; 32], takes_texts: bool) -> Result<Arc<str>, GraphqlError> {
        if let Some(text) = self.by_id.get(&*hex(checksum)) {
            return Ok(Arc::clone(text));
        }
        let Some(automatic) = self.automatic.as_ref().filter(|_| takes_texts) else {
            return Err(GraphqlError::new(ErrorCode::DocumentsNotSupported, "PersistedQueryNotSupported"));
        };
        automatic
            .get(checksum)
            .ok_or_else(|| GraphqlError::new(ErrorCode::DocumentNotFound, "PersistedQueryNotFound"))
    }
}

fn unknown(id: &str) -> GraphqlError {
    let id: String = id.chars().filter(|character| !character.is_control()).take(80).collect();
    let message = format!("no persisted document has the id `{id}`; ask the server's operator to add it");
    GraphqlError::new(ErrorCode::DocumentNotFound, message)
}

/// Ids with texts: file names without their ending, or what a JSON file says.
fn read(path: &Path) -> Result<Vec<(String, String)>, DocumentsError> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |source| DocumentsError::Read { path, source }
    };
    if !path.is_dir() {
        let text = fs::read_to_string(path).map_err(fault(path))?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|source| DocumentsError::Form { path: path.to_owned(), source })?;
        return Ok(match manifest {
            Manifest::Apollo { operations } => operations.into_iter().map(|one| (one.id, one.body)).collect(),
            Manifest::Plain(DocumentTexts(texts)) => texts,
        });
    }
    let mut documents = Vec::new();
    for entry in fs::read_dir(path).map_err(fault(path))? {
        let file = entry.map_err(fault(path))?.path();
        if !file.extension().is_some_and(|ending| ending == "graphql" || ending == "gql") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(fault(&file))?;
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        documents.push((id, text));
    }
    Ok(documents)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}
