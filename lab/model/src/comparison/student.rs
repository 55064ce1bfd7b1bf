//! Student's t distribution for whole degrees of freedom, as far as intervals need it.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The `t` that `|T|` exceeds with probability `alpha`.
pub(super) fn critical(alpha: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // Each step halves the interval; after 60 it is below the precision of `f64`.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central(middle, degrees) < 1.0 - alpha { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).tan() * (degrees as f64).sqrt()
}

/// The probability that `|T|` is at most `sqrt(degrees) * tan(angle)`
/// (M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
fn central(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    // The powers of the cosine go up in steps of two to `degrees - 2`.
    let (mut term, mut sum) = (if is_odd { cosine } else { 1.0 }, 0.0);
    let mut power = usize::from(is_odd);
    while power + 2 <= degrees {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if is_odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables in the same handbook (26.10) and in Student's paper of 1908.
    #[test]
    fn it_agrees_with_the_tables() {
        for (degrees, alpha, expected) in [
            (1, 0.05, 12.706),
            (2, 0.05, 4.303),
            (3, 0.05, 3.182),
            (4, 0.05, 2.776),
            (4, 0.01, 4.604),
            (5, 0.002, 5.893),
            (9, 0.05, 2.262),
            (9, 0.01, 3.250),
            (10, 0.001, 4.587),
            (30, 0.05, 2.042),
            (120, 0.05, 1.980),
        ] {
            let found = critical(alpha, degrees);
            assert!((found - expected).abs() < 6e-4, "{degrees} {alpha}: {found}");
        }
    }
}
