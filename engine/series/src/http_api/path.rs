//! Which call a request is.

use http::{Method, StatusCode};
use prony_source::http_api::percent;

use crate::query::{fault::Fault, shape::Shape};

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Root,
    Version,
    Notify,
    /// `InfluxDB`'s line protocol.
    Lines,
    /// Prometheus' remote write.
    Samples,
    LastValues,
    /// Whether series can be read and written.
    Health,
    /// Which entities there are.
    Entities,
    /// Rows of one entity, of those of a type, or of all.
    Rows {
        shape: Shape,
        of: Owner,
        attribute: Option<String>,
        only_values: bool,
    },
    DeleteEntity(String),
    DeleteType(String),
}

/// Whose rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Entity(String),
    Type(String),
    All,
}

/// The call that a method and a path are.
pub(super) fn read(method: &Method, path: &str) -> Result<Call, Fault> {
    let unknown = || Fault::Problem {
        status: StatusCode::NOT_FOUND,
        detail: "The requested URL was not found on the server. GET /v2 lists what there is.".into(),
    };
    let segments = segments(path)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_get = method == Method::GET || method == Method::HEAD;
    let call = if is_get {
        read_get(&segments)
    } else {
        match (method.as_str(), &segments[..]) {
            ("POST", ["v2", "notify"]) => Some(Call::Notify),
            ("POST", ["write"] | ["api", "v2", "write"]) => Some(Call::Lines),
            ("POST", ["api", "v1", "write"]) => Some(Call::Samples),
            ("POST", ["v2", "op", "query"]) => Some(Call::LastValues),
            ("DELETE", ["v2", "entities", id]) => Some(Call::DeleteEntity((*id).to_owned())),
            ("DELETE", ["v2", "types", name]) => Some(Call::DeleteType((*name).to_owned())),
            _ => None,
        }
    };
    if call.is_none() && (read_get(&segments).is_some() || has_post_alone(&segments)) {
        return Err(Fault::Problem {
            status: StatusCode::METHOD_NOT_ALLOWED,
            detail: "The method is not allowed for the requested URL.".into(),
        });
    }
    call.ok_or_else(unknown)
}

/// A path without slashes at its end, which say nothing.
pub(super) fn canonical(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// What stands between the slashes of a path, decoded.
pub(super) fn segments(path: &str) -> Result<Vec<String>, Fault> {
    let segments = canonical(path).trim_start_matches('/').split('/');
    segments
        .map(|segment| percent::text(segment).map(std::borrow::Cow::into_owned))
        .collect::<Option<Vec<String>>>()
        .ok_or_else(|| Fault::bad_request("the path is not UTF-8 in percent-encoding"))
}

/// Paths that have POST alone.
fn has_post_alone(segments: &[&str]) -> bool {
    matches!(segments, ["v2", "notify"] | ["v2", "op", "query"] | ["write"] | ["api", "v1" | "v2", "write"])
}

fn read_get(segments: &[&str]) -> Option<Call> {
    let (segments, only_values) = match segments {
        // An attribute that is called so, with its index.
        ["v2", "entities" | "types", _, "attrs", "value"] => (segments, false),
        // An entity, a type or an attribute may be called so too.
        [rest @ .., "value"] if rest.len() > 2 || rest == ["v2", "attrs"] => (rest, true),
        all => (all, false),
    };
    let rows = |shape, of, attribute: Option<&str>| {
        Some(Call::Rows { shape, of, attribute: attribute.map(str::to_owned), only_values })
    };
    match segments {
        ["version"] | ["v2", "version"] => Some(Call::Version),
        ["health"] => Some(Call::Health),
        ["v2"] => Some(Call::Root),
        ["v2", "entities"] => Some(Call::Entities),
        ["v2", "entities", id] => rows(Shape::Entity, Owner::Entity((*id).to_owned()), None),
        ["v2", "entities", id, "attrs", name] => {
            rows(Shape::EntityAttribute, Owner::Entity((*id).to_owned()), Some(name))
        }
        ["v2", "types", of] => rows(Shape::Type, Owner::Type((*of).to_owned()), None),
        ["v2", "types", of, "attrs", name] => {
            rows(Shape::TypeAttribute, Owner::Type((*of).to_owned()), Some(name))
        }
        ["v2", "attrs"] => rows(Shape::Attributes, Owner::All, None),
        ["v2", "attrs", name] => rows(Shape::Attribute, Owner::All, Some(name)),
        _ => None,
    }
}
