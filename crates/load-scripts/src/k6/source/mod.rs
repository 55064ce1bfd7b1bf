//! From a script's text to modules that can run: imports, TypeScript, and the places that errors name.
