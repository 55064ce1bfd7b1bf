//! A look at a document's bytes before it is parsed: parsing costs about a microsecond a token, this a
//! nanosecond a byte, so that most hostile documents end here.

/// Counts of one pass over the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scan {
    /// As the grammar has them (GraphQL specification, section 2.1.6), and one for each byte that is none.
    pub(crate) tokens: usize,
    /// The deepest nesting of braces and brackets: selection sets, lists, objects and list types.
    pub(crate) nesting: usize,
    /// Braces that are in no others and in no parentheses: each operation and each fragment has one.
    pub(crate) definitions: usize,
    pub(crate) directives: usize,
}

pub(crate) fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let (mut level, mut parentheses) = (0usize, 0usize);
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let rest = &bytes[index..];
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                index += 1;
                continue;
            }
            b'#' => {
                index += run(rest, |byte| byte != b'\n' && byte != b'\r');
                continue;
            }
            b'"' => string(rest),
            b'.' => run(rest, |byte| byte == b'.').min(3),
            b'{' | b'[' => {
                scan.definitions += usize::from(byte == b'{' && level == 0 && parentheses == 0);
                level += 1;
                1
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                1
            }
            b'(' => {
                parentheses += 1;
                1
            }
            b')' => {
                parentheses = parentheses.saturating_sub(1);
                1
            }
            b'@' => {
                scan.directives += 1;
                1
            }
            _ => run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_').max(1),
        };
        scan.tokens += 1;
        scan.nesting = scan.nesting.max(level);
        index += length;
    }
    scan
}

pub(crate) fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !belongs(byte)).unwrap_or(bytes.len())
}

/// Bytes of the string at the start, its quotes included; an unfinished one ends with its line or the text.
pub(crate) fn string(bytes: &[u8]) -> usize {
    let is_block = bytes.starts_with(b"\"\"\"");
    let mut index = if is_block { 3 } else { 1 };
    while let Some(&byte) = bytes.get(index) {
        let rest = &bytes[index..];
        index += match byte {
            b'\\' if is_block && rest.starts_with(b"\\\"\"\"") => 4,
            b'\\' if !is_block => 2,
            b'"' if is_block && rest.starts_with(b"\"\"\"") => return index + 3,
            b'"' if !is_block => return index + 1,
            b'\n' | b'\r' if !is_block => return index,
            _ => 1,
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, tokens: usize, nesting: usize) {
        let found = scan(text);
        assert_eq!((found.tokens, found.nesting), (tokens, nesting), "{text}");
    }

    #[test]
    fn operations_fragments_and_directives_are_counted() {
        for (text, definitions, directives) in [
            ("", 0, 0),
            ("{ a { b } }", 1, 0),
            ("query A { a } fragment F on T @d { b @include(if: true) } mutation { c }", 3, 2),
            (
                "query A($a: I = {b: {c: 1}} @d(a: {b: 1}), $l: [I!] = [{}]) @e(a: {}) { a(b: {c: 1}) { d } }",
                1,
                2,
            ),
            ("{ a(b: \"@ { }\") # @ {\n }", 1, 0),
            ("}}{ a } )({ b } @", 1, 1),
        ] {
            let found = scan(text);
            assert_eq!((found.definitions, found.directives), (definitions, directives), "{text}");
        }
    }

    #[test]
    fn counts() {
        check("", 0, 0);
        check("{ a b }", 4, 1);
        check("query Q($a: [[Int!]!] = [1]) { ...F }", 22, 2);
        check("# { { {\n{a#}\n}", 3, 1);
        check(r#"{a(b: "{ \" {", c: """ " { \""" { """)}"#, 11, 1);
        check("\"open {\n{a}", 4, 1);
        check("\"\"\"open {\n{a}", 1, 0);
        check("\0\0ü", 4, 0);
        check("}}}{", 4, 1);
        check("\"\\", 1, 0);
    }
}
