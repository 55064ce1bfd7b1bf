//! The example music: nested objects, batches through data loaders, a directive. The same data as Prony's.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_graphql::{
    ComplexObject, Context, CustomDirective, Directive, EmptyMutation, EmptySubscription, Object, ResolveFut, Schema,
    ServerResult, SimpleObject, Value,
    dataloader::{DataLoader, Loader},
};

pub(crate) type MusicSchema = Schema<Query, EmptyMutation, EmptySubscription>;

#[derive(SimpleObject)]
struct Genre {
    id: i32,
    name: String,
}

#[derive(SimpleObject)]
struct RecordCompany {
    id: i32,
    name: String,
}

#[derive(SimpleObject)]
struct Record {
    id: i32,
    artist_id: i32,
    name: String,
    genre: Arc<Genre>,
}

#[derive(SimpleObject)]
#[graphql(complex)]
struct Artist {
    id: i32,
    name: String,
    record_company_id: i32,
}

struct Music {
    companies: Vec<Arc<RecordCompany>>,
    artists: Vec<Arc<Artist>>,
    records: Vec<Vec<Arc<Record>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RecordsOf {
    artist: i32,
    search_text: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct CompanyOf(i32);

struct Loads(Arc<Music>);

impl Loader<RecordsOf> for Loads {
    type Value = Vec<Arc<Record>>;
    type Error = async_graphql::Error;

    async fn load(&self, keys: &[RecordsOf]) -> Result<HashMap<RecordsOf, Self::Value>, Self::Error> {
        let of = |key: &RecordsOf| {
            let records = row(&self.0.records, key.artist).map_or(&[][..], Vec::as_slice);
            let fits = |record: &&Arc<Record>| holds(&record.name, key.search_text.as_deref());
            (key.clone(), records.iter().filter(fits).cloned().collect())
        };
        Ok(keys.iter().map(of).collect())
    }
}

impl Loader<CompanyOf> for Loads {
    type Value = Arc<RecordCompany>;
    type Error = async_graphql::Error;

    async fn load(&self, keys: &[CompanyOf]) -> Result<HashMap<CompanyOf, Self::Value>, Self::Error> {
        let of = |key: &CompanyOf| Some((key.clone(), Arc::clone(row(&self.0.companies, key.0)?)));
        Ok(keys.iter().filter_map(of).collect())
    }
}

/// The row with an id that counts from 1.
fn row<T>(rows: &[T], id: i32) -> Option<&T> {
    rows.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

fn holds(name: &str, text: Option<&str>) -> bool {
    let (name, text) = (name.as_bytes(), text.map_or(&[][..], str::as_bytes));
    text.is_empty() || name.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text))
}

#[ComplexObject]
impl Artist {
    async fn records(
        &self,
        context: &Context<'_>,
        search_text: Option<String>,
    ) -> async_graphql::Result<Vec<Arc<Record>>> {
        let key = RecordsOf { artist: self.id, search_text: search_text.map(Into::into) };
        Ok(context.data_unchecked::<DataLoader<Loads>>().load_one(key).await?.unwrap_or_default())
    }

    async fn company(&self, context: &Context<'_>) -> async_graphql::Result<Option<Arc<RecordCompany>>> {
        context.data_unchecked::<DataLoader<Loads>>().load_one(CompanyOf(self.record_company_id)).await
    }
}

pub(crate) struct Query;

#[Object]
impl Query {
    async fn artist(&self, context: &Context<'_>, id: i32) -> Option<Arc<Artist>> {
        row(&context.data_unchecked::<Arc<Music>>().artists, id).cloned()
    }

    /// All artists, or those whose name holds the text; case does not matter.
    async fn artists(&self, context: &Context<'_>, search_text: Option<String>) -> Vec<Arc<Artist>> {
        let artists = &context.data_unchecked::<Arc<Music>>().artists;
        artists.iter().filter(|artist| holds(&artist.name, search_text.as_deref())).cloned().collect()
    }

    /// In the order of the ids; unknown ones are left out.
    async fn find_artists_by_id(&self, context: &Context<'_>, ids: Vec<i32>) -> Vec<Arc<Artist>> {
        let artists = &context.data_unchecked::<Arc<Music>>().artists;
        ids.into_iter().filter_map(|id| row(artists, id).cloned()).collect()
    }
}

struct ToUpper;

#[async_trait::async_trait]
impl CustomDirective for ToUpper {
    async fn resolve_field(&self, _: &Context<'_>, resolve: ResolveFut<'_>) -> ServerResult<Option<Value>> {
        Ok(resolve.await?.map(|value| match value {
            Value::String(text) => Value::String(text.to_uppercase()),
            other => other,
        }))
    }
}

#[Directive(name = "toUpper", location = "Field")]
fn to_upper() -> impl CustomDirective {
    ToUpper
}

/// The loader hands over what it has gathered as soon as its task is polled, which is later than all fields of a level: its
/// default, to wait for one millisecond more, would make every answer slower and hold no more in a batch. It keeps nothing
/// from one request to the next.
pub(crate) fn schema() -> MusicSchema {
    let music = Arc::new(music());
    let loader = DataLoader::new(Loads(Arc::clone(&music)), tokio::spawn).delay(Duration::ZERO);
    Schema::build(Query, EmptyMutation, EmptySubscription).data(music).data(loader).directive(to_upper).finish()
}

const GENRES: [&str; 5] = ["Rock", "Jazz", "Soul", "Folk", "Electronic"];
const COMPANIES: [&str; 4] = ["Northern Lights", "Blue Door", "Sub Rosa", "Half Moon"];
const ARTISTS: [&str; 12] = [
    "Queen",
    "Queens of the Stone Age",
    "Nina Simone",
    "Portishead",
    "Nick Drake",
    "Kraftwerk",
    "Aretha Franklin",
    "Radiohead",
    "Miles Davis",
    "Joni Mitchell",
    "Daft Punk",
    "Otis Redding",
];
const RECORDS_EACH: usize = 4;

fn music() -> Music {
    let named = |names: &[&str]| names.iter().zip(1..).map(|(name, id)| (id, (*name).to_owned())).collect::<Vec<_>>();
    let genre = |(id, name)| Arc::new(Genre { id, name });
    let genres: Vec<_> = named(&GENRES).into_iter().map(genre).collect();
    let company = |(id, name)| Arc::new(RecordCompany { id, name });
    let companies: Vec<_> = named(&COMPANIES).into_iter().map(company).collect();
    let (mut artists, mut records, mut record_ids) = (Vec::new(), Vec::new(), 1..);
    for (index, (id, name)) in named(&ARTISTS).into_iter().enumerate() {
        let record = |(number, record_id): (usize, i32)| {
            let genre = Arc::clone(&genres[(index + number) % genres.len()]);
            Arc::new(Record { id: record_id, artist_id: id, name: format!("{name}, volume {number}"), genre })
        };
        records.push((1..=RECORDS_EACH).zip(record_ids.by_ref()).map(record).collect());
        let record_company_id = companies[index % companies.len()].id;
        artists.push(Arc::new(Artist { id, name, record_company_id }));
    }
    Music { companies, artists, records }
}
