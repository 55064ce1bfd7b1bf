//! Nodes of a schema, made cheaply: a [`Pool`] shares names, fields and input values that tables have in common.
//!
//! Tables repeat themselves (`id: Int!`, `created_at: String`, `limit: Int`), so sharing saves most of a big
//! schema's memory.

use apollo_compiler::{
    Name, Node,
    ast::{
        Argument, Directive, DirectiveList, EnumValueDefinition, FieldDefinition, InputValueDefinition, Type,
        Value,
    },
    collections::{HashMap, IndexSet},
    name,
    schema::{self, Component, EnumType, ExtendedType, InputObjectType, ObjectType, ScalarType},
};

/// What is shared: name, type and description.
type Key = (Name, Type, Option<Node<str>>);

type Shared<T> = HashMap<Key, Node<T>>;

/// The node that there is, or one that is made.
fn shared<T>(nodes: &mut Shared<T>, key: Key, make: fn(Key) -> T) -> Node<T> {
    if let Some(node) = nodes.get(&key) {
        return node.clone();
    }
    let node = Node::new(make(key.clone()));
    nodes.insert(key, node.clone());
    node
}

/// Makes nodes and hands out the same one for the same content.
#[derive(Debug, Default)]
pub struct Pool {
    names: HashMap<Box<str>, Name>,
    descriptions: HashMap<Box<str>, Node<str>>,
    fields: Shared<FieldDefinition>,
    inputs: Shared<InputValueDefinition>,
}

impl Pool {
    /// A name; the same text gives the same allocation.
    ///
    /// # Panics
    /// Where `text` is no GraphQL name: models hold checked names.
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::new(text).expect("models hold valid GraphQL names");
        self.names.insert(text.into(), name.clone());
        name
    }

    /// `name: ty`; shared by all that have the same. For a type that only one table has, the free functions
    /// do without the pool's own memory.
    pub fn field(&mut self, name: &Name, ty: Type) -> Node<FieldDefinition> {
        shared(&mut self.fields, (name.clone(), ty, None), field_definition)
    }

    /// As [`Self::field`], with a description.
    pub fn described_field(&mut self, name: &Name, ty: Type, description: &str) -> Node<FieldDefinition> {
        let description = self.description(description);
        shared(&mut self.fields, (name.clone(), ty, Some(description)), field_definition)
    }

    /// A description; the same text gives the same allocation.
    pub fn description(&mut self, text: &str) -> Node<str> {
        if let Some(node) = self.descriptions.get(text) {
            return node.clone();
        }
        let node = Node::new_str(text);
        self.descriptions.insert(text.into(), node.clone());
        node
    }

    /// `name: ty` as an argument or as a field of an input object, without a default.
    pub fn input(&mut self, name: &Name, ty: Type) -> Node<InputValueDefinition> {
        shared(&mut self.inputs, (name.clone(), ty, None), input_definition)
    }

    /// As [`Self::input`], with a description.
    pub fn described_input(
        &mut self,
        name: &Name,
        ty: Type,
        description: &str,
    ) -> Node<InputValueDefinition> {
        let description = self.description(description);
        shared(&mut self.inputs, (name.clone(), ty, Some(description)), input_definition)
    }
}

fn field_definition((name, ty, description): Key) -> FieldDefinition {
    FieldDefinition { description, name, arguments: Vec::new(), ty, directives: DirectiveList::default() }
}

fn input_definition((name, ty, description): Key) -> InputValueDefinition {
    let (ty, directives) = (Node::new(ty), DirectiveList::default());
    InputValueDefinition { description, name, ty, default_value: None, directives }
}

/// `name: ty` as an argument or as a field of an input object, without a default and shared with nothing.
pub fn input(name: &Name, ty: Type) -> Node<InputValueDefinition> {
    Node::new(input_definition((name.clone(), ty, None)))
}

/// The same field, with a description.
pub fn described_field(
    mut field: Node<FieldDefinition>,
    description: impl Into<Node<str>>,
) -> Node<FieldDefinition> {
    field.make_mut().description = Some(description.into());
    field
}

/// The same argument or field of an input object, with a description.
pub fn described_input(
    mut input: Node<InputValueDefinition>,
    description: impl Into<Node<str>>,
) -> Node<InputValueDefinition> {
    input.make_mut().description = Some(description.into());
    input
}

/// `name(arguments): ty`.
pub fn field_with_arguments(
    name: &Name,
    arguments: Vec<Node<InputValueDefinition>>,
    ty: Type,
) -> Node<FieldDefinition> {
    Node::new(FieldDefinition { arguments, ..field_definition((name.clone(), ty, None)) })
}

/// `Name`.
pub fn named(name: &Name) -> Type {
    Type::Named(name.clone())
}

/// `Name!`.
pub fn non_null(name: &Name) -> Type {
    Type::NonNullNamed(name.clone())
}

/// `[Name!]`.
pub fn list(name: &Name) -> Type {
    Type::List(Box::new(non_null(name)))
}

/// `[Name!]!`.
pub fn non_null_list(name: &Name) -> Type {
    Type::NonNullList(Box::new(non_null(name)))
}

/// `type Name { … }`, ready for [`super::Contribution::types`]. A later field of the same name is dropped.
pub fn object(
    name: &Name,
    description: Option<Node<str>>,
    fields: impl IntoIterator<Item = Node<FieldDefinition>>,
) -> (Name, ExtendedType) {
    let definition = ObjectType {
        description,
        name: name.clone(),
        implements_interfaces: IndexSet::default(),
        directives: schema::DirectiveList::default(),
        fields: fields.into_iter().map(|field| (field.name.clone(), Component::from(field))).collect(),
    };
    (name.clone(), ExtendedType::Object(Node::new(definition)))
}

/// `input Name { … }`.
pub fn input_object(
    name: &Name,
    description: Option<Node<str>>,
    fields: impl IntoIterator<Item = Node<InputValueDefinition>>,
) -> (Name, ExtendedType) {
    let definition = InputObjectType {
        description,
        name: name.clone(),
        directives: schema::DirectiveList::default(),
        fields: fields.into_iter().map(|field| (field.name.clone(), Component::from(field))).collect(),
    };
    (name.clone(), ExtendedType::InputObject(Node::new(definition)))
}

/// `enum Name { … }`.
pub fn enumeration(
    name: &Name,
    description: Option<Node<str>>,
    values: impl IntoIterator<Item = Name>,
) -> (Name, ExtendedType) {
    let value = |value: Name| {
        let definition = EnumValueDefinition {
            description: None,
            value: value.clone(),
            directives: DirectiveList::default(),
        };
        (value, Component::new(definition))
    };
    let definition = EnumType {
        description,
        name: name.clone(),
        directives: schema::DirectiveList::default(),
        values: values.into_iter().map(value).collect(),
    };
    (name.clone(), ExtendedType::Enum(Node::new(definition)))
}

/// `scalar Name @specifiedBy(url: …)`.
pub fn scalar(
    name: &Name,
    description: Option<Node<str>>,
    specified_by: Option<&str>,
) -> (Name, ExtendedType) {
    let directive = |url: &str| {
        let url = Argument { name: name!("url"), value: Node::new(Value::String(url.into())) };
        Component::new(Directive { name: name!("specifiedBy"), arguments: vec![Node::new(url)] })
    };
    let definition = ScalarType {
        description,
        name: name.clone(),
        directives: schema::DirectiveList(specified_by.map(directive).into_iter().collect()),
    };
    (name.clone(), ExtendedType::Scalar(Node::new(definition)))
}
