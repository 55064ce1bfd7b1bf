//! Which columns of which table a statement of ours compares: read from its text, in which identifiers are quoted and tables have
//! aliases that are used once.

/// A piece of a statement's text, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Quoted(String),
    Word(String),
    Sign(String),
}

/// What a statement does with a table under an alias.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// With its schema, where that is not `public`.
    pub(super) table: String,
    /// Columns that must equal something, or be among some values, each once.
    pub(super) equal: Vec<String>,
    /// Columns that are compared otherwise.
    pub(super) ranges: Vec<String>,
}

/// None where the alias is of no table, or nothing is known of what its conditions mean together.
pub(super) fn compared(sql: &str, alias: &str) -> Option<Compared> {
    let tokens = tokens(sql);
    let mut compared = Compared { table: table(&tokens, alias)?, ..Compared::default() };
    let is_word =
        |token: &Token, word: &str| matches!(token, Token::Word(found) if found.eq_ignore_ascii_case(word));
    let is_open = |token: &Token| matches!(token, Token::Sign(sign) if sign == "(");
    if tokens.windows(2).any(|pair| is_word(&pair[0], "NOT") && is_open(&pair[1])) {
        return None;
    }
    for (index, window) in tokens.windows(4).enumerate() {
        let [Token::Word(found), Token::Sign(point), Token::Quoted(column), operator] = window else {
            continue;
        };
        let is_right = index > 0 && is_right_side(&tokens[index - 1]);
        if found != alias || point != "." || is_right {
            continue;
        }
        let columns = match operator {
            Token::Sign(sign) if sign == "=" => &mut compared.equal,
            Token::Sign(sign) if ["<", ">", "<=", ">="].contains(&sign.as_str()) => &mut compared.ranges,
            operator if is_word(operator, "IN") => &mut compared.equal,
            _ => continue,
        };
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    let is_either = tokens.iter().any(|token| is_word(token, "OR"));
    let all = compared.equal.len() + compared.ranges.len();
    (all > 0 && !(is_either && all > 1)).then_some(compared)
}

/// Whether what comes next is compared with, and is not what is compared.
fn is_right_side(before: &Token) -> bool {
    matches!(before, Token::Sign(sign) if ["=", "<", ">", "<=", ">=", "<>", "+"].contains(&sign.as_str()))
}

/// `"schema"."name" AS alias`.
fn table(tokens: &[Token], alias: &str) -> Option<String> {
    let place = tokens.windows(3).position(|window| {
        matches!(window, [Token::Quoted(_), Token::Word(word), Token::Word(found)]
            if word.eq_ignore_ascii_case("AS") && found == alias)
    })?;
    let Token::Quoted(name) = &tokens[place] else { return None };
    match tokens.get(..place)? {
        [.., Token::Quoted(schema), Token::Sign(point)] if point == "." && schema != "public" => {
            Some(format!("{schema}.{name}"))
        }
        _ => Some(name.clone()),
    }
}

fn tokens(sql: &str) -> Vec<Token> {
    let mut rest = sql.char_indices().peekable();
    let mut found = Vec::new();
    while let Some((start, letter)) = rest.next() {
        match letter {
            '"' | '\'' => {
                let mut text = String::new();
                while let Some((_, next)) = rest.next() {
                    if next != letter {
                        text.push(next);
                    } else if rest.next_if(|(_, after)| *after == letter).is_some() {
                        text.push(letter);
                    } else {
                        break;
                    }
                }
                found.push(if letter == '"' { Token::Quoted(text) } else { Token::Sign("'".to_owned()) });
            }
            letter if letter.is_alphanumeric() || letter == '_' => {
                let mut end = start + letter.len_utf8();
                while let Some((place, next)) =
                    rest.next_if(|(_, next)| next.is_alphanumeric() || *next == '_')
                {
                    end = place + next.len_utf8();
                }
                found.push(Token::Word(sql[start..end].to_owned()));
            }
            '<' | '>' => {
                let mut sign = letter.to_string();
                sign.extend(rest.next_if(|(_, next)| matches!(next, '=' | '>')).map(|(_, next)| next));
                found.push(Token::Sign(sign));
            }
            letter if letter.is_whitespace() => {}
            other => found.push(Token::Sign(other.to_string())),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sql: &str, alias: &str) -> String {
        compared(sql, alias).map_or_else(String::new, |Compared { table, equal, ranges }| {
            format!("{table}: {} / {}", equal.join(" "), ranges.join(" "))
        })
    }

    #[test]
    fn columns_that_are_compared_are_read_from_the_text() {
        for (sql, alias, expected) in [
            (r#"SELECT t0."a" FROM "t" AS t0 WHERE t0."a" = ?1 AND t0."b" <= ?2"#, "t0", "t: a / b"),
            (r#"SELECT t0."a" FROM "public"."t" AS t0 WHERE t0."a" IN (SELECT 1)"#, "t0", "t: a / "),
            (r#"SELECT 1 FROM "s"."t" AS t1 WHERE t1."a" = ANY($1) ORDER BY t1."c""#, "t1", "s.t: a / "),
            (r#"SELECT 1 FROM "t" AS t0 LEFT JOIN "u" AS t1 ON t1."k" = +t0."a""#, "t0", ""),
            (r#"SELECT 1 FROM "t" AS t0 LEFT JOIN "u" AS t1 ON t1."k" = +t0."a""#, "t1", "u: k / "),
            (r#"SELECT 1 FROM "t" AS t0 WHERE NOT (t0."a" = ?1)"#, "t0", ""),
            (r#"SELECT 1 FROM "t" AS t0 WHERE (t0."a" = ?1 OR t0."b" = ?2)"#, "t0", ""),
            (r#"SELECT 1 FROM "t" AS t0 WHERE t0."a" <> ?1 AND t0."b" IS NOT NULL"#, "t0", ""),
            (r#"SELECT 1 FROM "t""x" AS t0 WHERE t0."a""b" > 'x = t0."c"'"#, "t0", "t\"x:  / a\"b"),
            (r#"SELECT 1 FROM (SELECT 1) AS t0 WHERE t0."a" = ?1"#, "t0", ""),
        ] {
            assert_eq!(told(sql, alias), expected, "{sql}");
        }
    }
}
