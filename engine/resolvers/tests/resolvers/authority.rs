//! Fields that want something to be known of who asks, and what roles are served.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use expect_test::{Expect, expect};
use futures_util::StreamExt as _;
use prony_graphql::{
    document::{Operation, limits::Limits},
    response::{self, Detail},
    schema::{Schema as Merged, SourceId},
    variables::{Authority, Policies},
};
use prony_resolvers::{Concrete, Events, Output, Resolvers, Schema, outputs};
use prony_source::{
    FieldRequest, ReservedNames, Source as _, SourceSchema,
    permissions::{FieldPermissions, Permissions, TablePermissions},
};
use serde::Serialize;

use crate::support::{on_clock, pretty};

const SDL: &str = r#"
type Query {
  books: [Book!]!
  book: Book
  secret: Secret
  admin: String @policy(policies: [["staff", "adult"], ["root"]])
  strict: Strict
  found: [Found]
  named: Named
  me: String! @authenticated
}
type Mutation { add: Int @requiresScopes(scopes: [["books:write"]]) }
type Subscription { added: Int @authenticated }
interface Named { name: String @requiresScopes(scopes: ["names"]) }
union Found = Book | Secret
type Book implements Named {
  name: String
  price: Float @requiresScopes(scopes: [["prices:read", "books:read"], ["all"]])
  stock(of: Int = 1): Int! @authenticated
  author: Author
}
type Author { name: String, book: Book }
type Secret @authenticated { text: String, note: String! }
type Strict { id: Int, code: String! @requiresScopes(scopes: ["codes"]) }
"#;

#[derive(Debug, Clone, Default, Serialize)]
struct Book {
    name: String,
    price: f64,
}
#[derive(Debug, Clone, Default, Serialize)]
struct Author {
    name: String,
}
#[derive(Debug, Clone, Default, Serialize)]
struct Secret {
    text: String,
    note: String,
}
#[derive(Debug, Clone, Default, Serialize)]
struct Strict {
    id: i32,
    code: String,
}
outputs!(Book, Author, Secret, Strict);

#[derive(Debug, Clone, Serialize)]
enum Found {
    Book(Book),
    Secret(Secret),
}

impl Output for Found {
    const NAME: &'static str = "Found";

    fn concrete(&self) -> &dyn Concrete {
        match self {
            Self::Book(book) => book,
            Self::Secret(secret) => secret,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Named(Book);

impl Output for Named {
    const NAME: &'static str = "Named";

    fn concrete(&self) -> &dyn Concrete {
        &self.0
    }
}

fn dune() -> Book {
    Book { name: "Dune".into(), price: 9.5 }
}

fn secret() -> Secret {
    Secret { text: "t".into(), note: "n".into() }
}

/// The functions, and how often the stock was counted.
fn resolvers() -> (Resolvers, Arc<AtomicUsize>) {
    let counted = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&counted);
    let added: Arc<Events<(), i32>> = Arc::default();
    let published = Arc::clone(&added);
    let schema = Schema::new(SDL, ())
        .field("Query.books", |(): &(), (): ()| vec![dune(), Book { name: "Emma".into(), price: 5.0 }])
        .field("Query.book", |(): &(), (): ()| Some(dune()))
        .field("Query.secret", |(): &(), (): ()| Some(secret()))
        .field("Query.admin", |(): &(), (): ()| "yes".to_owned())
        .field("Query.strict", |(): &(), (): ()| Some(Strict { id: 1, code: "c".into() }))
        .field("Query.found", |(): &(), (): ()| {
            vec![Some(Found::Book(dune())), Some(Found::Secret(secret()))]
        })
        .field("Query.named", |(): &(), (): ()| Some(Named(dune())))
        .field("Query.me", |(): &(), (): ()| "me".to_owned())
        .field("Mutation.add", move |(): &(), (): ()| {
            published.publish(&(), 1);
            1
        })
        .event_field("Subscription.added", move |(): &(), (): ()| added.subscribe(()))
        .field("Book.stock", move |(): &(), _: &Book, Of { of }: Of| {
            calls.fetch_add(1, Ordering::SeqCst);
            of
        })
        .async_field("Book.author", |_: Arc<()>, _: Book, (): ()| async {
            Some(Author { name: "Herbert".into() })
        })
        .field("Author.book", |(): &(), _: &Author, (): ()| Some(dune()));
    (schema.build().expect("they fit"), counted)
}

#[derive(serde::Deserialize)]
struct Of {
    of: i32,
}

fn who(is_authenticated: bool, scopes: &[&str], policies: &[&str]) -> Authority {
    let mut scopes: Vec<Box<str>> = scopes.iter().map(|scope| Box::from(*scope)).collect();
    scopes.sort_unstable();
    let policies = policies.iter().map(|policy| (*policy).to_owned()).collect();
    Authority { is_authenticated, scopes: scopes.into(), policies: Policies::Only(Arc::new(policies)) }
}

/// What a query comes to for somebody, through a schema of these functions.
fn ask_through(
    resolvers: &Resolvers,
    offered: &dyn SourceSchema,
    authority: Option<Authority>,
    query: &str,
) -> String {
    let merged = Merged::merge(vec![(SourceId(0), offered.contribution())]).expect("it is a schema");
    let operation = match Operation::parse(&merged, query, None, &Limits::default()) {
        Ok(operation) => operation,
        Err(errors) => return format!("{}\n", errors[0]),
    };
    let (variables, _) = operation.coerce(&merged, serde_json::Map::new()).expect("there are none");
    let variables = variables.with_authority(authority.map(Arc::new));
    let selection = operation.select(&merged, &variables).expect("it can be selected");
    let mut results = Vec::new();
    for field in &selection.fields {
        let planned = offered.plan(&FieldRequest { kind: selection.kind, field }).expect("it can be planned");
        results.push(on_clock(resolvers.query(&planned, &variables)));
    }
    let body = response::assemble(&selection.fields, &results, Detail::Shown);
    pretty(String::from_utf8(body).expect("JSON is UTF-8"))
}

fn ask(authority: Option<Authority>, query: &str) -> String {
    let (resolvers, _) = resolvers();
    ask_through(&resolvers, &resolvers, authority, query)
}

#[test]
fn fields_at_every_depth_want_what_their_directives_say() {
    let check = |authority: Option<Authority>, query: &str, expected: &Expect| {
        expected.assert_eq(&ask(authority, query));
    };
    let query = "{ books { name price stock } secret { text } admin }";
    check(
        None,
        query,
        &expect![[r#"
        null
        a scope is missing for this field at ["books",0,"name"] {"code":"FORBIDDEN"}
        a scope is missing for this field at ["books",0,"price"] {"code":"FORBIDDEN"}
        credentials are needed for this field at ["books",0,"stock"] {"code":"UNAUTHENTICATED"}
        credentials are needed for this field at ["secret"] {"code":"UNAUTHENTICATED"}
        a policy refuses this field at ["admin"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        Some(who(true, &["names", "prices:read"], &["staff"])),
        query,
        &expect![[r#"
        {"books":[{"name":"Dune","price":null,"stock":1},{"name":"Emma","price":null,"stock":1}],"secret":{"text":"t"},"admin":null}
        a scope is missing for this field at ["books",0,"price"] {"code":"FORBIDDEN"}
        a scope is missing for this field at ["books",1,"price"] {"code":"FORBIDDEN"}
        a policy refuses this field at ["admin"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        Some(who(true, &["names", "prices:read", "books:read"], &["staff", "adult"])),
        query,
        &expect![[r#"
        {"books":[{"name":"Dune","price":9.5,"stock":1},{"name":"Emma","price":5.0,"stock":1}],"secret":{"text":"t"},"admin":"yes"}
    "#]],
    );
    check(
        Some(who(true, &["all"], &["root"])),
        query,
        &expect![[r#"
        {"books":[{"name":null,"price":9.5,"stock":1},{"name":null,"price":5.0,"stock":1}],"secret":{"text":"t"},"admin":"yes"}
        a scope is missing for this field at ["books",0,"name"] {"code":"FORBIDDEN"}
        a scope is missing for this field at ["books",1,"name"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        None,
        "{ book { author { name book { author { book { p: price } } } } } }",
        &expect![[r#"
        {"book":{"author":{"name":"Herbert","book":{"author":{"book":{"p":null}}}}}}
        a scope is missing for this field at ["book","author","book","author","book","p"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        None,
        "{ me }",
        &expect![[r#"
        null
        credentials are needed for this field at ["me"] {"code":"UNAUTHENTICATED"}
    "#]],
    );
    check(
        None,
        "{ strict { id code } }",
        &expect![[r#"
        {"strict":null}
        a scope is missing for this field at ["strict","code"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        None,
        "{ found { __typename ... on Book { price } ... on Secret { text } } named { name } }",
        &expect![[r#"
            {"found":[{"__typename":"Book","price":null},{"__typename":"Secret","text":null}],"named":{"name":null}}
            a scope is missing for this field at ["found",0,"price"] {"code":"FORBIDDEN"}
            credentials are needed for this field at ["found",1,"text"] {"code":"UNAUTHENTICATED"}
            a scope is missing for this field at ["named","name"] {"code":"FORBIDDEN"}
        "#]],
    );
    check(
        Some(who(true, &["names"], &[])),
        "{ found { ... on Secret { text note } } named { name } }",
        &expect![[r#"
            {"found":[{},{"text":"t","note":"n"}],"named":{"name":"Dune"}}
        "#]],
    );
    check(
        None,
        "mutation { add }",
        &expect![[r#"
        {"add":null}
        a scope is missing for this field at ["add"] {"code":"FORBIDDEN"}
    "#]],
    );
    check(
        Some(who(false, &["books:write"], &[])),
        "mutation { add }",
        &expect![[r#"
        {"add":1}
    "#]],
    );
}

#[test]
fn functions_of_refused_fields_are_not_called() {
    let (resolvers, counted) = resolvers();
    ask_through(&resolvers, &resolvers, None, "{ books { stock } }");
    assert_eq!(counted.load(Ordering::SeqCst), 0);
    ask_through(&resolvers, &resolvers, Some(who(true, &[], &[])), "{ books { stock } }");
    assert_eq!(counted.load(Ordering::SeqCst), 2);
}

#[test]
fn one_plan_serves_all_who_ask() {
    let (resolvers, _) = resolvers();
    let merged =
        Merged::merge(vec![(SourceId(0), SourceSchema::contribution(&resolvers))]).expect("a schema");
    let operation =
        Operation::parse(&merged, "{ book { price } }", None, &Limits::default()).expect("it is valid");
    let (variables, _) = operation.coerce(&merged, serde_json::Map::new()).expect("there are none");
    let selection = operation.select(&merged, &variables).expect("it can be selected");
    let planned = resolvers.plan(&selection.fields[0]).expect("it can be planned");
    let mut told = String::new();
    for scopes in [&["all"][..], &[], &["all"], &["books:read", "prices:read"], &["books:read"]] {
        let variables = variables.clone().with_authority(Some(Arc::new(who(true, scopes, &[]))));
        let result = on_clock(resolvers.query(&planned, &variables));
        told.push_str(&String::from_utf8(result.data.unwrap_or_default()).expect("JSON is UTF-8"));
    }
    assert_eq!(told, r#"{"price":9.5}{"price":null}{"price":9.5}{"price":9.5}{"price":null}"#);
}

#[test]
fn subscriptions_are_refused_before_they_begin() {
    let (resolvers, _) = resolvers();
    let merged =
        Merged::merge(vec![(SourceId(0), SourceSchema::contribution(&resolvers))]).expect("a schema");
    let operation =
        Operation::parse(&merged, "subscription { added }", None, &Limits::default()).expect("it is valid");
    let (variables, _) = operation.coerce(&merged, serde_json::Map::new()).expect("there are none");
    let selection = operation.select(&merged, &variables).expect("it can be selected");
    let planned = resolvers.plan(&selection.fields[0]).expect("it can be planned");
    let refused = resolvers.subscribe(&planned, &variables).err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("credentials are needed for this field"));
    let known = variables.with_authority(Some(Arc::new(who(true, &["books:write"], &[]))));
    let mut events = resolvers.subscribe(&planned, &known).expect("it begins");
    ask_through(&resolvers, &resolvers, Some(who(true, &["books:write"], &[])), "mutation { add }");
    let event = on_clock(events.next()).and_then(|event| event.data);
    assert_eq!(event.as_deref(), Some(&b"1"[..]));
}

fn offered(fields: &[&str], policies: &[&str]) -> Result<Arc<dyn SourceSchema>, String> {
    let permissions = Permissions {
        fields: FieldPermissions::new(fields.iter().map(|name| (*name).to_owned())),
        policies: policies.iter().map(|name| (*name).to_owned()).collect(),
        ..Permissions::default()
    };
    let offered = resolvers().0.schema_for(&ReservedNames::default(), &permissions);
    offered.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn sdl(fields: &[&str], policies: &[&str]) -> String {
    let offered = offered(fields, policies).expect("they fit");
    Merged::merge(vec![(SourceId(0), offered.contribution())]).expect("it is a schema").sdl()
}

#[test]
fn roles_see_the_fields_that_they_are_granted() {
    expect![[r#"
        directive @authenticated on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @policy(policies: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        type Query {
          book: Book
        }

        interface Named {
          name: String @requiresScopes(scopes: ["names"])
        }

        type Book implements Named {
          name: String
          author: Author
        }

        type Author {
          name: String
        }
    "#]].assert_eq(&sdl(&["Query.book", "Book.name", "Book.author", "Author.name"], &[]));
    let all = sdl(&["*"], &["staff", "adult"]);
    assert!(all.contains("admin: String") && all.contains("type Secret @authenticated"), "{all}");
    assert!(!sdl(&["*"], &["staff"]).contains("admin"));
    // Where a union or an interface is left with less.
    expect![[r#"
        directive @authenticated on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @policy(policies: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        type Query {
          found: [Found]
        }

        union Found = Book | Secret

        type Book {
          price: Float @requiresScopes(scopes: [["prices:read", "books:read"], ["all"]])
        }

        type Secret @authenticated {
          text: String
        }
    "#]].assert_eq(&sdl(&["Query.found", "Query.named", "Book.price", "Secret.text"], &[]));
    let offered = offered(&["Query.found", "Book.price", "Secret.text"], &[]).expect("they fit");
    let told = ask_through(
        &resolvers().0,
        &*offered,
        Some(who(true, &["all"], &[])),
        "{ found { ... on Book { price } } }",
    );
    expect![[r#"
        {"found":[{"price":9.5},{}]}
    "#]]
    .assert_eq(&told);
}

#[test]
fn fields_that_are_not_there_cannot_be_granted() {
    let faults = offered(&["Query.bok", "Boks.*", "book", "Book.*", "Secret.*"], &[]);
    expect![[r#"
        `Boks.*`: there is no type `Boks` with fields; did you mean `Book`?
        `Query.bok`: type Query has no field `bok`; did you mean `book`?
        `book`: write `Type.field`, `Type.*` or `*`"#]]
    .assert_eq(&faults.err().unwrap_or_default());
    let tables = [("books".to_owned(), TablePermissions::default().into())].into_iter().collect();
    let permissions = Permissions { tables, ..Permissions::default() };
    let refused = resolvers().0.schema_for(&ReservedNames::default(), &permissions);
    expect![[r#"`books`: functions have no tables: grant `fields`, such as ["Query.*"]"#]]
        .assert_eq(&refused.err().map(|faults| faults[0].to_string()).unwrap_or_default());
}
