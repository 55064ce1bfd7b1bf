//! Numbers of a fixed width of bits, one behind the other, the lowest bit first.

use prony_log::codec::{Damage, Input};

/// Of the greatest of the numbers.
pub(crate) fn width(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

/// Bytes that so many numbers take.
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

pub(crate) fn pack(to: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    if width == 0 {
        return;
    }
    let (mut gathered, mut bits) = (0_u128, 0);
    for number in numbers {
        gathered |= u128::from(number) << bits;
        bits += width;
        while bits >= 64 {
            to.extend_from_slice(&(gathered as u64).to_le_bytes());
            gathered >>= 64;
            bits -= 64;
        }
    }
    to.extend_from_slice(&(gathered as u64).to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Packed numbers that can be read in any order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
}

impl<'a> Packed<'a> {
    pub(crate) fn read(input: &mut Input<'a>, count: usize, width: u32) -> Result<Self, Damage> {
        if width > u64::BITS {
            return Err(Damage("a number is wider than 64 bits"));
        }
        let all = input.rest();
        let length = packed_bytes(count, width);
        let bytes = all.get(..length).ok_or(Damage("packed numbers end too early"))?;
        *input = Input::new(&all[length..]);
        Ok(Self { bytes, width })
    }

    /// As many numbers as were written, in order: cheaper than one by one.
    pub(crate) fn each(self, count: usize, mut take: impl FnMut(u64)) {
        if self.width == 0 {
            (0..count).for_each(|_| take(0));
            return;
        }
        let (width, mask) = (self.width as usize, u64::MAX >> (u64::BITS - self.width));
        // Eight bytes from where a number begins hold the whole of it, wherever in its first byte that is.
        let last = self.bytes.len().checked_sub(8).filter(|_| self.width <= u64::BITS - 7);
        let in_eight = last.map_or(0, |last| count.min(last * 8 / width + 1));
        let mut bit = 0;
        for _ in 0..in_eight {
            let eight = self.bytes[bit / 8..].first_chunk().copied().unwrap_or_default();
            take(u64::from_le_bytes(eight) >> (bit % 8) & mask);
            bit += width;
        }
        (in_eight..count).for_each(|place| take(self.get(place)));
    }

    /// The number at this place, which must be below the count.
    pub(crate) fn get(self, place: usize) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let bit = place * self.width as usize;
        let (byte, shift) = (bit / 8, (bit % 8) as u32);
        let mask = u64::MAX >> (u64::BITS - self.width);
        if self.width + shift <= u64::BITS
            && let Some(eight) = self.bytes.get(byte..byte + 8).and_then(|eight| eight.first_chunk())
        {
            return u64::from_le_bytes(*eight) >> shift & mask;
        }
        let mut sixteen = [0; 16];
        let rest = &self.bytes[byte.min(self.bytes.len())..];
        let length = rest.len().min(16);
        sixteen[..length].copy_from_slice(&rest[..length]);
        (u128::from_le_bytes(sixteen) >> shift) as u64 & mask
    }
}
