//! Variables of the environment, and texts of the configuration that name them.

/// Behind a variable's name: it names a file that has the value.
pub const FILE_SUFFIX: &str = "_FILE";

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
    /// With the variable that names the file, the file, and the system's reason.
    #[error("cannot read {1}, which `{0}` names: {2}")]
    Unreadable(String, String, String),
}

/// A variable of this process, or what is in the file that the variable with [`FILE_SUFFIX`] behind its name names.
pub fn process_variable(name: &str) -> Result<Option<String>, VariableFault> {
    if let Ok(value) = std::env::var(name) {
        return Ok(Some(value));
    }
    let in_file = format!("{name}{FILE_SUFFIX}");
    let Some(path) = std::env::var_os(&in_file) else { return Ok(None) };
    match std::fs::read_to_string(&path) {
        Ok(content) => Ok(Some(content.trim_end_matches(['\r', '\n']).to_owned())),
        Err(cause) => {
            Err(VariableFault::Unreadable(in_file, path.to_string_lossy().into_owned(), cause.to_string()))
        }
    }
}

/// Fills in `${NAME}` from this process, as [`process_variable`] knows it.
pub fn substitute_of_process(text: &str) -> Result<String, VariableFault> {
    fill(text, &process_variable)
}

/// Fills in `${NAME}`; `variable` knows the environment.
pub fn substitute(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, VariableFault> {
    fill(text, &|name| Ok(variable(name)))
}

fn fill(
    text: &str,
    variable: &dyn Fn(&str) -> Result<Option<String>, VariableFault>,
) -> Result<String, VariableFault> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) =
            after.split_once('}').ok_or_else(|| VariableFault::Unclosed(after.to_owned()))?;
        let value = variable(name)?.ok_or_else(|| VariableFault::Missing(name.to_owned()))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}
