//! Texts with `${name}` slots: read once when a scenario is checked, rendered for each request.

use crate::data::encoding::Encoding;
use crate::data::variable::{ValueOf, Variable};
use serde_json::Value;

/// Which variable, and which of its columns, a slot takes its value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotSource {
    pub variable: usize,
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(Box<[u8]>),
    Slot { source: SlotSource, encoding: Encoding },
}

/// A text whose slots all name a known variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The whole text, where no slot is in it.
    pub fn fixed_text(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(b""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn fixed(text: impl Into<Vec<u8>>) -> Self {
        let mut template = Self::default();
        template.push_text(&text.into());
        template
    }

    /// Reads `${name}` and `${name.column}`; `$$` before `{` writes `${` itself.
    /// Each unknown or broken slot is a message of its own.
    pub fn read(text: &str, encoding: Encoding, variables: &[Variable]) -> Result<Self, Vec<String>> {
        let (mut template, mut faults) = (Self::default(), Vec::new());
        template.append(text, encoding, variables, &mut faults);
        if faults.is_empty() { Ok(template) } else { Err(faults) }
    }

    /// What stands between the slots of a text, whether or not they name a variable. Names may have letters that the text may not.
    pub(crate) fn between_slots(text: &str) -> String {
        let (mut between, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("${") {
            let is_text = rest[..at].ends_with('$');
            let end = if is_text { Some(at + 1) } else { rest[at..].find('}').map(|end| at + end) };
            between.push_str(&rest[..at]);
            rest = end.map_or("", |end| &rest[end + 1..]);
        }
        between + rest
    }

    /// A JSON value in which texts hold slots: a text that is one slot takes the slot's type.
    pub fn read_json(value: &Value, variables: &[Variable]) -> Result<Self, Vec<String>> {
        let (mut template, mut faults) = (Self::default(), Vec::new());
        template.append_json(value, variables, &mut faults);
        if faults.is_empty() { Ok(template) } else { Err(faults) }
    }

    pub fn push_text(&mut self, text: &[u8]) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(last)) => *last = [last, text].concat().into(),
            _ => self.parts.push(Part::Text(text.into())),
        }
    }

    pub fn push(&mut self, other: &Self) {
        for part in &other.parts {
            match part {
                Part::Text(text) => self.push_text(text),
                slot @ Part::Slot { .. } => self.parts.push(slot.clone()),
            }
        }
    }

    /// The slots' sources, each once, in order.
    pub fn sources(&self) -> Vec<SlotSource> {
        let mut sources: Vec<_> = self.parts.iter().filter_map(Part::source).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Appends the text with these values to `out`.
    pub fn render(&self, values: &(impl ValueOf + ?Sized), out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Slot { source, encoding } => {
                    values.value_of(source.variable).write(source.column, *encoding, out);
                }
            }
        }
    }

    fn append(&mut self, text: &str, encoding: Encoding, variables: &[Variable], faults: &mut Vec<String>) {
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                self.push_text(&rest.as_bytes()[..at - 1]);
                self.push_text(b"${");
                rest = &rest[at + 2..];
                continue;
            }
            self.push_text(&rest.as_bytes()[..at]);
            let Some(end) = rest[at..].find('}') else {
                faults.push(format!("`{}` has no closing brace", &rest[at..]));
                return;
            };
            match find_source(&rest[at + 2..at + end], variables) {
                Ok(source) => self.parts.push(Part::Slot { source, encoding }),
                Err(fault) => faults.push(fault),
            }
            rest = &rest[at + end + 1..];
        }
        self.push_text(rest.as_bytes());
    }

    fn append_json(&mut self, value: &Value, variables: &[Variable], faults: &mut Vec<String>) {
        match value {
            Value::String(text) => self.append_json_text(text, variables, faults),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.push_text(if index == 0 { b"[" } else { b"," });
                    self.append_json(item, variables, faults);
                }
                self.push_text(if items.is_empty() { b"[]" } else { b"]" });
            }
            Value::Object(fields) => {
                for (index, (name, field)) in fields.iter().enumerate() {
                    self.push_text(if index == 0 { b"{" } else { b"," });
                    self.append_json_string(name, variables, faults);
                    self.push_text(b":");
                    self.append_json(field, variables, faults);
                }
                self.push_text(if fields.is_empty() { b"{}" } else { b"}" });
            }
            scalar => self.push_text(scalar.to_string().as_bytes()),
        }
    }

    fn append_json_text(&mut self, text: &str, variables: &[Variable], faults: &mut Vec<String>) {
        if let Some(name) = whole_slot(text) {
            match find_source(name, variables) {
                Ok(source) => self.parts.push(Part::Slot { source, encoding: Encoding::Json }),
                Err(fault) => faults.push(fault),
            }
            return;
        }
        self.append_json_string(text, variables, faults);
    }

    /// In quotes, whatever type its slots have.
    fn append_json_string(&mut self, text: &str, variables: &[Variable], faults: &mut Vec<String>) {
        let mut inner = Self::default();
        inner.append(text, Encoding::JsonText, variables, faults);
        self.push_text(b"\"");
        for part in &inner.parts {
            match part {
                Part::Text(bytes) => {
                    self.push_text(escaped(&String::from_utf8_lossy(bytes)).as_bytes());
                }
                slot @ Part::Slot { .. } => self.parts.push(slot.clone()),
            }
        }
        self.push_text(b"\"");
    }
}

impl Part {
    pub fn source(&self) -> Option<SlotSource> {
        match self {
            Self::Text(_) => None,
            Self::Slot { source, .. } => Some(*source),
        }
    }
}

/// The text as it stands within a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn whole_slot(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains('}')).then_some(name)
}

fn find_source(name: &str, variables: &[Variable]) -> Result<SlotSource, String> {
    let find = |wanted: &str| variables.iter().position(|v| v.name == wanted);
    if let Some(variable) = find(name) {
        return match variables[variable].columns() {
            [] | [_] => Ok(SlotSource { variable, column: 0 }),
            columns => Err(format!(
                "`${{{name}}}` has {} columns; write `${{{name}.{}}}` for one of: {}",
                columns.len(),
                columns[0],
                columns.join(", ")
            )),
        };
    }
    let (head, column) = name.split_once('.').unwrap_or((name, ""));
    let Some(variable) = find(head) else {
        let known: Vec<_> = variables.iter().map(|v| v.name.as_str()).collect();
        let hint = if known.is_empty() {
            "no variable is defined".to_owned()
        } else {
            format!("known are: {}", known.join(", "))
        };
        return Err(format!("unknown variable `{head}`; {hint}"));
    };
    let columns = variables[variable].columns();
    let column = columns.iter().position(|known| known == column);
    column.map(|column| SlotSource { variable, column }).ok_or_else(|| {
        let known = if columns.is_empty() { "it has none".to_owned() } else { columns.join(", ") };
        format!("unknown column in `${{{name}}}`; columns of `{head}`: {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::{Cell, CellKind, Rows};
    use crate::data::variable::{Drawn, Feeder, Order, Values};
    use expect_test::{Expect, expect};
    use serde_json::json;

    #[test]
    fn names_of_slots_are_not_between_them() {
        for (text, between) in [
            ("/a/${größe}/b?q=${x y.z#}&r", "/a//b?q=&r"),
            ("/ü${n}", "/ü"),
            ("/$${ü}", "/$ü}"),
            ("/a${n", "/a"),
            ("", ""),
        ] {
            assert_eq!(Template::between_slots(text), between, "{text}");
        }
    }

    fn variables() -> Vec<Variable> {
        let mut rows = Rows::new(vec!["name".to_owned(), "age".to_owned()]);
        rows.push(Cell { kind: CellKind::Text, text: "Ann \"A\" Ö".as_bytes() }).unwrap();
        rows.push(Cell { kind: CellKind::Json, text: b"3" }).unwrap();
        let who = Values::Rows(Feeder::new(rows, Order::Sequential, "who.csv"));
        let who = Variable { name: "who".to_owned(), values: who };
        vec![Variable::range("n", 7, 7), who, Variable::captured("token")]
    }

    fn rendered(template: Result<Template, Vec<String>>) -> String {
        let variables = variables();
        match template {
            Err(faults) => faults.join("\n"),
            Ok(template) => {
                let rows = &variables[1].feeder().unwrap().rows;
                let token = Drawn::Captured(Cell { kind: CellKind::Text, text: b"a\r\nb" });
                let mut out = Vec::new();
                template.render(&[Drawn::Integer(7), Drawn::Row(rows, 0), token], &mut out);
                String::from_utf8(out).unwrap()
            }
        }
    }

    fn check(text: &str, encoding: Encoding, expected: &Expect) {
        expected.assert_eq(&rendered(Template::read(text, encoding, &variables())));
    }

    #[test]
    fn slots_are_written_as_their_place_needs() {
        check("/a/${n}?q=${who.name}", Encoding::Target, &expect!["/a/7?q=Ann%20%22A%22%20%C3%96"]);
        check("n=${n} $${n} $5 ${who.age}", Encoding::Plain, &expect!["n=7 ${n} $5 3"]);
        check("${token}", Encoding::Header, &expect!["a  b"]);
        let value =
            json!({"id": "${n}", "t": "no. ${n}\n", "who": ["${who.name}", "<${who.name}>", null], "e": {}});
        expect![[r#"{"id":7,"t":"no. 7\n","who":["Ann \"A\" Ö","<Ann \"A\" Ö>",null],"e":{}}"#]]
            .assert_eq(&rendered(Template::read_json(&value, &variables())));
    }

    #[test]
    fn names_in_json_have_slots_too() {
        let value = json!({"${n}": {"<${who.name}>": "${n}"}, "$${n}": [], "${m}": 1});
        let read = |value| rendered(Template::read_json(&value, &variables()));
        expect!["unknown variable `m`; known are: n, who, token"].assert_eq(&read(value));
        let value = json!({"${n}": {"<${who.name}>": "${n}"}, "$${n}": []});
        expect![[r#"{"7":{"<Ann \"A\" Ö>":7},"${n}":[]}"#]].assert_eq(&read(value));
    }

    #[test]
    fn broken_slots_are_all_named() {
        check(
            "${m} ${who} ${who.x} ${n.x} ${n",
            Encoding::Plain,
            &expect![[r"
            unknown variable `m`; known are: n, who, token
            `${who}` has 2 columns; write `${who.name}` for one of: name, age
            unknown column in `${who.x}`; columns of `who`: name, age
            unknown column in `${n.x}`; columns of `n`: it has none
            `${n` has no closing brace"]],
        );
    }
}
