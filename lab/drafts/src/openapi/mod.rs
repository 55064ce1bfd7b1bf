//! A plan of a description in OpenAPI (3.0 to 3.2): a request for each operation, chosen as often as any other.

mod document;
mod example;
mod operation;

use std::path::Path;

use serde_json::Value;
use url::Url;

use self::{document::Document, operation::Operation};
use crate::{
    DraftError,
    draft::{Draft, Request},
    names::Names,
};

/// What is taken of a description.
#[derive(Debug, Default)]
pub struct OpenApiOptions {
    /// Where the API is, instead of the description's first server.
    pub target: Option<String>,
    /// Also operations that change something.
    pub writes: bool,
}

/// Methods of a path (OpenAPI 3.2.0, 4.9.1), and whether they change something (RFC 9110, 9.2.1).
const METHODS: [(&str, bool); 8] = [
    ("get", false),
    ("head", false),
    ("query", false),
    ("options", false),
    ("post", true),
    ("put", true),
    ("patch", true),
    ("delete", true),
];

/// Drafts a plan.
pub fn from_openapi(path: &Path, options: &OpenApiOptions) -> Result<Draft, DraftError> {
    let what = path.display().to_string();
    let document = Document::read(path)?;
    let server = server(&document, options)?;
    let mut draft = Draft::default();
    draft.target(&server.target);
    let title = document.root().pointer("/info/title").and_then(Value::as_str);
    draft.name = title.filter(|title| !title.trim().is_empty()).unwrap_or("api").into();
    let (mut names, mut variables) = (Names::default(), Names::default());
    let (mut writing, mut deprecated, mut unsaid) = (Vec::new(), 0, Vec::new());
    let paths = document.root().get("paths").and_then(Value::as_object);
    for (template, item) in paths.into_iter().flatten() {
        let Some(item) = document.resolve(item) else {
            unsaid.push(format!("{template} (its `$ref` leads out of the file)"));
            continue;
        };
        for (method, changes) in METHODS {
            let Some(described) = item.get(method) else { continue };
            let method = method.to_ascii_uppercase();
            if changes && !options.writes {
                writing.push(format!("{method} {template}"));
                continue;
            }
            if described.get("deprecated") == Some(&Value::Bool(true)) {
                deprecated += 1;
                continue;
            }
            if options.target.is_none() && [described, item].into_iter().any(has_servers) {
                unsaid
                    .push(format!("{method} {template} (it has servers of its own; --target replaces them)"));
                continue;
            }
            let operation = Operation { document: &document, template, method: &method, item, described };
            match operation.request(&mut draft, &mut variables) {
                Ok(request) => {
                    let id = described.get("operationId").and_then(Value::as_str);
                    let name = id.map_or_else(|| format!("{method} {template}"), str::to_owned);
                    let path = format!("{}{}", server.prefix, request.path);
                    draft.requests.push(Request { name: names.request(&name), path, ..request });
                }
                Err(why) => unsaid.push(format!("{method} {template} ({why})")),
            }
        }
    }
    if deprecated > 0 {
        draft.notes.push(format!("Left out: {deprecated} deprecated."));
    }
    if !writing.is_empty() {
        draft.notes.push(format!(
            "Left out, because they change something (--writes has them): {}.",
            writing.join(", ")
        ));
    }
    if !unsaid.is_empty() {
        draft.notes.push(format!("Left out: {}.", unsaid.join(", ")));
    }
    if draft.requests.is_empty() {
        let why = if draft.notes.is_empty() { "it has no `paths`".to_owned() } else { draft.notes.join(" ") };
        return Err(DraftError::Nothing { what, why });
    }
    Ok(draft)
}

/// A path or an operation that is somewhere else than the description's others (OpenAPI 3.1.1, 4.6.2).
fn has_servers(holder: &Value) -> bool {
    holder.get("servers").and_then(Value::as_array).is_some_and(|servers| !servers.is_empty())
}

/// Where the API is.
#[derive(Debug)]
struct Server {
    target: String,
    /// Before each path.
    prefix: String,
}

fn server(document: &Document, options: &OpenApiOptions) -> Result<Server, DraftError> {
    let described = document.root().pointer("/servers/0");
    let described_url = described.and_then(|server| {
        let mut url = server.get("url")?.as_str()?.to_owned();
        for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
            let value = variable.get("default").and_then(Value::as_str).unwrap_or_default();
            url = url.replace(&format!("{{{name}}}"), value);
        }
        Some(url)
    });
    let text = match (&options.target, &described_url) {
        (Some(target), _) if target.contains("://") => target.clone(),
        (Some(target), _) => format!("http://{target}"),
        (None, Some(url)) => url.clone(),
        (None, None) => "/".to_owned(),
    };
    let mut url = Url::parse(&text).map_err(|_| DraftError::Address {
        text: text.clone(),
        why: "the description does not say on which host the API is; add --target http://HOST[:PORT]"
            .to_owned(),
    })?;
    // A server without a host says where on the host the API is (OpenAPI 3.1.1, 4.6.2).
    let path = described_url.filter(|path| path.starts_with('/') && !path.starts_with("//"));
    if let Some(path) = path.filter(|_| url.path() == "/").and_then(|path| url.join(&path).ok()) {
        url.set_path(path.path());
    }
    if !["http", "https"].contains(&url.scheme()) {
        let why = "it begins with neither http:// nor https://; add --target".to_owned();
        return Err(DraftError::Address { text, why });
    }
    Ok(Server {
        target: url.origin().ascii_serialization(),
        prefix: url.path().trim_end_matches('/').to_owned(),
    })
}

#[cfg(test)]
mod tests;
