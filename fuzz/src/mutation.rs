//! Random changes of seeds, the same in every run: for tests, where no fuzzer looks at what code they reach.

/// Numbers at which lengths and counters break.
const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];
const CHANGES_MAX: u64 = 4;
const PIECE_MAX: u64 = 64;

/// Gives changed seeds, one after the other.
#[derive(Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    /// # Panics
    /// Without a seed.
    pub fn new(seeds: Vec<Vec<u8>>) -> Self {
        assert!(!seeds.is_empty(), "nothing to begin with");
        Self { seeds, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// `SplitMix64`.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        let from = self.below(bytes.len() + 1);
        let length = (self.draw() % PIECE_MAX) as usize;
        bytes[from..bytes.len().min(from + length)].to_vec()
    }

    pub fn next_bytes(&mut self) -> Vec<u8> {
        let pick = self.below(self.seeds.len());
        let mut bytes = self.seeds[pick].clone();
        for _ in 0..=self.draw() % CHANGES_MAX {
            self.change(&mut bytes);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        match self.draw() % 7 {
            0 if at < bytes.len() => bytes[at] ^= 1 << (self.draw() % 8),
            1 if at < bytes.len() => bytes[at] = self.draw() as u8,
            2 => bytes.truncate(at),
            3 => {
                let piece = self.piece(bytes);
                bytes.splice(at..at, piece);
            }
            4 => {
                let other = self.below(self.seeds.len());
                let other = self.seeds[other].clone();
                let piece = self.piece(&other);
                bytes.splice(at..at, piece);
            }
            5 => {
                let end = bytes.len().min(at + (self.draw() % PIECE_MAX) as usize);
                bytes.drain(at..end);
            }
            _ => {
                let number = NUMBERS[self.below(NUMBERS.len())];
                let written = if self.draw().is_multiple_of(2) {
                    number.to_string().into_bytes()
                } else {
                    number.to_le_bytes()[..1 << (self.draw() % 4)].to_vec()
                };
                let end = bytes.len().min(at + written.len());
                bytes.splice(at..end, written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_many_and_the_same_in_every_run() {
        let all = || {
            let mut mutator = Mutator::new(vec![b"abcdefgh".to_vec(), b"12345".to_vec()]);
            (0..1_000).map(|_| mutator.next_bytes()).collect::<Vec<_>>()
        };
        let (first, mut second) = (all(), all());
        assert_eq!(first, second);
        second.sort();
        second.dedup();
        assert!(second.len() > 600, "{}", second.len());
    }
}
