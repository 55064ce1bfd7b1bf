//! Schemas that their functions and types do not fit: all faults at once.

use expect_test::{Expect, expect};
use prony_resolvers::outputs;
use prony_resolvers::{Resolvers, Schema};
use serde::{Deserialize, Serialize};

fn check(built: Result<Resolvers, prony_resolvers::Faults>, expected: &Expect) {
    expected.assert_eq(&built.expect_err("it does not fit").to_string());
}

mod first {
    #[derive(Debug, Clone, Default, serde::Serialize)]
    pub(crate) struct Artist {
        id: String,
        name: Option<String>,
        year: String,
    }
    prony_resolvers::outputs!(Artist);
}

mod second {
    #[derive(Debug, Clone, Default, serde::Serialize)]
    pub(crate) struct Artist {
        id: u32,
    }
    prony_resolvers::outputs!(Artist);
}

#[derive(Debug, Serialize, Deserialize)]
enum Genre {
    Rock,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Unrelated;

outputs!(Genre, Unrelated);

#[test]
fn a_text_that_is_no_schema() {
    check(
        Schema::new("type Query { a: Strin  b( }", ()).build(),
        &expect![[r#"
        schema and functions do not fit, 4 faults:
          schema line 1, column 17: cannot find type `Strin` in this document
          schema line 1, column 27: syntax error: expected an Argument Definition
          schema line 1, column 27: syntax error: expected R_PAREN, got }
          schema line 1, column 27: syntax error: expected a type"#]],
    );
    check(
        Schema::new("type Query { a: Nothing, b: Int @nowhere }", ()).build(),
        &expect![[r#"
        schema and functions do not fit, 2 faults:
          schema line 1, column 17: cannot find type `Nothing` in this document
          schema line 1, column 33: cannot find directive `@nowhere` in this document"#]],
    );
    check(
        Schema::new("schema { query: Root } type Root { a: Int }", ()).build(),
        &expect![[r#"
        schema and functions do not fit, 1 fault:
          schema: the root type Root must be called Query"#]],
    );
}

#[test]
fn functions_without_a_field_and_fields_without_a_function() {
    let sdl =
        "type Query { a: Int, artist: Artist } type Artist { id: ID!, records: [Int] } interface I { a: Int }
        type Mutation { b: Int } type Subscription { c: Int }";
    let number = |(): &(), (): ()| 1;
    check(
        Schema::new(sdl, ())
            .field("Query.missing", number)
            .field("Nowhere.a", number)
            .field("I.a", number)
            .field("a", number)
            .field("Query.a", number)
            .field("Query.a", number)
            .directive("shout", |text: String, (): ()| text)
            .build(),
        &expect![[r#"
            schema and functions do not fit, 9 faults:
              Query.missing: type Query has no field missing in the schema
              Nowhere.a: the schema has no type Nowhere
              I.a: I is no object type; only objects have functions
              a: a function is registered for `Type.field`
              Query.a: two functions are registered for it
              @shout: the schema declares no such directive
              Query.artist: no function is registered for it
              Mutation.b: no function is registered for it
              Subscription.c: no function is registered for it"#]],
    );
}

#[test]
fn parents_and_answers_of_other_types() {
    let sdl = "type Query { a: Artist, b: [Artist!]!, c: Artist!, d: Int, e: Artist, genre: Genre, deep: [[Int!]!]! }
        type Artist { id: ID!, name: String!, year: Int, label: Label, again: Artist, f: Int, g: Int, h: Int }
        type Label { name: String! } enum Genre { ROCK }";
    check(
        Schema::new(sdl, ())
            .field("Query.a", |(): &(), (): ()| vec![first::Artist::default()])
            .field("Query.b", |(): &(), (): ()| Some(first::Artist::default()))
            .field("Query.c", |(): &(), (): ()| Some(first::Artist::default()))
            .field("Query.d", |(): &(), _: &first::Artist, (): ()| "five")
            .field("Query.e", |(): &(), (): ()| Unrelated)
            .field("Query.genre", |(): &(), (): ()| Genre::Rock)
            .field("Query.deep", |(): &(), (): ()| vec![vec![Some(1.5)]])
            .field("Artist.f", |(): &(), _: &second::Artist, (): ()| 1)
            .field("Artist.g", |(): &(), _: &Unrelated, (): ()| 1)
            .field("Artist.h", |(): &(), (): ()| 1)
            .build(),
        &expect![[r#"
            schema and functions do not fit, 18 faults:
              Query.a: the function answers a list, and the schema says Artist
              Query.b: the function answers an Option, and the schema says [Artist!]!
              Query.b: the function answers resolvers::faults::first::Artist: the schema says [Artist!]!, found a struct or map
              Query.c: the function answers an Option, and the schema says Artist!
              Artist.name: the schema says String!, found an Option of anything (in resolvers::faults::first::Artist)
              Artist.year: the schema says Int, found a text (in resolvers::faults::first::Artist)
              Artist.label: it has neither a function nor a member; it would always be null (in resolvers::faults::first::Artist)
              Artist.again: it has neither a function nor a member; it would always be null (in resolvers::faults::first::Artist)
              Query.d: the function takes a parent (resolvers::faults::first::Artist), and a root has none
              Query.d: the function answers &str: the schema says Int, found a text
              Query.e: the function answers resolvers::faults::Unrelated, which stands for Unrelated; the schema says Artist
              Query.genre: the function answers resolvers::faults::Genre: the enum Genre has no value Rock
              Query.deep: the function answers an Option, and the schema says Int!
              Query.deep: the function answers f64: the schema says Int!, found a float
              Artist.again: Artist has functions, so this field needs one too, which answers Artist
              Artist.f: Artist is resolvers::faults::second::Artist here, and resolvers::faults::first::Artist at Query.c
              Artist.g: the function's parent resolvers::faults::Unrelated stands for Unrelated
              Artist.h: the function takes no parent; it must, for a type that is no root"#]],
    );
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only its shape is looked at")]
struct Arguments {
    id: u32,
    name: String,
    limit: i32,
    #[serde(default)]
    page: i32,
    filter: Filter,
    genre: Genre,
    extra: bool,
    tags: Vec<bool>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only its shape is looked at")]
struct Filter {
    text: Option<String>,
    needed: String,
}

#[test]
fn arguments_that_are_read_otherwise() {
    let sdl =
        "type Query { a(id: ID!, name: String, limit: Int = 5, page: Int, filter: Filter!, genre: Genre!,
            unread: Int, tags: [String!]!): Int, b(x: Int): Int }
        input Filter { text: String, other: Int } enum Genre { Rock Jazz }
        directive @cut(at: String) on FIELD";
    check(
        Schema::new(sdl, ())
            .field("Query.a", |(): &(), _: Arguments| 1)
            .field("Query.b", |(): &(), (): ()| 1)
            .directive("cut", |text: String, _: Filter| text)
            .build(),
        &expect![[r#"
            schema and functions do not fit, 10 faults:
              Query.a: argument id: the schema says ID!, the function reads an integer (in resolvers::faults::Arguments)
              Query.a: argument name: it may be null or left out (String), and the function needs it; use Option (in resolvers::faults::Arguments)
              Query.a: argument filter: argument other is read by nothing, the schema has no argument needed, which the function needs (in resolvers::faults::Arguments)
              Query.a: argument genre: the function does not know Jazz of the enum Genre (in resolvers::faults::Arguments)
              Query.a: argument unread is read by nothing (in resolvers::faults::Arguments)
              Query.a: argument tags: the schema says String!, the function reads a boolean (in resolvers::faults::Arguments)
              Query.a: the schema has no argument extra, which the function needs (in resolvers::faults::Arguments)
              Query.b: argument x is read by nothing (in ())
              @cut: argument at is read by nothing (in resolvers::faults::Filter)
              @cut: the schema has no argument needed, which the function needs (in resolvers::faults::Filter)"#]],
    );
}
