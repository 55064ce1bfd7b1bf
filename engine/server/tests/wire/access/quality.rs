//! How much of an operation runs at a time, what is executed once for all, and what is kept of responses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use prony_server::{
    config::{CoreChoice, Reload, Settings},
    resolvers::{Error, Resolvers, Schema},
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use super::{access, ask, bearer, body, signed, unix_now};
use crate::{
    sockets::{Socket, TRANSPORT, subscribe},
    support::{PATIENCE, Server, Wire, get, post_with, query},
};

const AUTH: &str = r#"
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
role = "visitor"
claims = { role = "/role", "user.id" = "/customer" }
"#;

/// Everybody may do everything.
fn with_rules(rules: &str) -> String {
    format!("{AUTH}[roles.visitor]\nunrestricted = true\n{rules}")
}

const SDL: &str = "
    type Query { slow(key: Int): Int! fails(key: Int): Int! quick: Int! }
    type Mutation { write: Int! slowWrite: Int! }";

/// What functions do and wait for.
struct Gate {
    begun: AtomicUsize,
    ended: AtomicUsize,
    open: Semaphore,
}

#[derive(Deserialize)]
struct Key {
    #[expect(dead_code, reason = "it makes requests different")]
    key: Option<i32>,
}

/// Counts an execution that ends, however it does.
struct Execution(Arc<Gate>);

impl Drop for Execution {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, SeqCst);
    }
}

impl Gate {
    fn functions() -> (Arc<Self>, Resolvers) {
        let gate = Arc::new(Self {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            open: Semaphore::new(0),
        });
        let execute = |gate: Arc<Self>| async move {
            let number = gate.begun.fetch_add(1, SeqCst) + 1;
            let _execution = Execution(Arc::clone(&gate));
            gate.open.acquire().await.expect("it is never closed").forget();
            i32::try_from(number).expect("they are few")
        };
        let context = Context(Arc::clone(&gate));
        let resolvers = Schema::new(SDL, context)
            .async_field("Query.slow", move |context: Arc<Context>, _: Key| execute(Arc::clone(&context.0)))
            .async_field("Query.fails", move |context: Arc<Context>, _: Key| async move {
                execute(Arc::clone(&context.0)).await;
                Err::<i32, _>(Error::new("it never works"))
            })
            .field("Query.quick", |context: &Context, (): ()| {
                i32::try_from(context.0.begun.fetch_add(1, SeqCst) + 1).expect("they are few")
            })
            .field("Mutation.write", |_: &Context, (): ()| 0)
            .async_field("Mutation.slowWrite", move |context: Arc<Context>, (): ()| {
                execute(Arc::clone(&context.0))
            })
            .build()
            .expect("it fits");
        (gate, resolvers)
    }

    fn until_begun(&self, count: usize) {
        until(&format!("{count} begin"), || self.begun.load(SeqCst) >= count);
        assert_eq!(self.begun.load(SeqCst), count);
    }

    fn until_ended(&self, count: usize) {
        until(&format!("{count} end"), || self.ended.load(SeqCst) >= count);
    }
}

struct Context(Arc<Gate>);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not come to be that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn gated(rules: &str, change: impl FnOnce(&mut Settings)) -> (Arc<Gate>, Server) {
    let (gate, resolvers) = Gate::functions();
    let access = access(&with_rules(rules));
    let server = Server::functions(resolvers, |settings| {
        settings.access = access;
        change(settings);
    });
    (gate, server)
}

fn user(name: &str) -> String {
    bearer(&signed(
        &json!({"iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 600, "sub": name, "customer": 1}),
    ))
}

/// Sends a query over a connection of its own, and does not wait.
fn send(server: &Server, headers: &str, query: &str) -> Wire {
    let mut wire = server.connect();
    let headers = format!("content-type: application/json\r\n{headers}");
    wire.send(post_with(&headers, &json!({ "query": query }).to_string()));
    wire
}

fn last_line(wire: &mut Wire) -> String {
    wire.response().lines().last().unwrap_or_default().to_owned()
}

fn has_response(wire: &Wire) -> bool {
    wire.stream.set_nonblocking(true).expect("sockets have it");
    let has_come = wire.stream.peek(&mut [0]).is_ok();
    wire.stream.set_nonblocking(false).expect("sockets have it");
    has_come
}

/// Of two requests one waits, and the other is one too many: the one that waits, and the other's response. Which, the cores
/// decide.
fn one_refused(one: Wire, other: Wire) -> (Wire, String) {
    until("one is refused", || has_response(&one) || has_response(&other));
    let (waits, mut refused) = if has_response(&one) { (other, one) } else { (one, other) };
    (waits, refused.response())
}

#[test]
fn so_many_of_a_user_run_and_wait_at_a_time() {
    let rules = r#"
[[operation]]
match = "Query.slow"
concurrency = { each = 1, max_waiting_each = 1, max_wait_ms = 30000 }
"#;
    let (gate, server) = gated(rules, |_| {});
    let (ann, bob) = (user("ann"), user("bob"));
    let mut first = send(&server, &ann, "{ slow }");
    gate.until_begun(1);
    let second = send(&server, &ann, "{ slow }");
    let third = send(&server, &ann, "{ slow }");
    let mut of_bob = send(&server, &bob, "{ slow }");
    gate.until_begun(2);
    let (mut second, refused) = one_refused(second, third);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("TOO_MANY_REQUESTS"), "{refused}");
    assert!(refused.contains("retry-after: 30\n"), "{refused}");
    let policy = "ratelimit-policy: \"Query.slow by user at a time\";q=1;qu=\"concurrent-requests\"\n";
    assert!(refused.contains(policy), "{refused}");
    gate.open.add_permits(3);
    let mut numbers = [last_line(&mut first), last_line(&mut of_bob), last_line(&mut second)];
    numbers[..2].sort();
    let number = |number: u32| format!("{{\"data\":{{\"slow\":{number}}}}}");
    assert_eq!(numbers, [number(1), number(2), number(3)]);
}

#[test]
fn who_waits_too_long_is_refused_and_who_leaves_makes_room() {
    let rules = r#"
[[operation]]
match = "Query.slow"
concurrency = { most = 1, max_waiting = 1, max_wait_ms = 200 }
[[operation]]
match = "Query.fails"
concurrency = { most = 1, max_waiting = 1, max_wait_ms = 60000 }
"#;
    let (gate, server) = gated(rules, |_| {});
    let _running = send(&server, "", "{ slow }");
    gate.until_begun(1);
    let started = Instant::now();
    let refused = ask(&server, &user("bob"), "{ slow }");
    assert!(
        refused.starts_with("HTTP/1.1 429") && started.elapsed() >= Duration::from_millis(200),
        "{refused}"
    );
    // Each that leaves takes its place in the queue with it.
    let _running = send(&server, "", "{ fails }");
    gate.until_begun(2);
    let (waiting, refused) = one_refused(send(&server, "", "{ fails }"), send(&server, "", "{ fails }"));
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    drop(waiting);
    let mut waiting = loop {
        let one = send(&server, "", "{ fails }");
        std::thread::sleep(Duration::from_millis(300));
        if !has_response(&one) {
            break one;
        }
    };
    gate.open.add_permits(3);
    assert!(last_line(&mut waiting).contains("it never works"));
    gate.until_begun(3);
}

#[test]
fn a_query_that_many_ask_at_the_same_time_is_executed_once() {
    const MANY: usize = 40;
    let rules = r#"
[[operation]]
match = "Query.slow"
deduplicate = true
[[operation]]
match = "Query.fails"
deduplicate = true
"#;
    let (gate, server) = gated(rules, |settings| settings.cores = CoreChoice::Count(3));
    let ask_all = |query: &str| -> Vec<Wire> {
        (0..MANY).map(|number| send(&server, &user(&number.to_string()), query)).collect()
    };
    let mut askers = ask_all("{ slow(key: 1) }");
    gate.until_begun(1);
    // Other arguments are another question, and other texts that mean the same are the same document only where they are equal.
    let mut other = send(&server, "", "{ slow(key: 2) }");
    gate.until_begun(2);
    // Whoever began it may leave.
    drop(askers.remove(0));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((gate.begun.load(SeqCst), gate.ended.load(SeqCst)), (2, 0));
    gate.open.add_permits(2);
    for asker in &mut askers {
        assert_eq!(last_line(asker), r#"{"data":{"slow":1}}"#);
    }
    assert_eq!(last_line(&mut other), r#"{"data":{"slow":2}}"#);
    // What has ended is not given to who comes later.
    let mut later = send(&server, "", "{ slow(key: 1) }");
    gate.until_begun(3);
    gate.open.add_permits(1);
    assert_eq!(last_line(&mut later), r#"{"data":{"slow":3}}"#);
    // An error is everybody's.
    let mut askers = ask_all("{ fails }");
    gate.until_begun(4);
    std::thread::sleep(Duration::from_millis(200));
    gate.open.add_permits(1);
    for asker in &mut askers {
        assert!(last_line(asker).contains("it never works"));
    }
    assert_eq!(gate.begun.load(SeqCst), 4);
    // Where all have left, nobody goes on.
    let askers = ask_all("{ slow(key: 4) }");
    gate.until_begun(5);
    drop(askers);
    gate.until_ended(5);
}

/// Whoever has written reads no response that was begun before.
#[test]
fn what_began_before_a_mutation_is_not_joined_after_it() {
    let rules = "[[operation]]\nmatch = \"Query.*\"\ndeduplicate = true\n";
    let (gate, server) = gated(rules, |_| {});
    let mut before = send(&server, "", "{ slow }");
    gate.until_begun(1);
    assert_eq!(body(&server, "", "mutation { write }"), r#"{"data":{"write":0}}"#);
    let mut after = send(&server, "", "{ slow }");
    gate.until_begun(2);
    gate.open.add_permits(2);
    assert_eq!(last_line(&mut before), r#"{"data":{"slow":1}}"#);
    assert_eq!(last_line(&mut after), r#"{"data":{"slow":2}}"#);
}

#[test]
fn a_response_of_functions_is_kept_until_a_mutation() {
    let rules = "[[operation]]\nmatch = \"Query.*\"\ncache = { ttl = \"1h\", scope = \"shared\" }\n";
    let (gate, server) = gated(rules, |_| {});
    let mut wire = server.connect();
    let ask = |wire: &mut Wire, query: &str| {
        wire.send(post_with("content-type: application/json\r\n", &json!({ "query": query }).to_string()));
        wire.response()
    };
    let first = ask(&mut wire, "{ quick }");
    assert!(first.contains("age: 0\n") && first.contains("cache-control: public, max-age=3600\n"), "{first}");
    assert!(first.contains("vary: accept, authorization, cookie, x-api-key, x-prony-role\n"), "{first}");
    assert!(first.ends_with("{\"data\":{\"quick\":1}}\n"), "{first}");
    assert_eq!(ask(&mut wire, "{ quick }"), first);
    // Of a function that waits it is kept too.
    gate.open.add_permits(1);
    let slow = ask(&mut wire, "{ slow }");
    assert!(slow.ends_with("{\"data\":{\"slow\":2}}\n"), "{slow}");
    assert_eq!(ask(&mut wire, "{ slow }"), slow);
    // Errors are not kept.
    gate.open.add_permits(2);
    for count in [3, 4] {
        let failed = ask(&mut wire, "{ fails }");
        assert!(failed.contains("it never works") && !failed.contains("etag"), "{failed}");
        assert_eq!(gate.begun.load(SeqCst), count);
    }
    assert!(ask(&mut wire, "mutation { write }").ends_with("{\"data\":{\"write\":0}}\n"));
    assert!(ask(&mut wire, "{ quick }").ends_with("{\"data\":{\"quick\":5}}\n"));
    // The connection has stayed where kept responses are written.
    assert!(server.ask(get("/metrics")).contains("prony_http_handovers_total{reason=\"response\"} 0"));
}

/// Some of it may be done.
#[test]
fn a_mutation_whose_client_has_gone_changes_what_is_kept() {
    let rules = "[[operation]]\nmatch = \"Query.*\"\ncache = { ttl = \"1h\", scope = \"shared\" }\n";
    let (gate, server) = gated(rules, |_| {});
    assert_eq!(body(&server, "", "{ quick }"), r#"{"data":{"quick":1}}"#);
    let leaves = send(&server, "", "mutation { slowWrite }");
    gate.until_begun(2);
    drop(leaves);
    gate.until_ended(1);
    assert_eq!(body(&server, "", "{ quick }"), r#"{"data":{"quick":3}}"#);
}

#[test]
fn a_mutation_has_its_place_to_its_end_whether_its_client_is_there_or_not() {
    let rules =
        "[[operation]]\nmatch = \"Mutation.slowWrite\"\nconcurrency = { most = 1, max_wait_ms = 200 }\n";
    let (gate, server) = gated(rules, |_| {});
    let leaves = send(&server, "", "mutation { slowWrite }");
    gate.until_begun(1);
    server.until_metric("prony_requests_in_flight", 2);
    drop(leaves);
    server.until_metric("prony_requests_in_flight", 1);
    let refused = ask(&server, "", "mutation { slowWrite }");
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    gate.open.add_permits(2);
    gate.until_ended(1);
    assert_eq!(body(&server, "", "mutation { slowWrite }"), r#"{"data":{"slowWrite":2}}"#);
}

/// It was written together with the response to the request behind it.
#[test]
fn a_response_does_not_wait_for_the_request_that_was_sent_behind_it() {
    let (gate, server) = gated("", |_| {});
    let mut wire = server.connect();
    wire.send(format!("{}{}", query("{ quick }"), query("{ slow }")));
    assert!(wire.response().ends_with("{\"data\":{\"quick\":1}}\n"));
    gate.until_begun(2);
    gate.open.add_permits(1);
    assert!(wire.response().ends_with("{\"data\":{\"slow\":2}}\n"));
}

/// What is kept on the way depends on what says who asks.
#[test]
fn headers_that_a_webhook_is_sent_are_named_in_vary() {
    let webhook = "[auth.webhook]\naddress = \"http://127.0.0.1:9/\"\nforward = [\"x-tenant\"]\n";
    let rules = "[[operation]]\nmatch = \"Query.*\"\ncache = { ttl = \"1h\", scope = \"shared\" }\n";
    let (_, server) = gated(&format!("{webhook}{rules}"), |_| {});
    let first = ask(&server, "", "{ quick }");
    assert!(
        first.contains("vary: accept, authorization, cookie, x-api-key, x-prony-role, x-tenant\n"),
        "{first}"
    );
}

/// A cache on the way gave what it had kept for a request without an origin to pages, whose browsers then refused it.
#[test]
fn the_origin_is_named_in_vary_where_pages_of_others_may_read() {
    let rules = "[[operation]]\nmatch = \"Query.*\"\ncache = { ttl = \"1h\", scope = \"shared\" }\n";
    let (_, server) = gated(rules, |settings| settings.cors_origins = vec!["https://a.test".to_owned()]);
    let first = ask(&server, "", "{ quick }");
    assert!(
        first.contains("vary: accept, authorization, cookie, x-api-key, x-prony-role, origin\n"),
        "{first}"
    );
}

const TABLES: &str = r#"
[roles.visitor.sources.chinook.tables.Album]
select = { columns = ["AlbumId", "Title"] }
[roles.visitor.sources.chinook.tables.Genre]
select = true
insert = true
[roles.customer.sources.chinook.tables.Invoice]
select = { columns = ["InvoiceId"], rows = { CustomerId = { eq = "$user.id" } } }
[[operation]]
match = "Query.albums"
cache = { ttl = "1h", scope = "shared" }
[[operation]]
match = "Query.genres"
cache = { ttl = "1h" }
[[operation]]
match = "Query.invoices"
cache = { ttl = "1h", scope = "shared" }
"#;

fn tables(change: impl FnOnce(&mut Settings)) -> Server {
    let access = access(&format!("{AUTH}{TABLES}"));
    Server::with(|settings| {
        settings.access = access;
        change(settings);
    })
}

/// How many root fields the database has answered.
fn executed(server: &Server) -> u64 {
    let metrics = server.ask(get("/metrics"));
    let line = metrics.lines().find(|line| line.starts_with("prony_source_fields_total"));
    let value = line.and_then(|line| line.rsplit(' ').next()).expect("it is there");
    value.parse::<f64>().expect("it is a number") as u64
}

#[test]
fn a_response_of_a_table_is_kept_until_the_table_changes() {
    let server = tables(|_| {});
    let genres = "{ genres(limit: 1, sort: {GenreId: desc}) { Name } }";
    let (ann, bob) = (user("ann"), user("bob"));
    let first = body(&server, &ann, genres);
    for _ in 0..3 {
        assert_eq!(body(&server, &ann, genres), first);
    }
    assert_eq!(executed(&server), 1);
    // Another user has another, and other variables, too.
    assert_eq!(body(&server, &bob, genres), first);
    assert_eq!(executed(&server), 2);
    body(&server, &ann, "{ genres(limit: 2, sort: {GenreId: desc}) { Name } }");
    assert_eq!(executed(&server), 3);
    for number in 100..110 {
        let write =
            format!("mutation {{ createGenre(GenreId: {number}, Name: \"n{number}\") {{ GenreId }} }}");
        assert!(body(&server, &bob, &write).contains("GenreId"));
        assert_eq!(
            body(&server, &ann, genres),
            format!("{{\"data\":{{\"genres\":[{{\"Name\":\"n{number}\"}}]}}}}")
        );
    }
    // What does not depend on it stays.
    let before = executed(&server);
    let albums = "{ albums(limit: 1) { Title } }";
    body(&server, &ann, albums);
    body(&server, &ann, "mutation { createGenre(GenreId: 200, Name: \"x\") { GenreId } }");
    body(&server, &bob, albums);
    assert_eq!(executed(&server), before + 2);
}

#[test]
fn rows_of_a_session_are_not_kept_for_others() {
    let server = tables(|_| {});
    let of = |customer: u64| {
        let claims = json!({"iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 600, "sub": "ann", "role": "customer", "customer": customer});
        body(&server, &bearer(&signed(&claims)), "{ invoices(limit: 1) { InvoiceId } }")
    };
    let (one, two) = (of(2), of(4));
    assert_ne!(one, two);
    assert_eq!((of(2), of(4)), (one, two));
    assert_eq!(executed(&server), 4, "a role that sees rows by its session shares nothing");
}

#[test]
fn a_client_that_has_the_response_is_told_so() {
    let server = tables(|_| {});
    let ask = |headers: &str| {
        let path = "/graphql?query=%7Balbums(limit:1)%7BTitle%7D%7D";
        server.ask(get(path).replace("\r\n\r\n", &format!("\r\n{headers}\r\n")))
    };
    let first = ask("");
    let etag = first.lines().find_map(|line| line.strip_prefix("etag: ")).expect("it has one").to_owned();
    assert!(etag.starts_with('"') && etag.len() == 34, "{etag}");
    for list in [etag.clone(), "*".to_owned(), format!("\"other\", W/{etag}")] {
        let known = ask(&format!("if-none-match: {list}\r\n"));
        assert!(known.starts_with("HTTP/1.1 304 Not Modified\n") && known.contains(&etag), "{known}");
        assert!(known.ends_with("\n\n") && !known.contains("data"), "{known}");
    }
    assert!(ask("if-none-match: \"other\"\r\n").starts_with("HTTP/1.1 200"));
    // Of a POST the field does not count.
    let headers = format!("content-type: application/json\r\nif-none-match: {etag}\r\n");
    let posted = server.ask(post_with(&headers, r#"{"query":"{albums(limit:1){Title}}"}"#));
    assert!(posted.starts_with("HTTP/1.1 200"), "{posted}");
}

#[test]
fn kept_responses_are_bounded_in_bytes() {
    let server = tables(|settings| settings.operation_limits.response_cache_bytes = 64 << 10);
    for limit in 1..200 {
        let query = format!("{{ albums(limit: {limit}) {{ Title }} }}");
        assert_eq!(body(&server, "", &query), body(&server, "", &query));
    }
    let metrics = server.ask(get("/metrics"));
    let line = metrics.lines().find(|line| line.starts_with("prony_cache_bytes{cache=\"responses\"}"));
    let bytes: f64 = line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("it is there");
    assert!(bytes > 0.0 && bytes <= 65_536.0, "{bytes}");
}

#[test]
fn a_subscription_counts_as_long_as_it_lives() {
    let rules = r#"
[[operation]]
match = "Subscription.*"
concurrency = { each = 2, subscriptions = true }
"#;
    let access = access(&with_rules(rules));
    let server = Server::with(|settings| settings.access = access);
    let mut socket = Socket::open(&server, TRANSPORT);
    socket.send(r#"{"type":"connection_init"}"#);
    assert!(socket.next().contains("connection_ack"));
    let live = "subscription { genres(limit: 1) { Name } }";
    for id in ["a", "b"] {
        socket.send(&subscribe(id, live));
        assert!(socket.next().contains("\"type\":\"next\""));
    }
    socket.send(&subscribe("c", live));
    let refused = socket.next();
    assert!(refused.contains("TOO_MANY_REQUESTS") && refused.contains("\"type\":\"error\""), "{refused}");
    socket.send(r#"{"type":"complete","id":"a"}"#);
    socket.send(&subscribe("d", live));
    assert!(socket.next().contains("\"type\":\"next\""));
}

const DAY: &str = "[[operation]]\nmatch = \"Query.albums\"\nquota = [{ by = \"user\", day = 3 }]\n";

#[test]
fn quotas_survive_a_restart_and_bad_files() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let path = folder.path().join("quotas.json");
    let start = || {
        let access = access(&with_rules(DAY));
        Server::with(|settings| {
            settings.access = access;
            settings.operation_limits.quota_file = path.clone();
        })
    };
    let count = |server: &Server| {
        let is_let_in = || body(server, "", "{ albums(limit: 1) { AlbumId } }").contains("AlbumId");
        (0..5).filter(|_| is_let_in()).count()
    };
    let server = start();
    assert!(body(&server, "", "{ albums(limit: 1) { AlbumId } }").contains("AlbumId"));
    drop(server);
    assert_eq!(count(&start()), 2);
    assert_eq!(count(&start()), 0);
    let whole = std::fs::read(&path).expect("it is there");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("it is ours");
    assert_eq!(count(&start()), 3, "a torn file is told, and counts begin anew");
    assert_eq!(count(&start()), 0);
    std::fs::remove_file(&path).expect("it is ours");
    std::fs::create_dir(&path).expect("it is ours");
    assert_eq!(count(&start()), 3, "what cannot be read or written stops nothing");
}

#[test]
fn a_reload_gives_back_no_limit_that_is_used_up() {
    let first = access(&with_rules(DAY));
    let again = with_rules(&format!("{DAY}[[operation]]\nmatch = \"Query.genres\"\nscopes = [\"none\"]\n"));
    let stamp = Arc::new(AtomicUsize::new(1));
    let seen = Arc::clone(&stamp);
    let server = Server::with(|settings| {
        settings.access = first;
        let stamp = move || Some(std::time::UNIX_EPOCH + Duration::from_secs(seen.load(SeqCst) as u64));
        settings.reload = Some(Reload::new(move || Ok(access(&again)), stamp));
    });
    let is_let_in = || body(&server, "", "{ albums(limit: 1) { AlbumId } }").contains("AlbumId");
    assert!(is_let_in() && is_let_in());
    stamp.fetch_add(1, SeqCst);
    until("the new rules hold", || body(&server, "", "{ genres { Name } }").contains("FORBIDDEN"));
    assert!(is_let_in() && !is_let_in());
}

/// It is checked where the request comes in, and counted where the stream is.
#[test]
fn an_operation_on_a_reserved_stream_is_counted_once() {
    let access = access(&with_rules(DAY));
    let server = Server::with(|settings| settings.access = access);
    let reserved = server.ask("PUT /graphql/stream HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let token = reserved.lines().last().expect("it has a body").to_owned();
    let mut stream = server.connect();
    let accept = "accept: text/event-stream\r\n\r\n";
    stream.send(get(&format!("/graphql/stream?token={token}")).replace("\r\n\r\n", &format!("\r\n{accept}")));
    for id in ["a", "b", "c", "d"] {
        let text = json!({"query": "{ albums(limit: 1) { AlbumId } }", "extensions": {"operationId": id}});
        let headers = format!("content-type: application/json\r\nx-graphql-event-stream-token: {token}\r\n");
        let request = post_with(&headers, &text.to_string()).replace("/graphql ", "/graphql/stream ");
        let started = server.ask(request);
        assert!(started.starts_with("HTTP/1.1 202"), "{started}");
        let event = stream.until("event: complete");
        assert_eq!(event.contains("TOO_MANY_REQUESTS"), id == "d", "{event}");
    }
}
