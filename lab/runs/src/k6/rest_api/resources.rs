//! The resources of k6's REST API, in the form of JSON:API that k6 gives them.

use super::RestApi;
use crate::k6::call_again;
use crate::k6::control::LifeStatus;
use prony_script_k6::{Level, Part};
use serde_json::{Map, Value, json};
use std::sync::PoisonError;

/// What is sent back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

impl Response {
    pub(super) fn plain(status: u16, text: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: text.as_bytes().to_vec() }
    }

    fn json(status: u16, value: &Value) -> Self {
        Self { status, content_type: "application/json; charset=utf-8", body: value.to_string().into_bytes() }
    }

    fn data(data: impl Into<Value>) -> Self {
        Self::json(200, &json!({ "data": data.into() }))
    }

    fn error(status: u16, title: &str, detail: &str) -> Self {
        let error = json!({"status": status.to_string(), "title": title, "detail": detail});
        Self::json(status, &json!({ "errors": [error] }))
    }
}

pub(super) fn respond(api: &RestApi, method: &str, path: &str, body: &[u8]) -> Response {
    match (method, path) {
        ("GET", "/" | "/ping") => Response::plain(200, "ok"),
        ("GET", "/v1/status") => Response::data(status(api)),
        ("PATCH", "/v1/status") => change_status(api, body),
        ("GET", "/v1/metrics") => Response::data(metrics(api)),
        ("GET", "/v1/groups") => Response::data(groups(&figures(api)["root_group"])),
        ("GET", "/v1/setup") => Response::data(setup_data(api)),
        ("PUT", "/v1/setup") => give_setup_data(api, body),
        ("POST", "/v1/setup") => {
            call(api, Part::Setup).map_or_else(|failed| failed, |()| Response::data(setup_data(api)))
        }
        ("POST", "/v1/teardown") => {
            call(api, Part::Teardown).map_or_else(|failed| failed, |()| Response::plain(200, ""))
        }
        (_, "/" | "/ping" | "/v1/status" | "/v1/metrics" | "/v1/groups" | "/v1/setup" | "/v1/teardown") => {
            Response::plain(405, "")
        }
        (method, path) => one(api, method, path),
    }
}

/// A metric by its name, or a group by its id.
fn one(api: &RestApi, method: &str, path: &str) -> Response {
    let (found, detail) = if let Some(name) = path.strip_prefix("/v1/metrics/") {
        let name = decoded(name);
        (metrics(api).into_iter().find(|metric| metric["id"] == *name), "No metric with that ID was found")
    } else if let Some(id) = path.strip_prefix("/v1/groups/") {
        let groups = groups(&figures(api)["root_group"]);
        (groups.into_iter().find(|group| group["id"] == id), "No group with that ID was found")
    } else {
        return Response::plain(404, "404 page not found\n");
    };
    match found {
        _ if method != "GET" => Response::plain(405, ""),
        Some(found) => Response::data(found),
        None => Response::error(404, "Not Found", detail),
    }
}

/// A name without percent-encoding: those of submetrics have braces.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// As `handleSummary` has them, of now.
fn figures(api: &RestApi) -> Value {
    api.session.measure.figures(api.control.now().executed())
}

fn status(api: &RestApi) -> Value {
    let now = api.control.now();
    let is_tainted = metrics(api).iter().any(|metric| metric["attributes"]["tainted"] == true);
    json!({
        "type": "status",
        "id": "default",
        "attributes": {
            "status": now.status as u8,
            "paused": now.is_paused,
            "vus": now.users,
            "vus-max": now.users_max,
            "stopped": now.is_stopped,
            "running": now.is_running(),
            "tainted": is_tainted,
        },
    })
}

fn change_status(api: &RestApi, body: &[u8]) -> Response {
    let asked: Value = match serde_json::from_slice(body) {
        Ok(asked) => asked,
        Err(error) => return Response::error(400, "Invalid data", &error.to_string()),
    };
    let attributes = &asked["data"]["attributes"];
    if attributes["stopped"] == true {
        api.control.set_stopped();
        api.stop.stop();
        return Response::data(status(api));
    }
    if let Some(pauses) = attributes["paused"].as_bool()
        && let Err(detail) = pause(api, pauses)
    {
        return Response::error(500, "Pause error", &detail);
    }
    if attributes["vus"].is_number() || attributes["vus-max"].is_number() {
        let detail =
            "an externally-controlled executor needs to be configured for live configuration updates";
        return Response::error(500, "Execution config error", detail);
    }
    Response::data(status(api))
}

/// A test is paused before it begins, and never again.
fn pause(api: &RestApi, pauses: bool) -> Result<(), String> {
    let now = api.control.now();
    match (now.is_paused, pauses) {
        (true, true) => Err("execution is already paused".to_owned()),
        (true, false) if api.control.resume() => Ok(()),
        _ => {
            let first = api.session.options.scenarios.first();
            let (name, executor) =
                first.map(|scenario| (&*scenario.name, scenario.executor.name())).unwrap_or_default();
            Err(format!(
                "{executor} executor '{name}' doesn't support pause and resume operations after its start"
            ))
        }
    }
}

fn setup_data(api: &RestApi) -> Value {
    let data = api.control.now().setup_data;
    let data: Option<Value> = data.and_then(|json| serde_json::from_str(&json).ok());
    let attributes = data.map_or_else(|| json!({}), |data| json!({ "data": data }));
    json!({"type": "setupData", "id": "default", "attributes": attributes})
}

/// In the place of what `setup` has returned or would return; an empty body takes it away.
fn give_setup_data(api: &RestApi, body: &[u8]) -> Response {
    let data = if body.is_empty() { Ok(None) } else { serde_json::from_slice::<Value>(body).map(Some) };
    match data {
        Ok(data) => {
            api.control.set_setup_data(data.map(|data| data.to_string().into()));
            Response::data(setup_data(api))
        }
        Err(error) => Response::error(400, "Error parsing request body", &error.to_string()),
    }
}

/// Runs `setup` or `teardown`; how it has failed is logged too.
fn call(api: &RestApi, part: Part) -> Result<(), Response> {
    let _one_at_a_time = api.calls.lock().unwrap_or_else(PoisonError::into_inner);
    call_again(&api.session, part, &api.stop, &api.control).map_err(|error| {
        let title = format!("Error executing {}", part.function());
        api.session.measure.log().write(Level::Error, &title, &[("error", &error)]);
        Response::error(500, &title, &error)
    })
}

/// In the order of the summary.
fn metrics(api: &RestApi) -> Vec<Value> {
    let figures = figures(api);
    let has_begun = api.control.now().status > LifeStatus::Started;
    let all = figures["metrics"].as_object().into_iter().flatten();
    all.map(|(name, metric)| metric_resource(name, metric, has_begun)).collect()
}

fn metric_resource(name: &str, metric: &Value, has_begun: bool) -> Value {
    let shown = |key: &str| match metric["type"].as_str() {
        Some("gauge") => key == "value",
        Some("rate") => key == "rate",
        _ => true,
    };
    let values = metric["values"].as_object().into_iter().flatten();
    let sample: Map<String, Value> =
        values.filter(|(key, _)| shown(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    let thresholds = metric["thresholds"].as_object().filter(|_| has_begun);
    let tainted = thresholds.map(|all| all.values().any(|threshold| threshold["ok"] == false));
    json!({
        "type": "metrics",
        "id": name,
        "attributes": {
            "type": metric["type"],
            "contains": metric["contains"],
            "tainted": tainted,
            "sample": sample,
        },
    })
}

/// A group and all within it.
fn groups(root: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    add_group(root, &Value::Null, &mut all);
    all
}

fn add_group(group: &Value, parent: &Value, all: &mut Vec<Value>) {
    let reference = |group: &Value| json!({"type": "groups", "id": group["id"]});
    let within: Vec<&Value> = group["groups"].as_array().into_iter().flatten().collect();
    let checks = group["checks"].as_array().filter(|checks| !checks.is_empty());
    let check = |check: &Value| {
        json!({
            "id": check["id"],
            "path": check["path"],
            "name": check["name"],
            "passes": check["passes"],
            "fails": check["fails"],
        })
    };
    let checks = checks.map(|checks| checks.iter().map(check).collect::<Vec<_>>());
    all.push(json!({
        "type": "groups",
        "id": group["id"],
        "attributes": {"path": group["path"], "name": group["name"], "checks": checks},
        "relationships": {
            "groups": {"data": within.iter().map(|group| reference(group)).collect::<Vec<_>>()},
            "parent": {"data": parent},
        },
    }));
    for inner in within {
        add_group(inner, &reference(group), all);
    }
}
