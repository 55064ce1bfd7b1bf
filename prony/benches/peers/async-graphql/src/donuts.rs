//! The example donuts: a table in memory, as GraphQL and, as a control, by REST. What the benchmarks ask of it: reading.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use async_graphql::{Context, EmptyMutation, EmptySubscription, Enum, Object, Schema, SimpleObject};
use axum::{
    Json, Router,
    extract::{Path, State},
    routing::{get, post_service},
};
use serde::Serialize;

#[derive(SimpleObject)]
struct Donut {
    id: Option<String>,
    name: Option<String>,
    flavor: DonutFlavor,
}

#[derive(Clone, Copy, PartialEq, Eq, Enum, Serialize)]
#[serde(rename_all = "lowercase")]
enum DonutFlavor {
    Vanilla,
    Strawberry,
    Chocolate,
}

type Table = Arc<RwLock<HashMap<String, Arc<Donut>>>>;

fn find(table: &Table, id: &str) -> Option<Arc<Donut>> {
    table.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
}

struct Query;

#[Object]
impl Query {
    /// One donut; null where there is none of this id.
    async fn retrieve_donut(&self, context: &Context<'_>, id: String) -> Option<Arc<Donut>> {
        find(context.data_unchecked::<Table>(), &id)
    }
}

#[derive(Serialize)]
struct Payload {
    data: Data,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    single_donut: Option<RestDonut>,
}

#[derive(Serialize)]
struct RestDonut {
    id: Option<String>,
    name: Option<String>,
    flavor: DonutFlavor,
}

async fn rest(State(table): State<Table>, Path(id): Path<String>) -> Json<Payload> {
    let rest =
        |donut: Arc<Donut>| RestDonut { id: donut.id.clone(), name: donut.name.clone(), flavor: donut.flavor };
    Json(Payload { data: Data { single_donut: find(&table, &id).map(rest) } })
}

pub(crate) fn routes() -> Router {
    let rows = [
        ("1", "Super Mega Donut", DonutFlavor::Chocolate),
        ("2", "Plain Ring", DonutFlavor::Vanilla),
        ("3", "Pink Sprinkles", DonutFlavor::Strawberry),
    ];
    let row = |(id, name, flavor): (&str, &str, DonutFlavor)| {
        (id.to_owned(), Arc::new(Donut { id: Some(id.to_owned()), name: Some(name.to_owned()), flavor }))
    };
    let table: Table = Arc::new(RwLock::new(rows.into_iter().map(row).collect()));
    let schema = Schema::build(Query, EmptyMutation, EmptySubscription).data(Arc::clone(&table)).finish();
    Router::new()
        .route("/graphql", post_service(async_graphql_axum::GraphQL::new(schema)))
        .route("/api/donuts/{id}", get(rest))
        .with_state(table)
}
