//! Chinook against hand-written SQL.

use prony_testkit::chinook;
use serde_json::{Value as Json, json};

use crate::tests::harness::{MODELS, Served, sql_json, with_model};

/// The data of a query's only root field, from the three models, equals what SQL gives.
fn check(query: &str, sql: &str) {
    let copy = chinook::sqlite_copy();
    let connection = rusqlite::Connection::open(copy.path()).unwrap();
    let expected = sql_json(&connection, sql);
    for model in MODELS {
        let answer = Served::open(&copy.path(), &with_model(model)).answer(query, "{}");
        let answer: Json = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["errors"], Json::Null, "{query}: {answer}");
        assert_eq!(answer, json!({ "data": { "x": expected } }), "{model:?} {query}");
    }
}

#[test]
fn albums_of_artists_with_their_tracks() {
    check(
        r#"{ x: artists(where: {Name: {like: "A%"}}, limit: 7, offset: 2) { Name albums(sort: {Title: desc}, limit: 3) {
             Title tracks(limit: 2) { Name genre { Name } media_type { Name } } tracks_aggregate { count max { Milliseconds } } } } }"#,
        "SELECT json_group_array(json_object('Name', a.Name, 'albums', json((
           SELECT json_group_array(json_object('Title', l.Title,
             'tracks', json((SELECT json_group_array(json_object('Name', t.Name, 'genre', json_object('Name', g.Name),
                          'media_type', json_object('Name', m.Name)))
                        FROM (SELECT * FROM Track WHERE AlbumId = l.AlbumId ORDER BY TrackId LIMIT 2) t
                        JOIN Genre g USING (GenreId) JOIN MediaType m USING (MediaTypeId))),
             'tracks_aggregate', json((SELECT json_object('count', count(*), 'max', json_object('Milliseconds', max(Milliseconds)))
                                  FROM Track WHERE AlbumId = l.AlbumId))))
           FROM (SELECT * FROM Album WHERE ArtistId = a.ArtistId ORDER BY Title DESC LIMIT 3) l))))
         FROM (SELECT * FROM Artist WHERE substr(Name, 1, 1) = 'A' ORDER BY ArtistId LIMIT 7 OFFSET 2) a",
    );
}

#[test]
fn customers_by_what_they_bought() {
    check(
        r#"{ x: customers(where: {invoices: {invoice_lines: {track: {genre: {Name: {eq: "Science Fiction"}}}}}}, limit: 1000) {
             CustomerId support_rep { LastName reports_to_employee { LastName } } } }"#,
        "SELECT json_group_array(json_object('CustomerId', c.CustomerId, 'support_rep', json_object('LastName', e.LastName,
                  'reports_to_employee', json_object('LastName', b.LastName))))
         FROM (SELECT * FROM Customer WHERE CustomerId IN (
                 SELECT i.CustomerId FROM Invoice i JOIN InvoiceLine USING (InvoiceId) JOIN Track t USING (TrackId)
                 JOIN Genre g USING (GenreId) WHERE g.Name = 'Science Fiction') ORDER BY CustomerId) c
         JOIN Employee e ON e.EmployeeId = c.SupportRepId JOIN Employee b ON b.EmployeeId = e.ReportsTo",
    );
}

#[test]
fn aggregates_of_money() {
    check(
        r#"{ x: invoices_aggregate(where: {BillingCountry: {in: ["Germany", "USA"]}}) { count sum { Total } max { InvoiceDate } min { Total } } }"#,
        "SELECT json_object('count', count(*), 'sum', json_object('Total', sum(Total)),
                'max', json_object('InvoiceDate', max(InvoiceDate)), 'min', json_object('Total', min(Total)))
         FROM Invoice WHERE BillingCountry IN ('Germany', 'USA')",
    );
}

#[test]
fn a_bridge_with_a_composite_key() {
    check(
        "{ x: playlists(where: {PlaylistId: {in: [12, 17]}}) { Name playlist_tracks(limit: 4, offset: 1) { TrackId track { Name } } } }",
        "SELECT json_group_array(json_object('Name', p.Name, 'playlist_tracks', json((
           SELECT json_group_array(json_object('TrackId', t.TrackId, 'track', json_object('Name', t.Name)))
           FROM (SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = p.PlaylistId ORDER BY TrackId LIMIT 4 OFFSET 1)
           JOIN Track t USING (TrackId)))))
         FROM (SELECT * FROM Playlist WHERE PlaylistId IN (12, 17) ORDER BY PlaylistId) p",
    );
}
