//! One request and its answer, outside of all load: for looks at what the engine serves. Figures of wrong answers would
//! be worth nothing.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);
/// Far above what any of the studies' requests answers.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// How much of a wrong answer an error shows.
const SHOWN_CHARACTERS: usize = 400;

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("cannot ask the engine")]
    Io(#[from] io::Error),
    #[error("the engine answers {operation} wrongly: {why}; it said: {answer}")]
    Wrong { operation: &'static str, why: String, answer: String },
}

/// Asks, and looks at the JSON of an answer with status 200 and without `errors`; the look says what is wrong.
pub(crate) fn look(
    address: &str,
    (method, path, body): (&str, &str, Option<&str>),
    operation: &'static str,
    look: impl FnOnce(&Value) -> Option<String>,
) -> Result<(), AnswerError> {
    let answer = ask(address, method, path, body)?;
    json_of(&answer).and_then(|json| look(&json).map_or(Ok(()), Err)).map_err(|why| {
        let answer = answer.chars().take(SHOWN_CHARACTERS).collect();
        AnswerError::Wrong { operation, why, answer }
    })
}

fn json_of(answer: &str) -> Result<Value, String> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP answer")?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("status line {:?}", head.lines().next().unwrap_or_default()));
    }
    let json: Value = serde_json::from_str(body).map_err(|_| "its body is no JSON")?;
    if json.get("errors").is_some() { Err("it has errors".to_owned()) } else { Ok(json) }
}

/// Sends a request on a connection of its own and gives the whole answer, head and body as they came. A body is JSON.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: Option<&str>) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let content = body.map_or(String::new(), |body| {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    });
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n{content}connection: close\r\n\r\n{}",
        body.unwrap_or_default()
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}
