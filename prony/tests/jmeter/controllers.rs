//! Controllers: the order in which samplers run.

use super::Trial;
use super::plans::{element, flag, get, group, number, plan, text, transaction};

/// The labels of one thread that goes through its group so often.
fn labels(loops: &str, below: &str) -> Vec<String> {
    let trial = Trial::new();
    trial.write("plan.jmx", &plan(&group("Group", "1", loops, &(trial.defaults() + below))));
    trial.demand(&[]);
    trial.labels()
}

fn abc() -> String {
    ["a", "b", "c"].map(|name| get(name, "/ok", "")).concat()
}

fn controller(tag: &str, props: &str, below: &str) -> String {
    element(tag, tag, props, below)
}

#[test]
fn loops_repeat_and_count() {
    let inner = controller(
        "LoopController",
        &text("LoopController.loops", "2"),
        &get("x${__jm__LoopController__idx}", "/ok", ""),
    );
    assert_eq!(labels("2", &(get("a", "/ok", "") + &inner)), ["a", "x0", "x1", "a", "x0", "x1"]);
    let once = text("LoopController.loops", "2") + &flag("LoopController.continue_forever", false);
    let once = controller("LoopController", &once, &get("once", "/ok", ""));
    assert_eq!(labels("2", &(get("a", "/ok", "") + &once)), ["a", "once", "once", "a"]);
    let none = controller("LoopController", &text("LoopController.loops", "0"), &abc());
    assert_eq!(labels("1", &(none + &get("end", "/ok", ""))), ["end"]);
    let empty = text("LoopController.loops", "") + &flag("LoopController.continue_forever", true);
    let empty = controller("LoopController", &empty, &abc());
    assert_eq!(labels("1", &(empty + &get("end", "/ok", ""))), ["end"], "no count is no pass");
}

#[test]
fn while_asks_as_a_pass_ends_and_as_the_next_begins() {
    let index = "${__jm__WhileController__idx}";
    let condition = text("WhileController.condition", &format!("${{__jexl3({index} < 2)}}"));
    let below = controller("WhileController", &condition, &get(&format!("w{index}"), "/ok", ""))
        + &get(&format!("after {index}"), "/ok", "");
    assert_eq!(labels("2", &below), ["w0", "w1", "after 0", "w0", "w1", "after 0"]);
    let condition = text("WhileController.condition", "${__jexl3(${__intSum(${__V(n,0)},1,n)} < 4)}");
    let below = controller("WhileController", &condition, &get("n${n}", "/ok", ""));
    assert_eq!(labels("1", &below), ["n1", "n3"], "what counts in a condition counts twice");
}

#[test]
fn conditions_are_plain_comparisons_or_scripts() {
    let condition = |text_of: &str, is_expression: bool, name: &str| {
        let props =
            text("IfController.condition", text_of) + &flag("IfController.useExpression", is_expression);
        controller("IfController", &props, &get(name, "/ok", ""))
    };
    let below = get("a", "/missing", "")
        + &condition("${JMeterThread.last_sample_ok}", true, "after success")
        + &condition(
            "${__jexl3(\"${__threadNum}\" == \"1\" && !${JMeterThread.last_sample_ok},)}",
            true,
            "jexl",
        )
        + &condition("\"${__threadNum}\" == \"1\"", false, "plain")
        + &condition("[1, 2].length === 2", false, "script")
        + &condition("${__threadNum} > 1", false, "no");
    assert_eq!(labels("1", &below), ["a", "jexl", "plain", "script"]);
}

#[test]
fn while_and_for_each_go_on_as_long_as_there_is_something() {
    let counter = text("CounterConfig.start", "1")
        + &text("CounterConfig.incr", "1")
        + &text("CounterConfig.name", "n")
        + &flag("CounterConfig.per_user", true);
    let counter = element("CounterConfig", "Counter", &counter, "");
    let condition = text("WhileController.condition", "${__javaScript('${n}' != '3',)}");
    let below = controller("WhileController", &condition, &(counter + &get("w${n}", "/ok", "")));
    assert_eq!(labels("1", &below), ["w1", "w2", "w3"]);
    let each = text("ForeachController.inputVal", "id")
        + &text("ForeachController.returnVal", "one")
        + &flag("ForeachController.useSeparator", true);
    let below = get("all", "/ok", &super::plans::json_extractor("id", "$.list.ids[*]", "-1", "none"))
        + &controller("ForeachController", &each, &get("each ${one}", "/ok", ""));
    assert_eq!(labels("1", &below), ["all", "each 7", "each 8", "each 9"]);
    let each = each + &text("ForeachController.startIndex", "1");
    let below = get("all", "/ok", &super::plans::json_extractor("id", "$.list.ids[*]", "-1", "none"))
        + &controller("ForeachController", &each, &get("${__jm__ForeachController__idx}: ${one}", "/ok", ""));
    assert_eq!(labels("1", &below), ["all", "1: 8", "2: 9"]);
}

#[test]
fn one_of_many_in_turns_once_or_by_name() {
    assert_eq!(
        labels("4", &controller("InterleaveControl", &number("InterleaveControl.style", 0), &abc())),
        ["a", "b", "c", "a"]
    );
    assert_eq!(
        labels("2", &(controller("OnceOnlyController", "", &get("once", "/ok", "")) + &get("x", "/ok", ""))),
        ["once", "x", "x"]
    );
    assert_eq!(
        labels("1", &controller("SwitchController", &text("SwitchController.value", "b"), &abc())),
        ["b"]
    );
    assert_eq!(
        labels("1", &controller("SwitchController", &text("SwitchController.value", "2"), &abc())),
        ["c"]
    );
    assert_eq!(labels("9", &controller("RandomController", "", &abc())).len(), 9);
    let mut shuffled = labels("1", &controller("RandomOrderController", "", &abc()));
    shuffled.sort();
    assert_eq!(shuffled, ["a", "b", "c"]);
}

#[test]
fn a_turn_goes_on_to_a_child_that_has_something_to_run() {
    let once = controller("OnceOnlyController", "", &get("once", "/ok", ""));
    let never = text("IfController.condition", "false") + &flag("IfController.useExpression", true);
    let never = controller("IfController", &never, &get("never", "/ok", ""));
    let turns = |below: &str| controller("InterleaveControl", &number("InterleaveControl.style", 1), below);
    let below = get("a", "/ok", "") + &once + &never + &get("b", "/ok", "");
    assert_eq!(labels("6", &turns(&below)), ["a", "once", "b", "a", "b", "a"]);
    assert_eq!(labels("2", &(turns(&never) + &get("end", "/ok", ""))), ["end", "end"]);
}

#[test]
fn once_is_in_the_first_pass_of_each_loop() {
    let once = controller("OnceOnlyController", "", &get("once", "/ok", ""));
    let counter = text("CounterConfig.start", "1")
        + &text("CounterConfig.incr", "1")
        + &text("CounterConfig.name", "n")
        + &flag("CounterConfig.per_user", true);
    let counter = element("CounterConfig", "Counter", &counter, "");
    let condition = text("WhileController.condition", "${__javaScript('${n}' != '2',)}");
    let below = controller("WhileController", &condition, &(counter + &once + &get("w${n}", "/ok", "")));
    assert_eq!(labels("1", &below), ["once", "w1", "w2"]);
    let each = text("ForeachController.inputVal", "id") + &text("ForeachController.returnVal", "one");
    let below = get("all", "/ok", &super::plans::json_extractor("id", "$.list.ids[*]", "-1", "none"))
        + &controller("ForeachController", &each, &(once + &get("each ${one}", "/ok", "")));
    let pass = ["all", "once", "each 7", "each 8", "each 9"];
    assert_eq!(labels("2", &below), [pass, pass].concat());
}

#[test]
fn a_counter_may_begin_anew_with_each_pass_of_the_group() {
    let counter = |reset: bool| {
        let props = text("CounterConfig.start", "1")
            + &text("CounterConfig.incr", "1")
            + &text("CounterConfig.name", "n")
            + &flag("CounterConfig.per_user", true)
            + &flag("CounterConfig.reset_on_tg_iteration", reset);
        let below = element("CounterConfig", "Counter", &props, "") + &get("c${n}", "/ok", "");
        controller("LoopController", &text("LoopController.loops", "2"), &below)
    };
    assert_eq!(labels("2", &counter(true)), ["c1", "c2", "c1", "c2"]);
    assert_eq!(labels("2", &counter(false)), ["c1", "c2", "c3", "c4"]);
    let still = text("CounterConfig.start", "5")
        + &text("CounterConfig.name", "n")
        + &flag("CounterConfig.per_user", true);
    let still = element("CounterConfig", "Counter", &still, "");
    assert_eq!(labels("2", &(still + &get("c${n}", "/ok", ""))), ["c5", "c5"]);
}

#[test]
fn names_of_a_switch_have_their_case_and_conditions_have_none() {
    let switch = |names: [&str; 2]| {
        let below = names.map(|name| get(name, "/ok", "")).concat();
        controller("SwitchController", &text("SwitchController.value", "B"), &below)
    };
    assert_eq!(labels("1", &switch(["b", "Default"])), ["Default"]);
    assert_eq!(labels("1", &(switch(["a", "b"]) + &get("end", "/ok", ""))), ["end"]);
    let below = get("a", "/ok", "") + &get("bad", "/missing", "");
    let last = controller("WhileController", &text("WhileController.condition", "last"), &below);
    assert_eq!(labels("1", &last), ["a", "bad"]);
}

#[test]
fn shares_of_passes_are_exact() {
    let share = number("ThroughputController.style", 1)
        + &text("ThroughputController.percentThroughput", "50.0")
        + &flag("ThroughputController.perThread", true);
    assert_eq!(
        labels("4", &controller("ThroughputController", &share, &get("half", "/ok", ""))),
        ["half", "half"]
    );
    let count = number("ThroughputController.style", 0)
        + &text("ThroughputController.maxThroughput", "3")
        + &flag("ThroughputController.perThread", false);
    assert_eq!(labels("9", &controller("ThroughputController", &count, &get("three", "/ok", ""))).len(), 3);
}

#[test]
fn actions_pause_and_leave_loops() {
    let action = |kind: i64| {
        let props = number("ActionProcessor.action", kind)
            + &number("ActionProcessor.target", 0)
            + &text("ActionProcessor.duration", "10");
        element("TestAction", "Flow Control Action", &props, "")
    };
    let body = get("a", "/ok", "") + &action(1) + &action(5) + &get("never", "/ok", "");
    let below =
        controller("LoopController", &text("LoopController.loops", "3"), &body) + &get("after", "/ok", "");
    assert_eq!(labels("1", &below), ["a", "after"]);
    let below = get("a", "/ok", "") + &action(3) + &get("never", "/ok", "");
    assert_eq!(labels("2", &below), ["a", "a"]);
    assert_eq!(labels("2", &(get("a", "/ok", "") + &action(0))), ["a"]);
}

/// A Flow Control Action: 3 starts the group's next loop, 5 breaks the nearest one off.
fn flow_control(kind: i64) -> String {
    let props = number("ActionProcessor.action", kind) + &number("ActionProcessor.target", 0);
    element("TestAction", "Flow Control Action", &props, "")
}

#[test]
fn a_break_outside_of_loops_ends_the_user() {
    let below = get("a", "/ok", "") + &flow_control(5) + &get("never", "/ok", "");
    assert_eq!(labels("3", &below), ["a"]);
    let inner = controller("GenericController", "", &below);
    assert_eq!(labels("3", &transaction("t", false, &inner)), ["a", "t"]);
}

#[test]
fn once_comes_again_where_it_was_left_before_its_end() {
    let below = get("once", "/ok", "") + &flow_control(3) + &get("never", "/ok", "");
    assert_eq!(labels("2", &controller("OnceOnlyController", "", &below)), ["once", "once"]);
}

#[test]
fn behind_a_for_each_its_variable_is_the_first_value() {
    let each = text("ForeachController.inputVal", "id")
        + &text("ForeachController.returnVal", "one")
        + &text("ForeachController.startIndex", "1");
    let below = |props: &str| {
        get("all", "/ok", &super::plans::json_extractor("id", "$.list.ids[*]", "-1", "none"))
            + &controller("ForeachController", props, &get("each ${one}", "/ok", ""))
            + &get("behind ${one}", "/ok", "")
    };
    assert_eq!(labels("1", &below(&each)), ["all", "each 8", "each 9", "behind 8"]);
    // An end that is there and is no number is 0.
    let to_none = each + &text("ForeachController.endIndex", "");
    assert_eq!(labels("1", &below(&to_none)), ["all", "behind ${one}"]);
}

/// Codes, messages and success of the rows that a label has.
fn rows_of(loops: &str, label: &str, below: &str) -> Vec<String> {
    let trial = Trial::new();
    trial.write("plan.jmx", &plan(&group("Group", "1", loops, &(trial.defaults() + below))));
    trial.demand(&[]);
    let rows = trial.rows(&["label", "responseCode", "responseMessage", "success"]);
    let begin = format!("{label} | ");
    rows.iter().filter_map(|row| row.strip_prefix(&begin).map(str::to_owned)).collect()
}

#[test]
fn transactions_that_are_left_are_judged_by_their_last_sample() {
    let left = |last: &str| {
        let below = get("bad", "/missing", "") + &get("last", last, "") + &flow_control(3);
        rows_of("1", "t", &transaction("t", false, &below))
    };
    let counts =
        |failing: u32| format!("Number of samples in transaction : 3, number of failing samples : {failing}");
    assert_eq!(left("/ok"), [format!(" | {} | true", counts(1))]);
    assert_eq!(left("/missing"), [format!(" | {} | false", counts(2))]);
}

#[test]
fn a_parent_is_one_sample_of_the_transaction_around_it() {
    let two = get("a", "/missing", "") + &get("b", "/missing", "");
    let below = transaction("inner", true, &two) + &get("c", "/ok", "");
    let rows = rows_of("1", "outer", &transaction("outer", false, &below));
    assert!(rows[0].ends_with("number of failing samples : 1 | false"), "{rows:?}");
}

#[test]
fn transactions_count_controllers_without_children_once() {
    let empty = controller("GenericController", "", "");
    let below = get("a", "/ok", "") + &empty + &get("b", "/ok", "");
    let counts = [3, 2].map(|samples| {
        format!("200 | Number of samples in transaction : {samples}, number of failing samples : 0 | true")
    });
    assert_eq!(rows_of("2", "t", &transaction("t", false, &below)), counts);
}

#[test]
fn other_trees_are_read_in_their_place() {
    let trial = Trial::new();
    let variables = "<collectionProp name=\"Arguments.arguments\"><elementProp name=\"part\" elementType=\"Argument\">\
        <stringProp name=\"Argument.name\">part</stringProp><stringProp name=\"Argument.value\">file</stringProp></elementProp>\
        </collectionProp>";
    let below = element("Arguments", "Variables", variables, "") + &get("from a ${part}", "/ok", "");
    let fragment = element("TestFragmentController", "Fragment", "", &below);
    trial.write("part.jmx", &plan(&fragment));
    let include =
        element("IncludeController", "Include", &text("IncludeController.includepath", "part.jmx"), "");
    let names = ["Test Plan", "Test Plan", "Shared", "Inner"].map(|name| text("0", name)).concat();
    let path = format!("<collectionProp name=\"ModuleController.node_path\">{names}</collectionProp>");
    let module = element("ModuleController", "Module", &path, "");
    let shared = element(
        "TestFragmentController",
        "Shared",
        "",
        &element("GenericController", "Inner", "", &get("from a module", "/ok", "")),
    );
    trial.write(
        "plan.jmx",
        &plan(&(shared + &group("Group", "1", "1", &(trial.defaults() + &include + &module)))),
    );
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["from a file", "from a module"]);
}
