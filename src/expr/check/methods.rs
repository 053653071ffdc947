//! Methods of Go's times, durations and zones.

use super::super::ast::Node;
use super::super::error::Span;
use super::super::lexer::Fault;
use super::Checked;
use super::types::Type;

/// What a method takes and gives.
pub(super) struct Signature {
    takes: &'static [Type],
    gives: Type,
}

/// The method of that name, if the type has one that expressions can call.
pub(super) fn find(target: &Type, name: &str) -> Option<Signature> {
    let (takes, gives): (&'static [Type], Type) = match target {
        Type::Time => of_time(name)?,
        Type::Duration => of_duration(name)?,
        Type::Zone | Type::Named(_) if name == "String" => (&[], Type::Str),
        _ => return None,
    };
    Some(Signature { takes, gives })
}

fn of_time(name: &str) -> Option<(&'static [Type], Type)> {
    Some(match name {
        "Year" | "Day" | "Hour" | "Minute" | "Second" | "Nanosecond" | "YearDay" | "Unix"
        | "UnixMilli" | "UnixMicro" | "UnixNano" | "ISOWeek" => (&[], Type::Int),
        "Month" => (&[], Type::Named("time.Month")),
        "Weekday" => (&[], Type::Named("time.Weekday")),
        "UTC" | "Local" => (&[], Type::Time),
        "String" | "GoString" | "Zone" => (&[], Type::Str),
        "IsZero" | "IsDST" => (&[], Type::Bool),
        "Location" => (&[], Type::Zone),
        "Format" => (&[Type::Str], Type::Str),
        "In" => (&[Type::Zone], Type::Time),
        "Add" | "Truncate" | "Round" => (&[Type::Duration], Type::Time),
        "AddDate" => (&[Type::Int, Type::Int, Type::Int], Type::Time),
        "Sub" => (&[Type::Time], Type::Duration),
        "Before" | "After" | "Equal" => (&[Type::Time], Type::Bool),
        "Compare" => (&[Type::Time], Type::Int),
        _ => return None,
    })
}

fn of_duration(name: &str) -> Option<(&'static [Type], Type)> {
    Some(match name {
        "Hours" | "Minutes" | "Seconds" => (&[], Type::Float),
        "Milliseconds" | "Microseconds" | "Nanoseconds" => (&[], Type::Int),
        "Abs" => (&[], Type::Duration),
        "Round" | "Truncate" => (&[Type::Duration], Type::Duration),
        "String" => (&[], Type::Str),
        _ => return None,
    })
}

impl Signature {
    pub fn check(self, name: &str, span: Span, nodes: &[Node], given: &[Type]) -> Checked {
        let wrong_count = match given.len().cmp(&self.takes.len()) {
            std::cmp::Ordering::Less => Some("not enough"),
            std::cmp::Ordering::Greater => Some("too many"),
            std::cmp::Ordering::Equal => None,
        };
        if let Some(wrong) = wrong_count {
            return Err(Fault::new(
                span,
                format!("{wrong} arguments to call {name}"),
            ));
        }
        for ((takes, one), node) in self.takes.iter().zip(given).zip(nodes) {
            if one.is_unknown() || one.fits(takes) {
                continue;
            }
            let shown = match one {
                Type::Nil => "nil",
                other => other.name(),
            };
            return Err(Fault::new(
                node.span,
                format!(
                    "cannot use {shown} as argument (type {}) to call {name}",
                    takes.name()
                ),
            ));
        }
        Ok(self.gives)
    }
}
