//! What the study published: Phrag 0.4.6, `docs/performance.md`. All its figures are of whole runs of 60 s,
//! ramp included, and none of ours.

/// One row of the study's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Published {
    pub users: u32,
    pub requests_per_second: u32,
    pub p95_ms: u32,
    pub min_ms: u32,
    pub max_ms: u32,
    pub requests: u32,
}

/// The study's name, for headings.
pub const STUDY: &str = "Phrag 0.4.6";

/// How the study was made, in contrast to here.
pub const CONDITIONS: &str = "Phrag ran on the JVM in an AWS ECS task of 1 or 2 vCPU with PostgreSQL on a machine of \
     its own (RDS db.t3.micro, 2 vCPU), k6 drove it from a computer at home through the internet, and its scripts \
     gave meetups to the first 1 000 venues only";

const fn row(
    users: u32,
    requests_per_second: u32,
    p95_ms: u32,
    min_ms: u32,
    max_ms: u32,
    requests: u32,
) -> Published {
    Published { users, requests_per_second, p95_ms, min_ms, max_ms, requests }
}

/// By processors (1, 2), limit (50, 100), nests (0, 1, 2): one statement a request.
const SUBQUERY: [[[Published; 3]; 2]; 2] = [
    [
        [
            row(1300, 442, 427, 7, 845, 27_510),
            row(800, 273, 406, 7, 889, 17_003),
            row(700, 240, 427, 9, 991, 15_068),
        ],
        [
            row(900, 316, 308, 7, 781, 19_643),
            row(400, 144, 204, 8, 474, 8_918),
            row(400, 143, 219, 9, 685, 8_908),
        ],
    ],
    [
        [
            row(2500, 824, 454, 6, 843, 51_352),
            row(1400, 490, 355, 7, 837, 30_427),
            row(1300, 451, 354, 9, 926, 28_053),
        ],
        [
            row(1800, 600, 444, 6, 943, 37_364),
            row(1000, 331, 499, 8, 893, 20_610),
            row(700, 240, 383, 9, 874, 14_919),
        ],
    ],
];

/// As [`SUBQUERY`], for one statement a nest level.
const PER_NEST: [[[Published; 3]; 2]; 2] = [
    [
        [
            row(1300, 442, 427, 7, 845, 27_510),
            row(700, 237, 461, 9, 860, 14_750),
            row(500, 175, 326, 8, 758, 10_919),
        ],
        [
            row(900, 313, 395, 8, 895, 19_515),
            row(400, 143, 257, 10, 703, 8_872),
            row(300, 106, 274, 10, 599, 6_602),
        ],
    ],
    [
        [
            row(1900, 662, 353, 6, 697, 41_174),
            row(1400, 477, 365, 7, 721, 29_668),
            row(1200, 402, 447, 8, 1069, 25_088),
        ],
        [
            row(2000, 669, 489, 7, 846, 41_693),
            row(900, 316, 291, 10, 663, 19_695),
            row(700, 246, 294, 9, 774, 14_919),
        ],
    ],
];

/// The create mutation, one processor, one second of think time.
pub const CREATE: Published = row(1500, 926, 394, 7, 667, 56_689);

/// The study's row, where it has one.
pub fn query(model: &str, processors: usize, limit: u32, nests: usize) -> Option<Published> {
    let tables = match model {
        "subquery" => &SUBQUERY,
        "per-nest" => &PER_NEST,
        _ => return None,
    };
    let limit = match limit {
        50 => 0,
        100 => 1,
        _ => return None,
    };
    tables.get(processors.checked_sub(1)?)?[limit].get(nests).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_what_they_are_of() {
        assert_eq!(query("subquery", 1, 50, 0).unwrap().users, 1300);
        assert_eq!(query("subquery", 2, 100, 2).unwrap().requests_per_second, 240);
        assert_eq!(query("per-nest", 2, 50, 2).unwrap().users, 1200);
        for (model, processors, limit, nests) in
            [("bucket", 1, 50, 0), ("subquery", 0, 50, 0), ("subquery", 3, 50, 0), ("subquery", 1, 10, 0)]
        {
            assert_eq!(query(model, processors, limit, nests), None);
        }
    }

    #[test]
    fn requests_fit_their_rate_over_a_run_of_a_minute() {
        let rows = SUBQUERY.iter().chain(&PER_NEST).flatten().flatten().chain([&CREATE]);
        for row in rows {
            let seconds = f64::from(row.requests) / f64::from(row.requests_per_second);
            assert!((60.0..64.0).contains(&seconds), "{row:?}: {seconds}");
        }
    }
}
