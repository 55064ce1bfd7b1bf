//! Where Prony once had other rows than JMeter: a test named after each, beside the plans that have shown it.

use super::Trial;
use super::plans::{
    defaults, element, flag, get, group, json_extractor, number, plan, post, regex_extractor, request,
    response_assertion, script, text, transaction,
};
use super::site::Site;
use expect_test::{Expect, expect};

/// Rows of a group of one thread over the compared plans' site.
fn check(loops: &str, below: &str, expected: &Expect) {
    let (trial, site) = (Trial::new(), Site::start());
    trial.write("plan.jmx", &plan(&group("Group", "1", loops, &(defaults(&site.port()) + below))));
    trial.demand(&[]);
    let rows = trial.rows(&["label", "responseCode", "success", "failureMessage", "bytes", "URL"]);
    expected.assert_eq(&rows.join("\n").replace(&site.port(), "PORT"));
}

fn parameters(per_iteration: bool) -> String {
    let list =
        |name: &str, value: &str| format!("<collectionProp name=\"{name}\">\n{value}</collectionProp>\n");
    let values = list("UserParameters.thread_values", &list("1", &text("1", "Bern")));
    let props = list("UserParameters.names", &text("1", "city")) + &values;
    element(
        "UserParameters",
        "User Parameters",
        &(props + &flag("UserParameters.per_iteration", per_iteration)),
        "",
    )
}

#[test]
fn a_name_has_what_its_pre_processors_have_set() {
    check(
        "1",
        &(parameters(false) + &get("in ${city}", "/echo", "")),
        &expect![[r#"
        in Bern | 200 | true |  | 91 | http://127.0.0.1:PORT/echo"#]],
    );
}

#[test]
fn a_digest_challenge_is_no_sample_of_its_own() {
    let entry = text("Authorization.url", "http://127.0.0.1")
        + &text("Authorization.username", "user")
        + &text("Authorization.password", "pass")
        + &text("Authorization.mechanism", "DIGEST");
    let list = format!(
        "<collectionProp name=\"AuthManager.auth_list\">\n<elementProp name=\"\" elementType=\"Authorization\">\n{entry}</elementProp>\n</collectionProp>\n"
    );
    let manager = element("AuthManager", "HTTP Authorization Manager", &list, "");
    check(
        "1",
        &(manager + &get("a", "/digest", "")),
        &expect![[r#"
        a | 200 | true |  | 71 | http://127.0.0.1:PORT/digest"#]],
    );
}

#[test]
fn redirects_that_are_left_to_the_client_are_no_samples() {
    let auto = request("a", "GET", "/hop/1", "", &flag("HTTPSampler.auto_redirects", true), "");
    check(
        "1",
        &auto.replace("follow_redirects\">true", "follow_redirects\">false"),
        &expect![[r#"
        a | 200 | true |  | 81 | http://127.0.0.1:PORT/hop/0"#]],
    );
}

#[test]
fn a_redirect_without_a_location_is_an_exception() {
    check(
        "1",
        &get("a", "/no-location", ""),
        &expect![[r#"
        a | Non HTTP response code: java.lang.IllegalArgumentException | false |  | 87 | http://127.0.0.1:PORT/no-location"#]],
    );
}

#[test]
fn a_boundary_extractor_finds_matches_within_each_other() {
    let props = text("BoundaryExtractor.refname", "v")
        + &text("BoundaryExtractor.lboundary", "t")
        + &text("BoundaryExtractor.rboundary", "e")
        + &text("BoundaryExtractor.match_number", "-1");
    let extractor = element("BoundaryExtractor", "Boundary Extractor", &props, "");
    check(
        "1",
        &(get("a", "/plain", &extractor) + &get("${v_matchNr} ${v_3}", "/echo", "")),
        &expect![[r#"
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        4 ok | 200 | true |  | 91 | http://127.0.0.1:PORT/echo"#]],
    );
}

#[test]
fn half_of_a_throughput_controller_begins_with_the_second_pass() {
    let props = number("ThroughputController.style", 1)
        + &flag("ThroughputController.perThread", true)
        + &text("ThroughputController.percentThroughput", "50.0");
    let half = element("ThroughputController", "half", &props, &get("half", "/plain", ""));
    check(
        "4",
        &(get("a", "/plain", "") + &half),
        &expect![[r#"
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        half | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        half | 200 | true |  | 107 | http://127.0.0.1:PORT/plain"#]],
    );
}

#[test]
fn responses_that_say_nothing_of_their_age_are_fresh() {
    let manager = element("CacheManager", "HTTP Cache Manager", &flag("useExpires", true), "");
    check(
        "2",
        &(manager + &get("a", "/etag", "") + &get("b", "/no-store", "")),
        &expect![[r#"
        a | 200 | true |  | 54 | http://127.0.0.1:PORT/etag
        b | 200 | true |  | 79 | http://127.0.0.1:PORT/no-store
        b | 200 | true |  | 79 | http://127.0.0.1:PORT/no-store"#]],
    );
}

#[test]
fn a_null_in_json_is_the_default() {
    let below = json_extractor("one;all", "$.nothing;$..nothing", "1;-1", "none;none");
    check(
        "1",
        &(get("a", "/json", &below) + &get("${one} ${all_1} ${all_matchNr}", "/echo", "")),
        &expect![[r#"
        a | 200 | true |  | 209 | http://127.0.0.1:PORT/json
        none none 1 | 200 | true |  | 91 | http://127.0.0.1:PORT/echo"#]],
    );
}

#[test]
fn what_is_run_before_a_sample_finds_the_response_before_it() {
    let length = "vars.put('length', String(prev.getResponseDataAsString().length))";
    let below = get("a", "/ok", "")
        + &get("${__regexFunction(token\":\"(.+?)\",$1$)}", "/ok", "")
        + &get("b ${length}", "/ok", &script("JSR223PreProcessor", "last", "javascript", length));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["a", "t-42", "b 50"]);
}

#[test]
fn functions_of_texts_have_javas_results() {
    let values = "${__split(|a||b|,l,|)}${l_n}${l_2} ${__changeCase(aB,none)} ${__char(0103,x,66)} ${__unescapeHtml(&eacute;&nope;)} \
                  ${__digest(SHA-224,a,,,)}";
    let trial = Trial::new();
    trial.write("lines.txt", "1\n2\n3\n");
    let line = "${__StringFromFile(lines.txt)}";
    let below = get(values, "/ok", "")
        + &post("pair", "/ok", &format!("{line}{line}"), "")
        + &post("next", "/ok", line, "");
    trial.write("plan.jmx", &plan(&group("Group", "1", "1", &(trial.defaults() + &below))));
    trial.demand(&[]);
    assert_eq!(
        trial.labels(),
        ["|a||b|4? aB CB é&nope; abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5", "pair", "next"]
    );
    let bodies: Vec<_> = trial.server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, ["", "11", "1"], "each function reads a file by itself");
    let values = "${__split(a--b;,m,-;)} ${m_n} ${m_2} ${m_4} ${__intSum(2147483647,1)} ${__longSum(2147483647,1)} ${__unescapeHtml(&apos;)}";
    let row = "${__CSVRead(rows.csv,0)}${__CSVRead(rows.csv,next)}";
    let rows = post("rows", "/ok", &format!("{row}{row}{row}"), "");
    let trial = Trial::once(&(get(values, "/ok", "") + &rows));
    trial.write("rows.csv", "a\nb\n\na comment\n");
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["a--b; 4 ? ? -2147483648 2147483648 &apos;", "rows"]);
    assert_eq!(trial.server.seen()[1].body, "aba");
}

#[test]
fn a_date_that_cannot_be_read_is_now() {
    let years = "${__time(yyyy)}${__timeShift(yyyy,none,P0D,,)}${__time(yyyy)}";
    let trial = Trial::once(&get(years, "/ok", ""));
    let ended = trial.prony(&["run", "plan.jmx", "-l", "out.jtl", "--seed", "1"]);
    let (label, width) = (trial.labels().remove(0), 4);
    let years: Vec<&str> = [0, 4, 8].map(|at| &label[at..at + width]).to_vec();
    assert!(years[1] == years[0] || years[1] == years[2], "the year may end meanwhile: {label}");
    assert!(ended.error.contains("`none` is not written as yyyy"), "{}", ended.error);
}

#[test]
fn text_of_blocks_is_kept_apart_and_selectors_of_jsoup_are_refused() {
    let css = |expression: &str| {
        let props = text("HtmlExtractor.refname", "text")
            + &text("HtmlExtractor.expr", expression)
            + &text("HtmlExtractor.match_number", "1");
        element("HtmlExtractor", "CSS", &props, "")
    };
    check(
        "1",
        &(get("a", "/page", &css("ul")) + &get("${text}", "/plain", "")),
        &expect![[r#"
        a | 200 | true |  | 199 | http://127.0.0.1:PORT/page
        1 2 two | 200 | true |  | 107 | http://127.0.0.1:PORT/plain"#]],
    );
    let trial = Trial::once(&get("a", "/page", &css("li:contains(2)")));
    let refused = trial.run(&["--check"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.error.contains("`li:contains(2)` is no CSS selector that is known here"),
        "{}",
        refused.error
    );
}

#[test]
fn a_long_text_that_is_not_equal_is_cut_and_no_pattern_at_all_does_not_hold() {
    let sevens = "7".repeat(120);
    let equals = |any: i64| response_assertion(&[sevens.as_str()], "response_data", 8 | any);
    let trial = Trial::once(
        &(get("a", "/missing", &equals(0))
            + &get("b", "/missing", &equals(32))
            + &get("c", "/missing", &response_assertion(&[], "response_data", 2 | 32))),
    );
    trial.demand(&[]);
    let compared = format!(
        "/\n\n****** received  : [[[{{}}{}]]]\n\n****** comparison: [[[{}...]]]\n\n/",
        " ".repeat(101),
        "7".repeat(100)
    );
    assert_eq!(
        trial.rows(&["failureMessage"]),
        [
            format!("Test failed: text expected to equal {compared}"),
            format!("Test failed: text expected something using {compared}\t"),
            "\t".to_owned()
        ]
    );
}

#[test]
fn request_data_is_what_jmeter_shows_of_a_request() {
    let holds = response_assertion(
        &["GET http://127.0.0.1", "/plain\n\nGET data:\n\n\n[no cookies]"],
        "request_data",
        16,
    );
    let fails = response_assertion(&["POST"], "request_data", 16);
    check(
        "1",
        &(get("a", "/plain", &holds) + &get("b", "/plain", &fails)),
        &expect![[r#"
        a | 200 | true |  | 107 | http://127.0.0.1:PORT/plain
        b | 200 | false | Test failed: request data expected to contain /POST/ | 107 | http://127.0.0.1:PORT/plain"#]],
    );
}

#[test]
fn a_transaction_counts_what_its_controller_gives_to_run() {
    let (trial, site) = (Trial::new(), Site::start());
    let pause = number("ActionProcessor.action", 1) + &text("ActionProcessor.duration", "1");
    let nested = get("b", "/ok", "")
        + &transaction("nested", false, &get("c", "/ok", ""))
        + &element("TestAction", "Flow Control Action", &pause, "")
        + &get("d", "/ok", "");
    let below = transaction("outer", false, &transaction("inner", false, &get("a", "/status/500", "")))
        + &transaction("around", false, &nested);
    trial.write("plan.jmx", &plan(&group("Group", "1", "1", &(defaults(&site.port()) + &below))));
    trial.demand(&[]);
    expect![[r#"
        a | Internal Server Error
        inner | Number of samples in transaction : 1, number of failing samples : 1
        outer | Number of samples in transaction : 1, number of failing samples : 1
        b | OK
        c | OK
        nested | Number of samples in transaction : 1, number of failing samples : 0
        d | OK
        around | Number of samples in transaction : 5, number of failing samples : 0"#]]
    .assert_eq(&trial.rows(&["label", "responseMessage"]).join("\n"));
}

#[test]
fn an_interleave_controller_that_takes_blocks_apart_is_refused() {
    let block = element("GenericController", "block", "", &get("a", "/", ""));
    let below = element("InterleaveControl", "turns", &number("InterleaveControl.style", 0), &block);
    let trial = Trial::new();
    trial.write("plan.jmx", &plan(&group("Group", "1", "1", &below)));
    let ended = trial.run(&["--check"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.error.contains("Ignore sub-controller blocks"), "{}", ended.error);
}

#[test]
fn groups_that_took_no_part_are_no_variables() {
    let extractor = regex_extractor("found", "\"name\":\"(.)\"(,\"nope\")?", "$1$", "1");
    let below = get("a", "/ok", &extractor) + &get("${found_g1} ${found_g2} ${found_g}", "/ok", "");
    let trial = Trial::once(&below);
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["a", "x ${found_g2} 2"]);
}

#[test]
fn timers_of_the_innermost_level_come_first() {
    let timer = |name: &str| {
        let source = format!("vars.put('order', (vars.get('order') || '') + '{name}'); '0'");
        script("JSR223Timer", name, "javascript", &source)
    };
    let inner = timer("2") + &get("a", "/ok", &timer("1"));
    let below =
        timer("3") + &element("GenericController", "Inner", "", &inner) + &get("b", "/ok?${order}", "");
    let trial = Trial::once(&below);
    trial.demand(&[]);
    assert_eq!(trial.server.lines(), ["GET /ok", "GET /ok?1233"]);
}

#[test]
fn sizes_are_those_of_the_wire_with_redirects() {
    let size = |field: &str| {
        let props = text("Assertion.test_field", &format!("SizeAssertion.{field}"))
            + &text("SizeAssertion.size", "1")
            + &number("SizeAssertion.operator", 1);
        element("SizeAssertion", "Size Assertion", &props, "")
    };
    let below =
        get("a", "/redirect", &size("response_headers")) + &get("b", "/redirect", &size("response_data"));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    let rows = trial.rows(&["bytes", "failureMessage"]);
    let (bytes, _) = rows[0].split_once(" | ").unwrap();
    // The second response has a body of 50 bytes, the first one has none.
    let heads = bytes.parse::<u64>().unwrap() - 50;
    assert!(rows[0].contains(&format!("It was {heads} bytes")), "{rows:?}");
    assert!(rows[3].contains("It was 50 bytes"), "{rows:?}");
}

#[test]
fn one_match_leaves_no_count_of_matches() {
    let all = regex_extractor("id", "(\\d),", "$1$", "-1");
    let one = regex_extractor("id", "(\\d)]", "$1$", "1");
    let below = get("a", "/ok", &all)
        + &get("${id_matchNr} ${id_1}", "/ok", &one)
        + &get("${id_matchNr} ${id_1} ${id}", "/ok", "");
    let trial = Trial::once(&below);
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["a", "2 7", "${id_matchNr} ${id_1} 9"]);
}
