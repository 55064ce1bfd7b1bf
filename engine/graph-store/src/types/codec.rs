//! Lengths, texts and numbers as bytes: LEB128 lengths, everything else little-endian.

/// Bytes that mean nothing; says what is wrong, not where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) &'static str);

const CUT: Damage = Damage("it ends in the middle of a value");

pub(crate) fn put_length(to: &mut Vec<u8>, length: usize) {
    let (bytes, count) = length_bytes(length);
    to.extend_from_slice(&bytes[..count]);
}

/// The bytes of a length, and how many they are.
pub(crate) fn length_bytes(mut length: usize) -> ([u8; 10], usize) {
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

pub(crate) fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_length(to, bytes.len());
    to.extend_from_slice(bytes);
}

/// Bytes that are read from their beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damage> {
        let (first, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn length(&mut self) -> Result<usize, Damage> {
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

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.length()?;
        let (first, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn skip(&mut self, bytes: usize) -> Result<(), Damage> {
        self.0 = self.0.get(bytes..).ok_or(CUT)?;
        Ok(())
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damage("a text is no UTF-8"))
    }

    /// A counted list; `least` is how many bytes each of its values has at least, so that a count beyond what is there
    /// asks for no memory.
    pub(crate) fn list<T>(
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
