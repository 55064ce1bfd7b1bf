//! Reads files of samples in one pass, CSV or XML, gigabytes of them: memory does not grow with a file.

mod rows;
mod time;
mod xml;

use crate::sample::{COLUMNS, Sample};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// What is read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// What is looked at to tell what a file is.
const HEAD_BYTES: usize = 4_096;

/// Why a file cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {cause}", .path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("{} is empty: it has no line with the names of columns", .path.display())]
    Empty { path: PathBuf },
    #[error(
        "{}: the first line has no names of columns, it begins with `{first}`; write the file again with \
         -Jjmeter.save.saveservice.print_field_names=true, or put this line before it:\n{}", .path.display(), COLUMNS.join(",")
    )]
    Headerless { path: PathBuf, first: String },
    #[error("{}: the column `{column}` is missing; write the file again with -Jjmeter.save.saveservice.{setting}", .path.display())]
    Column { path: PathBuf, column: &'static str, setting: &'static str },
    #[error("{}:{line}: `{text}` is no number for `{column}`; write times as milliseconds: -Jjmeter.save.saveservice.timestamp_format=ms", .path.display())]
    Number { path: PathBuf, line: u64, column: &'static str, text: String },
    #[error("{}:{line}: the row has {found} cells and the first line {expected}; look for a quote that is not closed", .path.display())]
    Cells { path: PathBuf, line: u64, found: usize, expected: usize },
    #[error("{}: {cause}", .path.display())]
    Csv { path: PathBuf, cause: csv::Error },
    #[error("{} is XML, and no file of JMeter's samples: it begins with <{tag}>", .path.display())]
    OtherXml { path: PathBuf, tag: String },
    #[error("{}, byte {byte}: {message}", .path.display())]
    Xml { path: PathBuf, byte: u64, message: String },
}

/// What a file has and has not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileFacts {
    /// Columns of JMeter's that it does not have.
    pub lacking: Vec<&'static str>,
    /// False for CSV whose first line is a row.
    pub has_names: bool,
    /// It ends within a sample, or XML before its end, as of a run that was killed; a sample that was cut is left out.
    pub is_cut: bool,
}

impl FileFacts {
    /// What must be known before any figure, in sentences without a full stop.
    pub fn notices(&self) -> Vec<&'static str> {
        let lacks = |column: &str| self.lacking.contains(&column);
        let success = match (lacks("success"), lacks("responseCode") && lacks("failureMessage")) {
            (false, _) => None,
            (true, false) => Some(
                "it has no column `success`: samples count as failed by their code, which is not from 200 to 399, and by \
                 what an assertion said",
            ),
            (true, true) => Some("no column says which samples failed, and all count as successes"),
        };
        let label = lacks("label").then_some("it has no column `label`: all samples have one line");
        let names = (!self.has_names).then_some(
            "its first line has no names: its 17 columns are taken for JMeter's, in JMeter's order",
        );
        let cut = self.is_cut.then_some("it ends before its end, as that of a run that was killed");
        [names, label, success, cut].into_iter().flatten().collect()
    }
}

/// Gives each sample to `take`, in the file's order; of XML those that stand in no other sample.
pub fn read(path: &Path, take: impl FnMut(&Sample<'_>)) -> Result<FileFacts, ReadError> {
    let failed = |cause| ReadError::Io { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
    let ends_line = ends_line(&mut file).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    if text.trim_ascii_start().starts_with(b"<") {
        return xml::read(path, file, take);
    }
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    rows::read(path, file, first_line, ends_line, take)
}

/// True where the last line is whole, as far as its end tells.
fn ends_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Where no column says whether a sample succeeded, its code and what an assertion said do.
fn derived_success(sample: &Sample<'_>) -> bool {
    let is_good = sample.response_code.parse::<u16>().is_ok_and(|code| (200..400).contains(&code));
    sample.failure_message.is_empty() && (is_good || sample.response_code.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn check(text: &str, expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jtl");
        std::fs::write(&path, text).unwrap();
        let mut out = String::new();
        let mut statistics = Statistics::default();
        let read = read(&path, |sample| {
            statistics.add(sample);
            let _ = writeln!(
                out,
                "{} {} {:?} {} {:?} {} {:?}",
                sample.timestamp_ms,
                sample.elapsed_ms,
                sample.label,
                sample.is_success,
                sample.failure_message,
                sample.bytes,
                sample.url
            );
        });
        if let Err(error) = read {
            out = error.to_string().replace(&folder.path().display().to_string(), "DIR") + "\n";
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn cells_may_hold_commas_and_lines_and_columns_any_order() {
        check(
            "label,elapsed,timeStamp,success,failureMessage\n\"a, b\",5,1000,true,\nc,7,1003,false,\"two\nlines, \"\"q\"\"\"\n",
            &expect![[r#"
                1000 5 "a, b" true "" 0 None
                1003 7 "c" false "two\nlines, \"q\"" 0 None
            "#]],
        );
        check(
            "timeStamp;elapsed;label;success;bytes;URL\r\n1;2;x;true;9;http://h/\r\n",
            &expect![[r#"
            1 2 "x" true "" 9 Some("http://h/")
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_reported_says_how_to_write_it() {
        check(
            "",
            &expect![[r#"
            DIR/a.jtl is empty: it has no line with the names of columns
        "#]],
        );
        check(
            "1700000000000,5,label,200,OK\n",
            &expect![[r#"
            DIR/a.jtl: the first line has no names of columns, it begins with `1700000000000`; write the file again with -Jjmeter.save.saveservice.print_field_names=true, or put this line before it:
            timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect
        "#]],
        );
        check(
            "timeStamp,label,success\n",
            &expect![[r#"
            DIR/a.jtl: the column `elapsed` is missing; write the file again with -Jjmeter.save.saveservice.time=true
        "#]],
        );
        check(
            "<?xml version=\"1.0\"?>\n<jmeterTestPlan/>",
            &expect![[r#"
                DIR/a.jtl is XML, and no file of JMeter's samples: it begins with <jmeterTestPlan>
            "#]],
        );
        check(
            "<testResults><sample t=\"x\" ts=\"1\"/></testResults>",
            &expect![[r#"
                DIR/a.jtl, byte 35: `x` is no number for the attribute `t`
            "#]],
        );
        check(
            "<!DOCTYPE r [<!ENTITY a SYSTEM \"/etc/passwd\">]><testResults><sample t=\"1\" ts=\"1\" lb=\"&a;\"/></testResults>",
            &expect![[r#"
                DIR/a.jtl, byte 91: at 1..2: unrecognized entity `a`
            "#]],
        );
        check(
            "timeStamp,elapsed,label,success\n2026/01/01,5,a,true\n",
            &expect![[r#"
            DIR/a.jtl:2: `2026/01/01` is no number for `timeStamp`; write times as milliseconds: -Jjmeter.save.saveservice.timestamp_format=ms
        "#]],
        );
        check(
            "timeStamp,elapsed,label,success\n1,5,a\n",
            &expect![[r#"
            DIR/a.jtl:2: the row has 3 cells and the first line 4; look for a quote that is not closed
        "#]],
        );
    }

    #[test]
    fn columns_that_are_not_there_are_done_without() {
        check(
            "elapsed,timeStamp\n5,1000\n7,2023-11-14 22:13:20\n",
            &expect![[r#"
            1000 5 "(no label)" true "" 0 None
            1700000000000 7 "(no label)" true "" 0 None
        "#]],
        );
        check(
            "timeStamp\telapsed\tresponseCode\tlabel\n1\t2\t503\ta, b\n1\t2\t204\ta\n",
            &expect![[r#"
            1 2 "a, b" false "" 0 None
            1 2 "a" true "" 0 None
        "#]],
        );
        // Without a line of names a row has all columns, in JMeter's order.
        check(
            "1000,5,a,500,Oh No,T 1-1,text,false,,10,20,1,1,http://h/,4,0,1\n",
            &expect![[r#"
            1000 5 "a" false "" 10 Some("http://h/")
        "#]],
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jtl");
        std::fs::write(&path, "elapsed,timeStamp,label,success,bytes\n").unwrap();
        let facts = read(&path, |_| {}).unwrap();
        assert_eq!(facts.lacking.len(), COLUMNS.len() - 5);
        assert!(facts.has_names && facts.lacking.contains(&"Latency"));
    }

    /// What was being written when a run was killed is left out, and said; within a file it is a fault.
    #[test]
    fn a_last_row_that_is_cut_is_left_out() {
        let head = "timeStamp,elapsed,label,success\n1,5,a,true\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jtl");
        let ends = [("", 1, false), ("2,6,b", 1, true), ("2", 1, true), ("2,6,b,true", 2, false)];
        for (end, samples, is_cut) in ends {
            std::fs::write(&path, format!("{head}{end}")).unwrap();
            let mut count = 0;
            let facts = read(&path, |_| count += 1).unwrap();
            assert_eq!((count, facts.is_cut), (samples, is_cut), "{end}");
            assert_eq!(facts.notices().len(), usize::from(is_cut), "{end}");
        }
        std::fs::write(&path, format!("{head}2,6\n3,7,c,true")).unwrap();
        let error = read(&path, |_| {}).unwrap_err().to_string();
        assert!(error.contains("a.jtl:3: the row has 2 cells and the first line 4"), "{error}");
    }

    #[test]
    fn xml_has_samples_with_parts_that_are_not_counted() {
        check(
            r#"<?xml version="1.0" encoding="UTF-8"?>
            <testResults version="1.2">
            <httpSample t="5" it="0" lt="4" ct="1" ts="1000" s="false" lb="a &lt;b&gt; &#x41;" rc="200" rm="OK" tn="T 1-1" dt="text" by="10" sby="20" ng="1" na="1">
              <assertionResult><name>x</name><failure>false</failure><error>false</error></assertionResult>
              <assertionResult><name>y</name><failure>true</failure><failureMessage>expected &quot;1&quot; &amp;
            more</failureMessage></assertionResult>
              <assertionResult><name>z</name><failure>true</failure><failureMessage>another</failureMessage></assertionResult>
              <responseData class="java.lang.String">&lt;p&gt; <![CDATA[<httpSample t="9" ts="9"/>]]></responseData>
              <java.net.URL>http://h/?a=1&amp;b=2</java.net.URL>
              <httpSample t="3" ts="1001" s="true" lb="part" by="4"><java.net.URL>http://h/part</java.net.URL></httpSample>
            </httpSample>
            <sample t="7" ts="1003" s="true" lb="tx"/>
            <sample t="8" ts="1004" lb="cut" "#,
            &expect![[r#"
                1000 5 "a <b> A" false "expected \"1\" &\n            more" 10 Some("http://h/?a=1&b=2")
                1003 7 "tx" true "" 0 None
            "#]],
        );
    }

    #[test]
    fn what_is_written_as_xml_is_read_as_it_is_read_as_csv() {
        let folder = tempfile::tempdir().unwrap();
        let sample = Sample {
            timestamp_ms: 1_700_000_000_123,
            elapsed_ms: 45,
            label: "a \"b\" & <c>, d".into(),
            response_code: "Non HTTP response code: java.net.SocketException".into(),
            response_message: "Non HTTP response message: no, none".into(),
            thread_name: "Users 1-1".into(),
            data_type: "text".into(),
            failure_message: "it is\nno & good".into(),
            bytes: 123,
            sent_bytes: 45,
            group_threads: 2,
            all_threads: 3,
            url: Some("http://h/?a=1&b=\"2\"".into()),
            latency_ms: 44,
            idle_ms: 1,
            connect_ms: 2,
            is_success: false,
        };
        let assertions = vec![("right", ""), ("wrong", "it is\nno & good"), ("also wrong", "another")];
        let tree = crate::SampleTree { sample: sample.clone(), assertions, parts: Vec::new() };
        for format in [crate::Format::Csv, crate::Format::Xml] {
            let path = folder.path().join("a.jtl");
            let writer = crate::Writer::create(&path, format).unwrap();
            let mut block = Vec::new();
            format.append(&mut block, &tree);
            writer.write(block);
            writer.close().unwrap();
            let mut count = 0;
            let facts = read(&path, |read| {
                count += 1;
                assert_eq!(read, &sample, "{format:?}");
            });
            assert_eq!((facts.unwrap().lacking.as_slice(), count), (&[][..], 1), "{format:?}");
        }
    }
}
