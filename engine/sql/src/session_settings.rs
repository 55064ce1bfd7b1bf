//! What a session at the database is told of who asks, for row-level security of the database's own: reading
//! `[source.session]`, and the values for a request.

use std::collections::BTreeMap;

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    variables::Variables,
};
use prony_source::config::{Faults, FileEntry, suggestion};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What each transaction begins with. A text that begins with `$` is a variable of the session; one that begins with two is a text
/// that begins with one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// By their names at the database, which have a dot: `app.user_id`.
    pub settings: BTreeMap<String, String>,
    /// The database's role.
    pub role: Option<String>,
}

/// The values of [`SessionSettings`] for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionValues {
    /// Names and values; what is not known of a request is empty.
    pub settings: Vec<(String, String)>,
    pub role: Option<String>,
}

const KEYS: [&str; 2] = ["settings", "role"];
/// To `SET ROLE` this is the user of the connection, also in quotes; no role can be called so.
const NO_ROLE: &str = "none";

impl SessionSettings {
    /// Names of the session's variables that it needs.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.settings.values().chain(&self.role).filter_map(|written| variable(written))
    }

    /// # Errors
    /// `Forbidden` where the database's role is not known, or a value cannot be told.
    pub fn values(&self, variables: &Variables) -> Result<SessionValues, GraphqlError> {
        let value = |written: &String| match variable(written) {
            Some(name) => variables.session_value(name).map_or_else(String::new, text),
            None => written.strip_prefix('$').unwrap_or(written).to_owned(),
        };
        let settings = self.settings.iter().map(|(name, written)| (name.clone(), value(written)));
        let values = SessionValues { settings: settings.collect(), role: self.role.as_ref().map(value) };
        let mut all = values.settings.iter().map(|(_, value)| value).chain(&values.role);
        if all.any(|value| value.contains('\0')) || values.role.as_deref().is_some_and(is_no_role) {
            let message = "what the database must know of your session is not known";
            return Err(GraphqlError::new(ErrorCode::Forbidden, message));
        }
        Ok(values)
    }
}

/// The variable of the session that a text stands for.
fn variable(written: &str) -> Option<&str> {
    written.strip_prefix('$').filter(|rest| !rest.starts_with('$'))
}

fn text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Reads the value of `session`.
pub(crate) fn read(session: FileEntry<'_, '_>, faults: &mut Faults) -> SessionSettings {
    let mut read = SessionSettings::default();
    for entry in session.table(faults) {
        match entry.name() {
            "settings" => {
                for setting in entry.table(faults) {
                    if !is_setting(setting.name()) {
                        let message = format!(
                            "`{}` is no setting of one's own: two names with a dot between them, as in \"app.user_id\"",
                            setting.name()
                        );
                        faults.push(setting.key_origin(), message);
                    } else if let Some(value) = setting.text(faults) {
                        read.settings.insert(setting.name().to_owned(), value);
                    }
                }
            }
            "role" => read.role = entry.text(faults),
            name => {
                let message = format!("`{name}` is no key of [source.session]{}", suggestion(name, KEYS));
                faults.push(entry.key_origin(), message);
            }
        }
    }
    if let Some(role) = read.role.as_deref().filter(|role| is_no_role(role)) {
        let message = format!("`role`: `{role}` is no role: name one of the database, or a variable");
        faults.push(session.key_origin(), message);
    }
    read
}

/// Whether statements would run as the user of the connection.
fn is_no_role(name: &str) -> bool {
    name.is_empty() || name == NO_ROLE
}

/// PostgreSQL manual, section 20.16: customized options.
fn is_setting(name: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    name.split('.').count() == 2 && name.split('.').all(is_name)
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use prony_source::config::FileText;
    use serde_json::json;
    use toml::de::DeTable;

    use super::*;

    fn read_text(text: &str) -> (SessionSettings, Vec<String>) {
        let file = FileText::new(Path::new("prony.toml"), text);
        let table = DeTable::parse(text).expect("it is TOML");
        let mut faults = Faults::default();
        let entry = file.entries(table.get_ref()).next().expect("there is one");
        let settings = read(entry, &mut faults);
        (settings, faults.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn values_are_those_of_the_session() {
        let (settings, faults) = read_text(
            "[session]\nrole = \"$db\"\nsettings = { \"app.user\" = \"$user.id\", \"app.kind\" = \"$$kind\", \"app.n\" = \"$n\" }",
        );
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(settings.variables().collect::<Vec<_>>(), ["n", "user.id", "db"]);
        let names: Arc<[Box<str>]> = ["n", "user.id", "db"].map(Into::into).into();
        let variables = |session: Json| {
            let session: Vec<Json> = serde_json::from_value(session).expect("it is a list");
            Variables::default().with_session(session.into()).with_session_names(Arc::clone(&names))
        };
        let values = settings.values(&variables(json!([7, "o'neil", "web"]))).expect("all is known");
        let expected = [("app.kind", "$kind"), ("app.n", "7"), ("app.user", "o'neil")];
        assert_eq!(values.settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(values.role.as_deref(), Some("web"));
        let values = settings.values(&variables(json!([null, [1], "web"]))).expect("the role is known");
        assert_eq!(
            values.settings[1..],
            [("app.n".into(), String::new()), ("app.user".into(), "[1]".into())]
        );
        for refused in
            [json!([1, "a", null]), json!([1, "a", ""]), json!([1, "a", "none"]), json!([1, "a\0b", "web"])]
        {
            assert!(settings.values(&variables(refused)).is_err());
        }
        assert!(settings.values(&Variables::default()).is_err());
    }

    #[test]
    fn the_user_of_the_connection_is_no_role() {
        for (role, expected) in [("", 1), ("none", 1), ("None", 0), ("$none", 0)] {
            let (_, faults) = read_text(&format!("[session]\nrole = \"{role}\""));
            assert_eq!(faults.len(), expected, "{role}: {faults:?}");
        }
    }

    #[test]
    fn settings_are_those_of_ones_own() {
        let (_, faults) = read_text(
            "[session]\nrole = \"\"\nroles = 1\n[session.settings]\nrole = \"a\"\n\"a.b.c\" = \"a\"\n\"a.b;c\" = \"a\"\n\"app.a\" = 1",
        );
        assert_eq!(faults.len(), 6, "{faults:#?}");
        assert!(faults[0].contains("did you mean `role`"), "{}", faults[0]);
    }
}
