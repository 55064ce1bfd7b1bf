//! The first line of a CSV file: what its columns mean. The words are those of Neo4j's headers; `:START_LABEL` and
//! `:END_LABEL`, for nodes whose keys are unique within their type only, are our own.

use super::cells::{self, shown};
use prony_graph_store::Kind;

/// Which of the two kinds of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOf {
    Nodes,
    Relationships,
}

/// What a checked header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// As they stand in the file, for messages.
    pub(crate) names: Vec<String>,
    pub(crate) properties: Vec<PropertyColumn>,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Nodes { key: usize, label: Label, space: Option<String> },
    Relationships { start: End, end: End, label: usize },
}

/// Where the type of a node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Label {
    Column(usize),
    /// `key:ID(User)` without a `:LABEL`.
    Always(String),
}

/// One end of relationships.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) key: usize,
    pub(crate) of: EndType,
}

/// Among which nodes a key is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndType {
    Column(usize),
    /// `:START_ID(User)`: those of the ID space of this name in the file of nodes, else of the type of this name.
    Space(String),
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PropertyColumn {
    pub(crate) column: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What one cell of the header says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Property(String, Kind),
    /// `ID`, `LABEL`, …, and what stands in brackets.
    Special(&'static str, Option<String>),
}

const SPECIAL: [&str; 8] =
    ["ID", "LABEL", "START_ID", "END_ID", "START_LABEL", "END_LABEL", "TYPE", "IGNORE"];

impl Header {
    /// All that is wrong with it where something is: columns, counted from 0, and what to do about each; what is missing
    /// has no column.
    pub(crate) fn read(of: FileOf, names: Vec<String>) -> Result<Self, Vec<(Option<usize>, String)>> {
        let mut faults = Vec::new();
        let mut columns = Vec::new();
        for (index, name) in names.iter().enumerate() {
            match column(name) {
                Ok(column) => columns.push((index, column)),
                Err(what) => faults.push((Some(index), what)),
            }
        }
        let special = |wanted: &str| {
            columns.iter().find_map(|(index, column)| match column {
                Column::Special(name, space) if *name == wanted => Some((*index, space.clone())),
                _ => None,
            })
        };
        let body = match of {
            FileOf::Nodes => nodes(special),
            FileOf::Relationships => relationships(special),
        };
        check_columns(of, &columns, &mut faults);
        faults.sort_by_key(|(column, _)| *column);
        match body {
            Ok(body) if faults.is_empty() => {
                let properties = columns.into_iter().filter_map(|(column, what)| match what {
                    Column::Property(name, kind) => Some(PropertyColumn { column, name, kind }),
                    Column::Special(..) => None,
                });
                Ok(Self { properties: properties.collect(), body, names })
            }
            Ok(_) => Err(faults),
            Err(missing) => {
                faults.push((None, missing));
                Err(faults)
            }
        }
    }
}

fn column(text: &str) -> Result<Column, String> {
    let (name, what) = text.rsplit_once(':').unwrap_or((text, "string"));
    if let Some(kind) = cells::kind(what) {
        return Ok(Column::Property(name.to_owned(), kind));
    }
    let (word, space) = match what.strip_suffix(')').and_then(|what| what.split_once('(')) {
        Some((word, space)) => (word, (!space.is_empty()).then(|| space.to_owned())),
        None => (what, None),
    };
    let special = SPECIAL.into_iter().find(|special| *special == word);
    special.map(|special| Column::Special(special, space)).ok_or_else(|| {
        format!(
            "{} is no type; write string, long, double, boolean, one of these with [], or one of :{}",
            shown(what),
            SPECIAL.join(", :")
        )
    })
}

type Found = Option<(usize, Option<String>)>;

fn nodes(special: impl Fn(&str) -> Found) -> Result<Body, String> {
    let Some((key, space)) = special("ID") else {
        return Err("no column is the key; name one `key:ID`".to_owned());
    };
    let label = match (special("LABEL"), &space) {
        (Some((column, _)), _) => Label::Column(column),
        (None, Some(space)) => Label::Always(space.clone()),
        (None, None) => {
            let what =
                "no column is the type; add one named `:LABEL`, or write `key:ID(User)` where all are of one";
            return Err(what.to_owned());
        }
    };
    Ok(Body::Nodes { key, label, space })
}

fn relationships(special: impl Fn(&str) -> Found) -> Result<Body, String> {
    let end = |id: &str, label: &str| {
        let (key, space) =
            special(id).ok_or_else(|| format!("no column is the node's key; name one `:{id}`"))?;
        let of = match (special(label), space) {
            (Some((column, _)), _) => EndType::Column(column),
            (None, Some(space)) => EndType::Space(space),
            (None, None) => EndType::All,
        };
        Ok::<_, String>(End { key, of })
    };
    let (start, end) = (end("START_ID", "START_LABEL")?, end("END_ID", "END_LABEL")?);
    let (label, _) = special("TYPE").ok_or("no column is the relationship's type; name one `:TYPE`")?;
    Ok(Body::Relationships { start, end, label })
}

/// No column twice, none that belongs into the other file.
fn check_columns(of: FileOf, columns: &[(usize, Column)], faults: &mut Vec<(Option<usize>, String)>) {
    for (place, (index, column)) in columns.iter().enumerate() {
        let is_same = |(_, before): &(usize, Column)| match (before, column) {
            (Column::Special(before, _), Column::Special(now, _)) => before == now && *now != "IGNORE",
            (before, now) => before == now,
        };
        if columns[..place].iter().any(is_same) {
            faults.push((Some(*index), "there is such a column already".to_owned()));
        }
        let other = match (of, column) {
            (FileOf::Nodes, Column::Special("ID" | "LABEL" | "IGNORE", _)) => continue,
            (FileOf::Nodes, Column::Special(..)) => "relationships",
            (FileOf::Relationships, Column::Special("ID" | "LABEL", _)) => "nodes",
            _ => continue,
        };
        faults.push((Some(*index), format!("such a column belongs into a file of {other}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(of: FileOf, header: &str, expected: &Expect) {
        let names = header.split(',').map(str::to_owned).collect();
        let shown = match Header::read(of, names) {
            Ok(header) => format!("{:?}\n{:?}", header.body, header.properties),
            Err(faults) => faults
                .iter()
                .fold(String::new(), |text, (column, what)| format!("{text}{column:?}: {what}\n")),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn headers_of_nodes() {
        check(
            FileOf::Nodes,
            "key:ID,:LABEL,name,age:int,odd:name:string",
            &expect![[r#"
            Nodes { key: 0, label: Column(1), space: None }
            [PropertyColumn { column: 2, name: "name", kind: String }, PropertyColumn { column: 3, name: "age", kind: Integer }, PropertyColumn { column: 4, name: "odd:name", kind: String }]"#]],
        );
        check(
            FileOf::Nodes,
            "personId:ID(Person),tags:string[],:IGNORE,x:IGNORE",
            &expect![[r#"
            Nodes { key: 0, label: Always("Person"), space: Some("Person") }
            [PropertyColumn { column: 1, name: "tags", kind: StringList }]"#]],
        );
        check(
            FileOf::Nodes,
            "key:ID,name",
            &expect![[r#"
                None: no column is the type; add one named `:LABEL`, or write `key:ID(User)` where all are of one
            "#]],
        );
        check(
            FileOf::Nodes,
            ":LABEL,:ID,:ID,age:int,age:int,age:double,at:date,:TYPE",
            &expect![[r#"
                Some(2): there is such a column already
                Some(4): there is such a column already
                Some(6): `date` is no type; write string, long, double, boolean, one of these with [], or one of :ID, :LABEL, :START_ID, :END_ID, :START_LABEL, :END_LABEL, :TYPE, :IGNORE
                Some(7): such a column belongs into a file of relationships
            "#]],
        );
    }

    #[test]
    fn headers_of_relationships() {
        check(
            FileOf::Relationships,
            ":START_ID(User),:END_ID,:TYPE,since:long",
            &expect![[r#"
            Relationships { start: End { key: 0, of: Space("User") }, end: End { key: 1, of: All }, label: 2 }
            [PropertyColumn { column: 3, name: "since", kind: Integer }]"#]],
        );
        check(
            FileOf::Relationships,
            ":START_LABEL,:START_ID,:END_LABEL,:END_ID,:TYPE",
            &expect![[r#"
            Relationships { start: End { key: 1, of: Column(0) }, end: End { key: 3, of: Column(2) }, label: 4 }
            []"#]],
        );
        check(
            FileOf::Relationships,
            ":START_ID,:TYPE",
            &expect![[r#"
                None: no column is the node's key; name one `:END_ID`
            "#]],
        );
        check(
            FileOf::Relationships,
            ":START_ID,:END_ID,key:ID",
            &expect![[r#"
                Some(2): such a column belongs into a file of nodes
                None: no column is the relationship's type; name one `:TYPE`
            "#]],
        );
    }
}
