//! JSON as a tree that keeps what GJSON looks at: the order of members, and names that stand twice.

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        match self {
            Self::Null => json.push_str("null"),
            Self::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            // JSON has no word for what is infinite: a number beyond the largest one becomes so again.
            Self::Number(number) if number.is_infinite() => {
                json.push_str(if *number > 0.0 { "1e309" } else { "-1e309" });
            }
            Self::Number(number) => json.push_str(&number.to_string()),
            Self::String(text) => write_text(text, json),
            Self::Array(items) => {
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    json.push_str(if index == 0 { "" } else { "," });
                    item.write(json);
                }
                json.push(']');
            }
            Self::Object(members) => {
                json.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    json.push_str(if index == 0 { "" } else { "," });
                    write_text(key, json);
                    json.push(':');
                    value.write(json);
                }
                json.push('}');
            }
        }
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}
