//! `prony graph import` of CSV files into a new graph: nodes and relationships a second, processor time and memory.

use crate::ROUNDS;
use crate::data::Random;
use crate::process::{peak_resident_kib, waited_cpu_seconds};
use crate::statistics::{median, print_table};
use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const NODES: u64 = 1_000_000;
const RELATIONSHIPS: u64 = 2_000_000;
/// The memory of the process is looked at so often: what it has at its end is not seen, what it has for longer is.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a record holds besides its keys and types.
#[derive(Clone, Copy)]
enum Cells {
    None,
    /// A node's name and age, a relationship's year.
    Properties,
}

/// Nodes a second, relationships a second, seconds of the whole, processor seconds, resident KiB.
type Run = [f64; 5];

pub(crate) fn of_csv() {
    let folder =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target's folder can be written to");
    let head = ["import", "nodes/s", "relationships/s", "whole, s", "processor time, s", "peak resident, MB"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, cells) in [("keys and types", Cells::None), ("with properties", Cells::Properties)] {
        let files = [write_nodes(folder.path(), cells), write_relationships(folder.path(), cells)];
        let runs: Vec<Run> = (0..ROUNDS).map(|_| run(folder.path(), &files)).collect();
        let middle = |at: usize| median(&runs.iter().map(|run| run[at]).collect::<Vec<_>>());
        rows.push(vec![
            name.to_owned(),
            format!("{:.0}", middle(0)),
            format!("{:.0}", middle(1)),
            format!("{:.2}", middle(2)),
            format!("{:.2}", middle(3)),
            format!("{:.0}", middle(4) * 1.024 / 1e3),
        ]);
    }
    println!("{NODES} nodes and {RELATIONSHIPS} relationships between random ones\n");
    print_table(&rows);
}

fn run(folder: &Path, files: &[PathBuf; 2]) -> Run {
    let graph = tempfile::tempdir_in(folder).expect("the folder can be written to");
    let (began, used) = (Instant::now(), waited_cpu_seconds());
    let (text, resident_kib) = import(graph.path(), files);
    let whole = began.elapsed().as_secs_f64();
    let [nodes, relationships] = [" nodes in ", " relationships in "].map(|what| rate(&text, what));
    [nodes, relationships, whole, waited_cpu_seconds() - used, resident_kib as f64]
}

/// What it prints, and the most memory that it was seen with.
fn import(graph: &Path, files: &[PathBuf; 2]) -> (String, u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["graph", "import"]).arg(graph).args(files).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("prony can be started");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_resident_kib(child.id()));
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => break status,
            None => thread::sleep(LOOK_EVERY),
        }
    };
    let mut text = String::new();
    child.stdout.take().expect("stdout is piped").read_to_string(&mut text).expect("prony prints text");
    assert!(status.success(), "the import failed:\n{text}");
    (text, peak)
}

/// Of the line `FILE: 1,000,000 nodes in 2.00 s, 500,000/s`.
fn rate(text: &str, what: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(what));
    let rate =
        line.and_then(|line| line.rsplit(' ').next()?.strip_suffix("/s")?.replace(',', "").parse().ok());
    rate.unwrap_or_else(|| panic!("no line of{what}in:\n{text}"))
}

fn write_nodes(folder: &Path, cells: Cells) -> PathBuf {
    write(folder.join("nodes.csv"), |to| {
        let head = match cells {
            Cells::None => ":LABEL,key:ID",
            Cells::Properties => ":LABEL,key:ID,name,age:int",
        };
        writeln!(to, "{head}")?;
        for key in 0..NODES {
            match cells {
                Cells::None => writeln!(to, "Node,{key}")?,
                Cells::Properties => writeln!(to, "Node,{key},name of {key},{}", key % 100)?,
            }
        }
        Ok(())
    })
}

fn write_relationships(folder: &Path, cells: Cells) -> PathBuf {
    write(folder.join("relationships.csv"), |to| {
        let head = ":START_LABEL,:START_ID,:END_LABEL,:END_ID,:TYPE";
        writeln!(to, "{head}{}", if let Cells::Properties = cells { ",since:int" } else { "" })?;
        let mut random = Random::default();
        for _ in 0..RELATIONSHIPS {
            let (start, end, of) = (random.below(NODES), random.below(NODES), 1 + random.below(9));
            write!(to, "Node,{start},Node,{end},TYPE_{of}")?;
            match cells {
                Cells::None => writeln!(to)?,
                Cells::Properties => writeln!(to, ",{}", 2000 + of)?,
            }
        }
        Ok(())
    })
}

fn write(path: PathBuf, fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> PathBuf {
    let created = File::create(&path).expect("the folder can be written to");
    let mut to = BufWriter::new(created);
    fill(&mut to).and_then(|()| to.flush()).expect("there is room for the files");
    path
}
