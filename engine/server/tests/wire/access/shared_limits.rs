//! Limits that two servers share in a Redis: counted by their sum, with a Redis that goes, comes back, hangs, or wants a password.

use std::{
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use prony_server::{
    config::{AccessSettings, RedisSettings, Reload, Settings},
    resolvers::{Resolvers, Schema},
};
use prony_testkit::RedisServer;
use serde_json::{Value as Json, json};

use super::ask;
use crate::{
    sockets::{Socket, subscribe},
    support::{PATIENCE, Server, get, post_with},
};

const HEAD: &str = "[auth]\nanonymous = \"visitor\"\n[roles.visitor]\nunrestricted = true\n";

fn resolvers() -> Resolvers {
    let resolvers = Schema::new("type Query { quick: Int! }", ());
    resolvers.field("Query.quick", |(): &(), (): ()| 7).build().expect("it fits")
}

/// A server that shares its limits with the others of a Redis.
fn server(redis: &RedisServer, rules: &str, limits: &str) -> Server {
    // A loaded machine is no Redis that hangs.
    served(&url(redis), rules, &format!("redis_timeout_ms = 5000\n{limits}"))
}

fn url(redis: &RedisServer) -> String {
    format!("redis://127.0.0.1:{}", redis.port())
}

/// As a file says it.
fn served(url: &str, rules: &str, limits: &str) -> Server {
    let Settings { access, operation_limits, .. } = settings(url, rules, limits);
    Server::functions(resolvers(), |settings| {
        settings.access = access;
        settings.operation_limits = operation_limits;
    })
}

fn settings(url: &str, rules: &str, limits: &str) -> Settings {
    super::settings(&format!("{HEAD}{rules}\n[limits]\nredis = {url:?}\n{limits}\n"))
}

/// How many of so many requests are let in; all others are told that the limit is reached.
fn let_in(server: &Server, requests: usize) -> usize {
    let mut wire = server.connect();
    let mut count = 0;
    for _ in 0..requests {
        wire.send(post_with("content-type: application/json\r\n", r#"{"query":"{ quick }"}"#));
        let response = wire.response();
        if response.starts_with("HTTP/1.1 200") {
            count += 1;
        } else {
            assert!(response.starts_with("HTTP/1.1 429"), "{response}");
            assert!(response.contains("ratelimit-policy: ") && response.contains("TOO_MANY_REQUESTS"));
        }
    }
    count
}

/// The status of one request.
fn status(server: &Server) -> String {
    ask(server, "", "{ quick }")["HTTP/1.1 ".len()..][..3].to_owned()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not come to be that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn health(server: &Server) -> Json {
    let response = server.ask(get("/health"));
    let body = response.lines().last().expect("there is a body");
    serde_json::from_str::<Json>(body).expect("it is JSON")["shared_limits"].clone()
}

fn metric(server: &Server, name: &str) -> u64 {
    let metrics = server.ask(get("/metrics"));
    let line = metrics.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("there is no {name}"));
    let value = line.rsplit(' ').next().and_then(|value| value.strip_suffix(".0"));
    value.and_then(|value| value.parse().ok()).expect("it is a whole number")
}

/// Of all servers together, asked from several connections at the same time until they refuse.
fn sum(servers: &[&Server], requests: usize) -> usize {
    const CONNECTIONS: usize = 3;
    let begin = Barrier::new(servers.len() * CONNECTIONS);
    std::thread::scope(|scope| {
        let each = servers.iter().flat_map(|server| [server; CONNECTIONS]);
        let each = each.map(|server| {
            scope.spawn(|| {
                begin.wait();
                let_in(server, requests)
            })
        });
        let each: Vec<_> = each.collect();
        each.into_iter().map(|thread| thread.join().expect("it has not panicked")).sum()
    })
}

const CHANGES: &str = "subscription { onDonutUpdated(id: \"1\") { id } }";

const DAILY: &str = "
[[operation]]
match = \"Query.quick\"
quota = [{ by = \"everybody\", month = 500 }]
";

#[test]
fn a_quota_is_exact_over_two_servers_and_what_is_not_used_is_given_back() {
    let redis = RedisServer::start(&[]);
    let (one, other) = (server(&redis, DAILY, ""), server(&redis, DAILY, ""));
    let at_once = sum(&[&one, &other], 200);
    assert!((400..=500).contains(&at_once), "{at_once} of 500, in the first run");
    assert!(metric(&one, "prony_shared_limits_calls_total") < 300, "calls are for many requests");
    // What one has taken ahead comes to the other when it is not used.
    let mut all = at_once;
    until("all of it is used", || {
        all += let_in(&one, 5) + let_in(&other, 5);
        assert!(all <= 500, "{all} of 500");
        all == 500
    });
    assert_eq!(sum(&[&one, &other], 20), 0);
    assert_eq!(metric(&one, "prony_shared_limits_fallbacks_total"), 0);
    assert_eq!(metric(&one, "prony_shared_limits_reachable"), 1);
    assert_eq!(health(&one)["status"], "ok");
    // A third one comes later.
    assert_eq!(let_in(&server(&redis, DAILY, ""), 5), 0);
}

#[test]
fn a_burst_is_exact_over_two_servers() {
    let redis = RedisServer::start(&[]);
    let rules = "
[[operation]]
match = \"Query.quick\"
rate_limit = [{ by = \"address\", rate = \"5/d\", burst = 300 }]
";
    let (one, other) = (server(&redis, rules, ""), server(&redis, rules, ""));
    let at_once = sum(&[&one, &other], 150);
    assert!((200..=300).contains(&at_once), "{at_once} of 300");
    let mut all = at_once;
    until("all of it is used", || {
        all += let_in(&one, 5) + let_in(&other, 5);
        assert!(all <= 300, "{all} of 300");
        all == 300
    });
    // Without anything ahead each request asks, and the sum is exact at once.
    let rules = &rules.replace("300", "100");
    let ahead = "redis_ahead_ms = 0";
    let (one, other) = (server(&redis, rules, ahead), server(&redis, rules, ahead));
    assert_eq!(sum(&[&one, &other], 40), 100);
}

#[test]
fn each_server_counts_for_itself_while_redis_is_gone() {
    let rules = DAILY.replace("500", "20");
    let redis = RedisServer::start(&[]);
    let (port, one) = (redis.port(), server(&redis, &rules, ""));
    let other = server(&redis, &rules, "");
    assert_eq!(let_in(&one, 12), 12);
    drop(redis);
    // What was counted here counts on; the other has all of it.
    assert_eq!(let_in(&one, 30), 8);
    assert_eq!(let_in(&other, 30), 20);
    let found = health(&one);
    assert_eq!((&found["status"], &found["limits"]), (&json!("unreachable"), &json!("local")));
    assert!(found["failing_since"].is_u64(), "{found}");
    assert!(metric(&one, "prony_shared_limits_fallbacks_total{limits=\"local\"}") >= 8);
    assert_eq!(metric(&one, "prony_shared_limits_reachable"), 0);
    // A new one knows nothing of what was counted.
    let redis = RedisServer::start_at(port, &[]);
    until("both reach it", || health(&one)["status"] == "ok" && health(&other)["status"] == "ok");
    assert_eq!(sum(&[&one, &other], 2), 12);
    let mut all = 12;
    until("all of it is used", || {
        all += let_in(&one, 2) + let_in(&other, 2);
        assert!(all <= 20, "{all} of 20");
        all == 20
    });
    drop(redis);
}

#[test]
fn operations_with_limits_are_refused_while_redis_is_gone_where_that_is_chosen() {
    let redis = RedisServer::start(&[]);
    let port = redis.port();
    let rules = "
[[operation]]
name = \"Limited\"
rate_limit = [{ by = \"user\", rate = \"1/d\", burst = 100 }]
";
    let server = server(&redis, rules, "redis_unreachable = \"refuse\"\nredis_ahead_ms = 0");
    let limited = |server: &Server| ask(server, "", "query Limited { quick }");
    assert!(limited(&server).starts_with("HTTP/1.1 200"));
    drop(redis);
    let refused = limited(&server);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    assert!(refused.contains("limits cannot be checked at present") && refused.contains("OVERLOADED"));
    assert_eq!(status(&server), "200", "what has no limits is executed");
    assert_eq!(health(&server)["limits"], "refuse");
    let label = "prony_operation_refusals_total{operation=\"Limited\",reason=\"unreachable\"}";
    assert!(metric(&server, label) >= 1);
    let _redis = RedisServer::start_at(port, &[]);
    until("it is executed again", || limited(&server).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_redis_that_hangs_is_not_waited_for_longer_than_allowed() {
    let redis = RedisServer::start(&[]);
    let limits = "redis_unreachable = \"refuse\"\nredis_ahead_ms = 0\nredis_timeout_ms = 100";
    let server = served(&url(&redis), DAILY, limits);
    assert_eq!(status(&server), "200");
    redis.suspend();
    let begin = Instant::now();
    assert_eq!(status(&server), "503");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // From now on nobody waits for it.
    until("it is known to hang", || health(&server)["status"] == "unreachable");
    assert_eq!(let_in_or_unavailable(&server, 50), 0);
    redis.resume();
    until("it is executed again", || status(&server) == "200");
}

fn let_in_or_unavailable(server: &Server, requests: usize) -> usize {
    (0..requests).filter(|_| status(server) != "503").count()
}

#[test]
fn a_password_is_given_and_scripts_that_were_removed_are_given_again() {
    let redis = RedisServer::start(&["--requirepass", "secret"]);
    let url = format!("redis://:secret@127.0.0.1:{}/3", redis.port());
    let server = served(&url, DAILY, "redis_ahead_ms = 0\nredis_prefix = \"shop:\"");
    assert_eq!(let_in(&server, 3), 3);
    assert_eq!(health(&server)["redis"], format!("redis://127.0.0.1:{}", redis.port()));
    redis.command(&["-a", "secret", "script", "flush"]);
    assert_eq!(let_in(&server, 3), 3);
    assert_eq!(metric(&server, "prony_shared_limits_failures_total"), 0);
    let keys = redis.command(&["-a", "secret", "-n", "3", "keys", "*"]);
    let keys: Vec<&str> = keys.lines().collect();
    assert!(matches!(keys[..], [key] if key.starts_with("shop:")), "{keys:?}");
    assert_eq!(redis.command(&["-a", "secret", "-n", "3", "get", keys[0]]).trim(), "6");
    let ttl_s: i64 =
        redis.command(&["-a", "secret", "-n", "3", "ttl", keys[0]]).trim().parse().expect("a number");
    assert!((1..=32 * 86_400).contains(&ttl_s), "{ttl_s}");
    // A wrong one is said, and each counts for itself.
    let wrong = served(&url.replace("secret", "wrong"), DAILY, "");
    assert_eq!(let_in(&wrong, 3), 3);
    assert_eq!(health(&wrong)["status"], "unreachable");
}

/// It was counted when it failed, and again before it was made anew.
#[test]
fn a_connection_that_fails_counts_once() {
    let redis = RedisServer::start(&[]);
    let server = server(&redis, DAILY, "redis_ahead_ms = 0");
    assert_eq!(let_in(&server, 1), 1);
    redis.command(&["client", "kill", "type", "normal"]);
    assert_eq!(let_in(&server, 1), 1);
    until("it is reached again", || {
        metric(&server, "prony_shared_limits_failures_total") > 0 && health(&server)["status"] == "ok"
    });
    assert_eq!(metric(&server, "prony_shared_limits_failures_total"), 1);
}

#[test]
fn what_a_server_holds_is_given_back_when_it_stops() {
    let redis = RedisServer::start(&[]);
    let rules = DAILY.replace("500", "1000");
    let first = server(&redis, &rules, "redis_ahead_ms = 60000");
    assert_eq!(let_in(&first, 50), 50);
    drop(first);
    let second = server(&redis, &rules, "redis_ahead_ms = 0");
    assert_eq!(let_in(&second, 1_000), 950);
}

/// The counts are those of the Redis that the configuration names at present, and the server's own where it names none.
#[test]
fn another_redis_is_taken_at_a_reload() {
    let (first, second) = (RedisServer::start(&[]), RedisServer::start(&[]));
    let limits = "redis_ahead_ms = 0\nredis_timeout_ms = 5000";
    let (next, changes) = (Arc::new(Mutex::new(url(&first))), Arc::new(AtomicU64::new(1)));
    let (to_read, to_stamp) = (Arc::clone(&next), Arc::clone(&changes));
    let read = move || Ok(settings(&to_read.lock().expect("no test panics with it"), DAILY, limits));
    let stamp = move || Some(SystemTime::UNIX_EPOCH + Duration::from_secs(to_stamp.load(Ordering::SeqCst)));
    let Settings { access, operation_limits, .. } = settings(&url(&first), DAILY, limits);
    let server = Server::functions(resolvers(), |settings| {
        settings.access = access;
        settings.operation_limits = operation_limits;
        settings.reload = Some(Reload::new(read, stamp));
    });
    let configure = |url: &str| {
        url.clone_into(&mut next.lock().expect("no test panics with it"));
        changes.fetch_add(1, Ordering::SeqCst);
    };
    let used = |redis: &RedisServer| {
        let key = redis.command(&["keys", "*"]);
        redis.command(&["get", key.trim()]).trim().to_owned()
    };
    assert_eq!(let_in(&server, 3), 3);
    configure(&url(&second));
    until("the second is asked", || health(&server)["redis"] == url(&second));
    assert_eq!(let_in(&server, 5), 5);
    assert_eq!((used(&first), used(&second)), ("3".to_owned(), "5".to_owned()));
    // Nothing is shared any more; then there is a Redis again, which cannot be reached.
    configure("");
    until("none is asked", || health(&server).is_null());
    assert_eq!(let_in(&server, 2), 2);
    configure("redis://127.0.0.1:1");
    until("one is asked in vain", || health(&server)["status"] == "unreachable");
    assert_eq!(let_in(&server, 2), 2);
    configure(&url(&first));
    until("the first is asked", || health(&server)["status"] == "ok");
    assert_eq!(let_in(&server, 4), 4);
    assert_eq!((used(&first), used(&second)), ("7".to_owned(), "5".to_owned()));
}

#[test]
fn queries_and_subscriptions_of_sockets_are_limited_too() {
    let redis = RedisServer::start(&[]);
    let rules = "
[[operation]]
match = \"*\"
rate_limit = [{ by = \"address\", rate = \"1/d\", burst = 3 }]
";
    let Settings { access, operation_limits, .. } = settings(&url(&redis), rules, "redis_ahead_ms = 0");
    let donuts = |access: Arc<AccessSettings>| {
        Server::donuts(|settings| {
            settings.access = access;
            settings.operation_limits = operation_limits.clone();
        })
    };
    let (one, other) = (donuts(Arc::clone(&access)), donuts(access));
    let mut sockets = [&one, &other].map(Socket::ready);
    let query = |id: &str| subscribe(id, "{ __typename }");
    let complete = |id: &str| json!({ "id": id, "type": "complete" });
    sockets[0].send(&query("a"));
    assert!(sockets[0].next().contains("Query"));
    assert_eq!(message(&mut sockets[0]), complete("a"));
    sockets[1].send(&subscribe("s", CHANGES));
    sockets[1].send(&query("b"));
    assert!(sockets[1].next().contains("Query"));
    assert_eq!(message(&mut sockets[1]), complete("b"));
    for (socket, id) in sockets.iter_mut().zip(["c", "d"]) {
        socket.send(&subscribe(id, CHANGES));
        let refused = message(socket);
        assert!(refused["id"] == id && refused.to_string().contains("TOO_MANY_REQUESTS"), "{refused}");
        assert_eq!(message(socket), complete(id));
    }
}

fn message(socket: &mut Socket) -> Json {
    serde_json::from_str(&socket.next()).expect("messages are JSON")
}

#[test]
fn an_address_that_is_none_is_a_fault_of_the_configuration() {
    let settings = RedisSettings::default();
    assert!(settings.url.is_empty() && !format!("{settings:?}").contains("url"));
    let file = "[limits]\nredis = \"http://localhost\"\n[[source]]\nurl = \"sqlite:none.db\"\n";
    let file = Some((std::path::Path::new("prony.toml"), file));
    let read = prony_server::config::load(
        crate::support::KINDS,
        file,
        prony_server::config::CommandLine::default(),
        &|_| None,
    );
    let faults = read.expect_err("it is none").to_string();
    assert!(faults.contains("prony.toml:2:9: write redis://HOST:PORT"), "{faults}");
}
