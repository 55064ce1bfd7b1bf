//! As much of DER (ITU-T X.690) as keys of RSA need between their integers and their files.

/// RFC 8017, A.1, as object identifier with its empty parameters.
const RSA_ENCRYPTION: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

pub(super) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    if content.len() < 0x80 {
        der.push(content.len() as u8);
    } else {
        let length = content.len().to_be_bytes();
        let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
        der.push(0x80 | digits.len() as u8);
        der.extend(digits);
    }
    der.extend_from_slice(content);
    der
}

/// A number that is not negative.
fn integer(number: &[u8]) -> Vec<u8> {
    let digits = &number[number.iter().take_while(|byte| **byte == 0).count()..];
    let needs_zero = digits.first().is_none_or(|byte| *byte >= 0x80);
    tagged(0x02, &[if needs_zero { &[0][..] } else { &[] }, digits].concat())
}

fn integers(numbers: &[&[u8]]) -> Vec<u8> {
    tagged(0x30, &numbers.iter().flat_map(|number| integer(number)).collect::<Vec<u8>>())
}

/// Modulus and exponent as `SubjectPublicKeyInfo`.
pub(super) fn rsa_public(numbers: &[&[u8]; 2]) -> Vec<u8> {
    let bits = tagged(0x03, &[&[0][..], &integers(numbers)].concat());
    tagged(0x30, &[RSA_ENCRYPTION, &bits].concat())
}

/// n, e, d, p, q, dp, dq, qi as PKCS 8.
pub(super) fn rsa_private(numbers: &[&[u8]; 8]) -> Vec<u8> {
    let key = [&[&[][..]], numbers.as_slice()].concat();
    let octets = tagged(0x04, &integers(&key));
    tagged(0x30, &[&integer(&[])[..], RSA_ENCRYPTION, &octets].concat())
}

/// The two numbers of [`rsa_public`].
pub(super) fn read_rsa_public(der: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (_, info, _) = read(der)?;
    let (_, _, rest) = read(info)?;
    let (_, bits, _) = read(rest)?;
    read_integers(bits.get(1..)?)
}

/// The eight numbers of [`rsa_private`].
pub(super) fn read_rsa_private(der: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (_, info, _) = read(der)?;
    let (_, _, rest) = read(info)?;
    let (_, _, rest) = read(rest)?;
    let (_, octets, _) = read(rest)?;
    let mut numbers = read_integers(octets)?;
    (numbers.len() >= 9).then(|| numbers.drain(1..9).collect())
}

fn read_integers(der: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (0x30, mut rest, _) = read(der)? else { return None };
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        let (0x02, digits, after) = read(rest)? else { return None };
        numbers.push(digits.iter().copied().skip_while(|byte| *byte == 0).collect());
        rest = after;
    }
    Some(numbers)
}

/// Tag, content, and what follows.
fn read(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        rest = after;
        if digits.len() > 4 {
            return None;
        }
        digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit))
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_went() {
        let long = [0xff; 300];
        let numbers: [&[u8]; 8] = [&long, &[1, 0, 1], &[0x7f], &[0x80], &[1], &[2], &[3], &[4]];
        assert_eq!(read_rsa_private(&rsa_private(&numbers)).expect("what was written"), numbers);
        assert_eq!(
            read_rsa_public(&rsa_public(&[&long, &[3]])).expect("what was written"),
            [&long[..], &[3]]
        );
        assert_eq!(integer(&[0, 0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(read_rsa_public(&[0x30, 0x85, 1, 2]), None);
    }
}
