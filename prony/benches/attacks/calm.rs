//! The calm client: a small query at a fixed rate, whose times count from when each was due.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    exchange,
    site::{Site, Stream},
};

const REQUESTS_PER_S: u32 = 200;
const TIMEOUT: Duration = Duration::from_secs(5);
const QUERY: &str = "{ authors(limit: 5) { id name books(limit: 3) { title } } }";

/// What it has seen.
#[derive(Debug, Default)]
pub(crate) struct Calm {
    times_ms: Vec<f64>,
    /// Requests without the right response.
    pub(crate) refused: u64,
}

impl Calm {
    pub(crate) fn asks(site: &Site, stage: Duration) -> Self {
        let request = exchange::graphql(site, QUERY, "{}", "keep-alive");
        let mut calm = Self::default();
        let mut connection = None;
        let begin = Instant::now();
        let requests = REQUESTS_PER_S * stage.as_secs() as u32;
        for number in 0..requests {
            if begin.elapsed() > stage + TIMEOUT * 3 {
                // The server is as good as gone.
                let left = requests - number;
                calm.refused += u64::from(left);
                calm.times_ms.extend((0..left).map(|_| begin.elapsed().as_secs_f64() * 1000.0));
                break;
            }
            let due = begin + Duration::from_secs(1) * number / REQUESTS_PER_S;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let stream = match connection.take() {
                Some(stream) => Ok(stream),
                None => site.connect(TIMEOUT),
            };
            let is_right = stream.and_then(|mut stream| {
                stream.write_all(&request)?;
                let is_right = response(&mut *stream)?.contains("\"title\"");
                connection = Some(stream);
                Ok(is_right)
            });
            calm.refused += u64::from(!is_right.unwrap_or(false));
            calm.times_ms.push(due.elapsed().as_secs_f64() * 1000.0);
        }
        calm.times_ms.sort_by(f64::total_cmp);
        calm
    }

    pub(crate) fn p99_ms(&self) -> f64 {
        let place = (self.times_ms.len() * 99).div_ceil(100).saturating_sub(1);
        self.times_ms.get(place).copied().unwrap_or(f64::NAN)
    }
}

/// The body of a response that says how long it is.
fn response(stream: &mut dyn Stream) -> std::io::Result<String> {
    let (mut bytes, mut part) = (Vec::new(), [0; 8192]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Some(length) =
                exchange::header(head, "content-length").and_then(|of| of.parse::<usize>().ok())
            && body.len() >= length
        {
            return Ok(body.to_owned());
        }
        match stream.read(&mut part)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}
