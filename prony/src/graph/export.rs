//! From a graph to two CSV files that an import makes the same graph of.

use super::cells;
use super::progress::Progress;
use anyhow::Context as _;
use prony_graph_store::{Kind, Read, Side, Value};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

pub(crate) const NODES: &str = "nodes.csv";
pub(crate) const RELATIONSHIPS: &str = "relationships.csv";
const WRITE_BYTES: usize = 1024 * 1024;
/// Rows after which the bar moves.
const ROWS_BETWEEN: u64 = 10_000;

/// Property columns, by name and then by type: properties that have one name and different types have a column each.
type Columns<'r> = Vec<(&'r str, Kind)>;

/// Writes both files whole, or says why not and leaves none that looks whole.
pub(crate) fn export(read: &Read, directory: &Path) -> anyhow::Result<(u64, u64)> {
    let paths = [directory.join(NODES), directory.join(RELATIONSHIPS)];
    for path in &paths {
        anyhow::ensure!(!path.exists(), "{} exists; name another directory, or remove it", path.display());
    }
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let nodes = file(&paths[0], |to| nodes(read, to))?;
    let relationships = file(&paths[1], |to| relationships(read, to))?;
    Ok((nodes, relationships))
}

fn file(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<u64>) -> anyhow::Result<u64> {
    let part = path.with_extension("csv.part");
    let write = || {
        let mut to = BufWriter::with_capacity(WRITE_BYTES, File::create(&part)?);
        let rows = fill(&mut to)?;
        to.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&part, path)?;
        Ok(rows)
    };
    write()
        .inspect_err(|_: &std::io::Error| drop(fs::remove_file(&part)))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn nodes(read: &Read, to: &mut impl std::io::Write) -> std::io::Result<u64> {
    let columns = columns(read, Side::Nodes);
    let mut line = b":LABEL,key:ID".to_vec();
    write_header(&columns, &mut line);
    to.write_all(&line)?;
    let progress = Progress::of_count(NODES.to_owned(), read.count(Side::Nodes, None));
    let mut rows = 0;
    for node in read.nodes(None) {
        line.clear();
        cells::write_text(&node.of.name, &mut line);
        line.push(b',');
        cells::write_text(node.key, &mut line);
        write_properties(&columns, node.properties(), &mut line);
        to.write_all(&line)?;
        rows += 1;
        if rows % ROWS_BETWEEN == 0 {
            progress.add(ROWS_BETWEEN);
        }
    }
    Ok(rows)
}

fn relationships(read: &Read, to: &mut impl std::io::Write) -> std::io::Result<u64> {
    let columns = columns(read, Side::Relationships);
    let mut line = b":START_LABEL,:START_ID,:END_LABEL,:END_ID,:TYPE".to_vec();
    write_header(&columns, &mut line);
    to.write_all(&line)?;
    let progress = Progress::of_count(RELATIONSHIPS.to_owned(), read.count(Side::Relationships, None));
    let mut rows = 0;
    for relationship in read.relationships(None) {
        line.clear();
        for end in [relationship.from, relationship.to] {
            let node =
                read.node(end).ok_or_else(|| std::io::Error::other("a relationship has lost a node"))?;
            cells::write_text(&node.of.name, &mut line);
            line.push(b',');
            cells::write_text(node.key, &mut line);
            line.push(b',');
        }
        cells::write_text(&relationship.of.name, &mut line);
        write_properties(&columns, relationship.properties(), &mut line);
        to.write_all(&line)?;
        rows += 1;
        if rows % ROWS_BETWEEN == 0 {
            progress.add(ROWS_BETWEEN);
        }
    }
    Ok(rows)
}

fn columns(read: &Read, side: Side) -> Columns<'_> {
    let types = read.schema().side(side).all();
    let properties = types.flat_map(|(_, of)| &of.properties);
    let mut columns = BTreeSet::new();
    for (name, property) in properties {
        let place = Kind::ALL.iter().position(|kind| *kind == property.kind);
        columns.insert((&**name, place.expect("all kinds are there")));
    }
    columns.into_iter().map(|(name, place)| (name, Kind::ALL[place])).collect()
}

fn write_header(columns: &Columns<'_>, line: &mut Vec<u8>) {
    for (name, kind) in columns {
        line.push(b',');
        cells::write_text(&format!("{name}:{}", cells::kind_name(*kind)), line);
    }
    line.push(b'\n');
}

/// Both are sorted by name, and each value has its column.
fn write_properties<'r>(
    columns: &Columns<'_>,
    values: impl Iterator<Item = (&'r str, Value<'r>)>,
    line: &mut Vec<u8>,
) {
    let mut values = values.peekable();
    for (name, kind) in columns {
        line.push(b',');
        if let Some((_, value)) = values.next_if(|(of, value)| of == name && value.kind() == *kind) {
            cells::write(&value, line);
        }
    }
    debug_assert!(values.peek().is_none(), "a property has no column");
    line.push(b'\n');
}
