//! Rows by `InfluxDB`'s line protocol and by Prometheus' remote write.

use std::io::Write as _;

use expect_test::expect;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use prost::Message as _;

use super::harness::{Harness, LIMITS};
use crate::incoming::remote_write::{Label, Sample, TimeSeries, WriteRequest};

fn respond(harness: &Harness, target: &str, headers: &[&str], body: &[u8]) -> String {
    let responded = harness.request_bytes("POST", target, headers, body);
    format!("{} {}", responded.status.as_u16(), responded.body)
}

fn rows(harness: &Harness, headers: &[&str]) -> String {
    let headers = [headers, &["Accept: application/x-ndjson"]].concat();
    harness.request("GET", "/v2/attrs", &headers, "").body
}

#[test]
pub(crate) fn lines_are_written() {
    let harness = Harness::new();
    let body = b"weather,id=Room:1,floor=1 temperature=21.5,open=true 1704067200\nweather,floor=2 temperature=20,note=\"\xc3\xbc\" 1672531200";
    assert_eq!(respond(&harness, "/write?precision=s", &[], body), "204 ");
    // The first type stays, whatever comes later.
    assert_eq!(
        respond(&harness, "/api/v2/write?precision=ms", &[], b"weather temperature=\"warm\" 1704067200000"),
        "204 "
    );
    let mut coded = GzEncoder::new(Vec::new(), Compression::fast());
    coded.write_all(b"weather temperature=7i 1").unwrap();
    let coded = coded.finish().unwrap();
    assert_eq!(
        respond(&harness, "/api/v2/write?bucket=b&precision=s", &["Content-Encoding: gzip"], &coded),
        "204 "
    );
    expect![[r#"
        {"id":"-","type":"weather","time":"2024-01-01T00:00:00.000+00:00","values":{}}
        {"id":"Room:1","type":"weather","time":"2024-01-01T00:00:00.000+00:00","values":{"floor":"1","open":true,"temperature":21.5}}
        {"id":"floor=2","type":"weather","time":"2023-01-01T00:00:00.000+00:00","values":{"floor":"2","note":"ü","temperature":20.0}}
    "#]].assert_eq(&rows(&harness, &[]));
    expect![[r#"
        {"id":"-","type":"weather","time":"1970-01-01T00:00:01.000+00:00","values":{"temperature":7}}
    "#]]
    .assert_eq(&rows(&harness, &["Fiware-Service: b"]));
}

#[test]
pub(crate) fn one_bad_line_refuses_all() {
    let harness = Harness::new();
    let refused = [
        ("/write", &[][..], &b"a b=1 1\nc d"[..]),
        ("/write?precision=d", &[], b"a b=1 1"),
        ("/write", &[], b"a b=\"\xff\""),
        ("/write", &["Content-Encoding: gzip"], b"a b=1"),
        ("/write", &["Content-Encoding: br"], b"a b=1"),
        ("/api/v1/write", &[], b"a b=1"),
        ("/api/v1/write", &["Content-Encoding: snappy"], b"a b=1"),
    ];
    let all: Vec<String> =
        refused.iter().map(|(target, headers, body)| respond(&harness, target, headers, body)).collect();
    expect![[r#"
        400 {"code":"invalid","message":"line 2: a field has no value","error":"line 2: a field has no value"}
        400 {"code":"invalid","message":"`d` is no precision; write ns, us, ms, s, m or h","error":"`d` is no precision; write ns, us, ms, s, m or h"}
        400 {"code":"invalid","message":"the body is not UTF-8","error":"the body is not UTF-8"}
        400 {"code":"invalid","message":"the body is not coded with gzip","error":"the body is not coded with gzip"}
        415 {"detail":"`content-encoding` is gzip or snappy","status":415,"title":"Unsupported Media Type","type":"about:blank"}
        415 {"detail":"send a prometheus.WriteRequest (remote write 1.0) with `content-encoding: snappy`","status":415,"title":"Unsupported Media Type","type":"about:blank"}
        400 {"code":"invalid","message":"the body is not coded with snappy's block format","error":"the body is not coded with snappy's block format"}"#]].assert_eq(&all.join("\n"));
    assert_eq!(rows(&harness, &[]), "");
}

#[test]
pub(crate) fn samples_are_written() {
    let harness = Harness::new();
    let label = |name: &str, value: &str| Label { name: name.to_owned(), value: value.to_owned() };
    let samples = [(1.5, 1), (f64::INFINITY, 2), (f64::from_bits(0x7ff0_0000_0000_0002), 3), (-2.0, 4)];
    let request = WriteRequest {
        series: vec![TimeSeries {
            labels: vec![label("__name__", "up"), label("job", "pröny"), label("Value", "label")],
            samples: samples.map(|(value, timestamp)| Sample { value, timestamp }).to_vec(),
        }],
    };
    let send = |request: &WriteRequest| {
        let body = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec()).unwrap();
        respond(&harness, "/api/v1/write", &["Content-Encoding: snappy", "Fiware-Service: t"], &body)
    };
    assert_eq!(send(&request), "204 ");
    expect![[r#"
        {"id":"Value=label,job=pröny","type":"up","time":"1970-01-01T00:00:00.001+00:00","values":{"job":"pröny","value":1.5}}
        {"id":"Value=label,job=pröny","type":"up","time":"1970-01-01T00:00:00.002+00:00","values":{"job":"pröny"}}
        {"id":"Value=label,job=pröny","type":"up","time":"1970-01-01T00:00:00.004+00:00","values":{"job":"pröny","value":-2.0}}
    "#]].assert_eq(&rows(&harness, &["Fiware-Service: t"]));
    let two_of_a_name = [label("__name__", "up"), label("job", "a"), label("job", "b")];
    let unnamed = [label("__name__", "up"), label("", "a")];
    for (labels, expected) in [
        (&two_of_a_name[..], "a series of `up` has the label `job` twice"),
        (&unnamed, "a label of `up` has no name"),
    ] {
        let series =
            TimeSeries { labels: labels.to_vec(), samples: vec![Sample { value: 1.0, timestamp: 1 }] };
        let responded = send(&WriteRequest { series: vec![series] });
        assert!(responded.starts_with("400 ") && responded.contains(expected), "{responded}");
    }
    let nameless = WriteRequest { series: vec![TimeSeries { labels: vec![], samples: vec![] }] };
    assert!(send(&nameless).starts_with("400 "));
}

/// Bodies that ask for much more memory than they have bytes.
#[test]
fn bombs_are_refused() {
    let harness = Harness::new();
    let limit = LIMITS.max_body_bytes;
    let mut coder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![b'#'; 1 << 20];
    for _ in 0..256 {
        coder.write_all(&zeros).unwrap();
    }
    let gzip = coder.finish().unwrap();
    // Many parts, each of which is small.
    let mut coder = GzEncoder::new(Vec::new(), Compression::best());
    coder.write_all(&zeros).unwrap();
    let parts = coder.finish().unwrap().repeat(1 + limit / zeros.len());
    let too_large = "without its coding, which is the limit (max_body_bytes)";
    for body in [&gzip, &parts] {
        let responded = respond(&harness, "/write", &["Content-Encoding: gzip"], body);
        assert!(responded.starts_with("413 ") && responded.contains(too_large), "{responded}");
    }
    let snappy = ["Content-Encoding: snappy"];
    let encoded = |body: &[u8]| snap::raw::Encoder::new().compress_vec(body).unwrap();
    // What says that it has 4 GiB, what has more than the limit, and what has less than it says.
    let huge = respond(&harness, "/api/v1/write", &snappy, b"\xff\xff\xff\xff\x0f\x00a");
    assert!(huge.starts_with("413 "), "{huge}");
    let large = respond(&harness, "/api/v1/write", &snappy, &encoded(&vec![0; limit + 1]));
    assert!(large.starts_with("413 ") && large.contains(too_large), "{large}");
    let short = respond(&harness, "/api/v1/write", &snappy, b"\x80\x80\x04\x00a");
    assert!(short.starts_with("400 ") && short.contains("snappy"), "{short}");
    // Each empty series is two bytes, each sample of a series brings all of its labels.
    let empty = respond(&harness, "/api/v1/write", &snappy, &encoded(&[10, 0].repeat(limit / 2)));
    assert!(empty.starts_with("400 ") && empty.contains("no label `__name__`"), "{empty}");
    let labels = [("__name__", "up".to_owned()), ("l", "x".repeat(4_000))];
    let labels = labels.map(|(name, value)| Label { name: name.to_owned(), value });
    let sample = |timestamp| Sample { value: 1.0, timestamp };
    let series = TimeSeries { labels: labels.to_vec(), samples: (0..100_000).map(sample).collect() };
    let body = encoded(&WriteRequest { series: vec![series] }.encode_to_vec());
    let product = respond(&harness, "/api/v1/write", &snappy, &body);
    assert!(
        product.starts_with("400 ") && product.contains("bytes in the log, and the limit is"),
        "{product}"
    );
    assert_eq!(rows(&harness, &[]), "");
}

proptest! {
    /// Whatever is sent, the response is one of those that are documented, and what is refused has written nothing.
    #[test]
    fn any_body_is_written_as_a_whole_or_not_at_all(
        lines in proptest::collection::vec("(a|a,t=1|,|a\\\\ b,t=\\\\,) (v=1|v=\"x|v=1i|w=\"\\\\\"\n\"|v=)( 1|  | -5|x|)", 1..6),
        cut in 0..200_usize,
    ) {
        let harness = Harness::new();
        let whole = lines.join("\n");
        let cut = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).nth(cut).unwrap_or(whole.len());
        let responded = respond(&harness, "/write?precision=s", &[], &whole.as_bytes()[..cut]);
        let is_written = responded == "204 ";
        prop_assert!(is_written || responded.starts_with("400 {\"code\":\"invalid\",\"message\":\"line "), "{responded}");
        prop_assert!(is_written || rows(&harness, &[]).is_empty());
    }
}
