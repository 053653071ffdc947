//! Two-word aliases for Freight.

const FIRST: [&str; 48] = [
    "amber", "ample", "bold", "brave", "brisk", "calm", "clear", "coral", "crisp", "dapper",
    "eager", "early", "fair", "fleet", "fresh", "gentle", "golden", "grand", "green", "hardy",
    "honest", "jolly", "keen", "kind", "late", "light", "lively", "lucky", "mellow", "merry",
    "mild", "neat", "nimble", "noble", "plain", "proud", "quick", "quiet", "rapid", "ready", "red",
    "silver", "sound", "steady", "stout", "swift", "warm", "wise",
];

const SECOND: [&str; 48] = [
    "anchor", "badger", "barge", "beacon", "bittern", "bolt", "brig", "buoy", "canal", "cask",
    "cutter", "dock", "dolphin", "eider", "ferry", "finch", "gannet", "gull", "harbour", "heron",
    "hull", "keel", "kite", "lantern", "ledger", "lighter", "lock", "mast", "mole", "otter",
    "oyster", "pennant", "pilot", "plover", "puffin", "quay", "rudder", "sail", "seal", "skiff",
    "sloop", "spar", "tern", "tide", "tiller", "wharf", "wherry", "wren",
];

/// An alias that is not taken, chosen by `entropy`: two words, with a number behind where all pairs are used up.
pub fn alias(entropy: u128, taken: impl Fn(&str) -> bool) -> String {
    let pairs = FIRST.len() * SECOND.len();
    let start = usize::try_from(entropy % pairs as u128).unwrap_or_default();
    let pair = |index: usize| {
        let index = index % pairs;
        let first = FIRST.get(index / SECOND.len()).copied().unwrap_or_default();
        let second = SECOND
            .get(index % SECOND.len())
            .copied()
            .unwrap_or_default();
        format!("{first}-{second}")
    };
    let free = (start..start + pairs).map(pair).find(|alias| !taken(alias));
    free.or_else(|| {
        (2..u32::MAX)
            .map(|number| format!("{}-{number}", pair(start)))
            .find(|alias| !taken(alias))
    })
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn aliases_are_free_and_never_run_out() {
        let pairs = FIRST.len() * SECOND.len();
        let mut used: BTreeSet<String> = (0..pairs)
            .map(|entropy| alias(entropy as u128, |_| false))
            .collect();
        assert_eq!(used.len(), pairs);
        assert!(used.remove("calm-otter"));
        for expected in ["calm-otter", "amber-canal-2", "amber-canal-3"] {
            let next = alias(8, |alias| used.contains(alias));
            assert_eq!(next, expected);
            used.insert(next);
        }
        assert_ne!(alias(1, |_| false), alias(2, |_| false));
    }
}
