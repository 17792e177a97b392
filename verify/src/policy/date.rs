//! `Date`: a day of the calendar in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day. Days are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year.
    pub year: u32,
    /// The month, from 1.
    pub month: u32,
    /// The day of the month, from 1.
    pub day: u32,
}

impl Date {
    /// Parses `2027-03-01`; `None` for another form, or a day that no month has.
    pub fn parse(text: &str) -> Option<Date> {
        let mut numbers = text.split('-');
        let date = Date {
            year: digits(numbers.next()?, 4)?,
            month: digits(numbers.next()?, 2)?,
            day: digits(numbers.next()?, 2)?,
        };
        let is_day = (1..=12).contains(&date.month) && (1..=date.days()).contains(&date.day);
        (numbers.next().is_none() && is_day).then_some(date)
    }

    /// Returns the day of this moment in UTC.
    pub fn today() -> Date {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Date::of_days(passed / 86_400)
    }

    /// Returns the day that is `days` after 1970-01-01.
    fn of_days(mut days: u64) -> Date {
        let mut date = Date { year: 1970, month: 1, day: 1 };
        loop {
            let of_month = u64::from(date.days());
            if days < of_month {
                date.day = days as u32 + 1;
                return date;
            }
            days -= of_month;
            date.month += 1;
            if date.month > 12 {
                date.month = 1;
                date.year += 1;
            }
        }
    }

    /// Returns the days of its month.
    fn days(self) -> u32 {
        let is_leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_787, "2026-11-30"),
        ] {
            assert_eq!(Date::of_days(days).to_string(), text);
            assert_eq!(Date::parse(text), Some(Date::of_days(days)));
        }
        for text in ["2026-02-29", "2026-13-01", "2026-1-01", "2026-01-00", "2026-01-01-01", ""] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        assert!(Date::parse("2027-01-01") > Date::parse("2026-12-31"));
    }
}
