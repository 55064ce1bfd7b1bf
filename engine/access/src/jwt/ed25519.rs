//! Public keys of Ed25519 under which anybody can sign: points of small order, whose multiples are few.

/// `y` of all points whose order divides 8, the sign of `x` aside, as words of 64 bits from the lowest; the last two are those of 0 and 1
/// that are not reduced (RFC 7748, section 6.1, and RFC 8032, section 5.1.3).
const SMALL_ORDER: [[u64; 4]; 7] = [
    [0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000],
    [0x0000_0000_0000_0001, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000],
    [0xffff_ffff_ffff_ffec, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff],
    [0xb027_b2c2_8f95_e826, 0xf098_eff2_89f4_c345, 0x3933_c6d3_05ac_dfd5, 0x05fc_536d_8802_38b1],
    [0x4fd8_4d3d_706a_17c7, 0x0f67_100d_760b_3cba, 0xc6cc_392c_fa53_202a, 0x7a03_ac92_77fd_c74e],
    [0xffff_ffff_ffff_ffed, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff],
    [0xffff_ffff_ffff_ffee, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff],
];

/// Of the subject's public key in X.509 (RFC 8410, section 4), of which the key is the end.
const SPKI_BYTES: usize = 44;
const KEY_BYTES: usize = 32;

/// Whether this is such a key, by itself or as `SubjectPublicKeyInfo`.
pub(super) fn is_of_small_order(key: &[u8]) -> bool {
    let Some(point) = key.last_chunk::<KEY_BYTES>() else { return false };
    let mut y = [0; 4];
    for (word, bytes) in y.iter_mut().zip(point.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    }
    y[3] &= u64::MAX >> 1;
    [KEY_BYTES, SPKI_BYTES].contains(&key.len()) && SMALL_ORDER.contains(&y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_small_order_are_found_however_they_are_written() {
        let mut minus_one = [0xff; KEY_BYTES];
        (minus_one[0], minus_one[31]) = (0xec, 0x7f);
        for mut point in [[0; KEY_BYTES], minus_one] {
            assert!(is_of_small_order(&point));
            point[31] |= 0x80;
            assert!(is_of_small_order(&point), "the sign of x says nothing");
            assert!(is_of_small_order(&[&[0; SPKI_BYTES - KEY_BYTES][..], &point].concat()));
            assert!(!is_of_small_order(&point[1..]));
            point[7] ^= 1;
            assert!(!is_of_small_order(&point));
        }
    }
}
