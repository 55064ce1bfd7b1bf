//! Which media type a client prefers (RFC 9110, section 12.5.1).

/// Ranges of an Accept header that are looked at.
pub const RANGES_MAX: usize = 32;

/// What a client prefers of these types: of those that it names, the first of the highest quality. None where it names none of them;
/// wildcards name none.
pub fn preferred<T: Copy>(accept: &str, types: &[(&str, T)]) -> Option<T> {
    let named = accept.split(',').take(RANGES_MAX).filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next()?;
        let (_, of) = types.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        let quality = parts.find_map(quality).map_or(Some(1000), thousandths)?;
        (quality > 0).then_some((quality, *of))
    });
    let wanted = named.reduce(|first, next| if next.0 > first.0 { next } else { first });
    wanted.map(|(_, of)| of)
}

/// The value of the parameter that says the range's quality; none of another one.
pub fn quality(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
}

/// A `qvalue` (RFC 9110, section 12.4.2) as thousandths.
pub fn thousandths(text: &str) -> Option<u16> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then(|| (value * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_highest_quality_is_preferred() {
        const TYPES: [(&str, char); 2] = [("application/json", 'j'), ("text/csv", 'c')];
        for (accept, wanted) in [
            ("", None),
            ("*/*, text/*", None),
            ("text/csv", Some('c')),
            ("TEXT/CSV;charset=utf-8", Some('c')),
            ("application/json, text/csv", Some('j')),
            ("text/csv;q=0.5, application/json", Some('j')),
            ("text/csv;q=0.5, application/json;q=0.5", Some('c')),
            ("text/html, text/csv;header=present;q=0.1", Some('c')),
            ("text/csv;q=0", None),
            ("text/csv;q=0, application/json;q=0.001", Some('j')),
            ("text/csv;q=2, application/json;q=x", None),
        ] {
            assert_eq!(preferred(accept, &TYPES), wanted, "{accept}");
        }
    }
}
