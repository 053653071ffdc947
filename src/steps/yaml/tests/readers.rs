//! What a bare scalar is for readers of YAML 1.1 and of 1.2, by the rules of the specifications; the first was held
//! against PyYAML's.

use std::sync::LazyLock;

use regex::Regex;

use super::super::tree::{Node, Style};

/// Types of YAML 1.1 other than strings: bool, float, int, merge, null, timestamp, value.
static ELEVEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:
        y|Y|n|N|(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)
        |[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+
        |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)
        |[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+
        |<<|~|null|Null|NULL||=
        |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[\x20\t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?
          (?:[\x20\t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?
        )$",
    )
    .unwrap()
});

/// Types of YAML 1.2's core rules other than strings.
static TWELVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:
        |~|null|Null|NULL|true|True|TRUE|false|False|FALSE
        |[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+
        |[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)
        )$",
    )
    .unwrap()
});

pub fn is_string_for(version: &str, bare: &str) -> bool {
    let others = if version == "1.1" { &ELEVEN } else { &TWELVE };
    !others.is_match(bare)
}

pub fn both_read_a_string(node: &Node) -> Result<(), String> {
    let text = node.text().ok_or("not a scalar")?;
    if !matches!(node.style(), Style::Plain | Style::Missing) || node.tag.is_some() {
        return Ok(());
    }
    match ["1.1", "1.2"]
        .iter()
        .find(|version| !is_string_for(version, text))
    {
        Some(version) => Err(format!("{text:?} is no string for YAML {version}")),
        None => Ok(()),
    }
}

#[test]
fn the_readers_know_what_is_a_string() {
    for bare in super::RETYPED
        .iter()
        .filter(|text| !["0o17", "190:20:30.15", "0b11"].contains(text))
    {
        let known = !is_string_for("1.1", bare) || !is_string_for("1.2", bare);
        // Numbers with a leading zero and an 8 are strings in both, and quoted to be sure.
        assert!(known || ["018", "1e5"].contains(bare), "{bare}");
    }
    for bare in [
        "v1", "1.9.1", "main", "12a", "0x", "1-2", "nope", "tru", "2024-01",
    ] {
        assert!(
            is_string_for("1.1", bare) && is_string_for("1.2", bare),
            "{bare}"
        );
    }
}
