//! Every key that a plan may hold. This list is the source of the file's check, the JSON Schema and the reference.

use super::keys::{Form, Key, Table, key};

const WEIGHT_MAX: u64 = 1_000_000;
const SEED_MAX: u64 = i64::MAX as u64;
const COUNT_MAX: u64 = u32::MAX as u64;

const TEXTS: Form = Form::List(&Form::Text);
const TEXT_OR_TEXTS: Form = Form::OneOf(&[Form::Text, TEXTS]);
const TEXT_MAP: Form = Form::Map(&Form::Text);
const THINK_FORMS: Form = Form::OneOf(&[Form::Duration, Form::Table(&THINK_TIME)]);
const STATUS: Form = Form::Whole { max: 599 };
const STATUSES: Form = Form::OneOf(&[STATUS, Form::List(&STATUS)]);

pub(super) const PLAN: Table =
    Table { name: "plan", groups: &[PLAN_KEYS, LOAD_KEYS, FLOW_KEYS, RHYTHM_KEYS, WIRE_KEYS] };

const PLAN_KEYS: &[Key] = &[
    key("name", Form::Text, "\"shop\"", "Of the result; the file's name unless given."),
    key("target", Form::Text, "\"http://127.0.0.1:8080\"",
        "`http://HOST[:PORT][/PREFIX]`, `https://…` or `http://unix:/SOCKET[:/PREFIX]`; the prefix stands before every path."),
    key("targets", TEXT_MAP, "{ shop = \"http://127.0.0.1:8080\", pay = \"http://127.0.0.1:9090\" }",
        "Instead of `target`: several by name. The first is that of requests which name none."),
    key("seed", Form::Whole { max: SEED_MAX }, "1", "Of all choices and values; the same seed gives each user the same ones, however many threads there are.").or("1"),
    key("timeout", Form::Duration, "\"30s\"", "A request without a whole answer after this is given up.").or("\"30s\""),
    key("warm_up", Form::Duration, "\"5s\"", "Cut off the beginning of the steady state.").or("\"0s\""),
    key("headers", TEXT_MAP, "{ Accept = \"text/html\" }", "For every request that does not set them itself."),
    key("tags", TEXT_MAP, "{ release = \"1.4\" }", "Kept in the result; every request has them."),
    key("thresholds", TEXT_OR_TEXTS, "[\"p95<500ms\"]", "What must hold; see [Thresholds](#thresholds)."),
    key("observe", TEXT_OR_TEXTS, "[\"pid:4711\", \"prom:http://127.0.0.1:9090/metrics\"]", "What is watched beside the load."),
    key("variables", Form::Map(&Form::Table(&VARIABLE)), "{ id = { range = [0, 100] } }", "Values for `${NAME}`; see [Variables](#variables)."),
    key("requests", Form::List(&Form::Table(&REQUEST)), "[{ path = \"/items\" }]", "At least one; see [Requests](#requests)."),
    key("scenarios", Form::List(&Form::Table(&SCENARIO)), "[{ name = \"browse\", users = 10, duration = \"30s\" }]",
        "Groups of users with loads of their own; without it the plan's own load sends any of the requests by weight. See [Scenarios](#scenarios)."),
    key("subscriptions", Form::List(&Form::Table(&SUBSCRIPTION)), "[{ query = \"subscription { onChange { id } }\", clients = 100 }]",
        "Clients that subscribe while the users do the rest; see [Subscriptions](#subscriptions)."),
];

/// Of a plan with one scenario, and of each of several.
const LOAD_KEYS: &[Key] = &[
    key(
        "users",
        Form::Whole { max: COUNT_MAX },
        "100",
        "How many users there are: from the first moment with `duration`; with `iterations` or `shared_iterations`; with `rate`, as many as serve its starts (unless given: those that come in one second, from 10 to 10000).",
    ),
    key("duration", Form::Duration, "\"30s\"", "With `users` or `rate`: how long."),
    key(
        "stages",
        Form::List(&Form::Table(&STAGE)),
        "[{ duration = \"30s\", users = 100 }]",
        "Users move in a straight line to `users` within `duration`, from 0 at the start.",
    ),
    key("iterations", Form::Whole { max: SEED_MAX }, "10", "Each of `users` makes this many iterations."),
    key(
        "shared_iterations",
        Form::Whole { max: SEED_MAX },
        "1000",
        "`users` take iterations from one pot until it is empty.",
    ),
    key(
        "max_duration",
        Form::Duration,
        "\"10m\"",
        "With `iterations` or `shared_iterations`: none begins later than this.",
    )
    .or("\"10m\""),
    key(
        "rate",
        Form::Decimal,
        "500",
        "Open model: so many iterations start each second for `duration`, whether or not earlier ones have ended.",
    ),
    key(
        "rate_stages",
        Form::List(&Form::Table(&RATE_STAGE)),
        "[{ duration = \"30s\", rate = 500 }]",
        "Open model: the rate moves in a straight line to `rate` within `duration`, from 0 at the start.",
    ),
    key(
        "spacing",
        Form::Word(&["even", "poisson"]),
        "\"poisson\"",
        "With a rate: `even` distances, or independent ones as of many users who know nothing of each other.",
    )
    .or("\"even\""),
    key(
        "wait_max",
        Form::Duration,
        "\"10s\"",
        "With a rate: a start that finds no free user for this long is dropped and counted.",
    )
    .or("\"10s\""),
];

const RHYTHM_KEYS: &[Key] = &[
    key("think_time", THINK_FORMS, "\"2s\"", "Between the end of an iteration and the user's next one; in `[[scenarios]]` the plan's unless given. Without meaning for starts at a rate."),
    key("pacing", Form::Duration, "\"5s\"", "Instead of a think time: a user's iterations begin at this interval, or later where one takes longer. Without meaning for starts at a rate."),
    key("after_failure", Form::Word(&["end_iteration", "continue"]), "\"continue\"",
        "After a step that failed: the iteration ends, or goes on as long as no step needs a value that was not captured.").or("\"end_iteration\""),
];

const WIRE_KEYS: &[Key] = &[
    key(
        "protocol",
        Form::Word(&["http1", "http2", "auto"]),
        "\"http2\"",
        "`auto` lets a target with `https://` choose.",
    )
    .or("\"http1\""),
    key(
        "connections",
        Form::Word(&["kept", "fresh"]),
        "\"fresh\"",
        "One connection a user, or one a request.",
    )
    .or("\"kept\""),
    key("streams", Form::Whole { max: COUNT_MAX }, "8", "HTTP/2: requests at a time on one connection.")
        .or("1"),
    key(
        "pipeline",
        Form::Whole { max: COUNT_MAX },
        "4",
        "HTTP/1.1: requests written before the first answer is awaited.",
    )
    .or("1"),
    key(
        "dns",
        Form::Word(&["once", "per_connection"]),
        "\"per_connection\"",
        "When the target's name is resolved.",
    )
    .or("\"once\""),
    key("tls", Form::Table(&TLS), "{ insecure = true }", "For targets with `https://`."),
];

const TLS: Table = Table {
    name: "tls",
    groups: &[&[
        key("insecure", Form::Flag, "true", "Takes any certificate for any name; the result says so.")
            .or("false"),
        key(
            "ca",
            TEXT_OR_TEXTS,
            "\"ca.pem\"",
            "PEM files, beside the plan, of certificates that are trusted instead of the system's.",
        ),
        key(
            "cert",
            Form::Text,
            "\"client.pem\"",
            "PEM file of the client's certificate, its issuers after it.",
        ),
        key("key", Form::Text, "\"client.key\"", "PEM file of the client certificate's key."),
        key(
            "server_name",
            Form::Text,
            "\"shop.example\"",
            "Asked for and checked, instead of the target's host.",
        ),
        key("resume", Form::Flag, "false", "Sessions are resumed where the target allows it.").or("true"),
    ]],
};

const STAGE: Table = Table {
    name: "stage",
    groups: &[&[
        key("duration", Form::Duration, "\"30s\"", "How long the stage lasts; `\"0s\"` is a jump.")
            .required(),
        key("users", Form::Whole { max: COUNT_MAX }, "100", "Users at its end.").required(),
    ]],
};

const RATE_STAGE: Table = Table {
    name: "rate_stage",
    groups: &[&[
        key("duration", Form::Duration, "\"30s\"", "How long the stage lasts; `\"0s\"` is a jump.")
            .required(),
        key("rate", Form::Decimal, "500", "Starts a second at its end.").required(),
    ]],
};

const THINK_TIME: Table = Table {
    name: "think_time",
    groups: &[&[
        key("min", Form::Duration, "\"1s\"", "With `max`: uniform between both."),
        key("max", Form::Duration, "\"3s\"", "See `min`."),
        key(
            "mean",
            Form::Duration,
            "\"2s\"",
            "Alone: exponential, cut at ten times the mean. With `deviation`: a normal distribution, cut at 0 and at twice the mean.",
        ),
        key("deviation", Form::Duration, "\"500ms\"", "Standard deviation: of a normal distribution at most the mean, of a lognormal one three times that."),
        key("distribution", Form::Word(&["normal", "lognormal"]), "\"lognormal\"", "`lognormal`: mostly short with some long ones, as people's are; cut at a hundred times the mean.").or("\"normal\""),
    ]],
};

pub(super) const SCENARIO: Table =
    Table { name: "scenario", groups: &[SCENARIO_KEYS, LOAD_KEYS, FLOW_KEYS, RHYTHM_KEYS] };

const SCENARIO_KEYS: &[Key] = &[
    key("name", Form::Text, "\"browse\"", "In results and messages.").required(),
    key("start", Form::Duration, "\"10s\"", "When its load begins, from the start of the run. Beside `[[subscriptions]]`, unless given: when all of them should be in force.").or("\"0s\""),
    key(
        "tags",
        TEXT_MAP,
        "{ kind = \"guest\" }",
        "Of the requests that it sends, where every scenario that sends them says the same.",
    ),
];

/// Of a plan with one scenario, and of each of several: what an iteration is.
const FLOW_KEYS: &[Key] = &[
    key(
        "steps",
        Form::List(&STEP_FORMS),
        "[\"login\", { request = \"browse\", think_time = \"1s\" }]",
        "An iteration is these requests, in order.",
    ),
    key(
        "mix",
        Form::Map(&Form::Whole { max: WEIGHT_MAX }),
        "{ search = 3, order = 1 }",
        "An iteration is one of these requests, by weight. Without `steps` and `mix`: one of all requests, by their own weights.",
    ),
];

const STEP_FORMS: Form = Form::OneOf(&[Form::Text, Form::Table(&STEP)]);

const STEP: Table = Table {
    name: "step",
    groups: &[&[
        key("request", Form::Text, "\"browse\"", "Its name.").required(),
        key(
            "think_time",
            THINK_FORMS,
            "\"1s\"",
            "Before the next step; after the last one the scenario's holds.",
        ),
    ]],
};

pub(super) const REQUEST: Table = Table {
    name: "request",
    groups: &[&[
        key(
            "name",
            Form::Text,
            "\"search\"",
            "Results are kept by it. Unless given: the GraphQL operation's name, or `request N`.",
        ),
        key(
            "weight",
            Form::Whole { max: WEIGHT_MAX },
            "3",
            "How often it is chosen where a scenario names no requests.",
        )
        .or("1"),
        key("target", Form::Text, "\"pay\"", "One of `targets`; the first unless given."),
        key("method", Form::Text, "\"PUT\"", "`GET`, or `POST` with a body, unless given."),
        key("path", Form::Text, "\"/items\"", "Starts with `/`; `/graphql` for GraphQL unless given."),
        key(
            "headers",
            TEXT_MAP,
            "{ Accept = \"text/html\" }",
            "`Host`, `Content-Length` and `User-Agent` come by themselves.",
        ),
        key("body", Form::Text, "\"a=1\"", "Sent as it is."),
        key(
            "json",
            Form::Any,
            "{ id = \"${id}\" }",
            "Instead of `body`: sent as JSON, with its `Content-Type`; `\"${id}\"` takes the value's own type.",
        ),
        key(
            "graphql",
            Form::Table(&GRAPHQL),
            "{ query = \"{ items { id } }\" }",
            "Instead of `body`: an operation; answers with `errors` are failures.",
        ),
        key(
            "expect_status",
            STATUSES,
            "[200, 404]",
            "What counts as answered as expected; any of 200 to 299 unless given.",
        ),
        key(
            "checks",
            Form::List(&Form::Table(&CHECK)),
            "[{ contains = \"welcome\" }]",
            "What else an answer must say; see [Checks](#checks).",
        ),
        key(
            "captures",
            Form::Map(&Form::Table(&CAPTURE)),
            "{ token = { json = \"/token\" } }",
            "Values for later steps; see [Captures](#captures).",
        ),
        key("group", Form::Text, "\"checkout\"", "Results are also kept by group."),
        key("tags", TEXT_MAP, "{ kind = \"write\" }", "Results are also kept by tag."),
    ]],
};

const GRAPHQL: Table = Table {
    name: "graphql",
    groups: &[&[
        key("query", Form::Text, "\"{ items { id } }\"", "The document, sent as it is written.").required(),
        key(
            "variables",
            Form::Map(&Form::Any),
            "{ id = \"${id}\" }",
            "A text that is one `\"${id}\"` takes the value's own type.",
        ),
        key("operation_name", Form::Text, "\"items\"", "Which operation of the document is meant."),
    ]],
};

pub(super) const CHECK: Table = Table {
    name: "check",
    groups: &[&[
        key("name", Form::Text, "\"has a token\"", "As it is counted; made from the rest unless given."),
        key("status", STATUSES, "[200, 404]", "The status is one of these."),
        key(
            "json",
            Form::Text,
            "\"/data/items/0/id\"",
            "Looks at the value at this JSON pointer (RFC 6901).",
        ),
        key("header", Form::Text, "\"ETag\"", "Looks at this header."),
        key("exists", Form::Flag, "false", "The JSON value or header is there, or is not.").or("true"),
        key(
            "equals",
            Form::Any,
            "\"ready\"",
            "The value is this; without `json` and `header`, the whole body.",
        ),
        key("contains", Form::Text, "\"welcome\"", "The value holds this text."),
        key("lacks", Form::Text, "\"error\"", "The value does not hold this text."),
        key("matches", Form::Text, "\"id=[0-9]+\"", "The value matches this regular expression somewhere."),
        key("bytes_min", Form::Whole { max: SEED_MAX }, "1", "The body is not shorter."),
        key("bytes_max", Form::Whole { max: SEED_MAX }, "65536", "The body is not longer."),
    ]],
};

pub(super) const CAPTURE: Table = Table {
    name: "capture",
    groups: &[&[
        key("json", Form::Text, "\"/token\"", "From the JSON body, at this pointer (RFC 6901)."),
        key("header", Form::Text, "\"Location\"", "From this header."),
        key(
            "matches",
            Form::Text,
            "\"csrf=([0-9a-f]+)\"",
            "The first group of this regular expression, in the JSON value, the header or else the body.",
        ),
        key(
            "default",
            Form::Any,
            "\"none\"",
            "Where there is no value, or `null`. Without it such an answer is a failed check.",
        ),
    ]],
};

pub(super) const SUBSCRIPTION: Table = Table { name: "subscription", groups: &[&[
    key("name", Form::Text, "\"updates\"", "Results are kept by it. Unless given: the operation's name, or `subscription N`."),
    key("query", Form::Text, "\"subscription { onChange { id } }\"", "The operation, sent as it is written.").required(),
    key("variables", Form::Map(&Form::Any), "{ id = \"${id}\" }", "Each subscription has values of its own; `\"${id}\"` takes the value's own type."),
    key("operation_name", Form::Text, "\"updates\"", "Which operation of the document is meant."),
    key("clients", Form::Whole { max: COUNT_MAX }, "500", "How many connect, each over a connection of its own; over `sse-single` a second one beside its stream carries orders.").required(),
    key("per_client", Form::Whole { max: COUNT_MAX }, "2", "Subscriptions of each client; over `sse` each has a connection, over HTTP/2 a stream of its client's.").or("1"),
    key("rate", Form::Decimal, "200", "So many clients connect in a second.").or("1000"),
    key("start", Form::Duration, "\"5s\"", "When the first connects, from the start of the run.").or("\"0s\""),
    key("protocol", Form::Word(&["graphql-transport-ws", "graphql-ws", "sse", "sse-single"]), "\"sse\"", "`graphql-transport-ws` is what the npm package graphql-ws speaks, `graphql-ws` the older subscriptions-transport-ws; `sse` is GraphQL over server-sent events in distinct connections mode, `sse-single` in single connection mode.").or("\"graphql-transport-ws\""),
    key("target", Form::Text, "\"live\"", "One of `targets`; the first unless given."),
    key("path", Form::Text, "\"/graphql\"", "Starts with `/`.").or("\"/graphql\""),
    key("headers", TEXT_MAP, "{ Authorization = \"Bearer x\" }", "Of the request that opens the connection; those of the plan are sent too."),
    key("connection_init", Form::Any, "{ token = \"x\" }", "The payload of `connection_init`. For WebSockets."),
    key("settle", Form::Duration, "\"200ms\"", "So long after its operation was sent, and read by the target, a subscription counts as in force: mutations sent from then on owe it their events.").or("\"1s\""),
    key("fan_out", Form::Table(&FAN_OUT), "{ request = \"update\", key = \"${id}\" }", "Which events come of which mutations. Without it events are only counted."),
]] };

pub(super) const FAN_OUT: Table = Table {
    name: "fan_out",
    groups: &[&[
        key(
            "request",
            Form::Text,
            "\"update\"",
            "The name of the mutation's request. It must use one variable that is a `token`.",
        )
        .required(),
        key(
            "token",
            Form::Text,
            "\"/data/onChange/name\"",
            "Where the token stands in an event, as a JSON pointer (RFC 6901) into the result; looked for in the whole result unless given.",
        ),
        key(
            "key",
            Form::Text,
            "\"${id}\"",
            "A mutation is for those subscriptions for which this text is the same. Without it each mutation is for all.",
        ),
        key(
            "request_key",
            Form::Text,
            "\"${order.id}\"",
            "The same text as the mutation's values make it, where it is not `key`.",
        ),
        key(
            "wait_max",
            Form::Duration,
            "\"5s\"",
            "What has not come so long after the mutation's acknowledgement is missed.",
        )
        .or("\"10s\""),
    ]],
};

pub(super) const VARIABLE: Table = Table { name: "variable", groups: &[&[
    key("range", Form::List(&Form::Integer), "[0, 100]", "Whole numbers at random, both ends included."),
    key("list", Form::List(&Form::Any), "[\"a\", \"b\"]", "One of these values."),
    key("csv", Form::Text, "\"users.csv\"", "A row of this file, whose first line names the columns: `${user.id}`. The path is relative to the plan."),
    key("jsonl", Form::Text, "\"users.jsonl\"", "A line of this file: an object whose keys are the columns, or a single value."),
    key("token", Form::Text, "\"t-\"", "A text that no other request of any run has, with this prefix: subscribers know by it which event came of which mutation."),
    key("order", Form::Word(&["random", "sequential", "unique"]), "\"unique\"", "`sequential` starts again after the last row; `unique` gives none twice, and users that find none left stop.").or("\"random\""),
    key("share", Form::Word(&["all_users", "each_user"]), "\"each_user\"", "Whether all users take from one stack of rows or each goes through all by itself.").or("\"all_users\""),
    key("take", Form::Word(&["each_iteration", "once"]), "\"once\"", "When a user takes a row: in each iteration, or once for as long as it lives.").or("\"each_iteration\""),
    key("types", Form::Word(&["auto", "text"]), "\"text\"", "Of CSV fields: what JSON would write the same way is a number or a boolean (`7`; but `007` is a text), or all are texts.").or("\"auto\""),
]] };
