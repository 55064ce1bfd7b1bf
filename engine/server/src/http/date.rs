//! The date of responses (RFC 9110, section 6.6.1), made once a second, for all that write them. It follows the clock also where that is
//! set back; hyper's own, which it adds where there is none, would stay ahead until the clock has caught up.

use std::{
    cell::RefCell,
    time::{Duration, SystemTime},
};

use http::{HeaderValue, Response, header};
use rustix::time::{ClockId, clock_gettime};

thread_local! {
    static DATE: RefCell<Date> =
        const { RefCell::new(Date { value: HeaderValue::from_static(""), second: i64::MIN }) };
}

struct Date {
    value: HeaderValue,
    /// Unix time.
    second: i64,
}

impl Date {
    fn at(&mut self, second: i64) -> &HeaderValue {
        if second != self.second {
            let since = Duration::from_secs(second.try_into().unwrap_or_default());
            let text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since);
            self.value = HeaderValue::try_from(text).expect("a date is of letters and digits");
            self.second = second;
        }
        &self.value
    }
}

/// A few ms late, at most, and several times cheaper than the exact time.
fn now() -> i64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec
}

/// Writes the date's text.
pub(crate) fn write(out: &mut Vec<u8>) {
    DATE.with_borrow_mut(|date| out.extend_from_slice(date.at(now()).as_bytes()));
}

/// Dates a response that hyper sends; a function may have given it another date.
pub(crate) fn mark<B>(response: &mut Response<B>) {
    let value = || DATE.with_borrow_mut(|date| date.at(now()).clone());
    response.headers_mut().entry(header::DATE).or_insert_with(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_follows_the_clock_when_it_is_set_back() {
        let mut date = Date { value: HeaderValue::from_static(""), second: i64::MIN };
        let hour = 3600;
        for (second, text) in [
            (10 * hour, "Thu, 01 Jan 1970 10:00:00 GMT"),
            (10 * hour + 1, "Thu, 01 Jan 1970 10:00:01 GMT"),
            (9 * hour, "Thu, 01 Jan 1970 09:00:00 GMT"),
            (9 * hour, "Thu, 01 Jan 1970 09:00:00 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
        ] {
            assert_eq!(date.at(second), text);
        }
    }

    #[test]
    fn a_response_keeps_the_date_that_it_was_given() {
        let mut response = Response::new(());
        mark(&mut response);
        let dated = response.headers().get(header::DATE).cloned().expect("it has a date");
        assert_eq!(dated.len(), "Thu, 01 Jan 1970 00:00:00 GMT".len());
        response.headers_mut().insert(header::DATE, HeaderValue::from_static("then"));
        mark(&mut response);
        assert_eq!(response.headers().get_all(header::DATE).iter().collect::<Vec<_>>(), ["then"]);
    }
}
