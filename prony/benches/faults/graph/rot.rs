//! A byte of a file changes while no server runs: in what was acknowledged last, in the middle of the log, and in the snapshot.
//!
//! A start has to name the file and the byte. Where it goes on without what is damaged, it has to say so, and what it has said to be lost
//! is counted apart: the keys that stand in the damaged frame and behind it, as they stood in the files.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    ops::Range,
    os::unix::fs::FileExt as _,
    path::PathBuf,
    time::Instant,
};

use prony_testkit::process::Signal;

use super::{Graph, Snapshots, files};
use crate::injection::{Fault, Sign};

pub(super) const FAULTS: [Fault<Graph>; 7] = [
    Fault {
        name: "a byte in the middle of the log changes after a kill; a start is refused, and the byte is put back",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| put_back(graph, Signal::KILL, |graph| Damage::in_middle(graph, "log-")),
    },
    Fault {
        name: "a byte in the middle of the log changes after a kill; a start is refused, and --recover goes on",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| recover(graph, Signal::KILL, |graph| Damage::in_middle(graph, "log-")),
    },
    Fault {
        name: "a byte of the log's last frame changes after a stop in order; a start is refused, and the byte is put back",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| put_back(graph, Signal::TERM, Damage::at_end_of_log),
    },
    Fault {
        name: "a byte of the log's last frame changes after a stop in order; a start is refused, and --recover goes on",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| recover(graph, Signal::TERM, Damage::at_end_of_log),
    },
    Fault {
        name: "a byte of the log's last frame changes after a kill; a start cuts the frame off and says that it may have been acknowledged",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            graph.kill(Signal::KILL);
            let damage = Damage::at_end_of_log(graph);
            graph.given_up = damage.behind(graph);
            damage.flip();
            let said = graph.serve_with(false);
            said_all(graph, &said, &["cut off the end of the log", "had been acknowledged is unknown"]);
        },
    },
    Fault {
        name: "a byte of the snapshot changes after a stop in order; a start is refused, and the byte is put back",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            graph.wait_for_snapshot();
            graph.begins(Instant::now());
            put_back(graph, Signal::TERM, |graph| Damage::in_middle(graph, "snapshot-"));
        },
    },
    Fault {
        name: "a byte of the snapshot changes after a kill; a start is refused, and --recover goes on",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            graph.wait_for_snapshot();
            graph.begins(Instant::now());
            recover(graph, Signal::KILL, |graph| Damage::in_middle(graph, "snapshot-"));
        },
    },
];

/// A frame of which a byte changes.
struct Damage {
    path: PathBuf,
    frame: Range<usize>,
}

impl Damage {
    fn in_middle(graph: &Graph, kind: &str) -> Self {
        Self::of(graph.newest(kind), |frames| frames.get(frames.len() / 2).cloned())
    }

    fn at_end_of_log(graph: &Graph) -> Self {
        Self::of(graph.newest("log-"), |frames| frames.last().cloned())
    }

    fn of(path: PathBuf, choose: impl Fn(&[Range<usize>]) -> Option<Range<usize>>) -> Self {
        let frames = files::frames(&fs::read(&path).expect("a file of the graph can be read"));
        let frame = choose(&frames).expect("a file that clients filled has frames");
        Self { path, frame }
    }

    fn name(&self) -> String {
        self.path.file_name().expect("a file has a name").to_string_lossy().into_owned()
    }

    /// Done twice, nothing has changed.
    fn flip(&self) {
        let at = self.frame.start.midpoint(self.frame.end) as u64;
        let file = OpenOptions::new().read(true).write(true).open(&self.path);
        let file = file.expect("a file of the graph can be opened");
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("it has this byte");
        file.write_all_at(&[byte[0] ^ 0x10], at).expect("it can be written");
    }

    /// Keys in the frame and behind it, as far as the graph's files have them: also in the files of the log with a higher number.
    fn behind(&self, graph: &Graph) -> HashSet<u64> {
        let number = |path: &PathBuf| path.to_string_lossy().rsplit('-').next().map(str::to_owned);
        let later = files::numbered(&graph.files(), "log-").into_iter().map(|(_, path)| path);
        let later = later.filter(|path| number(path) > number(&self.path));
        let mut keys = files::keys(&self.path, self.frame.start);
        keys.extend(later.flat_map(|path| files::keys(&path, 0)));
        keys
    }
}

/// Stops the server and changes a byte; a start has to name it. The byte is what it was then, and nothing may be lost.
fn put_back(graph: &mut Graph, signal: Signal, find: fn(&Graph) -> Damage) {
    graph.kill(signal);
    let damage = find(graph);
    damage.flip();
    graph.start_in_vain(graph.command(false), &[&damage.name(), "damaged at byte", "--recover"]);
    damage.flip();
    graph.serve();
}

/// As [`put_back`], but the byte stays as it is: all that stands before it has to be there.
fn recover(graph: &mut Graph, signal: Signal, find: fn(&Graph) -> Damage) {
    graph.kill(signal);
    let damage = find(graph);
    graph.given_up = damage.behind(graph);
    damage.flip();
    let damaged = fs::read(&damage.path).expect("a file of the graph can be read");
    graph.start_in_vain(graph.command(false), &[&damage.name(), "damaged at byte", "--recover"]);
    let said = graph.serve_with(true);
    said_all(graph, &said, &[&damage.name(), "lost a part of the graph"]);
    let kept = fs::read(format!("{}.lost", damage.path.display()));
    if kept.ok().as_ref() != Some(&damaged) {
        graph.has_problem("the damaged file is not kept as it was".to_owned());
    }
}

/// Something that was acknowledged is to be lost, and the start has to say all of this.
fn said_all(graph: &mut Graph, said: &str, texts: &[&str]) {
    if graph.given_up.is_empty() {
        graph.has_problem("the damaged byte is in no write".to_owned());
    }
    for text in texts.iter().filter(|text| !said.contains(**text)) {
        graph.has_problem(format!("a start does not say `{text}`: {said}"));
    }
}
