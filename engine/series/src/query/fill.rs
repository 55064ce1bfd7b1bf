//! Periods without a value between others, and what they have in place of one.

use prony_series_store::{Kind, TimeMs, Value, calendar::Period};

use super::{
    entity::Aggregated,
    fault::Fault,
    parameters::{Aggregation, Fill},
};

/// Periods of a response, of all entities of a type, where gaps are filled.
const FILLED_PERIODS_MAX: usize = 1_000_000;

/// Fills gaps of entities of one type.
#[derive(Debug)]
pub(super) struct Filling {
    period: Period,
    fill: Fill,
    /// What the method makes of each attribute.
    kinds: Vec<Kind>,
    /// The first and the last moment that are asked for.
    dates: [Option<TimeMs>; 2],
    periods_left: usize,
}

impl Filling {
    /// None where nothing is to be filled.
    ///
    /// # Errors
    /// An attribute cannot have what gaps are to be filled with.
    pub(super) fn new(
        aggregation: Aggregation,
        kinds: Vec<Kind>,
        dates: [Option<TimeMs>; 2],
    ) -> Result<Option<Self>, Fault> {
        let Aggregation { period: Some(period), fill: Some(fill), .. } = aggregation else { return Ok(None) };
        if let Fill::Number(number) = fill {
            let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
            if kinds.contains(&Kind::Integer) && !is_whole {
                return Err(Fault::bad_use(format!(
                    "fill = {number} is not whole, as what aggrMethod makes of an attribute is; fill with a whole number."
                )));
            }
            if kinds.contains(&Kind::Time) {
                return Err(Fault::bad_use(format!(
                    "fill = {number} is no time, as what aggrMethod makes of an attribute is; fill with null, previous or linear."
                )));
            }
        }
        Ok(Some(Self { period, fill, kinds, dates, periods_left: FILLED_PERIODS_MAX }))
    }

    /// Adds the periods that an entity lacks, from the first to the last one that it has or that is asked for.
    pub(super) fn apply(&mut self, of: &mut Aggregated) -> Result<(), Fault> {
        let (Some(first), Some(last)) = (of.index.first(), of.index.last()) else { return Ok(()) };
        let begin_of = |date: TimeMs| self.period.around(date).0;
        let first = self.dates[0].map_or(*first, |date| begin_of(date).min(*first));
        let last = self.dates[1].map_or(*last, |date| begin_of(date).max(*last));
        let (mut index, mut values) = (Vec::new(), Vec::new());
        let mut known =
            std::mem::take(&mut of.index).into_iter().zip(std::mem::take(&mut of.values)).peekable();
        let mut next = Some(first);
        while let Some(begin) = next {
            self.periods_left = self.periods_left.checked_sub(1).ok_or_else(too_many)?;
            index.push(begin);
            match known.next_if(|(time, _)| *time == begin) {
                Some((_, row)) => values.push(row),
                None => values.push(vec![Value::Null; self.kinds.len()]),
            }
            next = Some(self.period.around(begin).1).filter(|end| *end > begin && *end <= last);
        }
        for (place, kind) in self.kinds.iter().enumerate() {
            self.fill_column(&index, &mut values, place, *kind);
        }
        (of.index, of.values) = (index, values);
        Ok(())
    }

    fn fill_column(&self, index: &[TimeMs], rows: &mut [Vec<Value<'static>>], place: usize, kind: Kind) {
        // The last place that has a value.
        let mut before: Option<usize> = None;
        for at in 0..rows.len() {
            if rows[at][place] != Value::Null {
                if let (Fill::Linear, Some(from)) = (self.fill, before) {
                    fill_line(index, rows, place, (from, at), kind);
                }
                before = Some(at);
                continue;
            }
            match (self.fill, before) {
                (Fill::Previous, Some(before)) => rows[at][place] = rows[before][place],
                (Fill::Number(number), _) => rows[at][place] = value_of(kind, number),
                _ => {}
            }
        }
    }
}

/// Fills what is between two places that have values.
fn fill_line(
    index: &[TimeMs],
    rows: &mut [Vec<Value<'static>>],
    place: usize,
    (from, to): (usize, usize),
    kind: Kind,
) {
    let ends = rows[from][place].number().zip(rows[to][place].number());
    let Some((first, last)) = ends else { return };
    let length_ms = (index[to] - index[from]) as f64;
    for at in from + 1..to {
        let share = (index[at] - index[from]) as f64 / length_ms;
        rows[at][place] = value_of(kind, first * (1.0 - share) + last * share);
    }
}

fn value_of(kind: Kind, number: f64) -> Value<'static> {
    if matches!(kind, Kind::Integer | Kind::Time) {
        Value::Integer(number.round() as i64)
    } else {
        Value::Double(number)
    }
}

fn too_many() -> Fault {
    let text = format!(
        "the gaps to be filled make more periods than the limit of {FILLED_PERIODS_MAX}; ask for less time, fewer entities or a longer \
         aggrPeriod"
    );
    Fault::Text { status: http::StatusCode::PAYLOAD_TOO_LARGE, text: text.into() }
}
