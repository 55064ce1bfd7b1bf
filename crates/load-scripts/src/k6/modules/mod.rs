//! The modules `k6`, `k6/execution`, `k6/data`, `k6/crypto` and the others beside `k6/http` and `k6/metrics`.
