//! Making schema nodes, and sharing those of equal content: 5,000 tables have few different columns.

use std::collections::HashMap;

use apollo_compiler::{
    Name, Node,
    ast::{self, FieldDefinition, InputValueDefinition, Type},
    collections::IndexSet,
    schema::{Component, DirectiveList, ExtendedType, InputObjectType, ObjectType},
};

/// What was made so far.
#[derive(Default)]
pub(super) struct Nodes {
    names: HashMap<Box<str>, Name>,
    types: HashMap<Type, Node<Type>>,
    fields: HashMap<(Name, Type), Node<FieldDefinition>>,
    inputs: HashMap<(Name, Type), Node<InputValueDefinition>>,
}

impl Nodes {
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::new(text).expect("the model holds only GraphQL names");
        self.names.insert(text.into(), name.clone());
        name
    }

    /// A field without arguments.
    pub(super) fn field(&mut self, name: &str, output: Type) -> Node<FieldDefinition> {
        let key = (self.name(name), output);
        if let Some(node) = self.fields.get(&key) {
            return node.clone();
        }
        let node = field_with(key.0.clone(), Vec::new(), key.1.clone());
        self.fields.insert(key, node.clone());
        node
    }

    /// An argument or a field of an input object.
    pub(super) fn named_input(&mut self, name: &str, input: Type) -> Node<InputValueDefinition> {
        let name = self.name(name);
        self.input(name, input)
    }

    pub(super) fn input(&mut self, name: Name, input: Type) -> Node<InputValueDefinition> {
        let key = (name, input);
        if let Some(node) = self.inputs.get(&key) {
            return node.clone();
        }
        let ty = self.types.entry(key.1.clone()).or_insert_with_key(|ty| Node::new(ty.clone())).clone();
        let node = Node::new(InputValueDefinition {
            description: None,
            name: key.0.clone(),
            ty,
            default_value: None,
            directives: ast::DirectiveList::default(),
        });
        self.inputs.insert(key, node.clone());
        node
    }
}

pub(super) fn field_with(
    name: Name,
    arguments: Vec<Node<InputValueDefinition>>,
    output: Type,
) -> Node<FieldDefinition> {
    Node::new(FieldDefinition {
        description: None,
        name,
        arguments,
        ty: output,
        directives: ast::DirectiveList::default(),
    })
}

pub(super) fn object(name: Name, fields: Vec<Node<FieldDefinition>>) -> ExtendedType {
    let members = fields.into_iter().map(|field| (field.name.clone(), Component::from(field))).collect();
    ExtendedType::Object(Node::new(ObjectType {
        description: None,
        name,
        implements_interfaces: IndexSet::default(),
        directives: DirectiveList::default(),
        fields: members,
    }))
}

pub(super) fn input_object(name: Name, fields: Vec<Node<InputValueDefinition>>) -> ExtendedType {
    let members = fields.into_iter().map(|field| (field.name.clone(), Component::from(field))).collect();
    ExtendedType::InputObject(Node::new(InputObjectType {
        description: None,
        name,
        directives: DirectiveList::default(),
        fields: members,
    }))
}
