//! Ages and times as text, and when that text changes next: the loop sleeps until then and no shorter.

use std::{cell::Cell, time::Duration};

use jiff::{Timestamp as Instant, tz::TimeZone};

use crate::{kargo::Timestamp, rules::durations::human};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// The moment that a frame shows. Every age it formats is remembered, so that it knows when the frame is out of date.
#[derive(Debug)]
pub struct Clock {
    now: i64,
    zone: TimeZone,
    next: Cell<Option<i64>>,
}

impl Clock {
    /// A clock that stands at `now` and tells times of day in `zone`.
    pub fn at(now: Timestamp, zone: TimeZone) -> Self {
        Self {
            now: now.as_second(),
            zone,
            next: Cell::new(None),
        }
    }

    /// When the first of the texts told so far changes.
    pub fn next_change(&self) -> Option<Timestamp> {
        self.next
            .get()
            .and_then(|second| Instant::from_second(second).ok())
            .map(Timestamp)
    }

    /// Time since `since` in one unit (`59s`, `77m`, `26d`) or two (`2y4d`); never negative.
    pub fn age(&self, since: Timestamp) -> String {
        let start = since.as_second();
        let seconds = u64::try_from(self.now.saturating_sub(start)).unwrap_or_default();
        let (text, step) = in_words(seconds);
        // A moment ahead of this clock reads 0s until this clock has caught up.
        let changes = start
            .max(self.now.saturating_sub_unsigned(seconds))
            .saturating_add_unsigned(step);
        self.remember(changes);
        text
    }

    /// The age, or a dash where the moment is not known.
    pub fn age_or_dash(&self, since: Option<Timestamp>) -> String {
        since.map_or_else(|| "-".to_owned(), |since| self.age(since))
    }

    /// Time until `moment`, or none where it is past.
    pub fn left(&self, moment: Timestamp) -> Option<String> {
        let seconds = u64::try_from(moment.as_second().saturating_sub(self.now))
            .ok()
            .filter(|seconds| *seconds > 0)?;
        self.counts_down(moment);
        Some(human(Duration::from_secs(seconds)))
    }

    /// Remembers that a text tells the time until `moment`, in seconds at last, in minutes before.
    pub fn counts_down(&self, moment: Timestamp) {
        match u64::try_from(moment.as_second().saturating_sub(self.now)) {
            Ok(seconds @ MINUTE..) => {
                self.remember(
                    self.now
                        .saturating_add_unsigned(seconds % MINUTE)
                        .saturating_add(1),
                );
            }
            Ok(_) => self.remember(self.now.saturating_add(1)),
            Err(_) => {}
        }
    }

    /// How long something took: to `end`, or until now while it has none.
    pub fn took(&self, start: Timestamp, end: Option<Timestamp>) -> String {
        match end {
            Some(end) => duration(start.until(end)),
            None => self.age(start),
        }
    }

    /// Date and time of day with the zone beside it.
    pub fn time(&self, moment: Timestamp) -> String {
        moment
            .0
            .to_zoned(self.zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S %Z")
            .to_string()
    }

    /// Time of day with the zone beside it, for moments of today.
    pub fn time_of_day(&self, moment: Timestamp) -> String {
        moment
            .0
            .to_zoned(self.zone.clone())
            .strftime("%H:%M:%S %Z")
            .to_string()
    }

    /// Remembers that what is shown changes just after `moment`, if that is still to come.
    pub fn due_after(&self, moment: Timestamp) {
        if moment.as_second() >= self.now {
            self.remember(moment.as_second().saturating_add(1));
        }
    }

    fn remember(&self, second: i64) {
        let second = second.max(self.now.saturating_add(1));
        if self.next.get().is_none_or(|next| second < next) {
            self.next.set(Some(second));
        }
    }
}

/// The text for so many seconds, and at how many seconds it becomes another.
fn in_words(seconds: u64) -> (String, u64) {
    let in_unit = |unit: u64, sign: &str| {
        (
            format!("{}{sign}", seconds / unit),
            (seconds / unit + 1) * unit,
        )
    };
    match seconds {
        0..MINUTE => in_unit(1, "s"),
        MINUTE..6_000 => in_unit(MINUTE, "m"),
        6_000..172_800 => in_unit(HOUR, "h"),
        172_800..63_072_000 => in_unit(DAY, "d"),
        _ => {
            let days = seconds % YEAR / DAY;
            (
                format!("{}y{days}d", seconds / YEAR),
                (seconds / DAY + 1) * DAY,
            )
        }
    }
}

/// How long something took. Kargo writes whole seconds, so two equal moments say only that it was less than one.
pub fn duration(span: Duration) -> String {
    match span.as_millis() {
        0 => "<1s".to_owned(),
        millis @ 1..1_000 => format!("{millis}ms"),
        millis @ 1_000..10_000 if millis % 1_000 != 0 => {
            format!("{}.{}s", millis / 1_000, millis % 1_000 / 100)
        }
        _ => in_words(span.as_secs()).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn ages_are_never_negative_and_say_when_they_change_c76_c92() {
        let now = at("2026-06-01T12:00:00.7Z");
        let cases = [
            ("2026-06-01T12:01:30Z", "0s", "2026-06-01T12:01:31Z"),
            ("2026-06-01T11:59:01Z", "59s", "2026-06-01T12:00:01Z"),
            ("2026-06-01T11:58:59Z", "1m", "2026-06-01T12:00:59Z"),
            ("2026-06-01T10:43:00Z", "77m", "2026-06-01T12:01:00Z"),
            ("2026-05-06T12:00:00Z", "26d", "2026-06-02T12:00:00Z"),
            ("2025-06-02T12:00:00Z", "364d", "2026-06-02T12:00:00Z"),
            ("2024-05-28T12:00:00.5Z", "2y4d", "2026-06-02T12:00:00Z"),
        ];
        for (since, text, next) in cases {
            let clock = Clock::at(now, TimeZone::UTC);
            assert_eq!(clock.age(at(since)), text, "{since}");
            assert_eq!(clock.next_change().unwrap().to_string(), next, "{since}");
        }
    }

    #[test]
    fn the_earliest_change_counts() {
        let clock = Clock::at(at("2026-06-01T12:00:00Z"), TimeZone::UTC);
        assert_eq!(clock.next_change(), None);
        clock.age(at("2026-06-01T10:00:00Z"));
        clock.age(at("2026-06-01T11:59:58Z"));
        assert_eq!(
            clock.next_change().unwrap().to_string(),
            "2026-06-01T12:00:01Z"
        );
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        for (millis, text) in [
            (0, "<1s"),
            (2, "2ms"),
            (999, "999ms"),
            (1_450, "1.4s"),
            (1_000, "1s"),
            (3_600_000, "60m"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn times_name_their_zone_on_the_night_clocks_change_c92() {
        let oslo = TimeZone::get("Europe/Oslo").unwrap();
        let clock = Clock::at(at("2026-10-25T02:00:00Z"), oslo);
        assert_eq!(
            clock.time(at("2026-10-25T00:30:00Z")),
            "2026-10-25 02:30:00 CEST"
        );
        assert_eq!(
            clock.time(at("2026-10-25T01:30:00.5Z")),
            "2026-10-25 02:30:00 CET"
        );
        let clock = Clock::at(
            at("2026-10-25T02:00:00Z"),
            TimeZone::get("Asia/Kolkata").unwrap(),
        );
        assert_eq!(
            clock.time_of_day(at("2026-10-25T00:30:00Z")),
            "06:00:00 IST"
        );
    }

    #[test]
    fn time_left_runs_out() {
        let clock = Clock::at(at("2026-06-01T12:00:00Z"), TimeZone::UTC);
        assert_eq!(
            clock.left(at("2026-06-01T12:00:30Z")).as_deref(),
            Some("30s")
        );
        assert_eq!(clock.left(at("2026-06-01T12:00:00Z")), None);
    }
}
