//! `prony` in a terminal as a person sees it: a pseudo terminal, read by what draws terminals.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"data\":{}}";
/// What is waited for comes within a few seconds; a machine that is busy with other tests has this long.
const PATIENCE: Duration = Duration::from_secs(60);
const SCROLLBACK: usize = 1_000;

/// A program in a terminal.
struct InTerminal {
    child: Child,
    /// The terminal's other end.
    master: File,
    parser: Arc<Mutex<vt100::Parser>>,
    reader: Option<JoinHandle<()>>,
}

impl InTerminal {
    fn start(directory: &Path, size: (u16, u16), arguments: &[&str], term: &str) -> Self {
        Self::start_with(directory, size, arguments, &[("TERM", term)])
    }

    /// With variables of the environment.
    fn start_with(
        directory: &Path,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let slave = File::from(slave);
        tcsetwinsize(&master, size_of(columns, rows)).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(arguments)
            .current_dir(directory)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .env_remove("CI")
            .env_remove("NO_COLOR")
            .env_remove("XTERM_VERSION")
            .envs(variables.iter().copied())
            .spawn()
            .unwrap();
        let parser = Arc::new(Mutex::new(vt100::Parser::new(size(rows), size(columns), SCROLLBACK)));
        let master = File::from(master);
        let reader = Some(thread::spawn(read_into(master.try_clone().unwrap(), Arc::clone(&parser))));
        Self { child, master, parser, reader }
    }

    fn resize(&self, columns: u16, rows: u16) {
        // What is read is drawn for one size or the other, as in any terminal.
        let mut parser = self.parser.lock().unwrap();
        parser.set_size(size(rows), size(columns));
        tcsetwinsize(&self.master, size_of(columns, rows)).unwrap();
    }

    fn seen(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Waits until something is seen.
    fn wait_for(&self, what: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let seen = self.seen();
            if what(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "not seen:\n{seen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types a line once the program asks for it.
    fn answer(&self, question: &str, answer: &str) {
        self.wait_for(|seen| seen.contains(question));
        (&self.master).write_all(format!("{answer}\n").as_bytes()).unwrap();
    }

    /// Whether anything that is seen is coloured or bold.
    fn has_colours(&self) -> bool {
        let parser = self.parser.lock().unwrap();
        let (screen, (rows, columns)) = (parser.screen(), parser.screen().size());
        let mut places = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        places.any(|(row, column)| {
            screen
                .cell(row, column)
                .is_some_and(|cell| cell.bold() || cell.fgcolor() != vt100::Color::Default)
        })
    }

    fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits until the program has ended and all that it wrote is read; the terminal must then be as it was. Returns all
    /// lines, also those that have scrolled away.
    fn end(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let mut parser = self.parser.lock().unwrap();
        let screen = parser.screen_mut();
        assert!(!screen.hide_cursor(), "the cursor is shown");
        let (row, column) = screen.cursor_position();
        let (_, columns) = screen.size();
        assert_eq!(column, 0, "the last line is whole");
        let last = screen.rows(0, columns.get()).nth(usize::from(row.saturating_sub(1))).unwrap_or_default();
        assert!(!last.trim().is_empty(), "nothing but what was written stands at the end");
        screen.set_scrollback(usize::MAX);
        let scrolled = screen.scrollback();
        let mut lines = Vec::new();
        for above in (1..=scrolled).rev() {
            screen.set_scrollback(above);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns.get()));
        (status, lines)
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        // One that has ended is not there to be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until the program has closed the terminal.
fn read_into(mut master: File, parser: Arc<Mutex<vt100::Parser>>) -> impl FnOnce() {
    move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = master.read(&mut bytes) {
            parser.lock().unwrap().process(&bytes[..count]);
        }
    }
}

fn size(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap()
}

fn size_of(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn directory_with(name: &str, text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(name), text).unwrap();
    directory
}

fn plan(url: &str, seconds: u32) -> String {
    format!(
        "target = \"{url}\"\nusers = 3\nduration = \"{seconds}s\"\nthink_time = \"5ms\"\n\
         [[requests]]\nname = \"q\"\ngraphql = {{ query = \"{{ a }}\" }}\n"
    )
}

/// The row that is there as soon as a second has passed.
fn has_screen(seen: &str) -> bool {
    seen.contains("so far") && seen.contains('─')
}

/// What only the screen shows.
fn has_rest_of_screen(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains('━') || line.contains('─') || line.starts_with("so far"))
}

#[test]
fn a_run_has_a_screen_that_follows_the_size_and_gives_way_to_the_summary() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 4));
    let terminal = InTerminal::start(directory.path(), (100, 30), &["run", "plan.toml"], "linux");
    let seen = terminal.wait_for(has_screen);
    for part in ["rate", "/s", "3 users", "total", "p99", "latency", "of 4.00 s"] {
        assert!(seen.contains(part), "{part} in\n{seen}");
    }
    terminal.resize(30, 4);
    let is_small =
        |seen: &str| seen.lines().filter(|line| !line.is_empty()).count() <= 3 && seen.contains("/s");
    terminal.wait_for(is_small);
    terminal.resize(90, 30);
    terminal.wait_for(has_screen);
    let (status, lines) = terminal.end();
    let text = lines.join("\n");
    assert!(status.success(), "{text}");
    assert!(text.contains("steady state") && text.contains("result: results/plan-"), "{text}");
    // Rows that a terminal scrolled away when it became low are out of reach; they are of one drawing.
    let (before, after) = text.split_once("plan: http").unwrap();
    assert!(
        before.matches("so far").count() <= 1,
        "no drawing is left but the one that scrolled away:\n{text}"
    );
    assert!(!after.contains("so far"), "the summary stands alone:\n{text}");
}

#[test]
fn ctrl_c_ends_the_run_with_its_summary_and_a_terminal_as_it_was() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 600));
    let terminal = InTerminal::start(
        directory.path(),
        (100, 30),
        &["run", "plan.toml", "--no-result"],
        "xterm-256color",
    );
    terminal.wait_for(has_screen);
    terminal.signal();
    let (_, lines) = terminal.end();
    let text = lines.join("\n");
    assert!(!has_rest_of_screen(&lines), "{text}");
    for part in [
        "stopping; what was measured until now is shown",
        "stopped early",
        "result: not written, as --no-result asks",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!directory.path().join("results").exists());
}

#[test]
fn a_second_ctrl_c_ends_at_once_with_a_terminal_as_it_was() {
    let script = "import { sleep } from 'k6';\n\
                  export const options = { vus: 1, duration: '600s', gracefulStop: '600s' };\n\
                  export default function () { console.log('begun'); sleep(500); }\n";
    let directory = directory_with("slow.js", script);
    let terminal = InTerminal::start(directory.path(), (80, 24), &["run", "slow.js"], "xterm-256color");
    terminal.wait_for(|seen| seen.contains("begun") && has_screen_without_times(seen));
    terminal.signal();
    terminal.wait_for(|seen| seen.contains("stopping"));
    // Two that come together are taken for one.
    thread::sleep(Duration::from_millis(600));
    terminal.signal();
    let (status, _) = terminal.end();
    assert!(!status.success());
}

/// Of a run without requests.
fn has_screen_without_times(seen: &str) -> bool {
    seen.contains("0 requests")
}

#[test]
fn lines_of_a_script_stand_above_the_screen_and_repeats_are_counted_there_alone() {
    let script = "import { sleep } from 'k6';\n\
                  export const options = { vus: 1, iterations: 400 };\n\
                  export default function () { console.log('the same'); if (__ITER % 100 == 0) console.warn('number ' + __ITER); sleep(0.01); }\n";
    let directory = directory_with("talk.js", script);
    let terminal = InTerminal::start(directory.path(), (100, 30), &["run", "talk.js"], "xterm-256color");
    let seen = terminal.wait_for(|seen| has_screen_without_times(seen) && seen.contains("number 100"));
    let at = |part: &str| seen.find(part).unwrap_or_else(|| panic!("{part} in\n{seen}"));
    assert!(
        at("the same") < at("number 0") && at("number 0") < at("number 100") && at("number 100") < at("rate")
    );
    let (status, lines) = terminal.end();
    let text = lines.join("\n");
    assert!(status.success() && !has_rest_of_screen(&lines), "{text}");
    let counts = lines.iter().filter(|line| line.contains("the same")).map(|line| {
        let repeated = line.split_once("(… repeated ").and_then(|(_, rest)| rest.split_once(" time"));
        repeated.map_or(1, |(count, _)| count.replace(' ', "").parse::<u32>().unwrap())
    });
    assert_eq!(counts.sum::<u32>(), 400, "{text}");
    assert!(lines.iter().filter(|line| line.contains("the same")).count() < 20, "{text}");

    let arguments = ["run", "talk.js", "--log-output", "file=log.txt"];
    let (status, lines) = InTerminal::start(directory.path(), (100, 30), &arguments, "xterm-256color").end();
    let kept = fs::read_to_string(directory.path().join("log.txt")).unwrap();
    assert!(status.success());
    assert_eq!(kept.lines().filter(|line| line.contains("the same")).count(), 400);
    assert!(!lines.join("\n").contains("the same"));
}

#[test]
fn a_search_says_which_step_it_is_at_and_what_the_others_were() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 1));
    let arguments = [
        "find",
        "plan.toml",
        "--slo",
        "p99<5s",
        "--from",
        "1",
        "--max",
        "2",
        "--ramp",
        "0s",
        "--hold",
        "2s",
        "--repeats",
        "1",
    ];
    let terminal = InTerminal::start(directory.path(), (100, 30), &arguments, "xterm-256color");
    terminal.wait_for(|seen| has_screen(seen) && seen.contains("step 1, run 1 of 1  1 user"));
    let seen = terminal.wait_for(|seen| has_screen(seen) && seen.contains("step 2, run 1 of 1  2 users"));
    assert!(seen.contains("before    1 user: PASSED") && seen.contains("above 1 user"), "{seen}");
    let (status, lines) = terminal.end();
    let text = lines.join("\n");
    assert!(status.success() && !has_rest_of_screen(&lines), "{text}");
    assert!(text.contains("1 user: PASSED\n") && text.contains("result: results/find-plan-"), "{text}");
}

#[test]
fn a_search_says_how_long_the_rest_takes_once_both_ends_are_known() {
    let directory = directory_with("plan.toml", &plan(&slow_peer(Duration::from_millis(30)), 1));
    // One user makes some 28 requests a second of such a peer.
    let what = ["find", "plan.toml", "--slo", "p99<5s", "--vary", "rate", "--users", "1"];
    let pace = ["--from", "10", "--max", "80", "--ramp", "0s", "--hold", "2s", "--repeats", "1"];
    let arguments = [&what[..], &pace].concat();
    let terminal = InTerminal::start(directory.path(), (100, 30), &arguments, "xterm-256color");
    let seen = terminal.wait_for(|seen| has_screen(seen) && seen.contains("step 1, run 1 of 1"));
    assert!(!seen.contains("about"), "nothing is known of the rest yet:\n{seen}");
    let seen = terminal.wait_for(|seen| has_screen(seen) && seen.contains("between"));
    assert!(seen.contains("about ") && seen.contains(" left"), "{seen}");
}

/// The address of a server that takes this long for each request.
fn slow_peer(time: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(1..) = stream.read(&mut bytes) {
                    thread::sleep(time);
                    let _ = stream.write_all(OK.as_bytes());
                }
            });
        }
    });
    url
}

#[test]
fn steps_of_an_experiment_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["lab", "graph", "--nodes", "500", "--step", "2s", "--no-rates", "--durability", "off"];
    let terminal = InTerminal::start(directory.path(), (100, 30), &arguments, "xterm-256color");
    terminal.wait_for(|seen| seen.contains("step 1 of 4"));
    terminal.wait_for(|seen| seen.contains("step 4 of 4"));
    let (status, _) = terminal.end();
    assert!(status.success());
}

#[test]
fn there_is_no_screen_where_nobody_watches_one() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 1));
    for (arguments, term) in
        [(&["run", "plan.toml", "--quiet"][..], "xterm"), (&["run", "plan.toml"], "dumb")]
    {
        let terminal = InTerminal::start(directory.path(), (100, 40), arguments, term);
        terminal.wait_for(|seen| {
            assert!(!seen.contains('━'), "{seen}");
            seen.contains("result: results/")
        });
        let (status, _) = terminal.end();
        assert!(status.success());
    }
}

#[test]
fn init_asks_for_what_no_flag_says() {
    let directory = tempfile::tempdir().unwrap();
    let tables = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)";
    let database = rusqlite::Connection::open(directory.path().join("shop.db")).unwrap();
    database.execute_batch(tables).unwrap();
    let terminal = InTerminal::start(directory.path(), (120, 40), &["init"], "linux");
    terminal.answer("What is to be served?", "shop.db");
    terminal.answer("Where is it to listen?", "0.0.0.0:8099");
    // The default is another one where others reach it.
    terminal.answer("Is an API key to be needed? [yes]", "");
    terminal.answer("May those who have none read every table", "yes");
    terminal.answer("Are there to be pages for people", "no");
    let (status, lines) = terminal.end();
    let said = lines.join("\n");
    assert!(status.success(), "{said}");
    assert!(said.contains("[127.0.0.1:8080]"), "the default is shown\n{said}");
    assert!(said.contains("X-Api-Key: prony_"), "{said}");
    let written = fs::read_to_string(directory.path().join("prony.toml")).unwrap();
    for line in [
        "listen = [\"0.0.0.0:8099\"]",
        "console = false",
        "[auth]",
        "anonymous = \"visitor\"",
        "[roles.visitor.sources.shop.tables.customers]",
        "[roles.owner]",
    ] {
        assert!(written.lines().any(|written| written == line), "{line} is not in\n{written}");
    }
}

/// What is printed to a pipe.
fn piped(directory: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(directory).env("TERM", "xterm").env_remove("NO_COLOR");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn summaries_have_colours_on_a_terminal_and_in_pipes_where_they_are_asked_for() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 1));
    let directory = directory.path();
    let text = piped(directory, &["run", "plan.toml", "--quiet", "--color", "always"], &[]);
    for part in ["\u{1b}[1mplan\u{1b}[0m: http://", "\u{1b}[33m! too-short\u{1b}[0m: "] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
    let (always, never) =
        (["report", "results", "--color", "always"], ["report", "results", "--color", "never"]);
    let (no_color, none) = ([("NO_COLOR", "1"), ("TERM", "xterm")], [("TERM", "xterm")]);
    assert!(piped(directory, &always, &no_color).contains("\u{1b}[1m"), "what is asked for outright counts");
    for arguments in [&never[..], &["report", "results"][..]] {
        assert!(!piped(directory, arguments, &[]).contains('\u{1b}'), "{arguments:?}");
    }
    let report = ["report", "results"];
    for (arguments, variables, has_colours) in [
        (&report[..], &none[..], true),
        (&report[..], &no_color[..], false),
        (&report[..], &[("TERM", "dumb")][..], false),
        (&never[..], &none[..], false),
        (&always[..], &no_color[..], true),
    ] {
        let terminal = InTerminal::start_with(directory, (100, 60), arguments, variables);
        terminal.wait_for(|seen| seen.contains("the longest wait without any answer"));
        assert_eq!(terminal.has_colours(), has_colours, "{arguments:?} {variables:?}");
        terminal.end();
    }
}

#[test]
fn the_servers_log_has_no_colours_where_no_color_is_set() {
    for (value, has_colours) in [("1", false), ("", true)] {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["serve", "graph:people", "--listen", "127.0.0.1:0", "--cpus", "1"];
        let variables = [("TERM", "xterm-256color"), ("NO_COLOR", value)];
        let terminal = InTerminal::start_with(directory.path(), (120, 40), &arguments, &variables);
        terminal.wait_for(|seen| seen.contains("listening on"));
        assert_eq!(terminal.has_colours(), has_colours, "NO_COLOR={value:?}");
        terminal.signal();
        assert!(terminal.end().0.success());
    }
}

#[test]
fn the_summary_of_a_k6_script_has_colours_in_a_pipe_where_they_are_asked_for() {
    let directory = directory_with("one.js", "export default function () {}\n");
    for (color, has_colours) in [("always", true), ("auto", false), ("never", false)] {
        let text = piped(directory.path(), &["run", "one.js", "--quiet", "--color", color], &[]);
        assert_eq!(text.contains("\u{1b}["), has_colours, "{color}: {text:?}");
    }
}

#[test]
fn results_beside_each_other_have_room_in_a_narrow_terminal() {
    let peer = ScriptedPeer::answering(OK);
    let directory = directory_with("plan.toml", &plan(&peer.url(), 1));
    let directory = directory.path();
    piped(directory, &["run", "plan.toml", "--quiet"], &[]);
    let result = fs::read_dir(directory.join("results")).unwrap().next().unwrap().unwrap().path();
    for copy in 0..4 {
        fs::copy(&result, directory.join(format!("results/{copy}.prony.json"))).unwrap();
    }
    let rows =
        |lines: &[String]| lines.iter().filter(|line| line.starts_with("  successes a second")).count();
    let whole: Vec<_> = piped(directory, &["report", "results"], &[]).lines().map(str::to_owned).collect();
    assert_eq!(rows(&whole), 1, "{whole:?}");
    let (status, lines) = InTerminal::start(directory, (60, 40), &["report", "results"], "xterm").end();
    assert!(status.success());
    assert!(rows(&lines) > 1, "{}", lines.join("\n"));
}
