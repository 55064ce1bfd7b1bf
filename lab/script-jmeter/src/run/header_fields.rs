//! Header fields of a request in their order, all in one piece of memory.

use std::ops::Range;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeaderFields {
    text: String,
    /// Where each name and its value stand.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl HeaderFields {
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        let begin = self.text.len();
        let middle = begin + name.len();
        self.text.push_str(name);
        self.text.push_str(value);
        self.places.push((begin..middle, middle..self.text.len()));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places.iter().map(|(name, value)| (&self.text[name.clone()], &self.text[value.clone()]))
    }

    /// Whether there is one of a name, whatever its case.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Those whose names are kept.
    pub(crate) fn filtered(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let mut fields = Self::default();
        self.iter().filter(|(name, _)| keeps(name)).for_each(|(name, value)| fields.push(name, value));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_their_case() {
        let mut fields = HeaderFields::default();
        for (name, value) in [("Accept", "*/*"), ("X-É", ""), ("accept", "text/html")] {
            fields.push(name, value);
        }
        assert_eq!(
            fields.iter().collect::<Vec<_>>(),
            [("Accept", "*/*"), ("X-É", ""), ("accept", "text/html")]
        );
        assert!(fields.has("ACCEPT") && !fields.has("Accep"));
        assert_eq!(fields.filtered(|name| name == "X-É").iter().collect::<Vec<_>>(), [("X-É", "")]);
    }
}
