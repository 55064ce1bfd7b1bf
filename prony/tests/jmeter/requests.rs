//! What goes over the wire: targets, bodies, and where redirects lead.

use super::Trial;
use super::plans::{element, flag, get, headers, request, text};

/// Method, target and body of each request.
fn sent(below: &str) -> Vec<String> {
    let trial = Trial::once(below);
    trial.demand(&[]);
    trial.server.seen().into_iter().map(|seen| format!("{} {}", seen.line, seen.body)).collect()
}

#[test]
fn what_is_asked_is_in_ascii_and_has_single_slashes() {
    let trial = Trial::once(&get("a", "//ok//?é=/ü//", ""));
    trial.demand(&[]);
    assert_eq!(trial.server.lines(), ["GET /ok/?%C3%A9=/%C3%BC//"]);
    assert_eq!(trial.rows(&["URL"]), ["http://127.0.0.1:PORT//ok//?é=/ü//"], "rows have it as written");
}

#[test]
fn values_without_a_name_are_encoded_where_they_say_so() {
    let argument = |value: &str, is_encoded: bool| {
        let props = flag("HTTPArgument.always_encode", is_encoded) + &text("Argument.value", value);
        format!("<elementProp name=\"\" elementType=\"HTTPArgument\">{props}</elementProp>")
    };
    let all = argument("a b", true) + &argument("&é", false);
    let props = text("HTTPSampler.path", "/ok")
        + &text("HTTPSampler.method", "POST")
        + &format!(
            "<elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">{all}\
             </collectionProp></elementProp>"
        );
    assert_eq!(sent(&element("HTTPSamplerProxy", "a", &props, "")), ["POST /ok a+b&é"]);
}

#[test]
fn redirects_are_followed_as_jmeter_does_and_as_its_client_does() {
    let followed = |method: &str, path: &str| request("a", method, path, "a=b", "", "");
    let by_client = |method: &str, path: &str| {
        let props = flag("HTTPSampler.auto_redirects", true);
        let both = request("a", method, path, "a=b", &props, "");
        both.replacen("follow_redirects\">true", "follow_redirects\">false", 1)
    };
    assert_eq!(sent(&followed("PUT", "/permanent")), ["PUT /permanent a=b", "GET /ok?moved "]);
    assert_eq!(sent(&followed("PUT", "/moved")), ["PUT /moved a=b"]);
    assert_eq!(sent(&by_client("POST", "/moved")), ["POST /moved a=b", "POST /ok?moved a=b"]);
    assert_eq!(sent(&by_client("POST", "/redirect")), ["POST /redirect a=b", "GET /ok?from=redirect "]);
    let deleted = sent(&by_client("DELETE", "/redirect"));
    assert_eq!(deleted, ["DELETE /redirect?a=b a=b", "GET /ok?from=redirect "]);
    assert_eq!(sent(&by_client("PUT", "/redirect")), ["PUT /redirect a=b"]);
}

#[test]
fn headers_of_managers_are_sent_where_a_redirect_leads() {
    let trial = Trial::once(&(headers("Content-Type: text/q") + &get("a", "/redirect", "")));
    trial.demand(&[]);
    let seen = trial.server.seen();
    assert_eq!(seen[1].line, "GET /ok?from=redirect");
    assert_eq!(seen[1].header("content-type"), Some("text/q"));
}
