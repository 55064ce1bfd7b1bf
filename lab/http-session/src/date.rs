//! Points in time as cookies write them: `Expires` of `Set-Cookie`, and milliseconds since 1970.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads `Wed, 21 Oct 2037 07:28:00 GMT`, with spaces or hyphens in the date, as milliseconds since 1970. The zone is
/// taken for UTC whatever its name is, as Go takes zones that it does not know.
pub fn parse_http_date(text: &str) -> Option<i64> {
    let (day_name, rest) = text.split_once(", ")?;
    if day_name.len() != 3 {
        return None;
    }
    let mut parts = rest.split(' ');
    let date = match parts.clone().next()? {
        date if date.len() == 11 => {
            parts.next();
            let mut parts = date.split('-');
            [parts.next()?, parts.next()?, parts.next()?]
        }
        _ => [parts.next()?, parts.next()?, parts.next()?],
    };
    let (time, zone) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || zone.is_empty() {
        return None;
    }
    let (month, _) = (0..).zip(MONTHS).find(|(_, month)| month.eq_ignore_ascii_case(date[1]))?;
    let (day, year) = (number(date[0], 2)?, number(date[2], 4)?);
    let mut time = time.split(':').map(|part| number(part, 2));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if day == 0 || day > 31 || hour > 23 || minute > 59 || second > 59 || time.next().is_some() {
        return None;
    }
    let next_month = days_since_1970(year + (month + 1) / 12, (month + 1) % 12 + 1, 1);
    if day > next_month - days_since_1970(year, month + 1, 1) {
        return None;
    }
    let days = days_since_1970(year, month + 1, day);
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Howard Hinnant's `days_from_civil`, with years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_cookies_are_read() {
        let check = |text, expected| assert_eq!(parse_http_date(text), expected, "{text}");
        check("Wed, 21 Oct 2037 07:28:00 GMT", Some(2_139_722_880_000));
        check("Thu, 01-Jan-1970 00:00:00 GMT", Some(0));
        check("Sat, 29 Feb 2020 23:59:59 UTC", Some(1_583_020_799_000));
        check("Mon, 01 Jan 1601 00:00:00 GMT", Some(-11_644_473_600_000));
        check("Sat, 31 Dec 2022 00:00:00 GMT", Some(1_672_444_800_000));
        check("Sat, 29 Feb 2025 00:00:00 GMT", None);
        check("Fri, 31 Apr 2026 00:00:00 GMT", None);
        for text in
            ["", "Wed, 21 Okt 2037 07:28:00 GMT", "21 Oct 2037 07:28:00 GMT", "Wed, 21 Oct 2037 24:28:00 GMT"]
        {
            check(text, None);
        }
    }
}
