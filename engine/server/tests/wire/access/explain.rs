//! Who may be told what operations become.

use serde_json::json;

use super::{ACCESS, access, bearer, serve, token};
use crate::{
    explain::explain,
    support::{Server, get},
};

#[test]
fn only_who_may_do_everything_is_told_what_operations_become() {
    let off = serve(ACCESS);
    let admin = bearer(&token("admin", 0));
    let request = json!({"query": "{ albums { Title } }"});
    assert_eq!(explain(&off, &admin, &request).0, 404, "with [auth] it is off");
    let access = access(ACCESS);
    let server = Server::with(|settings| {
        settings.access = access;
        settings.explain = Some(true);
    });
    let (status, body) = explain(&server, &admin, &request);
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["fields"][0]["source"], "chinook");
    for (headers, expected) in
        [(String::new(), 403), (bearer(&token("customer", 2)), 403), (bearer("x.y.z"), 401)]
    {
        let (status, body) = explain(&server, &headers, &request);
        assert_eq!(status, expected, "{headers}: {body}");
        assert!(!body.to_string().contains("SELECT"), "{body}");
    }
    let (status, _) = explain(&server, &format!("{admin}x-prony-role: visitor\r\n"), &request);
    assert_eq!(status, 403, "the role that is chosen counts");
    for (headers, told) in [
        (&*admin, "\"explain\":true,\"metrics\":true,\"role\":{\"name\":\"admin\",\"unrestricted\":true}"),
        (&*bearer(&token("customer", 2)), "\"explain\":false"),
        ("", "\"role\":{\"name\":\"visitor\",\"unrestricted\":false}"),
    ] {
        let response = server.ask(get("/console.json").replace("\r\n\r\n", &format!("\r\n{headers}\r\n")));
        assert!(response.contains(told), "{headers}: {response}");
    }
}

/// Being told counts as asking does.
#[test]
fn limits_of_operations_count() {
    let text = format!(
        "{ACCESS}[[operation]]\nmatch = \"Query.albums\"\nrate_limit = [{{ by = \"user\", rate = \"1/h\", burst = 1 }}]\n"
    );
    let access = access(&text);
    let server = Server::with(|settings| {
        settings.access = access;
        settings.explain = Some(true);
    });
    let admin = bearer(&token("admin", 0));
    let request = json!({"query": "{ albums { Title } }"});
    assert_eq!(explain(&server, &admin, &request).0, 200);
    assert_eq!(explain(&server, &admin, &request).0, 429);
}
