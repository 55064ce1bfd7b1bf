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
        any::<f64>(), (-5000..5000_i32).prop_map(|value| f64::from(value) / 100.0), Just(-0.0), Just(f64::NAN), Just(f64::MAX), Just(0.1),
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
