//! From CSV files to a graph: one thread reads, one writes. A faulty line is noted with its place and the rest is read
//! all the same, so that one run tells of all of them; whether the good ones are kept is decided by the caller.

use super::cells::{self, shown};
use super::header::{Body, End, EndType, FileOf, Header, Label};
use super::problems::{Fault, Problems};
use super::progress::Progress;
use super::records::{Batch, Record, Records};
use anyhow::{Context as _, bail};
use prony_graph_store::{Kind, Ref, Refusal, Side, Store, Value, Write};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Batches that may wait between the thread that reads and the one that writes.
const BATCHES_WAITING: usize = 4;

/// An import of one file of nodes, one of relationships, or both.
pub(crate) struct Import<'a> {
    store: &'a Store,
    delimiter: u8,
    problems: &'a mut Problems,
    /// The types of the nodes that were read in each ID space.
    spaces: HashMap<String, Vec<String>>,
}

impl<'a> Import<'a> {
    pub(crate) fn new(store: &'a Store, delimiter: u8, problems: &'a mut Problems) -> Self {
        Self { store, delimiter, problems, spaces: HashMap::new() }
    }

    /// Reads a file into the graph; how many of its records are in it now.
    pub(crate) fn file(&mut self, of: FileOf, path: &Path, progress: &Progress) -> anyhow::Result<u64> {
        let cannot_read = || format!("cannot read {}", path.display());
        let mut records = Records::open(path, self.delimiter).with_context(cannot_read)?;
        let first = records.one().with_context(cannot_read)?;
        let Some(first) = first else {
            bail!("{} is empty; its first line names the columns", path.display())
        };
        let record = first.records().next().expect("a batch has a record");
        let header = read_header(of, path, &record)?;
        self.problems.begin_file(path, &header, record.raw)?;
        let mut rows = Rows::new(&header, self.store, std::mem::take(&mut self.spaces));
        let (sender, receiver) = sync_channel(BATCHES_WAITING);
        let mut done = 0;
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Some(batch) = records.batch().transpose() {
                    let is_last = batch.is_err();
                    // Whoever writes has given up where this fails.
                    if sender.send(batch).is_err() || is_last {
                        break;
                    }
                }
            });
            for batch in receiver {
                let batch = batch.with_context(cannot_read)?;
                done += rows.write(self.store, &batch, self.problems)?;
                progress.add(batch.bytes());
            }
            anyhow::Ok(())
        })?;
        self.spaces = rows.spaces;
        Ok(done)
    }
}

fn read_header(of: FileOf, path: &Path, record: &Record<'_>) -> anyhow::Result<Header> {
    let names = (0..record.len()).map(|column| String::from_utf8_lossy(record.cell(column)).into_owned());
    let names: Vec<String> = names.collect();
    Header::read(of, names.clone()).map_err(|faults| {
        let lines = faults.iter().map(|(column, what)| {
            let place = column.map(|column| format!(" column {} ({}):", column + 1, shown(&names[column])));
            format!("\n  {}:1:{} {what}", path.display(), place.unwrap_or_default())
        });
        anyhow::anyhow!("the header of {} has faults{}", path.display(), lines.collect::<String>())
    })
}

/// What is needed to write the records of one file.
struct Rows<'h> {
    header: &'h Header,
    /// Property columns that have been declared, by type.
    declared: HashMap<String, Vec<bool>>,
    spaces: HashMap<String, Vec<String>>,
    /// Types of nodes, where a key is looked up in all of them.
    node_types: Vec<String>,
    /// Two columns of one name and different types: only one of them may have a value in a record.
    has_columns_of_one_name: bool,
}

impl<'h> Rows<'h> {
    fn new(header: &'h Header, store: &Store, spaces: HashMap<String, Vec<String>>) -> Self {
        let read = store.read();
        let node_types = read.schema().side(Side::Nodes).all().map(|(_, of)| of.name.to_string()).collect();
        let mut names = HashSet::new();
        let has_columns_of_one_name = header.properties.iter().any(|column| !names.insert(&column.name));
        Self { header, declared: HashMap::new(), spaces, node_types, has_columns_of_one_name }
    }

    /// How many records were written.
    fn write(&mut self, store: &Store, batch: &Batch, problems: &mut Problems) -> anyhow::Result<u64> {
        let mut done = 0;
        let mut faults = Vec::new();
        let written = store.write(
            |write| {
                for record in batch.records() {
                    match self.record(write, &record) {
                        Ok(()) => done += 1,
                        Err(fault) => faults.push((record, fault)),
                    }
                }
                Ok(())
            },
            // It waits for a snapshot anyway.
            |_| {},
        );
        written.context("cannot write to the graph")?;
        for (record, fault) in faults {
            problems.add(&record, &fault)?;
        }
        Ok(done)
    }

    fn record<'b>(&mut self, write: &mut Write<'_>, record: &Record<'b>) -> Result<(), Fault>
    where
        'h: 'b,
    {
        let (cells, columns) = (record.len(), self.header.names.len());
        if record.is_open {
            return Err(Fault::whole("the file ends within quotes that this record opens"));
        }
        if cells != columns {
            let lines = record.lines();
            let hint = if lines > 1 {
                format!(" (it takes {lines} lines; is a quote left open?)")
            } else {
                String::new()
            };
            return Err(Fault::whole(format!(
                "{cells} cells where the header names {columns} columns{hint}"
            )));
        }
        let given = self.values(record)?;
        match &self.header.body {
            Body::Nodes { key, label, space } => {
                self.node(write, record, *key, label, space.as_deref(), &given)
            }
            Body::Relationships { start, end, label } => {
                let (from, to) = (self.find(write, record, start)?, self.find(write, record, end)?);
                let of = text(record, *label)?;
                self.declare(write, Side::Relationships, of, &given)?;
                let created = write.create_relationship(of, from, to, &pairs(&given));
                created.map(drop).map_err(|refusal| self.fault(&refusal, &given))
            }
        }
    }

    fn node(
        &mut self,
        write: &mut Write<'_>,
        record: &Record<'_>,
        key: usize,
        label: &Label,
        space: Option<&str>,
        given: &[(usize, &str, Value<'_>)],
    ) -> Result<(), Fault> {
        let of = match label {
            Label::Always(of) => of,
            Label::Column(column) => text(record, *column)?,
        };
        if let Some(space) = space {
            self.note_space(space, of);
        }
        self.declare(write, Side::Nodes, of, given)?;
        let key_text = text(record, key)?;
        let created = write.create_node(of, key_text, &pairs(given));
        created.map(drop).map_err(|refusal| match refusal {
            Refusal::KeyExists { .. } => Fault::at(
                key,
                format!("a node of type {} with the key {} exists", shown(of), shown(key_text)),
            ),
            other => self.fault(&other, given),
        })
    }

    fn note_space(&mut self, space: &str, of: &str) {
        match self.spaces.get_mut(space) {
            Some(types) if types.iter().any(|known| known == of) => {}
            Some(types) => types.push(of.to_owned()),
            None => {
                self.spaces.insert(space.to_owned(), vec![of.to_owned()]);
            }
        }
    }

    /// The cells that hold a value: which property column, name, value.
    fn values<'b>(&self, record: &Record<'b>) -> Result<Vec<(usize, &'h str, Value<'b>)>, Fault> {
        let mut given: Vec<(usize, &str, Value<'_>)> = Vec::with_capacity(self.header.properties.len());
        for (place, property) in self.header.properties.iter().enumerate() {
            let column = property.column;
            if record.cell(column).is_empty() && !(property.kind == Kind::String && record.is_quoted(column))
            {
                continue;
            }
            let value = cells::read(text(record, column)?, property.kind);
            let value = value.map_err(|what| Fault::at(column, what))?;
            if self.has_columns_of_one_name && given.iter().any(|(_, name, _)| *name == property.name) {
                return Err(Fault::at(column, "another column has a value for the same property"));
            }
            given.push((place, &property.name, value));
        }
        Ok(given)
    }

    /// A property is declared with its column's type by the first record that has a value for it. Where it is declared
    /// already, that stands, and the value must fit.
    fn declare(
        &mut self,
        write: &mut Write<'_>,
        side: Side,
        of: &str,
        given: &[(usize, &str, Value<'_>)],
    ) -> Result<(), Fault> {
        if given.is_empty() {
            return Ok(());
        }
        if !self.declared.contains_key(of) {
            self.declared.insert(of.to_owned(), vec![false; self.header.properties.len()]);
        }
        let declared = self.declared.get_mut(of).expect("it was put there above");
        for (place, name, _) in given {
            if declared[*place] {
                continue;
            }
            let column = &self.header.properties[*place];
            let result = write.make_type(side, of).and_then(|_| write.declare(side, of, name, column.kind));
            match result {
                Ok(()) | Err(Refusal::OtherKind { .. }) => declared[*place] = true,
                Err(refusal) => return Err(Fault::at(column.column, refusal.to_string())),
            }
        }
        Ok(())
    }

    /// The node at one end of a relationship.
    fn find(&self, write: &Write<'_>, record: &Record<'_>, end: &End) -> Result<Ref, Fault> {
        let key = text(record, end.key)?;
        let one: [&str; 1];
        let several = match &end.of {
            EndType::Column(_) => None,
            EndType::Space(space) => self.spaces.get(space),
            EndType::All => Some(&self.node_types),
        };
        let types: &mut dyn Iterator<Item = &str> = if let Some(types) = several {
            &mut types.iter().map(String::as_str)
        } else {
            one = [end.type_name(record)?];
            &mut one.iter().copied()
        };
        let mut found: Option<(&str, Ref)> = None;
        for of in types {
            let Some(at) = write.find(of, key) else { continue };
            if let Some((before, _)) = found {
                let key = shown(key);
                let what = format!(
                    "{} and {} both have a node with the key {key}; name the type in a column :START_LABEL or :END_LABEL",
                    shown(before),
                    shown(of)
                );
                return Err(Fault::at(end.key, what));
            }
            found = Some((of, at));
        }
        found.map(|(_, at)| at).ok_or_else(|| {
            let of = match &end.of {
                EndType::All => String::new(),
                _ => format!(" of type {}", shown(end.type_name(record).unwrap_or_default())),
            };
            Fault::at(end.key, format!("there is no node{of} with the key {}", shown(key)))
        })
    }

    /// What the graph refuses, with the column where that is known.
    fn fault(&self, refusal: &Refusal, given: &[(usize, &str, Value<'_>)]) -> Fault {
        let place = match refusal {
            Refusal::NotOfKind { property, .. } => given.iter().find(|(_, name, _)| name == property),
            _ => None,
        };
        let column = place.map(|(place, ..)| self.header.properties[*place].column);
        Fault { column, what: refusal.to_string() }
    }
}

impl End {
    /// Where one type is meant.
    fn type_name<'b>(&'b self, record: &Record<'b>) -> Result<&'b str, Fault> {
        match &self.of {
            EndType::Column(column) => text(record, *column),
            EndType::Space(space) => Ok(space),
            EndType::All => Ok(""),
        }
    }
}

fn pairs<'b>(given: &[(usize, &'b str, Value<'b>)]) -> Vec<(&'b str, Value<'b>)> {
    given.iter().map(|(_, name, value)| (*name, value.clone())).collect()
}

fn text<'b>(record: &Record<'b>, column: usize) -> Result<&'b str, Fault> {
    let bytes = record.cell(column);
    std::str::from_utf8(bytes).map_err(|error| {
        Fault::at(
            column,
            format!("it is no UTF-8 from its byte {} on; convert the file", error.valid_up_to() + 1),
        )
    })
}
