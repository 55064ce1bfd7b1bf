//! What the study published: "Benchmarks & Performance" of GraphQL ASP.NET (v0.14.0-beta, December 2022), and the
//! `JMeter` plans beside its source.

/// The study's name, for headings.
pub const STUDY: &str = "GraphQL ASP.NET";

/// How the study was made, in contrast to here.
pub const CONDITIONS: &str = "GraphQL ASP.NET ran on .NET 7 with the whole of a server, JMeter drove it from other machines \
     through a wired gigabit network, and processor use was read from Process Explorer as a share of that machine; here \
     engine and load share one machine, each with its own processors";

/// Micro-benchmarks on a desktop with Zen 3, in the order of the cases; the fifth was not published.
pub const MICRO_MEDIAN_US: [Option<u32>; 5] = [Some(91), Some(183), Some(179), Some(638), None];

/// GraphQL and REST with 600 users.
pub const GRAPHQL_PER_S: u32 = 36_509;
pub const REST_PER_S: u32 = 37_360;
/// As a difference, with 1 to 3 % and 0.01 to 2 % of the machine in use.
pub const CPU_DIFFERENCE: &str = "+1 %";
pub const THROUGHPUT_DIFFERENCE: &str = "-2.3 %";

/// What the users who joined had reached when the study ran out of machines for them; the server used 5 % of its
/// processors then.
pub const MAX_PER_S: u32 = 57_919;
