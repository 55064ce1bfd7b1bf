//! The fuzzer, where it is built as one (`--cfg fuzzing`); `cargo xtask fuzz` does that, and hands over target and seeds.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(init: prony_fuzz::begin(), |bytes: &[u8]| prony_fuzz::run_chosen(bytes));

#[cfg(not(fuzzing))]
#[expect(clippy::print_stdout, reason = "a command-line program")]
fn main() {
    println!("`cargo xtask fuzz` builds and runs this with the fuzzer inside. Its targets:");
    for target in prony_fuzz::TARGETS {
        println!("  {}", target.name);
    }
}
