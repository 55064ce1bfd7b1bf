//! Plans in the shapes of two published studies: an API gateway's, whose one request posts a payload with a token, and that of a relational
//! GraphQL server, whose users read and write with variables of their own.

/// A plan for a port of this machine.
pub(crate) struct Study {
    pub(crate) name: &'static str,
    pub(crate) plan: fn(port: u16, users: u32, length: Length) -> String,
    /// Of one loop of a user.
    pub(crate) requests: u32,
}

/// When a user ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Seconds(u32),
    Loops(u32),
}

pub(crate) const STUDIES: [Study; 2] = [
    Study { name: "gateway", plan: gateway, requests: 1 },
    Study { name: "relational", plan: relational, requests: 3 },
];

/// What nginx answers below `/db/`.
pub(crate) const ANSWER: &str =
    r#"{"data":{"albums":[{"id":7,"title":"First"},{"id":8,"title":"Second"}],"token":"t-42"}}"#;

/// Rows of a CSV Data Set.
pub(crate) fn rows() -> String {
    let rows: Vec<_> = (0..1_000).map(|at| format!("{at},name {at},token-{at:06}\n")).collect();
    rows.concat()
}

fn gateway(port: u16, users: u32, length: Length) -> String {
    let payload = "x".repeat(1_024);
    let headers = header("Authorization", "Bearer ${token}") + &header("Content-Type", "application/json");
    let body = format!("{{\"size\":1024,\"payload\":\"{payload}\"}}");
    let below = csv()
        + &element("HeaderManager", "headers", &collection("HeaderManager.headers", &headers), "")
        + &post("HTTP Request", port, "/db/echo", &body, &code_assertion());
    plan(users, length, &below)
}

fn relational(port: u16, users: u32, length: Length) -> String {
    let headers = header("Content-Type", "application/json");
    let extractor = element(
        "JSONPostProcessor",
        "take album",
        &(text("JSONPostProcessor.referenceNames", "album")
            + &text("JSONPostProcessor.jsonPathExprs", "$.data.albums[0].id")
            + &text("JSONPostProcessor.match_numbers", "1")
            + &text("JSONPostProcessor.defaultValues", "none")),
        "",
    );
    let list = r#"{"query":"query($n: String) { albums(where: {name: {eq: $n}}) { id title } }","variables":{"n":"${name}"}}"#;
    let one = r#"{"query":"query($id: Int!) { album(id: $id) { id title artist { name } } }","variables":{"id":${album}}}"#;
    let change = r#"{"query":"mutation($id: Int!) { rename(id: $id, title: \"${name}\") { id } }","variables":{"id":${album}}}"#;
    let steps = post("list", port, "/db/graphql", list, &(extractor + &code_assertion()))
        + &post("one", port, "/db/graphql", one, &code_assertion())
        + &post("rename", port, "/db/graphql", change, &code_assertion());
    let transaction = element(
        "TransactionController",
        "visit",
        &(flag("TransactionController.parent", false) + &flag("TransactionController.includeTimers", false)),
        &steps,
    );
    let below = csv()
        + &element("HeaderManager", "headers", &collection("HeaderManager.headers", &headers), "")
        + &transaction;
    plan(users, length, &below)
}

// ---- XML

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

pub(crate) fn text(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{}</stringProp>\n", escaped(value))
}

pub(crate) fn flag(name: &str, value: bool) -> String {
    format!("<boolProp name=\"{name}\">{value}</boolProp>\n")
}

pub(crate) fn collection(name: &str, items: &str) -> String {
    format!("<collectionProp name=\"{name}\">\n{items}</collectionProp>\n")
}

pub(crate) fn element(tag: &str, name: &str, props: &str, below: &str) -> String {
    format!(
        "<{tag} guiclass=\"{tag}Gui\" testclass=\"{tag}\" testname=\"{name}\" enabled=\"true\">\n{props}</{tag}>\n<hashTree>\n{below}</hashTree>\n"
    )
}

pub(crate) fn header(name: &str, value: &str) -> String {
    format!(
        "<elementProp name=\"\" elementType=\"Header\">\n{}{}</elementProp>\n",
        text("Header.name", name),
        text("Header.value", value)
    )
}

pub(crate) fn post(name: &str, port: u16, path: &str, body: &str, below: &str) -> String {
    let argument = format!(
        "<elementProp name=\"\" elementType=\"HTTPArgument\">\n{}{}{}</elementProp>\n",
        flag("HTTPArgument.always_encode", false),
        text("Argument.value", body),
        text("Argument.metadata", "=")
    );
    let arguments = format!(
        "<elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\">\n{}</elementProp>\n",
        collection("Arguments.arguments", &argument)
    );
    let props = flag("HTTPSampler.postBodyRaw", true)
        + &arguments
        + &text("HTTPSampler.domain", "127.0.0.1")
        + &text("HTTPSampler.port", &port.to_string())
        + &text("HTTPSampler.protocol", "http")
        + &text("HTTPSampler.path", path)
        + &text("HTTPSampler.method", "POST")
        + &flag("HTTPSampler.follow_redirects", true)
        + &flag("HTTPSampler.use_keepalive", true);
    element("HTTPSamplerProxy", name, &props, below)
}

pub(crate) fn code_assertion() -> String {
    let patterns = collection("Asserion.test_strings", &text("1", "200"));
    let props = patterns
        + &text("Assertion.test_field", "Assertion.response_code")
        + &flag("Assertion.assume_success", false)
        + "<intProp name=\"Assertion.test_type\">8</intProp>\n";
    element("ResponseAssertion", "is 200", &props, "")
}

fn csv() -> String {
    let props = text("filename", "rows.csv")
        + &text("fileEncoding", "UTF-8")
        + &text("variableNames", "id,name,token")
        + &text("delimiter", ",")
        + &flag("quotedData", false)
        + &flag("recycle", true)
        + &flag("stopThread", false)
        + &text("shareMode", "shareMode.all");
    element("CSVDataSet", "rows", &props, "")
}

/// One group of so many users for so long.
pub(crate) fn plan(users: u32, length: Length, below: &str) -> String {
    let (loops, is_timed, seconds) = match length {
        Length::Seconds(seconds) => ("-1".to_owned(), true, seconds.to_string()),
        Length::Loops(loops) => (loops.to_string(), false, String::new()),
    };
    let controller = format!(
        "<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\">\n{}{}</elementProp>\n",
        flag("LoopController.continue_forever", false),
        text("LoopController.loops", &loops)
    );
    let props = text("ThreadGroup.on_sample_error", "continue")
        + &controller
        + &text("ThreadGroup.num_threads", &users.to_string())
        + &text("ThreadGroup.ramp_time", "1")
        + &flag("ThreadGroup.scheduler", is_timed)
        + &text("ThreadGroup.duration", &seconds)
        + &text("ThreadGroup.delay", "")
        + &flag("ThreadGroup.same_user_on_next_iteration", true);
    let group = element("ThreadGroup", "Group", &props, below);
    let plan = element("TestPlan", "Test Plan", "", &group);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\" properties=\"5.0\" jmeter=\"5.6.3\">\n<hashTree>\n{plan}</hashTree>\n</jmeterTestPlan>\n"
    )
}
