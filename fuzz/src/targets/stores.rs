//! Files of the stores: whatever a disk gives back is a sound store or a clear error.

use std::{fs, path::Path};

use prony_graph_store as graph;
use prony_log::Durability;
use prony_series_store as series;

use super::folder;
use crate::Target;

pub(super) const GRAPH_LOG: Target =
    Target { name: "graph-log", seeds: graph_log, run: |bytes| graph_file(LOG, bytes) };
pub(super) const GRAPH_SNAPSHOT: Target =
    Target { name: "graph-snapshot", seeds: graph_snapshot, run: |bytes| graph_file(SNAPSHOT, bytes) };
pub(super) const SERIES: Target = Target { name: "series-log", seeds: series_log, run: series_file };

const LOG: &str = "log-000000000001";
const SNAPSHOT: &str = "snapshot-000000000002";
/// As `prony_log::frames` lays files out.
const FILE_HEAD: usize = 24;
const FRAME_HEAD: usize = 16;

/// In front of a file: with an odd byte the checksums of its frames are made right, so that what they say is looked at.
fn with_flag(flag: u8, file: Vec<u8>) -> Vec<u8> {
    [vec![flag], file].concat()
}

fn both(file: Vec<u8>) -> Vec<Vec<u8>> {
    vec![with_flag(0, file.clone()), with_flag(1, file)]
}

fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (flag, file) = bytes.split_first()?;
    let mut file = file.to_vec();
    let mut at = FILE_HEAD;
    while flag & 1 == 1
        && let Some(head) = file.get(at..at + FRAME_HEAD)
    {
        let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
        let end = at.saturating_add(FRAME_HEAD).saturating_add(length);
        let Some(checked) = file.get(at + 8..end) else { break };
        let checksum = crc32c::crc32c(checked);
        file[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
    Some(file)
}

fn fill_graph(folder: &Path) {
    let store = graph::Store::open(folder, graph::Options::new(Durability::Off)).expect("an empty folder");
    for number in 0..4_i64 {
        let made = store.write(
            |write| {
                write.make_type(graph::Side::Nodes, "Person")?;
                write.declare(graph::Side::Nodes, "Person", "names", graph::Kind::StringList)?;
                write.declare(graph::Side::Nodes, "Person", "age", graph::Kind::Integer)?;
                write.index(graph::Side::Nodes, "Person", "age")?;
                let names = graph::Value::StringList(vec!["Ada".into(), "ü".into()]);
                let properties = [("names", names), ("age", graph::Value::Integer(number))];
                let node = write.create_node("Person", &number.to_string(), &properties)?;
                let relationship = write.create_relationship("KNOWS", node, node, &[])?;
                if number % 2 == 0 { write.delete_relationship(relationship) } else { Ok(()) }
            },
            drop,
        );
        assert!(made.is_ok(), "{made:?}");
    }
}

fn graph_log() -> Vec<Vec<u8>> {
    let folder = folder();
    fill_graph(folder.path());
    both(fs::read(folder.path().join(LOG)).expect("a log"))
}

fn graph_snapshot() -> Vec<Vec<u8>> {
    let folder = folder();
    fill_graph(folder.path());
    let store = graph::Store::open(folder.path(), graph::Options::new(Durability::Off)).expect("a store");
    store.snapshot().expect("a snapshot");
    both(fs::read(folder.path().join(SNAPSHOT)).expect("a snapshot"))
}

fn graph_file(name: &str, bytes: &[u8]) {
    let Some(file) = sealed(bytes) else { return };
    let folder = folder();
    fs::write(folder.path().join(name), file).expect("room");
    let checked = graph::check(folder.path());
    let opened = graph::Store::open(folder.path(), graph::Options::new(Durability::Off));
    assert_eq!(opened.is_ok(), checked.is_ok(), "a start {opened:?}, a check {checked:?}");
    if opened.is_err() {
        let options = graph::Options { recover: true, ..graph::Options::new(Durability::Off) };
        drop(graph::Store::open(folder.path(), options));
    }
}

fn fill_series(folder: &Path) {
    let options = series::Options { seal_at_log_bytes: None, ..series::Options::new(Durability::Off) };
    let store = series::Store::open(folder, options).expect("an empty folder");
    for number in 0..8_i32 {
        let written = store.write_and_wait(|write| {
            let table = write.table("tenant", "Room")?;
            let (temperature, _) =
                write.attribute(table, "temperature", "Number", || series::Kind::Double)?;
            let (state, _) = write.attribute(table, "state", "Text", || series::Kind::Text)?;
            let series = write.series(table, "Room:1", "/")?;
            let degrees = series::Value::Double(f64::from(number) / 10.0);
            let values = [(temperature, degrees), (state, series::Value::Text("on"))];
            write.row(series, i64::from(number) * 1000, &values)
        });
        assert!(written.is_ok(), "{written:?}");
    }
}

fn series_log() -> Vec<Vec<u8>> {
    let folder = folder();
    fill_series(folder.path());
    let names = fs::read_dir(folder.path()).expect("a store").flatten().map(|entry| entry.file_name());
    let log = names.filter(|name| name.to_string_lossy().starts_with("log-")).max().expect("a log");
    both(fs::read(folder.path().join(log)).expect("a log"))
}

fn series_file(bytes: &[u8]) {
    let Some(file) = sealed(bytes) else { return };
    let folder = folder();
    fs::write(folder.path().join(LOG), file).expect("room");
    let checked = series::check(folder.path());
    let opened = series::Store::open(folder.path(), series::Options::new(Durability::Off));
    assert_eq!(opened.is_ok(), checked.is_ok(), "a start {opened:?}, a check {checked:?}");
}
