//! `__schema`, `__type` and the root's `__typename` answered from the schema (GraphQL specification, section 4).
//!
//! apollo-compiler can do this too, but builds the whole answer as a tree of values, whatever its size; here it
//! is written as bytes and stops at a limit. A test holds the two against each other.

use apollo_compiler::{
    Node,
    ast::{
        DirectiveDefinition, DirectiveList, EnumValueDefinition, FieldDefinition, InputValueDefinition, Type,
    },
    schema::ExtendedType,
};
use serde_json::Value as Json;

use crate::{
    document::limits::Limits,
    error::{ErrorCode, GraphqlError, PathSegment},
    json,
    response::FieldResult,
    schema::Schema,
    selection::{Field, OperationKind, Value},
    variables::Variables,
};

/// Answers one root field for which [`Field::is_introspection`] holds. The answer depends on the schema and the
/// field alone unless [`depends_on_variables`]: it can then be kept by operation, shape and response key.
pub fn answer(schema: &Schema, field: &Field, variables: &Variables, limits: &Limits) -> FieldResult {
    let mut writer = Writer { schema, variables, out: Vec::new(), max_bytes: limits.max_introspection_bytes };
    if let Err(Full) = writer.root(field) {
        return FieldResult::failed(too_large(field, limits.max_introspection_bytes));
    }
    FieldResult::data(writer.out)
}

fn too_large(field: &Field, limit: usize) -> GraphqlError {
    let message = format!(
        "introspection answers with more than {limit} bytes (max_introspection_bytes); ask for fewer types, or for \
         the schema as a file"
    );
    let path = vec![PathSegment::Key(field.response_key.as_str().into())];
    GraphqlError::new(ErrorCode::LimitExceeded, message).at(field.position).with_path(path)
}

/// Whether the value of a variable, not only its shape, changes the answer: `__type(name: $name)`.
pub fn depends_on_variables(field: &Field) -> bool {
    field.arguments.iter().any(|(_, value)| matches!(value, Value::Slot(_)))
}

/// The answer is larger than allowed.
struct Full;

/// An object of the introspection schema.
#[derive(Clone, Copy)]
enum Object<'a> {
    Schema,
    Named(&'a ExtendedType),
    /// A list or a non-null type; `nullable` looks at what a non-null list wraps.
    Wrapped {
        ty: &'a Type,
        nullable: bool,
    },
    Field(&'a FieldDefinition),
    Input(&'a InputValueDefinition),
    EnumValue(&'a EnumValueDefinition),
    Directive(&'a DirectiveDefinition),
}

struct Writer<'a> {
    schema: &'a Schema,
    variables: &'a Variables,
    out: Vec<u8>,
    max_bytes: usize,
}

type Written = Result<(), Full>;

impl<'a> Writer<'a> {
    fn root(&mut self, field: &Field) -> Written {
        match field.name.as_str() {
            "__schema" => self.object(Object::Schema, field),
            "__type" => {
                let name = field.argument("name").map_or(Json::Null, |name| name.resolve(self.variables));
                let definition = name.as_str().and_then(|name| self.schema.valid().types.get(name));
                self.optional(definition.map(Object::Named), field)
            }
            _ => self.text(Some(&field.parent_type)),
        }
    }

    fn object(&mut self, object: Object<'a>, field: &Field) -> Written {
        self.out.push(b'{');
        for (index, member) in field.selections.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            json::write_string(&mut self.out, &member.response_key);
            self.out.push(b':');
            if member.name == "__typename" {
                self.text(Some(&member.parent_type))?;
            } else {
                self.member(object, member)?;
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn member(&mut self, object: Object<'a>, field: &Field) -> Written {
        match object {
            Object::Schema => self.schema_member(field),
            Object::Named(definition) => self.type_member(definition, field),
            Object::Wrapped { ty, nullable } => self.wrapped_member(ty, nullable, field),
            Object::Field(definition) => match field.name.as_str() {
                "name" => self.text(Some(&definition.name)),
                "description" => self.description(definition.description.as_ref()),
                "args" => self.inputs(definition.arguments.iter().map(|argument| &**argument), field),
                "type" => self.reference(&definition.ty, field),
                _ => self.deprecation(&definition.directives, field),
            },
            Object::Input(definition) => match field.name.as_str() {
                "name" => self.text(Some(&definition.name)),
                "description" => self.description(definition.description.as_ref()),
                "type" => self.reference(&definition.ty, field),
                "defaultValue" => {
                    let default = definition.default_value.as_ref();
                    let default = default.map(|default| default.serialize().no_indent().to_string());
                    self.text(default.as_deref())
                }
                _ => self.deprecation(&definition.directives, field),
            },
            Object::EnumValue(definition) => match field.name.as_str() {
                "name" => self.text(Some(&definition.value)),
                "description" => self.description(definition.description.as_ref()),
                _ => self.deprecation(&definition.directives, field),
            },
            Object::Directive(definition) => self.directive_member(definition, field),
        }
    }

    fn schema_member(&mut self, field: &Field) -> Written {
        let schema = self.schema.valid();
        let mut root = |kind| {
            let definition = self.schema.root_type(kind).and_then(|name| schema.types.get(name));
            self.optional(definition.map(Object::Named), field)
        };
        match field.name.as_str() {
            "types" => self.list(schema.types.values().map(Object::Named), field),
            "directives" => {
                self.list(schema.directive_definitions.values().map(|node| Object::Directive(node)), field)
            }
            "queryType" => root(OperationKind::Query),
            "mutationType" => root(OperationKind::Mutation),
            "subscriptionType" => root(OperationKind::Subscription),
            _ => self.description(schema.schema_definition.description.as_ref()),
        }
    }

    fn type_member(&mut self, definition: &'a ExtendedType, field: &Field) -> Written {
        use ExtendedType::{Enum, InputObject, Interface, Object as ObjectType, Scalar, Union};
        let deprecated = includes_deprecated(field);
        let shown = |directives: &DirectiveList| deprecated || !directives.has("deprecated");
        match (field.name.as_str(), definition) {
            ("kind", _) => self.text(Some(kind(definition))),
            ("name", _) => self.text(Some(definition.name())),
            ("description", _) => self.description(definition.description()),
            ("fields", ObjectType(_) | Interface(_)) => {
                let fields = match definition {
                    ObjectType(object) => &object.fields,
                    Interface(interface) => &interface.fields,
                    _ => return self.null(),
                };
                let fields = fields.values().filter(|node| shown(&node.directives));
                self.list(fields.map(|node| Object::Field(node)), field)
            }
            ("interfaces", ObjectType(object)) => self.types(object.implements_interfaces.iter(), field),
            ("interfaces", Interface(interface)) => self.types(interface.implements_interfaces.iter(), field),
            ("possibleTypes", Interface(interface)) => {
                let implementers = self.schema.implementers().get(&interface.name);
                self.types(implementers.into_iter().flat_map(|known| &known.objects), field)
            }
            ("possibleTypes", Union(union)) => self.types(union.members.iter(), field),
            ("enumValues", Enum(definition)) => {
                let values = definition.values.values().filter(|node| shown(&node.directives));
                self.list(values.map(|node| Object::EnumValue(node)), field)
            }
            ("inputFields", InputObject(object)) => {
                self.inputs(object.fields.values().map(|component| &***component), field)
            }
            ("specifiedByURL", Scalar(scalar)) => {
                let url = scalar.directives.get("specifiedBy");
                self.text(url.and_then(|directive| directive.specified_argument_by_name("url")?.as_str()))
            }
            _ => self.null(),
        }
    }

    fn wrapped_member(&mut self, ty: &'a Type, nullable: bool, field: &Field) -> Written {
        let is_list = matches!(ty, Type::List(_)) || nullable;
        match (field.name.as_str(), ty) {
            ("kind", _) => self.text(Some(if is_list { "LIST" } else { "NON_NULL" })),
            ("ofType", Type::NonNullList(_)) if !nullable => {
                self.object(Object::Wrapped { ty, nullable: true }, field)
            }
            ("ofType", Type::List(item) | Type::NonNullList(item)) => self.reference(item, field),
            ("ofType", Type::NonNullNamed(name) | Type::Named(name)) => {
                self.optional(self.schema.valid().types.get(name).map(Object::Named), field)
            }
            _ => self.null(),
        }
    }

    fn directive_member(&mut self, definition: &'a DirectiveDefinition, field: &Field) -> Written {
        match field.name.as_str() {
            "name" => self.text(Some(&definition.name)),
            "description" => self.description(definition.description.as_ref()),
            "args" => self.inputs(definition.arguments.iter().map(|argument| &**argument), field),
            "locations" => {
                self.out.push(b'[');
                for (index, location) in definition.locations.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    self.text(Some(location.name()))?;
                }
                self.out.push(b']');
                Ok(())
            }
            _ => self.boolean(definition.repeatable),
        }
    }

    fn deprecation(&mut self, directives: &DirectiveList, field: &Field) -> Written {
        let deprecated = directives.get("deprecated");
        if field.name == "isDeprecated" {
            return self.boolean(deprecated.is_some());
        }
        let schema = self.schema.valid();
        let reason = deprecated.and_then(|directive| directive.argument_by_name("reason", schema).ok());
        self.text(reason.and_then(|reason| reason.as_str()))
    }

    fn reference(&mut self, ty: &'a Type, field: &Field) -> Written {
        match ty {
            Type::Named(name) => self.optional(self.schema.valid().types.get(name).map(Object::Named), field),
            _ => self.object(Object::Wrapped { ty, nullable: false }, field),
        }
    }

    fn types<N: AsRef<str> + 'a>(&mut self, names: impl Iterator<Item = &'a N>, field: &Field) -> Written {
        let types = &self.schema.valid().types;
        self.list(names.filter_map(|name| types.get(name.as_ref())).map(Object::Named), field)
    }

    fn inputs(&mut self, inputs: impl Iterator<Item = &'a InputValueDefinition>, field: &Field) -> Written {
        let deprecated = includes_deprecated(field);
        let shown = inputs.filter(|input| deprecated || !input.directives.has("deprecated"));
        self.list(shown.map(Object::Input), field)
    }

    fn list(&mut self, objects: impl Iterator<Item = Object<'a>>, field: &Field) -> Written {
        self.out.push(b'[');
        for (index, object) in objects.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.object(object, field)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn optional(&mut self, object: Option<Object<'a>>, field: &Field) -> Written {
        match object {
            Some(object) => self.object(object, field),
            None => self.null(),
        }
    }

    fn description(&mut self, description: Option<&Node<str>>) -> Written {
        self.text(description.map(Node::as_str))
    }

    fn text(&mut self, text: Option<&str>) -> Written {
        match text {
            Some(text) => {
                json::write_string(&mut self.out, text);
                self.check_room()
            }
            None => self.null(),
        }
    }

    fn boolean(&mut self, value: bool) -> Written {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        self.check_room()
    }

    fn null(&mut self) -> Written {
        self.out.extend_from_slice(b"null");
        self.check_room()
    }

    /// After each leaf: what lies between two of them is as short as the query.
    fn check_room(&self) -> Written {
        if self.out.len() > self.max_bytes { Err(Full) } else { Ok(()) }
    }
}

fn includes_deprecated(field: &Field) -> bool {
    field.argument("includeDeprecated") == Some(&Value::Boolean(true))
}

fn kind(definition: &ExtendedType) -> &'static str {
    match definition {
        ExtendedType::Scalar(_) => "SCALAR",
        ExtendedType::Object(_) => "OBJECT",
        ExtendedType::Interface(_) => "INTERFACE",
        ExtendedType::Union(_) => "UNION",
        ExtendedType::Enum(_) => "ENUM",
        ExtendedType::InputObject(_) => "INPUT_OBJECT",
    }
}
