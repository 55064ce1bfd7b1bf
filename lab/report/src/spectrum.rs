//! A percentile spectrum as `HdrHistogram`'s tools print and read it: wrk2's `--latency`, `.hgrm` files.
//!
//! Values in milliseconds. Its columns and footer are those of `HdrHistogram`'s "classic" format.

use prony_model::Nanos;
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::statistics::Statistics;
use std::fmt::Write as _;

/// Rows each time that the distance to 100 % halves; as in wrk2 and in `HdrHistogram`'s own programs.
const TICKS: u32 = 5;
/// Of a histogram from 1 µs to 1 h with three significant digits.
const BUCKETS: u32 = 22;
const SUB_BUCKETS: u32 = 2_048;

/// Header, rows and footer, each line ended. Without samples there are no rows.
pub fn spectrum(times: &Latencies) -> String {
    let mut text =
        format!("{:>12} {:>12} {:>12} {:>12}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for row in times.spectrum(TICKS) {
        let (value, quantile) = (row.value.as_millis_f64(), row.quantile);
        let inverse =
            if quantile < 1.0 { format!("{:.2}", 1.0 / (1.0 - quantile)) } else { "inf".to_owned() };
        let _ = writeln!(text, "{value:12.3} {quantile:12.6} {:12} {inverse:>12}", row.count_up_to);
    }
    let millis = |time: Option<Nanos>| time.unwrap_or_default().as_millis_f64();
    let (mean, max) = (millis(times.mean()), millis(times.max()));
    let deviation = Statistics::of_times(times).population_deviation() / 1e3;
    let count = times.count();
    let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let _ = writeln!(text, "#[Max     = {max:12.3}, Total count    = {count:12}]");
    let _ = writeln!(text, "#[Buckets = {BUCKETS:12}, SubBuckets     = {SUB_BUCKETS:12}]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_spectrum_gets_denser_towards_its_end() {
        let mut times = Latencies::default();
        for micros in (1..=40).map(|step| step * 250) {
            times.record(Nanos::from_micros(micros));
        }
        expect![[r#"
                   Value   Percentile   TotalCount 1/(1-Percentile)

                   0.250     0.000000            1         1.00
                   1.000     0.100000            4         1.11
                   2.000     0.200000            8         1.25
                   3.001     0.300000           12         1.43
                   4.001     0.400000           16         1.67
                   5.003     0.500000           20         2.00
                   5.503     0.550000           22         2.22
                   6.003     0.600000           24         2.50
                   6.503     0.650000           26         2.86
                   7.003     0.700000           28         3.33
                   7.503     0.750000           30         4.00
                   7.751     0.775000           31         4.44
                   8.003     0.800000           32         5.00
                   8.255     0.825000           33         5.71
                   8.503     0.850000           34         6.67
                   8.751     0.875000           35         8.00
                   9.007     0.887500           36         8.89
                   9.007     0.900000           36        10.00
                   9.255     0.912500           37        11.43
                   9.255     0.925000           37        13.33
                   9.503     0.937500           38        16.00
                   9.503     0.943750           38        17.78
                   9.503     0.950000           38        20.00
                   9.751     0.956250           39        22.86
                   9.751     0.962500           39        26.67
                   9.751     0.968750           39        32.00
                   9.751     0.971875           39        35.56
                   9.751     0.975000           39        40.00
                  10.007     0.978125           40        45.71
                  10.007     1.000000           40          inf
            #[Mean    =        5.125, StdDeviation   =        2.886]
            #[Max     =       10.000, Total count    =           40]
            #[Buckets =           22, SubBuckets     =         2048]
        "#]]
        .assert_eq(&spectrum(&times));
    }

    #[test]
    fn without_samples_there_is_a_header_and_a_footer() {
        expect![[r#"
                   Value   Percentile   TotalCount 1/(1-Percentile)

            #[Mean    =        0.000, StdDeviation   =        0.000]
            #[Max     =        0.000, Total count    =            0]
            #[Buckets =           22, SubBuckets     =         2048]
        "#]]
        .assert_eq(&spectrum(&Latencies::default()));
    }
}
