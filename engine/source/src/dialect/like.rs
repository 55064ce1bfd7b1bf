//! LIKE as PostgreSQL has it: `%` any text, `_` one character, `\` takes the next character as it is. Case
//! folding is by character, without locale.
//!
//! The time of a match grows with the text, not with text times pattern: what stands between two `%` is searched for by
//! Knuth, Morris and Pratt's method, and where it holds `_`, by Baeza-Yates and Gonnet's (Shift-And), 64 characters of the
//! pattern in each step. A long text with a long pattern takes seconds all the same: whoever asks is asked in between whether
//! to go on.
//!
//! Where case counts and no `_` stands in a pattern, texts are compared by their bytes of UTF-8: those of a character are found in no
//! other place. Other patterns need the characters of a text, which are read one after the other where it is not ASCII: a copy would take four
//! times its memory.

use std::{cell::RefCell, ops::Range};

/// Most characters between two `%` where `_` is among them: each 64 of them cost a step for each character of a text.
const SEARCHED_CHARACTERS_MAX: usize = 16_384;

/// Work between two questions whether to go on: characters of the text, times the words that the searched part of the pattern takes.
/// Some tens of microseconds.
const WORK_PER_QUESTION: usize = 64 * 1024;

/// A pattern that has more characters between two `%`, with `_` among them, than can be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a `like` pattern has more than {SEARCHED_CHARACTERS_MAX} characters between two `%`, and `_` among them: ask for fewer"
)]
pub struct PatternTooLong;

/// A compiled pattern.
#[derive(Debug)]
pub struct LikePattern {
    /// What a text begins with: all of it, where the pattern has no `%`.
    head: Vec<Item>,
    /// What follows each `%` in turn, without the last.
    middle: Vec<Searched>,
    /// What a text ends with; none where the pattern has no `%`.
    tail: Option<Vec<Item>>,
    literals: Literals,
    unit: Unit,
}

/// What texts and patterns are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A literal is a byte, as the character with that number.
    Byte,
    Character,
    Lowercase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Literal(char),
    One,
}

impl Item {
    fn literal(self) -> Option<char> {
        match self {
            Self::Literal(character) => Some(character),
            Self::One => None,
        }
    }
}

/// What may stand anywhere in a text.
#[derive(Debug)]
enum Searched {
    /// Of all [`Literals`].
    Literals(Range<usize>),
    Masked(Box<Masks>),
}

/// Literals of all parts that are searched for, one part after the other: a pattern may have ten thousands of parts, which have no memory of
/// their own each.
#[derive(Debug, Default)]
struct Literals {
    characters: Vec<char>,
    /// For each character how many of the first ones of its part end with it again, all of them aside.
    borders: Vec<usize>,
}

/// Which places of the searched items each character fits, 64 places a word.
#[derive(Debug)]
struct Masks {
    length: usize,
    /// Places that any character fits.
    any: Vec<u64>,
    /// Sorted by character.
    literals: Vec<(char, Places)>,
}

/// Places that a character fits beside those that any fits.
#[derive(Debug)]
enum Places {
    /// All places, as [`Masks::any`]: where a list would be longer than that.
    Words(Vec<u64>),
    List(Vec<usize>),
}

impl LikePattern {
    /// # Errors
    /// A pattern of which no text can be searched in bounded time.
    pub fn new(pattern: &str, insensitive: bool) -> Result<Self, PatternTooLong> {
        // All parts, and where each ends but the last.
        let (mut items, mut ends) = (Vec::with_capacity(pattern.len()), Vec::new());
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let literal = match character {
                '%' => {
                    ends.push(items.len());
                    continue;
                }
                '_' => {
                    items.push(Item::One);
                    continue;
                }
                // PostgreSQL refuses a trailing escape; here it stands for itself.
                '\\' => characters.next().unwrap_or('\\'),
                other => other,
            };
            if insensitive {
                items.extend(literal.to_lowercase().map(Item::Literal));
            } else {
                items.push(Item::Literal(literal));
            }
        }
        let unit = if insensitive {
            Unit::Lowercase
        } else if items.contains(&Item::One) {
            Unit::Character
        } else {
            Unit::Byte
        };
        if unit == Unit::Byte && !pattern.is_ascii() {
            (items, ends) = in_bytes(&items, &ends);
        }
        let Some((&first, &last)) = ends.first().zip(ends.last()) else {
            return Ok(Self {
                head: items,
                middle: Vec::new(),
                tail: None,
                literals: Literals::default(),
                unit,
            });
        };
        let (head, tail) = (items[..first].to_vec(), Some(items[last..].to_vec()));
        let mut literals = Literals::default();
        let parts = ends.windows(2).filter(|ends| ends[0] < ends[1]);
        let middle = parts
            .map(|ends| Searched::new(&items[ends[0]..ends[1]], &mut literals))
            .collect::<Result<_, _>>()?;
        Ok(Self { head, middle, tail, literals, unit })
    }

    /// Of a text that is short, or whose search nobody bounds.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_while(text, &mut |_| true).expect("nobody has it stop")
    }

    /// As [`matches`](Self::matches); none where `goes_on` has it stop. That is given the work since it was asked last, in about
    /// as many bytes of text as a literal would be searched for in that time: again and again during a long search, and at the end.
    pub fn matches_while(&self, text: &str, goes_on: &mut dyn FnMut(usize) -> bool) -> Option<bool> {
        let mut meter = Meter { goes_on, work: 0 };
        let found = self.matches_metered(text, &mut meter);
        found.and_then(|found| meter.ask().map(|()| found)).ok()
    }

    fn matches_metered(&self, text: &str, meter: &mut Meter<'_>) -> Result<bool, Stopped> {
        let bytes = text.as_bytes();
        match self.unit {
            Unit::Byte => self.matches_bytes(bytes, meter),
            Unit::Character if text.is_ascii() => self.matches_bytes(bytes, meter),
            Unit::Character => self.run_through(text.chars(), meter),
            Unit::Lowercase if text.is_ascii() => {
                self.run(bytes.len(), |index| char::from(bytes[index].to_ascii_lowercase()), meter)
            }
            Unit::Lowercase => self.run_through(text.chars().flat_map(char::to_lowercase), meter),
        }
    }

    fn matches_bytes(&self, text: &[u8], meter: &mut Meter<'_>) -> Result<bool, Stopped> {
        self.run(text.len(), |index| char::from(text[index]), meter)
    }

    fn run(&self, length: usize, at: impl Fn(usize) -> char, meter: &mut Meter<'_>) -> Result<bool, Stopped> {
        // Head and tail are no longer than the pattern is.
        let Some(tail) = &self.tail else {
            return Ok(self.head.len() == length && fits(&self.head, 0, &at));
        };
        let Some(end) = length.checked_sub(tail.len()) else { return Ok(false) };
        if self.head.len() > end || !fits(&self.head, 0, &at) || !fits(tail, end, &at) {
            return Ok(false);
        }
        self.find_middle(self.head.len()..end, at, meter)
    }

    /// As [`Self::run`], of characters that are not kept.
    fn run_through(
        &self,
        characters: impl DoubleEndedIterator<Item = char> + Clone,
        meter: &mut Meter<'_>,
    ) -> Result<bool, Stopped> {
        let mut rest = characters.clone();
        let Some(tail) = &self.tail else {
            return Ok(begins(self.head.iter(), &mut rest) && rest.next().is_none());
        };
        let Some(end) = characters.clone().count().checked_sub(tail.len()) else { return Ok(false) };
        if self.head.len() > end
            || !begins(self.head.iter(), &mut rest)
            || !begins(tail.iter().rev(), &mut characters.rev())
        {
            return Ok(false);
        }
        let rest = RefCell::new(rest);
        self.find_middle(self.head.len()..end, |_| rest.borrow_mut().next().unwrap_or_default(), meter)
    }

    /// The first place of each middle part behind the one before leaves the most for those that follow. Each of the places is asked for
    /// once at most, and in order.
    fn find_middle(
        &self,
        places: Range<usize>,
        at: impl Fn(usize) -> char,
        meter: &mut Meter<'_>,
    ) -> Result<bool, Stopped> {
        let mut from = places.start;
        for part in &self.middle {
            let Some(behind) = part.find(&self.literals, from..places.end, &at, meter)? else {
                return Ok(false);
            };
            from = behind;
        }
        Ok(true)
    }
}

/// What a search has taken, and who is asked whether it goes on.
struct Meter<'g> {
    goes_on: &'g mut dyn FnMut(usize) -> bool,
    /// Since it was asked last.
    work: usize,
}

/// A search was told to stop.
struct Stopped;

impl Meter<'_> {
    /// How many characters are searched before the next question, where each takes so many words.
    fn stretch(&self, words: usize) -> usize {
        (WORK_PER_QUESTION.saturating_sub(self.work) / words).max(1)
    }

    fn spend(&mut self, work: usize) -> Result<(), Stopped> {
        self.work += work;
        if self.work < WORK_PER_QUESTION { Ok(()) } else { self.ask() }
    }

    fn ask(&mut self) -> Result<(), Stopped> {
        if (self.goes_on)(std::mem::take(&mut self.work)) { Ok(()) } else { Err(Stopped) }
    }
}

/// Searches a stretch after the other for the first place that `find` finds; each character takes so many words.
fn in_stretches(
    places: Range<usize>,
    words: usize,
    meter: &mut Meter<'_>,
    mut find: impl FnMut(Range<usize>) -> Option<usize>,
) -> Result<Option<usize>, Stopped> {
    let mut from = places.start;
    while from < places.end {
        let until = places.end.min(from + meter.stretch(words));
        let found = find(from..until);
        meter.spend((found.unwrap_or(until) - from) * words)?;
        if found.is_some() {
            return Ok(found);
        }
        from = until;
    }
    Ok(None)
}

/// The same literals and ends of parts, a literal for each byte.
fn in_bytes(literals: &[Item], ends: &[usize]) -> (Vec<Item>, Vec<usize>) {
    let (mut items, mut ends_in_bytes) = (Vec::with_capacity(literals.len()), Vec::with_capacity(ends.len()));
    let mut from = 0;
    for end in ends.iter().copied().chain([literals.len()]) {
        for literal in literals[from..end].iter().copied().filter_map(Item::literal) {
            let mut buffer = [0; 4];
            let bytes = literal.encode_utf8(&mut buffer).bytes();
            items.extend(bytes.map(|byte| Item::Literal(char::from(byte))));
        }
        ends_in_bytes.push(items.len());
        from = end;
    }
    ends_in_bytes.pop();
    (items, ends_in_bytes)
}

/// Whether the next characters fit, which are read.
fn begins<'i>(
    mut items: impl Iterator<Item = &'i Item>,
    characters: &mut impl Iterator<Item = char>,
) -> bool {
    let fits = |item: &Item, character: char| item.literal().is_none_or(|literal| literal == character);
    items.all(|item| characters.next().is_some_and(|character| fits(item, character)))
}

fn fits(items: &[Item], from: usize, at: impl Fn(usize) -> char) -> bool {
    items.iter().enumerate().all(|(place, item)| match item {
        Item::One => true,
        Item::Literal(character) => *character == at(from + place),
    })
}

impl Searched {
    fn new(items: &[Item], literals: &mut Literals) -> Result<Self, PatternTooLong> {
        if !items.contains(&Item::One) {
            return Ok(Self::Literals(literals.add(items.iter().copied().filter_map(Item::literal))));
        }
        if items.len() > SEARCHED_CHARACTERS_MAX {
            return Err(PatternTooLong);
        }
        Ok(Self::Masked(Box::new(Masks::new(items))))
    }

    fn words(&self) -> usize {
        match self {
            Self::Literals(_) => 1,
            Self::Masked(masks) => masks.any.len(),
        }
    }

    /// The place behind the first of `places` where it fits.
    fn find(
        &self,
        literals: &Literals,
        places: Range<usize>,
        at: impl Fn(usize) -> char,
        meter: &mut Meter<'_>,
    ) -> Result<Option<usize>, Stopped> {
        match self {
            Self::Literals(part) => {
                let (literals, borders) =
                    (&literals.characters[part.clone()], &literals.borders[part.clone()]);
                let mut matched = 0;
                in_stretches(places, 1, meter, |stretch| {
                    find_literals(literals, borders, &mut matched, stretch, &at)
                })
            }
            Self::Masked(masks) => {
                let mut reached = masks.begin();
                in_stretches(places, self.words(), meter, |stretch| masks.find(&mut reached, stretch, &at))
            }
        }
    }
}

impl Literals {
    /// A part behind the others; where it stands. For each of its prefixes, the border is the length of the longest shorter prefix that it
    /// ends with (Knuth, Morris, Pratt 1977).
    fn add(&mut self, part: impl Iterator<Item = char>) -> Range<usize> {
        let begin = self.characters.len();
        self.characters.extend(part);
        self.borders.resize(self.characters.len(), 0);
        let (literals, borders) = (&self.characters[begin..], &mut self.borders[begin..]);
        let mut matched = 0;
        for place in 1..literals.len() {
            while matched > 0 && literals[matched] != literals[place] {
                matched = borders[matched - 1];
            }
            matched += usize::from(literals[matched] == literals[place]);
            borders[place] = matched;
        }
        begin..self.characters.len()
    }
}

/// `so_far` is how many literals the text before ends with.
fn find_literals(
    literals: &[char],
    borders: &[usize],
    so_far: &mut usize,
    places: Range<usize>,
    at: impl Fn(usize) -> char,
) -> Option<usize> {
    let mut matched = *so_far;
    for index in places {
        let character = at(index);
        while matched > 0 && literals[matched] != character {
            matched = borders[matched - 1];
        }
        matched += usize::from(literals[matched] == character);
        if matched == literals.len() {
            return Some(index + 1);
        }
    }
    *so_far = matched;
    None
}

/// Which prefixes of the searched items the text before ends with.
struct Reached {
    words: Vec<u64>,
    /// Words behind these are zero.
    active: usize,
    /// Kept for its room alone.
    listed: Vec<usize>,
}

impl Masks {
    fn new(items: &[Item]) -> Self {
        let mut any = vec![0; items.len().div_ceil(64)];
        let mut sorted = Vec::new();
        for (place, item) in items.iter().enumerate() {
            match item {
                Item::One => set(&mut any, place),
                Item::Literal(character) => sorted.push((*character, place)),
            }
        }
        sorted.sort_unstable();
        let literals = sorted.chunk_by(|(one, _), (other, _)| one == other).map(|same| {
            let places = same.iter().map(|(_, place)| *place);
            let places = if same.len() > any.len() {
                let mut words = any.clone();
                places.for_each(|place| set(&mut words, place));
                Places::Words(words)
            } else {
                Places::List(places.collect())
            };
            (same[0].0, places)
        });
        Self { length: items.len(), literals: literals.collect(), any }
    }

    fn begin(&self) -> Reached {
        Reached { words: vec![0; self.any.len()], active: 1, listed: Vec::new() }
    }

    /// Moves all prefixes on by one character at once.
    fn find(&self, reached: &mut Reached, places: Range<usize>, at: impl Fn(usize) -> char) -> Option<usize> {
        let Reached { words: state, active, listed } = reached;
        for index in places {
            let character = at(index);
            let found = self.literals.binary_search_by_key(&character, |(of, _)| *of);
            let places = found.ok().map(|found| &self.literals[found].1);
            let fitting = if let Some(Places::Words(words)) = places { words } else { &self.any };
            listed.clear();
            if let Some(Places::List(places)) = places {
                let is_reached = |place: usize| place == 0 || has(state, place - 1);
                listed.extend(places.iter().copied().filter(|place| is_reached(*place)));
            }
            let mut carried = 1;
            for (word, fitting) in state[..*active].iter_mut().zip(fitting) {
                let moved = *word << 1 | carried;
                carried = *word >> 63;
                *word = moved & fitting;
            }
            if carried == 1 && *active < state.len() {
                state[*active] = fitting[*active] & 1;
                *active += 1;
            }
            for place in &*listed {
                set(state, *place);
            }
            while *active > 1 && state[*active - 1] == 0 {
                *active -= 1;
            }
            if has(state, self.length - 1) {
                return Some(index + 1);
            }
        }
        None
    }
}

fn set(words: &mut [u64], place: usize) {
    words[place / 64] |= 1 << (place % 64);
}

fn has(words: &[u64], place: usize) -> bool {
    words[place / 64] >> (place % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn like(text: &str, pattern: &str, insensitive: bool) -> bool {
        LikePattern::new(pattern, insensitive).expect("the pattern is short").matches(text)
    }

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
            ("gr\u{fc}n", "%\u{fc}%", true),
            ("\u{df}\u{4e16}\u{1f600}", "\u{df}%\u{1f600}", true),
            ("\u{df}\u{4e16}\u{1f600}", "%\u{4e16}_", true),
            ("\u{df}\u{4e16}\u{1f600}", "\u{df}\u{1f600}", false),
            // Its bytes are C3 and A4, which are no characters.
            ("\u{e4}", "%\u{a4}", false),
            ("\u{e4}", "\u{c3}%", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%a%a%c", false),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(like(text, pattern, false), expected, "{text} like {pattern}");
        }
        for (text, pattern) in [("Abc", "aBC"), ("GR\u{dc}N", "gr\u{fc}n"), ("x\u{c4}", "_\u{e4}")] {
            assert!(like(text, pattern, true), "{text} ilike {pattern}");
        }
    }

    /// What LIKE means, said as plainly as can be: in time that grows exponentially.
    fn plainly(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|taken| plainly(&text[taken..], rest)),
            ['_', rest @ ..] => !text.is_empty() && plainly(&text[1..], rest),
            ['\\', literal, rest @ ..] | [literal, rest @ ..] => {
                text.first() == Some(literal) && plainly(&text[1..], rest)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn matches_are_those_of_the_definition(text in "[ab\u{e4}]{0,14}", pattern in "([ab\u{e4}_]|[ab]|%|\\\\[%_a\\\\]){0,9}") {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = plainly(&characters(&text), &characters(&pattern));
            prop_assert_eq!(like(&text, &pattern, false), expected);
            let upper = (text.to_uppercase(), pattern.to_uppercase());
            prop_assert_eq!(like(&upper.0, &pattern, true), expected);
            prop_assert_eq!(like(&text, &upper.1, true), expected);
        }

        /// Parts longer than a word, of few characters and of many.
        #[test]
        fn long_parts_are_found_where_they_are(
            part in "([ab]|[a-z]|_){1,200}",
            before in "[ab]{0,150}",
            behind in "[ab]{0,150}",
            changed in 0..200_usize,
        ) {
            let inside: String = part.replace('_', "b");
            let pattern = format!("%{part}%");
            let whole = format!("{before}{inside}{behind}");
            prop_assert!(like(&whole, &pattern, false));
            let mut broken: Vec<char> = inside.chars().collect();
            let place = changed % broken.len();
            broken[place] = '0';
            let text: Vec<char> = before.chars().chain(broken).chain(behind.chars()).collect();
            let wanted: Vec<char> = part.chars().collect();
            let fits = |at: &[char]| wanted.iter().zip(at).all(|(wanted, is)| *wanted == '_' || wanted == is);
            let expected = text.windows(wanted.len()).any(fits);
            prop_assert_eq!(like(&text.iter().collect::<String>(), &pattern, false), expected);
        }
    }

    /// How often a character of the text is asked for.
    fn readings(pattern: &str, length: usize) -> usize {
        let count = std::cell::Cell::new(0);
        let pattern = LikePattern::new(pattern, false).expect("the pattern can be searched for");
        let mut goes_on = |work: usize| work <= 2 * WORK_PER_QUESTION;
        let found = pattern.run(
            length,
            |_| {
                count.set(count.get() + 1);
                'a'
            },
            &mut Meter { goes_on: &mut goes_on, work: 0 },
        );
        assert!(matches!(found, Ok(false)), "the text has no `b`, and is asked about often enough");
        count.get()
    }

    /// The longest part that is searched for takes 256 words for each character of a text.
    #[test]
    fn a_search_asks_whether_it_goes_on_and_stops_where_it_does_not() {
        let longest = format!("%{}b%", "_".repeat(SEARCHED_CHARACTERS_MAX - 1));
        for (pattern, words, length) in [
            (longest.as_str(), 256, 20_000),
            ("%b%", 1, 200_000),
            ("%a_b%", 1, 200_000),
            ("%A_B%", 1, 200_000),
        ] {
            let text = "a".repeat(length);
            for insensitive in [false, true] {
                let compiled = LikePattern::new(pattern, insensitive).expect("it can be searched for");
                let mut asked = Vec::new();
                let mut count_to = |most: usize| {
                    asked.clear();
                    compiled.matches_while(&text, &mut |work| {
                        asked.push(work);
                        asked.len() < most
                    })
                };
                assert_eq!(count_to(usize::MAX), Some(false), "{pattern:.20}");
                // All that was searched is told, and no more than so much in between.
                assert_eq!(count_to(1), None, "{pattern:.20}");
                count_to(usize::MAX);
                assert_eq!(asked.iter().sum::<usize>(), text.len() * words, "{pattern:.20}");
                assert!(asked.iter().all(|work| *work < WORK_PER_QUESTION + words), "{pattern:.20}");
            }
        }
    }

    /// The questions stand in the midst of what is searched for.
    #[test]
    fn a_search_that_is_asked_about_finds_the_same() {
        let before = WORK_PER_QUESTION - 3;
        for (inside, part) in [("abcabd", "abcabd"), ("abcabd", "a_c_bd"), ("aabaab", "_aba_b")] {
            for before in before..before + 8 {
                for (fill, insensitive) in [("x", false), ("\u{e4}", false), ("\u{e4}", true)] {
                    let text = format!("{}{inside}{}", fill.repeat(before), "a".repeat(9));
                    assert!(like(&text, &format!("%{part}%"), insensitive), "{fill} {before} {part}");
                    assert!(like(&text, &format!("_%{part}%a"), insensitive), "{fill} {before} {part}");
                    assert!(!like(&text, &format!("%{part}x%"), insensitive), "{fill} {before} {part}");
                }
            }
        }
        // Here a question comes every 256 characters.
        let part = format!("{}b", "_".repeat(SEARCHED_CHARACTERS_MAX - 1));
        for length in [SEARCHED_CHARACTERS_MAX, SEARCHED_CHARACTERS_MAX + 257, 2 * SEARCHED_CHARACTERS_MAX] {
            let text = format!("{}b", "a".repeat(length - 1));
            assert!(like(&text, &format!("%{part}%"), false), "{length}");
            assert!(!like(&text, &format!("%{part}%_"), false), "{length}");
        }
    }

    #[test]
    fn a_long_pattern_reads_a_long_text_once() {
        const LENGTH: usize = 200_000;
        for pattern in [
            format!("%{}b%", "a".repeat(100_000)),
            format!("%{}_b%", "a".repeat(4_000)),
            format!("%{}b%", "a%".repeat(50_000)),
            format!("{}b%", "a".repeat(100_000)),
            format!("%{}b{}", "a".repeat(60_000), "a".repeat(60_000)),
        ] {
            assert!(readings(&pattern, LENGTH) <= 2 * LENGTH, "{pattern:.20}");
        }
    }

    #[test]
    fn what_cannot_be_searched_in_bounded_time_is_refused() {
        let most = "a".repeat(SEARCHED_CHARACTERS_MAX - 1);
        assert!(LikePattern::new(&format!("%{most}_%"), false).is_ok());
        let more = LikePattern::new(&format!("%{most}a_%"), false).map(|_| ());
        assert_eq!(more, Err(PatternTooLong));
        for bounded in [format!("%{most}aa%"), format!("{most}a_%"), format!("%_a{most}")] {
            assert!(LikePattern::new(&bounded, false).is_ok());
        }
    }
}
