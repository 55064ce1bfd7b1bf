//! The screen as it is seen: drawn for terminals of many sizes, and read back from what a terminal makes of its bytes.

use super::inline::InlineScreen;
use super::painter::{ScreenLooks, ScreenSize};
use super::state::{ScreenState, StepHead, StepsDone};
use super::view::ScreenView;
use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::record::OutcomeKind;
use prony_model::result::{FailureCount, IterationsDone, Progress, SecondRow, TimesSoFar};
use prony_model::subscription::figures::SubscriberRow;
use prony_model::verdict::finding::{Finding, FindingKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use std::num::NonZeroU16;

const PLAIN: ScreenLooks = ScreenLooks { has_colors: false, reflows: false };

fn found(kind: FindingKind, seen: &str) -> Finding {
    let (cause, try_next) = (String::new(), String::new());
    Finding { kind, voids_claim: kind.voids(), seen: seen.to_owned(), cause, try_next, span: None }
}

/// Times from 1 ms up, most of them short.
fn times() -> TimesSoFar {
    let mut times = Latencies::default();
    for number in 1..=2_000_u64 {
        times.record(Nanos::from_micros(1_000 + number * number / 20));
    }
    TimesSoFar::of(&times)
}

/// The second of a run, told once it is over.
fn second(second: u64) -> Progress {
    let last = SecondRow {
        second,
        users: 1_300,
        successes: 300 + 40 * (second % 12),
        p50_ns: Some(Nanos::from_millis(12)),
        p95_ns: Some(Nanos::from_millis(60)),
        p99_ns: Some(Nanos::from_millis(98)),
        max_ns: Some(Nanos::from_micros(1_340_000)),
        ..SecondRow::default()
    };
    let elapsed = Nanos::from_secs(second + 1);
    let (duration, times) = (Nanos::from_secs(60), times());
    Progress { elapsed, duration, last, requests: 7_700 * second, times, ..Progress::default() }
}

/// All that can be wrong at once.
fn troubled(last: u64) -> Progress {
    let failed = |kind, status, count| FailureCount { kind, status, count };
    Progress {
        asked_per_s: Some(650.0),
        failures: 1_234,
        failures_of: vec![
            failed(OutcomeKind::Status, Some(503), 1_200),
            failed(OutcomeKind::Timeout, None, 32),
            failed(OutcomeKind::Read, None, 2),
        ],
        waited: 12,
        dropped: 1,
        subscribers: Some(SubscriberRow {
            active: 8_000,
            events: 16_000,
            p99_ns: Some(Nanos::from_micros(4_560)),
            ..SubscriberRow::default()
        }),
        findings: vec![
            found(FindingKind::ErrorsDominate, "16.03 % of requests failed"),
            found(FindingKind::ConnectionChurn, "12 % of requests needed a new connection"),
        ],
        ..second(last)
    }
}

fn state_of(seconds: impl Iterator<Item = Progress>) -> ScreenState {
    let mut state = ScreenState { title: "checkout".to_owned(), ..ScreenState::default() };
    seconds.for_each(|progress| state.show(&progress));
    state
}

fn many() -> ScreenState {
    let mut state = ScreenState { title: "find-checkout".to_owned(), ..ScreenState::default() };
    state.remember("40 users: PASSED".to_owned());
    state.remember("160 users: FAILED".to_owned());
    state.begin(StepHead {
        step: "80 users".to_owned(),
        position: "step 3, run 2 of 3".to_owned(),
        range: "between 40 and 160 users".to_owned(),
        left: Some(Nanos::from_secs(250)),
        steps: Some(StepsDone { done: 7, to_go: 5 }),
    });
    (0..30).for_each(|number| state.show(&troubled(number)));
    state.warning = Some("warning: cannot write the result: no space".to_owned());
    state
}

/// What is drawn at the top of a terminal of this size.
fn drawn(state: &ScreenState, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let view = ScreenView::new(state, rows - 1);
    let area = Rect::new(0, 0, columns - 1, view.rows());
    terminal.draw(|frame| frame.render_widget(&view, area)).unwrap();
    let cells = terminal.backend().buffer();
    let line = |row| (0..columns).map(|column| cells[(column, row)].symbol()).collect::<String>();
    (0..view.rows()).map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

fn check(state: &ScreenState, columns: u16, rows: u16, expected: &Expect) {
    expected.assert_eq(&drawn(state, columns, rows));
}

#[test]
fn a_run_that_goes_well() {
    let state = state_of((0..30).map(second));
    check(
        &state,
        100,
        30,
        &expect![[r#"
        checkout
        30.0 s  of 1m00s  30 s left   50 % ━━━━━━━━━━━━━━━━━━━━━━━━━━━───────────────────────────
        rate      500/s  1 300 users  ▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅
        total     223 300 requests  0 failed
        now       p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  max 1.34 s
        so far    p50 51.0 ms  p95 182 ms   p99 197 ms   max 201 ms
                                                   ▁▂▄▆█
                                            ▁▂▃▄▅▆▇█████▄
        latency   861 µs ▃▆▄▃▃▃▃▄▄▄▄▅▅▅▆▆▇███████████████ 220 ms
    "#]],
    );
    check(
        &state,
        60,
        10,
        &expect![[r#"
        checkout
        30.0 s  of 1m00s  30 s left   50 % ━━━━━━━━━━━━────────────
        rate      500/s  1 300 users  ▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▅
        total     223 300 requests  0 failed
        now       p95 60.0 ms  p99 98.0 ms  max 1.34 s
        so far    p95 182 ms   p99 197 ms   max 201 ms
                                                   ▁▂▄▆█
                                            ▁▂▃▄▅▆▇█████▄
        latency   861 µs ▃▆▄▃▃▃▃▄▄▄▄▅▅▅▆▆▇███████████████ 220 ms
    "#]],
    );
}

#[test]
fn a_terminal_that_is_low_or_narrow_loses_the_least_important_first() {
    let state = many();
    check(
        &state,
        120,
        24,
        &expect![[r#"
        find-checkout  step 3, run 2 of 3  80 users  between 40 and 160 users
        whole     7 done, 5 to go  about 3m40s left   12 % ━━━━━━────────────────────────────────────────────────
        before    160 users: FAILED  40 users: PASSED
        30.0 s  of 1m00s  30 s left   50 % ━━━━━━━━━━━━━━━━━━━━━━━━━━━───────────────────────────
        rate      500 of 650/s asked  1 300 users  ▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅
        total     223 300 requests  1 234 failed (0.55 %)  12 late  1 dropped
        failed    503 × 1 200  timeout × 32  connection lost while reading × 2
        now       p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  max 1.34 s
        so far    p50 51.0 ms  p95 182 ms   p99 197 ms   max 201 ms
                                                   ▁▂▄▆█
                                            ▁▂▃▄▅▆▇█████▄
        latency   861 µs ▃▆▄▃▃▃▃▄▄▄▄▅▅▅▆▆▇███████████████ 220 ms
        events    16 000/s  8 000 subscriptions  fan-out p99 4.56 ms
        ! errors-dominate: 16.03 % of requests failed
        ! connection-churn: 12 % of requests needed a new connection
        warning: cannot write the result: no space
    "#]],
    );
    check(
        &state,
        80,
        12,
        &expect![[r#"
        find-checkout  step 3, run 2 of 3  80 users  between 40 and 160 users
        whole     7 done, 5 to go  about 3m40s left   12 % ━━━─────────────────────────
        30.0 s  of 1m00s  30 s left   50 % ━━━━━━━━━━━━━━━━━━━━━━──────────────────────
        rate      500 of 650/s asked  1 300 users  ▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅▅▆▆▇▇█▃▃▄▄▄▅
        total     223 300 requests  1 234 failed (0.55 %)  12 late  1 dropped
        failed    503 × 1 200  timeout × 32  connection lost while reading × 2
        now       p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  max 1.34 s
        so far    p50 51.0 ms  p95 182 ms   p99 197 ms   max 201 ms
        events    16 000/s  8 000 subscriptions  fan-out p99 4.56 ms
        ! errors-dominate: 16.03 % of requests failed
        ! connection-churn: 12 % of requests needed a new connection
    "#]],
    );
    check(
        &state,
        40,
        8,
        &expect![[r#"
        step 3, run 2 of 3  80 users
        7 done, 5 to go  about 3m40s left
        30.0 s  of 1m00s  30 s left   50 % ━━──
        500 of 650/s asked  1 300 users
        223 300 requests  1 234 failed (0.55 %)
        now       p99 98.0 ms  max 1.34 s
        ! errors-dominate: 16.03 % of requests
    "#]],
    );
}

#[test]
fn the_bar_of_the_whole_goes_on_over_all_runs() {
    let mut state = ScreenState { title: "sweep".to_owned(), ..ScreenState::default() };
    let mut shown = String::new();
    for done in 0..3_u32 {
        let left = Some(Nanos::from_secs(60 * u64::from(3 - done)));
        let steps = Some(StepsDone { done, to_go: 3 - done });
        state.begin(StepHead { step: "a".to_owned(), left, steps, ..StepHead::default() });
        for last in [0, 29, 59] {
            state.show(&second(last));
            shown += drawn(&state, 70, 12).lines().nth(1).unwrap();
            shown.push('\n');
        }
    }
    expect![[r#"
        whole     0 done, 3 to go  about 2m59s left    0 % ──────────────────
        whole     0 done, 3 to go  about 2m30s left   16 % ━━━───────────────
        whole     0 done, 3 to go  about 2m00s left   33 % ━━━━━━────────────
        whole     1 done, 2 to go  about 1m59s left   33 % ━━━━━━────────────
        whole     1 done, 2 to go  about 1m30s left   50 % ━━━━━━━━━─────────
        whole     1 done, 2 to go  about 1m00s left   66 % ━━━━━━━━━━━━──────
        whole     2 done, 1 to go  about 59 s left   67 % ━━━━━━━━━━━━───────
        whole     2 done, 1 to go  about 30 s left   83 % ━━━━━━━━━━━━━━━────
        whole     2 done, 1 to go  about 0 s left  100 % ━━━━━━━━━━━━━━━━━━━━
    "#]]
    .assert_eq(&shown);
    state.begin(StepHead { step: "a search of which no end is known".to_owned(), ..StepHead::default() });
    assert!(!drawn(&state, 70, 12).contains("whole"));
}

#[test]
fn in_a_tiny_terminal_the_time_stays() {
    let state = many();
    check(
        &state,
        20,
        3,
        &expect![[r#"
        30.0 s  30 s left
        500 of 650/s asked
    "#]],
    );
    check(
        &state,
        9,
        2,
        &expect![[r#"
        30.0 s
    "#]],
    );
}

#[test]
fn a_budget_of_iterations_takes_the_place_of_the_time() {
    let mut progress = second(9);
    progress.duration = Nanos::from_secs(86_400);
    progress.iterations = Some(IterationsDone { done: 3_000, of: 4_000 });
    check(
        &state_of([progress].into_iter()),
        70,
        2,
        &expect![[r#"
        10.0 s  3 000 of 4 000 iterations  4 s left   75 % ━━━━━━━━━━━━━─────
    "#]],
    );
}

#[test]
fn each_row_more_shows_all_that_one_less_does() {
    let state = many();
    for columns in (2..50).chain([79, 80, 81, 132]) {
        let mut lower = String::new();
        for rows in 2..24 {
            let text = drawn(&state, columns, rows);
            assert!(text.lines().count() < rows.into(), "{columns}x{rows}");
            assert!(
                text.lines().all(|line| line.chars().count() < columns.into()),
                "{columns}x{rows}: {text}"
            );
            // Beyond all rows the histogram becomes taller.
            if text.lines().count() <= 14 {
                let stands = |line: &str| line.is_empty() || text.lines().any(|other| other == line);
                assert!(lower.lines().all(stands), "{columns}x{rows}: {lower} in {text}");
            }
            lower = text;
        }
    }
}

/// A terminal that reads what a screen writes.
struct Watched {
    parser: vt100::Parser,
    screen: InlineScreen<Vec<u8>>,
    size: ScreenSize,
}

impl Watched {
    fn new(columns: u16, rows: u16, looks: ScreenLooks, state: ScreenState) -> Self {
        let size = ScreenSize { columns, rows };
        let (height, width) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        let mut parser = vt100::Parser::new(height, width, 1_000);
        parser.process(b"$ prony run\r\n");
        Self { parser, screen: InlineScreen::new(state, looks, size, Vec::new()), size }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let (height, width) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        self.parser.set_size(height, width);
        self.size = ScreenSize { columns, rows };
    }

    /// What the terminal has after the screen did something, with all that has scrolled away; lines end as a terminal's driver
    /// ends them.
    fn after(&mut self, act: impl FnOnce(&mut InlineScreen<Vec<u8>>, ScreenSize)) -> String {
        act(&mut self.screen, self.size);
        let bytes = std::mem::take(self.screen.out());
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n").replace('\n', "\r\n");
        self.parser.process(text.as_bytes());
        self.seen()
    }

    fn seen(&mut self) -> String {
        let screen = self.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let scrolled = screen.scrollback();
        let columns = self.size.columns;
        let above: Vec<_> = (0..scrolled)
            .map(|row| {
                screen.set_scrollback(scrolled - row);
                screen.rows(0, columns).next().unwrap_or_default()
            })
            .collect();
        screen.set_scrollback(0);
        let all = above.into_iter().chain(screen.rows(0, columns));
        let text = all.map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
        text.trim_end().to_owned() + "\n"
    }

    fn draw(&mut self) -> String {
        self.after(|screen, size| screen.draw(size).unwrap())
    }

    fn write(&mut self, text: &str) -> String {
        self.after(|screen, size| screen.write_above(size, text.as_bytes()).unwrap())
    }
}

#[test]
fn lines_of_others_stand_above_the_screen_in_their_order() {
    let mut watched = Watched::new(60, 6, PLAIN, state_of((0..3).map(second)));
    let screen = drawn(&watched.screen.state, 60, 6);
    let mut expected = "$ prony run\n".to_owned();
    for number in 0..20 {
        // A line that does not end yet waits.
        watched.write(&format!("line {number}"));
        assert_eq!(watched.draw(), expected.clone() + &screen);
        expected.extend(["line ", &number.to_string(), " ends\n"]);
        assert_eq!(watched.write(" ends\nthe next"), expected.clone() + &screen);
        expected += "the next\n";
        assert_eq!(watched.write("\n"), expected.clone() + &screen);
    }
    watched.write("no end");
    assert_eq!(watched.after(|screen, size| screen.close(size).unwrap()), expected + "no end\n");
    assert!(!watched.parser.screen().hide_cursor());
}

#[test]
fn a_new_size_has_the_screen_drawn_in_its_place() {
    let mut watched = Watched::new(100, 24, PLAIN, many());
    watched.write("before\n");
    let mut expected = "$ prony run\nbefore\n".to_owned();
    for (columns, rows) in [(120, 24), (50, 20), (90, 26), (40, 24)] {
        watched.resize(columns, rows);
        let seen = watched.after(|screen, size| screen.resize(size).unwrap());
        assert_eq!(seen, expected.clone() + &drawn(&watched.screen.state, columns, rows), "{columns}x{rows}");
        expected += "after\n";
        watched.write("after\n");
        let nothing = watched.after(|screen, size| screen.resize(size).unwrap());
        assert_eq!(
            nothing,
            expected.clone() + &drawn(&watched.screen.state, columns, rows),
            "{columns}x{rows}"
        );
    }
    watched.resize(40, 3);
    let seen = watched.after(|screen, size| screen.resize(size).unwrap());
    assert!(seen.ends_with(&drawn(&watched.screen.state, 40, 3)), "{seen}");
    assert_eq!(watched.parser.screen().cursor_position(), (2, 0), "below the screen");
}

#[test]
fn rows_that_have_become_too_long_are_taken_away_whole() {
    // As a terminal does that lets long lines go on in the next row.
    let looks = ScreenLooks { reflows: true, ..PLAIN };
    let mut watched = Watched::new(100, 24, looks, state_of((0..3).map(second)));
    let rows: Vec<_> = watched.draw().lines().skip(1).map(|row| row.chars().count()).collect();
    let after: usize = rows.iter().map(|columns| columns.div_ceil(30).max(1)).sum();
    watched.size = ScreenSize { columns: 30, rows: 24 };
    watched.screen.draw(watched.size).unwrap();
    let bytes = String::from_utf8(std::mem::take(watched.screen.out())).unwrap();
    assert!(bytes.contains(&format!("\x1b[{after}A")), "{after} rows: {bytes:?}");
}

#[test]
fn colours_are_written_where_there_are_any() {
    let bytes = |has_colors| {
        let size = ScreenSize { columns: 100, rows: 24 };
        let mut screen = InlineScreen::new(many(), ScreenLooks { has_colors, ..PLAIN }, size, Vec::new());
        screen.draw(size).unwrap();
        String::from_utf8(std::mem::take(screen.out())).unwrap()
    };
    crossterm::style::force_color_output(true);
    let is_colour = |bytes: &str| bytes.contains("\x1b[38;5;");
    assert!(is_colour(&bytes(true)));
    let plain = bytes(false);
    assert!(!is_colour(&plain), "{plain:?}");
    assert!(plain.contains("\x1b[1m"), "what is important is bold all the same");
}
