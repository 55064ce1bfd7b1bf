//! Integers and times: as what they are above the least of them, as differences, or as differences of differences, whichever takes
//! the fewest bytes. Times at equal distances take no bits at all.

use super::bits::{Packed, pack, packed_bytes, width};
use prony_log::codec::{Damage, Input, put_signed};

/// How often differences are taken.
const ORDERS: u8 = 3;

/// What the numbers of one order are packed as.
struct Packing {
    order: u8,
    /// The first number of each lower order.
    begin: Vec<i64>,
    least: i64,
    width: u32,
    numbers: Vec<i64>,
}

impl Packing {
    fn new(order: u8, begin: Vec<i64>, numbers: Vec<i64>) -> Self {
        let least = numbers.iter().copied().min().unwrap_or(0);
        let greatest = numbers.iter().copied().max().unwrap_or(0);
        let width = width(greatest.wrapping_sub(least).cast_unsigned());
        Self { order, begin, least, width, numbers }
    }

    fn bytes(&self) -> usize {
        // The first numbers have about as many bytes as any other number has beside its bits.
        packed_bytes(self.numbers.len(), self.width) + 3 * self.begin.len()
    }

    fn next(&self) -> Option<Self> {
        let first = *self.numbers.first()?;
        let differences = self.numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        let begin = self.begin.iter().copied().chain([first]).collect();
        Some(Self::new(self.order + 1, begin, differences))
    }
}

/// Writes the numbers; how many there are is known to who reads them.
pub(crate) fn write(to: &mut Vec<u8>, numbers: &[i64]) {
    let mut best = Packing::new(0, Vec::new(), numbers.to_vec());
    let mut form = best.next();
    while let Some(now) = form {
        form = if now.order + 1 < ORDERS { now.next() } else { None };
        if now.bytes() < best.bytes() {
            best = now;
        }
    }
    to.extend_from_slice(&[best.order, best.width as u8]);
    for number in &best.begin {
        put_signed(to, *number);
    }
    put_signed(to, best.least);
    pack(to, best.numbers.iter().map(|number| number.wrapping_sub(best.least).cast_unsigned()), best.width);
}

/// Reads as many numbers as were written.
pub(crate) fn read(input: &mut Input<'_>, count: usize) -> Result<Vec<i64>, Damage> {
    let [order, width] = input.array()?;
    if order >= ORDERS || usize::from(order) > count {
        return Err(Damage("integers have an unknown form"));
    }
    let begin = (0..order).map(|_| input.signed()).collect::<Result<Vec<_>, _>>()?;
    let least = input.signed()?;
    let packed = Packed::read(input, count - usize::from(order), u32::from(width))?;
    let count_packed = count - usize::from(order);
    let mut numbers = Vec::with_capacity(count);
    match begin[..] {
        [] => packed.each(count_packed, |above| numbers.push(least.wrapping_add(above.cast_signed()))),
        [first] => {
            let mut now = first;
            numbers.push(now);
            packed.each(count_packed, |above| {
                now = now.wrapping_add(least.wrapping_add(above.cast_signed()));
                numbers.push(now);
            });
        }
        [first, difference, ..] => {
            let (mut now, mut difference) = (first.wrapping_add(difference), difference);
            numbers.extend([first, now]);
            packed.each(count_packed, |above| {
                difference = difference.wrapping_add(least.wrapping_add(above.cast_signed()));
                now = now.wrapping_add(difference);
                numbers.push(now);
            });
        }
    }
    Ok(numbers)
}
