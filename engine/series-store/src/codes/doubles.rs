//! Numbers with a fraction. What people and sensors write are decimals: such a number is kept as the integer that it is at a power of ten,
//! where dividing gives back the same bits (Afroozeh, Kuffó, Boncz: ALP, 2023). The few that are none are kept beside them; where they
//! are many, all are kept as they are.

use super::integers;
use prony_log::codec::{Damage, Input, put_length};

/// Powers of ten that a double holds exactly, and beyond which a double has no more digits.
const POWERS: [f64; 17] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];
/// Integers up to here are doubles.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
/// Values by which the power is chosen.
const SAMPLE: usize = 32;
/// With more exceptions than one of so many values, all are kept as they are.
const EXCEPTIONS: usize = 8;
const RAW: u8 = 0xff;

/// The integer that a value is at a power of ten.
fn decimal(value: f64, power: f64) -> Option<i64> {
    let scaled = (value * power).round_ties_even();
    let integer = scaled as i64;
    // Not of the scaled value itself: an integer has no negative zero.
    let is_exact = (integer as f64 / power).to_bits() == value.to_bits();
    (scaled.abs() < INTEGER_MAX && is_exact).then_some(integer)
}

/// The least exponent at which the most of the values are decimals.
fn exponent(values: &[f64]) -> usize {
    let step = (values.len() / SAMPLE).max(1);
    let sample: Vec<f64> = values.iter().copied().step_by(step).take(SAMPLE).collect();
    let fits =
        |exponent: usize| sample.iter().filter(|value| decimal(**value, POWERS[exponent]).is_some()).count();
    let mut best = (0, 0);
    for exponent in 0..POWERS.len() {
        let count = fits(exponent);
        if count > best.1 {
            best = (exponent, count);
        }
        if count == sample.len() {
            break;
        }
    }
    best.0
}

/// Writes the values; how many there are is known to who reads them.
pub(crate) fn write(to: &mut Vec<u8>, values: &[f64]) {
    let exponent = exponent(values);
    let (mut integers, mut exceptions, mut last) = (Vec::with_capacity(values.len()), Vec::new(), 0);
    for (place, value) in values.iter().enumerate() {
        if let Some(integer) = decimal(*value, POWERS[exponent]) {
            last = integer;
        } else {
            exceptions.push((place, *value));
        }
        integers.push(last);
    }
    if exceptions.len() * EXCEPTIONS > values.len() {
        to.push(RAW);
        for value in values {
            to.extend_from_slice(&value.to_le_bytes());
        }
        return;
    }
    to.push(exponent as u8);
    integers::write(to, &integers);
    put_length(to, exceptions.len());
    for (place, value) in exceptions {
        put_length(to, place);
        to.extend_from_slice(&value.to_le_bytes());
    }
}

/// Reads as many values as were written.
pub(crate) fn read(input: &mut Input<'_>, count: usize) -> Result<Vec<f64>, Damage> {
    let exponent = input.byte()?;
    if exponent == RAW {
        return (0..count).map(|_| Ok(f64::from_le_bytes(input.array()?))).collect();
    }
    let power = *POWERS.get(usize::from(exponent)).ok_or(Damage("decimals have an unknown exponent"))?;
    let mut values: Vec<f64> =
        integers::read(input, count)?.into_iter().map(|integer| integer as f64 / power).collect();
    for _ in 0..input.length()? {
        let place = input.length()?;
        *values.get_mut(place).ok_or(Damage("an exception stands behind the values"))? =
            f64::from_le_bytes(input.array()?);
    }
    Ok(values)
}
