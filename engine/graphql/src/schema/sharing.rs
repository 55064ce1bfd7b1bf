//! Definitions that several schemas have alike are kept once: schemas of roles differ in little from each other.

use apollo_compiler::{
    Name,
    collections::{HashMap, IndexMap},
    schema::{Component, ExtendedType},
};

use super::Schema;

/// The different definitions of each type in the schemas that are made with it. It lives as long as these.
#[derive(Debug, Default)]
pub struct SharedDefinitions {
    types: HashMap<Name, Vec<ExtendedType>>,
}

impl SharedDefinitions {
    /// Those of a schema, so that others have them too.
    pub fn of(schema: &Schema) -> Self {
        let types = schema.valid().types.iter();
        Self { types: types.map(|(name, definition)| (name.clone(), vec![definition.clone()])).collect() }
    }

    /// The same definition, which is one that is kept already where there is one. Where there is none, the fields of an object
    /// type or an input type may be.
    pub(super) fn share(&mut self, mut definition: ExtendedType) -> ExtendedType {
        let Some(known) = self.types.get_mut(definition.name()) else {
            self.types.insert(definition.name().clone(), vec![definition.clone()]);
            return definition;
        };
        if let Some(same) = known.iter().find(|known| **known == definition) {
            return same.clone();
        }
        match (&mut definition, known.first()) {
            (ExtendedType::Object(object), Some(ExtendedType::Object(known))) => {
                share_fields(&mut object.make_mut().fields, &known.fields);
            }
            (ExtendedType::InputObject(object), Some(ExtendedType::InputObject(known))) => {
                share_fields(&mut object.make_mut().fields, &known.fields);
            }
            _ => {}
        }
        known.push(definition.clone());
        definition
    }
}

type Fields<T> = IndexMap<Name, Component<T>>;

fn share_fields<T: PartialEq + Clone>(fields: &mut Fields<T>, known: &Fields<T>) {
    let shared = std::mem::take(fields).into_iter().map(|(name, field)| {
        let same = known.get_key_value(&name).filter(|(_, known)| **known == field);
        same.map_or((name, field), |(name, known)| (name.clone(), known.clone()))
    });
    *fields = shared.collect();
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Contribution, SourceId,
            build::{field_with_arguments, named, object},
        },
        *,
    };
    use apollo_compiler::{Node, ast::FieldDefinition, name};

    /// `type Query { all: T }` and `type T` with these fields.
    fn contribution(fields: &[&str]) -> Vec<(SourceId, Contribution)> {
        let field = |name: &&str| {
            field_with_arguments(&Name::new(name).expect("it is a name"), Vec::new(), named(&name!("Int")))
        };
        let types = vec![object(&name!("T"), None, fields.iter().map(field))];
        let query = vec![field_with_arguments(&name!("all"), Vec::new(), named(&name!("T")))];
        vec![(SourceId(0), Contribution { types, query, ..Contribution::default() })]
    }

    fn made(fields: &[&str], shared: &mut SharedDefinitions) -> Schema {
        Schema::merge_sharing(contribution(fields), shared).expect("it is a schema")
    }

    fn field<'s>(schema: &'s Schema, name: &str) -> &'s Node<FieldDefinition> {
        &schema.valid().get_object("T").expect("it is there").fields[name].node
    }

    fn is_same_type(one: &Schema, other: &Schema, name: &str) -> bool {
        match (&one.valid().types[name], &other.valid().types[name]) {
            (ExtendedType::Object(one), ExtendedType::Object(other)) => one.ptr_eq(other),
            _ => panic!("{name} is no object type"),
        }
    }

    #[test]
    fn what_schemas_have_alike_is_one_and_what_they_do_not_is_each_ones_own() {
        let all = Schema::merge(contribution(&["a", "b", "c"])).expect("it is a schema");
        let mut shared = SharedDefinitions::of(&all);
        let [like_all, fewer, like_fewer] =
            [&["a", "b", "c"][..], &["c", "b"], &["c", "b"]].map(|fields| made(fields, &mut shared));
        assert!(is_same_type(&all, &like_all, "T") && is_same_type(&all, &like_all, "Query"));
        assert!(!is_same_type(&all, &fewer, "T") && is_same_type(&all, &fewer, "Query"));
        assert!(is_same_type(&fewer, &like_fewer, "T"));
        assert!(field(&all, "c").ptr_eq(field(&fewer, "c")) && field(&all, "b").ptr_eq(field(&fewer, "b")));
        // It is as it would be without the others.
        let alone = Schema::merge(contribution(&["c", "b"])).expect("it is a schema");
        assert_eq!(fewer.sdl(), alone.sdl());
        assert!(!fewer.sdl().contains(" a:"), "{}", fewer.sdl());
    }
}
