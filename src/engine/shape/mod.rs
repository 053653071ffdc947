//! What a step's configuration must look like: a small value per step kind, which says what is wrong with an
//! evaluated configuration before the step runs, and with a template before anything runs.
//!
//! `check` does both.

mod check;

pub use check::{Problem, Trouble};

/// The shape of one value.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Text.
    Text {
        /// Fewest characters.
        min: usize,
        /// A regular expression and nothing else about it.
        pattern: Option<&'static str>,
        /// Something that has an `@` in the middle.
        email: bool,
    },
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A whole number, also as `42.0`, which is how numbers arrive from expressions.
    Integer {
        /// The least allowed.
        min: Option<i64>,
    },
    /// Text, number, true, false or null.
    Scalar,
    /// Anything.
    Any,
    /// A list.
    List {
        /// What it holds.
        of: Box<Shape>,
        /// Fewest items.
        min: usize,
    },
    /// An object with these fields and no others.
    Object(Object),
    /// An object with any fields.
    Free,
    /// An object with any fields, and at least one.
    Filled,
    /// A whole number from 1 to the largest of 32 bits.
    Count,
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    fields: Vec<Field>,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    required: bool,
}

/// Fields of which only one may be set. Kargo's idiom: an empty text, false or null counts as not set.
#[derive(Clone, Debug)]
struct Choice {
    names: &'static [&'static str],
    one_needed: bool,
}

/// Any text.
pub fn text() -> Shape {
    Shape::Text {
        min: 0,
        pattern: None,
        email: false,
    }
}

/// Text that is not empty.
pub fn some_text() -> Shape {
    Shape::Text {
        min: 1,
        pattern: None,
        email: false,
    }
}

/// Text that matches.
pub fn matching(pattern: &'static str) -> Shape {
    Shape::Text {
        min: 0,
        pattern: Some(pattern),
        email: false,
    }
}

/// An e-mail address.
pub fn email() -> Shape {
    Shape::Text {
        min: 0,
        pattern: None,
        email: true,
    }
}

/// A list of at least `min`.
pub fn list(of: impl Into<Shape>, min: usize) -> Shape {
    Shape::List {
        of: Box::new(of.into()),
        min,
    }
}

impl From<Object> for Shape {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl Object {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    fn field(mut self, name: &'static str, shape: impl Into<Shape>, required: bool) -> Self {
        self.fields.push(Field {
            name,
            shape: shape.into(),
            required,
        });
        self
    }

    /// With a field that must be there.
    pub fn required(self, name: &'static str, shape: impl Into<Shape>) -> Self {
        self.field(name, shape, true)
    }

    /// With a field that may be absent.
    pub fn optional(self, name: &'static str, shape: impl Into<Shape>) -> Self {
        self.field(name, shape, false)
    }

    /// Where exactly one of these fields is set.
    pub fn exactly_one(mut self, names: &'static [&'static str]) -> Self {
        self.choices.push(Choice {
            names,
            one_needed: true,
        });
        self
    }

    /// Where at most one of these fields is set.
    pub fn at_most_one(mut self, names: &'static [&'static str]) -> Self {
        self.choices.push(Choice {
            names,
            one_needed: false,
        });
        self
    }

    fn may_be_null(&self, name: &str) -> bool {
        self.choices
            .iter()
            .any(|choice| choice.names.contains(&name))
    }
}

#[cfg(test)]
mod tests;
