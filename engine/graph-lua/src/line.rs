//! The lines in Lua's messages: where in a script something happened.

/// What Lua's messages call the script.
pub(crate) const SCRIPT: &str = "script";

/// A message without the place before it, and its line in the script.
pub(crate) fn split(message: &str) -> (Option<u32>, &str) {
    let place = message.strip_prefix(SCRIPT).and_then(|rest| rest.strip_prefix(':'));
    let Some((line, text)) = place.and_then(|rest| rest.split_once(": ")) else { return (None, message) };
    match line.parse() {
        Ok(line) => (Some(line), text),
        Err(_) => (None, message),
    }
}

/// The innermost line of the script in a traceback.
pub(crate) fn innermost(traceback: &str) -> Option<u32> {
    traceback.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(SCRIPT)?.strip_prefix(':')?;
        rest.split(':').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_script() {
        assert_eq!(split("script:12: no value"), (Some(12), "no value"));
        assert_eq!(split("graph:12: no value"), (None, "graph:12: no value"));
        assert_eq!(split("script: a: b"), (None, "script: a: b"));
        let traceback =
            "stack traceback:\n\t[C]: in ?\n\tgraph:7: in function 'node'\n\tscript:3: in main chunk";
        assert_eq!(innermost(traceback), Some(3));
        assert_eq!(innermost("stack traceback:\n\t[C]: in ?"), None);
    }
}
