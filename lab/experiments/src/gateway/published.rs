//! What the study published: an API gateway on 2 virtual processors with 2 GB, HTTPS, JWT, a backend without delay, a closed loop of
//! 15 minutes of which 5 were not counted.

use super::study::Query;

/// One cell of the study's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GatewayPublished {
    pub per_second: u32,
    pub mean_ms: u32,
    pub p95_ms: u32,
}

/// By users, then by operation.
const TABLE: [(u32, [[u32; 3]; 3]); 4] = [
    (50, [[2_234, 22, 50], [1_267, 39, 92], [823, 61, 120]]),
    (100, [[2_261, 44, 90], [1_263, 79, 167], [853, 117, 210]]),
    (500, [[2_075, 241, 421], [1_253, 399, 691], [838, 597, 915]]),
    (1_000, [[1_648, 607, 999], [968, 1_032, 1_703], [581, 1_718, 2_303]]),
];

/// Nothing for numbers of users that the study did not have.
pub(super) fn of(query: Query, users: u32) -> Option<GatewayPublished> {
    let (_, row) = TABLE.iter().find(|(of, _)| *of == users)?;
    let [per_second, mean_ms, p95_ms] = row[query as usize];
    Some(GatewayPublished { per_second, mean_ms, p95_ms })
}

/// One sentence on what differs, without its full stop.
pub(super) const CONDITIONS: &str = "the study's gateway ran on a JVM with 2 virtual processors and 2 GB, and load and backend on \
    machines of their own; here the gateway has processors of its own, and the lab shares its own with the backend. The study computed \
    percentiles with two digits";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_users_and_operation() {
        let cell = GatewayPublished { per_second: 581, mean_ms: 1_718, p95_ms: 2_303 };
        assert_eq!(of(Query::Q3, 1_000), Some(cell));
        assert_eq!(of(Query::Q1, 200), None);
    }
}
