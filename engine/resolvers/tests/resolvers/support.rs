//! A shop with every form of function, and the road of a request in one call.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use expect_test::Expect;
use prony_graphql::{
    document::{Operation, limits::Limits},
    introspection,
    response::{self, Detail},
    schema::SourceId,
    selection::OperationKind,
};
use prony_resolvers::outputs;
use prony_resolvers::{Concrete, Error, Events, Output, Resolvers, Schema};
use prony_source::SourceSchema as _;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub(crate) const SDL: &str = r#"
"""What is asked."""
type Query {
  artist(id: ID!): Artist
  artists(first: Int = 10, genres: [Genre!]): [Artist!]!
  search(text: String!): [Found!]!
  named(text: String!): Named
  page(filter: Filter): String!
  slow(ms: Int!): String
  trouble(kind: String!): Trouble
  strict(kind: String!): Strict!
  many: [Trouble]!
  manyStrict: [Strict!]
  clock: Clock!
}
type Mutation {
  rename(id: ID!, name: String!): Artist
}
type Subscription {
  renamed: Artist
}
interface Named { name: String! }
union Found = Artist | Record
enum Genre { ROCK JAZZ }
input Filter { text: String, genres: [Genre!]! = [ROCK], page: Page }
input Page { size: Int! = 5, after: ID }
scalar Date
type Artist implements Named {
  id: ID!
  name: String!
  genre: Genre
  "As on the cover."
  shout: String @toUpper
  since: Date
  address: Address
  records(search: String): [Record!]!
  company: Company
  rating(scale: Int! = 1): Float
}
type Address { street: String!, lines: [String]! }
type Record implements Named { name: String!, year: Int, artist: Artist! }
type Company { name: String! }
type Trouble { id: Int, text: String!, inner: Strict }
type Strict { id: Int!, text: String }
type Clock { unix: Float! }
directive @toUpper on FIELD | FIELD_DEFINITION
directive @cut(at: Int! = 3) repeatable on FIELD
"#;

#[derive(Debug, Clone, Serialize, Default)]
pub(crate) struct Artist {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) genre: Option<Genre>,
    pub(crate) shout: Option<String>,
    pub(crate) since: Json,
    pub(crate) address: Option<Address>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Genre {
    Rock,
    Jazz,
}

#[derive(Debug, Clone, Serialize, Default)]
pub(crate) struct Address {
    pub(crate) street: String,
    pub(crate) lines: Vec<Option<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) year: Option<i32>,
    #[serde(skip)]
    pub(crate) artist: u32,
}

#[derive(Debug, Clone, Serialize, Default)]
pub(crate) struct Company {
    name: String,
}

/// Whatever the test wants, right or wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Trouble(Json);

#[derive(Debug, Serialize)]
pub(crate) struct Strict(Json);

/// All of its fields are functions.
#[derive(Debug, Serialize, Default)]
pub(crate) struct Clock;

outputs!(Artist, Record, Company, Genre, Trouble, Strict, Clock);

#[derive(Debug, Serialize)]
pub(crate) enum Found {
    Artist(Arc<Artist>),
    Record(Record),
}

impl Output for Found {
    const NAME: &'static str = "Found";

    fn concrete(&self) -> &dyn Concrete {
        match self {
            Self::Artist(artist) => artist.concrete(),
            Self::Record(record) => record,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Named(Found);

impl Output for Named {
    const NAME: &'static str = "Named";

    fn concrete(&self) -> &dyn Concrete {
        self.0.concrete()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shop {
    pub(crate) artists: Mutex<Vec<Arc<Artist>>>,
    pub(crate) records: Vec<Record>,
    /// Calls of batch functions.
    pub(crate) batches: AtomicUsize,
    pub(crate) renamed: Events<(), Arc<Artist>>,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let artist = |id: u32, name: &str, genre| {
            let address = Address { street: format!("{name} Lane"), lines: vec![Some("1st".into()), None] };
            Arc::new(Artist {
                id,
                name: name.into(),
                genre,
                shout: (id != 3).then(|| format!("the \"{name}\"")),
                since: serde_json::json!({ "year": 1970 + id }),
                address: (id != 2).then_some(address),
            })
        };
        let record = |artist, name: &str, year| Record { name: name.into(), year, artist };
        Self {
            artists: Mutex::new(vec![
                artist(1, "Queen", Some(Genre::Rock)),
                artist(2, "Nina", Some(Genre::Jazz)),
                artist(3, "Grün", None),
            ]),
            records: vec![
                record(1, "Jazz", Some(1978)),
                record(1, "Innuendo", None),
                record(2, "Pastel", Some(1966)),
            ],
            batches: AtomicUsize::new(0),
            renamed: Events::default(),
        }
    }

    fn artist(&self, id: &str) -> Option<Arc<Artist>> {
        let id = id.parse::<u32>().ok()?;
        self.all().into_iter().find(|artist| artist.id == id)
    }

    fn all(&self) -> Vec<Arc<Artist>> {
        self.artists.lock().unwrap().clone()
    }
}

#[derive(Deserialize)]
struct ById {
    id: String,
}

#[derive(Deserialize)]
struct Artists {
    first: Option<usize>,
    genres: Option<Vec<Genre>>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Pages {
    filter: Option<Filter>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Filter {
    text: Option<String>,
    genres: Vec<Genre>,
    page: Option<Page>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Page {
    size: i32,
    after: Option<String>,
}

#[derive(Deserialize)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize)]
struct ByKind {
    kind: String,
}

#[derive(Deserialize)]
struct Search {
    search: Option<String>,
}

#[derive(Deserialize)]
struct Scale {
    scale: i32,
}

#[derive(Deserialize)]
struct Rename {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Cut {
    at: usize,
}

fn search(shop: &Shop, Text { text }: Text) -> Vec<Found> {
    let artists = shop.all().into_iter().filter(|artist| artist.name.contains(&text)).map(Found::Artist);
    let records =
        shop.records.iter().filter(|record| record.name.contains(&text)).cloned().map(Found::Record);
    artists.chain(records).collect()
}

fn records(shop: &Shop, artists: &[&Artist], Search { search }: Search) -> Vec<Vec<Record>> {
    shop.batches.fetch_add(1, Ordering::Relaxed);
    let of = |artist: &&Artist| {
        let records = shop.records.iter().filter(|record| record.artist == artist.id);
        let fits = |record: &&Record| search.as_ref().is_none_or(|text| record.name.contains(text));
        records.filter(fits).cloned().collect()
    };
    artists.iter().map(of).collect()
}

/// Values that fit and values that do not, by a word.
fn trouble(kind: &str) -> Result<Option<Json>, Error> {
    Ok(Some(match kind {
        "fine" => serde_json::json!({ "text": "a", "id": 1, "inner": { "id": 2 } }),
        "nothing" => return Ok(None),
        "missing" => serde_json::json!({ "id": 1 }),
        "wrong" => serde_json::json!({ "id": "five", "text": "a" }),
        "wrong text" => serde_json::json!({ "id": 1, "text": [1] }),
        "big" => serde_json::json!({ "id": 3_000_000_000_u32, "text": "a" }),
        "inner" => serde_json::json!({ "id": 1, "text": "a", "inner": { "text": "b" } }),
        "scalar" => serde_json::json!(5),
        "error" => return Err(Error::new("sold out").code("SOLD_OUT").extension("left", 0)),
        "io" => return Err(std::fs::read("/nowhere/at/all").map(|_| ()).unwrap_err().into()),
        "panic" => panic!("the roof is on fire"),
        other => return Err(Error::new(format!("no such trouble: {other}"))),
    }))
}

pub(crate) fn shop() -> (Arc<Shop>, Resolvers) {
    let shop = Arc::new(Shop::new());
    let resolvers = schema(Arc::clone(&shop)).build().unwrap_or_else(|faults| panic!("{faults}"));
    (shop, resolvers)
}

pub(crate) fn schema(shop: Arc<Shop>) -> Schema<Shop> {
    Schema::sharing(SDL, shop)
        .field("Query.artist", |shop: &Shop, ById { id }: ById| shop.artist(&id))
        .field("Query.artists", |shop: &Shop, Artists { first, genres }: Artists| {
            let fits = |artist: &Arc<Artist>| {
                genres.as_ref().is_none_or(|genres| artist.genre.is_some_and(|genre| genres.contains(&genre)))
            };
            shop.all().into_iter().filter(fits).take(first.unwrap_or(usize::MAX)).collect::<Vec<_>>()
        })
        .field("Query.search", search)
        .field("Query.named", |shop: &Shop, text: Text| search(shop, text).into_iter().next().map(Named))
        .field("Query.page", |_: &Shop, Pages { filter }: Pages| format!("{filter:?}"))
        .async_field("Query.slow", |_: Arc<Shop>, Slow { ms }: Slow| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            assert!(ms != 13, "bad luck");
            format!("{ms} ms")
        })
        .field("Query.trouble", |_: &Shop, ByKind { kind }: ByKind| {
            trouble(&kind).map(|value| value.map(Trouble))
        })
        .field("Query.strict", |_: &Shop, ByKind { kind }: ByKind| match trouble(&kind) {
            Ok(Some(value)) => Ok(Strict(value)),
            Ok(None) => Err(Error::new("nothing there")),
            Err(error) => Err(error),
        })
        .field("Query.many", |_: &Shop, (): ()| {
            ["fine", "wrong", "nothing", "missing", "error"]
                .map(|kind| trouble(kind).map(|value| value.map(Trouble)))
                .into_iter()
                .collect::<Vec<_>>()
        })
        .field("Query.manyStrict", |_: &Shop, (): ()| {
            vec![Strict(serde_json::json!({"id": 1})), Strict(Json::Null)]
        })
        .field("Query.clock", |_: &Shop, (): ()| Clock)
        .field("Clock.unix", |_: &Shop, _: &Clock, (): ()| 1.5)
        .field("Mutation.rename", |shop: &Shop, Rename { id, name }: Rename| {
            let mut artists = shop.artists.lock().unwrap();
            let artist = artists.iter_mut().find(|artist| artist.id.to_string() == id)?;
            Arc::make_mut(artist).name = name;
            shop.renamed.publish(&(), Arc::clone(artist));
            Some(Arc::clone(artist))
        })
        .batch_field("Artist.records", records)
        .async_batch_field("Artist.company", |shop: Arc<Shop>, artists: Vec<Artist>, (): ()| async move {
            shop.batches.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            artists
                .into_iter()
                .map(|artist| (artist.id < 3).then(|| Company { name: format!("{} Ltd", artist.name) }))
                .collect::<Vec<_>>()
        })
        .field("Artist.rating", |_: &Shop, artist: &Artist, Scale { scale }: Scale| {
            if artist.id == 3 {
                Err(Error::new("not rated"))
            } else {
                Ok(f64::from(scale) * f64::from(artist.id))
            }
        })
        .async_field("Record.artist", |shop: Arc<Shop>, record: Record, (): ()| async move {
            shop.artist(&record.artist.to_string()).ok_or_else(|| Error::new("nobody made it"))
        })
        .event_field("Subscription.renamed", |shop: &Shop, (): ()| shop.renamed.subscribe(()))
        .directive("@toUpper", |text: String, (): ()| text.to_uppercase())
        .directive("@cut", |text: String, Cut { at }: Cut| text.chars().take(at).collect::<String>())
        .function_timeout(Duration::from_millis(200))
}

/// The road, by the library's stages; details of errors are shown.
pub(crate) async fn ask(resolvers: &Resolvers, query: &str, variables: &str) -> String {
    let contribution = resolvers.contribution();
    let schema = prony_graphql::schema::Schema::merge(vec![(SourceId(0), contribution)]).unwrap();
    match travel(resolvers, &schema, query, variables).await {
        Ok(body) | Err(body) => String::from_utf8(body).unwrap(),
    }
}

async fn travel(
    resolvers: &Resolvers,
    schema: &prony_graphql::schema::Schema,
    query: &str,
    variables: &str,
) -> Result<Vec<u8>, Vec<u8>> {
    let refuse = |errors: Vec<_>| response::refuse(&errors, Detail::Shown);
    let operation = Operation::parse(schema, query, None, &Limits::default()).map_err(refuse)?;
    let variables = serde_json::from_str(variables).unwrap();
    let (variables, _) = operation.coerce(schema, variables).map_err(refuse)?;
    let selection = operation.select(schema, &variables).map_err(refuse)?;
    if selection.fields.iter().any(prony_graphql::selection::Field::is_introspection) {
        let answer = |field| introspection::answer(schema, field, &variables, &Limits::default());
        let results: Vec<_> = selection.fields.iter().map(answer).collect();
        return Ok(response::assemble(&selection.fields, &results, Detail::Shown));
    }
    let prepared = selection.fields.iter().map(|field| resolvers.plan(field));
    let prepared = prepared.collect::<Result<Vec<_>, _>>().map_err(|error| refuse(vec![error]))?;
    let results = if selection.kind == OperationKind::Mutation {
        resolvers.mutate(&prepared.iter().collect::<Vec<_>>(), &variables).await
    } else {
        let mut results = Vec::new();
        for root in &prepared {
            results.push(resolvers.query(root, &variables).await);
        }
        results
    };
    Ok(response::assemble(&selection.fields, &results, Detail::Shown))
}

/// The answer of the shop, which must be JSON.
pub(crate) fn check(query: &str, variables: &str, expected: &Expect) {
    let (_, resolvers) = shop();
    expected.assert_eq(&pretty(on_clock(ask(&resolvers, query, variables))));
}

/// Time passes only when everything waits.
pub(crate) fn on_clock<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// JSON on lines of their own: data, and each error.
pub(crate) fn pretty(body: impl AsRef<str>) -> String {
    let body = body.as_ref();
    let json: Json = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let mut lines = json.get("data").map_or_else(String::new, |data| format!("{data}\n"));
    for error in json["errors"].as_array().into_iter().flatten() {
        let path = error.get("path").map_or_else(String::new, |path| format!(" at {path}"));
        let message = error["message"].as_str().unwrap_or_default();
        let _ = writeln!(lines, "{message}{path} {}", error["extensions"]);
    }
    lines
}

/// The events of a subscription without variables.
pub(crate) fn subscribe(resolvers: &Resolvers, query: &str) -> prony_source::Events {
    let contribution = resolvers.contribution();
    let schema = prony_graphql::schema::Schema::merge(vec![(SourceId(0), contribution)]).unwrap();
    let operation = Operation::parse(&schema, query, None, &Limits::default()).unwrap();
    let variables = prony_graphql::variables::Variables::default();
    let selection = operation.select(&schema, &variables).unwrap();
    let root = resolvers.plan(&selection.fields[0]).unwrap();
    resolvers.subscribe(&root, &variables).unwrap()
}
