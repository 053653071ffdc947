//! What the language's own functions take and give.

use super::super::ast::Node;
use super::super::error::Span;
use super::super::lexer::Fault;
use super::Checked;
use super::types::Type;

/// A parameter of a function with declared types.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Any,
    Text,
    Int,
    List,
    Texts,
    Ints,
    Floats,
}

impl Takes {
    fn accepts(self, given: &Type) -> bool {
        match self {
            Self::Any => true,
            Self::Text => *given == Type::Str,
            Self::Int => *given == Type::Int,
            Self::List => matches!(given, Type::List(_)),
            Self::Texts => *given == Type::Strings,
            Self::Ints | Self::Floats => false,
        }
    }

    fn accepts_nil(self) -> bool {
        self == Self::Any
    }

    fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Text => "string",
            Self::Int => "int",
            Self::List => "[]interface {}",
            Self::Texts => "[]string",
            Self::Ints => "[]int",
            Self::Floats => "[]float64",
        }
    }
}

use Takes::{Any, Floats, Int, Ints, List, Text, Texts};

/// Forms that are tried in this order; the last one's complaint is told.
fn forms(name: &str) -> Option<(&'static [&'static [Takes]], Type)> {
    Some(match name {
        "type" | "string" | "toJSON" => (&[&[Any]], Type::Str),
        "upper" | "lower" | "toBase64" | "fromBase64" => (&[&[Text]], Type::Str),
        "fromJSON" => (&[&[Text]], Type::Any),
        "duration" => (&[&[Text]], Type::Duration),
        "timezone" => (&[&[Text]], Type::Zone),
        "trim" => (&[&[Text], &[Text, Text]], Type::Str),
        "trimPrefix" | "trimSuffix" => (&[&[Text, Text], &[Text]], Type::Str),
        "split" | "splitAfter" => (&[&[Text, Text], &[Text, Text, Int]], Type::Strings),
        "replace" => (&[&[Text, Text, Text, Int], &[Text, Text, Text]], Type::Str),
        "repeat" => (&[&[Text, Int]], Type::Str),
        "join" => (
            &[
                &[Texts, Text],
                &[List, Text],
                &[List],
                &[Texts, Text],
                &[Texts],
            ],
            Type::Str,
        ),
        "indexOf" | "lastIndexOf" => (&[&[Text, Text]], Type::Int),
        "hasPrefix" | "hasSuffix" => (&[&[Text, Text]], Type::Bool),
        "bitand" | "bitor" | "bitxor" | "bitnand" | "bitshl" | "bitshr" | "bitushr" => {
            (&[&[Int, Int]], Type::Int)
        }
        "bitnot" => (&[&[Int]], Type::Int),
        "sort" => (
            &[
                &[List, Text],
                &[Ints, Text],
                &[Floats, Text],
                &[Texts, Text],
                &[List],
                &[Floats],
                &[Texts],
                &[Ints],
            ],
            Type::list(Type::Any),
        ),
        _ => return None,
    })
}

/// A call of a function that is not a predicate's, its arguments being checked already.
pub(super) fn call(name: &str, span: Span, nodes: &[Node], given: &[Type]) -> Checked {
    let Some((forms, gives)) = forms(name) else {
        return validated(name, span, nodes, given);
    };
    let mut complaint = None;
    for form in forms {
        match fits(name, span, form, nodes, given) {
            Ok(()) => return Ok(gives),
            Err(fault) => complaint = Some(fault),
        }
    }
    complaint.map_or(Ok(gives), Err)
}

fn fits(
    name: &str,
    span: Span,
    form: &[Takes],
    nodes: &[Node],
    given: &[Type],
) -> Result<(), Fault> {
    let wrong_count = match given.len().cmp(&form.len()) {
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
    for ((takes, argument), node) in form.iter().zip(given).zip(nodes) {
        let given_name = match argument {
            Type::Nil if takes.accepts_nil() => continue,
            Type::Nil => "nil",
            known if known.is_unknown() || takes.accepts(known) => continue,
            known => known.name(),
        };
        return Err(Fault::new(
            node.span,
            format!(
                "cannot use {given_name} as argument (type {}) to call {name}",
                takes.name()
            ),
        ));
    }
    Ok(())
}

/// Functions that look at their arguments themselves.
fn validated(name: &str, span: Span, nodes: &[Node], given: &[Type]) -> Checked {
    let told = |message: String| Fault::new(span, message);
    let count = |wanted: usize| {
        if given.len() == wanted {
            return Ok(());
        }
        Err(told(format!(
            "invalid number of arguments (expected {wanted}, got {})",
            given.len()
        )))
    };
    let first = given.first().cloned().unwrap_or(Type::Unknown);
    let numeric = first.is_number() || matches!(first, Type::Duration | Type::Named(_));
    let invalid = || {
        Err(told(format!(
            "invalid argument for {name} (type {})",
            shown(&first)
        )))
    };
    let cannot = |doing: &str| Err(told(format!("cannot {doing} {}", shown(&first))));
    match name {
        "max" | "min" | "mean" | "median" => return aggregate(name, span, given),
        "concat" => {
            if given.is_empty() {
                return Err(told(
                    "invalid number of arguments (expected at least 1, got 0)".to_owned(),
                ));
            }
            return match given.iter().find(|one| !one.is_unknown() && !one.is_list()) {
                Some(wrong) => Err(told(format!("cannot concat {}", shown(wrong)))),
                None => Ok(Type::list(Type::Any)),
            };
        }
        "now" => return now(span, given),
        "date" => return date(span, given),
        "get" => {
            count(2)?;
            return get(nodes, given);
        }
        "take" => {
            count(2)?;
            return take(span, given);
        }
        _ => count(1)?,
    }
    if first.is_unknown() {
        return Ok(of_unknown(name));
    }
    match name {
        "len" if first.is_list() || first.is_map() || first == Type::Str => Ok(Type::Int),
        "abs" if numeric => Ok(first),
        "ceil" | "floor" | "round" if numeric => Ok(Type::Float),
        "int" if numeric || first == Type::Str => Ok(Type::Int),
        "float" if numeric || first == Type::Str => Ok(Type::Float),
        "first" | "last" if first.is_list() => Ok(first.declared().element()),
        "first" => cannot("get first element from"),
        "last" => cannot("get last element from"),
        "keys" | "values" | "toPairs" if first.is_map() => Ok(Type::list(Type::Any)),
        "keys" => cannot("get keys from"),
        "values" => cannot("get values from"),
        "toPairs" => Err(told(format!("cannot transform {} to pairs", shown(&first)))),
        "fromPairs" if first.is_list() => Ok(Type::Keyed),
        "fromPairs" => Err(told(format!(
            "cannot transform {} from pairs",
            shown(&first)
        ))),
        "reverse" | "uniq" | "flatten" if first.is_list() => Ok(Type::list(Type::Any)),
        "reverse" | "uniq" | "flatten" => cannot(name),
        _ => invalid(),
    }
}

fn of_unknown(name: &str) -> Type {
    match name {
        "len" | "int" => Type::Int,
        "ceil" | "floor" | "round" | "float" => Type::Float,
        "keys" | "values" | "toPairs" | "reverse" | "uniq" | "flatten" => Type::list(Type::Any),
        "fromPairs" => Type::Keyed,
        _ => Type::Any,
    }
}

fn shown(given: &Type) -> &'static str {
    match given {
        Type::Nil => "nil",
        other => other.name(),
    }
}

/// The first list, or value of unknown type, ends the search, as in the original.
fn aggregate(name: &str, span: Span, given: &[Type]) -> Checked {
    for one in given {
        if one.is_unknown() || one.is_list() {
            return Ok(Type::Any);
        }
        if !one.is_number() && !matches!(one, Type::Duration | Type::Named(_)) {
            return Err(Fault::new(
                span,
                format!("invalid argument for {name} (type {})", shown(one)),
            ));
        }
    }
    given
        .first()
        .cloned()
        .ok_or_else(|| Fault::new(span, format!("not enough arguments to call {name}")))
}

fn now(span: Span, given: &[Type]) -> Checked {
    match given {
        [] | [Type::Zone] => Ok(Type::Time),
        _ => Err(Fault::new(
            span,
            format!(
                "invalid number of arguments (expected 0, got {})",
                given.len()
            ),
        )),
    }
}

fn date(span: Span, given: &[Type]) -> Checked {
    let wrong = |what: &str, count: usize| {
        Err(Fault::new(
            span,
            format!("invalid number of arguments (expected {what}, got {count})"),
        ))
    };
    let texts = match given {
        [] => return wrong("at least 1", 0),
        [Type::Zone, rest @ ..] => rest,
        all => all,
    };
    if texts.len() > 3 {
        return wrong("at most 3", texts.len());
    }
    Ok(Type::Time)
}

fn take(span: Span, given: &[Type]) -> Checked {
    let [from, count] = given else {
        return Ok(Type::Unknown);
    };
    if !from.is_unknown() && !from.is_list() {
        return Err(Fault::new(
            span,
            format!("cannot take from {}", shown(from)),
        ));
    }
    let counts = matches!(count, Type::Int | Type::Duration | Type::Named(_));
    if !count.is_unknown() && !counts {
        return Err(Fault::new(
            span,
            format!("cannot take {} elements", shown(count)),
        ));
    }
    Ok(from.declared())
}

fn get(nodes: &[Node], given: &[Type]) -> Checked {
    let ([from, key], [from_node, key_node]) = (given, nodes) else {
        return Ok(Type::Unknown);
    };
    if from.is_unknown() {
        return Ok(Type::Unknown);
    }
    if from.is_list() {
        if *key != Type::Int && !key.is_unknown() {
            return Err(Fault::new(
                key_node.span,
                format!("non-integer slice index {}", key.name()),
            ));
        }
        return Ok(from.element());
    }
    if from.is_map() {
        return super::map_element(from, key, key_node.span);
    }
    Err(Fault::new(
        from_node.span,
        format!("type {} does not support indexing", from.name()),
    ))
}
