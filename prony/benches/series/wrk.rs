//! Runs of wrk that post bodies, each with a later time than the one before, and what the server used meanwhile.

use std::{fs, process::Command};

use tempfile::NamedTempFile;

use crate::{
    SECONDS,
    bodies::{TIME, VARIANTS},
    process::cpu_seconds,
    tool::{number_after, number_before, pinned},
};

/// From one body's time to the next one's.
pub(crate) const STEP_MS: u64 = 10;

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Rows a second.
    pub(crate) rows_per_s: f64,
    /// Processor time of the server for each request.
    pub(crate) cpu_us: f64,
}

/// How a body writes its time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimeForm {
    /// `2024-05-06T07:08:00.120Z`
    Iso,
    /// Nanoseconds.
    Nanoseconds,
}

/// What is posted, and where.
pub(crate) struct Posts {
    script: NamedTempFile,
    path: &'static str,
    rows: u32,
    connections: u32,
}

impl Posts {
    /// Bodies of so many rows to a path, over so many connections.
    pub(crate) fn new(
        (path, form): (&'static str, TimeForm),
        (rows, connections): (u32, u32),
        body: impl Fn(u32) -> String,
    ) -> Self {
        let script = NamedTempFile::with_suffix(".lua").expect("a temporary file");
        let bodies: Vec<String> = (0..VARIANTS).map(|variant| parts(&body(variant))).collect();
        let time = match form {
            TimeForm::Iso => {
                "os.date('!%Y-%m-%dT%H:%M:%S', math.floor(now / 1000)) .. string.format('.%03dZ', now % 1000)"
            }
            TimeForm::Nanoseconds => "string.format('%d000000', now)",
        };
        // Within the last month and the next; a run begins behind where the one before it has ended.
        let text = format!(
            "local bodies = {{ {} }}\nlocal wall = os.time()\nlocal now = (wall - 2592000 + wall % 4000 * 800) * 1000\nlocal count = 0\n\
             wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\n\
             function request()\n count = count + 1\n now = now + {STEP_MS}\n\
             local body = table.concat(bodies[count % {VARIANTS} + 1], {time})\n\
             return wrk.format(nil, nil, nil, body)\nend\n",
            bodies.join(",\n")
        );
        fs::write(script.path(), text).expect("room for a script");
        Self { script, path, rows, connections }
    }

    /// Of a server that has a processor for itself.
    pub(crate) fn measure(&self, url: &str, pid: u32) -> Run {
        self.run(url, pid, |arguments| pinned("wrk", arguments).0)
    }

    /// Of a server that has all processors, as the load has.
    pub(crate) fn measure_beside(&self, url: &str, pid: u32) -> Run {
        self.run(url, pid, |arguments| {
            let output = Command::new("wrk").args(arguments).output().expect("wrk is installed");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    fn run(&self, url: &str, pid: u32, wrk: impl Fn(&[String]) -> String) -> Run {
        let script = self.script.path().display().to_string();
        let arguments = [
            "-t1",
            &format!("-c{}", self.connections),
            &format!("-d{SECONDS}s"),
            "-s",
            &script,
            &format!("{url}{}", self.path),
        ];
        let before = cpu_seconds(pid);
        let text = wrk(&arguments.map(str::to_owned));
        let used = cpu_seconds(pid) - before;
        assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures:\n{text}");
        let (requests, rate) = (number_before(&text, " requests in"), number_after(&text, "Requests/sec:"));
        Run { rows_per_s: rate * f64::from(self.rows), cpu_us: used * 1e6 / requests }
    }
}

/// A Lua table of the texts between the times.
fn parts(body: &str) -> String {
    let parts: Vec<String> = body.split(TIME).map(|part| format!("[==[\n{part}]==]")).collect();
    format!("{{ {} }}", parts.join(","))
}
