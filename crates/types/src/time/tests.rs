//! Dates and times against chrono and the manual's examples.

use super::*;
use crate::samples;
use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta};
use proptest::prelude::*;

fn dt(text: &str) -> DateTime {
    DateTime::parse(text, DateRules::RELAXED)
        .unwrap_or_else(|| panic!("{text}"))
        .value
}

fn time(text: &str) -> Time {
    Time::parse(text).unwrap_or_else(|| panic!("{text}")).value
}

fn date(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

fn of(naive: NaiveDateTime) -> DateTime {
    dt(&format!("{} {}", naive.date(), naive.time()))
}

prop_compose! {
    fn real_dates()(day in 366i64..=3_652_424) -> Date {
        Date::from_days(day).unwrap()
    }
}

fn chrono_date(d: Date) -> NaiveDate {
    NaiveDate::from_ymd_opt(d.year.into(), d.month.into(), d.day.into()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn calendar_as_chrono(d in real_dates(), months in -30_000i64..30_000, micros in -10i64.pow(17)..10i64.pow(17)) {
        let c = chrono_date(d);
        prop_assert_eq!(d.to_days(), i64::from(c.num_days_from_ce()) + 365);
        prop_assert_eq!(Date::from_days(d.to_days()), Some(d));
        prop_assert_eq!(u32::from(d.weekday()), c.weekday().num_days_from_monday());
        prop_assert_eq!(u32::from(d.weekday_from_sunday()), c.weekday().num_days_from_sunday());
        prop_assert_eq!(u32::from(d.day_of_year()), c.ordinal());
        // Mode 3 is ISO 8601.
        let iso = c.iso_week();
        if d.year > 1 {
            prop_assert_eq!(d.week(WeekMode::new(3)), (iso.year() as u16, iso.week() as u8));
        }
        let moved = if months >= 0 {
            c.checked_add_months(chrono::Months::new(months as u32))
        } else {
            c.checked_sub_months(chrono::Months::new(-months as u32))
        };
        if let Some(moved) = moved.filter(|m| (1..=9999).contains(&m.year())) {
            prop_assert_eq!(d.add_months(months).map(chrono_date), Some(moved));
        }
        let at = c.and_hms_micro_opt(13, 14, 15, 161_718).unwrap();
        let later = at.checked_add_signed(TimeDelta::microseconds(micros));
        // Of the year 0 the SQL scripts tell.
        if later.is_some_and(|later| later.year() == 0) { return Ok(()) }
        let later = later.filter(|m| (1..=9999).contains(&m.year()));
        prop_assert_eq!(of(at).add_micros(micros), later.map(of));
        if let Some(later) = later {
            prop_assert_eq!(of(later).micros_since(of(at)), micros);
        }
    }

    #[test]
    fn text_round_trip(d in samples::dates(), micros in 0i64..86_400_000_000, fsp in 0u8..=6) {
        let value = d.at(micros, 6).truncate(fsp);
        let parsed = DateTime::parse(&value.to_string(), DateRules { invalid: true, ..DateRules::RELAXED }).unwrap();
        prop_assert_eq!((parsed.value, parsed.value.fsp, parsed.truncated), (value, fsp, false));
        prop_assert_eq!(DateTime::from_packed(value.packed_seconds(), value.micros, fsp), value);
        let digits = value.to_number();
        // Smaller numbers are no moments of the year 1000, or of a year with fewer digits.
        if (d.year, d.month, d.day) >= (1000, 1, 1) {
            let read = DateTime::from_number(digits, DateRules { invalid: true, ..DateRules::RELAXED }).unwrap();
            prop_assert_eq!(read.value, DateTime { micros: 0, ..value });
        }
    }

    #[test]
    fn time_round_trip(micros in -MAX_TIME_MICROS..=MAX_TIME_MICROS, fsp in 0u8..=6) {
        let value = Time { micros, fsp: 6 }.truncate(fsp);
        let parsed = Time::parse(&value.to_string()).unwrap();
        prop_assert_eq!((parsed.value, parsed.value.fsp, parsed.truncated, parsed.out_of_range), (value, fsp, false, false));
        prop_assert_eq!(Time::from_decimal(value.to_decimal()).unwrap().value, value);
    }

    #[test]
    fn any_text_parses_without_panic(text in "[0-9T:./ +eE-]{0,30}|\\PC{0,20}", format in "(%[a-zA-Z%]|[-: ]){0,8}") {
        DateTime::parse(&text, DateRules::RELAXED);
        Time::parse(&text);
        str_to_date(&text, &format, DateRules::RELAXED);
        for unit in [IntervalUnit::DayMicrosecond, IntervalUnit::YearMonth, IntervalUnit::Second] {
            Interval::parse(&text, unit);
        }
    }

    #[test]
    fn formats_read_back(d in real_dates(), micros in 0i64..86_400_000_000) {
        let value = d.at(micros, 6);
        for format in ["%Y-%m-%d %H:%i:%S.%f", "%W %D %M %Y %r %f", "%j/%Y %T.%f", "%x-%v-%w %k:%i:%s.%f"] {
            if (format.contains("%x") && (d.year < 2 || d.year > 9998)) || d.year < 100 {
                continue;
            }
            let text = date_format(value, format).unwrap();
            let read = str_to_date(&text, format, DateRules::STRICT).unwrap_or_else(|| panic!("{text} by {format}"));
            prop_assert_eq!(read.value, value, "{} by {}", text, format);
        }
    }

    #[test]
    fn zones_round_trip(seconds in 1i64..2_147_483_647, zone in prop::sample::select(vec!["Europe/Stockholm", "America/New_York", "UTC", "+05:30", "Australia/Lord_Howe"])) {
        let zone = TimeZone::from_name(zone).unwrap();
        let moment = UnixTime { micros: seconds * 1_000_000, fsp: 0 };
        let local = zone.to_local(moment);
        let back = zone.to_unix(local).unwrap();
        // Where clocks are put back, the earlier of two moments has the same local time.
        prop_assert!(back == moment || (back < moment && zone.to_local(back) == local));
    }
}

#[test]
fn datetime_literals() {
    for (text, printed) in [
        ("2024-01-31 23:59:59", "2024-01-31 23:59:59"),
        ("2024-1-2 3:4:5", "2024-01-02 03:04:05"),
        ("2024-01-31T23:59:59.5", "2024-01-31 23:59:59.5"),
        ("2024^01@31 10+11*12", "2024-01-31 10:11:12"),
        ("20240131235958", "2024-01-31 23:59:58"),
        ("20240131", "2024-01-31 00:00:00"),
        ("240131", "2024-01-31 00:00:00"),
        ("700101", "1970-01-01 00:00:00"),
        ("69-12-31", "2069-12-31 00:00:00"),
        ("240131235958.123", "2024-01-31 23:59:58.123"),
        ("2024-01-31 23:59:59.9999995", "2024-02-01 00:00:00.000000"),
        ("2024-01-31 23:59:59.1234564", "2024-01-31 23:59:59.123456"),
        ("10:11:12", "2010-11-12 00:00:00"),
        ("1/2/3", "0001-02-03 00:00:00"),
        ("2024-01-31 10:11", "2024-01-31 10:11:00"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("00-00-00 00:00:00", "0000-00-00 00:00:00"),
        ("2024-00-00", "2024-00-00 00:00:00"),
        ("  2024-02-29  ", "2024-02-29 00:00:00"),
    ] {
        assert_eq!(dt(text).to_string(), printed, "{text}");
    }
    for text in [
        "",
        "abc",
        "2024",
        "2024-01",
        "2024-13-01",
        "2023-02-29",
        "2024-01-01 25:00:00",
        "2024-01-01 10:60:00",
        "-2024-01-01",
    ] {
        assert_eq!(DateTime::parse(text, DateRules::RELAXED), None, "{text}");
    }
    let garbage = DateTime::parse("2024-01-31 10:11:12xyz", DateRules::RELAXED).unwrap();
    assert!(garbage.truncated && garbage.value == dt("2024-01-31 10:11:12"));
    let offset = DateTime::parse("2024-01-31 10:11:12+05:30", DateRules::RELAXED).unwrap();
    assert_eq!((offset.offset_seconds, offset.truncated), (Some(19_800), false));
    assert_eq!(DateTime::parse("2024-00-00", DateRules::STRICT), None);
    assert_eq!(DateTime::parse("0000-00-00", DateRules::STRICT), None);
    assert!(
        DateTime::parse(
            "2024-02-31",
            DateRules {
                invalid: true,
                ..DateRules::STRICT
            }
        )
        .is_some()
    );
}

#[test]
fn time_literals() {
    for (text, printed) in [
        ("10:11:12", "10:11:12"),
        ("10:11", "10:11:00"),
        ("1112", "00:11:12"),
        ("12", "00:00:12"),
        ("101112", "10:11:12"),
        ("-1 10:11:12", "-34:11:12"),
        ("1 10", "34:00:00"),
        ("838:59:59", "838:59:59"),
        ("10:11:12.5", "10:11:12.5"),
        ("10:11:12.0001", "10:11:12.0001"),
        ("-00:00:00.000001", "-00:00:00.000001"),
        ("2024-01-31 10:11:12.25", "10:11:12.25"),
        ("20240131101112", "10:11:12"),
    ] {
        assert_eq!(time(text).to_string(), printed, "{text}");
    }
    assert!(Time::parse("839:00:00").unwrap().out_of_range);
    assert_eq!(Time::parse("-900:00:00").unwrap().value.to_string(), "-838:59:59");
    assert!(Time::parse("10:11:12abc").unwrap().truncated);
    for text in ["", "abc", "10:61:00", "10:11:61", "1e5"] {
        assert_eq!(Time::parse(text), None, "{text}");
    }
    assert_eq!(Time::from_number(-101_112).unwrap().value.to_string(), "-10:11:12");
    assert_eq!(Time::from_number(106_112), None);
    assert!(Time::from_number(8_400_000).unwrap().out_of_range);
}

#[test]
fn rounding_carries() {
    assert_eq!(
        dt("2023-12-31 23:59:59.6").round(0).unwrap().to_string(),
        "2024-01-01 00:00:00"
    );
    assert_eq!(
        dt("2023-12-31 23:59:59.4").round(0).unwrap().to_string(),
        "2023-12-31 23:59:59"
    );
    assert_eq!(dt("9999-12-31 23:59:59.6").round(0), None);
    assert_eq!(time("-10:11:12.55").round(1).to_string(), "-10:11:12.6");
    assert_eq!(time("838:59:58.9").round(0).to_string(), "838:59:59");
}

#[test]
fn weeks_of_the_manual() {
    // MySQL manual, section 14.7: WEEK and YEARWEEK.
    let week = |d: Date, mode| d.week(WeekMode::new(mode)).1;
    assert_eq!(
        (
            week(date(2008, 2, 20), 0),
            week(date(2008, 2, 20), 1),
            week(date(2008, 12, 31), 1)
        ),
        (7, 8, 53)
    );
    assert_eq!((week(date(2000, 1, 1), 0), week(date(2000, 1, 1), 2)), (0, 52));
    assert_eq!(date(1987, 1, 1).week(WeekMode::for_yearweek(0)), (1986, 52));
    assert_eq!(date(2000, 1, 1).week(WeekMode::for_yearweek(0)), (1999, 52));
}

#[test]
fn intervals() {
    let add = |d: &str, text: &str, unit| {
        let interval = Interval::parse(text, unit).unwrap();
        dt(d).add_interval(interval).map(|d| d.to_string())
    };
    use IntervalUnit::*;
    for (start, text, unit, result) in [
        ("2018-12-31 23:59:59", "1", Second, "2019-01-01 00:00:00"),
        ("2018-12-31 23:59:59", "1", Day, "2019-01-01 23:59:59"),
        ("2100-12-31 23:59:59", "1:1", MinuteSecond, "2101-01-01 00:01:00"),
        ("2025-01-01 00:00:00", "-1 1:1:1", DaySecond, "2024-12-30 22:58:59"),
        ("1900-01-01 00:00:00", "-1 10", DayHour, "1899-12-30 14:00:00"),
        ("2024-01-31", "1", Month, "2024-02-29 00:00:00"),
        ("2024-02-29", "1", Year, "2025-02-28 00:00:00"),
        ("2024-01-31", "1-1", YearMonth, "2025-02-28 00:00:00"),
        ("2024-01-31", "2", Quarter, "2024-07-31 00:00:00"),
        (
            "1992-12-31 23:59:59.000002",
            "1.999999",
            SecondMicrosecond,
            "1993-01-01 00:00:01.000001",
        ),
        ("2024-01-01", "1.5", SecondMicrosecond, "2024-01-01 00:00:01"),
    ] {
        assert_eq!(add(start, text, unit).as_deref(), Some(result), "{start} + {text}");
    }
    assert_eq!(add("9999-12-31", "1", Day), None);
    assert_eq!(add("2024-00-00", "1", Day), None);
    assert_eq!(timestamp_diff(Month, dt("2003-02-01"), dt("2003-05-01")), 3);
    assert_eq!(timestamp_diff(Year, dt("2002-05-01"), dt("2001-01-01")), -1);
    assert_eq!(
        timestamp_diff(Minute, dt("2003-02-01"), dt("2003-05-01 12:05:55")),
        128_885
    );
    assert_eq!(timestamp_diff(Month, dt("2024-01-31"), dt("2024-02-29")), 0);
}

#[test]
fn formats_of_the_manual() {
    let format = |d: &str, f: &str| date_format(dt(d), f);
    assert_eq!(
        format("2009-10-04 22:23:00", "%W %M %Y").as_deref(),
        Some("Sunday October 2009")
    );
    assert_eq!(
        format("1900-10-04 22:23:00", "%D %y %a %d %m %b %j").as_deref(),
        Some("4th 00 Thu 04 10 Oct 277")
    );
    assert_eq!(
        format("1997-10-04 22:23:00", "%H %k %I %r %T %S %w").as_deref(),
        Some("22 22 10 10:23:00 PM 22:23:00 00 6")
    );
    assert_eq!(format("1999-01-01", "%X %V").as_deref(), Some("1998 52"));
    assert_eq!(format("2006-06-00", "%d").as_deref(), Some("00"));
    assert_eq!(
        time_format(time("100:00:00"), "%H %k %h %I %l").as_deref(),
        Some("100 100 04 04 4")
    );
    let read = |t: &str, f: &str| str_to_date(t, f, DateRules::RELAXED).map(|r| r.value.truncate(0).to_string());
    assert_eq!(read("01,5,2013", "%d,%m,%Y").as_deref(), Some("2013-05-01 00:00:00"));
    assert_eq!(read("May 1, 2013", "%M %d,%Y").as_deref(), Some("2013-05-01 00:00:00"));
    assert_eq!(read("200442 Monday", "%X%V %W").as_deref(), Some("2004-10-18 00:00:00"));
    assert_eq!(read("abc", "%d"), None);
    assert!(
        str_to_date("09:30:17a", "%h:%i:%s", DateRules::RELAXED)
            .unwrap()
            .truncated
    );
}

#[test]
fn zones() {
    let stockholm = TimeZone::from_name("europe/stockholm").unwrap();
    assert_eq!(stockholm.to_string(), "Europe/Stockholm");
    let unix = |text: &str| stockholm.to_unix(dt(text)).unwrap().micros / 1_000_000;
    // Clocks go forward at 2024-03-31 02:00: that hour does not exist, its moments are the change itself.
    assert_eq!(unix("2024-03-31 01:59:59"), 1_711_846_799);
    assert_eq!(unix("2024-03-31 02:30:00"), 1_711_846_800);
    assert_eq!(unix("2024-03-31 03:00:00"), 1_711_846_800);
    // Clocks go back at 2024-10-27 03:00: the hour before is there twice, the first one counts.
    assert_eq!(unix("2024-10-27 02:30:00"), 1_729_989_000);
    assert_eq!(TimeZone::from_name("+05:30").unwrap().to_string(), "+05:30");
    for name in ["+15:00", "-14:00", "Nowhere/Land", "", "+5", "+aa:00"] {
        assert!(TimeZone::from_name(name).is_none(), "{name}");
    }
    assert_eq!(
        TimeZone::UTC.to_local(UnixTime::default()).to_string(),
        "0000-00-00 00:00:00"
    );
}
