//! Artists, records, genres and record companies in memory: nested objects, batch functions, a directive.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use prony_resolvers::{Error, Faults, Resolvers, Schema, outputs};
use serde::{Deserialize, Serialize};

use crate::{config::Settings, library::Server};

pub const SDL: &str = include_str!("music.graphql");

/// Where it listens when nothing else is said.
pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3001);

/// Artists, and records, that are taken; a mutation storm ends there.
const MAX_ROWS: usize = 100_000;

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Artist {
    id: i32,
    name: String,
    record_company_id: i32,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    id: i32,
    artist_id: i32,
    name: String,
    genre: Arc<Genre>,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Genre {
    id: i32,
    name: String,
}

#[derive(Debug, Clone, Default, Serialize)]
struct RecordCompany {
    id: i32,
    name: String,
}

outputs!(Artist, Record, Genre, RecordCompany);

#[derive(Debug, Deserialize)]
struct MusicById {
    id: i32,
}

#[derive(Debug, Deserialize)]
struct MusicByIds {
    ids: Vec<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Search {
    search_text: Option<String>,
}

/// Whether a name holds a text, without regard to the case of ASCII letters; without a text it does.
fn holds(name: &str, text: Option<&String>) -> bool {
    let (name, text) = (name.as_bytes(), text.map_or(&[][..], |text| text.as_bytes()));
    text.is_empty() || name.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateArtist {
    artist_name: String,
    record_company_id: i32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateRecord {
    artist_id: i32,
    genre_id: i32,
    song_name: String,
}

/// Everything that there is. Ids count from 1.
#[derive(Debug)]
struct Music {
    genres: Vec<Arc<Genre>>,
    companies: Vec<Arc<RecordCompany>>,
    catalog: RwLock<Catalog>,
}

#[derive(Debug, Default)]
struct Catalog {
    artists: Vec<Arc<Artist>>,
    /// By artist.
    records: Vec<Vec<Arc<Record>>>,
    record_count: usize,
}

/// The row with an id that counts from 1.
fn row<T>(rows: &[T], id: i32) -> Option<&T> {
    rows.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

/// The id of the row at an index.
fn id_of(index: usize) -> i32 {
    i32::try_from(index + 1).expect("there are at most MAX_ROWS")
}

impl Catalog {
    fn add_artist(&mut self, name: String, record_company_id: i32) -> Arc<Artist> {
        let id = id_of(self.artists.len());
        let artist = Arc::new(Artist { id, name, record_company_id });
        self.artists.push(Arc::clone(&artist));
        self.records.push(Vec::new());
        artist
    }

    fn add_record(&mut self, artist_id: i32, name: String, genre: Arc<Genre>) -> Option<Arc<Record>> {
        let records = self.records.get_mut(usize::try_from(artist_id).ok()?.checked_sub(1)?)?;
        let record = Arc::new(Record { id: id_of(self.record_count), artist_id, name, genre });
        records.push(Arc::clone(&record));
        self.record_count += 1;
        Some(record)
    }
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

impl Music {
    fn new() -> Self {
        let genre =
            |(index, name): (usize, &&str)| Arc::new(Genre { id: id_of(index), name: (*name).to_owned() });
        let company = |(index, name): (usize, &&str)| {
            Arc::new(RecordCompany { id: id_of(index), name: (*name).to_owned() })
        };
        let genres: Vec<_> = GENRES.iter().enumerate().map(genre).collect();
        let companies: Vec<_> = COMPANIES.iter().enumerate().map(company).collect();
        let mut catalog = Catalog::default();
        for (index, name) in ARTISTS.iter().enumerate() {
            let company = &companies[index % companies.len()];
            let artist = catalog.add_artist((*name).to_owned(), company.id);
            for number in 1..=RECORDS_EACH {
                let genre = Arc::clone(&genres[(index + number) % genres.len()]);
                catalog.add_record(artist.id, format!("{name}, volume {number}"), genre);
            }
        }
        Self { genres, companies, catalog: RwLock::new(catalog) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        // Nothing panics while it is held.
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn artist(music: &Music, MusicById { id }: MusicById) -> Option<Arc<Artist>> {
    row(&music.read().artists, id).cloned()
}

fn artists(music: &Music, Search { search_text }: Search) -> Vec<Arc<Artist>> {
    music.read().artists.iter().filter(|artist| holds(&artist.name, search_text.as_ref())).cloned().collect()
}

fn find_artists_by_id(music: &Music, MusicByIds { ids }: MusicByIds) -> Vec<Arc<Artist>> {
    let catalog = music.read();
    ids.into_iter().filter_map(|id| row(&catalog.artists, id).cloned()).collect()
}

/// One look at the catalogue for all artists of a level.
fn records(music: &Music, artists: &[&Artist], Search { search_text }: Search) -> Vec<Vec<Arc<Record>>> {
    let catalog = music.read();
    let of = |artist: &&Artist| {
        let records = row(&catalog.records, artist.id).map_or(&[][..], Vec::as_slice);
        records.iter().filter(|record| holds(&record.name, search_text.as_ref())).cloned().collect()
    };
    artists.iter().map(of).collect()
}

fn company(music: &Music, artists: &[&Artist], (): ()) -> Vec<Option<Arc<RecordCompany>>> {
    artists.iter().map(|artist| row(&music.companies, artist.record_company_id).cloned()).collect()
}

fn unknown(what: &str, id: i32) -> Error {
    Error::new(format!("there is no {what} {id}")).code("BAD_USER_INPUT").extension("id", id)
}

fn full() -> Error {
    Error::new(format!("the catalogue holds {MAX_ROWS} rows, and takes no more")).code("LIMIT_EXCEEDED")
}

fn create_artist(music: &Music, given: CreateArtist) -> Result<Arc<Artist>, Error> {
    let company = given.record_company_id;
    row(&music.companies, company).ok_or_else(|| unknown("record company", company))?;
    let mut catalog = music.write();
    if catalog.artists.len() >= MAX_ROWS {
        return Err(full());
    }
    Ok(catalog.add_artist(given.artist_name, company))
}

fn create_record(music: &Music, given: CreateRecord) -> Result<Arc<Record>, Error> {
    let genre = row(&music.genres, given.genre_id).ok_or_else(|| unknown("genre", given.genre_id))?;
    let mut catalog = music.write();
    if catalog.record_count >= MAX_ROWS {
        return Err(full());
    }
    catalog
        .add_record(given.artist_id, given.song_name, Arc::clone(genre))
        .ok_or_else(|| unknown("artist", given.artist_id))
}

fn resolvers() -> Result<Resolvers, Faults> {
    Schema::new(SDL, Music::new())
        .field("Query.artist", artist)
        .field("Query.artists", artists)
        .field("Query.findArtistsById", find_artists_by_id)
        .field("Query.genres", |music: &Music, (): ()| music.genres.clone())
        .field("Query.recordCompanies", |music: &Music, (): ()| music.companies.clone())
        .field("Mutation.createArtist", create_artist)
        .field("Mutation.createRecord", create_record)
        .batch_field("Artist.records", records)
        .batch_field("Artist.company", company)
        .directive("@toUpper", |text: String, (): ()| text.to_uppercase())
        .build()
}

/// The functions of the schema over a new catalogue.
///
/// # Panics
/// Never: a test builds them.
pub fn functions() -> Resolvers {
    resolvers().expect("the schema is ours")
}

/// The whole server.
///
/// # Panics
/// Never: a test builds it.
pub fn server(settings: Settings) -> Server {
    Server::with_settings(settings, functions())
}
