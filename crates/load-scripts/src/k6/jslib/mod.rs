//! Our own answers to the libraries that scripts commonly import by URL.
