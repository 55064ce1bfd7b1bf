//! A query over functions for a console to begin with. What their arguments mean is their author's to know: where one is
//! required it gets `1`, which is the first of most things.

use std::fmt::Write as _;

use prony_graphql::compiler::{
    Schema,
    ast::Type,
    schema::{Component, ExtendedType, FieldDefinition},
};

/// Leaves of one object that are shown.
const LEAVES: usize = 4;
const LITERAL: &str = "1";

/// The first root field that an object comes from, or else the first at all; of those whose arguments can be thought up.
pub(crate) fn example(schema: &Schema) -> Option<String> {
    let calls = || {
        let query = schema.get_object("Query").into_iter();
        query.flat_map(|query| query.fields.values()).filter_map(|field| Some((field, call(schema, field)?)))
    };
    let (field, call) = calls().find(|(field, _)| is_composite(schema, field)).or_else(|| calls().next())?;
    let mut text = format!("query Example {{\n  {call}");
    push_selection(&mut text, schema, field, 1);
    text.push_str("}\n");
    Some(text)
}

fn named<'s>(schema: &'s Schema, field: &FieldDefinition) -> Option<&'s ExtendedType> {
    schema.types.get(field.ty.inner_named_type())
}

fn is_composite(schema: &Schema, field: &FieldDefinition) -> bool {
    named(schema, field).is_some_and(|of| !of.is_leaf())
}

/// The field with its required arguments.
fn call(schema: &Schema, field: &FieldDefinition) -> Option<String> {
    let required = field.arguments.iter().filter(|argument| argument.is_required());
    let given = required.map(|argument| {
        let value = literal(schema, &argument.ty)?;
        Some(format!("{}: {value}", argument.name))
    });
    let given: Vec<String> = given.collect::<Option<_>>()?;
    let arguments = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
    Some(format!("{}{arguments}", field.name))
}

fn literal(schema: &Schema, of: &Type) -> Option<String> {
    if of.is_list() {
        return Some(format!("[{}]", literal(schema, of.item_type())?));
    }
    match schema.types.get(of.inner_named_type())? {
        ExtendedType::Enum(of) => of.values.keys().next().map(ToString::to_string),
        ExtendedType::Scalar(of) => match of.name.as_str() {
            "String" | "ID" => Some(format!("{LITERAL:?}")),
            "Int" | "Float" => Some(LITERAL.to_owned()),
            "Boolean" => Some("true".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// Of an object some leaves, and those of one object behind it; behind that one, nothing more.
fn push_selection(text: &mut String, schema: &Schema, field: &FieldDefinition, depth: usize) {
    const DEPTH: usize = 2;
    let Some(of) = named(schema, field).filter(|of| !of.is_leaf()) else { return text.push('\n') };
    let fields = fields(of);
    let calls = fields.iter().filter_map(|field| Some((*field, call(schema, field)?)));
    let (composite, leaves): (Vec<_>, Vec<_>) = calls.partition(|(field, _)| is_composite(schema, field));
    let indent = "  ".repeat(depth + 1);
    text.push_str(" {\n");
    for (_, leaf) in leaves.iter().take(LEAVES) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{leaf}");
    }
    match composite.first().filter(|_| depth < DEPTH) {
        Some((field, call)) => {
            let _ = write!(text, "{indent}{call}");
            push_selection(text, schema, field, depth + 1);
        }
        None if leaves.is_empty() => {
            let _ = writeln!(text, "{indent}__typename");
        }
        None => {}
    }
    let _ = writeln!(text, "{}}}", "  ".repeat(depth));
}

fn fields(of: &ExtendedType) -> Vec<&Component<FieldDefinition>> {
    match of {
        ExtendedType::Object(of) => of.fields.values().collect(),
        ExtendedType::Interface(of) => of.fields.values().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prony_graphql::compiler::ExecutableDocument;

    use super::*;

    fn check(sdl: &str, expected: &Expect) {
        let schema = Schema::parse_and_validate(sdl, "schema").expect("the schema is valid");
        let example = example(&schema).unwrap_or_default();
        expected.assert_eq(&example);
        if !example.is_empty() {
            let valid = ExecutableDocument::parse_and_validate(&schema, &example, "example");
            valid.expect("the example is valid");
        }
    }

    #[test]
    fn objects_come_before_leaves_and_required_arguments_are_thought_up() {
        check(
            "type Query { hello: String donut(id: String!, like: [Kind!]!, limit: Int): Donut }
             enum Kind { ROUND SQUARE }
             type Donut { id: ID! kind: Kind price(times: Float!): Float a: Int b: Int shop: Shop maker: Shop }
             type Shop { name: String donuts: [Donut] }",
            &expect![[r#"
                query Example {
                  donut(id: "1", like: [ROUND]) {
                    id
                    kind
                    price(times: 1)
                    a
                    shop {
                      name
                    }
                  }
                }
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_thought_up_is_left_out() {
        check(
            "scalar Date input Wish { a: Int } union Thing = Cake
             type Query { on(day: Date!): Cake by(wish: Wish!): Cake any: [Thing!]! }
             type Cake { on(day: Date!): Int }",
            &expect![[r#"
                query Example {
                  any {
                    __typename
                  }
                }
            "#]],
        );
        check(
            "type Query { on(a: Int!, b: Boolean!): Int }",
            &expect![[r#"
            query Example {
              on(a: 1, b: true)
            }
        "#]],
        );
        check("scalar Date type Query { on(day: Date!): Int }", &expect![[""]]);
    }
}
