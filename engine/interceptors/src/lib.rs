//! Interceptors in JavaScript and TypeScript: modules of an operator, read and checked at once, whose functions run on threads of
//! their own, each within a time and an amount of memory. Which fields they are called around is the server's business; here are
//! calls with JSON text, and nothing of HTTP, GraphQL or data.

mod loader;
mod machine;
mod numbers;
mod position;
mod program;
#[cfg(test)]
mod tests;
mod text;
mod workers;

pub use self::loader::JavaScriptLoader;
