//! A script whose threads run on several machines: what each thread is handed once `setup` was called for it elsewhere, and what of it
//! goes back for `done`.

use super::crossing::Crossing;
use super::error::ScriptError;
use mlua::{Lua, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The globals of a thread that mean the same in another state, and where it connects.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadValues {
    globals: BTreeMap<String, Crossing>,
    /// What the script has chosen.
    pub(super) address: Option<SocketAddr>,
}

impl ThreadValues {
    /// Those of a state. Functions, and tables that hold any, stay where they are.
    pub(super) fn read(lua: &Lua, address: Option<SocketAddr>) -> Result<Self, ScriptError> {
        let table = lua.globals();
        let mut globals = BTreeMap::new();
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair.map_err(|error| ScriptError::Lua(error.to_string()))?;
            let Some(name) = name.as_string().map(mlua::LuaString::to_string_lossy) else { continue };
            if let Ok(value) = Crossing::read(&name, &value) {
                globals.insert(name, value);
            }
        }
        Ok(Self { globals, address })
    }

    pub(super) fn write(&self, lua: &Lua) -> Result<(), ScriptError> {
        let own = |error: mlua::Error| ScriptError::Lua(error.to_string());
        for (name, value) in &self.globals {
            let value = value.write(lua).map_err(own)?;
            lua.globals().raw_set(name.as_str(), value).map_err(own)?;
        }
        Ok(())
    }

    /// What has become of them; what has not changed is left out.
    pub(super) fn changed_to(&self, now: Self) -> Self {
        let gone = self.globals.keys().filter(|name| !now.globals.contains_key(*name));
        let gone: Vec<_> = gone.map(|name| (name.clone(), Crossing::Nil)).collect();
        let changed = now.globals.into_iter().filter(|(name, value)| self.globals.get(name) != Some(value));
        Self { globals: changed.chain(gone).collect(), address: now.address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(code: &str) -> ThreadValues {
        let lua = Lua::new();
        lua.load(code).exec().unwrap();
        ThreadValues::read(&lua, None).unwrap()
    }

    #[test]
    fn what_has_changed_comes_to_another_state_as_it_was() {
        let given = values("big = {} for i = 1, 9 do big[i] = i end; count = 0; gone = 'ä'");
        let now = values(
            "big = {} for i = 1, 9 do big[i] = i end; count = 7.5; seen = { ['a\\0\\255'] = 1/0, [3] = { true } }; f = print",
        );
        let changed = given.changed_to(now);
        assert_eq!(changed.globals.keys().collect::<Vec<_>>(), ["count", "gone", "seen"]);
        let text = serde_json::to_string(&changed).unwrap();
        let lua = Lua::new();
        lua.load("gone = 'ä'").exec().unwrap();
        serde_json::from_str::<ThreadValues>(&text).unwrap().write(&lua).unwrap();
        let same = "return count == 7.5 and gone == nil and seen['a\\0\\255'] == 1/0 and seen[3][1] == true";
        assert!(lua.load(same).eval::<bool>().unwrap(), "{text}");
    }
}
