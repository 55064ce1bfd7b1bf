//! Words of a command, as a POSIX shell and bash part them (POSIX.1-2017, Shell Command Language, 2.2; `$'…'` as in bash): that is
//! how browsers copy requests. Nothing is expanded.

use crate::DraftError;

pub(super) fn words(command: &str) -> Result<Vec<String>, DraftError> {
    let fault = |problem: &str| DraftError::malformed("the command", problem);
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or_else(|| fault("a ' is not closed"))? {
                        '\'' => break,
                        letter => quoted.push(letter),
                    }
                }
            }
            '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or_else(|| fault("a \" is not closed"))? {
                        '"' => break,
                        '\\' => match letters.next() {
                            Some('\n') => {}
                            Some(letter @ ('$' | '`' | '"' | '\\')) => quoted.push(letter),
                            Some(letter) => quoted.extend(['\\', letter]),
                            None => return Err(fault("a \" is not closed")),
                        },
                        letter => quoted.push(letter),
                    }
                }
            }
            '$' if letters.peek() == Some(&'\'') => {
                letters.next();
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or_else(|| fault("a $' is not closed"))? {
                        '\'' => break,
                        '\\' => quoted.push(
                            escape(&mut letters)
                                .ok_or_else(|| fault("an escape in $'…' is none that gives a character"))?,
                        ),
                        letter => quoted.push(letter),
                    }
                }
            }
            '\\' => match letters.next() {
                Some('\n') => {}
                Some('\r') if letters.peek() == Some(&'\n') => {
                    letters.next();
                }
                Some(letter) => word.get_or_insert_default().push(letter),
                None => return Err(fault("it ends with a \\")),
            },
            '^' if letters.peek().is_some_and(|next| "\"\n\r".contains(*next)) => {
                return Err(fault("it is quoted for cmd.exe; copy it as cURL for bash"));
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

/// What stands behind the backslash in `$'…'`.
fn escape(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    let code = |letters: &mut std::iter::Peekable<std::str::Chars<'_>>, radix, most| {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            letters.next();
            value = Some(value.unwrap_or(0) * radix + digit);
        }
        value.and_then(char::from_u32)
    };
    Some(match letters.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'x' => return code(letters, 16, 2).filter(char::is_ascii),
        'u' => return code(letters, 16, 4),
        'U' => return code(letters, 16, 8),
        letter => letter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let parted = |command: &str| words(command).unwrap();
        assert_eq!(parted(" curl  -H 'a: \"b\" \\n' "), ["curl", "-H", "a: \"b\" \\n"]);
        assert_eq!(parted("a\"b $c \\\" \\x\"'d'e\\ f"), ["ab $c \" \\xde f"]);
        assert_eq!(parted("curl \\\n  x \\\r\n y"), ["curl", "x", "y"]);
        assert_eq!(parted("'' \"\""), ["", ""]);
        assert_eq!(parted(r"$'it\'s \u0021\x41\n' $x"), ["it's !A\n", "$x"]);
        for (broken, problem) in [
            ("a 'b", "a ' is not closed"),
            ("a \"b\\", "a \" is not closed"),
            ("$'b", "a $' is not closed"),
            ("$'\\ud800'", "an escape in $'…' is none that gives a character"),
            ("b\\", "it ends with a \\"),
            ("curl ^\"http://a^\"", "it is quoted for cmd.exe; copy it as cURL for bash"),
        ] {
            let error = words(broken).unwrap_err().to_string();
            assert_eq!(error, format!("the command cannot be read: {problem}"));
        }
    }
}
