//! Options from variables of the environment, beside a file and flags.

use expect_test::expect;
use prony_server::config::{self, CommandLine};

use crate::{KINDS, load};

const FILE: &str = "[server]\nlisten = [\"127.0.0.1:1\"]\nmax_headers = 7\n[graphql]\nmax_depth = 3\n[[source]]\nurl = \"sqlite:shop.db\"\nmax_limit = 500\n";

fn with(variables: &[(&str, &str)]) -> CommandLine {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    CommandLine { variables: variables.iter().map(owned).collect(), ..CommandLine::default() }
}

#[test]
fn variables_win_over_the_file_and_flags_over_both() {
    let mut line = with(&[
        ("PRONY_SERVER_LISTEN", "127.0.0.1:2, [::1]:3"),
        ("PRONY_SERVER_MAX_HEADERS", "8"),
        ("PRONY_GRAPHQL_MAX_DEPTH", ""),
        ("PRONY_SOURCE_MAX_LIMIT", "200"),
        ("PRONY_WEB", "off"),
        ("PATH", "/bin"),
    ]);
    let mut options = config::options(KINDS).into_iter();
    let listen = options.find(|option| option.spec().flag == Some("listen")).expect("the flag exists");
    line.flags.push((listen, vec!["127.0.0.1:4".to_owned()]));
    let settings = load(FILE, line).expect("all is right");
    assert_eq!(settings.listen, ["127.0.0.1:4".parse().unwrap()]);
    assert_eq!((settings.max_headers, settings.limits.max_depth), (8, 3));
    assert!(format!("{:?}", settings.sources[0].opener).contains("max_limit: 200"), "{:?}", settings.sources);
}

#[test]
fn a_list_has_commas() {
    let settings =
        load(FILE, with(&[("PRONY_SERVER_LISTEN", "127.0.0.1:2, [::1]:3")])).expect("all is right");
    assert_eq!(settings.listen, ["127.0.0.1:2".parse().unwrap(), "[::1]:3".parse().unwrap()]);
}

#[test]
fn a_value_may_be_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("redis");
    std::fs::write(&secret, "redis://:p a\u{df}@cache:6379/0\r\n").unwrap();
    let path = secret.to_str().unwrap();
    let settings = load(FILE, with(&[("PRONY_LIMITS_REDIS_FILE", path)])).expect("all is right");
    assert_eq!(settings.operation_limits.redis.url, "redis://:p a\u{df}@cache:6379/0");
    // An option whose own name ends so is no file of another.
    let settings = load(FILE, with(&[("PRONY_LIMITS_QUOTA_FILE", path)])).expect("all is right");
    assert_eq!(settings.operation_limits.quota_file, secret);
}

#[test]
fn faults_name_the_variable() {
    let line = with(&[
        ("PRONY_SERVER_LISTN", "127.0.0.1:2"),
        ("PRONY_SERVER_LISTEN", "here"),
        ("PRONY_GRAPHQL_MAX_DEPTH", "-1"),
        ("PRONY_GRAPHQL_INTROSPECTION", "maybe"),
        ("PRONY_LIMITS_REDIS_FILE", "/nowhere/redis"),
    ]);
    let faults = load(FILE, line).expect_err("each is faulty");
    expect![[r#"
        the configuration has 5 faults
          PRONY_SERVER_LISTN: there is no such option; did you mean `PRONY_SERVER_LISTEN`?
          PRONY_SERVER_LISTEN: `here` is no address; write ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:8080
          PRONY_GRAPHQL_MAX_DEPTH: `-1` is no whole number; write a whole number from 1 to 1000000000
          PRONY_GRAPHQL_INTROSPECTION: `maybe` is neither true nor false
          PRONY_LIMITS_REDIS_FILE: cannot read /nowhere/redis: No such file or directory (os error 2)
    "#]]
    .assert_eq(&format!("{faults}\n"));
}

/// As Kubernetes sets them where a Service of the namespace is named `prony-server`, or `prony`.
#[test]
fn what_kubernetes_says_of_services_is_passed_over_with_a_word() {
    let links = [
        ("PRONY_SERVER_SERVICE_HOST", "10.0.0.1"),
        ("PRONY_SERVER_SERVICE_PORT", "80"),
        ("PRONY_SERVER_SERVICE_PORT_HTTP", "80"),
        ("PRONY_SERVER_PORT", "tcp://10.0.0.1:80"),
        ("PRONY_SERVER_PORT_80_TCP", "tcp://10.0.0.1:80"),
        ("PRONY_SERVER_PORT_80_TCP_PROTO", "tcp"),
        ("PRONY_SERVER_PORT_80_TCP_PORT", "80"),
        ("PRONY_SERVER_PORT_80_TCP_ADDR", "10.0.0.1"),
    ];
    let settings = load(FILE, with(&links)).expect("none is an option");
    let said = "PRONY_SERVER_SERVICE_HOST and 7 more variables are passed over: Kubernetes sets them for a Service of that name; \
                with `enableServiceLinks: false` in the pod's spec it does not";
    assert_eq!(settings.notes, [said]);
    let of_prony = [("PRONY_SERVICE_HOST", "10.0.0.1"), ("PRONY_PORT", "udp://10.0.0.1:80")];
    assert!(load(FILE, with(&of_prony)).expect("none is an option").notes.is_empty());
    let faults = load(FILE, with(&[("PRONY_SERVER_PORT", "8080")])).expect_err("it is meant for an option");
    assert!(faults.to_string().contains("PRONY_SERVER_PORT: there is no such option"), "{faults}");
}

#[test]
fn a_variable_that_seems_to_be_meant_for_an_option_is_told() {
    let settings = load(
        FILE,
        with(&[
            ("PRONY_WRITE_TIMEOUT_MS", "1"),
            ("PRONY_SEVER_MAX_HEADERS", "8"),
            ("PRONY_AUTH_ANONYMOUS", "visitor"),
            ("PRONY_DB_PASSWORD", "secret"),
            ("PRONY_AUTH_SECRET", "secret"),
            ("PRONY_CONFIG", "prony.toml"),
        ]),
    )
    .expect("none of them is a fault");
    expect![[r#"
        PRONY_WRITE_TIMEOUT_MS is passed over: there is no such option; did you mean `PRONY_SERVER_WRITE_TIMEOUT_MS`?
        PRONY_SEVER_MAX_HEADERS is passed over: there is no such option; did you mean `PRONY_SERVER_MAX_HEADERS`?
        PRONY_AUTH_ANONYMOUS is passed over: `anonymous` of [auth] has no variable and is written into the file of --config
    "#]]
    .assert_eq(&format!("{}\n", settings.notes.join("\n")));
    assert_eq!(settings.max_headers, 7);
}
