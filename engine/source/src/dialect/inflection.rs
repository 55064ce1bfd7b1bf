//! English plural and singular of one word, as Ruby on Rails' `ActiveSupport` inflects by default.
//!
//! Two deviations, both only where Rails' answer is no English word and Rails' users add a rule of their own:
//! words in [`EXCEPTIONS`] (`caches` → `cache`, where Rails says `cach`), and `f` ↔ `v` only in words that
//! really change it (`drives` → `drive`, where Rails says `drife`).

/// What a word must end with for a rule to apply.
#[derive(Clone, Copy)]
enum Ending {
    Is(&'static str),
    Word(&'static str),
    /// The ending, after a letter that is none of `aeiouy`.
    AfterConsonant(&'static str),
}
use Ending::{AfterConsonant, Is, Word};

/// Ending, bytes to take off, text to put there.
type Rule = (Ending, usize, &'static str);

/// The same in both numbers.
const UNCOUNTABLE: &[&str] =
    &["equipment", "fish", "information", "jeans", "money", "police", "rice", "series", "sheep", "species"];

/// Singular and plural of whole words for which the rules below give no word.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("apparatus", "apparatuses"),
    ("atlas", "atlases"),
    ("avalanche", "avalanches"),
    ("bias", "biases"),
    ("bonus", "bonuses"),
    ("brownie", "brownies"),
    ("cache", "caches"),
    ("cactus", "cactuses"),
    ("calorie", "calories"),
    ("campus", "campuses"),
    ("canoe", "canoes"),
    ("canvas", "canvases"),
    ("census", "censuses"),
    ("codebase", "codebases"),
    ("consensus", "consensuses"),
    ("cookie", "cookies"),
    ("corpus", "corpuses"),
    ("criterion", "criteria"),
    ("delta", "deltas"),
    ("echo", "echoes"),
    ("emphasis", "emphases"),
    ("focus", "focuses"),
    ("gas", "gases"),
    ("genus", "genera"),
    ("german", "germans"),
    ("headache", "headaches"),
    ("hero", "heroes"),
    ("hoodie", "hoodies"),
    ("human", "humans"),
    ("lens", "lenses"),
    ("lie", "lies"),
    ("nexus", "nexuses"),
    ("niche", "niches"),
    ("oasis", "oases"),
    ("olive", "olives"),
    ("paralysis", "paralyses"),
    ("pie", "pies"),
    ("potato", "potatoes"),
    ("prospectus", "prospectuses"),
    ("quota", "quotas"),
    ("radius", "radiuses"),
    ("roman", "romans"),
    ("rookie", "rookies"),
    ("selfie", "selfies"),
    ("smoothie", "smoothies"),
    ("specimen", "specimens"),
    ("stimulus", "stimuli"),
    ("surplus", "surpluses"),
    ("talisman", "talismans"),
    ("tie", "ties"),
    ("toe", "toes"),
    ("veto", "vetoes"),
];

/// The first that fits decides.
const PLURAL: &[Rule] = &[
    (Is("zombie"), 0, "s"),
    (Is("move"), 0, "s"),
    (Is("sex"), 0, "es"),
    (Is("sexes"), 0, ""),
    (Is("child"), 0, "ren"),
    (Is("children"), 0, ""),
    (Is("man"), 2, "en"),
    (Is("men"), 0, ""),
    (Is("person"), 5, "eople"),
    (Is("people"), 0, ""),
    (Is("quiz"), 0, "zes"),
    (Word("oxen"), 0, ""),
    (Word("ox"), 0, "en"),
    (Word("mice"), 0, ""),
    (Word("lice"), 0, ""),
    (Word("mouse"), 4, "ice"),
    (Word("louse"), 4, "ice"),
    (Is("matrix"), 2, "ices"),
    (Is("vertex"), 2, "ices"),
    (Is("index"), 2, "ices"),
    (Is("x"), 0, "es"),
    (Is("ch"), 0, "es"),
    (Is("ss"), 0, "es"),
    (Is("sh"), 0, "es"),
    (AfterConsonant("y"), 1, "ies"),
    (Is("quy"), 1, "ies"),
    (Is("knife"), 2, "ves"),
    (Is("life"), 2, "ves"),
    (Is("wife"), 2, "ves"),
    (Is("half"), 1, "ves"),
    (Is("calf"), 1, "ves"),
    (Is("elf"), 1, "ves"),
    (Is("wolf"), 1, "ves"),
    (Is("scarf"), 1, "ves"),
    (Is("dwarf"), 1, "ves"),
    (Is("wharf"), 1, "ves"),
    (Is("sis"), 2, "es"),
    (Is("ta"), 0, ""),
    (Is("ia"), 0, ""),
    (Is("tum"), 2, "a"),
    (Is("ium"), 2, "a"),
    (Is("buffalo"), 0, "es"),
    (Is("tomato"), 0, "es"),
    (Is("bus"), 0, "es"),
    (Is("alias"), 0, "es"),
    (Is("status"), 0, "es"),
    (Is("octopi"), 0, ""),
    (Is("viri"), 0, ""),
    (Is("octopus"), 2, "i"),
    (Is("virus"), 2, "i"),
    (Word("axis"), 2, "es"),
    (Word("testis"), 2, "es"),
    (Is("s"), 0, ""),
    (Is(""), 0, "s"),
];

/// The first that fits decides.
const SINGULAR: &[Rule] = &[
    (Is("zombies"), 1, ""),
    (Is("moves"), 1, ""),
    (Is("sexes"), 2, ""),
    (Is("children"), 3, ""),
    (Is("men"), 2, "an"),
    (Is("people"), 5, "erson"),
    (Is("databases"), 1, ""),
    (Is("quizzes"), 3, ""),
    (Is("matrices"), 4, "ix"),
    (Is("vertices"), 4, "ex"),
    (Is("indices"), 4, "ex"),
    (Word("oxen"), 2, ""),
    (Is("aliases"), 2, ""),
    (Is("alias"), 0, ""),
    (Is("statuses"), 2, ""),
    (Is("status"), 0, ""),
    (Is("octopi"), 1, "us"),
    (Is("octopus"), 0, ""),
    (Is("viri"), 1, "us"),
    (Is("virus"), 0, ""),
    (Word("axes"), 2, "is"),
    (Word("axis"), 0, ""),
    (Is("crises"), 2, "is"),
    (Is("crisis"), 0, ""),
    (Is("testes"), 2, "is"),
    (Is("testis"), 0, ""),
    (Is("shoes"), 1, ""),
    (Is("oes"), 2, ""),
    (Is("buses"), 2, ""),
    (Is("bus"), 0, ""),
    (Word("mice"), 3, "ouse"),
    (Word("lice"), 3, "ouse"),
    (Is("xes"), 2, ""),
    (Is("ches"), 2, ""),
    (Is("sses"), 2, ""),
    (Is("shes"), 2, ""),
    (Is("movies"), 1, ""),
    (Is("series"), 0, ""),
    (AfterConsonant("ies"), 3, "y"),
    (Is("quies"), 3, "y"),
    (Is("knives"), 3, "fe"),
    (Is("lives"), 3, "fe"),
    (Is("wives"), 3, "fe"),
    (Is("halves"), 3, "f"),
    (Is("calves"), 3, "f"),
    (Is("elves"), 3, "f"),
    (Is("wolves"), 3, "f"),
    (Is("scarves"), 3, "f"),
    (Is("dwarves"), 3, "f"),
    (Is("wharves"), 3, "f"),
    (Is("thieves"), 3, "f"),
    (Is("loaves"), 3, "f"),
    (Is("analyses"), 2, "is"),
    (Is("analysis"), 0, ""),
    (Is("bases"), 2, "is"),
    (Is("basis"), 0, ""),
    (Is("diagnoses"), 2, "is"),
    (Is("diagnosis"), 0, ""),
    (Is("parentheses"), 2, "is"),
    (Is("parenthesis"), 0, ""),
    (Is("prognoses"), 2, "is"),
    (Is("prognosis"), 0, ""),
    (Is("synopses"), 2, "is"),
    (Is("synopsis"), 0, ""),
    (Is("theses"), 2, "is"),
    (Is("thesis"), 0, ""),
    (Is("ta"), 1, "um"),
    (Is("ia"), 1, "um"),
    (Is("news"), 0, ""),
    (Is("ss"), 0, ""),
    (Is("s"), 1, ""),
];

/// The plural of an English word; of a plural, the word itself (for all but a few Latin ones).
pub fn pluralize(word: &str) -> String {
    inflect(word, PLURAL, |(singular, plural), lower| {
        (lower == singular || lower == plural).then_some(plural)
    })
}

/// The singular of an English word; of a singular, the word itself unless it looks like a plural.
pub fn singularize(word: &str) -> String {
    inflect(word, SINGULAR, |(singular, plural), lower| {
        (lower == singular || lower == plural).then_some(singular)
    })
}

type Exception = fn((&'static str, &'static str), &str) -> Option<&'static str>;

fn inflect(word: &str, rules: &[Rule], exception: Exception) -> String {
    let lower = word.to_ascii_lowercase();
    if UNCOUNTABLE.contains(&&*lower) {
        return word.to_owned();
    }
    if let Some(known) = EXCEPTIONS.iter().find_map(|pair| exception(*pair, &lower)) {
        let common = lower.bytes().zip(known.bytes()).take_while(|(a, b)| a == b).count();
        return replace_ending(word, word.len() - common, &known[common..]);
    }
    match rules.iter().find(|(ending, _, _)| fits(&lower, *ending)) {
        // Nothing would be left of the word `s`.
        Some(&(_, taken, added)) if taken < word.len() || !added.is_empty() => {
            replace_ending(word, taken, added)
        }
        _ => word.to_owned(),
    }
}

fn fits(lower: &str, ending: Ending) -> bool {
    match ending {
        Is(suffix) => lower.ends_with(suffix),
        Word(whole) => lower == whole,
        AfterConsonant(suffix) => lower
            .strip_suffix(suffix)
            .and_then(|stem| stem.bytes().last())
            .is_some_and(|letter| !b"aeiouy".contains(&letter)),
    }
}

/// The added text is upper-case where the whole word is.
fn replace_ending(word: &str, taken: usize, added: &str) -> String {
    let letters = || word.bytes().filter(u8::is_ascii_alphabetic);
    let all_upper = letters().count() > 1 && letters().all(|letter| letter.is_ascii_uppercase());
    let mut out = word[..word.len() - taken].to_owned();
    if all_upper {
        out.push_str(&added.to_ascii_uppercase());
    } else {
        out.push_str(added);
    }
    out
}
