//! Tables of conversations: what a client sends, and what comes of each of its texts.

use std::fmt::Write as _;

use expect_test::{Expect, expect, expect_file};

use super::*;

/// Sends the lines one after the other; of each it shows what it did.
fn check(dialect: Dialect, texts: &[&str], expected: &Expect) {
    let mut session = Session::new(dialect, 2);
    let mut log = String::new();
    for text in texts {
        writeln!(log, "> {text}").unwrap();
        let actions = match *text {
            "(binary)" => session.receive_binary(),
            "(time)" => session.init_time_over(),
            "(restart)" => session.close(Close::restart()),
            text => session.receive(text),
        };
        for action in &actions {
            show(&mut log, action);
        }
    }
    expected.assert_eq(&log);
}

fn show(log: &mut String, action: &Action) {
    match action {
        Action::Meet(payload) => writeln!(log, "  meet {payload}"),
        Action::Renew(payload) => writeln!(log, "  renew {payload}"),
        Action::Send(text) => writeln!(log, "  {text}"),
        Action::Start { id, parameters } => writeln!(
            log,
            "  start {id}: {} {:?} {}",
            parameters.query,
            parameters.operation_name,
            serde_json::to_string(&parameters.variables).unwrap()
        ),
        Action::Stop { id } => writeln!(log, "  stop {id}"),
        Action::Close(close) => writeln!(log, "  close {} {}", close.code, close.reason),
    }
    .unwrap();
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the texts beside it")]
fn transport(texts: &[&str], expected: Expect) {
    check(Dialect::Transport, texts, &expected);
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the texts beside it")]
fn legacy(texts: &[&str], expected: Expect) {
    check(Dialect::Legacy, texts, &expected);
}

const INIT: &str = r#"{"type":"connection_init"}"#;

#[test]
fn transport_runs_operations() {
    transport(
        &[
            INIT,
            r#"{"id":"a","type":"subscribe","payload":{"query":"subscription ($n: Int) { ticks(n: $n) }","operationName":null,"variables":{"n":1},"extensions":{}}}"#,
            r#"{"type":"subscribe","payload":{"query":"{ x }"},"id":"\"b\n"}"#,
            r#"{"id":"a","type":"complete"}"#,
            r#"{"id":"a","type":"complete"}"#,
            r#"{"id":"a","type":"subscribe","payload":{"query":"{ again }"}}"#,
        ],
        expect![[r#"
            > {"type":"connection_init"}
              {"type":"connection_ack"}
            > {"id":"a","type":"subscribe","payload":{"query":"subscription ($n: Int) { ticks(n: $n) }","operationName":null,"variables":{"n":1},"extensions":{}}}
              start a: subscription ($n: Int) { ticks(n: $n) } None {"n":1}
            > {"type":"subscribe","payload":{"query":"{ x }"},"id":"\"b\n"}
              start "b
            : { x } None {}
            > {"id":"a","type":"complete"}
              stop a
            > {"id":"a","type":"complete"}
            > {"id":"a","type":"subscribe","payload":{"query":"{ again }"}}
              start a: { again } None {}
        "#]],
    );
}

#[test]
fn transport_answers_pings_at_any_time() {
    transport(
        &[
            r#"{"type":"ping"}"#,
            r#"{"type":"ping","payload":{"n":[1, 2]}}"#,
            r#"{"type":"ping","payload":null}"#,
            r#"{"type":"pong"}"#,
            r#"{"type":"pong","payload":{}}"#,
            INIT,
            r#"{"type":"ping"}"#,
        ],
        expect![[r#"
            > {"type":"ping"}
              {"type":"pong"}
            > {"type":"ping","payload":{"n":[1, 2]}}
              {"type":"pong","payload":{"n":[1, 2]}}
            > {"type":"ping","payload":null}
              {"type":"pong"}
            > {"type":"pong"}
            > {"type":"pong","payload":{}}
            > {"type":"connection_init"}
              {"type":"connection_ack"}
            > {"type":"ping"}
              {"type":"pong"}
        "#]],
    );
}

/// Conversations that end in a violation.
const VIOLATIONS: &[&[&str]] = &[
    &["nonsense"],
    &["null"],
    &["[]"],
    &[r#"["connection_init"]"#],
    &[r#"{"type":"connection_init""#],
    &["{}"],
    &[r#"{"type":7}"#],
    &[r#"{"type":null}"#],
    &[r#"{"type":"start"}"#],
    &[r#"{"type":"connection_ack"}"#],
    &[r#"{"type":"next","id":"a","payload":{}}"#],
    &[r#"{"type":"connection_init","payload":"text"}"#],
    &[r#"{"type":"connection_init","type":"ping"}"#],
    &[r#"{"type":"ping","payload":[]}"#],
    &[r#"{"type":"pong","payload":1}"#],
    &[INIT, INIT],
    &[r#"{"id":"a","type":"subscribe","payload":{"query":"{ x }"}}"#],
    &["(time)"],
    &[INIT, "(time)"],
    &["(binary)"],
    &[INIT, "(binary)"],
    &[INIT, r#"{"type":"subscribe","payload":{"query":"{ x }"}}"#],
    &[INIT, r#"{"id":"","type":"subscribe","payload":{"query":"{ x }"}}"#],
    &[INIT, r#"{"id":1,"type":"subscribe","payload":{"query":"{ x }"}}"#],
    &[INIT, r#"{"id":"a","type":"subscribe"}"#],
    &[INIT, r#"{"id":"a","type":"subscribe","payload":{}}"#],
    &[INIT, r#"{"id":"a","type":"subscribe","payload":{"query":["{ x }"]}}"#],
    &[INIT, r#"{"id":"a","type":"subscribe","payload":{"query":"{ x }","variables":"n"}}"#],
    &[INIT, r#"{"id":"a","type":"subscribe","payload":{"query":"{ x }","operationName":1}}"#],
    &[INIT, r#"{"type":"complete"}"#],
    &[
        INIT,
        r#"{"id":"a","type":"subscribe","payload":{"query":"{ x }"}}"#,
        r#"{"id":"a","type":"subscribe","payload":{"query":"{ x }"}}"#,
        r#"{"id":"a","type":"complete"}"#,
    ],
];

#[test]
fn transport_closes_at_each_violation() {
    let mut log = String::new();
    for texts in VIOLATIONS {
        let mut session = Session::new(Dialect::Transport, 2);
        for text in *texts {
            let actions = match *text {
                "(binary)" => session.receive_binary(),
                "(time)" => session.init_time_over(),
                text => session.receive(text),
            };
            let short = |text: &str| text.chars().take(80).collect::<String>();
            writeln!(log, "> {}", short(text)).unwrap();
            for action in &actions {
                show(&mut log, action);
            }
        }
        writeln!(log).unwrap();
    }
    expect_file!["violations.txt"].assert_eq(&log);
}

#[test]
fn legacy_runs_operations() {
    legacy(
        &[
            r#"{"type":"connection_init","payload":{"token":"x"}}"#,
            r#"{"id":"1","type":"start","payload":{"query":"{ x }"}}"#,
            r#"{"id":"1","type":"start","payload":{"query":"{ y }"}}"#,
            r#"{"id":"2","type":"start","payload":{"variables":{}}}"#,
            r#"{"id":"1","type":"stop"}"#,
            r#"{"id":"1","type":"stop"}"#,
            r#"{"id":null,"type":"connection_terminate"}"#,
            r#"{"id":"1","type":"start","payload":{"query":"{ x }"}}"#,
        ],
        expect![[r#"
            > {"type":"connection_init","payload":{"token":"x"}}
              {"type":"connection_ack"}
              {"type":"ka"}
            > {"id":"1","type":"start","payload":{"query":"{ x }"}}
              start 1: { x } None {}
            > {"id":"1","type":"start","payload":{"query":"{ y }"}}
              stop 1
              start 1: { y } None {}
            > {"id":"2","type":"start","payload":{"variables":{}}}
              {"id":"2","type":"error","payload":{"message":"query is missing: send the text of a GraphQL document in it"}}
            > {"id":"1","type":"stop"}
              stop 1
              {"id":"1","type":"complete"}
            > {"id":"1","type":"stop"}
            > {"id":null,"type":"connection_terminate"}
              close 1000 
            > {"id":"1","type":"start","payload":{"query":"{ x }"}}
        "#]],
    );
}

#[test]
fn legacy_says_why_before_it_closes() {
    for (texts, expected) in [
        (
            &["nonsense"][..],
            expect![[r#"
            > nonsense
              {"type":"connection_error","payload":{"message":"Invalid message: it must be a JSON object"}}
              close 4400 Invalid message: it must be a JSON object
        "#]],
        ),
        (
            &[r#"{"type":"subscribe","id":"1"}"#],
            expect![[r#"
            > {"type":"subscribe","id":"1"}
              {"type":"connection_error","payload":{"message":"Invalid message: clients send no type `subscribe`"}}
              close 4400 Invalid message: clients send no type `subscribe`
        "#]],
        ),
        (
            &[r#"{"id":"1","type":"start","payload":{"query":"{ x }"}}"#],
            expect![[r#"
            > {"id":"1","type":"start","payload":{"query":"{ x }"}}
              {"type":"connection_error","payload":{"message":"Unauthorized"}}
              close 4401 Unauthorized
        "#]],
        ),
        (
            &[INIT, INIT],
            expect![[r#"
            > {"type":"connection_init"}
              {"type":"connection_ack"}
              {"type":"ka"}
            > {"type":"connection_init"}
              {"type":"connection_error","payload":{"message":"Too many initialisation requests"}}
              close 4429 Too many initialisation requests
        "#]],
        ),
    ] {
        legacy(texts, expected);
    }
}

#[test]
fn legacy_says_what_is_wrong_with_a_message() {
    for (texts, expected) in [
        (
            &[INIT, r#"{"type":"start","payload":{"query":"{ x }"}}"#][..],
            expect![[r#"
            > {"type":"connection_init"}
              {"type":"connection_ack"}
              {"type":"ka"}
            > {"type":"start","payload":{"query":"{ x }"}}
              {"type":"connection_error","payload":{"message":"Invalid message: start needs an id, a text that is not empty"}}
              close 4400 Invalid message: start needs an id, a text that is not empty
        "#]],
        ),
        (
            &[INIT, r#"{"type":"stop"}"#],
            expect![[r#"
            > {"type":"connection_init"}
              {"type":"connection_ack"}
              {"type":"ka"}
            > {"type":"stop"}
              {"type":"connection_error","payload":{"message":"Invalid message: stop needs an id, a text that is not empty"}}
              close 4400 Invalid message: stop needs an id, a text that is not empty
        "#]],
        ),
        (
            &[INIT, r#"{"type":"ping"}"#],
            expect![[r#"
            > {"type":"connection_init"}
              {"type":"connection_ack"}
              {"type":"ka"}
            > {"type":"ping"}
              {"type":"connection_error","payload":{"message":"Invalid message: clients send no type `ping`"}}
              close 4400 Invalid message: clients send no type `ping`
        "#]],
        ),
        (
            &["(binary)"],
            expect![[r#"
            > (binary)
              {"type":"connection_error","payload":{"message":"Invalid message: the protocol is text, and this frame is binary"}}
              close 4400 Invalid message: the protocol is text, and this frame is binary
        "#]],
        ),
        (
            &["(time)"],
            expect![[r#"
            > (time)
              {"type":"connection_error","payload":{"message":"Connection initialisation timeout"}}
              close 4408 Connection initialisation timeout
        "#]],
        ),
    ] {
        legacy(texts, expected);
    }
}

#[test]
fn operations_are_bounded_and_not_completed_when_the_server_stops() {
    let start = |id: &str| format!(r#"{{"id":"{id}","type":"subscribe","payload":{{"query":"{{ x }}"}}}}"#);
    let (one, two, three) = (start("1"), start("2"), start("3"));
    let stop = r#"{"id":"2","type":"complete"}"#;
    transport(
        &[INIT, &one, &two, &three, stop, &three, stop, r#"{"id":"3","type":"complete"}"#, "(restart)", &one],
        expect![[r#"
        > {"type":"connection_init"}
          {"type":"connection_ack"}
        > {"id":"1","type":"subscribe","payload":{"query":"{ x }"}}
          start 1: { x } None {}
        > {"id":"2","type":"subscribe","payload":{"query":"{ x }"}}
          start 2: { x } None {}
        > {"id":"3","type":"subscribe","payload":{"query":"{ x }"}}
          {"id":"3","type":"error","payload":[{"message":"this connection has 2 operations (max_operations); complete one, or open another connection","extensions":{"code":"LIMIT_EXCEEDED"}}]}
        > {"id":"2","type":"complete"}
          stop 2
        > {"id":"3","type":"subscribe","payload":{"query":"{ x }"}}
          start 3: { x } None {}
        > {"id":"2","type":"complete"}
        > {"id":"3","type":"complete"}
          stop 3
        > (restart)
          close 1012 the server is stopping: connect again
        > {"id":"1","type":"subscribe","payload":{"query":"{ x }"}}
    "#]],
    );
    legacy(
        &[INIT, "(restart)"],
        expect![[r#"
        > {"type":"connection_init"}
          {"type":"connection_ack"}
          {"type":"ka"}
        > (restart)
          close 1012 the server is stopping: connect again
    "#]],
    );
}

#[test]
fn results_and_refusals_are_worded_as_the_protocol_has_it() {
    for (dialect, expected) in [
        (
            Dialect::Transport,
            expect![[r#"
        {"id":"a","type":"next","payload":{"data":{"x":1}}}
        {"id":"a","type":"complete"}
        {"id":"b","type":"error","payload":[{"message":"no"}]}
        keep alive: None
    "#]],
        ),
        (
            Dialect::Legacy,
            expect![[r#"
        {"id":"a","type":"data","payload":{"data":{"x":1}}}
        {"id":"a","type":"complete"}
        {"id":"b","type":"data","payload":{"errors":[{"message":"no"}]}}
        {"id":"b","type":"complete"}
        keep alive: Some("{\"type\":\"ka\"}")
    "#]],
        ),
    ] {
        let mut session = Session::new(dialect, 9);
        session.receive(INIT);
        for id in ["a", "b"] {
            session.start(id, RequestParameters::default());
        }
        let result = session.wrap("a").around(br#"{"data":{"x":1}}"#);
        let mut log = String::from_utf8(result.to_vec()).unwrap();
        for text in session.complete("a").into_iter().chain(session.complete("a")) {
            write!(log, "\n{text}").unwrap();
        }
        for text in session.refused("b", r#"[{"message":"no"}]"#) {
            write!(log, "\n{text}").unwrap();
        }
        assert!(session.refused("b", "[]").is_empty());
        writeln!(log, "\nkeep alive: {:?}", session.keep_alive()).unwrap();
        expected.assert_eq(&log);
    }
}

#[test]
fn clients_are_met_before_they_are_let_in() {
    for dialect in Dialect::ALL {
        for (init, payload) in [
            (INIT, Json::Null),
            (r#"{"type":"connection_init","payload":{"token":"x"}}"#, serde_json::json!({"token": "x"})),
        ] {
            let mut session = Session::new(dialect, 2).meeting(true);
            let actions = session.receive(init);
            assert_eq!(actions[0], Action::Meet(payload));
            assert_eq!(actions[1], Action::Send(r#"{"type":"connection_ack"}"#.into()));
            let kind = if dialect == Dialect::Transport { "ping" } else { "connection_init" };
            let renewal = format!(r#"{{"type":"{kind}","payload":{{"headers":{{"x-api-key":"k"}}}}}}"#);
            let actions = session.receive(&renewal);
            assert_eq!(actions[0], Action::Renew(serde_json::json!({"headers": {"x-api-key": "k"}})));
            assert!(matches!(actions[1], Action::Send(_)), "{actions:?}");
        }
        // What cannot be read is not taken for nothing: who sends a token must not go in without it.
        let deep = format!(
            r#"{{"type":"connection_init","payload":{{"x":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let mut session = Session::new(dialect, 2).meeting(true);
        let actions = session.receive(&deep);
        let Some(Action::Close(close)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!((close.code, session.phase), (4400, Phase::Closed));
    }
}

#[test]
fn the_clients_first_dialect_that_is_spoken_here_wins() {
    for (offered, expected) in [
        (&["graphql-transport-ws", "graphql-ws"][..], Some(Dialect::Transport)),
        (&["graphql-ws", "graphql-transport-ws"], Some(Dialect::Legacy)),
        (&["soap", "graphql-ws"], Some(Dialect::Legacy)),
        (&["GraphQL-WS"], None),
        (&[], None),
    ] {
        assert_eq!(Dialect::choose(offered.iter().copied()), expected, "{offered:?}");
    }
}

#[test]
fn reasons_fit_into_a_close_frame() {
    let close = Close::new(4400, "ü".repeat(100));
    assert_eq!(close.reason.len(), 122);
}
