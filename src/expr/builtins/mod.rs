//! The language's own functions, in one table. A new function is one line here and one function beside.

use super::ast::Node;
use super::env::Env;
use super::eval::{Budget, Evaluated, Machine};
use super::ops;
use super::value::Value;

mod convert;
mod lists;
mod numbers;
mod predicates;
mod texts;
mod times;

/// One function of the language.
#[derive(Debug)]
pub(super) struct Builtin {
    pub name: &'static str,
    pub shape: Shape,
}

pub(super) enum Shape {
    /// Takes values.
    Plain {
        run: fn(&mut Call<'_, '_>) -> Result<Value, Trouble>,
    },
    /// Takes a list and an expression to evaluate for its items.
    Predicate {
        run: fn(&mut Machine<'_>, &Node, &[Node]) -> Evaluated,
        least: usize,
        most: usize,
    },
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain { .. } => "Plain",
            Self::Predicate { .. } => "Predicate",
        })
    }
}

/// A call of a plain function.
pub(super) struct Call<'c, 'e> {
    pub name: &'static str,
    pub arguments: &'c [Value],
    pub env: &'c Env<'e>,
    pub budget: &'c mut Budget,
}

/// Why a plain function failed, and which argument is to blame.
pub(super) struct Trouble {
    pub argument: Option<usize>,
    pub message: String,
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|builtin| builtin.name)
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self {
            argument: None,
            message,
        }
    }
}

impl From<&str> for Trouble {
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl<'c> Call<'c, '_> {
    pub fn argument(&self, at: usize) -> &'c Value {
        self.arguments.get(at).unwrap_or(&Value::Nil)
    }

    pub fn given(&self, at: usize) -> Option<&'c Value> {
        self.arguments.get(at)
    }

    pub fn text(&self, at: usize) -> Result<&'c str, Trouble> {
        match self.argument(at) {
            Value::Str(text) => Ok(text),
            _ => Err(self.wrong_type(at, "string")),
        }
    }

    pub fn int(&self, at: usize) -> Result<i64, Trouble> {
        match self.argument(at) {
            Value::Int(number) => Ok(*number),
            _ => Err(self.wrong_type(at, "int")),
        }
    }

    /// A number cut to an int, as counts are read.
    pub fn whole(&self, at: usize) -> Result<i64, Trouble> {
        let value = self.argument(at);
        ops::as_int(value)
            .ok_or_else(|| format!("invalid operation: int({})", value.type_name()).into())
    }

    pub fn wrong_type(&self, at: usize, wanted: &str) -> Trouble {
        Trouble {
            argument: Some(at),
            message: format!(
                "cannot use {} as argument (type {wanted}) to call {}",
                self.argument(at).type_name(),
                self.name
            ),
        }
    }

    /// The first argument is of a type that the function has no meaning for.
    pub fn invalid(&self, value: &Value) -> Trouble {
        format!(
            "invalid argument for {} (type {})",
            self.name,
            value.type_name()
        )
        .into()
    }
}

const fn plain(
    name: &'static str,
    run: fn(&mut Call<'_, '_>) -> Result<Value, Trouble>,
) -> Builtin {
    Builtin {
        name,
        shape: Shape::Plain { run },
    }
}

const fn predicate(
    name: &'static str,
    least: usize,
    most: usize,
    run: fn(&mut Machine<'_>, &Node, &[Node]) -> Evaluated,
) -> Builtin {
    Builtin {
        name,
        shape: Shape::Predicate { run, least, most },
    }
}

static BUILTINS: [Builtin; 71] = [
    predicate("all", 2, 2, predicates::all),
    predicate("none", 2, 2, predicates::none),
    predicate("any", 2, 2, predicates::any),
    predicate("one", 2, 2, predicates::one),
    predicate("filter", 2, 2, predicates::filter),
    predicate("map", 2, 2, predicates::map),
    predicate("find", 2, 2, predicates::find),
    predicate("findIndex", 2, 2, predicates::find_index),
    predicate("findLast", 2, 2, predicates::find_last),
    predicate("findLastIndex", 2, 2, predicates::find_last_index),
    predicate("count", 1, 2, predicates::count),
    predicate("sum", 1, 2, predicates::sum),
    predicate("groupBy", 2, 2, predicates::group_by),
    predicate("sortBy", 2, 3, predicates::sort_by),
    predicate("reduce", 2, 3, predicates::reduce),
    plain("len", convert::len),
    plain("type", convert::type_of),
    plain("abs", numbers::abs),
    plain("ceil", numbers::ceil),
    plain("floor", numbers::floor),
    plain("round", numbers::round),
    plain("int", numbers::int),
    plain("float", numbers::float),
    plain("string", convert::string),
    plain("trim", texts::trim),
    plain("trimPrefix", texts::trim_prefix),
    plain("trimSuffix", texts::trim_suffix),
    plain("upper", texts::upper),
    plain("lower", texts::lower),
    plain("split", texts::split),
    plain("splitAfter", texts::split_after),
    plain("replace", texts::replace),
    plain("repeat", texts::repeat),
    plain("join", texts::join),
    plain("indexOf", texts::index_of),
    plain("lastIndexOf", texts::last_index_of),
    plain("hasPrefix", texts::has_prefix),
    plain("hasSuffix", texts::has_suffix),
    plain("max", numbers::max),
    plain("min", numbers::min),
    plain("mean", numbers::mean),
    plain("median", numbers::median),
    plain("toJSON", convert::to_json),
    plain("fromJSON", convert::from_json),
    plain("toBase64", convert::to_base64),
    plain("fromBase64", convert::from_base64),
    plain("now", times::now),
    plain("duration", times::duration),
    plain("date", times::date),
    plain("timezone", times::timezone),
    plain("first", lists::first),
    plain("last", lists::last),
    plain("get", lists::get),
    plain("take", lists::take),
    plain("keys", lists::keys),
    plain("values", lists::values),
    plain("toPairs", lists::to_pairs),
    plain("fromPairs", lists::from_pairs),
    plain("reverse", lists::reverse),
    plain("uniq", lists::uniq),
    plain("concat", lists::concat),
    plain("flatten", lists::flatten),
    plain("sort", lists::sort),
    plain("bitand", numbers::bitand),
    plain("bitor", numbers::bitor),
    plain("bitxor", numbers::bitxor),
    plain("bitnand", numbers::bitnand),
    plain("bitnot", numbers::bitnot),
    plain("bitshl", numbers::bitshl),
    plain("bitshr", numbers::bitshr),
    plain("bitushr", numbers::bitushr),
];

static FIND_OR_FAIL: [Builtin; 2] = [
    predicate("find", 2, 2, predicates::find_or_fail),
    predicate("findLast", 2, 2, predicates::find_last_or_fail),
];

/// The first, or the last, item that passes; an error where there is none.
pub(super) fn find_or_fail(first: bool) -> &'static Builtin {
    let [forward, backward] = &FIND_OR_FAIL;
    if first { forward } else { backward }
}

/// The language's function of that name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}
