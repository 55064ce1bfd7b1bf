//! How many columns of a terminal a text takes, and texts that take fewer.

use ratatui::text::Span;
use std::collections::BTreeSet;

/// What stands where part of a text is left out.
const ELLIPSIS: char = '…';
/// Letters of what names have in common that stay before what tells them apart.
const COMMON_LETTERS: usize = 4;

/// Letters of some scripts take two columns, marks on letters none.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Span::raw(text).width() }
}

/// In at most so many columns. The middle is left out, since names that begin alike differ at their ends.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let tail = tail(text, room / 2);
    format!("{}{ELLIPSIS}{tail}", head(text, room - width(tail)))
}

/// Each in at most so many columns. Names that would look alike without their middle lose what all of them begin and end with.
pub(crate) fn told_apart(names: &[(&str, usize)]) -> Vec<String> {
    let short: Vec<_> = names.iter().map(|(name, columns)| shortened(name, *columns)).collect();
    let different: BTreeSet<_> = names.iter().map(|(name, _)| *name).collect();
    let look_different: BTreeSet<_> = short.iter().collect();
    if look_different.len() == different.len() {
        return short;
    }
    let different: Vec<_> = different.into_iter().collect();
    let before = least(&different, |a, b| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count());
    let before = before.saturating_sub(COMMON_LETTERS);
    let behind =
        least(&different, |a, b| a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).count());
    let apart = |(name, columns): &(&str, usize)| {
        let count = name.chars().count();
        let middle: String = name.chars().skip(before).take(count.saturating_sub(before + behind)).collect();
        let ellipsis = |left_out: usize| if left_out > 0 { ELLIPSIS.to_string() } else { String::new() };
        shortened(&format!("{}{middle}{}", ellipsis(before), ellipsis(behind)), *columns)
    };
    names.iter().map(apart).collect()
}

/// Of two names each; what all have in common is what each has in common with the next.
fn least(names: &[&str], of: impl Fn(&str, &str) -> usize) -> usize {
    names.windows(2).map(|pair| of(pair[0], pair[1])).min().unwrap_or(0)
}

/// The first letters that have room.
fn head(text: &str, room: usize) -> &str {
    let ends = text.char_indices().map(|(start, letter)| start + letter.len_utf8());
    let end = ends.take_while(|end| width(&text[..*end]) <= room).last().unwrap_or(0);
    &text[..end]
}

/// The last letters that have room.
fn tail(text: &str, room: usize) -> &str {
    let starts = text.char_indices().rev().map(|(start, _)| start);
    let start = starts.take_while(|start| width(&text[*start..]) <= room).last().unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_lose_their_middle() {
        let shown = [10, 9, 5, 2, 1, 0].map(|columns| shortened("/api/donuts", columns));
        assert_eq!(shown, ["/api/…nuts", "/api…nuts", "/a…ts", "/…", "…", ""]);
        assert_eq!(shortened("/api/donuts", 11), "/api/donuts");
        assert_eq!((width("größe"), width("商品一覧")), (5, 8));
        assert_eq!(shortened("商品一覧を見る", 9), "商品…見る");
    }

    #[test]
    fn names_that_would_look_alike_show_what_tells_them_apart() {
        let files = ["results/shop-1795239889.prony.json", "results/shop-1795239891.prony.json"];
        assert_eq!(told_apart(&files.map(|name| (name, 24))), ["…239889…", "…239891…"]);
        let whole = told_apart(&[("before", 10), ("after", 10)]);
        assert_eq!(whole, ["before", "after"]);
        let same = told_apart(&[("a name of two", 7), ("a name of two", 7)]);
        assert_eq!(same, ["a n…two", "a n…two"]);
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_it_may_be(text in "[a-e ßé商品見🍩\u{301}]{0,40}", columns in 0_usize..50) {
            prop_assert!(width(&shortened(&text, columns)) <= columns);
        }
    }
}
