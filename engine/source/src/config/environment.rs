//! Variables of the environment in texts of the configuration.

/// Why the variables of a text cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableFault {
    /// With what follows the opening brace.
    #[error("`${{{0}` lacks its closing brace")]
    Unclosed(String),
    /// With the variable's name.
    #[error(
        "the environment has no variable `{0}`; set it before starting, or `{0}_FILE` to a file that has the value"
    )]
    Missing(String),
}

/// Fills in `${NAME}`; `variable` knows the environment.
pub fn substitute(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, VariableFault> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) =
            after.split_once('}').ok_or_else(|| VariableFault::Unclosed(after.to_owned()))?;
        let value = variable(name).ok_or_else(|| VariableFault::Missing(name.to_owned()))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}
