//! How fast, and with how much memory, `prony report FILE.jtl` reads a file of gigabytes.

use crate::PRONY;
use crate::process::peak_resident_kib;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const HEAD: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,\
    grpThreads,allThreads,URL,Latency,IdleTime,Connect\n";
/// 2024-01-01, in milliseconds.
const BEGIN_MS: u64 = 1_704_067_200_000;
const POLL: Duration = Duration::from_millis(20);

pub(crate) fn read(gigabytes: f64) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("samples.jtl");
    let (rows, bytes) = write(&path, gigabytes);
    let begin = Instant::now();
    let mut child = Command::new(PRONY)
        .args(["report"])
        .arg(&path)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program is there");
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak_resident_kib(child.id()));
        if let Some(status) = child.try_wait().expect("a child of this process") {
            break status;
        }
        thread::sleep(POLL);
    };
    let seconds = begin.elapsed().as_secs_f64();
    assert!(status.success(), "the report failed: {status}");
    println!(
        "{rows} rows, {:.2} GB, in {seconds:.2} s: {:.0} MB/s, {:.2} million rows/s; peak memory {:.1} MB",
        bytes as f64 / 1e9,
        bytes as f64 / 1e6 / seconds,
        rows as f64 / 1e6 / seconds,
        peak_kib as f64 * 1024.0 / 1e6
    );
}

/// Rows of a long test: fifty labels, some failures, some with messages of several lines.
fn write(path: &Path, gigabytes: f64) -> (u64, u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("room for a large file"));
    out.write_all(HEAD.as_bytes()).expect("room for a large file");
    let (mut rows, mut bytes) = (0_u64, HEAD.len() as u64);
    let mut line = String::new();
    // Constants of Knuth's MMIX generator.
    let mut state = 1_u64;
    while (bytes as f64) < gigabytes * 1e9 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = state >> 33;
        line.clear();
        let (label, elapsed, thread) = (chance % 50, chance % 997, chance % 200);
        let (code, message, success, failure) = match chance % 1_000 {
            0 => (
                "500",
                "Internal Server Error",
                "false",
                "\"Test failed: text expected to contain /a,\n\"\"b\"\"/\"",
            ),
            1 => ("404", "Not Found", "false", ""),
            _ => ("200", "OK", "true", ""),
        };
        writeln!(
            line,
            "{},{elapsed},request {label},{code},{message},Group 1-{thread},text,{success},{failure},{},312,200,200,http://127.0.0.1:8080/path/{label},{},0,0",
            BEGIN_MS + rows / 5,
            400 + chance % 5_000,
            elapsed / 2
        )
        .expect("writing into memory does not fail");
        out.write_all(line.as_bytes()).expect("room for a large file");
        bytes += line.len() as u64;
        rows += 1;
    }
    out.flush().expect("room for a large file");
    (rows, bytes)
}
