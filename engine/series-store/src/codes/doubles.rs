//! Numbers with a fraction. What people and sensors write are decimals: such a number is kept as the integer that it is at a power of ten,
//! where dividing gives back the same bits (Afroozeh, Kuffó, Boncz: ALP, 2023). The few that are none are kept beside them; where they
//! are many, all are kept by their bits: as integers of which the zeros at the end are left out, for what was measured with fewer bits than a
//! double has (a float of 32) ends with them.

use super::integers;
use prony_log::codec::{Damage, Input, put_length};

/// Powers of ten that a double holds exactly, and beyond which a double has no more digits.
const POWERS: [f64; 17] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];
/// Integers up to here are doubles.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
/// Values by which the power is chosen.
const SAMPLE: usize = 32;
/// With more exceptions than one of so many values, all are kept by their bits.
const EXCEPTIONS: usize = 8;
/// In place of an exponent: eight bytes for each value.
const RAW: u8 = 0xff;
/// In place of an exponent: the bits as integers.
const BITS: u8 = 0xfe;

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
        write_bits(to, values);
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

/// The integer that has the order of the values: the bits without the sign, with it as its own.
const fn integer_of_bits(value: f64) -> i64 {
    let magnitude = (value.to_bits() << 1 >> 1).cast_signed();
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

const fn of_integer(integer: i64) -> f64 {
    f64::from_bits(integer.unsigned_abs() | (integer.cast_unsigned() & (1 << 63)))
}

/// Writes the values by their bits, or as they are where that is shorter or one is a negative zero, which no integer is.
fn write_bits(to: &mut Vec<u8>, values: &[f64]) {
    let begin = to.len();
    if values.iter().all(|value| *value != 0.0 || value.is_sign_positive()) {
        let integers: Vec<i64> = values.iter().map(|value| integer_of_bits(*value)).collect();
        let zeros = integers.iter().fold(0, |all, integer| all | integer).trailing_zeros() % i64::BITS;
        to.extend_from_slice(&[BITS, zeros as u8]);
        integers::write(to, &integers.iter().map(|integer| integer >> zeros).collect::<Vec<_>>());
        if to.len() - begin <= size_of_val(values) {
            return;
        }
        to.truncate(begin);
    }
    to.push(RAW);
    for value in values {
        to.extend_from_slice(&value.to_le_bytes());
    }
}

fn read_bits(input: &mut Input<'_>, count: usize) -> Result<Vec<f64>, Damage> {
    let zeros = u32::from(input.byte()?);
    if zeros >= i64::BITS {
        return Err(Damage("doubles have more zeros than bits"));
    }
    let values = integers::read(input, count)?.into_iter();
    Ok(values.map(|integer| of_integer(integer.wrapping_shl(zeros))).collect())
}

/// Reads as many values as were written.
pub(crate) fn read(input: &mut Input<'_>, count: usize) -> Result<Vec<f64>, Damage> {
    let exponent = input.byte()?;
    if exponent == RAW {
        return (0..count).map(|_| Ok(f64::from_le_bytes(input.array()?))).collect();
    }
    if exponent == BITS {
        return read_bits(input, count);
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
