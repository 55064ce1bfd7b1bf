//! Outputs from samples to bytes.

use super::csv::Csv;
use super::json::Json;
use super::writer::Plain;
use super::*;
use crate::engine::Engine;
use crate::metric::{Contains, Kind};
use crate::recorder::{Recorder, RecorderOptions, RequestSample};
use crate::registry::Registry;
use crate::system_tag::{SystemTag, SystemTags};
use crate::tags::{RequestTags, Tags};
use crate::thresholds::{self, Thresholds};
use expect_test::{Expect, expect};
use flate2::Compression;
use flate2::write::GzEncoder;
use prony_model::units::Nanos;
use serde_json::json;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, UNIX_EPOCH};

/// A file in memory that can fail.
struct Memory {
    bytes: Sender<Vec<u8>>,
    is_full: bool,
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.send(bytes.to_vec()).expect("the test reads on");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn context() -> OutputContext {
    let registry = Arc::new(Registry::new());
    registry.define("waited", Kind::Trend, Contains::Time).expect("a new name");
    let option = json!({
        "waited": ["p(95)<5", {"threshold": "max<9", "abortOnFail": true, "delayAbortEval": "10s"}],
        "http_reqs{status:200}": ["count>0"],
    });
    let thresholds = thresholds::read(&option).expect("good conditions");
    Thresholds::resolve(thresholds.clone(), &registry, SystemTags::default()).expect("good thresholds");
    let started_at = UNIX_EPOCH + Duration::from_secs(1_795_248_393);
    OutputContext { registry, system_tags: SystemTags::default(), thresholds, started_at }
}

/// A user's iteration with a request, metadata and a custom metric.
fn record(recorder: &mut Recorder) {
    let root = recorder.root().set;
    let set = recorder.sets().with_system(root, SystemTag::Scenario, "a, b");
    let user = Tags { set, metadata: recorder.new_metadata() };
    recorder.set_metadata(user.metadata, [("vu", "1"), ("iter", "0")]);
    let tags = RequestTags {
        method: "GET",
        url: "http://a/?q=\"1\"",
        status: 200,
        proto: Some("HTTP/1.1"),
        is_expected: Some(true),
        ..RequestTags::default()
    };
    let request = RequestSample { tags, ended: Nanos::from_millis(1500), ..RequestSample::default() };
    recorder.record_request(user, &request);
    recorder.set_metadata(user.metadata, []);
    let waited = recorder.registry().get("waited").expect("it is defined");
    let tagged = Tags { set: recorder.sets().derive(user.set, &[("colour", "red")]), ..user };
    recorder.record_at(waited, tagged, Nanos::from_secs(2), 0.25);
}

fn run(format: impl OutputFormat + 'static, is_full: bool) -> (String, OutputEnd) {
    let (bytes, written) = channel();
    let context = context();
    let spec = OutputSpec { format: Arc::new(format), file: Some("out".into()) };
    let options = RecorderOptions {
        registry: Arc::clone(&context.registry),
        system_tags: context.system_tags,
        run_tags: Vec::new(),
        has_outputs: true,
    };
    let file = Box::new(Plain(Memory { bytes, is_full }));
    let (output, sink) = FileOutput::to(file, &spec, context).expect("a thread");
    let engine = Engine::new(&options, Thresholds::default(), vec![sink]);
    let mut recorder = Recorder::new(&options);
    record(&mut recorder);
    engine.receive(0, &mut recorder);
    engine.close_outputs();
    let end = output.finish();
    let bytes: Vec<u8> = written.into_iter().flatten().collect();
    (String::from_utf8(bytes).expect("text"), end)
}

fn check(format: impl OutputFormat + 'static, keep: &[&str], expected: &Expect) {
    let (text, end) = run(format, false);
    assert_eq!((end.lines, end.lost), (text.lines().count() as u64, 0));
    let kept: Vec<&str> = text.lines().filter(|line| keep.iter().any(|part| line.contains(part))).collect();
    expected.assert_eq(&kept.join("\n"));
}

#[test]
fn json_has_a_line_for_each_metric_and_each_sample() {
    check(
        Json,
        &["http_reqs", "waited", "http_req_failed"],
        &expect![[r#"
        {"type":"Metric","data":{"name":"http_reqs","type":"counter","contains":"default","thresholds":[],"submetrics":[{"name":"http_reqs{status:200}","suffix":"status:200","tags":{"status":"200"}}]},"metric":"http_reqs"}
        {"metric":"http_reqs","type":"Point","data":{"time":"2026-11-21T08:06:34.5Z","value":1,"tags":{"expected_response":"true","method":"GET","name":"http://a/?q=\"1\"","proto":"HTTP/1.1","scenario":"a, b","status":"200","url":"http://a/?q=\"1\""},"metadata":{"iter":"0","vu":"1"}}}
        {"type":"Metric","data":{"name":"http_req_failed","type":"rate","contains":"default","thresholds":[],"submetrics":null},"metric":"http_req_failed"}
        {"metric":"http_req_failed","type":"Point","data":{"time":"2026-11-21T08:06:34.5Z","value":0,"tags":{"expected_response":"true","method":"GET","name":"http://a/?q=\"1\"","proto":"HTTP/1.1","scenario":"a, b","status":"200","url":"http://a/?q=\"1\""},"metadata":{"iter":"0","vu":"1"}}}
        {"type":"Metric","data":{"name":"waited","type":"trend","contains":"time","thresholds":["p(95)<5",{"threshold":"max<9","abortOnFail":true,"delayAbortEval":"10000ms"}],"submetrics":null},"metric":"waited"}
        {"metric":"waited","type":"Point","data":{"time":"2026-11-21T08:06:35Z","value":0.25,"tags":{"colour":"red","scenario":"a, b"}}}"#]],
    );
}

#[test]
fn csv_has_a_column_for_each_system_tag() {
    let format = Csv { time: TimeFormat::Rfc3339Nano };
    check(
        format,
        &["metric_name", "http_reqs", "waited"],
        &expect![[r#"
        metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata
        http_reqs,2026-11-21T08:06:34.5Z,1.000000,,,,true,,GET,"http://a/?q=""1""",HTTP/1.1,"a, b",,200,,,"http://a/?q=""1""",,iter=0&vu=1
        waited,2026-11-21T08:06:35Z,0.250000,,,,,,,,,"a, b",,,,,,colour=red,"#]],
    );
}

#[test]
fn a_full_disk_loses_lines_and_says_how_many() {
    let (text, end) = run(Json, true);
    assert_eq!(text, "");
    assert_eq!((end.lines, end.lost), (0, 10));
    expect!["output json (out): no storage space; 10 samples are missing after 0 lines"]
        .assert_eq(&end.to_string());
}

#[test]
fn a_queue_that_is_full_loses_samples_and_no_tag_sets() {
    use crate::builtin;
    use crate::samples::{Event, SampleBatch};
    use crate::tags::{MetadataId, TagSetId};
    let (bytes, _written) = channel();
    let spec = OutputSpec { format: Arc::new(Json), file: None };
    let file = Box::new(Plain(Memory { bytes, is_full: false }));
    let (output, mut sink) = FileOutput::to(file, &spec, context()).expect("a thread");
    let sample = Event::Sample {
        metric: builtin::VUS,
        set: TagSetId(0),
        metadata: MetadataId::NONE,
        at: Nanos::ZERO,
        value: 1.0,
    };
    let sets = vec![(TagSetId(0), Arc::new(TagSet::default()))];
    let too_many = vec![sample.clone(); QUEUED_SAMPLES_MAX as usize + 1];
    sink.take(&Arc::new(SampleBatch { thread: 0, events: too_many, sets }));
    sink.take(&Arc::new(SampleBatch { thread: 0, events: vec![sample], sets: Vec::new() }));
    drop(sink);
    let end = output.finish();
    assert_eq!(
        (end.lines, end.lost),
        (2, QUEUED_SAMPLES_MAX + 1),
        "the metric's line and a point were written"
    );
    assert!(end.to_string().contains("2000001 samples are missing"), "{end}");
}

#[test]
fn a_name_that_ends_in_gz_is_compressed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("samples.csv.gz");
    let spec = OutputSpec { format: Arc::new(Csv { time: TimeFormat::Unix }), file: Some(path.clone()) };
    let (output, sink) = FileOutput::open(&spec, context()).expect("a file");
    drop(sink);
    assert_eq!(output.finish().lines, 1);
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("it is there");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("whole");
    assert!(text.starts_with("metric_name,timestamp,metric_value,check,error,"), "{text}");
}

/// A disk with room for so many bytes, which are counted.
struct Room {
    left: usize,
    written: Arc<AtomicUsize>,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.left);
        if count < bytes.len().min(1) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.left -= count;
        self.written.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_end_of_a_compressed_file_that_cannot_be_written_is_told() {
    let of = |left| {
        let spec = OutputSpec { format: Arc::new(Csv { time: TimeFormat::Unix }), file: Some("a.gz".into()) };
        let written = Arc::new(AtomicUsize::new(0));
        let file = GzEncoder::new(Room { left, written: Arc::clone(&written) }, Compression::default());
        let (output, sink) = FileOutput::to(Box::new(file), &spec, context()).expect("a thread");
        drop(sink);
        (output.finish(), written.load(Ordering::Relaxed))
    };
    let (whole, bytes) = of(usize::MAX);
    assert!(whole.error.is_none(), "{whole}");
    // The last byte of its length.
    let (end, _) = of(bytes - 1);
    assert_eq!(end.to_string(), "output csv (a.gz): no storage space; its end is missing after 1 lines");
}

#[test]
fn arguments_of_out_are_read() {
    let check = |text: &str, expected: &Expect| {
        let result = OutputSpec::parse(text, None, None);
        expected.assert_eq(&result.map_or_else(|error| error.to_string(), |spec| format!("{spec:?}")));
    };
    check("json=a.json", &expect![[r#"OutputSpec { format: Json, file: Some("a.json") }"#]]);
    check("json", &expect!["OutputSpec { format: Json, file: None }"]);
    check("csv=-", &expect!["OutputSpec { format: Csv { time: Unix }, file: None }"]);
    check(
        "csv=fileName=a.csv.gz,timeFormat=rfc3339,saveInterval=5s",
        &expect![[r#"OutputSpec { format: Csv { time: Rfc3339 }, file: Some("a.csv.gz") }"#]],
    );
    check(
        "csv=fileName=a,colour=red",
        &expect![
            "--out csv=fileName=a,colour=red: 'colour=red' is none of fileName=FILE, timeFormat=FORMAT and saveInterval=TIME"
        ],
    );
    check(
        "csv=timeFormat=local",
        &expect![
            "--out csv=timeFormat=local: time format 'local' is none of unix, unix_milli, unix_micro, unix_nano, rfc3339, rfc3339_nano"
        ],
    );
    check(
        "influxdb=http://localhost",
        &expect![
            "--out influxdb=http://localhost: 'influxdb' is not an output that is supported; json and csv are"
        ],
    );
    let missing = OutputSpec { format: Arc::new(Json), file: Some("/nonexistent/a.json".into()) };
    let error = FileOutput::open(&missing, context()).map(|_| ()).expect_err("no such directory");
    assert!(error.to_string().starts_with("cannot create /nonexistent/a.json: No such file"), "{error}");
}
