//! Films and what is in them, in memory, in the shape in which this example is well known: what stands behind a gateway.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use prony_resolvers::{Faults, Output, Resolvers, Schema, outputs};
use serde::{Deserialize, Serialize};

use crate::{config::Settings, library::Server};

pub const SDL: &str = include_str!("starwars.graphql");

/// Where it listens when nothing else is said.
pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3002);

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Film {
    id: String,
    title: String,
    episode: i32,
    director: String,
    producers: Vec<String>,
    release_date: String,
    opening_crawl: String,
    character_ids: Vec<String>,
    planet_ids: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Person {
    id: String,
    name: String,
    birth_year: String,
    eye_color: String,
    gender: String,
    hair_color: String,
    height_cm: i32,
    mass_kg: i32,
    skin_color: String,
    homeworld_id: String,
    species_id: String,
    film_ids: Vec<String>,
    starship_ids: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Planet {
    id: String,
    name: String,
    diameter_km: i32,
    rotation_hours: i32,
    orbital_days: i32,
    gravity: String,
    population: f64,
    climate: String,
    terrain: String,
    surface_water: i32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Species {
    id: String,
    name: String,
    classification: String,
    designation: String,
    average_height_cm: i32,
    average_lifespan: i32,
    eye_colors: Vec<String>,
    hair_colors: Vec<String>,
    skin_colors: Vec<String>,
    language: String,
    homeworld_id: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Starship {
    id: String,
    name: String,
    model: String,
    class: String,
    manufacturers: Vec<String>,
    cost_in_credits: f64,
    length_m: f64,
    crew: String,
    passengers: String,
    hyperdrive_rating: f64,
    cargo_capacity_kg: f64,
    consumables: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vehicle {
    id: String,
    name: String,
    model: String,
    class: String,
    manufacturers: Vec<String>,
    cost_in_credits: f64,
    length_m: f64,
    crew: String,
    passengers: String,
    max_speed_kmh: i32,
    cargo_capacity_kg: f64,
}

outputs!(Film, Person, Planet, Species, Starship, Vehicle);

/// Everything that there is. The id of a row is its place, counted from 1.
#[derive(Debug, Deserialize)]
struct StarWars {
    films: Vec<Arc<Film>>,
    people: Vec<Arc<Person>>,
    planets: Vec<Arc<Planet>>,
    species: Vec<Arc<Species>>,
    starships: Vec<Arc<Starship>>,
    vehicles: Vec<Arc<Vehicle>>,
}

#[derive(Debug, Deserialize)]
struct ById {
    id: String,
}

#[derive(Debug, Deserialize)]
struct ByIds {
    ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct First {
    first: Option<i32>,
}

/// The row with an id.
fn row<T>(rows: &[Arc<T>], id: &str) -> Option<Arc<T>> {
    let place: usize = id.parse().ok()?;
    rows.get(place.checked_sub(1)?).cloned()
}

fn rows<T>(all: &[Arc<T>], ids: &[String]) -> Vec<Arc<T>> {
    ids.iter().filter_map(|id| row(all, id)).collect()
}

/// Negative numbers are none.
fn first<T>(all: &[Arc<T>], First { first }: &First) -> Vec<Arc<T>> {
    let count = first.map_or(all.len(), |first| usize::try_from(first).unwrap_or_default());
    all[..count.min(all.len())].to_vec()
}

/// Rows that each parent names.
fn below<P: Output, T>(
    parents: &[&P],
    all: &[Arc<T>],
    ids: impl for<'p> Fn(&'p P) -> &'p [String],
) -> Vec<Vec<Arc<T>>> {
    parents.iter().map(|parent| rows(all, ids(parent))).collect()
}

fn resolvers() -> Result<Resolvers, Faults> {
    let data: StarWars =
        serde_json::from_str(include_str!("starwars.json")).expect("a test reads what is compiled in");
    Schema::new(SDL, data)
        .field("Query.film", |all: &StarWars, ById { id }: ById| row(&all.films, &id))
        .field("Query.films", |all: &StarWars, count: First| first(&all.films, &count))
        .field("Query.filmsByIds", |all: &StarWars, ByIds { ids }: ByIds| rows(&all.films, &ids))
        .field("Query.person", |all: &StarWars, ById { id }: ById| row(&all.people, &id))
        .field("Query.people", |all: &StarWars, count: First| first(&all.people, &count))
        .field("Query.peopleByIds", |all: &StarWars, ByIds { ids }: ByIds| rows(&all.people, &ids))
        .field("Query.planet", |all: &StarWars, ById { id }: ById| row(&all.planets, &id))
        .field("Query.planets", |all: &StarWars, count: First| first(&all.planets, &count))
        .field("Query.planetsByIds", |all: &StarWars, ByIds { ids }: ByIds| rows(&all.planets, &ids))
        .field("Query.species", |all: &StarWars, count: First| first(&all.species, &count))
        .field("Query.starship", |all: &StarWars, ById { id }: ById| row(&all.starships, &id))
        .field("Query.starships", |all: &StarWars, count: First| first(&all.starships, &count))
        .field("Query.vehicle", |all: &StarWars, ById { id }: ById| row(&all.vehicles, &id))
        .field("Query.vehicles", |all: &StarWars, count: First| first(&all.vehicles, &count))
        .batch_field("Film.characters", |all: &StarWars, films: &[&Film], (): ()| {
            below(films, &all.people, |film| &film.character_ids)
        })
        .batch_field("Film.planets", |all: &StarWars, films: &[&Film], (): ()| {
            below(films, &all.planets, |film| &film.planet_ids)
        })
        .batch_field("Person.homeworld", |all: &StarWars, people: &[&Person], (): ()| {
            people.iter().map(|person| row(&all.planets, &person.homeworld_id)).collect::<Vec<_>>()
        })
        .batch_field("Person.films", |all: &StarWars, people: &[&Person], (): ()| {
            below(people, &all.films, |person| &person.film_ids)
        })
        .batch_field("Person.starships", |all: &StarWars, people: &[&Person], (): ()| {
            below(people, &all.starships, |person| &person.starship_ids)
        })
        .build()
}

/// The functions of the schema.
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
