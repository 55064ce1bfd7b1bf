//! LIKE as PostgreSQL has it: `%` any text, `_` one character, `\` takes the next character as it is. Case
//! folding is by character, without locale.

/// A compiled pattern.
#[derive(Debug)]
pub struct LikePattern {
    items: Vec<Item>,
    insensitive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Literal(char),
    One,
    Any,
}

impl LikePattern {
    pub fn new(pattern: &str, insensitive: bool) -> Self {
        let mut items = Vec::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let item = match character {
                '%' => Item::Any,
                '_' => Item::One,
                // PostgreSQL refuses a trailing escape; here it stands for itself.
                '\\' => Item::Literal(characters.next().unwrap_or('\\')),
                other => Item::Literal(other),
            };
            if item == Item::Any && items.last() == Some(&Item::Any) {
                continue;
            }
            match item {
                Item::Literal(character) if insensitive => {
                    items.extend(character.to_lowercase().map(Item::Literal));
                }
                item => items.push(item),
            }
        }
        Self { items, insensitive }
    }

    /// Time grows with text times pattern at most: on a mismatch only the last `%` takes more.
    pub fn matches(&self, text: &str) -> bool {
        if self.insensitive && !text.is_ascii() {
            let lowered: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
            return self.matches_characters(&lowered);
        }
        if text.is_ascii() {
            return self.matches_ascii(text.as_bytes());
        }
        self.matches_characters(&text.chars().collect::<Vec<_>>())
    }

    fn matches_ascii(&self, text: &[u8]) -> bool {
        if self.insensitive {
            self.run(text.len(), |index| char::from(text[index].to_ascii_lowercase()))
        } else {
            self.run(text.len(), |index| char::from(text[index]))
        }
    }

    fn matches_characters(&self, text: &[char]) -> bool {
        self.run(text.len(), |index| text[index])
    }

    fn run(&self, length: usize, at: impl Fn(usize) -> char) -> bool {
        let (mut index, mut item) = (0, 0);
        // Where to go on after a mismatch: the item behind the last `%`, and the text it has taken so far.
        let mut retry: Option<(usize, usize)> = None;
        while index < length {
            match self.items.get(item) {
                Some(Item::Any) => {
                    item += 1;
                    retry = Some((item, index));
                    continue;
                }
                Some(Item::One) => {
                    (index, item) = (index + 1, item + 1);
                    continue;
                }
                Some(&Item::Literal(character)) if character == at(index) => {
                    (index, item) = (index + 1, item + 1);
                    continue;
                }
                _ => {}
            }
            let Some((after, taken)) = retry else { return false };
            retry = Some((after, taken + 1));
            (index, item) = (taken + 1, after);
        }
        self.items[item..].iter().all(|rest| *rest == Item::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::LikePattern;

    #[test]
    fn patterns_match_as_in_postgresql() {
        let cases = [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "ABC", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "__", false),
            ("abc", "a%%c", true),
            ("aXbXc", "a%X_", true),
            ("100%", "100\\%", true),
            ("1000", "100\\%", false),
            ("a_b", "a\\_b", true),
            ("axb", "a\\_b", false),
            ("a\\b", "a\\\\b", true),
            ("gr\u{fc}n", "gr_n", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%a%a%c", false),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(LikePattern::new(pattern, false).matches(text), expected, "{text} like {pattern}");
        }
        for (text, pattern) in [("Abc", "aBC"), ("GR\u{dc}N", "gr\u{fc}n"), ("x\u{c4}", "_\u{e4}")] {
            assert!(LikePattern::new(pattern, true).matches(text), "{text} ilike {pattern}");
        }
    }
}
