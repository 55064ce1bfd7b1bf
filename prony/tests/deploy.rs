//! What stands in `deploy/` beside what a server is: the metrics that alerts and dashboard name are ones that there are, and the
//! configuration of the manifest is one that is served. The list of metrics in `docs/metrics.md` is held here too, for want of such servers
//! elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

use prony_testkit::{
    PronyProcess, RedisServer, TestDatabase,
    certificates::{Certificates, Validity},
    chinook::sqlite_copy,
    free_port,
    process::Finished,
};

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// A file of the folder.
fn deployed(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run(arguments: &[&str]) -> Finished {
    PronyProcess::start(PRONY, arguments).wait()
}

/// What a server says of itself, over TLS too.
fn metrics(url: &str) -> String {
    let finished = run(&["health", "--insecure", &format!("{url}/metrics")]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    finished.stdout
}

/// The names of all samples that there are or may come, of the lines `# TYPE NAME KIND` of OpenMetrics.
fn sample_names(metrics: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a kind follows the name");
        let ends: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        names.extend(ends.iter().map(|end| format!("{name}{end}")));
    }
    names
}

/// A family of metrics, as the list in the documentation has it.
#[derive(Debug, PartialEq, Eq)]
struct MetricRow {
    kind: String,
    /// Names of labels of its samples; none is known where there is no sample.
    labels: Option<BTreeSet<String>>,
    help: String,
}

/// What a server says of each family, by the name of its samples, without a histogram's ends.
fn metric_rows(metrics: &str) -> BTreeMap<String, MetricRow> {
    let mut rows = BTreeMap::new();
    let about = |mark: &'static str| {
        let lines = metrics.lines().filter_map(move |line| line.strip_prefix(mark));
        lines
            .map(|line| line.split_once(' ').expect("something follows the name"))
            .collect::<BTreeMap<_, _>>()
    };
    let helps = about("# HELP ");
    for (name, kind) in about("# TYPE ") {
        let samples = metrics.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let ends = ["_total", "_bucket", "_sum", "_count", ""];
            ends.iter().find_map(|end| rest.strip_prefix(end).filter(|rest| rest.starts_with(['{', ' '])))
        });
        let labels = samples.map(labels_of).reduce(|mut all, more| {
            all.extend(more);
            all
        });
        let end = if kind == "counter" { "_total" } else { "" };
        let help = helps[name].trim_end_matches('.').to_owned();
        rows.insert(format!("{name}{end}"), MetricRow { kind: kind.to_owned(), labels, help });
    }
    rows
}

/// Of `{name="value",other="value"} 1`. `le` is of all histograms.
fn labels_of(sample: &str) -> BTreeSet<String> {
    let inside =
        sample.strip_prefix('{').and_then(|rest| rest.rsplit_once('}')).map_or("", |(inside, _)| inside);
    let names = inside.split("=\"").filter_map(|part| part.rsplit(['"', ',']).next());
    let names = names.filter(|name| !name.is_empty() && *name != "le");
    names.map(str::to_owned).collect()
}

/// What begins as metrics of a server do.
fn named_metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_metric = |word: &&str| word.starts_with("prony_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

/// Of all kinds of sources, with shared limits, both logs and traces; another has TLS.
struct Everything {
    url: String,
    secure_url: String,
    _processes: [PronyProcess; 3],
    _redis: RedisServer,
    _database: TestDatabase,
    _certificates: Certificates,
    _folder: tempfile::TempDir,
}

fn everything() -> Everything {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let database = TestDatabase::create();
    database.execute("create table member (id int primary key, name text)");
    assert!(run(&["triggers", "install", &database.url()]).status.success());
    let redis = RedisServer::start(&[]);
    let mut behind = PronyProcess::start(PRONY, ["example", "donuts", "--listen", "127.0.0.1:0"]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\ncpus = 1\n[auth]\nanonymous = \"visitor\"\n[roles.visitor]\nunrestricted = true\n\
         [limits]\nredis = \"redis://127.0.0.1:{}\"\naudit_log = \"{}\"\n\
         [log]\naccess_log = \"{}\"\n[traces]\nendpoint = \"http://127.0.0.1:1\"\n\
         [[source]]\nname = \"members\"\nurl = \"{}\"\nlisten = true\n\
         [[source]]\nname = \"donuts\"\nupstream = \"{}/graphql\"\n\
         [source.token_exchange]\nendpoint = \"http://127.0.0.1:1/token\"\n\
         [[source]]\nname = \"social\"\nurl = \"graph:{}\"\n[[source]]\nname = \"air\"\nurl = \"series:{}\"\n",
        redis.port(),
        path("audit"),
        path("access"),
        database.url(),
        behind.wait_for_url(),
        path("social"),
        path("air"),
    );
    fs::write(path("prony.toml"), text).expect("it can be written");
    let mut process = PronyProcess::start(PRONY, ["serve", "--config", &path("prony.toml")]);
    let url = process.wait_for_url();

    let certificates = Certificates::new();
    let (certificate, key) = certificates.server_files(&["localhost"]);
    let list = path("revoked.pem");
    fs::write(&list, certificates.revocation_list(&[], Validity::Now)).expect("it can be written");
    let secure_url = format!("https://127.0.0.1:{}", free_port());
    let text = format!(
        "[server]\nlisten = [\"{}\"]\ncpus = 1\n[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nclient_ca = \"{}\"\n\
         client_certificates = \"optional\"\nrevocation_lists = [\"{list}\"]\n[[source]]\nurl = \"sqlite:{}\"\n",
        &secure_url["https://".len()..],
        certificate.display(),
        key.display(),
        certificates.ca_path().display(),
        prony_testkit::chinook::sqlite_path().display(),
    );
    fs::write(path("secure.toml"), text).expect("it can be written");
    let mut secure = PronyProcess::start(PRONY, ["serve", "--config", &path("secure.toml")]);
    secure.wait_for_text("listening on https://");
    Everything {
        url,
        secure_url,
        _processes: [behind, process, secure],
        _redis: redis,
        _database: database,
        _certificates: certificates,
        _folder: folder,
    }
}

#[test]
fn alerts_and_dashboards_name_metrics_that_there_are() {
    let everything = everything();
    let mut there = sample_names(&metrics(&everything.url));
    there.extend(sample_names(&metrics(&everything.secure_url)));
    for path in ["prometheus/alerts.yml", "prometheus/alerts.test.yml", "grafana/prony-server.json"] {
        let named = named_metrics(&deployed(path));
        assert!(named.len() > 10, "{path} names {named:?}");
        let unknown: Vec<_> = named.difference(&there).collect();
        assert!(unknown.is_empty(), "{path} names {unknown:?}; there are {there:?}");
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&deployed("grafana/prony-server.json")).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "panels share an id");
}

/// Where a family has no sample the page knows its labels.
#[test]
fn the_list_of_metrics_is_what_servers_tell() {
    let everything = everything();
    let mut rows = metric_rows(&metrics(&everything.url));
    for (name, row) in metric_rows(&metrics(&everything.secure_url)) {
        rows.entry(name).or_insert(row);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let page = fs::read_to_string(&path).expect("the documentation is there");
    let (begin, end) = ("<!-- metrics -->\n", "<!-- end of metrics -->");
    let from = page.find(begin).expect("the list begins") + begin.len();
    let to = page.find(end).expect("the list ends");
    let mut wanted = String::from("| metric | kind | labels | meaning |\n|---|---|---|---|\n");
    for (name, MetricRow { kind, labels, help }) in &rows {
        let listed = || {
            page.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | "))?.split(" | ").nth(1))
        };
        let labels = match labels {
            Some(labels) => labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", "),
            None => listed().unwrap_or("?").to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(wanted, "| `{name}` | {kind} | {labels} | {help} |");
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{}{wanted}{}", &page[..from], &page[to..])).expect("it can be written");
        return;
    }
    assert_eq!(&page[from..to], wanted, "run the test with UPDATE_EXPECT=1");
}

#[test]
fn rows_of_metrics_are_read() {
    let text = "# HELP a Some.\n# TYPE a counter\na_total{b=\"x, y\",c=\"\"} 1\n# HELP a_b Others\n# TYPE a_b gauge\n";
    let row = |kind: &str, labels: Option<&[&str]>, help: &str| MetricRow {
        kind: kind.to_owned(),
        labels: labels.map(|labels| labels.iter().map(|label| (*label).to_owned()).collect()),
        help: help.to_owned(),
    };
    let expected =
        [("a_total", row("counter", Some(&["b", "c"]), "Some")), ("a_b", row("gauge", None, "Others"))];
    let expected = BTreeMap::from(expected.map(|(name, row)| (name.to_owned(), row)));
    assert_eq!(metric_rows(text), expected);
}

/// The text of the manifest's `prony.toml`, a block scalar of YAML.
fn manifest_configuration(manifest: &str) -> String {
    let block = manifest.lines().skip_while(|line| line.trim() != "prony.toml: |").skip(1);
    let block = block.take_while(|line| line.is_empty() || line.starts_with("    "));
    block.map(str::trim_start).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn the_configuration_of_the_manifest_is_served() {
    let manifest = deployed("kubernetes/prony.yaml");
    let configuration = manifest_configuration(&manifest);
    let number = |text: &str, key: &str| -> u64 {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
        let value = line.unwrap_or_else(|| panic!("there is no {key}"));
        value.trim_matches([' ', ':', '=']).parse().unwrap_or_else(|error| panic!("{key}{value}: {error}"))
    };
    let stop_ms = number(&configuration, "shutdown_delay_ms") + number(&configuration, "grace_ms");
    assert!(number(&manifest, "terminationGracePeriodSeconds") * 1000 > stop_ms, "it is killed before");

    let folder = tempfile::tempdir().expect("a directory can be made");
    let path = folder.path().join("prony.toml");
    fs::write(&path, configuration).expect("it can be written");
    let database = sqlite_copy();
    let mut command = Command::new(PRONY);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--cpus", "1", "--shutdown-delay-ms", "0", "--config"])
        .arg(&path);
    command.env("DATABASE_URL", format!("sqlite:{}", database.path().display()));
    let mut process = PronyProcess::start_command(command);
    // The manifest has its log in JSON.
    let url = process.wait_for_url();
    for probe in ["/live", "/ready"] {
        assert!(manifest.contains(&format!("path: {probe},")), "no probe asks {probe}");
        assert_eq!(run(&["health", &format!("{url}{probe}")]).status.code(), Some(0));
    }
    assert_eq!(process.stop().status.code(), Some(0));
}

#[test]
fn the_unit_and_the_image_start_what_there_is() {
    let unit = deployed("systemd/prony.service");
    assert!(unit.contains("\nExecStart=prony serve --config /etc/prony/prony.toml\n"), "{unit}");
    let image = deployed("Dockerfile");
    let check = "CMD [\"/usr/local/bin/prony\", \"health\", \"http://127.0.0.1:8080/live\"]";
    assert!(image.contains(check), "{image}");
    for command in ["serve", "health"] {
        assert!(run(&[command, "--help"]).status.success(), "{command}");
    }
}

#[test]
fn the_workers_of_load_tests_are_started_with_what_there_is() {
    let unit = deployed("systemd/prony-worker.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=prony "));
    let of_unit: Vec<_> = line.expect("the unit starts the program").split(' ').collect();
    let manifest = deployed("kubernetes/prony-workers.yaml");
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix("args: [worker, "));
    let of_manifest = line.expect("the manifest starts a worker").trim_end_matches(']');
    let of_manifest: Vec<_> = ["worker"].into_iter().chain(of_manifest.split(", ")).collect();
    for given in [of_unit, of_manifest] {
        let mut command = Command::new(PRONY);
        command.args(given.iter().map(|word| word.trim_matches('"')));
        command.env("PRONY_NATS", "nats://prony:geheim@127.0.0.1:1");
        let finished = PronyProcess::start_command(command).wait();
        assert_eq!(finished.status.code(), Some(2), "{given:?}");
        let message = "cannot connect to the NATS server nats://127.0.0.1:1";
        assert!(finished.stderr.contains(message), "{given:?}: {}", finished.stderr);
    }
    for part in [
        "completionMode: Indexed",
        "kind: Secret",
        "kind: Service",
        "- name: PRONY_NATS\n              valueFrom:\n                secretKeyRef: {name: prony-workers, key: url}",
    ] {
        assert!(manifest.contains(part), "there is no `{part}`");
    }
    assert!(
        unit.contains("\n# PRONY_NATS=nats://")
            && deployed("../docs/deploy.md").contains("'PRONY_NATS=nats://")
    );
}
