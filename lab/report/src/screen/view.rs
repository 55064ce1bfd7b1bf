//! Draws the rows of a screen that have room.

use super::rates::RateHistory;
use super::sections::{Content, Emphasis, Importance, Part, Section, label, sections};
use super::state::ScreenState;
use crate::fit::{GAP, fit, width};
use prony_model::measurement::coarse_histogram::CoarseHistogram;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Sparkline, Widget};

/// However tall the terminal is: what was there before the run is to stay in sight.
const ROWS_MAX: u16 = 16;
/// A bar or plot in less room than this says nothing.
const PLOT_COLUMNS_MIN: u16 = 10;
/// A bar or plot that is wider than this says no more.
const PLOT_COLUMNS_MAX: u16 = 60;
/// In less room than this the histogram has no name.
const HISTOGRAM_LABEL_COLUMNS: u16 = 40;
/// Of the histogram, where there is room for more than one row.
const HISTOGRAM_ROWS: u16 = 3;

/// A screen for a terminal of some size.
#[derive(Debug)]
pub(crate) struct ScreenView<'a> {
    sections: Vec<(Section<'a>, u16)>,
}

impl<'a> ScreenView<'a> {
    /// In at most so many rows.
    pub(crate) fn new(state: &'a ScreenState, rows: u16) -> Self {
        Self { sections: chosen(sections(state), rows.min(ROWS_MAX)) }
    }

    pub(crate) fn rows(&self) -> u16 {
        self.sections.iter().map(|(_, rows)| rows).sum()
    }
}

/// The most important ones, each with its rows.
fn chosen(mut sections: Vec<Section<'_>>, rows: u16) -> Vec<(Section<'_>, u16)> {
    while sections.len() > usize::from(rows) {
        let last = sections.iter().enumerate().max_by_key(|(_, section)| section.importance);
        let Some((index, _)) = last else { break };
        sections.remove(index);
    }
    let free = rows - sections.len() as u16;
    let taller = |section: &Section<'_>| match section.importance {
        Importance::Histogram => (1 + free).min(HISTOGRAM_ROWS),
        _ => 1,
    };
    let with_rows = |section| {
        let rows = taller(&section);
        (section, rows)
    };
    sections.into_iter().map(with_rows).collect()
}

impl Widget for &ScreenView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut y = area.y;
        for (section, rows) in &self.sections {
            // Rows of known heights need no solver of constraints.
            let area = Rect { y, height: *rows, ..area }.intersection(area);
            y += rows;
            if area.is_empty() {
                return;
            }
            match &section.content {
                Content::Line(parts) => draw_line(parts, area, buffer),
                Content::Bar(parts, share) => draw_bar(parts, *share, area, buffer),
                Content::Rates(parts, rates) => draw_rates(parts, rates, area, buffer),
                Content::Histogram(histogram) => draw_histogram(histogram, area, buffer),
            }
        }
    }
}

fn draw_line(parts: &[Part], area: Rect, buffer: &mut Buffer) {
    line(&fit(parts.to_vec(), area.width.into())).render(area, buffer);
}

fn line(parts: &[Part]) -> Line<'static> {
    let mut spans = Vec::with_capacity(parts.len() * 2);
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        spans.push(Span::styled(part.text.clone(), style(part.emphasis)));
    }
    Line::from(spans)
}

fn style(emphasis: Emphasis) -> Style {
    match emphasis {
        Emphasis::None => Style::new(),
        Emphasis::Label => Style::new().add_modifier(Modifier::DIM),
        Emphasis::Strong => Style::new().add_modifier(Modifier::BOLD),
        Emphasis::Warning => Style::new().fg(Color::Yellow),
        Emphasis::Bad => Style::new().fg(Color::Red),
    }
}

/// The parts, and the room behind them where a plot of `columns` has enough of it.
fn draw_beside(parts: &[Part], columns: u16, area: Rect, buffer: &mut Buffer) -> Option<Rect> {
    let parts = fit(parts.to_vec(), area.width.into());
    let taken = (width(&parts) + GAP) as u16;
    line(&parts).render(area, buffer);
    let columns = columns.min(area.width.saturating_sub(taken));
    (columns >= PLOT_COLUMNS_MIN).then(|| Rect { x: area.x + taken, width: columns, ..area })
}

fn draw_bar(parts: &[Part], share: f64, area: Rect, buffer: &mut Buffer) {
    let Some(room) = draw_beside(parts, PLOT_COLUMNS_MAX, area, buffer) else { return };
    let bar = LineGauge::default().ratio(share.clamp(0.0, 1.0)).filled_symbol("━").unfilled_symbol("─");
    bar.filled_style(Style::new().fg(Color::Cyan))
        .unfilled_style(style(Emphasis::Label))
        .label(format!("{:>3.0} %", (share * 100.0).floor()))
        .render(room, buffer);
}

fn draw_rates(parts: &[Part], rates: &RateHistory, area: Rect, buffer: &mut Buffer) {
    let Some(room) = draw_beside(parts, PLOT_COLUMNS_MAX, area, buffer) else { return };
    let values = rates.squeezed(room.width.into());
    Sparkline::default().data(values).style(Style::new().fg(Color::Cyan)).render(room, buffer);
}

/// Between the shortest and the longest time.
fn draw_histogram(histogram: &CoarseHistogram, area: Rect, buffer: &mut Buffer) {
    let (counts, Some((from, to))) = (histogram.counts(), histogram.bounds()) else { return };
    let base = Rect { y: area.bottom() - 1, height: 1, ..area };
    let (from, to) = (histogram_head(from.to_string(), area.width), to.to_string());
    let taken = from.width() as u16 + 1;
    let behind = to.chars().count() as u16 + 1;
    let room = area.width.saturating_sub(taken + behind).min(PLOT_COLUMNS_MAX);
    if room == 0 {
        return;
    }
    let values = gathered(counts, room.into(), area.height);
    let plot = Rect { x: area.x + taken, width: values.len() as u16, ..area };
    from.render(base, buffer);
    let end = Rect { x: plot.right() + 1, width: behind - 1, ..base };
    Span::raw(to).render(end, buffer);
    Sparkline::default().data(values).style(Style::new().fg(Color::Green)).render(plot, buffer);
}

/// What stands to the left of the plot.
fn histogram_head(from: String, columns: u16) -> Line<'static> {
    let parts = [label("latency"), Part::plain(from)];
    line(if columns < HISTOGRAM_LABEL_COLUMNS { &parts[1..] } else { &parts[..] })
}

/// At most so many sums of neighbouring counts; what is not nothing is seen.
fn gathered(counts: &[u64], columns: usize, rows: u16) -> Vec<u64> {
    let each = counts.len().div_ceil(columns);
    let sums: Vec<u64> = counts.chunks(each).map(|part| part.iter().sum()).collect();
    // An eighth of a row is the least that is drawn.
    let least = sums.iter().max().copied().unwrap_or(0).div_ceil(u64::from(8 * rows));
    sums.into_iter().map(|sum| if sum > 0 { sum.max(least) } else { 0 }).collect()
}
