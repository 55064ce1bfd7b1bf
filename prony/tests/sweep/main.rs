//! `prony sweep` as a user meets it: a result for each combination, the published tables, targets that commands start and stop,
//! sweeps that go on, what is refused.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod kinds;
mod refusals;
mod resume;
mod targets;

use prony_testkit::peer::ScriptedPeer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// As short as it may be: what is measured is not what is tested.
const SHORT: [&str; 4] = ["--ramp=0s", "--warm-up=0s", "--hold=300ms", "--threads=1"];

/// What the published scripts write up to the columns of servers.
const COLUMNS: [&str; 23] = [
    "Scenario Name",
    "Heap Size",
    "Concurrent Users",
    "Message Size (Bytes)",
    "Back-end Service Delay (ms)",
    "Label",
    "# Samples",
    "Error Count",
    "Error %",
    "Throughput (Requests/sec)",
    "Average Response Time (ms)",
    "Average Users in the System",
    "Standard Deviation of Response Time (ms)",
    "Minimum Response Time (ms)",
    "Maximum Response Time (ms)",
    "75th Percentile of Response Time (ms)",
    "90th Percentile of Response Time (ms)",
    "95th Percentile of Response Time (ms)",
    "98th Percentile of Response Time (ms)",
    "99th Percentile of Response Time (ms)",
    "99.9th Percentile of Response Time (ms)",
    "Received (KB/sec)",
    "Sent (KB/sec)",
];

/// A folder with a server beside it.
struct Trial {
    folder: TempDir,
    peer: ScriptedPeer,
}

struct Ended {
    out: String,
    error: String,
    code: Option<i32>,
}

impl Trial {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), peer: ScriptedPeer::answering(OK) }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.current_dir(self.folder.path()).arg("sweep").args(arguments);
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { out: text(output.stdout), error: text(output.stderr), code: output.status.code() }
    }

    /// Whether the lab was too busy to be believed depends on the machine; that it was measured does not.
    fn demand(&self, arguments: &[&str]) -> Swept {
        let ended = self.sweep(&[arguments, &SHORT].concat());
        assert!(matches!(ended.code, Some(0 | 3)), "{} {}", ended.out, ended.error);
        let place = ended.out.lines().find_map(|line| line.strip_prefix("result: ")).unwrap();
        Swept::read(self.folder.path().join(place).parent().unwrap())
    }

    /// All that was sent to the server.
    fn received(&self) -> String {
        let all: Vec<_> = (0..self.peer.connections()).map(|index| self.peer.received(index)).collect();
        String::from_utf8_lossy(&all.concat()).into_owned()
    }
}

/// The folder of a sweep.
struct Swept {
    folder: PathBuf,
    columns: Vec<String>,
    rows: Vec<BTreeMap<String, String>>,
}

impl Swept {
    fn read(folder: &Path) -> Self {
        let mut reader = csv::Reader::from_path(folder.join("summary.csv")).unwrap();
        let columns: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| {
            let row = row.unwrap();
            columns.iter().cloned().zip(row.iter().map(str::to_owned)).collect()
        });
        let rows = rows.collect();
        Self { folder: folder.to_owned(), columns, rows }
    }

    /// A column of all rows.
    fn column(&self, name: &str) -> Vec<&str> {
        self.rows.iter().map(|row| row[name].as_str()).collect()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// Names of files that end so, in their order.
    fn files(&self, suffix: &str) -> Vec<String> {
        let names = fs::read_dir(&self.folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(suffix)).collect();
        names.sort();
        names
    }
}

fn plan(url: &str, variables: &str, request: &str) -> String {
    format!(
        "name = \"Bestellung, groß\"\ntarget = \"{url}\"\nusers = 1\nduration = \"1s\"\n\
         [variables]\n{variables}\n[[requests]]\nname = \"order\"\n{request}\n"
    )
}

#[test]
fn every_combination_has_a_result_and_a_row_in_the_published_columns() {
    let trial = Trial::new();
    let variables = "payload = { list = [\"\"] }\nitem = { list = [1] }";
    let request = "method = \"POST\"\npath = \"/items/${item}\"\nbody = \"${payload}\"";
    trial.write("plan.toml", &plan(&trial.peer.url(), variables, request));
    let swept = trial.demand(&[
        "plan.toml",
        "--users=3,1",
        "--payload=60,300",
        "--set=item=17,ä b",
        "--server=API Gateway",
    ]);
    let with_setting: Vec<&str> =
        COLUMNS[..5].iter().chain(&["item"]).chain(&COLUMNS[5..]).copied().collect();
    assert_eq!(swept.columns[..24], with_setting);
    assert_eq!(
        swept.columns[24..28],
        [
            "API Gateway GC Throughput (%)",
            "API Gateway Memory Footprint (M)",
            "Average API Gateway Memory Footprint After Full GC (M)",
            "Standard Deviation of API Gateway Memory Footprint After Full GC (M)",
        ]
    );
    assert_eq!(swept.columns[28], "API Gateway - System Load Average - Last 1 minute");
    assert_eq!(swept.columns.len(), 44);
    let (users, sizes) = (swept.column("Concurrent Users"), swept.column("Message Size (Bytes)"));
    assert_eq!(users, ["3", "3", "3", "3", "1", "1", "1", "1"]);
    assert_eq!(sizes, ["60", "60", "300", "300", "60", "60", "300", "300"]);
    assert_eq!(swept.column("item")[..2], ["17", "ä b"]);
    for row in &swept.rows {
        assert_eq!((row["Scenario Name"].as_str(), row["Label"].as_str()), ("Bestellung, groß", "order"));
        assert_eq!((row["Heap Size"].as_str(), row["Error Count"].as_str()), ("N/A", "0"));
        let number = |name: &str| row[name].parse::<f64>().unwrap_or_else(|_| panic!("{name} in {row:?}"));
        let average = number("Throughput (Requests/sec)") * number("Average Response Time (ms)") / 1e3;
        let users = number("Average Users in the System");
        assert!((average - users).abs() <= 0.02 * users + 0.02, "{average} {users}");
        assert!(
            number("75th Percentile of Response Time (ms)")
                <= number("90th Percentile of Response Time (ms)")
        );
        assert!(number("API Gateway - System Load Average - Last 5 minutes") >= 0.0);
    }
    let files = swept.files(".prony.json");
    assert_eq!(files.len(), 8);
    assert!(files.contains(&"users-1_payload-300B_item-ä-b.prony.json".to_owned()), "{files:?}");
    for file in &files {
        let result = swept.json(file);
        assert_eq!((&result["schema"], &result["state"]), (&"prony-result".into(), &"completed".into()));
    }
    let account = swept.json("sweep.json");
    assert_eq!((&account["schema"], &account["state"]), (&"prony-sweep".into(), &"completed".into()));
    let sent = trial.received();
    assert!(sent.contains("POST /items/17 ") && sent.contains("POST /items/%C3%A4%20b "), "{sent:.600}");
    assert!(
        sent.contains("Content-Length: 60\r\n") && sent.contains("Content-Length: 300\r\n"),
        "{sent:.600}"
    );
    let markdown = swept.text("summary.md");
    assert!(markdown.starts_with("# Bestellung, groß\n"), "{markdown:.200}");
    assert!(markdown.contains("| Scenario Name | Heap Size | Concurrent Users |"), "{markdown}");
    let page = swept.text("report.html");
    assert!(page.contains("Bestellung, groß: a sweep"), "{page:.300}");
}

/// Several requests have a row each, and their total is the last; a percentile of three samples is not printed.
#[test]
fn requests_have_rows_and_their_total_one() {
    let trial = Trial::new();
    let url = trial.peer.url();
    trial.write(
        "plan.toml",
        &format!(
            "target = \"{url}\"\nusers = 1\niterations = 3\nsteps = [\"b|c\", \"a\"]\n\
             [[requests]]\nname = \"b|c\"\npath = \"/b\"\n[[requests]]\nname = \"a\"\npath = \"/a\"\nexpect_status = [201]\n\
             [variables]\nx = {{ range = [1, 2] }}\n"
        ),
    );
    let ended = trial.sweep(&["plan.toml", "--set=x=1", "--quiet", "--scenario=S"]);
    let place = ended.out.lines().find_map(|line| line.strip_prefix("result: ")).unwrap();
    let swept = Swept::read(trial.folder.path().join(place).parent().unwrap());
    assert_eq!(swept.column("Label"), ["b|c", "a", "Total"]);
    assert_eq!(swept.column("# Samples"), ["3", "3", "6"]);
    assert_eq!(swept.column("Error %"), ["0.00", "100.00", "50.00"]);
    assert_eq!(swept.column("99.9th Percentile of Response Time (ms)"), ["N/A", "N/A", "N/A"]);
    assert_eq!(swept.column("Scenario Name"), ["S", "S", "S"]);
    assert!(swept.text("summary.md").contains("| b\\|c |"), "{}", swept.text("summary.md"));
    assert!(swept.text("summary.md").contains("errors-dominate"), "{}", swept.text("summary.md"));
    assert_eq!(ended.code, Some(3), "{}", ended.out);
    assert_eq!(ended.error, "");
}
