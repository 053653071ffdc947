//! Names of Promotions, which are also their order: Kargo compares whole names.

use ulid::Ulid;

use crate::kargo::{FreightName, PromotionName, StageName, Timestamp};

/// Longest name of an object.
const NAME_MAX: usize = 253;
/// A ULID in text.
const ULID_LENGTH: usize = 26;
/// How much of the Freight's name is in the Promotion's.
const FREIGHT_LENGTH: usize = 7;
/// Random bits of a ULID.
const RANDOM_MASK: u128 = (1 << 80) - 1;

/// `<stage>.<ulid>.<first 7 of freight>` in lower case; a long Stage's name is cut to what fits.
pub fn promotion(stage: &StageName, freight: &FreightName, ulid: Ulid) -> PromotionName {
    let room = NAME_MAX - 1 - ULID_LENGTH - 1 - FREIGHT_LENGTH;
    let mut prefix = String::new();
    for letter in stage.as_str().chars() {
        if prefix.len() + letter.len_utf8() > room {
            break;
        }
        prefix.push(letter);
    }
    let hash: String = freight.as_str().chars().take(FREIGHT_LENGTH).collect();
    format!("{}.{ulid}.{hash}", prefix.trim_end_matches(['.', '-']))
        .to_lowercase()
        .into()
}

/// The ULID of this moment, or just after `previous` where that is not earlier (two in one millisecond, a clock that
/// was set back): names made one after the other sort that way.
pub fn next_ulid(previous: Option<Ulid>, now: Timestamp, entropy: u128) -> Ulid {
    let millis = u64::try_from(now.0.as_millisecond()).unwrap_or_default();
    let fresh = Ulid::from_parts(millis, entropy & RANDOM_MASK);
    match previous {
        Some(previous) if previous >= fresh => previous.increment().unwrap_or_else(|_| {
            Ulid::from_parts(previous.timestamp_ms() + 1, entropy & RANDOM_MASK)
        }),
        _ => fresh,
    }
}

/// The name with its ULID left out, for narrow places: `prod.…1a2b3c4`. Names of another form stay whole.
pub fn short(name: &PromotionName) -> String {
    let mut parts = name.as_str().rsplitn(3, '.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(hash), Some(ulid), Some(stage)) if ulid.len() == ULID_LENGTH => {
            format!("{stage}.…{hash}")
        }
        _ => name.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const FREIGHT: &str = "ABCDEF0123456789abcdef0123456789abcdef01";

    #[test]
    fn a_name_is_stage_ulid_and_start_of_the_freight() {
        let ulid = next_ulid(None, at("2026-08-21T12:00:00Z"), 7);
        let name = promotion(&"prod".into(), &FREIGHT.into(), ulid);
        let parts: Vec<&str> = name.as_str().split('.').collect();
        assert_eq!(
            (parts[0], parts[1].len(), parts[2]),
            ("prod", 26, "abcdef0")
        );
        assert_eq!(name.as_str(), name.as_str().to_lowercase());
        assert_eq!(short(&name), "prod.…abcdef0");
    }

    #[test]
    fn a_long_stage_is_cut_to_what_fits_and_never_ends_in_punctuation() {
        let ulid = next_ulid(None, at("2026-08-21T12:00:00Z"), 0);
        let cases = [
            ("a".repeat(253), 218),
            (format!("{}.-{}", "a".repeat(216), "b".repeat(30)), 216),
        ];
        for (stage, kept) in cases {
            let name = promotion(&stage.as_str().into(), &FREIGHT.into(), ulid);
            assert!(name.as_str().len() <= 253);
            assert_eq!(
                name.as_str().split(".0").next().unwrap().len(),
                kept,
                "{name}"
            );
        }
    }

    #[test]
    fn ulids_rise_within_a_millisecond_and_when_the_clock_falls_back() {
        let noon = at("2026-08-21T12:00:00Z");
        let mut previous = None;
        for (now, entropy) in [
            (noon, 9),
            (noon, 3),
            (at("2026-08-21T11:00:00Z"), 1),
            (noon, u128::MAX),
            (noon, 0),
            (noon.plus(std::time::Duration::from_secs(1)), 0),
        ] {
            let next = next_ulid(previous, now, entropy);
            assert!(
                previous.is_none_or(|previous| previous < next),
                "{previous:?} {next:?}"
            );
            previous = Some(next);
        }
        let last = Ulid::from_parts(5, RANDOM_MASK);
        assert!(next_ulid(Some(last), at("1970-01-01T00:00:00Z"), 0) > last);
    }

    #[test]
    fn other_names_stay_whole() {
        for name in ["", "prod", "a.b.c", "promo-x1"] {
            assert_eq!(short(&name.into()), name);
        }
    }
}
