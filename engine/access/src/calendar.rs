//! Days and months of the Gregorian calendar in UTC, as Unix seconds.

pub(crate) const DAY_S: i64 = 86_400;

/// From 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
const DAYS_OF_400_YEARS: i64 = 146_097;

/// Years begin in March here, so that a leap day is a year's last one.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - DAYS_TO_1970
}

/// Year and month of a day.
fn year_and_month(days: i64) -> (i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3) } else { (year + 1, month - 9) }
}

/// When the month after the one of a time begins.
pub(crate) fn next_month(now: i64) -> i64 {
    let (year, month) = year_and_month(now.div_euclid(DAY_S));
    let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_since_1970(year, month, 1) * DAY_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_each_other() {
        let (mut year, mut month) = (1600, 1);
        while year < 2500 {
            let begin = days_since_1970(year, month, 1) * DAY_S;
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let end = days_since_1970(year, month, 1) * DAY_S;
            assert!((28..=31).contains(&((end - begin) / DAY_S)), "{year}-{month}");
            assert_eq!((next_month(begin), next_month(end - 1)), (end, end), "{year}-{month}");
        }
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(1900, 3, 1) - days_since_1970(1900, 2, 28), 1);
    }
}
