//! Numbers as JSON, written alike by all sources.

use std::io::Write as _;

/// JSON has no number for infinity and for what is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFinite;

pub fn write_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The shortest digits that read back as the same float; whole numbers below 10^15 without a fraction, as
/// PostgreSQL writes them.
///
/// # Errors
/// Where JSON has no such number; then nothing is written.
pub fn write_float(out: &mut Vec<u8>, number: f64) -> Result<(), NotFinite> {
    if !number.is_finite() {
        return Err(NotFinite);
    }
    if number.fract() == 0.0 && number.abs() < 1e15 && !(number == 0.0 && number.is_sign_negative()) {
        write_integer(out, number as i64);
    } else {
        write!(out, "{}", serde_json::Number::from_f64(number).expect("finite"))
            .expect("writing to memory does not fail");
    }
    Ok(())
}
