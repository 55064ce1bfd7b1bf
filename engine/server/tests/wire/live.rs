//! Live queries over the wire, on both databases and on a graph: what is answered anew, what is not, and what becomes of
//! them on bad days.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use prony_postgres::changes::triggers::{Triggers, TriggersRequest};
use prony_server::{
    config::{self, CommandLine, CoreChoice, Settings},
    runtime::{self, Running},
};
use prony_testkit::{
    chinook::{SqliteCopy, postgres_database, postgres_path, sqlite_copy},
    postgres::{Cluster, TestDatabase},
};

use crate::{
    sockets::{INIT, LEGACY, Socket, subscribe},
    support::{KINDS, PATIENCE, Wire, get, give_options, post_with, query},
};

const STREAM: &str = "accept: text/event-stream\r\ncontent-type: application/json\r\n";

/// A server of the sample database. Texts have PostgreSQL's names of columns.
struct Site {
    running: Running,
    is_sqlite: bool,
    _copy: Option<SqliteCopy>,
}

impl Site {
    fn sqlite(change: impl FnOnce(&mut Settings)) -> Self {
        let copy = sqlite_copy();
        let running = start(&format!("sqlite:{}", copy.path().display()), change);
        Self { running, is_sqlite: true, _copy: Some(copy) }
    }

    fn postgres(url: &str, change: impl FnOnce(&mut Settings)) -> Self {
        Self { running: start(url, change), is_sqlite: false, _copy: None }
    }

    fn both() -> [Self; 2] {
        [Self::sqlite(|_| {}), Self::postgres(&postgres_database().url(), |_| {})]
    }

    fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.is_sqlite {
            for (column, name) in [
                ("artist_id", "ArtistId"),
                ("album_id", "AlbumId"),
                ("genre_id", "GenreId"),
                ("title", "Title"),
                ("name", "Name"),
            ] {
                text = text.replace(column, name);
            }
        }
        text
    }

    /// The answer to a query or mutation.
    fn ask(&self, text: &str) -> String {
        let mut wire = Wire::to(self.address());
        wire.send(query(&self.text(text)));
        wire.response().lines().last().unwrap_or_default().to_owned()
    }

    fn create(&self, id: u32, name: &str) {
        let answer = self
            .ask(&format!(r#"mutation {{ createArtist(artist_id: {id}, name: "{name}") {{ artist_id }} }}"#));
        assert!(!answer.contains("errors"), "{answer}");
    }

    fn rename(&self, id: u32, name: &str) {
        let answer = self.ask(&format!(
            r#"mutation {{ updateArtist(pk_columns: {{artist_id: {id}}}, name: "{name}") {{ result }} }}"#
        ));
        assert_eq!(answer, r#"{"data":{"updateArtist":{"result":true}}}"#);
    }

    fn subscribe(&self, text: &str) -> Socket {
        let mut socket = Socket::ready_at(self.address());
        socket.send(&subscribe("a", &self.text(text)));
        socket
    }

    fn metric(&self, name: &str) -> u64 {
        let mut wire = Wire::to(self.address());
        wire.send(get("/metrics"));
        let metrics = wire.response();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name}{{}} ")));
        let value = line.unwrap_or_else(|| panic!("no {name} in {metrics}"));
        value.trim_end_matches(".0").parse().expect("a count")
    }
}

fn start(source: &str, change: impl FnOnce(&mut Settings)) -> Running {
    let line = CommandLine { sources: vec![source.to_owned()], ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &|_| None).expect("the source is right");
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = CoreChoice::Count(1);
    settings.subscriptions.live_interval = Duration::from_millis(1);
    change(&mut settings);
    runtime::start(settings).expect("the server starts")
}

/// New artists, of whom there are none at first.
const ARTISTS: &str = "subscription { artists(where: {artist_id: {gte: 1000}}) { n: name } }";

fn names(names: &[&str]) -> String {
    let items: Vec<String> = names.iter().map(|name| format!(r#"{{"n":"{name}"}}"#)).collect();
    format!(r#"{{"data":{{"artists":[{}]}}}}"#, items.join(","))
}

fn next(result: &str) -> String {
    format!(r#"{{"id":"a","type":"next","payload":{result}}}"#)
}

#[test]
fn the_answer_comes_at_once_and_anew_when_it_is_another() {
    for site in Site::both() {
        let mut socket = site.subscribe(ARTISTS);
        let mut legacy = Socket::at(site.address(), LEGACY);
        legacy.send(INIT);
        legacy.send(&subscribe("a", &site.text(ARTISTS)).replace(r#""subscribe""#, r#""start""#));
        assert_eq!([legacy.next(), legacy.next()], [r#"{"type":"connection_ack"}"#, r#"{"type":"ka"}"#]);
        let mut stream = Wire::to(site.address());
        stream.send(post_with(STREAM, &serde_json::json!({ "query": site.text(ARTISTS) }).to_string()));
        let mut all_get = |result: &str| {
            assert_eq!(socket.next(), next(result));
            assert_eq!(legacy.next(), next(result).replace(r#""next""#, r#""data""#));
            stream.until(&format!("event: next\ndata: {result}\n\n"));
        };
        all_get(&names(&[]));
        site.create(1000, "Ann");
        all_get(&names(&["Ann"]));
        // Another table; a row that does not pass; a change that leaves all as it was: no answer.
        site.ask(r#"mutation { createGenre(genre_id: 999, name: "Prony") { genre_id } }"#);
        site.rename(1, "AC/DC!");
        site.rename(1000, "Ann");
        site.create(1001, "Bob");
        all_get(&names(&["Ann", "Bob"]));
        site.ask("mutation { deleteArtist(pk_columns: {artist_id: 1000}) { result } }");
        all_get(&names(&["Bob"]));
    }
}

#[test]
fn nested_and_filtering_tables_count_and_others_are_not_looked_at() {
    for site in Site::both() {
        let mut nested =
            site.subscribe("subscription { artists(where: {artist_id: {eq: 1}}) { albums(where: {album_id: {gte: 1000}}) { t: title } } }");
        assert_eq!(nested.next(), next(r#"{"data":{"artists":[{"albums":[]}]}}"#));
        let mut filtered = site.subscribe(
            r#"subscription { artists_aggregate(where: {albums: {title: {eq: "Prony"}}}) { count } }"#,
        );
        assert_eq!(filtered.next(), next(r#"{"data":{"artists_aggregate":{"count":0}}}"#));
        let before = site.metric("prony_live_answers_total");
        site.ask(r#"mutation { createGenre(genre_id: 999, name: "Prony") { genre_id } }"#);
        site.ask(r#"mutation { createAlbum(album_id: 1000, title: "Prony", artist_id: 1) { album_id } }"#);
        assert_eq!(nested.next(), next(r#"{"data":{"artists":[{"albums":[{"t":"Prony"}]}]}}"#));
        assert_eq!(filtered.next(), next(r#"{"data":{"artists_aggregate":{"count":1}}}"#));
        assert_eq!(site.metric("prony_live_answers_total"), before + 2, "nobody looked because of the genre");
    }
}

#[test]
fn what_a_cascade_deletes_is_missed_in_no_answer() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE team (id int PRIMARY KEY);
         CREATE TABLE member (id int PRIMARY KEY, team_id int REFERENCES team ON DELETE CASCADE);
         INSERT INTO team VALUES (1), (2); INSERT INTO member VALUES (1, 1), (2, 2)",
    );
    let site = Site::postgres(&database.url(), |_| {});
    let mut socket = site.subscribe("subscription { members { id } }");
    assert_eq!(socket.next(), next(r#"{"data":{"members":[{"id":1},{"id":2}]}}"#));
    site.ask("mutation { deleteTeam(pk_columns: {id: 1}) { result } }");
    assert_eq!(socket.next(), next(r#"{"data":{"members":[{"id":2}]}}"#));
}

#[test]
fn many_changes_become_few_answers_and_the_last_is_right() {
    const INTERVAL: Duration = Duration::from_millis(200);
    for site in [
        Site::sqlite(|settings| settings.subscriptions.live_interval = INTERVAL),
        Site::postgres(&postgres_database().url(), |settings| {
            settings.subscriptions.live_interval = INTERVAL;
        }),
    ] {
        let begun = Instant::now();
        let mut socket =
            site.subscribe("subscription { artists_aggregate(where: {artist_id: {gte: 1000}}) { count } }");
        let count = |count: u32| next(&format!(r#"{{"data":{{"artists_aggregate":{{"count":{count}}}}}}}"#));
        assert_eq!(socket.next(), count(0));
        std::thread::scope(|scope| {
            for first in [1000, 1025, 1050, 1075] {
                let site = &site;
                scope.spawn(move || (first..first + 25).for_each(|id| site.create(id, "x")));
            }
        });
        let last = std::iter::repeat_with(|| socket.next()).take(101).find(|answer| *answer == count(100));
        assert!(last.is_some(), "the last answer never came");
        let answers = site.metric("prony_live_answers_total");
        let most = begun.elapsed().as_millis() / INTERVAL.as_millis() + 1;
        assert!(u128::from(answers) <= most, "{answers} answers in the time of {most}");
    }
}

#[test]
fn those_who_ask_the_same_share_answers_and_each_gets_one_at_once() {
    let site = Site::sqlite(|_| {});
    let mut first = site.subscribe(ARTISTS);
    assert_eq!(first.next(), next(&names(&[])));
    site.create(1000, "Ann");
    let mut second = site.subscribe(ARTISTS);
    assert_eq!(second.next(), next(&names(&["Ann"])), "a client sees what it has waited for");
    assert_eq!(first.next(), next(&names(&["Ann"])));
    let mut others: Vec<Socket> = (0..20).map(|_| site.subscribe(ARTISTS)).collect();
    for other in &mut others {
        assert_eq!(other.next(), next(&names(&["Ann"])));
    }
    let before = site.metric("prony_live_answers_total");
    site.create(1001, "Bob");
    for socket in others.iter_mut().chain([&mut first, &mut second]) {
        assert_eq!(socket.next(), next(&names(&["Ann", "Bob"])));
    }
    // One for the change, and at most one for the last who has joined.
    let made = site.metric("prony_live_answers_total") - before;
    assert!(made <= 2, "{made} answers for one change");
}

#[test]
fn a_client_that_reads_slowly_gets_the_newest_answer_and_is_not_cut() {
    const ANSWERS: usize = 80;
    let site = Site::sqlite(|settings| {
        settings.subscriptions.max_queued_messages = 2;
        // However long the mutations take here: that it does not read for so long is another limit.
        settings.write_timeout = 10 * PATIENCE;
    });
    let mut slow = site.subscribe(ARTISTS);
    let mut reader = site.subscribe(&format!("{ARTISTS}  "));
    assert_eq!(reader.next(), next(&names(&[])));
    site.create(1000, "x");
    assert_eq!(reader.next(), next(&names(&["x"])));
    // More than the kernel's buffers hold.
    let long = "y".repeat(120_000);
    for number in 0..ANSWERS {
        let name = format!("{number}{long}");
        site.rename(1000, &name);
        assert_eq!(reader.next(), next(&names(&[&name])));
    }
    let newest = next(&names(&[&format!("{}{long}", ANSWERS - 1)]));
    let came =
        std::iter::repeat_with(|| slow.next()).take(ANSWERS).take_while(|answer| *answer != newest).count();
    assert!(came < ANSWERS, "none was left out, or the newest did not come");
    assert_eq!(site.metric("prony_slow_consumers_total"), 0);
}

#[test]
fn they_go_on_when_postgresql_comes_back() {
    let cluster = Cluster::start_new().expect("PostgreSQL starts");
    let sample = std::fs::read_to_string(postgres_path()).expect("the sample is there");
    cluster.execute("postgres", &sample).expect("the sample is right");
    let site = Site::postgres(&cluster.url("postgres"), |_| {});
    let mut socket = site.subscribe(ARTISTS);
    assert_eq!(socket.next(), next(&names(&[])));
    site.create(1000, "Ann");
    assert_eq!(socket.next(), next(&names(&["Ann"])));
    cluster.stop().expect("it stops");
    // Who comes now has an answer made, which cannot be: all are told.
    let mut second = site.subscribe(ARTISTS);
    for socket in [&mut socket, &mut second] {
        let failed = socket.next();
        assert!(failed.contains(r#""errors""#) && failed.contains("SOURCE_"), "{failed}");
    }
    cluster.start().expect("it starts");
    // Without anybody's help; the errors may change meanwhile.
    for socket in [&mut socket, &mut second] {
        until(socket, &next(&names(&["Ann"])));
    }
    let deadline = Instant::now() + PATIENCE;
    let create = r#"mutation { createArtist(artist_id: 1001, name: "Bob") { artist_id } }"#;
    while site.ask(create).contains("errors") {
        assert!(Instant::now() < deadline, "nothing can be written any more");
    }
    for socket in [&mut socket, &mut second] {
        until(socket, &next(&names(&["Ann", "Bob"])));
    }
}

/// Has PostgreSQL's triggers tell of all tables.
fn install_triggers(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let triggers = Triggers::open(url, TriggersRequest::default()).await.expect("it can be reached");
        triggers.install().await.expect("the tables are ours");
    });
}

fn listens(settings: &mut Settings) {
    give_options(settings, "listen = true");
}

#[test]
fn what_others_change_is_answered_anew_where_it_is_listened_to() {
    let database = postgres_database();
    install_triggers(&database.url());
    let (site, deaf) = (Site::postgres(&database.url(), listens), Site::postgres(&database.url(), |_| {}));
    let (mut socket, mut unaware) = (site.subscribe(ARTISTS), deaf.subscribe(ARTISTS));
    assert_eq!([socket.next(), unaware.next()], [next(&names(&[])), next(&names(&[]))]);
    database.execute("insert into artist (artist_id, name) values (1000, 'Ann'), (1001, 'Bob')");
    assert_eq!(socket.next(), next(&names(&["Ann", "Bob"])));
    // A change of another table, one that is taken back, and one that leaves all as it was: no answer.
    database.execute("insert into genre (genre_id, name) values (999, 'Prony')");
    database.execute("begin; delete from artist where artist_id >= 1000; rollback");
    database.execute("update artist set name = 'Ann' where artist_id = 1000");
    database.execute("delete from artist where artist_id = 1000");
    assert_eq!(socket.next(), next(&names(&["Bob"])));
    // What this server changes itself is told by the triggers too, and answered once.
    site.rename(1001, "Eve");
    assert_eq!(socket.next(), next(&names(&["Eve"])));
    database.execute("truncate artist cascade");
    assert_eq!(socket.next(), next(&names(&[])));
    assert_eq!(deaf.metric("prony_live_answers_total"), 1, "nobody has told it");
    deaf.create(1002, "Max");
    assert_eq!([socket.next(), unaware.next()], [next(&names(&["Max"])), next(&names(&["Max"]))]);
}

#[test]
fn what_others_change_while_nobody_can_listen_is_in_the_next_answer() {
    let cluster = Cluster::start_new().expect("PostgreSQL starts");
    let sample = std::fs::read_to_string(postgres_path()).expect("the sample is there");
    cluster.execute("postgres", &sample).expect("the sample is right");
    let url = cluster.url("postgres");
    install_triggers(&url);
    let site = Site::postgres(&url, listens);
    let mut socket = site.subscribe(ARTISTS);
    assert_eq!(socket.next(), next(&names(&[])));
    let insert = |id: u32, name: &str| {
        let insert = format!("insert into artist (artist_id, name) values ({id}, '{name}')");
        cluster.execute("postgres", &insert).expect("the row is new");
    };
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity
        where query ilike '%pg_current_snapshot%' and pid <> pg_backend_pid()";
    cluster.query("postgres", cut).expect("connections may be cut");
    insert(1000, "Ann");
    until(&mut socket, &next(&names(&["Ann"])));
    cluster.stop().expect("it stops");
    cluster.start().expect("it starts");
    insert(1001, "Bob");
    let (before, after) = (next(&names(&["Ann"])), next(&names(&["Ann", "Bob"])));
    loop {
        let answer = socket.next();
        if answer == after {
            return;
        }
        assert!(answer == before || answer.contains(r#""errors""#), "{answer}");
    }
}

/// Reads answers until one is as expected; those before it say that the database could not be asked.
fn until(socket: &mut Socket, expected: &str) {
    loop {
        let answer = socket.next();
        if answer == expected {
            return;
        }
        assert!(answer.contains(r#""errors""#), "{answer}");
    }
}

#[test]
fn a_graph_has_live_queries_too() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let running = start(&format!("graph:{}", directory.path().display()), |_| {});
    let site = Site { running, is_sqlite: false, _copy: None };
    let mut calls = Wire::to(site.address());
    let mut call = |method: &str, path: &str| {
        calls.send(format!("{method} /db/rage{path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        let response = calls.response();
        assert!(response.starts_with("HTTP/1.1 20"), "{response}");
    };
    for path in ["/schema/nodes/User", "/schema/nodes/Shop", "/node/User/Max"] {
        call("POST", path);
    }
    let deadline = Instant::now() + PATIENCE;
    while site.ask("{ users { _key } shops { _key } }").contains("errors") {
        assert!(Instant::now() < deadline, "the types are never served");
    }
    let mut socket = site.subscribe("subscription { users(sort: {_key: asc}) { _key neighbors { _key } } }");
    assert_eq!(socket.next(), next(r#"{"data":{"users":[{"_key":"Max","neighbors":[]}]}}"#));
    call("POST", "/node/User/Ann");
    let both = r#"{"data":{"users":[{"_key":"Ann","neighbors":[]},{"_key":"Max","neighbors":[]}]}}"#;
    assert_eq!(socket.next(), next(both));
    call("POST", "/node/User/Ann/relationship/User/Max/FRIEND");
    let friends = r#"{"data":{"users":[{"_key":"Ann","neighbors":[{"_key":"Max"}]},{"_key":"Max","neighbors":[{"_key":"Ann"}]}]}}"#;
    assert_eq!(socket.next(), next(friends));
}

#[test]
fn a_subscription_has_one_field_also_of_live_queries() {
    let site = Site::sqlite(|_| {});
    let mut socket = site.subscribe("subscription { artists(limit: 1) { name } genres(limit: 1) { name } }");
    let refused = socket.next();
    assert!(refused.contains("can only have one root field"), "{refused}");
}
