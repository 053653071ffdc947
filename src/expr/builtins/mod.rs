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
    least: usize,
    most: usize,
}

pub(super) enum Shape {
    /// Takes values.
    Plain {
        run: fn(&mut Call<'_, '_>) -> Result<Value, Trouble>,
        /// Which of the original's two wordings a wrong count gets.
        counted: bool,
    },
    /// Takes a list and an expression to evaluate for its items.
    Predicate {
        run: fn(&mut Machine<'_>, &Node, &[Node]) -> Evaluated,
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

    /// A count. Numbers from JSON and vars are floats, so whole ones count as ints here.
    pub fn count(&self, at: usize) -> Result<i64, Trouble> {
        match self.argument(at) {
            Value::Float(number) if number.is_finite() && number.fract() == 0.0 => {
                Ok(ops::truncate(*number))
            }
            _ => self.int(at),
        }
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

const MANY: usize = usize::MAX;

const fn counted(
    name: &'static str,
    least: usize,
    most: usize,
    run: fn(&mut Call<'_, '_>) -> Result<Value, Trouble>,
) -> Builtin {
    Builtin {
        name,
        shape: Shape::Plain { run, counted: true },
        least,
        most,
    }
}

const fn typed(
    name: &'static str,
    least: usize,
    most: usize,
    run: fn(&mut Call<'_, '_>) -> Result<Value, Trouble>,
) -> Builtin {
    Builtin {
        name,
        shape: Shape::Plain {
            run,
            counted: false,
        },
        least,
        most,
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
        shape: Shape::Predicate { run },
        least,
        most,
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
    counted("len", 1, 1, convert::len),
    typed("type", 1, 1, convert::type_of),
    counted("abs", 1, 1, numbers::abs),
    counted("ceil", 1, 1, numbers::ceil),
    counted("floor", 1, 1, numbers::floor),
    counted("round", 1, 1, numbers::round),
    counted("int", 1, 1, numbers::int),
    counted("float", 1, 1, numbers::float),
    typed("string", 1, 1, convert::string),
    typed("trim", 1, 2, texts::trim),
    typed("trimPrefix", 1, 2, texts::trim_prefix),
    typed("trimSuffix", 1, 2, texts::trim_suffix),
    typed("upper", 1, 1, texts::upper),
    typed("lower", 1, 1, texts::lower),
    typed("split", 2, 3, texts::split),
    typed("splitAfter", 2, 3, texts::split_after),
    typed("replace", 3, 4, texts::replace),
    typed("repeat", 2, 2, texts::repeat),
    typed("join", 1, 2, texts::join),
    typed("indexOf", 2, 2, texts::index_of),
    typed("lastIndexOf", 2, 2, texts::last_index_of),
    typed("hasPrefix", 2, 2, texts::has_prefix),
    typed("hasSuffix", 2, 2, texts::has_suffix),
    typed("max", 1, MANY, numbers::max),
    typed("min", 1, MANY, numbers::min),
    typed("mean", 1, MANY, numbers::mean),
    typed("median", 1, MANY, numbers::median),
    typed("toJSON", 1, 1, convert::to_json),
    typed("fromJSON", 1, 1, convert::from_json),
    typed("toBase64", 1, 1, convert::to_base64),
    typed("fromBase64", 1, 1, convert::from_base64),
    counted("now", 0, 1, times::now),
    typed("duration", 1, 1, times::duration),
    counted("date", 1, 4, times::date),
    typed("timezone", 1, 1, times::timezone),
    counted("first", 1, 1, lists::first),
    counted("last", 1, 1, lists::last),
    counted("get", 2, 2, lists::get),
    counted("take", 2, 2, lists::take),
    counted("keys", 1, 1, lists::keys),
    counted("values", 1, 1, lists::values),
    counted("toPairs", 1, 1, lists::to_pairs),
    counted("fromPairs", 1, 1, lists::from_pairs),
    counted("reverse", 1, 1, lists::reverse),
    counted("uniq", 1, 1, lists::uniq),
    counted("concat", 1, MANY, lists::concat),
    counted("flatten", 1, 1, lists::flatten),
    counted("sort", 1, 2, lists::sort),
    typed("bitand", 2, 2, numbers::bitand),
    typed("bitor", 2, 2, numbers::bitor),
    typed("bitxor", 2, 2, numbers::bitxor),
    typed("bitnand", 2, 2, numbers::bitnand),
    typed("bitnot", 1, 1, numbers::bitnot),
    typed("bitshl", 2, 2, numbers::bitshl),
    typed("bitshr", 2, 2, numbers::bitshr),
    typed("bitushr", 2, 2, numbers::bitushr),
];

/// The language's function of that name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// Whether it takes so many arguments; `Err` is the message.
    pub fn check_count(&self, count: usize) -> Result<(), String> {
        if (self.least..=self.most).contains(&count) {
            return Ok(());
        }
        let counted = match self.shape {
            Shape::Plain { counted, .. } => counted,
            Shape::Predicate { .. } => true,
        };
        let name = self.name;
        Err(match (counted, count < self.least) {
            (false, true) => format!("not enough arguments to call {name}"),
            (false, false) => format!("too many arguments to call {name}"),
            (true, _) if self.least == self.most => format!(
                "invalid number of arguments (expected {}, got {count})",
                self.least
            ),
            (true, true) => format!(
                "invalid number of arguments (expected at least {}, got {count})",
                self.least
            ),
            (true, false) => format!(
                "invalid number of arguments (expected at most {}, got {count})",
                self.most
            ),
        })
    }
}
