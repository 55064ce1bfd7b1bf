//! A plan on several workers: shares that do not divide evenly, what is unique in the whole test, and what runs once.

use super::plans::{csv, element, flag, get, group, group_with, number, plan, request, script, text, timer};
use super::{Ended, Trial};
use std::collections::BTreeSet;
use std::fs;

impl Trial {
    /// Runs `plan.jmx` with rows in `out.jtl`.
    fn on_workers(&self, workers: &str, arguments: &[&str]) -> Ended {
        let server = prony_testkit::nats::program().display().to_string();
        self.run(&[&["--workers", workers, "--nats-server", &server], arguments].concat())
    }

    /// Runs it and demands that it could be run.
    fn share_out(&self, workers: &str, arguments: &[&str]) {
        let ended = self.on_workers(workers, arguments);
        assert!(matches!(ended.code, Some(0 | 1 | 3)), "{}{}", ended.out, ended.error);
    }

    fn write_plan(&self, below: &str) {
        self.write("plan.jmx", &plan(&(self.defaults() + below)));
    }
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn counter(name: &str, start: &str) -> String {
    let props = text("CounterConfig.start", start)
        + &text("CounterConfig.incr", "1")
        + &text("CounterConfig.name", name)
        + &flag("CounterConfig.per_user", false);
    element("CounterConfig", "Counter", &props, "")
}

fn csv_of(file: &str, names: &str, sharing: &str) -> String {
    let props = flag("recycle", false)
        + &flag("stopThread", true)
        + &text("shareMode", &format!("shareMode.{sharing}"));
    csv(file, names, &props)
}

/// Executions in all, of all users of the group.
fn executions(count: &str, below: &str) -> String {
    let props = number("ThroughputController.style", 0)
        + &flag("ThroughputController.perThread", false)
        + &text("ThroughputController.maxThroughput", count);
    element("ThroughputController", "Throughput Controller", &props, below)
}

#[test]
fn a_plan_on_three_workers_is_that_of_one_machine() {
    let trial = Trial::new();
    // Five threads and two, of which no worker has as many as another.
    fs::create_dir(trial.path("größen")).unwrap();
    let ids: Vec<_> = (0..15).map(|row| format!("kunde-{:x}", row * 7919 + 13)).collect();
    trial.write("größen/ids.csv", &ids.join("\n"));
    trial.write("pairs.csv", "name,of\nann,1\nböb,2\ncid,3\ndan,4\n");
    let lines: Vec<_> = (0..40).map(|line| format!("line{line}\n")).collect();
    trial.write("lines.txt", &lines.concat());
    for thread in 1..=5 {
        trial.write(&format!("own{thread}.txt"), &format!("own-{}", thread * 31));
    }
    let ids_file = trial.path("größen/../größen/ids.csv").display().to_string();
    let read = "/read/${id}/${__P(token)}/${__StringFromFile(lines.txt)}/${__FileToString(own${__threadNum}.txt)}/${__counter(FALSE)}";
    let readers = csv_of(&ids_file, "id", "all")
        + &get("read ${__threadNum}", read, "")
        + &executions("7", &get("seldom", "/seldom", ""));
    let writers = csv_of("pairs.csv", "", "group")
        + &counter("count", "10")
        + &get("write", "/write/${name}-${of}/${count}", "");
    let below = group_with(
        "SetupThreadGroup",
        "Before",
        "1",
        "1",
        "",
        &(script("JSR223Sampler", "set", "javascript", "props.put('token', 'größe-7')")
            + &get("before", "/before", "")),
    ) + &group("Größer, 1", "5", "3", &readers)
        + &group("Writers", "2", "2", &writers)
        + &group_with("PostThreadGroup", "After", "1", "1", "", &get("after", "/after/${__P(token)}", ""));
    trial.write_plan(&below);
    trial.share_out("local:3", &[]);

    let paths: Vec<_> = trial
        .server
        .lines()
        .into_iter()
        .map(|line| line.strip_prefix("GET ").unwrap_or(&line).to_owned())
        .collect();
    let count = |begin: &str| paths.iter().filter(|path| path.starts_with(begin)).count();
    assert_eq!(
        ["/before", "/after/gr", "/after", "/seldom", "/read/", "/write/"].map(count),
        [1, 1, 1, 7, 15, 4],
        "{paths:#?}"
    );
    let part = |begin: &str, place: usize| {
        let parts = paths
            .iter()
            .filter_map(|path| path.strip_prefix(begin)?.split('/').nth(place).map(str::to_owned));
        parts.collect::<Vec<_>>()
    };
    assert_eq!(sorted(part("/read/", 0)), sorted(ids), "each row once");
    assert_eq!(part("/read/", 2).into_iter().collect::<BTreeSet<_>>().len(), 15, "each line at most once");
    let mut numbers: Vec<u32> = part("/read/", 4).iter().map(|number| number.parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 15, "{numbers:?}");
    assert!(part("/read/", 1).iter().all(|token| token.contains("gr") && token.ends_with("e-7")));
    let own: BTreeSet<_> = part("/read/", 3).into_iter().collect();
    assert_eq!(own, [31, 62, 93, 124, 155].map(|number| format!("own-{number}")).into());
    assert_eq!(sorted(part("/write/", 0)).len(), 4);
    assert_eq!(
        part("/write/", 0).into_iter().collect::<BTreeSet<_>>().len(),
        4,
        "the first line has the names"
    );
    assert_eq!(part("/write/", 1).into_iter().collect::<BTreeSet<_>>().len(), 4, "{paths:#?}");

    // Rows of all workers, with the threads' numbers in the whole test.
    let rows = sorted(trial.rows(&["label", "threadName"]));
    let mut expected =
        vec!["before | Before 1-1".to_owned(), "after | After 1-1".to_owned(), "set | Before 1-1".to_owned()];
    expected.extend((1..=5).flat_map(|thread| vec![format!("read {thread} | Größer, 1 1-{thread}"); 3]));
    expected.extend((1..=2).flat_map(|thread| vec![format!("write | Writers 2-{thread}"); 2]));
    let (seldom, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.starts_with("seldom"));
    assert_eq!((others, seldom.len()), (sorted(expected), 7));

    let result =
        fs::read_dir(trial.path("results")).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(result.len(), 1, "workers left nothing: {result:?}");
    let result: serde_json::Value = serde_json::from_str(&fs::read_to_string(&result[0]).unwrap()).unwrap();
    let users = result["workers"].as_array().unwrap().iter().map(|worker| worker["users"].as_u64().unwrap());
    assert_eq!(users.collect::<Vec<_>>(), [3, 2, 2]);
    let whole = result["windows"].as_array().unwrap().last().unwrap();
    assert_eq!(whole["all"]["successes"], 15 + 7 + 4, "the load's own requests");
}

#[test]
fn an_open_model_has_its_starts_once() {
    let trial = Trial::new();
    let props = text("OpenModelThreadGroup.schedule", "rate(20/s) even_arrivals(1100 ms)");
    let open = element("OpenModelThreadGroup", "Open", &props, &get("open", "/open", ""));
    trial.write_plan(&open);
    let one = Trial::new();
    one.write("plan.jmx", &plan(&(one.defaults() + &open)));
    one.demand(&[]);
    trial.share_out("local:3", &[]);
    assert_eq!(trial.labels().len(), one.labels().len());
    assert!(trial.labels().len() >= 21, "{:?}", trial.labels());
}

#[test]
fn one_thread_ends_the_test_of_all_workers() {
    let trial = Trial::new();
    let stop = element(
        "TestAction",
        "stop",
        &(number("ActionProcessor.action", 2)
            + &number("ActionProcessor.target", 2)
            + &text("ActionProcessor.duration", "0")),
        "",
    );
    let only = element(
        "IfController",
        "If",
        &(text("IfController.condition", "${__jexl3(${__threadNum} == 3)}")
            + &flag("IfController.useExpression", true)),
        &stop,
    );
    trial.write_plan(&group("Forever", "5", "-1", &(timer("60") + &get("x", "/x", "") + &only)));
    trial.share_out("local:2", &["--json"]);
    assert!(!trial.labels().is_empty());
}

#[test]
fn figures_and_errors_are_of_all_workers_and_listeners_have_their_files() {
    let trial = Trial::new();
    let listener = |file: &str, errors: bool| {
        element(
            "ResultCollector",
            file,
            &(text("filename", file) + &flag("ResultCollector.error_logging", errors)),
            "",
        )
    };
    let missing = request("bad", "GET", "/missing", "", "", "");
    let below = get("good, \"ä\"", "/ok", "")
        + &missing
        + &listener("all.jtl", false)
        + &listener("errors.jtl", true);
    trial.write_plan(&group("G", "3", "2", &below));
    let ended = trial.on_workers("local:2", &[]);
    let line = |label: &str| {
        let line = ended.out.lines().find(|line| line.contains(label)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert!(line("good, \"ä\"").contains(" 6 0 "), "{}", ended.out);
    assert!(line("bad").contains(" 6 6 "), "{}", ended.out);
    let rows = |file: &str| fs::read_to_string(trial.path(file)).unwrap().lines().count();
    assert_eq!(["all.jtl", "errors.jtl", "out.jtl"].map(rows), [13, 7, 13]);
}

#[test]
fn what_cannot_be_shared_out_is_said() {
    let trial = Trial::new();
    trial.write_plan(&group("G", "2", "1", &get("x", "/x", "")));
    let refused = |workers: &str, arguments: &[&str], reason: &str| {
        let ended = trial.on_workers(workers, arguments);
        assert_eq!(ended.code, Some(2), "{}{}", ended.out, ended.error);
        assert!(ended.error.contains(reason), "{reason}: {}", ended.error);
    };
    refused("local:3", &[], "3 workers cannot share 2 users");
    refused("local:2", &["--threads", "2"], "prony worker --threads");
    refused("local:2", &["--out", "csv:x.csv"], "which stay on the workers");
    refused("2", &[], "name it with --nats");
    trial.write_plan(&group("G", "2", "1", &(csv("${__V(file)}", "id", "") + &get("x", "/x", ""))));
    let ended = trial.on_workers("local:2", &[]);
    assert!(ended.error.contains("cannot read"), "{}{}", ended.out, ended.error);
}

/// Threads are numbered in the whole test in each of its runs, and what runs once does so in each.
#[test]
fn a_search_over_a_plan_has_the_threads_of_all_workers_in_each_step() {
    let trial = Trial::new();
    let read = get("read", "/read/${__threadNum}", &timer("20"));
    let below = group_with("SetupThreadGroup", "Before", "1", "1", "", &get("before", "/before", ""))
        + &group("Größer, 1", "2", "1", &read);
    trial.write_plan(&below);
    let server = prony_testkit::nats::program().display().to_string();
    let workers = ["--workers", "local:2", "--nats-server", &server, "--json", "--quiet"];
    let step = [
        "--slo",
        "errors<50%",
        "--from",
        "3",
        "--max",
        "5",
        "--repeats",
        "1",
        "--ramp",
        "0s",
        "--hold",
        "500ms",
    ];
    let ended = trial.prony(&[&["find", "plan.jmx"], &step[..], &workers].concat());
    let file: serde_json::Value = serde_json::from_str(&ended.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.out, ended.error));
    let steps = file["steps"].as_array().unwrap();
    assert!(steps.len() > 1, "{}", ended.error);
    let mut requests = 0;
    for step in steps {
        let (load, result) = (step["load"].as_u64().unwrap(), &step["runs"][0]["result"]);
        let workers = result["workers"].as_array().unwrap();
        let users: Vec<_> = workers.iter().map(|worker| worker["users"].as_u64().unwrap()).collect();
        assert_eq!(users, [load.div_ceil(2), load / 2], "{}", ended.error);
        requests +=
            result["windows"].as_array().unwrap().last().unwrap()["all"]["requests"].as_u64().unwrap();
    }
    let lines = trial.server.lines();
    let read: Vec<_> =
        lines.iter().filter_map(|line| line.split_once("/read/")).map(|(_, thread)| thread).collect();
    assert_eq!(read.len() as u64, requests, "each is counted once, and in its own run");
    let threads: BTreeSet<_> = read.iter().map(|thread| thread.split(' ').next().unwrap_or(thread)).collect();
    assert_eq!(threads, ["1", "2", "3", "4", "5"].into());
    assert_eq!(lines.iter().filter(|line| line.contains("/before")).count(), steps.len());
}
