//! The routes of calls, with names in braces for what clients choose: for logs that hold no ids, types or attributes.

use http::Method;
use prony_source::http_api::ApiRoute;

use super::{path, temporal};

/// What is looked for comes in the body of these.
const QUERIES: [&str; 2] = ["/v2/op/query", "/ngsi-ld/v1/temporal/entityOperations/query"];

pub(super) fn route(method: &Method, path: &str) -> ApiRoute {
    let segments = path::segments(path).unwrap_or_default();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let path = of_segments(&segments);
    let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    ApiRoute { path: path.into(), changes: !is_read && !QUERIES.contains(&path) }
}

fn of_segments(segments: &[&str]) -> &'static str {
    match segments {
        ["version"] => "/version",
        ["write"] => "/write",
        ["api", "v1", "write"] => "/api/v1/write",
        ["api", "v2", "write"] => "/api/v2/write",
        ["v2", "version"] => "/v2/version",
        ["v2", "notify"] => "/v2/notify",
        ["v2", "op", "query"] => QUERIES[0],
        ["v2", "entities"] => "/v2/entities",
        ["v2", "entities", _] => "/v2/entities/{id}",
        ["v2", "entities", _, "value"] => "/v2/entities/{id}/value",
        ["v2", "entities", _, "attrs", _] => "/v2/entities/{id}/attrs/{attribute}",
        ["v2", "entities", _, "attrs", _, "value"] => "/v2/entities/{id}/attrs/{attribute}/value",
        ["v2", "types", _] => "/v2/types/{type}",
        ["v2", "types", _, "value"] => "/v2/types/{type}/value",
        ["v2", "types", _, "attrs", _] => "/v2/types/{type}/attrs/{attribute}",
        ["v2", "types", _, "attrs", _, "value"] => "/v2/types/{type}/attrs/{attribute}/value",
        ["v2", "attrs"] => "/v2/attrs",
        ["v2", "attrs", "value"] => "/v2/attrs/value",
        ["v2", "attrs", _] => "/v2/attrs/{attribute}",
        ["v2", "attrs", _, "value"] => "/v2/attrs/{attribute}/value",
        ["v2", ..] => "/v2",
        ["ngsi-ld", "v1", "temporal", "entities"] => "/ngsi-ld/v1/temporal/entities",
        ["ngsi-ld", "v1", "temporal", "entities", _] => "/ngsi-ld/v1/temporal/entities/{id}",
        ["ngsi-ld", "v1", "temporal", "entityOperations", "query"] => QUERIES[1],
        ["ngsi-ld", "v1", "temporal", ..] => temporal::PREFIX,
        _ => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All were `/v2` or `/ngsi-ld/v1/temporal`, and what only reads counted as a change.
    #[test]
    fn routes_tell_calls_apart_and_hold_nothing_that_clients_choose() {
        for (method, path, expected, changes) in [
            (Method::POST, "/v2/notify/", "/v2/notify", true),
            (Method::POST, "/v2/op/query", "/v2/op/query", false),
            (Method::DELETE, "/v2/entities/Room:1", "/v2/entities/{id}", true),
            (Method::DELETE, "/v2/types/R%2Fm", "/v2/types/{type}", true),
            (Method::GET, "/v2/entities/a/attrs/t/value", "/v2/entities/{id}/attrs/{attribute}/value", false),
            (Method::POST, "/v2/mine", "/v2", true),
            (Method::POST, "/write", "/write", true),
            (Method::POST, "/ngsi-ld/v1/temporal/entities", "/ngsi-ld/v1/temporal/entities", true),
            (
                Method::POST,
                "/ngsi-ld/v1/temporal/entityOperations/query",
                "/ngsi-ld/v1/temporal/entityOperations/query",
                false,
            ),
            (Method::GET, "/ngsi-ld/v1/temporal/entities/x", "/ngsi-ld/v1/temporal/entities/{id}", false),
            (Method::POST, "/%FF", "/", true),
        ] {
            let expected = ApiRoute { path: expected.into(), changes };
            assert_eq!(route(&method, path), expected, "{method} {path}");
        }
    }
}
