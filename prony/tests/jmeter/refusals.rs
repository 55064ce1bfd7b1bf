//! What is refused before the start, with its place and what to write instead.

use super::Trial;
use super::plans::{
    csv, element, flag, get, group, group_with, host_table, json_extractor, plan, regex_extractor, script,
    text,
};
use expect_test::{Expect, expect};

/// What is said of a plan, which sends nothing.
fn check(below: &str, expected: &Expect) {
    let trial = Trial::new();
    trial.write("plan.jmx", &plan(below));
    check_file(&trial, expected);
}

fn check_file(trial: &Trial, expected: &Expect) {
    let ended = trial.run(&["--check"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.error);
    expected.assert_eq(&ended.error);
    assert!(trial.server.seen().is_empty());
}

#[test]
fn elements_that_are_not_run_are_all_named() {
    let below = element("JDBCSampler", "Query", "", "")
        + &element("GenericController", "Part", "", &element("com.example.Odd", "Odd one", "", ""))
        + &get(
            "a",
            "/ok",
            &(script("JSR223PostProcessor", "g", "groovy", "x") + &regex_extractor("r", "(", "$1$", "1")),
        )
        + &get("${__groovy(1)}", "/ok", "")
        + &element("BeanShellPreProcessor", "off", "", "").replace("enabled=\"true\"", "enabled=\"false\"");
    check(
        &group("Group", "1", "1", &below),
        &expect![[r#"
            error: the plan cannot be run as it is:
              - plan.jmx:20: JDBC element (Test Plan / Group / Query): it is not run: databases are watched with --observe pg:URL; disable the element, or measure an HTTP API before the database
              - plan.jmx:27: com.example.Odd (Test Plan / Group / Part / Odd one): the element `com.example.Odd` is not known; disable it in JMeter, or write what it does with the elements that docs/jmeter.md lists
              - plan.jmx:43: JSR223 PostProcessor (Test Plan / Group / a / g): scripts in groovy are not run; write it in JavaScript and set the language to `javascript`
              - plan.jmx:51: Regular Expression Extractor (Test Plan / Group / a / Regular Expression Extractor): `(` is no regular expression that is known here: Parsing error at position 1: Opening parenthesis without closing parenthesis
              - plan.jmx:62: HTTP Request (Test Plan / Group / ${__groovy(1)}): the function `__groovy` is not run; write it in JavaScript: ${__javaScript(…)}, or as a JSR223 element in JavaScript
        "#]],
    );
}

/// What companies' plans have of jmeter-plugins.org, and what stands in its place.
#[test]
fn elements_of_plug_ins_that_are_not_run_are_refused_with_what_to_write() {
    let below = get("a", "/ok", "")
        + &element("BackendListener", "Influx", "", "")
        + &element("kg.apc.jmeter.perfmon.PerfMonCollector", "PerfMon", "", "")
        + &element("kg.apc.jmeter.vizualizers.CorrectedResultCollector", "drawn", "", "");
    let arrivals = element("com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup", "Arrivals", "", "");
    let trial = Trial::new();
    trial.write("plan.jmx", &plan(&(group("Group", "1", "1", &below) + &arrivals)));
    let ended = trial.run(&["--check"]);
    assert_eq!(ended.code, Some(2), "{}", ended.error);
    for part in [
        "Backend Listener (Test Plan / Group / Influx): it is not run: disable it; --out influxdb:URL",
        "jp@gc - PerfMon Metrics Collector (Test Plan / Group / PerfMon): it is not run: disable it; --observe host:local",
        "bzm - Arrivals Thread Group (Test Plan / Arrivals): it is not run: write its rates as an Open Model Thread Group",
    ] {
        assert!(ended.error.contains(part), "{part} in {}", ended.error);
    }
    assert_eq!(ended.error.lines().count(), 4, "{}", ended.error);
}

#[test]
fn flags_of_jmeter_that_are_not_there_are_refused_with_what_to_type() {
    let trial = Trial::once(&get("a", "/ok", ""));
    let ended = trial.run(&["-n", "-f", "-e", "-o", "report", "-j", "jmeter.log"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.error);
    for part in ["prony report out.jtl --html dashboard.html", "write 2> jmeter.log"] {
        assert!(ended.error.contains(part), "{part} in {}", ended.error);
    }
    let summary = trial.run(&["--summary", "junit=load.xml"]);
    assert_eq!(summary.code, Some(2), "{}", summary.error);
    assert!(summary.error.contains("prony report results --summary junit=load.xml"), "{}", summary.error);
    assert!(trial.server.seen().is_empty());
}

#[test]
fn what_cannot_be_read_is_said_before_the_start() {
    let below = get("${__jexl3(vars.x(1),)}", "/", "")
        + &get("${__jexl3(\"${a}\" == \"1\" && !${b} && ${c}.toInteger() - ${d} > 0,)}", "/", "")
        + &get("c", "/", &json_extractor("id", "$.a[", "1", ""));
    check(
        &group("Group", "1", "1", &below),
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:20: HTTP Request (Test Plan / Group / ${__jexl3(vars.x(1),)}): `vars.x(1)` is no plain comparison: this method is not known here at character 6; docs/jmeter.md has the grammar, and ${__javaScript(…)} takes the rest
          - plan.jmx:55: JSON Extractor (Test Plan / Group / c / JSON Extractor): `$.a[` is no JSON path that is known here (RFC 9535): at position 3, parser error
    "#]],
    );
}

#[test]
fn what_websocket_and_xpath_elements_ask_for_that_is_not_done_is_named() {
    let websocket = |class: &str| format!("eu.luminis.jmeter.wssampler.{class}");
    let filter = text("comparisonType", "ContainsRegex") + &text("matchValue", "(");
    let odd = text("comparisonType", "Sounds") + &text("matchValue", "x");
    let below = element(&websocket("AdvancedOptionsElement"), "options", "", "")
        + &element("eu.luminis.jmeter.assertions.BinaryContentAssertion", "bytes", "", "")
        + &element(&websocket("OpenWebSocketSampler"), "second", &text("connectionId", "two"), "")
        + &element(&websocket("TextFrameFilter"), "regex", &filter, "")
        + &element(&websocket("BinaryFrameFilter"), "odd", &odd, "")
        + &element("XPathExtractor", "valid", &flag("XPathExtractor.validate", true), "")
        + &element("XPath2Assertion", "later", &text("XPath.xpath", "matches(//a, 'b')"), "");
    check(
        &group("Group", "1", "1", &below),
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:33: WebSocket Text Frame Filter (Test Plan / Group / regex): `(` is no regular expression that is known here: Parsing error at position 1: Opening parenthesis without closing parenthesis
          - plan.jmx:39: WebSocket Binary Frame Filter (Test Plan / Group / odd): the comparison `Sounds` is not known; choose it again in JMeter
          - plan.jmx:45: XPath Extractor (Test Plan / Group / valid): documents are not validated, since nothing outside of them is read; leave the box empty, and check what matters with an XPath Assertion
          - plan.jmx:50: XPath2 Assertion (Test Plan / Group / later): `matches(//a, 'b')` is no XPath 1.0 expression that is known here: the function `matches` is not one of XPath 1.0; write it with those, or in a JSR223 element in JavaScript
          - plan.jmx:20: WebSocket Advanced Options (Test Plan / Group / options): it is not run: a user has one WebSocket at a time; disable the element, and use a group of its own for each further connection
          - plan.jmx:24: Binary Response Assertion (Test Plan / Group / bytes): it is not run: check the response with a JSR223 Assertion in JavaScript
          - plan.jmx:28: WebSocket Open Connection (Test Plan / Group / second): a user has one WebSocket at a time here; leave the connection's id empty, and use a group of its own for each further connection
    "#]],
    );
}

#[test]
fn host_tables_have_one_address_of_each_name() {
    let servers = format!(
        "<collectionProp name=\"DNSCacheManager.servers\">\n{}</collectionProp>\n",
        text("1", "127.0.0.53")
    );
    let below = host_table(&[("a.test", "b.test"), ("c.test", "127.0.0.1")], "")
        + &host_table(
            &[("C.test", "127.0.0.2")],
            &(servers + &flag("DNSCacheManager.isCustomResolver", true)),
        )
        + &get("a", "/", "");
    check(
        &group("Group", "1", "1", &below),
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:20: DNS Cache Manager (Test Plan / Group / DNS Cache Manager): the address of `a.test` is `b.test`, which is no IP address; write one
          - plan.jmx:34: DNS Cache Manager (Test Plan / Group / DNS Cache Manager): servers of names are not asked by themselves; write what they say to its static host table, or let the system look names up
          - plan.jmx:34: DNS Cache Manager (Test Plan / Group / DNS Cache Manager): `c.test` is 127.0.0.2 here and 127.0.0.1 elsewhere, and a run has one address of a name; give it one
    "#]],
    );
}

#[test]
fn what_leads_nowhere_is_said() {
    let module = |to: &[&str]| {
        let names: String = to.iter().map(|name| text("0", name)).collect();
        let path = format!("<collectionProp name=\"ModuleController.node_path\">{names}</collectionProp>");
        element("ModuleController", "Module", &path, "")
    };
    let circle = element("GenericController", "Round", "", &module(&["Test Plan", "Group", "Round"]));
    let include =
        element("IncludeController", "Include", &text("IncludeController.includepath", "none.jmx"), "");
    check(
        &group("Group", "1", "1", &(circle + &module(&["Test Plan", "Nowhere"]) + &include)),
        &expect![[r#"
            error: the plan cannot be run as it is:
              - plan.jmx:23: Module Controller (Test Plan / Group / Round / Module / Module): Module controllers lead in a circle: Test Plan / Group / Round / Test Plan / Group / Round; let one of them name something else
              - plan.jmx:31: Module Controller (Test Plan / Group / Module): it names `Test Plan / Nowhere`, which is not there or is disabled; choose the module again
              - plan.jmx:37: Include Controller (Test Plan / Group / Include): cannot include none.jmx: cannot read none.jmx: No such file or directory (os error 2)
        "#]],
    );
    check(
        "",
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:4: Test Plan (Test Plan): the plan has no Thread Group that is enabled, so nothing would be sent; add one
    "#]],
    );
    check(
        &group("Group", "${users}", "1", &get("a", "/", "")),
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:11: Thread Group (Test Plan / Group): the number of threads is `${users}`, which is no number; set its variable, or give its property with -Jname=value
    "#]],
    );
}

#[test]
fn files_that_are_no_plans_are_named_with_the_line() {
    let trial = Trial::new();
    trial.write("plan.jmx", "<jmeterTestPlan version=\"1.2\">\n<hashTree>\n</jmeterTestPlan>");
    check_file(
        &trial,
        &expect![[r#"
        error: plan.jmx:3: this is no XML: expected 'hashTree' tag, not 'jmeterTestPlan' at 3:1; open the plan in JMeter and save it again
    "#]],
    );
    trial.write("plan.jmx", "<?xml version=\"1.0\"?>\n<!DOCTYPE x [<!ENTITY a \"b\"><!ENTITY c \"&a;&a;\">]>\n<jmeterTestPlan>&c;</jmeterTestPlan>");
    check_file(
        &trial,
        &expect![[r#"
        error: plan.jmx:2: the file declares a document type (DTD), which no plan of JMeter has and which is never read; remove the `<!DOCTYPE …>`
    "#]],
    );
    trial.write("plan.jmx", "<jmeterTestPlan version=\"1.0\" properties=\"1.8\" jmeter=\"2.2\"/>");
    check_file(
        &trial,
        &expect![[r#"
        error: plan.jmx:1: the plan has version `1.0` (JMeter 2.2) and 1.2 is known; open it in JMeter 5 and save it again
    "#]],
    );
    std::fs::write(trial.path("plan.jmx"), b"<jmeterTestPlan version=\"1.2\">\n\xe9</jmeterTestPlan>")
        .unwrap();
    check_file(
        &trial,
        &expect![[r#"
        error: plan.jmx:2: the file is not UTF-8; open the plan in JMeter and save it again, which writes UTF-8
    "#]],
    );
    let missing = trial.prony(&["run", "missing.jmx"]);
    assert_eq!(
        (missing.code, missing.error.as_str()),
        (Some(2), "error: cannot read missing.jmx: No such file or directory (os error 2)\n")
    );
    let property = trial.prony(&["run", "plan.jmx", "-Jusers"]);
    assert_eq!(
        (property.code, property.error.as_str()),
        (Some(2), "error: -Jusers has no value; write -Jname=value\n")
    );
}

#[test]
fn a_file_of_data_that_is_not_there_is_said_before_the_start_where_its_name_is_known() {
    let trial = Trial::new();
    let plan_of = |name: &str| {
        let below = csv(name, "a", &flag("recycle", true)) + &get("a", "/ok", "");
        trial.write("plan.jmx", &plan(&group("Group", "1", "1", &(trial.defaults() + &below))));
    };
    plan_of("none.csv");
    check_file(
        &trial,
        &expect![[r#"
        error: the plan cannot be run as it is:
          - plan.jmx:30: CSV Data Set Config (Test Plan / Group / CSV Data Set Config): there is no file none.csv; put it beside the plan, or write its whole path
    "#]],
    );
    plan_of("${__P(file,none)}.csv");
    let ended = trial.run(&[]);
    assert_eq!(
        (ended.code, ended.error.as_str()),
        (Some(2), "error: cannot read none.csv: No such file or directory (os error 2)\n")
    );
}

/// It went on for a day.
#[test]
fn a_lifetime_that_is_no_time_is_said_before_the_start() {
    for (duration, said) in [
        ("${minutes}", "the duration is `${minutes}`, which is no number of seconds; set its"),
        ("60s", "the duration is `60s`, which is no number of seconds"),
        ("${__P(duration,0)}", "the duration is `0`; write more than 0 seconds, or turn the lifetime off"),
    ] {
        let trial = Trial::new();
        let props = flag("ThreadGroup.scheduler", true) + &text("ThreadGroup.duration", duration);
        let below = trial.defaults() + &get("a", "/ok", "");
        trial.write("plan.jmx", &plan(&group_with("ThreadGroup", "Group", "1", "-1", &props, &below)));
        let ended = trial.run(&["--check"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.error);
        let said = format!("Thread Group (Test Plan / Group): {said}");
        assert!(ended.error.contains(&said), "{}", ended.error);
    }
}
