//! A whole server of functions: books and their reviews. The documentation of `prony-server` shows this file.
use std::{collections::BTreeMap, sync::Mutex};

use prony_server::{
    Server, outputs,
    resolvers::{Error, Schema},
};
use serde::{Deserialize, Serialize};

const SDL: &str = "
    type Query { books: [Book!]! }
    type Mutation { addReview(book: Int!, stars: Int!): Review! }
    type Book { id: Int! title: String! reviews: [Review!]! }
    type Review { stars: Int! }";
#[derive(Clone, Default, Serialize)]
struct Book {
    id: i32,
    title: String,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Review {
    #[serde(skip_serializing)]
    book: i32,
    stars: i32,
}

outputs!(Book, Review);

struct Shop {
    books: Vec<Book>,
    reviews: Mutex<BTreeMap<i32, Vec<Review>>>,
}

/// Called once for all books of an answer, however many there are.
fn reviews(shop: &Shop, books: &[&Book], (): ()) -> Vec<Vec<Review>> {
    let reviews = shop.reviews.lock().expect("nobody panics with it");
    books.iter().map(|book| reviews.get(&book.id).cloned().unwrap_or_default()).collect()
}

fn add_review(shop: &Shop, review: Review) -> Result<Review, Error> {
    if !(1..=5).contains(&review.stars) {
        return Err(Error::new("a review has 1 to 5 stars")
            .code("BAD_STARS")
            .extension("given", review.stars));
    }
    shop.reviews.lock().expect("nobody panics with it").entry(review.book).or_default().push(review.clone());
    Ok(review)
}

fn main() -> anyhow::Result<()> {
    let books = [(1, "Dune"), (2, "Emma")].map(|(id, title)| Book { id, title: title.into() }).to_vec();
    let schema = Schema::new(SDL, Shop { books, reviews: Mutex::default() })
        .field("Query.books", |shop: &Shop, (): ()| shop.books.clone())
        .batch_field("Book.reviews", reviews)
        .field("Mutation.addReview", add_review)
        .build()?;
    Ok(Server::new(schema).listen(([127, 0, 0, 1], 4000)).serve()?)
}
