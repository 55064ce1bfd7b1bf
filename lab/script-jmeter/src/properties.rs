//! Files of properties, in Java's format: `user.properties` and those of `-q`.

/// Names and values in the order of the file; a later one of a name counts.
pub(crate) fn read(text: &str) -> Vec<(String, String)> {
    let mut properties = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        // A line with a backslash at its end goes on in the next one.
        while whole.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
            whole.pop();
            match lines.next() {
                Some(next) => whole.push_str(next.trim_start()),
                None => break,
            }
        }
        properties.push(split(&whole));
    }
    properties
}

fn split(line: &str) -> (String, String) {
    let mut is_escaped = false;
    let end = line.find(|letter: char| {
        let ends = !is_escaped && (letter == '=' || letter == ':' || letter.is_whitespace());
        is_escaped = !is_escaped && letter == '\\';
        ends
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    (unescaped(name), unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javas_format_is_read() {
        let text = "# note\n! note\n\na=1\nb : two words \n c d\\\n  e\npath=C:\\\\x\nu=\\u0041\\n\nempty\nk\\=1=v\n";
        let read: Vec<_> = read(text).into_iter().map(|(name, value)| format!("{name}|{value}")).collect();
        assert_eq!(read, ["a|1", "b|two words ", "c|de", "path|C:\\x", "u|A\n", "empty|", "k=1|v"]);
    }
}
