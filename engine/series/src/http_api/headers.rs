//! What the headers of FIWARE say: the tenant, the service path, and which attribute has the time.

use std::borrow::Cow;

use http::HeaderName;
use prony_source::http_api::ApiRequest;

use crate::{
    access::role::RoleAccess,
    query::result::{Purpose, Scope},
};

const TENANTS: [HeaderName; 2] =
    [HeaderName::from_static("ngsild-tenant"), HeaderName::from_static("fiware-service")];
const SERVICE_PATH: HeaderName = HeaderName::from_static("fiware-servicepath");
const TIME_INDEX: HeaderName = HeaderName::from_static("fiware-timeindex-attribute");
const CORRELATOR: HeaderName = HeaderName::from_static("fiware-correlator");

fn value<'r>(request: &ApiRequest<'r>, name: &HeaderName) -> Option<Cow<'r, str>> {
    request.headers.value(name).filter(|value| !value.is_empty()).map(String::from_utf8_lossy)
}

pub(super) fn tenant<'r>(request: &ApiRequest<'r>) -> Cow<'r, str> {
    TENANTS.iter().find_map(|name| value(request, name)).unwrap_or_default()
}

/// As it was sent; `/` where it was not.
pub(super) fn service_path<'r>(request: &ApiRequest<'r>) -> Cow<'r, str> {
    value(request, &SERVICE_PATH).unwrap_or(Cow::Borrowed("/"))
}

pub(super) fn time_index<'r>(request: &ApiRequest<'r>) -> Option<Cow<'r, str>> {
    value(request, &TIME_INDEX)
}

pub(super) fn correlator<'r>(request: &ApiRequest<'r>) -> Option<Cow<'r, str>> {
    value(request, &CORRELATOR)
}

/// One service path in the form in which it is kept: it begins with a slash and ends with none, but for the root.
pub(super) fn normal_path(path: &str) -> Cow<'_, str> {
    let trimmed = path.trim().trim_end_matches('#').trim_end_matches('/');
    if trimmed.is_empty() {
        Cow::Borrowed("/")
    } else if trimmed.starts_with('/') {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(format!("/{trimmed}"))
    }
}

/// The tenant and the service path that a request writes to.
pub(super) fn destination(request: &ApiRequest<'_>) -> (String, String) {
    (tenant(request).into_owned(), normal_path(&service_path(request)).into_owned())
}

/// What a query or a deletion is about.
pub(super) fn scope(request: &ApiRequest<'_>, role: Option<&RoleAccess>, purpose: Purpose) -> Scope {
    let path = normal_path(&service_path(request)).into_owned();
    let tenant = tenant(request).into_owned();
    Scope { tenant, path: (path != "/").then_some(path), role: role.cloned(), purpose }
}
