//! Properties of the reader: it never panics, and what it takes by form is what the JSON Schema takes.

use super::keys::{Form, Table};
use super::reader::{Notes, json_object};
use super::schema::plan_schema;
use super::tables::PLAN;
use super::validate::{NO_JSON_NUMBER, validate};
use super::{located, parse_plan};
use proptest::prelude::*;
use proptest::sample::select;
use std::path::Path;
use toml::{Table as TomlTable, Value};

/// How deep tables and lists of junk go.
const JUNK_DEPTH: u32 = 3;

fn junk() -> BoxedStrategy<Value> {
    let texts = ["", "30s", "x", "${user.id}", "${", "/a", "a", "p95<1s", "http://a", "random", "[", "/~2"];
    let leaf = prop_oneof![
        select(texts.to_vec()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-3_i64..700).prop_map(Value::from),
        select(vec![0.5, -1.5, f64::INFINITY]).prop_map(Value::from),
    ];
    let inner = |inner: BoxedStrategy<Value>| {
        let names = select(vec!["name", "json", "csv", "duration", "é"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((names, inner), 0..3).prop_map(table),
        ]
    };
    leaf.boxed().prop_recursive(JUNK_DEPTH, 8, 3, move |deeper| inner(deeper.boxed())).boxed()
}

fn table(entries: Vec<(&str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Mostly what the form asks for.
fn of_form(form: Form) -> BoxedStrategy<Value> {
    let fitting = match form {
        Form::Text => select(vec!["a", "/a/${id}", "${user.id}", "{ a }", "POST", "p50<1s", "http://h"])
            .prop_map(Value::from)
            .boxed(),
        Form::Duration => select(vec!["0s", "1s", "1m30s", "1.5ms"]).prop_map(Value::from).boxed(),
        Form::Whole { max } => (0..=max.min(600).cast_signed()).prop_map(Value::from).boxed(),
        Form::Integer => (-5_i64..5).prop_map(Value::from).boxed(),
        Form::Decimal => {
            prop_oneof![(0_i64..9).prop_map(Value::from), (0.0..9.0).prop_map(Value::from)].boxed()
        }
        Form::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Form::Word(words) => select(words.to_vec()).prop_map(Value::from).boxed(),
        Form::Any => junk(),
        Form::List(inner) => prop::collection::vec(of_form(*inner), 0..3).prop_map(Value::Array).boxed(),
        Form::Map(inner) => {
            let names = select(vec!["id", "user", "x y", "Accept"]);
            prop::collection::vec((names, of_form(*inner)), 0..3).prop_map(table).boxed()
        }
        Form::OneOf(forms) => proptest::strategy::Union::new(forms.iter().map(|form| of_form(*form))).boxed(),
        Form::Table(known) => of_table(known).prop_map(Value::Table).boxed(),
    };
    prop_oneof![30 => fitting, 1 => junk()].boxed()
}

/// A few of the keys of a table, those that must be there mostly among them, and seldom another one.
fn of_table(known: &'static Table) -> BoxedStrategy<TomlTable> {
    let keys: Vec<_> = known.keys().collect();
    let likely = |is_required| if is_required { 0.95 } else { (2.5 / keys.len() as f64).min(0.9) };
    let parts: Vec<_> = keys
        .iter()
        .map(|key| {
            prop::option::weighted(likely(key.is_required), of_form(key.form)).prop_map(|v| (key.name, v))
        })
        .collect();
    let stranger = prop::option::weighted(0.03, junk());
    (parts, stranger)
        .prop_map(|(parts, stranger)| {
            let known = parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            known.chain(stranger.map(|value| ("stranger".to_owned(), value))).collect()
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_reader_never_panics_and_places_each_mistake(plan in of_table(&PLAN)) {
        let text = toml::to_string(&plan).unwrap();
        if let Err(found) = parse_plan(&text, "plan", Path::new("/nowhere")) {
            prop_assert!(!found.is_empty());
            let lines = text.lines().count().max(1);
            for mistake in located(&text, found) {
                prop_assert!((1..=lines).contains(&mistake.line), "{mistake:?} in\n{text}");
                prop_assert!(!mistake.message.is_empty());
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = parse_plan(&text, "plan", Path::new("/nowhere"));
    }

    #[test]
    fn the_schema_takes_what_the_reader_takes(plan in of_table(&PLAN)) {
        let text = toml::to_string(&plan).unwrap();
        let (read, errors) = toml::de::DeTable::parse_recoverable(&text);
        prop_assert!(errors.is_empty());
        let mut notes = Notes::default();
        validate(read.get_ref(), &(0..0), &PLAN, &mut notes);
        // A number that JSON does not have is null to the schema, which allows any value in such a place.
        notes.found.retain(|found| !found.message.ends_with(NO_JSON_NUMBER));
        let is_taken = notes.found.is_empty();
        let value = serde_json::Value::Object(json_object(read.get_ref()));
        let schema: serde_json::Value = serde_json::from_str(&plan_schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        prop_assert_eq!(validator.is_valid(&value), is_taken, "{}\n{:?}", text, notes.found);
    }
}
