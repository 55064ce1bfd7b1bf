//! The routes of calls, with names in braces for what clients choose: for logs that hold no names, keys or values.

use http::Method;
use prony_graph_store::Side;
use prony_source::http_api::ApiRoute;

use super::path::{self, Aspect, Call, NodeName, Owner, split};

pub(super) fn route(method: &Method, path: &str) -> ApiRoute {
    let is_read = path::is_read(method);
    let Some((_, rest)) = split(path) else {
        let path = if path == "/dbs" { "/dbs" } else { "/dbs/{name}" };
        return ApiRoute { path: path.into(), changes: !is_read };
    };
    let call = path::read(rest);
    let path = call.as_ref().map_or_else(|_| String::new(), |call| format!("/{}", of_call(call)));
    // What is looked for may come in a body.
    let changes = !is_read && !matches!(call, Ok(Call::Find(..)));
    ApiRoute { path: format!("/db/{{graph}}{path}").into(), changes }
}

fn of_call(call: &Call<'_>) -> String {
    match call {
        Call::Node(name) => node(name).to_owned(),
        Call::Relationship(_) => "relationship/{id}".to_owned(),
        Call::List(of, None) => side(*of).to_owned(),
        Call::List(of, Some(_)) => format!("{}/{{type}}", side(*of)),
        Call::Find(of, ..) => format!("{}/{{type}}/{{property}}/{{operation}}", side(*of)),
        Call::Relate(from, to, _) => format!("{}/relationship/{}/{{rel_type}}", node(from), other(to)),
        Call::Neighborhood(of, aspect, _) => {
            let aspect = match aspect {
                Aspect::Relationships => "relationships",
                Aspect::Neighbors => "neighbors",
                Aspect::Degree => "degree",
            };
            format!("{}/{aspect}", node(of))
        }
        Call::Connected(from, to, _) => format!("{}/connected/{}", node(from), other(to)),
        Call::Properties(of) => format!("{}/properties", owner(of)),
        Call::Property(of, _) => format!("{}/property/{{name}}", owner(of)),
        Call::Schema => "schema".to_owned(),
        Call::Types(of) => format!("schema/{}", side(*of)),
        Call::Type(of, _) => format!("schema/{}/{{type}}", side(*of)),
        Call::Declared(of, ..) => format!("schema/{}/{{type}}/properties/{{name}}", side(*of)),
        Call::Declare(of, ..) => format!("schema/{}/{{type}}/properties/{{name}}/{{data_type}}", side(*of)),
        Call::Index(of, ..) => format!("schema/{}/{{type}}/properties/{{name}}/index", side(*of)),
        Call::Indexes(of, None) => format!("schema/{}/indexes", side(*of)),
        Call::Indexes(of, Some(_)) => format!("schema/{}/{{type}}/indexes", side(*of)),
        Call::HealthCheck => "health_check".to_owned(),
        Call::Lua => "lua".to_owned(),
    }
}

const fn node(name: &NodeName<'_>) -> &'static str {
    match name {
        NodeName::Key(..) => "node/{type}/{key}",
        NodeName::Id(_) => "node/{id}",
    }
}

const fn other(name: &NodeName<'_>) -> &'static str {
    match name {
        NodeName::Key(..) => "{type2}/{key2}",
        NodeName::Id(_) => "{id2}",
    }
}

const fn owner(of: &Owner<'_>) -> &'static str {
    match of {
        Owner::Node(name) => node(name),
        Owner::Relationship(_) => "relationship/{id}",
    }
}

const fn side(of: Side) -> &'static str {
    match of {
        Side::Nodes => "nodes",
        Side::Relationships => "relationships",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_hold_nothing_that_clients_choose() {
        for (method, path, expected, changes) in [
            (Method::GET, "/dbs", "/dbs", false),
            (Method::POST, "/dbs/mine", "/dbs/{name}", true),
            (Method::POST, "/db/rage/node/User/neighbors%21", "/db/{graph}/node/{type}/{key}", true),
            (Method::DELETE, "/db/rage/node/1026", "/db/{graph}/node/{id}", true),
            (
                Method::POST,
                "/db/rage/nodes/User/age/EQ",
                "/db/{graph}/nodes/{type}/{property}/{operation}",
                false,
            ),
            (Method::POST, "/db/rage/nodes", "/db/{graph}/nodes", true),
            (Method::POST, "/db/rage/lua", "/db/{graph}/lua", true),
            (
                Method::POST,
                "/db/rage/node/1/relationship/2/KNOWS",
                "/db/{graph}/node/{id}/relationship/{id2}/{rel_type}",
                true,
            ),
            (
                Method::PUT,
                "/db/rage/relationship/7/property/age",
                "/db/{graph}/relationship/{id}/property/{name}",
                true,
            ),
            (
                Method::POST,
                "/db/rage/schema/nodes/User/properties/age/integer",
                "/db/{graph}/schema/nodes/{type}/properties/{name}/{data_type}",
                true,
            ),
            (
                Method::GET,
                "/db/rage/node/User/a/neighbors/out/A&B",
                "/db/{graph}/node/{type}/{key}/neighbors",
                false,
            ),
            (Method::POST, "/db/rage/node/User/%FF", "/db/{graph}", true),
        ] {
            let found = route(&method, path);
            assert_eq!((&*found.path, found.changes), (expected, changes), "{method} {path}");
        }
    }
}
