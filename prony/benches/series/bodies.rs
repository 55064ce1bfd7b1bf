//! What is sent: rows of many entities with a temperature of two decimals and a pressure, as a notification and as lines of `InfluxDB`'s
//! protocol. Bodies are texts with places for the time, which scripts of wrk fill.

use std::fmt::Write as _;

/// Stands where a body has its time.
pub(crate) const TIME: char = '@';
/// Bodies that differ in their values.
pub(crate) const VARIANTS: u32 = 16;

/// Hundredths of a degree, and a pressure.
pub(crate) fn values(entity: u32, variant: u32) -> (u32, u32) {
    // Constants of Knuth's MMIX generator.
    let seed = u64::from(entity) << 8 | u64::from(variant);
    let mixed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    let (noise, slow) = ((mixed % 40) as u32, (entity * 7 + variant * 3) % 500);
    (1_900 + slow + noise, 700 + (entity + noise) % 40)
}

/// As `POST /v2/notify` takes them.
pub(crate) fn notification(entities: u32, variant: u32) -> String {
    let mut body = String::from("{\"data\":[");
    for entity in 0..entities {
        let (hundredths, pressure) = values(entity, variant);
        let comma = if entity == 0 { "" } else { "," };
        write!(
            body,
            "{comma}{{\"id\":\"Room:{entity}\",\"type\":\"Room\",\"TimeInstant\":{{\"type\":\"DateTime\",\"value\":\"{TIME}\"}},\
             \"temperature\":{{\"type\":\"Number\",\"value\":{}.{:02}}},\"pressure\":{{\"type\":\"Integer\",\"value\":{pressure}}}}}",
            hundredths / 100,
            hundredths % 100,
        )
        .expect("writing into memory does not fail");
    }
    body.push_str("]}");
    body
}

/// The same rows.
pub(crate) fn lines(entities: u32, variant: u32) -> String {
    let mut body = String::new();
    for entity in 0..entities {
        let (hundredths, pressure) = values(entity, variant);
        writeln!(
            body,
            "Room,id=Room:{entity} temperature={}.{:02},pressure={pressure}i {TIME}",
            hundredths / 100,
            hundredths % 100,
        )
        .expect("writing into memory does not fail");
    }
    body
}
