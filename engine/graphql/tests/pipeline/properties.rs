//! Properties over generated documents and variables.

use std::collections::HashMap;

use prony_graphql::{
    compiler::ast::Document,
    document::{Operation, limits::Limits},
    schema::Schema,
    variables::shape::Shape,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value as Json, json};

use crate::fixture::shared_schema;

fn limits() -> Limits {
    Limits::default()
}

/// All stages; nothing may panic, whatever comes out.
fn run(schema: &Schema, text: &str, variables: Map<String, Json>) {
    if let Ok(operation) = Operation::parse(schema, text, None, &limits())
        && let Ok((variables, _)) = operation.coerce(schema, variables)
        && let Ok(selection) = operation.select(schema, &variables)
    {
        let _ = selection.to_string();
    }
}

const WORDS: [&str; 42] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "$",
    "!",
    "=",
    "@",
    "...",
    "&",
    "|",
    "\"",
    "\"\"\"",
    "#",
    "\n",
    "\0",
    "ü",
    "on",
    "query",
    "mutation",
    "subscription",
    "fragment",
    "F",
    "Venue",
    "venues",
    "meetups",
    "id",
    "title",
    "where",
    "limit",
    "sort",
    "1",
    "-1.5e9",
    "true",
    "null",
    "asc",
    "@skip(if: $v)",
    "$v: Int",
    "__schema",
];

/// Selections that often are valid.
fn selection_set() -> impl Strategy<Value = String> {
    let field = select(vec![
        "id",
        "title",
        "a: title",
        "__typename",
        "id @skip(if: $b)",
        "...F",
        "active @include(if: $b)",
    ]);
    let leaf = prop::collection::vec(field, 1..4).prop_map(|fields| fields.join(" "));
    leaf.prop_recursive(4, 24, 4, |inner| {
        let arguments = select(vec![
            "",
            "(limit: $l)",
            "(where: $w)",
            "(where: {id: {gt: $l}, and: [{title: {eq: \"x\"}}]}, limit: 2)",
        ]);
        (inner, arguments, any::<bool>()).prop_map(|(inner, arguments, inline)| {
            let inner = if inline { format!("... {{ {inner} }}") } else { inner };
            format!(
                "id k{}: meetups{arguments} {{ members {{ {} }} }}",
                inner.len(),
                inner.replace("...F", "id")
            )
        })
    })
}

fn document() -> impl Strategy<Value = String> {
    selection_set().prop_map(|set| {
        format!(
            "query ($b: Boolean = false, $l: Int, $w: MeetupClauses) {{ venues(limit: $l) {{ {set} ...F id @skip(if: $b) \
             meetups(where: $w) {{ id }} }} }} fragment F on Venue {{ active }}"
        )
    })
}

fn clauses() -> impl Strategy<Value = Json> {
    let operators = select(vec!["eq", "gt", "lt", "is_null", "in"]).prop_flat_map(|operator| {
        let value = match operator {
            "is_null" => prop_oneof![Just(Json::Null), any::<bool>().prop_map(Json::from)].boxed(),
            "in" => prop::collection::vec(any::<i32>(), 0..4).prop_map(Json::from).boxed(),
            _ => prop_oneof![Just(Json::Null), any::<i32>().prop_map(Json::from)].boxed(),
        };
        value.prop_map(move |value| json!({ operator: value }))
    });
    let leaf = prop_oneof![
        operators.prop_map(|operators| json!({ "id": operators })),
        Just(json!({})),
        Just(Json::Null)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let items = prop::collection::vec(
            inner.clone().prop_filter("items are not null", |item| !item.is_null()),
            0..3,
        );
        prop_oneof![
            items.prop_map(|items| json!({ "and": items })),
            inner.prop_map(|inner| json!({ "not": inner, "active": {"eq": true} })),
        ]
    })
}

fn variables() -> impl Strategy<Value = Map<String, Json>> {
    let scalar = prop_oneof![Just(Json::Null), any::<i32>().prop_map(Json::from)];
    (prop::option::of(any::<bool>()), prop::option::of(scalar), prop::option::of(clauses())).prop_map(
        |(b, l, w)| {
            let given = [("b", b.map(Json::from)), ("l", l), ("w", w)];
            given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_never_panic(words in prop::collection::vec(select(&WORDS[..]), 0..40), given in variables()) {
        run(shared_schema(), &words.join(" "), given.clone());
        run(shared_schema(), &words.concat(), given);
    }

    #[test]
    fn changed_documents_never_panic(text in document(), cut in any::<prop::sample::Index>(), word in select(&WORDS[..]), given in variables()) {
        let mut characters: Vec<char> = text.chars().collect();
        let at = cut.index(characters.len());
        characters.splice(at..=at, word.chars());
        run(shared_schema(), &characters.into_iter().collect::<String>(), given);
    }

    #[test]
    fn printed_documents_select_the_same(text in document(), given in variables()) {
        let schema = shared_schema();
        let printed = Document::parse(text.as_str(), "text").unwrap().to_string();
        let selected = [text, printed].map(|text| {
            let operation = Operation::parse(schema, &text, None, &limits()).unwrap();
            let (variables, shape) = operation.coerce(schema, given.clone()).unwrap();
            let selection = operation.select(schema, &variables).unwrap().to_string();
            let without_places = selection.lines().map(|line| line.rsplit_once(" @").map_or(line, |(line, _)| line).to_owned());
            (without_places.collect::<Vec<_>>(), shape)
        });
        prop_assert_eq!(&selected[0], &selected[1]);
    }

    #[test]
    fn a_shape_has_one_selection(text in document(), several in prop::collection::vec(variables(), 24)) {
        let schema = shared_schema();
        let operation = Operation::parse(schema, &text, None, &limits()).unwrap();
        let mut by_shape: HashMap<Shape, String> = HashMap::new();
        for given in several {
            let (variables, shape) = operation.coerce(schema, given).unwrap();
            let selection = operation.select(schema, &variables).unwrap().to_string();
            let known = by_shape.entry(shape).or_insert_with(|| selection.clone());
            prop_assert_eq!(known, &selection);
        }
    }

    /// A value of a variable and the same value written in the document come to the same.
    #[test]
    fn variables_equal_literals(clauses in clauses(), limit in any::<i32>()) {
        let schema = shared_schema();
        let resolved = |text: &str, given: Json| {
            let operation = Operation::parse(schema, text, None, &limits()).unwrap();
            let (variables, _) = operation.coerce(schema, serde_json::from_value(given).unwrap()).unwrap();
            let selection = operation.select(schema, &variables).unwrap();
            let arguments = &selection.fields[0].arguments;
            arguments.iter().map(|(name, value)| (name.to_string(), value.resolve(&variables))).collect::<Vec<_>>()
        };
        let literal = format!("{{ meetups(where: {}, limit: {limit}) {{ id }} }}", literal(&clauses));
        let variable = "query ($w: MeetupClauses, $l: Int) { meetups(where: $w, limit: $l) { id } }";
        prop_assert_eq!(resolved(&literal, json!({})), resolved(variable, json!({ "w": clauses, "l": limit })));
    }
}

/// JSON as GraphQL writes it: keys without quotes.
fn literal(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(" ")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, entry)| format!("{key}: {}", literal(entry)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
        }
        scalar => scalar.to_string(),
    }
}
