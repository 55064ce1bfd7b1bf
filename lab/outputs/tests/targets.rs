//! Each kind of output against a server of the test's own, which takes apart what arrives by the published descriptions; its figures
//! are those of the run's result.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::result::{WindowResult, window_results};
use prony_model::{LoadModel, Nanos, Outcome, Plan, PlanDraft, Record, RequestDraft, Target, TransportError};
use prony_outputs::{METRICS, SinkEnd, SinkSpec, Sinks};
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Names of requests as nobody would wish for them.
const NAMES: [&str; 3] = ["GET /größe, a=b", "never sent", "a.b c"];
const SECONDS: u64 = 3;

fn plan() -> Plan {
    let load = LoadModel::constant(3, Nanos::from_secs(SECONDS));
    let mut draft = PlanDraft::new("shop, \"groß\"", Target::new("test", 80), load);
    draft.requests = NAMES.map(|name| RequestDraft::get(name, "/")).to_vec();
    draft.check().unwrap()
}

/// Of each second: many successes of one request with times that differ, and failures of another.
fn records(second: u64) -> Vec<Record> {
    let at = |millis| Nanos::from_millis(second * 1_000 + millis);
    let record = |request, took_us, outcome| Record {
        request,
        scheduled: at(100),
        started: at(100),
        first_byte: Some(at(101)),
        ended: Nanos(at(100).0 + took_us * 1_000),
        outcome,
        status: None,
        bytes_sent: 11,
        bytes_received: 1_000 + took_us,
    };
    let successes = (0..400_u64).map(|index| record(0, 500 + index * 37, Outcome::Success));
    let failed = [
        record(2, 90_000, Outcome::Status(503)),
        record(2, 9, Outcome::Transport(TransportError::Connect)),
        record(2, 70, Outcome::Success),
    ];
    successes.chain(failed).collect()
}

/// Sends a whole run; returns what its result says of it.
fn run(sinks: &Sinks) -> WindowResult {
    let plan = plan();
    let windows = plan.windows();
    let names = RequestNames { plan: &plan, found: None };
    let mut whole = Tally::new(&windows, TallyShape::of(&plan));
    let mut listener = sinks.listener(plan.name());
    for second in 0..SECONDS {
        let mut tally = Tally::new(&windows, TallyShape::of(&plan));
        for record in records(second) {
            tally.record(&windows, &record);
        }
        tally.users_active = 3;
        tally.interval_dropped = second;
        listener(&IntervalSnapshot::of(second, &tally, names));
        whole.merge(&tally);
    }
    window_results(&plan, None, &windows, &whole, plan.duration()).pop().unwrap()
}

fn open(text: &str) -> Sinks {
    Sinks::open(&[SinkSpec::parse(text).unwrap()]).unwrap()
}

/// Runs with one output; everything must arrive.
fn send(text: &str) -> WindowResult {
    let sinks = open(text);
    let result = run(&sinks);
    let warnings = sinks.warnings();
    let ends = sinks.finish();
    let expected = SinkEnd { name: text.to_owned(), sent: SECONDS, lost: 0, lost_requests: 0 };
    assert_eq!((ends, warnings.take()), (vec![expected], Vec::new()));
    result
}

#[derive(Debug, Clone, Default)]
struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

type Got = Arc<Mutex<Vec<Request>>>;

/// A server that takes everything.
fn http() -> (String, Got) {
    responding("HTTP/1.1 204 No Content\r\n\r\n".to_owned())
}

/// Where a server is that responds so to each request, and what it got.
fn responding(response: String) -> (String, Got) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, got) = (listener.local_addr().unwrap(), Got::default());
    let all = Arc::clone(&got);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, all, response) = (socket.unwrap(), Arc::clone(&all), response.clone());
            thread::spawn(move || serve(&socket, &all, &response));
        }
    });
    (format!("http://{address}"), got)
}

fn serve(socket: &TcpStream, got: &Mutex<Vec<Request>>, response: &str) {
    let mut reader = BufReader::new(socket);
    loop {
        let mut request = Request::default();
        if reader.read_line(&mut request.line).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        request.body = vec![0; request.headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut request.body).unwrap();
        got.lock().unwrap().push(request);
        (&*socket).write_all(response.as_bytes()).unwrap();
    }
}

/// A message by a description of its own, as JSON.
fn decoded(description: &str, message: &str, bytes: &[u8]) -> serde_json::Value {
    let file = protox_file(description);
    let pool = DescriptorPool::from_file_descriptor_set(file).unwrap();
    let message = pool.get_message_by_name(message).unwrap();
    let decoded = DynamicMessage::decode(message, bytes).unwrap();
    assert_eq!(decoded.unknown_fields().count(), 0);
    serde_json::to_value(&decoded).unwrap()
}

fn protox_file(description: &str) -> prost_reflect::prost_types::FileDescriptorSet {
    let mut resolver = protox::file::ChainFileResolver::new();
    resolver.add(OneFile(description.to_owned()));
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_file("one.proto").unwrap();
    compiler.file_descriptor_set()
}

struct OneFile(String);

impl protox::file::FileResolver for OneFile {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        protox::file::File::from_source(name, &self.0)
    }
}

/// Of prompb/types.proto and remote.proto.
const REMOTE_WRITE: &str = r#"
syntax = "proto3";
message WriteRequest { repeated TimeSeries timeseries = 1; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; repeated Histogram histograms = 4; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Histogram {
  oneof count { uint64 count_int = 1; double count_float = 2; }
  double sum = 3; sint32 schema = 4; double zero_threshold = 5;
  oneof zero_count { uint64 zero_count_int = 6; double zero_count_float = 7; }
  repeated BucketSpan negative_spans = 8; repeated sint64 negative_deltas = 9; repeated double negative_counts = 10;
  repeated BucketSpan positive_spans = 11; repeated sint64 positive_deltas = 12; repeated double positive_counts = 13;
  int32 reset_hint = 14; int64 timestamp = 15;
}
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
"#;

/// A number as JSON of protobuf has it: 64 bits wide as text, and zero not at all.
fn number(value: &serde_json::Value) -> f64 {
    match value {
        serde_json::Value::String(text) => text.parse().unwrap(),
        serde_json::Value::Null => 0.0,
        value => value.as_f64().unwrap(),
    }
}

fn list(value: &serde_json::Value) -> Vec<serde_json::Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Requests of a name that ended so, as the result has them: all, and successes.
fn figures<'a>(result: &'a WindowResult, name: &str) -> &'a prony_model::measurement::figures::Figures {
    &result.by_request.iter().find(|named| named.name == name).unwrap().figures
}

#[test]
fn prometheus_gets_counters_and_native_histograms_that_add_up_to_the_result() {
    let (url, got) = http();
    let result = send(&format!("prometheus:{url}"));
    let got = got.lock().unwrap();
    assert_eq!(got.len() as u64, SECONDS);
    let last = got.last().unwrap();
    assert_eq!(last.line, "POST /api/v1/write HTTP/1.1\r\n");
    assert_eq!(last.headers["content-encoding"], "snappy");
    assert_eq!(last.headers["x-prometheus-remote-write-version"], "0.1.0");
    let bytes = snap::raw::Decoder::new().decompress_vec(&last.body).unwrap();
    let message = decoded(REMOTE_WRITE, "WriteRequest", &bytes);
    let mut seen = BTreeMap::new();
    for series in list(&message["timeseries"]) {
        let labels: Vec<_> = list(&series["labels"])
            .iter()
            .map(|label| {
                (label["name"].as_str().unwrap().to_owned(), label["value"].as_str().unwrap().to_owned())
            })
            .collect();
        assert!(labels.is_sorted(), "{labels:?}");
        let labels: BTreeMap<_, _> = labels.into_iter().collect();
        assert_eq!(labels["run"], "shop, \"groß\"");
        let metric = labels["__name__"].clone();
        assert!(METRICS.contains(&metric.as_str()), "{metric}");
        let tag = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let key = [metric, tag("name"), tag("outcome")].join("|");
        seen.insert(key, series);
    }
    let value = |key: &str| number(&list(&seen[key]["samples"])[0]["value"]) as u64;
    let (good, bad) = (figures(&result, NAMES[0]), figures(&result, NAMES[2]));
    assert_eq!(value("prony_requests_total|GET /größe, a=b|success"), good.successes);
    assert_eq!(value("prony_requests_total|a.b c|unexpected_status"), SECONDS);
    assert_eq!(value("prony_requests_total|a.b c|connect_failed"), SECONDS);
    assert_eq!(value("prony_requests_total|a.b c|success"), bad.successes);
    assert_eq!(value("prony_sent_bytes_total|GET /größe, a=b|"), good.bytes_sent);
    assert_eq!(value("prony_received_bytes_total|a.b c|"), bad.bytes_received);
    assert_eq!((value("prony_users||"), value("prony_dropped_starts_total||")), (3, 1 + 2));
    assert!(!seen.keys().any(|key| key.contains("never sent")));

    let histogram = &list(&seen["prony_response_time_seconds|GET /größe, a=b|"]["histograms"])[0];
    assert_eq!(number(&histogram["countInt"]) as u64, good.successes);
    let mean_s = good.response_time.mean_ns.unwrap().as_secs_f64();
    assert!((number(&histogram["sum"]) - mean_s * good.successes as f64).abs() < 1e-3);
    let (buckets, schema) = (buckets(histogram), number(&histogram["schema"]));
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<i64>() as u64, good.successes);
    // The quantile by the rule of native histograms lies in the bucket of the result's own.
    let bound = |index: i64| (index as f64 / schema.exp2()).exp2();
    for percentile in [50.0, 95.0] {
        let rank = (good.successes as f64 * percentile / 100.0).ceil() as i64;
        let mut below = 0;
        let (index, _) = buckets
            .iter()
            .find(|(_, count)| {
                below += count;
                below >= rank
            })
            .unwrap();
        let known = good.response_time.percentile(percentile).unwrap().as_secs_f64();
        let range = bound(index - 1) * 0.998..=bound(*index) * 1.002;
        assert!(range.contains(&known), "p{percentile}: {known} not in {range:?}");
    }
}

/// By the index of their upper bound.
fn buckets(histogram: &serde_json::Value) -> Vec<(i64, i64)> {
    let mut deltas = list(&histogram["positiveDeltas"]).into_iter().map(|delta| number(&delta) as i64);
    let (mut index, mut count, mut all) = (0, 0, Vec::new());
    for span in list(&histogram["positiveSpans"]) {
        index += number(&span["offset"]) as i64;
        for _ in 0..number(&span["length"]) as i64 {
            count += deltas.next().unwrap();
            all.push((index, count));
            index += 1;
        }
    }
    assert_eq!(deltas.next(), None);
    all
}

/// Of opentelemetry-proto's metrics.proto, common.proto and resource.proto.
const OTLP: &str = r#"
syntax = "proto3";
message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Scope { string name = 1; string version = 2; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data { Gauge gauge = 5; Sum sum = 7; ExponentialHistogram exponential_histogram = 10; }
}
message Gauge { repeated NumberDataPoint data_points = 1; }
enum AggregationTemporality { UNSPECIFIED = 0; DELTA = 1; CUMULATIVE = 2; }
message Sum { repeated NumberDataPoint data_points = 1; AggregationTemporality aggregation_temporality = 2; bool is_monotonic = 3; }
message NumberDataPoint {
  fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; repeated KeyValue attributes = 7;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
}
message ExponentialHistogram { repeated ExponentialHistogramDataPoint data_points = 1; AggregationTemporality aggregation_temporality = 2; }
message ExponentialHistogramDataPoint {
  repeated KeyValue attributes = 1; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  optional double sum = 5; sint32 scale = 6; fixed64 zero_count = 7; Buckets positive = 8; Buckets negative = 9;
}
message Buckets { sint32 offset = 1; repeated uint64 bucket_counts = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
"#;

#[test]
fn opentelemetry_gets_sums_and_exponential_histograms_that_add_up_to_the_result() {
    let (url, got) = http();
    let result = send(&format!("otlp={url}"));
    let got = got.lock().unwrap();
    let last = got.last().unwrap();
    assert_eq!(last.line, "POST /v1/metrics HTTP/1.1\r\n");
    assert_eq!(last.headers["content-type"], "application/x-protobuf");
    let message = decoded(OTLP, "ExportMetricsServiceRequest", &last.body);
    let resource = &message["resourceMetrics"][0];
    assert!(resource["resource"].to_string().contains("shop, \\\"groß\\\""), "{}", resource["resource"]);
    let metrics = list(&resource["scopeMetrics"][0]["metrics"]);
    let metric = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let has = |point: &serde_json::Value, value: &str| point["attributes"].to_string().contains(value);
    let requests = &metric("prony_requests")["sum"];
    assert_eq!(
        (&requests["aggregationTemporality"], &requests["isMonotonic"]),
        (&"CUMULATIVE".into(), &true.into())
    );
    let all: f64 = list(&requests["dataPoints"]).iter().map(|point| number(&point["asInt"])).sum();
    assert_eq!(all as u64, result.all.requests);
    let failed =
        list(&requests["dataPoints"]).into_iter().find(|point| has(point, "connect_failed")).unwrap();
    assert_eq!(number(&failed["asInt"]) as u64, SECONDS);
    assert_eq!(number(&metric("prony_users")["gauge"]["dataPoints"][0]["asInt"]) as u64, 3);
    let times = metric("prony_response_time");
    assert_eq!(times["unit"], "s");
    let good = figures(&result, NAMES[0]);
    let points = list(&times["exponentialHistogram"]["dataPoints"]);
    let point = points.iter().find(|point| has(point, "größe")).unwrap();
    assert_eq!(number(&point["count"]) as u64, good.successes);
    let counts: Vec<u64> =
        list(&point["positive"]["bucketCounts"]).iter().map(|count| number(count) as u64).collect();
    assert_eq!(counts.iter().sum::<u64>(), good.successes);
    let bound = |index: f64| (index / number(&point["scale"]).exp2()).exp2();
    let lowest = bound(number(&point["positive"]["offset"]));
    let highest = bound(number(&point["positive"]["offset"]) + counts.len() as f64);
    let (min, max) =
        (good.response_time.min_ns.unwrap().as_secs_f64(), good.response_time.max_ns.unwrap().as_secs_f64());
    assert!(lowest * 0.998 <= min && min <= lowest * 1.03, "{lowest} {min}");
    assert!(highest >= max * 0.998 && highest <= max * 1.03, "{highest} {max}");
}

#[test]
fn influxdb_gets_a_line_for_each_request_of_a_second() {
    let (url, got) = http();
    let result = send(&format!("influxdb:{url}/last lauf"));
    let got = got.lock().unwrap();
    assert_eq!(got[0].line, "POST /write?db=last+lauf HTTP/1.1\r\n");
    let text: String = got.iter().map(|request| String::from_utf8(request.body.clone()).unwrap()).collect();
    let of = |start: &str| text.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    let good = of("prony_requests,name=GET\\ /größe\\,\\ a\\=b,run=shop\\,\\ \"groß\" ");
    assert_eq!(good.len() as u64, SECONDS, "{text}");
    let field = |line: &str, name: &str| -> f64 {
        let at = line.find(&format!("{name}=")).unwrap_or_else(|| panic!("{name} in {line}"));
        let value = &line[at + name.len() + 1..];
        value[..value.find([',', ' ']).unwrap()].trim_end_matches('i').parse().unwrap()
    };
    let sum: f64 = good.iter().map(|line| field(line, "successes")).sum();
    assert_eq!(sum as u64, figures(&result, NAMES[0]).successes);
    assert!((field(good[0], "p50") - 7.9).abs() < 0.1, "{}", good[0]);
    let bad = of("prony_requests,name=a.b\\ c,");
    assert_eq!((field(bad[1], "failures"), field(bad[1], "requests")), (2.0, 3.0));
    assert!(!bad[0].contains("p50="), "three samples have no median: {}", bad[0]);
    assert_eq!(field(of("prony_users,")[2], "dropped_starts") as u64, 2);
    assert!(text.lines().all(|line| line.rsplit(' ').next().unwrap().len() == 19), "{text}");
}

#[test]
fn graphite_gets_a_line_for_each_figure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    let result = send(&format!("graphite:{address}"));
    let text = reader.join().unwrap();
    let values = |name: &str| -> Vec<f64> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        lines.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    let good = values("prony.shop___groß_.requests.GET__größe__a_b.success");
    assert_eq!(good.iter().sum::<f64>() as u64, figures(&result, NAMES[0]).successes, "{text}");
    assert_eq!(values("prony.shop___groß_.requests.a_b_c.unexpected_status"), [1.0; 3]);
    assert_eq!(values("prony.shop___groß_.users"), [3.0; 3]);
    assert_eq!(values("prony.shop___groß_.requests.a_b_c.response_time.p50"), Vec::<f64>::new());
    for line in text.lines() {
        assert_eq!(line.split(' ').count(), 3, "{line}");
    }
}

/// Documentation of `InfluxDB` has URLs with other ones than that of the lines.
#[test]
fn a_precision_of_times_in_the_url_of_influxdb_does_not_count() {
    let (url, got) = http();
    let sinks = open(&format!("influxdb:{url}/api/v2/write?org=O&precision=s&bucket=a%20b"));
    run(&sinks);
    assert_eq!(sinks.finish()[0].lost, 0);
    assert_eq!(got.lock().unwrap()[0].line, "POST /api/v2/write?org=O&bucket=a+b HTTP/1.1\r\n");
}

/// Sends a second of a run whose requests have these names.
fn send_second(sinks: Sinks, names: [&str; 3]) {
    let load = LoadModel::constant(3, Nanos::from_secs(SECONDS));
    let mut draft = PlanDraft::new("r", Target::new("test", 80), load);
    draft.requests = names.map(|name| RequestDraft::get(name, "/")).to_vec();
    let plan = draft.check().unwrap();
    let windows = plan.windows();
    let mut tally = Tally::new(&windows, TallyShape::of(&plan));
    for record in records(0) {
        tally.record(&windows, &record);
    }
    let mut listen = sinks.listener(plan.name());
    listen(&IntervalSnapshot::of(0, &tally, RequestNames { plan: &plan, found: None }));
    drop(listen);
    assert_eq!(sinks.finish()[0].lost, 0);
}

/// A server keeps one point of the same tags and time.
#[test]
fn influxdb_gets_names_that_become_one_tag_added_up() {
    let (url, got) = http();
    send_second(open(&format!("influxdb:{url}/load")), ["a\\b", "never sent", "a/b"]);
    let bodies: Vec<u8> = got.lock().unwrap().iter().flat_map(|request| request.body.clone()).collect();
    let text = String::from_utf8(bodies).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("prony_requests,")).collect();
    let [line] = lines.as_slice() else { panic!("{text}") };
    let start = "prony_requests,name=a/b,run=r requests=403i,successes=401i,failures=2i,bytes_sent=4433i,";
    assert!(line.starts_with(start), "{text}");
}

/// A server keeps one figure of a path and a second.
#[test]
fn graphite_gets_names_that_become_one_path_added_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sinks = open(&format!("graphite:{}", listener.local_addr().unwrap()));
    let reader = thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    send_second(sinks, ["GET /a.b", "never sent", "GET /a?b"]);
    let text = reader.join().unwrap();
    let values = |figure: &str| -> Vec<u64> {
        let start = format!("prony.r.requests.GET__a_b.{figure} ");
        let rest = text.lines().filter_map(|line| line.strip_prefix(start.as_str()));
        rest.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(values("success"), [401], "{text}");
    assert_eq!(values("bytes_sent"), [403 * 11], "{text}");
}

#[test]
fn statsd_gets_counters_and_timers_in_datagrams_that_fit() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let target = format!("statsd:{}", socket.local_addr().unwrap());
    let result = send(&target);
    let (mut counted, mut timed) = (0.0, 0.0);
    let mut users = 0;
    let mut buffer = [0; 2_000];
    let good = figures(&result, NAMES[0]).successes;
    while counted < good as f64 || timed < good as f64 - 0.5 || users < SECONDS {
        let length = socket.recv(&mut buffer).unwrap();
        assert!(length <= 1_432);
        for line in std::str::from_utf8(&buffer[..length]).unwrap().lines() {
            let (name, value) = line.rsplit_once(':').unwrap();
            let parts: Vec<_> = value.split('|').collect();
            match (name, parts.as_slice()) {
                ("prony.shop___groß_.requests.GET__größe__a_b.success", [count, "c"]) => {
                    counted += count.parse::<f64>().unwrap();
                }
                ("prony.shop___groß_.requests.GET__größe__a_b.response_time", [time, "ms", rate @ ..]) => {
                    let rate = rate
                        .first()
                        .map_or(1.0, |rate| rate.strip_prefix('@').unwrap().parse::<f64>().unwrap());
                    assert!((0.5..15.5).contains(&time.parse::<f64>().unwrap()), "{line}");
                    timed += 1.0 / rate;
                }
                ("prony.shop___groß_.users", ["3", "g"]) => users += 1,
                (_, [_, "c"] | [_, "ms", ..]) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(counted as u64, good);
    assert!((timed - good as f64).abs() < 0.5, "{timed}");
}

#[test]
fn a_target_that_is_down_is_told_once_and_what_is_lost_is_counted() {
    let (url, got) = http();
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("graphite:{}", listener.local_addr().unwrap())
    };
    let both = [gone.clone(), format!("otlp:{url}")].map(|text| SinkSpec::parse(&text).unwrap());
    let sinks = Sinks::open(&both).unwrap();
    let result = run(&sinks);
    let warnings = sinks.warnings();
    let ends = sinks.finish();
    assert_eq!((ends[0].sent, ends[0].lost), (0, SECONDS));
    assert_eq!(ends[0].lost_requests, result.all.requests);
    assert_eq!((ends[1].sent, ends[1].lost), (SECONDS, 0), "the others go on");
    assert_eq!(got.lock().unwrap().len() as u64, SECONDS);
    let warnings = warnings.take();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with(&format!("--out {gone}: Connection refused")), "{warnings:?}");
}

/// It takes what is sent and never responds: the run does not wait, and its end not for ever.
#[test]
fn a_target_that_hangs_holds_nothing_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("prometheus:http://{}", listener.local_addr().unwrap());
    let sinks = open(&text);
    let result = run(&sinks);
    let warnings = sinks.warnings();
    let ends = sinks.finish();
    assert_eq!((ends[0].sent, ends[0].lost, ends[0].lost_requests), (0, SECONDS, result.all.requests));
    let warnings = warnings.take();
    assert!(warnings.len() == 1 && warnings[0].contains("no response within 5 s"), "{warnings:?}");
}

/// More seconds than its queue has room for: the listener gives them up instead of waiting.
#[test]
fn a_queue_that_is_full_loses_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sinks = open(&format!("otlp:http://{}", listener.local_addr().unwrap()));
    let plan = plan();
    let windows = plan.windows();
    let names = RequestNames { plan: &plan, found: None };
    let mut listen = sinks.listener(plan.name());
    for second in 0..100 {
        let mut tally = Tally::new(&windows, TallyShape::of(&plan));
        tally.record(&windows, &records(0)[0]);
        listen(&IntervalSnapshot::of(second, &tally, names));
    }
    drop(listen);
    let ends = sinks.finish();
    assert_eq!((ends[0].sent, ends[0].lost, ends[0].lost_requests), (0, 100, 100));
}

/// A run that was held up tells of several seconds at once: they do not stand in for each other.
#[test]
fn seconds_that_come_together_are_a_second_apart() {
    let (url, got) = http();
    send(&format!("influxdb:{url}/load"));
    let got = got.lock().unwrap();
    let text: String = got.iter().map(|request| String::from_utf8(request.body.clone()).unwrap()).collect();
    let users = text.lines().filter(|line| line.starts_with("prony_users,"));
    let times: Vec<u64> = users.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    let apart: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(apart, [1_000_000_000; SECONDS as usize - 1], "{text}");
}

/// Graphite was started anew: each second stands in one of its connections.
#[test]
fn graphite_is_connected_anew_when_it_has_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sinks = open(&format!("graphite:{}", listener.local_addr().unwrap()));
    let plan = plan();
    let mut listen = sinks.listener(plan.name());
    let tally = Tally::new(&plan.windows(), TallyShape::of(&plan));
    for second in 0..3 {
        listen(&IntervalSnapshot::of(second, &tally, RequestNames { plan: &plan, found: None }));
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        while !line.contains("dropped_starts") {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
    }
    drop(listen);
    let ends = sinks.finish();
    assert_eq!((ends[0].sent, ends[0].lost), (3, 0));
}

#[test]
fn credentials_of_a_url_are_sent_as_they_were_before_it_was_written() {
    let (url, got) = http();
    let sinks = open(&format!("prometheus:{}", url.replace("//", "//bob:p%40ss%20w%C3%B6rt^@")));
    run(&sinks);
    assert_eq!(sinks.finish()[0].name, format!("prometheus:{url}"));
    // bob:p@ss wört^
    assert_eq!(got.lock().unwrap()[0].headers["authorization"], "Basic Ym9iOnBAc3Mgd8O2cnRe");
    let text = format!("influxdb:{url}/write?db=a&u=bob&p=geheim");
    let error = Sinks::open(&[SinkSpec::parse(&text).unwrap()]).unwrap_err().to_string();
    assert!(error.contains("has a password in the query") && !error.contains("geheim"), "{error}");
}

/// What follows a redirect has no body any more, and may succeed all the same.
#[test]
fn a_redirect_is_no_success() {
    let (elsewhere, got) = http();
    let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ";
    let sinks = open(&format!("otlp:{}", responding(format!("{head}{elsewhere}/\r\n\r\n")).0));
    run(&sinks);
    let warnings = sinks.warnings();
    assert_eq!(sinks.finish()[0].lost, SECONDS);
    let warnings = warnings.take();
    assert!(warnings.len() == 1 && warnings[0].contains("status 302"), "{warnings:?}");
    assert_eq!(got.lock().unwrap().len(), 0);
}

#[test]
fn an_error_of_the_target_is_told_in_its_own_words() {
    let body = "{\"error\":\"database not found\"}";
    let length = body.len();
    let response = format!("HTTP/1.1 404 Not Found\r\nContent-Length: {length}\r\n\r\n{body}");
    let text = format!("influxdb:{}/none", responding(response).0);
    let sinks = open(&text);
    run(&sinks);
    let warnings = sinks.warnings();
    assert_eq!(sinks.finish()[0].lost, SECONDS);
    let warnings = warnings.take();
    assert!(warnings[0].contains("status 404: {\"error\":\"database not found\"}"), "{warnings:?}");
}

#[test]
fn targets_that_make_no_sense_are_refused_with_an_example() {
    for (text, part) in [
        ("prometheus:", "its target is no URL (relative URL without a base)"),
        (
            "prometheus:ftp://a/",
            "its target is no URL with http:// or https://; write for example --out prometheus:http://127.0.0.1:9090/api/v1/write",
        ),
        ("influxdb:http://a", "names no database"),
        ("influxdb:http://a/b/c", "names no database"),
        ("graphite:2003", "its target is no HOST:PORT; write for example --out graphite:127.0.0.1:2003"),
        ("statsd=host:0", "its target is no HOST:PORT"),
    ] {
        let error = Sinks::open(&[SinkSpec::parse(text).unwrap()]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--out {text}: ")) && error.contains(part), "{error}");
    }
    for text in ["json=file", "csv:file", "kafka:a", ""] {
        assert!(SinkSpec::parse(text).is_none(), "{text}");
    }
    let many = vec![SinkSpec::parse("statsd:a:1").unwrap(); 17];
    assert!(Sinks::open(&many).unwrap_err().to_string().contains("more than 16 outputs"));
}
