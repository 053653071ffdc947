//! Semantic versions as Kargo's users know them: loose reading, Go's method names.

use std::cmp::Ordering;
use std::sync::Arc;

use semver::{BuildMetadata, Prerelease, Version};

use super::super::env::HostError;
use super::super::value::{Object, Value};
use super::{go_type, only_text, wrong_count};

pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Result<Value, HostError>> {
    Some(match name {
        "semverParse" => parse_call(arguments),
        "semverDiff" => diff(arguments),
        _ => return None,
    })
}

/// `v1`, `1.2` and leading zeros are fine; the parts left out are zero.
fn parse(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (
            rest,
            BuildMetadata::new(build).ok().filter(|b| !b.is_empty())?,
        ),
        None => (text, BuildMetadata::EMPTY),
    };
    let (core, pre) = match rest.split_once('-') {
        Some((core, pre)) => (core, Prerelease::new(pre).ok().filter(|p| !p.is_empty())?),
        None => (rest, Prerelease::EMPTY),
    };
    let mut numbers = [0_u64; 3];
    let mut slots = numbers.iter_mut();
    for part in core.split('.') {
        if part.is_empty() || !part.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        *slots.next()? = part.parse().ok()?;
    }
    let [major, minor, patch] = numbers;
    Some(Version {
        major,
        minor,
        patch,
        pre,
        build,
    })
}

fn parse_call(arguments: &[Value]) -> Result<Value, HostError> {
    let text = only_text(arguments, "argument")?;
    let version =
        parse(text).ok_or_else(|| HostError::new(format!("invalid semantic version: {text:?}")))?;
    Ok(Value::Object(Arc::new(Parsed {
        version,
        original: Some(text.to_owned()),
    })))
}

fn diff(arguments: &[Value]) -> Result<Value, HostError> {
    let (left, right) = match arguments {
        [Value::Str(left), Value::Str(right)] => (left, right),
        [Value::Str(_), other] => return Err(not_text("second", other)),
        [other, _] => return Err(not_text("first", other)),
        other => return Err(wrong_count("2", other.len())),
    };
    let (Some(left), Some(right)) = (parse(left), parse(right)) else {
        return Ok(Value::from("Incomparable"));
    };
    Ok(Value::from(if left.major != right.major {
        "Major"
    } else if left.minor != right.minor {
        "Minor"
    } else if left.patch != right.patch {
        "Patch"
    } else if left.build != right.build {
        "Metadata"
    } else {
        "None"
    }))
}

fn not_text(which: &str, value: &Value) -> HostError {
    HostError::new(format!(
        "{which} argument must be string, got {}",
        go_type(value)
    ))
}

fn value(version: Version) -> Value {
    Value::Object(Arc::new(Parsed {
        version,
        original: None,
    }))
}

/// A version, and how it was written where it was read from text: what `IncMajor()` and the like give was not.
#[derive(Debug)]
struct Parsed {
    version: Version,
    original: Option<String>,
}

impl Parsed {
    /// A pre-release is finished by the first increment; otherwise the part goes up by one.
    fn raised(&self, part: &str) -> Result<Version, String> {
        let Version {
            major,
            minor,
            patch,
            pre,
            ..
        } = &self.version;
        let (name, version) = match part {
            "IncMajor" => ("major", major.checked_add(1).map(|major| (major, 0, 0))),
            "IncMinor" => (
                "minor",
                minor.checked_add(1).map(|minor| (*major, minor, 0)),
            ),
            _ if pre.is_empty() => {
                let patch = patch.checked_add(1);
                ("patch", patch.map(|patch| (*major, *minor, patch)))
            }
            _ => ("patch", Some((*major, *minor, *patch))),
        };
        version
            .map(|(major, minor, patch)| Version::new(major, minor, patch))
            .ok_or_else(|| format!("there is no {name} version after {}", self.version))
    }

    fn with_prerelease(&self, text: &str) -> Result<Value, String> {
        let pre = Prerelease::new(text).map_err(|why| format!("invalid prerelease: {why}"))?;
        let version = self.version.clone();
        Ok(value(Version { pre, ..version }))
    }

    fn with_metadata(&self, text: &str) -> Result<Value, String> {
        let build = BuildMetadata::new(text).map_err(|why| format!("invalid metadata: {why}"))?;
        let version = self.version.clone();
        Ok(value(Version { build, ..version }))
    }

    fn compare(&self, arguments: &[Value]) -> Result<Ordering, String> {
        match arguments {
            [Value::Object(other)] => {
                let text = other.marshal();
                let other = text.as_str().and_then(parse);
                let other = other.ok_or("the argument must be a semantic version")?;
                Ok(self.version.cmp_precedence(&other))
            }
            _ => Err("the argument must be a semantic version".to_owned()),
        }
    }
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

impl Object for Parsed {
    fn type_name(&self) -> &str {
        "*semver.Version"
    }

    fn full_name(&self) -> &str {
        "github.com/Masterminds/semver/v3.Version"
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, String>> {
        let version = &self.version;
        let test = |holds: fn(Ordering) -> bool| {
            self.compare(arguments)
                .map(|order| Value::Bool(holds(order)))
        };
        Some(match (method, arguments) {
            ("Major", []) => Ok(number(version.major)),
            ("Minor", []) => Ok(number(version.minor)),
            ("Patch", []) => Ok(number(version.patch)),
            ("Prerelease", []) => Ok(Value::from(version.pre.as_str())),
            ("Metadata", []) => Ok(Value::from(version.build.as_str())),
            ("String", []) => Ok(Value::from(version.to_string())),
            ("Original", []) => Ok(Value::from(self.original.clone()?)),
            ("SetPrerelease", [Value::Str(text)]) => self.with_prerelease(text),
            ("SetMetadata", [Value::Str(text)]) => self.with_metadata(text),
            ("IncMajor" | "IncMinor" | "IncPatch", []) => self.raised(method).map(value),
            ("Compare", _) => self
                .compare(arguments)
                .map(|order| Value::Int(order as i64)),
            ("LessThan", _) => test(Ordering::is_lt),
            ("LessThanEqual", _) => test(Ordering::is_le),
            ("GreaterThan", _) => test(Ordering::is_gt),
            ("GreaterThanEqual", _) => test(Ordering::is_ge),
            ("Equal", _) => test(Ordering::is_eq),
            _ => return None,
        })
    }

    fn marshal(&self) -> Value {
        Value::from(self.version.to_string())
    }
}
