//! First plans, drafted from what people have of an API: a command of curl, a browser's recording (HAR), a description (OpenAPI).
//! What is made is a text for people to go on with; nothing is sent, and nothing is known of how plans are run.

mod curl;
mod draft;
mod error;
mod har;
mod names;
mod openapi;
mod plan_text;
mod toml_text;

pub use curl::from_curl;
pub use draft::Draft;
pub use error::DraftError;
pub use har::{HarOptions, from_har};
pub use openapi::{OpenApiOptions, from_openapi};
pub use plan_text::Made;
