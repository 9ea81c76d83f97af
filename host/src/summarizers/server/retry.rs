//! How long to wait before a server is asked again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// The wait before the first retry is at most this long, and doubles from there.
const FIRST: Duration = Duration::from_millis(500);
/// A wait that no server asked for is never longer.
const LONGEST: Duration = Duration::from_secs(15);
/// Numbers from here on are no seconds to wait but a time of day: seconds since 1970, or milliseconds.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLIS: f64 = 1e12;

/// The wait before retry `number`, from 0: anything up to a bound that doubles ("full jitter"), so that those
/// who failed together do not come back together.
pub(super) fn backoff(number: u32) -> Duration {
    let bound = FIRST.saturating_mul(2_u32.saturating_pow(number)).min(LONGEST);
    // The keys of a new hasher are random, and nothing here is a secret.
    let random = RandomState::new().build_hasher().finish();
    bound.mul_f64(random as f64 / u64::MAX as f64)
}

/// How long the server wants to be left alone: by `retry-after-ms` or `retry-after`, else until the limits that
/// are used up hold anew.
pub(super) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = |text: &str| Duration::try_from_secs_f64(text.parse::<f64>().ok()? / 1e3).ok();
    if let Some(wait) = value("retry-after-ms").and_then(millis) {
        return Some(wait);
    }
    if let Some(wait) = value("retry-after").and_then(|text| until(text, now)) {
        return Some(wait);
    }
    let limits = headers.iter().filter_map(|(name, reset)| {
        let name = name.as_str();
        if !(name.contains("ratelimit") && name.contains("reset")) {
            return None;
        }
        let remaining = value(&name.replace("reset", "remaining"));
        let is_left = remaining.and_then(|left| left.parse::<f64>().ok()).is_some_and(|n| n > 0.0);
        if is_left { None } else { until(reset.to_str().ok()?.trim(), now) }
    });
    limits.max()
}

/// The time from `now` to what is written: `2`, `1m30.5s`, `250ms`, a time since 1970, or a date.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let from_now = |epoch: Duration| epoch.saturating_sub(since);
    if let Ok(number) = text.parse::<f64>() {
        let read = |seconds| Duration::try_from_secs_f64(seconds).ok();
        return match number {
            EPOCH_MILLIS.. => read(number / 1e3).map(from_now),
            EPOCH_SECONDS.. => read(number).map(from_now),
            _ => read(number),
        };
    }
    duration(text).or_else(|| http_date(text).or_else(|| internet_date(text)).map(from_now))
}

/// `1h2m3.5s`, `250ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut whole = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let after = &rest[digits..];
        let unit = after.find(|char: char| char.is_ascii_digit()).unwrap_or(after.len());
        let seconds = match &after[..unit] {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        whole = whole.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = &after[unit..];
    }
    (!text.is_empty()).then_some(whole)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7), since 1970.
fn http_date(text: &str) -> Option<Duration> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    epoch(year.parse().ok()?, month, day.parse().ok()?, hour * 3_600 + minute * 60 + second)
}

/// `1994-11-06T08:49:37Z` (RFC 3339), since 1970.
fn internet_date(text: &str) -> Option<Duration> {
    let read: toml::value::Datetime = text.parse().ok()?;
    let (date, time) = (read.date?, read.time?);
    let offset = match read.offset? {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes) * 60,
    };
    let (hour, minute) = (u64::from(time.hour), u64::from(time.minute));
    let seconds = hour * 3_600 + minute * 60 + u64::from(time.second.unwrap_or_default());
    let local = epoch(u64::from(date.year), u64::from(date.month), u64::from(date.day), seconds)?;
    let seconds = local.as_secs().checked_add_signed(-offset)?;
    Some(Duration::new(seconds, time.nanosecond.unwrap_or_default()))
}

/// Seconds since 1970, by Howard Hinnant's `days_from_civil`.
fn epoch(year: u64, month: u64, day: u64, seconds: u64) -> Option<Duration> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the day that comes and goes is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(Duration::from_secs(days.checked_sub(719_468)? * 86_400 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1994-11-06T08:49:37Z`, the date of the RFC.
    const NOW: u64 = 784_111_777;

    fn wait(pairs: &[(&'static str, &str)]) -> Option<f64> {
        let headers = pairs.iter().map(|(name, value)| {
            (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
        });
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        asked(&headers.collect(), now).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn every_way_to_say_when_is_understood() {
        for (headers, expected) in [
            (&[][..], None),
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", " 0.5 ")], Some(0.5)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(0.25)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT")], Some(23.0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0.0)),
            (&[("retry-after", "Thu, 29 Feb 1996 00:00:00 GMT")], Some(41_440_223.0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "nan")], None),
            (&[("retry-after", "1e300")], None),
            (&[("x-ratelimit-reset-requests", "1m30.5s")], Some(90.5)),
            (&[("x-ratelimit-reset-requests", "250ms")], Some(0.25)),
            (
                &[
                    ("x-ratelimit-remaining-requests", "12"),
                    ("x-ratelimit-reset-requests", "9m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "4s"),
                ],
                Some(4.0),
            ),
            (&[("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:40Z")], Some(3.0)),
            (&[("anthropic-ratelimit-tokens-reset", "1994-11-06T10:49:40.5+02:00")], Some(3.5)),
            (&[("x-ratelimit-reset", "1784111777")], Some(1e9)),
            (&[("x-ratelimit-reset", "1784111777000")], Some(1e9)),
            (&[("x-ratelimit-reset-tokens", "5 parsecs")], None),
        ] {
            assert_eq!(wait(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn waits_grow_and_are_never_the_same_for_all() {
        for number in 0..40 {
            let bound = LONGEST.min(FIRST * 2_u32.pow(number.min(10)));
            let waits: Vec<Duration> = (0..50).map(|_| backoff(number)).collect();
            assert!(waits.iter().all(|wait| *wait <= bound), "{number}");
            assert!(waits.iter().max() > waits.iter().min().map(|least| *least * 2).as_ref());
        }
    }
}
