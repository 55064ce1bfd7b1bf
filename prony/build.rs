//! Tells the program of which commit it was built: that of `PRONY_COMMIT`, or else, in a release build, that of the checkout. Development builds
//! have none, for they would be built again after each commit. The build never fails for it.

#[path = "build/commit.rs"]
mod commit;

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/commit.rs");
    println!("cargo::rerun-if-env-changed=PRONY_COMMIT");
    let given = env::var("PRONY_COMMIT").unwrap_or_default();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if given.trim().is_empty() && is_release { of_checkout() } else { given.trim().to_owned() };
    println!("cargo::rustc-env=PRONY_BUILT_COMMIT={commit}");
}

/// Empty where the source is no checkout, or there is no git.
fn of_checkout() -> String {
    let package = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let Some(checkout) = Path::new(&package).parent().and_then(commit::of_checkout) else {
        return String::new();
    };
    for file in checkout.changes_with {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    checkout.commit
}
