//! Chance for tests: every generator has a seed, a failing test prints it, and `PRONY_SEED` replays it.

use std::{
    env,
    hash::{BuildHasher, RandomState},
    ops::{Deref, DerefMut},
};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The environment variable that holds the seed to replay.
pub const SEED_VARIABLE: &str = "PRONY_SEED";

/// A random generator that prints how to repeat its numbers when the test that holds it panics.
#[derive(Debug)]
pub struct Seeded {
    seed: u64,
    generator: ChaCha8Rng,
}

impl Seeded {
    /// A new seed for each call, or the one in `PRONY_SEED`.
    ///
    /// # Panics
    /// When `PRONY_SEED` is no number.
    pub fn new() -> Self {
        Self::from_variable(env::var(SEED_VARIABLE).ok().as_deref())
    }

    fn from_variable(value: Option<&str>) -> Self {
        let seed = match value {
            Some(text) => text
                .trim()
                .parse()
                .unwrap_or_else(|_| panic!("{SEED_VARIABLE} is {text:?}; expected a number below 2^64")),
            None => RandomState::new().hash_one(0u8),
        };
        Self { seed, generator: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl Default for Seeded {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Seeded {
    type Target = ChaCha8Rng;

    fn deref(&self) -> &ChaCha8Rng {
        &self.generator
    }
}

impl DerefMut for Seeded {
    fn deref_mut(&mut self) -> &mut ChaCha8Rng {
        &mut self.generator
    }
}

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.seed;
            #[expect(clippy::print_stderr, reason = "a failing test shows how to repeat itself")]
            {
                eprintln!("to repeat these random numbers: {SEED_VARIABLE}={seed} cargo test …");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut one = Seeded::from_variable(Some("42"));
        let mut two = Seeded::from_variable(Some(" 42\n"));
        assert_eq!(one.seed(), 42);
        for _ in 0..100 {
            assert_eq!(one.random::<u64>(), two.random::<u64>());
        }
    }

    #[test]
    fn seeds_differ_unless_given() {
        assert_ne!(Seeded::from_variable(None).seed(), Seeded::from_variable(None).seed());
    }

    #[test]
    #[should_panic(expected = "PRONY_SEED is \"x\"; expected a number below 2^64")]
    fn a_seed_must_be_a_number() {
        Seeded::from_variable(Some("x"));
    }
}
