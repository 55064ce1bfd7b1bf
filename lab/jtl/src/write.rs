//! Writes rows: CSV as JMeter does, or its XML; each file has a thread of its own, so that a slow disk slows no load.

use crate::sample::{COLUMNS, Sample};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Blocks that wait to be written. A disk that is slower loses rows, which is said, and never holds up the load.
const BLOCKS_MAX: usize = 1_024;
const XML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n";
const XML_END: &str = "</testResults>\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Csv,
    Xml,
}

/// A sample as XML has it: with what assertions said, names and failures, and with the samples that are part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleTree<'a> {
    pub sample: Sample<'a>,
    pub assertions: Vec<(&'a str, &'a str)>,
    pub parts: Vec<Self>,
}

/// Blocks on their way, and the thread that writes them.
type Queue = (SyncSender<Vec<u8>>, JoinHandle<io::Result<()>>);

/// A file that rows go to.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    queue: Mutex<Option<Queue>>,
    lost_bytes: AtomicU64,
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {}: {cause}", .path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("{}: rows are missing ({bytes} bytes): they came faster than they could be written; write to a faster disk", .path.display())]
    Lost { path: PathBuf, bytes: u64 },
}

impl Format {
    /// Appends a sample: in XML with its parts in it, in CSV without them.
    pub fn append(self, block: &mut Vec<u8>, tree: &SampleTree<'_>) {
        match self {
            Self::Csv => append_csv(block, &tree.sample),
            Self::Xml => {
                let mut text = String::new();
                append_xml(&mut text, tree, 0);
                block.extend_from_slice(text.as_bytes());
            }
        }
    }
}

impl Writer {
    /// Makes the file anew, with its first lines.
    pub fn create(path: &Path, format: Format) -> Result<Self, WriteError> {
        let failed = |cause| WriteError::Io { path: path.to_owned(), cause };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = File::create(path).map_err(failed)?;
        let head = match format {
            Format::Csv => COLUMNS.join(",") + "\n",
            Format::Xml => XML_HEAD.to_owned(),
        };
        file.write_all(head.as_bytes()).map_err(failed)?;
        let (sender, receiver) = sync_channel::<Vec<u8>>(BLOCKS_MAX);
        let write = move || {
            for block in receiver {
                file.write_all(&block)?;
            }
            if format == Format::Xml {
                file.write_all(XML_END.as_bytes())?;
            }
            file.flush()
        };
        let thread = std::thread::Builder::new().name("prony-jtl".to_owned()).spawn(write).map_err(failed)?;
        let queue = Mutex::new(Some((sender, thread)));
        Ok(Self { path: path.to_owned(), queue, lost_bytes: AtomicU64::new(0) })
    }

    /// Hands over rows; never waits.
    pub fn write(&self, block: Vec<u8>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = queue.as_ref().map(|(sender, _)| sender.try_send(block));
        if let Some(Err(TrySendError::Full(block) | TrySendError::Disconnected(block))) = sent {
            self.lost_bytes.fetch_add(block.len() as u64, Ordering::Relaxed);
        }
    }

    /// Waits until all is written.
    pub fn close(&self) -> Result<(), WriteError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = queue else { return Ok(()) };
        drop(sender);
        let path = self.path.clone();
        match thread.join() {
            Ok(Err(cause)) => Err(WriteError::Io { path, cause }),
            Ok(Ok(())) => match self.lost_bytes.load(Ordering::Relaxed) {
                0 => Ok(()),
                bytes => Err(WriteError::Lost { path, bytes }),
            },
            Err(_) => Err(WriteError::Io { path, cause: io::Error::other("its thread was lost") }),
        }
    }
}

/// Appends a row.
pub fn append_csv(block: &mut Vec<u8>, sample: &Sample<'_>) {
    let mut row = Row(block);
    row.number(sample.timestamp_ms);
    row.number(sample.elapsed_ms);
    row.text(&sample.label);
    row.text(&sample.response_code);
    row.text(&sample.response_message);
    row.text(&sample.thread_name);
    row.text(&sample.data_type);
    row.text(if sample.is_success { "true" } else { "false" });
    row.text(&sample.failure_message);
    row.number(sample.bytes);
    row.number(sample.sent_bytes);
    row.number(sample.group_threads);
    row.number(sample.all_threads);
    row.text(sample.url.as_deref().unwrap_or("null"));
    row.number(sample.latency_ms);
    row.number(sample.idle_ms);
    row.number(sample.connect_ms);
    if let Some(last) = block.last_mut() {
        *last = b'\n';
    }
}

/// A row whose cells each end with a comma.
struct Row<'a>(&'a mut Vec<u8>);

impl Row<'_> {
    fn number(&mut self, number: impl itoa::Integer) {
        self.0.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        self.0.push(b',');
    }

    /// In quotes where it holds a comma, a quote or a line end.
    fn text(&mut self, text: &str) {
        if memchr::memchr3(b',', b'"', b'\n', text.as_bytes()).is_some() || text.contains('\r') {
            self.0.push(b'"');
            self.0.extend_from_slice(text.replace('"', "\"\"").as_bytes());
            self.0.push(b'"');
        } else {
            self.0.extend_from_slice(text.as_bytes());
        }
        self.0.push(b',');
    }
}

fn append_xml(text: &mut String, tree: &SampleTree<'_>, depth: usize) {
    let SampleTree { sample, assertions, parts } = tree;
    let (indent, tag) = ("  ".repeat(depth), if sample.url.is_some() { "httpSample" } else { "sample" });
    let _ = write!(
        text,
        "{indent}<{tag} t=\"{}\" it=\"{}\" lt=\"{}\" ct=\"{}\" ts=\"{}\" s=\"{}\" lb=\"{}\" rc=\"{}\" rm=\"{}\" tn=\"{}\" dt=\"{}\" by=\"{}\" sby=\"{}\" ng=\"{}\" na=\"{}\"",
        sample.elapsed_ms,
        sample.idle_ms,
        sample.latency_ms,
        sample.connect_ms,
        sample.timestamp_ms,
        sample.is_success,
        escaped(&sample.label),
        escaped(&sample.response_code),
        escaped(&sample.response_message),
        escaped(&sample.thread_name),
        sample.data_type,
        sample.bytes,
        sample.sent_bytes,
        sample.group_threads,
        sample.all_threads,
    );
    if assertions.is_empty() && parts.is_empty() && sample.url.is_none() {
        return text.push_str("/>\n");
    }
    text.push_str(">\n");
    for (name, failure) in assertions {
        let _ = write!(
            text,
            "{indent}  <assertionResult>\n{indent}    <name>{}</name>\n{indent}    <failure>{}</failure>\n{indent}    <error>false</error>\n",
            escaped(name),
            !failure.is_empty()
        );
        if !failure.is_empty() {
            let _ = writeln!(text, "{indent}    <failureMessage>{}</failureMessage>", escaped(failure));
        }
        let _ = writeln!(text, "{indent}  </assertionResult>");
    }
    for part in parts {
        append_xml(text, part, depth + 1);
    }
    if let Some(url) = &sample.url {
        let _ = writeln!(text, "{indent}  <java.net.URL>{}</java.net.URL>", escaped(url));
    }
    let _ = writeln!(text, "{indent}</{tag}>");
}

/// What XML 1.0 cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => {
                let _ = write!(out, "&#{};", u32::from(letter));
            }
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::borrow::Cow;

    fn sample() -> Sample<'static> {
        Sample {
            timestamp_ms: 1_700_000_000_000,
            elapsed_ms: 12,
            label: Cow::Borrowed("a, \"b\""),
            response_code: Cow::Borrowed("200"),
            response_message: Cow::Borrowed("OK"),
            thread_name: Cow::Borrowed("Group 1-1"),
            data_type: Cow::Borrowed("text"),
            is_success: false,
            failure_message: Cow::Borrowed("two\nlines"),
            bytes: 5,
            sent_bytes: 6,
            group_threads: 1,
            all_threads: 2,
            url: Some(Cow::Borrowed("http://h/?a=1&b=2")),
            latency_ms: 3,
            idle_ms: 0,
            connect_ms: 1,
        }
    }

    fn written(format: Format) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/out.jtl");
        let writer = Writer::create(&path, format).unwrap();
        let mut block = Vec::new();
        let part = Sample { url: None, failure_message: Cow::Borrowed(""), ..sample() };
        let part = SampleTree { sample: part, ..SampleTree::default() };
        let assertions = vec![("A", "two\nlines"), ("B", "")];
        let whole = SampleTree { sample: sample(), assertions, parts: vec![part.clone()] };
        format.append(&mut block, &whole);
        format.append(&mut block, &part);
        writer.write(block);
        writer.close().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn rows_are_jmeters() {
        expect![[r#"
            timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect
            1700000000000,12,"a, ""b""",200,OK,Group 1-1,text,false,"two
            lines",5,6,1,2,http://h/?a=1&b=2,3,0,1
            1700000000000,12,"a, ""b""",200,OK,Group 1-1,text,false,,5,6,1,2,null,3,0,1
        "#]]
        .assert_eq(&written(Format::Csv));
    }

    #[test]
    fn xml_has_assertions_and_parts() {
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testResults version="1.2">
            <httpSample t="12" it="0" lt="3" ct="1" ts="1700000000000" s="false" lb="a, &quot;b&quot;" rc="200" rm="OK" tn="Group 1-1" dt="text" by="5" sby="6" ng="1" na="2">
              <assertionResult>
                <name>A</name>
                <failure>true</failure>
                <error>false</error>
                <failureMessage>two&#10;lines</failureMessage>
              </assertionResult>
              <assertionResult>
                <name>B</name>
                <failure>false</failure>
                <error>false</error>
              </assertionResult>
              <sample t="12" it="0" lt="3" ct="1" ts="1700000000000" s="false" lb="a, &quot;b&quot;" rc="200" rm="OK" tn="Group 1-1" dt="text" by="5" sby="6" ng="1" na="2"/>
              <java.net.URL>http://h/?a=1&amp;b=2</java.net.URL>
            </httpSample>
            <sample t="12" it="0" lt="3" ct="1" ts="1700000000000" s="false" lb="a, &quot;b&quot;" rc="200" rm="OK" tn="Group 1-1" dt="text" by="5" sby="6" ng="1" na="2"/>
            </testResults>
        "#]]
        .assert_eq(&written(Format::Xml));
    }
}
