//! The HTTP APIs that sources bring: which of them has a path, and one client's connections to them. [`by_hyper`] has the
//! requests that hyper has read, `http::simple` the others; both call an API in the same way. [`calls`] says who may make which.

mod body;
pub(super) mod by_hyper;
mod by_role;
pub(super) mod calls;

use std::{cell::RefCell, sync::Arc};

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use prony_graphql::schema::SourceId;
use prony_source::{
    Source,
    http_api::{ApiConnection, ApiLimits, ApiResponse, HttpApi, ResponseStream},
};

use super::reply::{Reply, ReplyBody, StreamedBody};
use crate::config::Settings;

/// All of a server, in the order of their sources.
#[derive(Debug)]
pub(crate) struct HttpApis {
    apis: Vec<ServedApi>,
    /// How many sources there are, with and without an API.
    sources: usize,
    limits: ApiLimits,
}

#[derive(Debug)]
struct ServedApi {
    api: Arc<dyn HttpApi>,
    source: SourceId,
    /// As the API says them.
    prefixes: &'static [&'static str],
}

/// Which API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApiId(usize);

impl HttpApis {
    pub(crate) fn of<'a>(
        sources: impl IntoIterator<Item = &'a Arc<dyn Source>>,
        settings: &Settings,
    ) -> Self {
        let apis: Vec<_> = sources.into_iter().map(|source| source.http_api()).collect();
        let sources = apis.len();
        let apis = (0u16..).map(SourceId).zip(apis).filter_map(|(id, api)| Some((id, api?)));
        let apis = apis.map(|(source, api)| ServedApi { prefixes: api.prefixes(), source, api }).collect();
        Self { apis, sources, limits: ApiLimits { max_body_bytes: settings.max_body_bytes } }
    }

    /// The API that has this path.
    pub(crate) fn find(&self, path: &str) -> Option<ApiId> {
        let has = |api: &ServedApi| api.prefixes.iter().any(|prefix| is_below(path, prefix));
        self.apis.iter().position(has).map(ApiId)
    }

    /// The codings that a body of a request at a path may have.
    pub(super) fn content_codings(&self, path: &str) -> &'static [&'static str] {
        self.find(path).map_or(&[], |id| self.get(id).content_codings(path))
    }

    /// The API that responds at paths that nobody has.
    pub(super) fn of_unknown_paths(&self) -> Option<ApiId> {
        self.apis.iter().position(|api| api.api.takes_unknown_paths()).map(ApiId)
    }

    /// The API that responds at `/health`: of the only source of a server.
    pub(super) fn of_health(&self) -> Option<ApiId> {
        let is_alone = self.sources == 1;
        self.apis.iter().position(|api| is_alone && api.api.responds_to_health()).map(ApiId)
    }

    pub(super) const fn limits(&self) -> ApiLimits {
        self.limits
    }

    /// Whose API it is.
    pub(super) fn source(&self, id: ApiId) -> SourceId {
        self.apis[id.0].source
    }

    pub(super) fn get(&self, id: ApiId) -> &dyn HttpApi {
        &*self.apis[id.0].api
    }
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

/// One client's connections to the APIs that it has sent requests to.
#[derive(Debug, Default)]
pub(crate) struct ApiConnections(RefCell<Vec<Option<Box<dyn ApiConnection>>>>);

impl ApiConnections {
    /// For one request; [put back](Self::put_back) behind it.
    pub(super) fn take(&self, apis: &HttpApis, id: ApiId) -> Box<dyn ApiConnection> {
        let kept = self.0.borrow_mut().get_mut(id.0).and_then(Option::take);
        kept.unwrap_or_else(|| apis.get(id).connect(apis.limits))
    }

    pub(super) fn put_back(&self, id: ApiId, connection: Box<dyn ApiConnection>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() <= id.0 {
            kept.resize_with(id.0 + 1, || None);
        }
        kept[id.0] = Some(connection);
    }
}

/// A refusal in the form of an API, after which the connection is closed.
pub(super) fn refuse(apis: &HttpApis, id: ApiId, status: StatusCode, message: &str) -> Reply {
    into_reply(refusal(apis, id, status, message), None, true)
}

/// What an API says where the server refuses a call.
pub(super) fn refusal(apis: &HttpApis, id: ApiId, status: StatusCode, message: &str) -> ApiResponse {
    let mut response = ApiResponse::default();
    apis.get(id).refuse(status, message, &mut response);
    response
}

/// A response as hyper is given it.
pub(super) fn into_reply(response: ApiResponse, rest: Option<ResponseStream>, closes: bool) -> Reply {
    let ApiResponse { status, content_type, headers, mut body } = response;
    if !may_have_body(status) {
        body.clear();
    }
    let mut reply = Response::new(match rest {
        None => ReplyBody::Whole(Full::new(body.into())),
        Some(rest) => ReplyBody::Stream(Box::new(StreamedBody::new(body.into(), rest))),
    });
    *reply.status_mut() = status;
    let fields = reply.headers_mut();
    if let Some(content_type) = content_type {
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    for (name, value) in headers {
        fields.append(name, value);
    }
    if closes {
        fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// RFC 9110, section 6.4.1.
pub(super) fn may_have_body(status: StatusCode) -> bool {
    !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_what_is_below_it() {
        for (path, prefix, expected) in [
            ("/dbs", "/dbs", true),
            ("/dbs/", "/dbs", true),
            ("/dbs/a", "/dbs", true),
            ("/dbsa", "/dbs", false),
            ("/db", "/dbs", false),
            ("/db/", "/db/", true),
            ("/db/a", "/db/", true),
            ("/db", "/db/", false),
        ] {
            assert_eq!(is_below(path, prefix), expected, "{path} {prefix}");
        }
    }
}
