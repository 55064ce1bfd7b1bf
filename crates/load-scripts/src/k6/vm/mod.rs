//! One JavaScript runtime a thread, one context a user, one coroutine an iteration; all unsafe code of scripts.
