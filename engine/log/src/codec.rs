//! Lengths, texts and numbers as bytes: LEB128 lengths, everything else little-endian.

/// Bytes that mean nothing; says what is wrong, not where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damage(pub &'static str);

const CUT: Damage = Damage("it ends in the middle of a value");

pub fn put_length(to: &mut Vec<u8>, length: usize) {
    let (bytes, count) = length_bytes(length);
    to.extend_from_slice(&bytes[..count]);
}

/// The bytes of a length, and how many they are.
pub fn length_bytes(mut length: usize) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = length as u8 & 0x7f;
        length >>= 7;
        if length == 0 {
            return (bytes, place + 1);
        }
        *byte |= 0x80;
    }
    unreachable!("64 bits are ten times seven");
}

pub fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_length(to, bytes.len());
    to.extend_from_slice(bytes);
}

/// A number in LEB128.
pub fn put_unsigned(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A number whose sign is its lowest bit, in LEB128.
pub fn put_signed(to: &mut Vec<u8>, number: i64) {
    put_unsigned(to, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Bytes that are read from their beginning.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub fn byte(&mut self) -> Result<u8, Damage> {
        let (first, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(*first)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*first)
    }

    pub fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn length(&mut self) -> Result<usize, Damage> {
        let mut length = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(length).map_err(|_| CUT);
            }
        }
        Err(Damage("a length has more than five bytes"))
    }

    /// As [`put_unsigned`] writes it.
    pub fn unsigned(&mut self) -> Result<u64, Damage> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damage("a number has more than ten bytes"))
    }

    /// Leaves out a number that [`put_unsigned`] or [`put_signed`] has written.
    pub fn skip_number(&mut self) -> Result<(), Damage> {
        let last = self.0.iter().position(|byte| byte & 0x80 == 0).ok_or(CUT)?;
        self.skip(last + 1)
    }

    /// As [`put_signed`] writes it.
    pub fn signed(&mut self) -> Result<i64, Damage> {
        let number = self.unsigned()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A number that 32 bits hold.
    pub fn u32(&mut self) -> Result<u32, Damage> {
        u32::try_from(self.unsigned()?).map_err(|_| Damage("a number has more than 32 bits"))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.length()?;
        let (first, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(first)
    }

    pub fn skip(&mut self, bytes: usize) -> Result<(), Damage> {
        self.0 = self.0.get(bytes..).ok_or(CUT)?;
        Ok(())
    }

    pub fn text(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damage("a text is no UTF-8"))
    }

    /// A counted list; `least` is how many bytes each of its values has at least, so that a count beyond what is there
    /// asks for no memory.
    pub fn list<T>(
        &mut self,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        let count = self.length()?;
        if count > self.0.len() / least {
            return Err(CUT);
        }
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_unsigned(&mut bytes, number);
            put_signed(&mut bytes, number.cast_signed());
            put_signed(&mut bytes, number.cast_signed().wrapping_neg());
            let mut input = Input::new(&bytes);
            for _ in 0..3 {
                assert_eq!(input.skip_number(), Ok(()));
            }
            assert!(input.is_empty() && input.skip_number().is_err());
            let mut input = Input::new(&bytes);
            assert_eq!(input.unsigned(), Ok(number));
            assert_eq!(input.signed(), Ok(number.cast_signed()));
            assert_eq!(input.signed(), Ok(number.cast_signed().wrapping_neg()));
            assert!(input.is_empty() && input.unsigned().is_err());
        }
    }
}
