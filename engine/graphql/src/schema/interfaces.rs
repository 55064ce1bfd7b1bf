//! What is left of interfaces where a role is served a part of a schema.

use apollo_compiler::{
    Name,
    collections::{HashSet, IndexMap},
    schema::ExtendedType,
};

/// Interfaces of objects that have fields.
pub fn implemented(types: &IndexMap<Name, ExtendedType>) -> HashSet<Name> {
    let objects = types.values().filter_map(|definition| match definition {
        ExtendedType::Object(object) if !object.fields.is_empty() => Some(object),
        _ => None,
    });
    let interfaces = objects.flat_map(|object| &object.implements_interfaces);
    interfaces.map(|interface| interface.name.clone()).collect()
}

/// Takes fields of interfaces away that a type which implements them does not have any more; true where there were such.
pub fn drop_uncommon_fields(types: &mut IndexMap<Name, ExtendedType>) -> bool {
    let mut uncommon: Vec<(Name, Name)> = Vec::new();
    for definition in types.values() {
        let (own, interfaces) = match definition {
            ExtendedType::Object(object) => (&object.fields, &object.implements_interfaces),
            ExtendedType::Interface(interface) => (&interface.fields, &interface.implements_interfaces),
            _ => continue,
        };
        if own.is_empty() {
            continue;
        }
        for interface in interfaces {
            let Some(ExtendedType::Interface(definition)) = types.get(&interface.name) else { continue };
            let lost = definition.fields.keys().filter(|field| !own.contains_key(*field));
            uncommon.extend(lost.map(|field| (interface.name.clone(), field.clone())));
        }
    }
    for (interface, field) in &uncommon {
        if let Some(ExtendedType::Interface(definition)) = types.get_mut(interface) {
            definition.make_mut().fields.shift_remove(field);
        }
    }
    !uncommon.is_empty()
}
