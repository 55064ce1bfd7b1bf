//! Memory that is free goes back to the system. The C library keeps most of it for later, which for what is freed once and not
//! needed again is too long.

#![allow(unsafe_code, reason = "the C library is asked to give memory back")]

/// Gives back what is free. It walks over the whole heap: some milliseconds for each 100 MB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    let begin = std::time::Instant::now();
    // SAFETY: malloc_trim(3) may be called at any time by any thread.
    let has_given = unsafe { libc::malloc_trim(0) } == 1;
    tracing::debug!(has_given, took_us = begin.elapsed().as_micros() as u64, "free memory was given back");
}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
