//! What was written is read again, whatever it is; what is usual takes few bytes.

use super::{doubles, integers, texts};
use prony_log::codec::Input;
use proptest::prelude::*;

fn integers_again(numbers: &[i64]) -> usize {
    let mut bytes = Vec::new();
    integers::write(&mut bytes, numbers);
    let mut input = Input::new(&bytes);
    assert_eq!(integers::read(&mut input, numbers.len()).as_deref(), Ok(numbers));
    assert!(input.is_empty());
    bytes.len()
}

fn doubles_again(values: &[f64]) -> usize {
    let mut bytes = Vec::new();
    doubles::write(&mut bytes, values);
    let mut input = Input::new(&bytes);
    let read = doubles::read(&mut input, values.len()).expect("it was written");
    assert!(input.is_empty());
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&read), bits(values));
    bytes.len()
}

fn texts_again(values: &[String]) -> usize {
    let mut bytes = Vec::new();
    texts::write(&mut bytes, values.iter().map(String::as_str));
    let mut input = Input::new(&bytes);
    let read = texts::read(&mut input, values.len()).expect("it was written");
    assert!(input.is_empty());
    assert!(read.iter().map(|text| &**text).eq(values.iter().map(String::as_str)));
    bytes.len()
}

proptest! {
    #[test]
    fn any_integers(numbers in prop::collection::vec(prop_oneof![any::<i64>(), -50..50_i64, Just(i64::MIN), Just(i64::MAX)], 0..70)) {
        integers_again(&numbers);
    }

    #[test]
    fn any_doubles(values in prop::collection::vec(prop_oneof![
        any::<f64>(), any::<f32>().prop_map(f64::from), (-5000..5000_i32).prop_map(|value| f64::from(value) / 100.0), Just(-0.0), Just(f64::NAN), Just(f64::MAX), Just(0.1),
    ], 0..70)) {
        doubles_again(&values);
    }

    #[test]
    fn any_texts(values in prop::collection::vec("[ab]{0,2}|\\PC{0,9}", 0..70)) {
        texts_again(&values);
    }

    #[test]
    fn damage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), count in 0..100_usize) {
        let _ = integers::read(&mut Input::new(&bytes), count);
        let _ = doubles::read(&mut Input::new(&bytes), count);
        let _ = texts::read(&mut Input::new(&bytes), count);
    }
}

#[test]
fn what_is_usual_takes_few_bytes() {
    let minutes: Vec<i64> = (0..1024).map(|minute| 1_700_000_000_000 + minute * 60_000).collect();
    assert!(integers_again(&minutes) < 20, "times at equal distances");
    let late: Vec<i64> = minutes.iter().zip(0_i64..).map(|(time, at)| time + (at * 7919) % 16).collect();
    assert!(integers_again(&late) < 1024 * 3 / 4, "times with a jitter of 16 ms");
    let decimals: Vec<f64> =
        (0..1024).map(|at| f64::from(2000 + (at * 7919) % 13 + at / 50) / 100.0).collect();
    assert!(doubles_again(&decimals) < 1024, "decimals that change slowly");
    let states: Vec<String> = (0..1024).map(|at| ["on", "off"][at / 10 % 2].to_owned()).collect();
    assert!(texts_again(&states) < 150, "two texts");
}

#[test]
fn noisy_doubles_take_the_bits_that_they_have() {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let floats: Vec<f64> = (0..1024).map(|_| f64::from((20.0 + 3.0 * noise()) as f32)).collect();
    assert!(doubles_again(&floats) < 1024 * 3, "floats of 32 bits");
    let below_zero: Vec<f64> = floats.iter().map(|value| 20.5 - value).collect();
    assert!(doubles_again(&below_zero) < 1024 * 4, "the same about zero");
    let full: Vec<f64> = (0..1024).map(|_| 20.0 + 3.0 * noise()).collect();
    assert!(doubles_again(&full) < 1024 * 7, "all bits of a narrow range");
    let mut with_zero = floats;
    with_zero[500] = -0.0;
    assert_eq!(doubles_again(&with_zero), 1024 * 8 + 1, "a negative zero among them");
}
