//! Arguments of joins that the configuration gives, as values of their types.

use prony_graphql::{
    Name,
    compiler::{
        ast::{FieldDefinition, Type},
        collections::HashMap,
        schema::{ExtendedType, InputObjectType},
    },
    selection::Value,
};
use serde_json::Value as Json;

use super::settings::JoinSettings;

/// Holds what is given against what is served.
pub(super) struct GivenValues<'t, 'a> {
    pub(super) types: &'t HashMap<&'a str, &'a ExtendedType>,
}

impl GivenValues<'_, '_> {
    /// Those of a root field, in the order of the schema; `argument` leads to the keys.
    pub(super) fn of(
        &self,
        root: &FieldDefinition,
        settings: &JoinSettings,
        argument: &[Name],
    ) -> Result<Vec<(Name, Value)>, String> {
        for given in settings.arguments.keys() {
            if !root.arguments.iter().any(|argument| *argument.name == **given) {
                return Err(format!("{} has no argument `{given}`", settings.to));
            }
        }
        let mut given = Vec::new();
        for definition in &root.arguments {
            let name = &definition.name;
            let Some(value) = settings.arguments.get(name.as_str()) else { continue };
            let keys = below(argument, name);
            if keys.is_some_and(<[Name]>::is_empty) {
                return Err(format!("`{name}` takes the keys, and is given in `arguments`"));
            }
            given.push((name.clone(), self.value(&definition.ty, value, name, keys.unwrap_or_default())?));
        }
        Ok(given)
    }

    /// `place` is for messages; `keys` is where the keys are within the value, if they are there.
    fn value(&self, ty: &Type, value: &Json, place: &str, keys: &[Name]) -> Result<Value, String> {
        let fault = || format!("`{place}` takes {ty}, and not {value}");
        // TOML has no null; what JSON has no number for is one.
        if value.is_null() {
            return Err(fault());
        }
        if ty.is_list() {
            let items = match value {
                Json::Array(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            let items = items.iter().map(|item| self.value(ty.item_type(), item, place, &[]));
            return Ok(Value::List(items.collect::<Result<_, _>>()?));
        }
        let named = ty.inner_named_type().as_str();
        match (self.types.get(named), value) {
            (Some(ExtendedType::InputObject(object)), Json::Object(_)) => {
                self.object(object, value, place, keys)
            }
            (Some(ExtendedType::Enum(known)), Json::String(label)) => {
                let known = known.values.get_key_value(label.as_str());
                known.map(|(name, _)| Value::Enum(name.clone())).ok_or_else(fault)
            }
            (Some(ExtendedType::InputObject(_) | ExtendedType::Enum(_)), _) => Err(fault()),
            _ => scalar(named, value).ok_or_else(fault),
        }
    }

    fn object(
        &self,
        object: &InputObjectType,
        value: &Json,
        place: &str,
        keys: &[Name],
    ) -> Result<Value, String> {
        let mut unknown = value.as_object().into_iter().flat_map(serde_json::Map::keys);
        if let Some(unknown) = unknown.find(|key| !object.fields.contains_key(key.as_str())) {
            return Err(format!("`{place}` has no field `{unknown}`"));
        }
        let mut fields = Vec::new();
        for (name, definition) in &object.fields {
            let (place, rest) = (format!("{place}.{name}"), below(keys, name));
            match (value.get(name.as_str()), rest) {
                (Some(_), Some([])) => {
                    return Err(format!("`{place}` takes the keys, and is given in `arguments`"));
                }
                (Some(value), rest) => {
                    let value = self.value(&definition.ty, value, &place, rest.unwrap_or_default())?;
                    fields.push((name.clone(), value));
                }
                (None, None) if definition.is_required() => {
                    return Err(format!("`{place}` is needed; give it in `arguments`"));
                }
                (None, _) => {}
            }
        }
        Ok(Value::Object(fields))
    }
}

/// The rest of a path that begins with a name.
fn below<'n>(path: &'n [Name], name: &Name) -> Option<&'n [Name]> {
    path.split_first().filter(|(first, _)| *first == name).map(|(_, rest)| rest)
}

/// None where the type has no such value. What values a source's own scalars have only that knows.
fn scalar(type_name: &str, value: &Json) -> Option<Value> {
    let is_valid = match (type_name, value) {
        ("Boolean", _) => return value.as_bool().map(Value::Boolean),
        ("Int", _) => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        ("Float", _) => value.is_number(),
        ("String", _) | ("ID", Json::String(_)) => value.is_string(),
        ("ID", _) if value.is_i64() || value.is_u64() => {
            return Some(Value::Scalar(Json::String(value.to_string())));
        }
        ("ID", _) => false,
        _ => true,
    };
    is_valid.then(|| Value::Scalar(value.clone()))
}

/// What is given for an argument, with the keys at their place in it.
pub(super) fn with_keys(given: Option<Value>, path: &[Name], keys: Value) -> Value {
    let Some((name, rest)) = path.split_first() else { return keys };
    let mut entries = match given {
        Some(Value::Object(entries)) => entries,
        _ => Vec::new(),
    };
    let place = entries.iter().position(|(known, _)| known == name);
    let inner = place.map(|index| entries.remove(index).1);
    entries.push((name.clone(), with_keys(inner, rest, keys)));
    Value::Object(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_beside_what_is_given() {
        let name = |text: &str| Name::new(text).expect("it is a name");
        let number = |number: u32| Value::Scalar(number.into());
        let object = |entries: Vec<(&str, Value)>| {
            Value::Object(entries.into_iter().map(|(key, value)| (name(key), value)).collect())
        };
        let path = [name("id"), name("in")];
        assert_eq!(with_keys(None, &[], number(1)), number(1));
        let alone = object(vec![("id", object(vec![("in", number(1))]))]);
        assert_eq!(with_keys(None, &path, number(1)), alone);
        let given = object(vec![("id", object(vec![("ne", number(2))])), ("gone", number(0))]);
        let beside =
            object(vec![("gone", number(0)), ("id", object(vec![("ne", number(2)), ("in", number(1))]))]);
        assert_eq!(with_keys(Some(given), &path, number(1)), beside);
    }
}
