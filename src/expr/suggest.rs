//! Which known name a misspelt one was meant to be.

/// The known name that is nearest to `typed`, if it is near enough to be meant: told by case alone, by a few letters,
/// or by a swap of neighbours.
pub fn closest<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted: Vec<char> = typed.to_lowercase().chars().take(LONGEST).collect();
    let allowed = match wanted.len() {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        if name == typed {
            continue;
        }
        let letters: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
        if wanted.len().abs_diff(letters.len()) > allowed {
            continue;
        }
        let far = distance(&wanted, &letters);
        if far <= allowed && best.is_none_or(|(least, _)| far < least) {
            best = Some((far, name));
        }
    }
    best.map(|(_, name)| name)
}

/// `; did you mean X?`, or nothing.
pub fn hint<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    closest(typed, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Names longer than this are compared by their beginning.
const LONGEST: usize = 64;

/// Letters to be added, removed, changed or swapped with a neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut last_letter = None;
    for (row, letter) in a.iter().enumerate() {
        let mut line = vec![row + 1];
        let mut left_letter = None;
        for (column, other) in b.iter().enumerate() {
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let changed = at(&above, column) + usize::from(letter != other);
            let mut least = changed
                .min(at(&above, column + 1) + 1)
                .min(at(&line, column) + 1);
            if left_letter == Some(letter) && last_letter == Some(other) {
                least = least.min(at(&before, column.saturating_sub(1)) + 1);
            }
            line.push(least);
            left_letter = Some(other);
        }
        before = std::mem::replace(&mut above, line);
        last_letter = Some(letter);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_nothing_else() {
        let known = ["imageTag", "push", "commit", "RepoURL", "ui"];
        for (typed, meant) in [
            ("imageTga", Some("imageTag")),
            ("imagetag", Some("imageTag")),
            ("psh", Some("push")),
            ("pushh", Some("push")),
            ("repoUrl", Some("RepoURL")),
            ("comit", Some("commit")),
            ("iu", Some("ui")),
            ("x", None),
            ("branch", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, known), meant, "{typed}");
        }
        assert_eq!(hint("psh", known), "; did you mean push?");
        assert_eq!(hint("zzz", known), "");
    }
}
