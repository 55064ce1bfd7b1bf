//! Compiles the fields of a selection.

use std::sync::Arc;

use prony_graphql::{
    Name,
    compiler::{
        ast::Type,
        schema::{ExtendedType, Implementers},
    },
    error::{ErrorCode, GraphqlError},
    json,
    requirements::Unmet,
    selection::{AppliedDirective, Field, Value},
};

use crate::{
    definition::{catalog::Catalog, role::Visible},
    execute::{
        expected_bytes::ExpectedBytes,
        plan::{CallPlan, Content, DirectivePlan, Leaf, LeafPlan, ObjectPlan, OutputKind, OutputPlan, Slot},
    },
};

/// Compiles fields of a selection.
pub(crate) struct Planner<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Types that a role sees; none where all are seen.
    pub(crate) visible: Option<&'a Visible>,
    /// What does not hold of who asks; none where everything does.
    pub(crate) unmet: Option<&'a Unmet>,
}

impl Planner<'_> {
    /// A field that a function answers.
    pub(crate) fn call(&self, field: &Field) -> Result<CallPlan, GraphqlError> {
        let function = self.catalog.function(&field.parent_type, &field.name).ok_or_else(|| {
            let message = format!("{}.{} is answered by no function", field.parent_type, field.name);
            GraphqlError::new(ErrorCode::SourceFailed, message).at(field.position)
        })?;
        let output = self.output(&field.output, &[field])?;
        let output = self.declared(&field.parent_type, field, output)?;
        let below = output.kind.objects().iter().flat_map(|object| &object.calls).any(|call| call.waits);
        Ok(CallPlan {
            waits: below || function.waits(),
            function: Arc::clone(function),
            response_key: field.response_key.as_str().into(),
            position: field.position,
            arguments: Value::Object(field.arguments.clone()),
            output,
            expected: ExpectedBytes::default(),
        })
    }

    /// All fields of one response key: several where fragments of an interface or union select it.
    fn output(&self, ty: &Type, group: &[&Field]) -> Result<OutputPlan, GraphqlError> {
        let position = group[0].position;
        let kind = if ty.is_list() {
            OutputKind::List(Box::new(self.output(ty.item_type(), group)?))
        } else {
            self.named(ty.inner_named_type(), group)?
        };
        Ok(OutputPlan { non_null: ty.is_non_null(), position, kind })
    }

    fn named(&self, name: &Name, group: &[&Field]) -> Result<OutputKind, GraphqlError> {
        if let (Some(directive), true) = (group[0].directives.first(), !group[0].selections.is_empty()) {
            let message =
                format!("@{} applies to values, not to objects; put it on their fields", directive.name);
            return Err(GraphqlError::new(ErrorCode::ValidationFailed, message).at(group[0].position));
        }
        let below: Vec<&Field> = group.iter().flat_map(|field| &field.selections).collect();
        let leaf = match self.catalog.schema.types.get(name) {
            Some(ExtendedType::Object(_)) => return Ok(OutputKind::Object(self.object(name, &below)?)),
            Some(ExtendedType::Interface(_)) => {
                let none = Implementers::default();
                let known = self.catalog.implementers.get(name).unwrap_or(&none);
                let objects = known.objects.iter().filter(|object| self.sees(object));
                let objects = objects.map(|object| self.object(object, &below));
                return Ok(OutputKind::Abstract(objects.collect::<Result<_, _>>()?));
            }
            Some(ExtendedType::Union(union)) => {
                let objects = union.members.iter().filter(|member| self.sees(&member.name));
                let objects = objects.map(|member| self.object(&member.name, &below));
                return Ok(OutputKind::Abstract(objects.collect::<Result<_, _>>()?));
            }
            Some(ExtendedType::Enum(definition)) => {
                Leaf::Enum(name.clone(), definition.values.keys().cloned().collect())
            }
            _ => Leaf::of_scalar(name),
        };
        let directives = group[0].directives.iter().map(|directive| self.directive(directive, group[0]));
        Ok(OutputKind::Leaf(LeafPlan { leaf, directives: directives.collect::<Result<_, _>>()? }))
    }

    fn sees(&self, type_name: &Name) -> bool {
        self.visible.is_none_or(|visible| visible.has_type(type_name))
    }

    /// Why a field of an object type is refused, where it is.
    pub(crate) fn refusal(&self, type_name: &Name, field: &Field) -> Option<GraphqlError> {
        let unmet = self.unmet?;
        let (requirements, schema) = (&self.catalog.requirements, &self.catalog.schema);
        let wanted = requirements.of_field(schema, type_name, &field.name, field.output.inner_named_type());
        requirements.error(wanted, unmet)
    }

    fn directive(&self, directive: &AppliedDirective, field: &Field) -> Result<DirectivePlan, GraphqlError> {
        let function = self.catalog.directives.get(&directive.name).ok_or_else(|| {
            let message = format!("@{} is applied by no function", directive.name);
            GraphqlError::new(ErrorCode::SourceFailed, message).at(field.position)
        })?;
        Ok(DirectivePlan {
            function: Arc::clone(function),
            arguments: Value::Object(directive.arguments.clone()),
        })
    }

    fn object(&self, type_name: &Name, below: &[&Field]) -> Result<ObjectPlan, GraphqlError> {
        let mut object =
            ObjectPlan { type_name: type_name.clone(), slots: Vec::new(), calls: Vec::new(), repeats: false };
        let mut members: Vec<&Name> = Vec::new();
        for (response_key, group) in self.groups(type_name, below) {
            let field = group[0];
            let content = if field.name == "__typename" {
                let mut text = Vec::new();
                json::write_string(&mut text, type_name);
                Content::Typename(text.into())
            } else if let Some(error) = self.refusal(type_name, field) {
                let leaf = LeafPlan { leaf: Leaf::Custom, directives: Box::default() };
                let (non_null, position) = (field.output.is_non_null(), field.position);
                let output = OutputPlan { non_null, position, kind: OutputKind::Leaf(leaf) };
                Content::Refused(Box::new(error), output)
            } else if self.catalog.function(type_name, &field.name).is_some() {
                object.calls.push(self.call_of(type_name, &group)?);
                Content::Call(object.calls.len() - 1)
            } else {
                object.repeats |= members.contains(&&field.name);
                members.push(&field.name);
                let output = self.output(&field.output, &group)?;
                Content::Member(field.name.as_str().into(), self.declared(type_name, field, output)?)
            };
            let separator = if object.slots.is_empty() { b'{' } else { b',' };
            let prefix = [&[separator], &*json::member_prefix(response_key)].concat().into();
            object.slots.push(Slot { prefix, response_key: response_key.as_str().into(), content });
        }
        Ok(object)
    }

    /// Fields that apply to an object type, by response key, in the order in which they were met.
    fn groups<'f>(&self, type_name: &Name, below: &[&'f Field]) -> Vec<(&'f Name, Vec<&'f Field>)> {
        let mut groups: Vec<(&Name, Vec<&Field>)> = Vec::new();
        for field in below {
            let parent = &field.parent_type;
            if parent != type_name && !self.catalog.schema.is_subtype(parent, type_name) {
                continue;
            }
            match groups.iter_mut().find(|(key, _)| **key == field.response_key) {
                Some((_, group)) => group.push(field),
                None => groups.push((&field.response_key, vec![field])),
            }
        }
        groups
    }

    /// A call under an object type; the field may have been selected through an interface.
    fn call_of(&self, type_name: &Name, group: &[&Field]) -> Result<CallPlan, GraphqlError> {
        let mut field = group[0].clone();
        field.parent_type = type_name.clone();
        field.selections = group.iter().flat_map(|field| field.selections.iter().cloned()).collect();
        self.call(&field)
    }

    /// Directives that stand in the schema come before those of the request.
    fn declared(
        &self,
        type_name: &Name,
        field: &Field,
        mut output: OutputPlan,
    ) -> Result<OutputPlan, GraphqlError> {
        let declared = self.catalog.declared_directives(type_name, &field.name);
        if declared.is_empty() {
            return Ok(output);
        }
        let mut kind = &mut output.kind;
        while let OutputKind::List(item) = kind {
            kind = &mut item.kind;
        }
        if let OutputKind::Leaf(plan) = kind {
            let declared = declared.iter().map(|directive| self.directive(directive, field));
            let mut all = declared.collect::<Result<Vec<_>, _>>()?;
            all.extend(std::mem::take(&mut plan.directives));
            plan.directives = all.into();
        }
        Ok(output)
    }
}
