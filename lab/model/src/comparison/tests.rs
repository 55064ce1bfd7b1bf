//! What a comparison shows, and above all what it does not: simulated comparisons with known truth.

use super::*;
use crate::measurement::histogram::Latencies;
use crate::measurement::tally::TallyCell;
use crate::units::Nanos;
use crate::verdict::rule::Belief;
use expect_test::{Expect, expect};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::f64::consts::TAU;

/// Figures of a run with a rate and latencies of a fixed shape, scaled.
fn run(rate_per_s: f64, scale: f64) -> Figures {
    let mut figures = Figures::of(&TallyCell::default(), Nanos::from_secs(1));
    let mut latencies = Latencies::default();
    for sample in 1..=600_u32 {
        latencies.record(Nanos((1e6 * scale * (1.0 + f64::from(sample) / 150.0)) as u64));
    }
    figures.requests = 600;
    figures.rate_per_s = rate_per_s;
    figures.response_time = crate::measurement::figures::LatencyFigures::of(&latencies);
    figures
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// A comparison on a machine with lognormal noise of `noise` a run and a drift of 5 % over its length.
fn simulated(pairs: usize, noise: f64, slowdown: f64, random: &mut ChaCha8Rng) -> Comparison {
    let mut sides = [Vec::new(), Vec::new()];
    for index in 0..2 * pairs {
        let side = Side::of_run(index);
        let drift = 1.0 + 0.05 * index as f64 / (2 * pairs) as f64;
        let factor = drift * if side == Side::B { slowdown } else { 1.0 };
        // Rate and latency of one run have part of their luck in common.
        let common = normal(random);
        let mut luck = || (noise * (0.8 * common + 0.6 * normal(random))).exp();
        sides[side as usize].push(run(1_000.0 / (factor * luck()), factor * luck()));
    }
    let pairs: Vec<_> = sides[0].iter().zip(&sides[1]).map(|(a, b)| Pair::new(a, b)).collect();
    Comparison::of(&pairs, &[])
}

fn shown(pairs: usize, noise: f64, slowdown: f64, tries: u32) -> u32 {
    let mut random = ChaCha8Rng::seed_from_u64(42);
    (0..tries).filter(|_| simulated(pairs, noise, slowdown, &mut random).shows_difference()).count() as u32
}

#[test]
fn the_same_against_itself_shows_no_difference() {
    for (pairs, noise) in [(3, 0.04), (5, 0.03), (5, 0.05), (10, 0.04)] {
        let wrong = shown(pairs, noise, 1.0, 400);
        assert!(wrong <= 20, "{wrong} of 400 comparisons of {pairs} pairs with {noise} noise");
    }
}

#[test]
fn five_per_cent_are_seen_through_one_per_cent_of_noise() {
    let seen = shown(5, 0.01, 1.05, 100);
    assert!(seen >= 90, "{seen} of 100 with 5 pairs");
    let seen = shown(10, 0.01, 1.05, 100);
    assert!(seen >= 99, "{seen} of 100 with 10 pairs");
}

fn check(a: &[(f64, f64)], b: &[(f64, f64)], expected: &Expect) {
    let side = |runs: &[(f64, f64)]| runs.iter().map(|(rate, scale)| run(*rate, *scale)).collect::<Vec<_>>();
    let (a, b) = (side(a), side(b));
    let pairs: Vec<_> = a.iter().zip(&b).map(|(a, b)| Pair::new(a, b)).collect();
    let comparison = Comparison::of(&pairs, &[]);
    let line = |figure: &Compared| {
        let interval = figure.interval.map_or("-".to_owned(), |(low, high)| format!("{low:.4} to {high:.4}"));
        format!("{} {:.4} ({interval}) {:?}\n", figure.name, figure.change, figure.difference)
    };
    expected.assert_eq(&comparison.figures.iter().map(line).collect::<String>());
}

#[test]
fn better_and_worse_are_told_by_the_figure() {
    check(
        &[(1_000.0, 1.0), (1_010.0, 1.01), (990.0, 0.99), (1_000.0, 1.0)],
        &[(1_100.0, 1.2), (1_110.0, 1.21), (1_090.0, 1.19), (1_100.0, 1.2)],
        &expect![[r#"
            throughput 1.1000 (1.0971 to 1.1029) Better
            errors 0.0000 (0.0000 to 0.0000) NotShown
            mean 1.2000 (1.1914 to 1.2087) Worse
            p50 1.1999 (1.1913 to 1.2086) Worse
            p75 1.2005 (1.1919 to 1.2090) Worse
            p90 1.1999 (1.1914 to 1.2085) Worse
            p95 1.1999 (1.1914 to 1.2084) Worse
            p99 1.1999 (1.1914 to 1.2085) Worse
            p100 1.2000 (1.1916 to 1.2085) Worse
        "#]],
    );
}

#[test]
fn one_run_of_each_has_no_interval() {
    check(
        &[(1_000.0, 1.0)],
        &[(2_000.0, 1.0)],
        &expect![[r#"
            throughput 2.0000 (-) NotShown
            errors 0.0000 (-) NotShown
            mean 1.0000 (-) NotShown
            p50 1.0000 (-) NotShown
            p75 1.0000 (-) NotShown
            p90 1.0000 (-) NotShown
            p95 1.0000 (-) NotShown
            p99 1.0000 (-) NotShown
            p100 1.0000 (-) NotShown
        "#]],
    );
}

/// A hundredth of some 10 µs, every time the same: below what the histogram resolves.
#[test]
fn steps_of_the_histogram_are_no_difference() {
    let runs = |scale: f64| (0..5).map(|_| (1_000.0, scale)).collect::<Vec<_>>();
    check(
        &runs(0.0100),
        &runs(0.0101),
        &expect![[r#"
            throughput 1.0000 (1.0000 to 1.0000) NotShown
            errors 0.0000 (0.0000 to 0.0000) NotShown
            mean 1.0100 (0.9757 to 1.0455) NotShown
            p50 1.0000 (0.9659 to 1.0353) NotShown
            p75 1.0000 (0.9737 to 1.0270) NotShown
            p90 1.0000 (0.9768 to 1.0237) NotShown
            p95 1.0000 (0.9777 to 1.0228) NotShown
            p99 1.0000 (0.9785 to 1.0220) NotShown
            p100 1.0100 (0.9884 to 1.0321) NotShown
        "#]],
    );
}

#[test]
fn a_straight_drift_cancels() {
    let mut sides = [Vec::new(), Vec::new()];
    for index in 0..8 {
        let drift = (0.1 * index as f64).exp();
        sides[Side::of_run(index) as usize].push(run(1_000.0 * drift, 1.0));
    }
    let pairs: Vec<_> = sides[0].iter().zip(&sides[1]).map(|(a, b)| Pair::new(a, b)).collect();
    let throughput = Comparison::of(&pairs, &[]).figure(Metric::Rate).unwrap().change;
    assert!((throughput - 1.0).abs() < 1e-12, "{throughput}");
}

/// At a rate of 100/s, responses of 1 ms and of 50 ms leave none and five of 1,000 under way at the end.
#[test]
fn what_is_under_way_at_the_end_of_an_open_load_is_no_throughput() {
    let (a, b) = (run(100.0, 1.0), run(99.5, 50.0));
    let throughput = |ends_share: f64| {
        let pairs = [Pair { ends_share, ..Pair::new(&a, &b) }; 3];
        Comparison::of(&pairs, &[]).figure(Metric::Rate).unwrap().difference
    };
    assert_eq!(throughput(0.0), Difference::Worse, "users would ask as fast as they are answered");
    assert_eq!(throughput(0.051 / 10.0), Difference::NotShown);
}

/// Of two targets that carry less than is asked for, starts wait for a part of the window, and the one that carries less is worse.
#[test]
fn starts_that_wait_to_be_sent_are_no_end_of_a_window() {
    let overloaded = |rate, wait| {
        let service_time = Some(run(rate, 1.0).response_time);
        Figures { service_time, ..run(rate, wait) }
    };
    let (a, b) = (overloaded(90.0, 500.0), overloaded(85.0, 750.0));
    let length = Nanos::from_secs(30);
    let pair = Pair { ends_share: ends_share(&a, length) + ends_share(&b, length), ..Pair::new(&a, &b) };
    assert_eq!(Comparison::of(&[pair; 3], &[]).figure(Metric::Rate).unwrap().difference, Difference::Worse);
}

fn judge(condition: &str, interval: (f64, f64), scale: Scale) -> Failure {
    let condition = FailIf::parse(condition).unwrap();
    let figure = Compared {
        name: name(condition.metric),
        unit: unit(condition.metric),
        scale,
        a: 1.0,
        b: 1.0,
        change: 1.0,
        interval: Some(interval),
        difference: Difference::NotShown,
    };
    condition
        .judge(&Comparison { pairs: 5, confidence: CONFIDENCE, figures: vec![figure] }, Belief::Whole)
        .failure
}

#[test]
fn a_condition_fails_only_where_the_whole_interval_shows_it() {
    for (interval, expected) in
        [((1.06, 1.20), Failure::Shown), ((1.02, 1.20), Failure::Open), ((0.98, 1.04), Failure::Excluded)]
    {
        assert_eq!(judge("p99 worse than 5%", interval, Scale::Ratio), expected, "{interval:?}");
    }
    assert_eq!(judge("throughput worse than 5%", (0.90, 0.94), Scale::Ratio), Failure::Shown);
    assert_eq!(judge("rate worse than 5%", (0.90, 0.96), Scale::Ratio), Failure::Open);
    assert_eq!(judge("rate worse than 5%", (1.10, 1.20), Scale::Ratio), Failure::Excluded);
    assert_eq!(judge("errors worse than 1%", (0.02, 0.03), Scale::Difference), Failure::Shown);
    assert_eq!(judge("errors worse than 1%", (0.0, 0.0), Scale::Difference), Failure::Excluded);
    let p99 = FailIf::parse("p99 worse than 5%").unwrap();
    assert_eq!(p99.judge(&Comparison::of(&[], &[]), Belief::Whole).failure, Failure::Open);
}

/// Of 600 samples six lie beyond the 99th percentile, and less than one beyond the next.
#[test]
fn of_a_figure_that_no_run_has_nothing_is_said() {
    let runs: Vec<_> = (0..3).map(|_| run(1_000.0, 1.0)).collect();
    let pairs: Vec<_> = runs.iter().map(|run| Pair::new(run, run)).collect();
    let judged = |condition: &str, pairs: &[Pair<'_>]| {
        let condition = FailIf::parse(condition).unwrap();
        condition.judge(&Comparison::of(pairs, &[condition.metric]), Belief::Whole).failure
    };
    assert_eq!(judged("p99 worse than 5%", &pairs), Failure::Excluded);
    assert_eq!(judged("p99.9 worse than 5%", &pairs), Failure::Void);
    assert_eq!(
        judged("p99.9 worse than 5%", &pairs[..2]),
        Failure::Open,
        "there are too few runs for anything"
    );
}

#[test]
fn conditions_are_read_and_mistakes_named() {
    for (text, again) in [
        ("p99.9 worse than 5%", "p99.9 worse than 5%"),
        ("  rate worse  than 2.5 %", "throughput worse than 2.5%"),
        ("errors worse than 0%", "errors worse than 0%"),
    ] {
        assert_eq!(FailIf::parse(text).map(|condition| condition.to_string()), Ok(again.to_owned()));
    }
    for (text, part) in [
        ("p99 > 5%", "has not the form"),
        ("p99 worse than 5", "`5` is not a share"),
        ("p101 worse than 5%", "unknown figure `p101`"),
        ("speed worse than 5%", "unknown figure `speed`"),
    ] {
        let error = FailIf::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
