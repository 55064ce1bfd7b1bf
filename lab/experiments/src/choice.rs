//! What is chosen by its name on the command line: parts of an experiment, and what it asks.

/// Not among the names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {what}; write {}", known.join(", "))]
pub struct ChoiceError {
    given: String,
    what: &'static str,
    known: Vec<&'static str>,
}

/// The one of `all` that has this name; `what` reads behind "is no".
pub(crate) fn choose<T: Copy>(
    given: &str,
    what: &'static str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, ChoiceError> {
    let chosen = all.iter().copied().find(|one| name(*one) == given);
    chosen.ok_or_else(|| ChoiceError {
        given: given.to_owned(),
        what,
        known: all.iter().map(|one| name(*one)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        let choose = |given| choose(given, "letter", &[1, 2], |number| if number == 1 { "a" } else { "b" });
        assert_eq!(choose("b"), Ok(2));
        assert_eq!(choose("c").unwrap_err().to_string(), "`c` is no letter; write a, b");
    }
}
