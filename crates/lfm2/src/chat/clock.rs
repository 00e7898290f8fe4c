//! The date for templates that print it.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Seconds since 1970 now, in UTC.
pub(super) fn now() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(d) => d.as_secs() as i64,
        Err(_) => 0,
    }
}

/// `strftime` for the directives that templates use; others are left as they stand.
pub(super) fn strftime(seconds: i64, format: &str) -> String {
    // The range of years that four digits hold keeps the arithmetic below exact.
    let seconds = seconds.clamp(-62_135_596_800, 253_402_300_799);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let (year, month, day) = civil(days);
    let weekday = (days + 4).rem_euclid(7);
    let yearday = days - days_before(year) + 1;
    let twelve = (hour + 11) % 12 + 1;
    let name = |table: &[&'static str], i: i64| table.get(i as usize).copied().unwrap_or("");

    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let (padded, directive) = match chars.next() {
            Some('-') => (false, chars.next()),
            other => (true, other),
        };
        let number = |value: i64, width: usize, out: &mut String| {
            let width = if padded { width } else { 0 };
            let _ = write!(out, "{value:0width$}");
        };
        match directive {
            Some('Y') => number(year, 4, &mut out),
            Some('y') => number(year % 100, 2, &mut out),
            Some('m') => number(month, 2, &mut out),
            Some('d') => number(day, 2, &mut out),
            Some('e') => {
                let _ = write!(out, "{day:2}");
            }
            Some('H') => number(hour, 2, &mut out),
            Some('I') => number(twelve, 2, &mut out),
            Some('M') => number(minute, 2, &mut out),
            Some('S') => number(second, 2, &mut out),
            Some('j') => number(yearday, 3, &mut out),
            Some('B') => out.push_str(name(&MONTHS, month - 1)),
            Some('b') => out.extend(name(&MONTHS, month - 1).chars().take(3)),
            Some('A') => out.push_str(name(&DAYS, weekday)),
            Some('a') => out.extend(name(&DAYS, weekday).chars().take(3)),
            Some('p') => out.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('F') => out.push_str(&strftime(seconds, "%Y-%m-%d")),
            Some('T') => out.push_str(&strftime(seconds, "%H:%M:%S")),
            Some('%') | None => out.push('%'),
            Some(other) => {
                out.push('%');
                out.push(other);
            }
        }
    }
    out
}

/// Days from 1970-01-01 to the first of January of `year`.
fn days_before(year: i64) -> i64 {
    let y = year - 1;
    365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) - 719_162
}

fn civil(days: i64) -> (i64, i64, i64) {
    let mut year = 1970 + days.div_euclid(366).min(days.div_euclid(365));
    while days_before(year + 1) <= days {
        year += 1;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut day = days - days_before(year);
    let lengths = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 1;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let all = "%Y-%m-%d %H:%M:%S %a %A %b %B %j %y %I%p %-d %% %Q %";
        assert_eq!(
            strftime(0, all),
            "1970-01-01 00:00:00 Thu Thursday Jan January 001 70 12AM 1 % %Q %"
        );
        assert_eq!(
            strftime(1_709_164_800 + 86_399, "%F %T"),
            "2024-02-29 23:59:59"
        );
        assert_eq!(strftime(1_735_646_400, "%F %j"), "2024-12-31 366");
        assert_eq!(strftime(-1, "%F %T"), "1969-12-31 23:59:59");
        assert_eq!(strftime(i64::MAX, "%Y"), "9999");
        assert_eq!(strftime(i64::MIN, "%Y"), "0001");
    }
}
