//! Groups of threads: how many users, how often, with which data, and when they end.

use super::Trial;
use super::plans::{
    csv, defaults, element, flag, get, group, group_with, json_extractor, number, plan, plan_with, post,
    request, script, text, timer, transaction,
};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

fn plan_of(trial: &Trial, below: &str) {
    trial.write("plan.jmx", &plan(&(trial.defaults() + below)));
}

fn counted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn threads_and_loops_come_from_properties_and_have_jmeters_names() {
    let trial = Trial::new();
    let group = group(
        "Users",
        "${__P(users,1)}",
        "${__P(loops,5)}",
        &get("${kind} ${__threadNum}", "/${__P(path,x)}", ""),
    );
    trial.write(
        "plan.jmx",
        &plan_with("kind=call\nunused=${kind}!", "", &(defaults(&trial.server.port()) + &group)),
    );
    trial.write("user.properties", "# of the plan\nusers = 2\nloops=9\npath=p\n");
    trial.write("more.properties", "loops=2\n");
    trial.demand(&["-q", "more.properties", "-Jusers=3"]);
    assert_eq!(
        counted(trial.rows(&["label", "threadName"])),
        [
            "call 1 | Users 1-1",
            "call 1 | Users 1-1",
            "call 2 | Users 1-2",
            "call 2 | Users 1-2",
            "call 3 | Users 1-3",
            "call 3 | Users 1-3"
        ]
    );
    assert!(trial.server.lines().iter().all(|line| line == "GET /p"));
}

#[test]
fn rows_of_a_file_go_around_or_end_the_thread() {
    let trial = Trial::new();
    trial.write("ids.csv", "name,note\nann,\"a, b\"\nbob,\"say \"\"hi\"\"\"\n");
    let ends = flag("recycle", false)
        + &flag("stopThread", true)
        + &flag("quotedData", true)
        + &text("shareMode", "shareMode.all");
    let around = flag("recycle", true) + &flag("quotedData", true) + &text("shareMode", "shareMode.thread");
    let below = group("Ends", "1", "5", &(csv("ids.csv", "", &ends) + &post("${name}", "/", "${note}", "")))
        + &group("Around", "1", "3", &(csv("ids.csv", "", &around) + &get("around ${name}", "/", "")));
    plan_of(&trial, &below);
    trial.demand(&[]);
    assert_eq!(counted(trial.labels()), ["ann", "around ann", "around ann", "around bob", "bob"]);
    let bodies: Vec<_> =
        trial.server.seen().into_iter().map(|seen| seen.body).filter(|body| !body.is_empty()).collect();
    assert_eq!(bodies, ["a, b", "say \"hi\""]);
}

#[test]
fn names_may_stand_in_quotes_and_an_empty_line_is_the_end_of_a_file() {
    let trial = Trial::new();
    trial.write("ids.csv", "\"id\", note\n1,a\n\n2,b\n");
    let props = flag("recycle", false) + &flag("quotedData", false) + &text("shareMode", "shareMode.all");
    let below = csv("ids.csv", "", &props) + &get("${id} ${note}", "/", "");
    plan_of(&trial, &group("Group", "1", "4", &below));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["1 a", "<EOF> <EOF>", "2 b", "<EOF> <EOF>"]);
}

#[test]
fn variables_of_one_element_do_not_see_each_other_and_a_property_may_be_taken_away() {
    let trial = Trial::new();
    let below = group("Group", "1", "1", &get("${a} ${b} ${__P(users,none)}", "/", ""));
    trial.write("plan.jmx", &plan_with("a=1\nb=${a}2", "", &(trial.defaults() + &below)));
    trial.write("user.properties", "users=3\n");
    trial.demand(&["-Jusers="]);
    assert_eq!(trial.labels(), ["1 ${a}2 none"]);
}

#[test]
fn data_sets_of_one_file_give_its_columns_names_of_their_own() {
    let trial = Trial::new();
    trial.write("ids.csv", "name,note\nann,a\nbob,b\ncid,c\n");
    let ignores = flag("ignoreFirstLine", true);
    let below = csv("ids.csv", "user,text", &ignores)
        + &csv("ids.csv", "p,q", &ignores)
        + &csv("ids.csv", "", "")
        + &get("${user} ${q} ${name}", "/", "");
    plan_of(&trial, &group("Group", "1", "1", &below));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["cid b ann"], "the last one reads first, as in JMeter");
    let below = csv("ids.csv", "", "") + &csv("ids.csv", "user,text", "") + &get("${name}", "/", "");
    plan_of(&trial, &group("Group", "1", "1", &below));
    let ended = trial.run(&[]);
    assert!(ended.error.contains("has no first line with names"), "{}", ended.error);
}

#[test]
fn setup_and_teardown_share_properties_with_the_load() {
    let trial = Trial::new();
    let set = script(
        "JSR223Sampler",
        "set",
        "javascript",
        "props.put('token', 'T' + (1 + 1)); SampleResult.setResponseMessage('made')",
    );
    let below =
        group_with("PostThreadGroup", "After", "1", "1", "", &get("after ${__P(token)}", "/after", ""))
            + &group("Load", "2", "1", &get("load ${__P(token)}", "/load", ""))
            + &group_with("SetupThreadGroup", "Before", "1", "1", "", &set);
    plan_of(&trial, &below);
    trial.demand(&[]);
    assert_eq!(
        trial.rows(&["label", "responseMessage"]),
        ["set | made", "load T2 | OK", "load T2 | OK", "after T2 | OK"]
    );
}

#[test]
fn groups_go_one_after_the_other_where_the_plan_says_so() {
    let trial = Trial::new();
    let below = trial.defaults()
        + &group("First", "2", "2", &get("first", "/1", &timer("20")))
        + &group("Second", "1", "1", &get("second", "/2", ""));
    trial.write("plan.jmx", &plan_with("", &flag("TestPlan.serialize_threadgroups", true), &below));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["first", "first", "first", "first", "second"]);
    let in_turn = |tag: &str, name: &str| {
        group_with(tag, name, "1", "2", "", &get(&format!("{name} 1"), "/1", &timer("20")))
            + &group_with(tag, name, "1", "1", "", &get(&format!("{name} 2"), "/2", ""))
    };
    let below = trial.defaults()
        + &in_turn("SetupThreadGroup", "before")
        + &group("Load", "1", "1", &get("load", "/load", ""))
        + &in_turn("PostThreadGroup", "after");
    trial.write("plan.jmx", &plan_with("", &flag("TestPlan.serialize_threadgroups", true), &below));
    trial.demand(&[]);
    let around = |name: &str| [1, 1, 2].map(|number| format!("{name} {number}"));
    let all = [&around("before")[..], &["load".to_owned()], &around("after")].concat();
    assert_eq!(trial.labels(), all);
}

#[test]
fn groups_may_share_a_name_and_turns_may_be_dealt_out_to_threads() {
    let trial = Trial::new();
    let turns = ["i", "j", "k"].map(|name| get(name, "/ok", "")).concat();
    let across = number("InterleaveControl.style", 1) + &flag("InterleaveControl.accrossThreads", true);
    let turns = element("InterleaveControl", "Turns", &across, &turns);
    let below = group("Group", "2", "2", &turns) + &group("Group", "1", "1", &get("again", "/ok", ""));
    plan_of(&trial, &below);
    trial.demand(&[]);
    let rows = counted(trial.rows(&["threadName", "label"]));
    let first = ["Group 1-1 | i", "Group 1-1 | j", "Group 1-2 | j", "Group 1-2 | k"];
    assert_eq!(rows[..4], first);
    assert_eq!(rows[4..], ["Group 2-1 | again"]);
}

#[test]
fn transactions_that_end_with_the_last_sample_of_a_user_are_samples() {
    let trial = Trial::new();
    let stops = |name: &str, below: &str| {
        let props = text("ThreadGroup.on_sample_error", "stopthread");
        group_with("ThreadGroup", name, "1", "1", &props, below)
    };
    let whole = get("a", "/ok", "") + &get("bad", "/missing", "");
    let whole = transaction("outer", false, &transaction("inner", false, &whole));
    let cut = transaction("cut", false, &(get("bad", "/missing", "") + &get("never", "/ok", "")));
    plan_of(&trial, &(stops("Whole", &(whole + &get("never", "/ok", ""))) + &stops("Cut", &cut)));
    trial.demand(&[]);
    assert_eq!(counted(trial.labels()), ["a", "bad", "bad", "inner", "outer"]);
}

#[test]
fn a_failed_sample_does_what_the_group_says() {
    for (action, expected) in [
        ("continue", ["a", "bad", "c", "a", "bad", "c"].as_slice()),
        ("startnextloop", &["a", "bad", "a", "bad"]),
        ("stopthread", &["a", "bad"]),
        ("stoptest", &["a", "bad"]),
    ] {
        let trial = Trial::new();
        let below = get("a", "/ok", "") + &get("bad", "/missing", "") + &get("c", "/ok", "");
        let props = text("ThreadGroup.on_sample_error", action);
        plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "2", &props, &below));
        trial.demand(&[]);
        assert_eq!(trial.labels(), expected, "{action}");
    }
}

#[test]
fn groups_that_are_turned_off_are_passed_over() {
    let trial = Trial::new();
    let below = group("Off", "${__P(off,0)}", "1", &get("off", "/", ""))
        + &group("None", "1", "0", &get("none", "/", ""))
        + &group_with("SetupThreadGroup", "Before", "0", "1", "", &get("before", "/", ""))
        + &group("On", "1", "1", &get("on", "/", ""));
    plan_of(&trial, &below);
    trial.demand(&[]);
    assert_eq!(trial.rows(&["label", "threadName"]), ["on | On 3-1"]);
    plan_of(&trial, &group("Off", "0", "1", &get("off", "/", "")));
    let refused = trial.run(&[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.error.contains("no Thread Group of it has a thread and a loop"), "{}", refused.error);
}

#[test]
fn a_test_that_is_ended_has_no_load_or_teardown_behind_it() {
    let stops = text("ThreadGroup.on_sample_error", "stoptest");
    let after = group_with("PostThreadGroup", "After", "1", "1", "", &get("after", "/", ""));
    let main = group_with("ThreadGroup", "Main", "1", "1", &stops, &get("main", "/missing", ""));
    let before = group_with("SetupThreadGroup", "Before", "1", "1", &stops, &get("before", "/missing", ""));
    let run = |props: &str, groups: &str| {
        let trial = Trial::new();
        trial.write("plan.jmx", &plan_with("", props, &(trial.defaults() + groups)));
        let ended = trial.run(&[]);
        (ended.code, ended.error, trial.labels())
    };
    let (code, error, labels) = run("", &(before + &main + &after));
    assert_eq!((code, labels), (Some(2), vec!["before".to_owned()]));
    assert!(error.contains("a setUp Thread Group has ended the test before its load"), "{error}");
    let both = main + &after;
    assert_eq!(run("", &both).2, ["main"]);
    assert_eq!(run(&flag("TestPlan.tearDown_on_shutdown", true), &both).2, ["main", "after"]);
}

/// The run is over, and nobody has stopped the search.
#[test]
fn a_search_says_that_its_plan_has_ended_the_test() {
    for action in ["stoptest", "stoptestnow"] {
        let trial = Trial::new();
        let props = text("ThreadGroup.on_sample_error", action);
        plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "1", &props, &get("bad", "/missing", "")));
        let arguments =
            ["find", "plan.jmx", "--slo", "errors<50%", "--ramp", "0s", "--hold", "5s", "--quiet"];
        let ended = trial.prony(&arguments);
        assert_eq!(ended.code, Some(2), "{action}: {}{}", ended.out, ended.error);
        for part in ["a run ended by itself after ", " of 5.00 s, ", "Stop Test Now"] {
            assert!(ended.error.contains(part), "{action}: {part} in {}", ended.error);
        }
    }
}

/// The figures of the run have them when their samples are over, and these have no end.
#[test]
fn requests_and_websockets_that_are_under_way_when_the_test_is_stopped_are_unfinished() {
    let trial = Trial::new();
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let target = text("HTTPSampler.domain", "127.0.0.1") + &text("HTTPSampler.port", &port);
    let asks = request("asks", "GET", "/", "", &target, "");
    let address = text("server", "127.0.0.1") + &text("port", &port) + &text("path", "/");
    let opens = element("eu.luminis.jmeter.wssampler.OpenWebSocketSampler", "opens", &address, "");
    let stop = number("ActionProcessor.action", 2) + &number("ActionProcessor.target", 2);
    let stops = get("first", "/ok", &timer("500")) + &element("TestAction", "Stop", &stop, "");
    let groups = group("Asks", "2", "1", &asks)
        + &group("Opens", "1", "1", &opens)
        + &group("Stops", "1", "1", &stops);
    plan_of(&trial, &groups);
    let ended = trial.run(&[]);
    assert_eq!(trial.labels(), ["first"], "{}", ended.error);
    let result = fs::read_dir(trial.path("results")).unwrap().next().unwrap().unwrap().path();
    let result: serde_json::Value = serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
    assert_eq!(result["lab"]["unfinished"], 3);
}

#[test]
fn the_last_sample_was_well_before_the_first_and_where_a_pass_was_left() {
    let trial = Trial::new();
    let below = get("last ${JMeterThread.last_sample_ok}", "/ok", "") + &get("bad", "/missing", "");
    let props = text("ThreadGroup.on_sample_error", "startnextloop");
    plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "2", &props, &below));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["last true", "bad", "last true", "bad"]);
}

#[test]
fn a_parent_of_samples_ends_with_its_user() {
    let trial = Trial::new();
    let below = get("a", "/ok", "") + &get("bad", "/missing", "") + &get("c", "/ok", "");
    let below = transaction("outer", true, &transaction("inner", true, &below));
    let props = text("ThreadGroup.on_sample_error", "stopthread");
    plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "2", &props, &below));
    trial.demand(&[]);
    let rows = trial.rows(&["label", "responseCode", "responseMessage", "success"]);
    assert_eq!(
        rows,
        [
            "outer | 404 |  | false",
            "inner | 404 |  | false",
            "a | 200 | OK | true",
            "bad | 404 | Not Found | false"
        ]
    );
}

#[test]
fn a_schedule_ends_after_the_sample_that_is_under_way() {
    let trial = Trial::new();
    let props = flag("ThreadGroup.scheduler", true)
        + &text("ThreadGroup.duration", "1")
        + &text("ThreadGroup.delay", "");
    plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "-1", &props, &get("a", "/ok", &timer("300"))));
    trial.demand(&[]);
    let count = trial.labels().len();
    assert!((2..=3).contains(&count), "{count} samples in a second with 300 ms before each");
}

/// A Throughput Shaping Timer that stands beside the groups counts for all of them, and ends their users, whatever these would go on to do.
#[test]
fn starts_are_shaped_by_a_schedule_and_users_end_with_it() {
    let trial = Trial::new();
    let row = |cells: [&str; 3]| {
        let cells: String = cells.map(|cell| text(cell, cell)).concat();
        format!("<collectionProp name=\"row\">\n{cells}</collectionProp>\n")
    };
    let rows = row(["0", "0", "0.5"]) + &row(["10", "${__P(rate)}", "1"]);
    let profile = format!("<collectionProp name=\"load_profile\">\n{rows}</collectionProp>\n");
    let shaping = element("kg.apc.jmeter.timers.VariableThroughputTimer", "Shaping", &profile, "");
    let groups =
        group("One", "3", "-1", &get("a", "/ok", "")) + &group("Two", "3", "-1", &get("b", "/ok", ""));
    plan_of(&trial, &(shaping + &groups));
    trial.demand(&["-Jrate=30"]);
    // On a busy machine some of the last ones would come too late.
    let labels = trial.labels();
    assert!((10..=20).contains(&labels.len()), "{labels:?}");
    assert!(labels.iter().any(|label| label == "a") && labels.iter().any(|label| label == "b"), "{labels:?}");
}

/// As the plug-in does, which stops the threads of the group that has come to its end.
#[test]
fn a_schedule_of_starts_ends_the_users_of_its_own_group_alone() {
    let trial = Trial::new();
    let cells: String = ["20", "20", "1"].map(|cell| text(cell, cell)).concat();
    let row = format!("<collectionProp name=\"row\">\n{cells}</collectionProp>\n");
    let profile = format!("<collectionProp name=\"load_profile\">\n{row}</collectionProp>\n");
    let shaping = element("kg.apc.jmeter.timers.VariableThroughputTimer", "Shaping", &profile, "");
    let groups = group("Shaped", "2", "-1", &(shaping + &get("a", "/ok", "")))
        + &group("Other", "1", "4", &get("b", "/ok", &timer("500")));
    plan_of(&trial, &groups);
    trial.demand(&[]);
    let labels = trial.labels();
    let count = |label: &str| labels.iter().filter(|found| *found == label).count();
    assert!((5..=20).contains(&count("a")), "{labels:?}");
    assert_eq!(count("b"), 4, "2 s of the other group: {labels:?}");
}

#[test]
fn a_dummy_sampler_makes_the_sample_that_is_written_in_it() {
    let trial = Trial::new();
    let props = |waits: bool, time: &str, success: &str| {
        flag("WAITING", waits)
            + &text("SUCCESFULL", success)
            + &text("RESPONSE_CODE", "${code}")
            + &text("RESPONSE_MESSAGE", "made")
            + &text("RESPONSE_DATA", "{\"id\": \"x${__threadNum}\"}")
            + &text("RESPONSE_TIME", time)
            + &text("LATENCY", "30")
            + &text("CONNECT", "5")
            + &text("URL", "http://shop.test/a")
    };
    let dummy = |name: &str, props: &str, below: &str| {
        element("kg.apc.jmeter.samplers.DummySampler", name, props, below)
    };
    let below = dummy("waits", &props(true, "200", "true"), &json_extractor("id", "$.id", "1", "none"))
        + &dummy("says so", &props(false, "90000", "false"), "")
        + &get("after ${id}", "/ok", "");
    let groups = trial.defaults() + &group("Group", "1", "1", &below);
    trial.write("plan.jmx", &plan_with("code=299", "", &groups));
    trial.demand(&[]);
    let columns =
        ["label", "responseCode", "responseMessage", "success", "bytes", "Latency", "Connect", "URL"];
    assert_eq!(
        trial.rows(&columns)[..2],
        [
            "waits | 299 | made | true | 12 | 30 | 5 | http://shop.test/a",
            "says so | 299 | made | false | 12 | 30 | 5 | http://shop.test/a",
        ]
    );
    assert_eq!(trial.labels(), ["waits", "says so", "after x1"]);
    let times: Vec<u64> = trial.rows(&["elapsed"]).iter().map(|time| time.parse().unwrap()).collect();
    assert_eq!(times[..2], [200, 90_000]);
    let starts: Vec<u64> = trial.rows(&["timeStamp"]).iter().map(|time| time.parse().unwrap()).collect();
    let waited = starts[2] - starts[0];
    assert!((200..20_000).contains(&waited), "{waited} ms between the first sample and the last");
}

#[test]
fn each_pass_is_a_new_user_where_the_group_says_so() {
    let cookies = |same_user: bool| {
        let trial = Trial::new();
        let manager = element(
            "CookieManager",
            "HTTP Cookie Manager",
            &(flag("CookieManager.clearEachIteration", false)
                + &flag("CookieManager.controlledByThreadGroup", true)),
            "",
        );
        let below = manager + &get("in", "/login", "") + &get("use", "/ok", "");
        let props = flag("ThreadGroup.same_user_on_next_iteration", same_user);
        plan_of(&trial, &group_with("ThreadGroup", "Group", "1", "2", &props, &below));
        trial.demand(&[]);
        let seen = trial.server.seen();
        let first = seen[0].connection;
        let cookies =
            seen.iter().map(|seen| seen.header("cookie").unwrap_or("-").to_owned()).collect::<Vec<_>>();
        (cookies.join(" "), seen.iter().any(|seen| seen.connection != first))
    };
    assert_eq!(cookies(true), ("- session=s1 session=s1 session=s1".to_owned(), false));
    assert_eq!(cookies(false), ("- session=s1 - session=s1".to_owned(), true));
}

#[test]
fn scripts_and_functions_see_variables_and_the_last_sample() {
    let trial = Trial::once(
        &(get(
            "first",
            "/ok",
            &script(
                "JSR223PostProcessor",
                "take",
                "javascript",
                "vars.put('code', prev.getResponseCode() + '/' + JSON.parse(prev.getResponseDataAsString()).name)",
            ),
        ) + &post(
            "second",
            "/show",
            "${code} ${__javaScript(6 * 7,answer)} ${answer} ${__V(co${__char(100)}e)} ${__eval(${__counter(TRUE,)})} ${__counter(TRUE,)} ${__intSum(1,2,3)} ${__FileToString(note.txt,,)} ${__CSVRead(rows.csv,1)}",
            &script(
                "JSR223Assertion",
                "check",
                "javascript",
                "if (ctx.getThreadNum() === 0) { AssertionResult.setFailure(true); AssertionResult.setFailureMessage('as asked') }",
            ),
        )),
    );
    trial.write("note.txt", "from a file");
    trial.write("rows.csv", "a,b\n");
    trial.demand(&[]);
    assert_eq!(trial.rows(&["success", "failureMessage"]), ["true | ", "false | as asked"]);
    assert_eq!(trial.server.seen()[1].body, "200/x 42 42 200/x 1 1 6 from a file b");
}

#[test]
fn a_script_that_throws_fails_its_sample() {
    let throws = |tag: &str| script(tag, "s", "javascript", "throw new Error('bad')");
    let around = throws("JSR223PreProcessor") + &throws("JSR223PostProcessor");
    let below =
        throws("JSR223Sampler") + &get("a", "/ok", &throws("JSR223Assertion")) + &get("b", "/ok", &around);
    let trial = Trial::once(&below);
    let ended = trial.prony(&["run", "plan.jmx", "-l", "out.jtl", "--seed", "1"]);
    let rows = trial.rows(&["label", "responseCode", "success", "responseMessage", "failureMessage"]);
    let begins = [
        "s | 500 | false | javax.script.ScriptException: bad",
        "a | 200 | false | OK | javax.script.ScriptException: bad",
        "b | 200 | true | OK | ",
    ];
    assert_eq!(rows.len(), begins.len(), "{rows:?}");
    assert!(rows.iter().zip(begins).all(|(row, begin)| row.starts_with(begin)), "{rows:?}");
    assert!(ended.error.contains("s: bad"), "{}", ended.error);
}

#[test]
fn scripts_end_passes_and_users() {
    let source = "const pass = vars.get('__jm__Group__idx'); vars.put('x', 'set'); vars.put('x', null);
        vars.putObject('y', 'set'); vars.putObject('y', null);
        SampleResult.setStartNextThreadLoop(pass === '0'); SampleResult.setStopThread(pass === '2');";
    let trial = Trial::new();
    let below = get("a", "/ok", "")
        + &script("JSR223Sampler", "s", "javascript", source)
        + &get("end ${x}${y}", "/ok", "");
    plan_of(&trial, &group("Group", "1", "4", &below));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["a", "s", "a", "s", "end ${x}${y}", "a", "s"]);
}

#[test]
fn searches_and_comparisons_run_plans_too() {
    let trial = Trial::once(&get("a", "/ok", &timer("5")));
    let explained = trial.prony(&["run", "plan.jmx", "--explain"]);
    assert!(explained.out.contains("HTTP request: a (1 timer)"), "{}", explained.out);
    let arguments = [
        "find",
        "plan.jmx",
        "--slo",
        "errors<1%",
        "--max",
        "2",
        "--from",
        "2",
        "--repeats",
        "1",
        "--ramp",
        "0s",
        "--hold",
        "1s",
        "--quiet",
    ];
    let found = trial.prony(&arguments);
    assert!(found.out.contains("at least 2"), "{}{}", found.out, found.error);
}

/// The request that follows the line waits for a minute: whoever read the line only at the end of the run would find it sent.
#[test]
fn what_a_script_logs_is_told_while_the_run_goes() {
    let trial = Trial::new();
    let say = script("JSR223Sampler", "say", "javascript", "for (let i = 0; i < 3; i++) log.info('begun');");
    plan_of(&trial, &group("Group", "1", "1", &(say + &get("after", "/ok", &timer("60000")))));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(trial.folder.path()).args(["run", "plan.jmx", "--no-result"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let begun = |line: &String| line.contains("begun");
    // In a pipe each is there, also where it repeats another.
    let told: Vec<_> = (0..3).map(|_| lines.find(begun)).collect();
    let sent = trial.server.seen().len();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told.iter().all(Option::is_some), "{told:?}");
    assert_eq!(sent, 0, "the run goes on");
}
