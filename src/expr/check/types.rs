//! Types as far as they are known before anything runs.

/// What the original's checker knows of a value when it does not know the variables' types.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// A variable, or what was made of one.
    Unknown,
    /// Declared as "anything". The same to every operator; only what may stand for what differs.
    Any,
    Nil,
    Bool,
    Int,
    Float,
    Str,
    Bytes,
    /// `[]any` with what is known of its elements.
    List(Box<Type>),
    /// `[]string`, which `split` gives.
    Strings,
    /// `map[string]any`.
    Map,
    /// `map[any]any`.
    Keyed,
    /// `map[any][]any`.
    Groups,
    Time,
    Duration,
    Zone,
    /// `time.Month` and `time.Weekday`, which are no plain ints.
    Named(&'static str),
    /// A function that is not called.
    Func,
}

/// What an operator can take beside a value of unknown type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Class {
    Bool,
    Int,
    Number,
    Str,
    Time,
    Duration,
}

impl Type {
    pub fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown | Self::Any)
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_) | Self::Strings | Self::Bytes)
    }

    pub fn is_map(&self) -> bool {
        matches!(self, Self::Map | Self::Keyed | Self::Groups)
    }

    pub fn is(&self, class: Class) -> bool {
        match class {
            Class::Bool => *self == Self::Bool,
            Class::Int => *self == Self::Int,
            Class::Number => self.is_number(),
            Class::Str => *self == Self::Str,
            Class::Time => *self == Self::Time,
            Class::Duration => *self == Self::Duration,
        }
    }

    /// What the elements of a list, or the values of a map, are.
    pub fn element(&self) -> Self {
        match self {
            Self::List(element) => (**element).clone(),
            Self::Strings => Self::Str,
            Self::Bytes => Self::Int,
            Self::Map | Self::Keyed => Self::Any,
            Self::Groups => Self::list(Self::Any),
            _ => Self::Unknown,
        }
    }

    /// The type without what is known of its elements, as declared types are.
    pub fn declared(&self) -> Self {
        match self {
            Self::List(_) => Self::list(Self::Any),
            Self::Unknown => Self::Any,
            other => other.clone(),
        }
    }

    /// Go's assignability: may a value of this type stand where the other is wanted?
    pub fn fits(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Nil, _) => {
                wanted.is_list()
                    || wanted.is_map()
                    || matches!(wanted, Self::Any | Self::Zone | Self::Func)
            }
            (Self::Unknown, _) | (_, Self::Unknown | Self::Nil) => false,
            (_, Self::Any) | (Self::List(_), Self::List(_)) => true,
            (ours, theirs) => ours == theirs,
        }
    }

    /// Whether `==` makes sense.
    pub fn comparable(&self, other: &Self) -> bool {
        self.is_unknown()
            || other.is_unknown()
            || matches!((self, other), (Self::Nil, _) | (_, Self::Nil))
            || self.is_number() && other.is_number()
            || self.is_list() && other.is_list()
            || self.fits(other)
    }

    /// One of the two is unknown, and the other could do.
    pub fn may_meet(&self, other: &Self, classes: &[Class]) -> bool {
        let could = |known: &Self| classes.iter().any(|class| known.is(*class));
        match (self.is_unknown(), other.is_unknown()) {
            (true, true) => true,
            (true, false) => could(other),
            (false, true) => could(self),
            (false, false) => false,
        }
    }

    /// Of one kind as far as a list's elements go.
    pub fn same_kind(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Unknown | Self::Nil => 0,
            Self::Any => 1,
            Self::Bool => 2,
            Self::Int | Self::Named(_) => 3,
            Self::Float => 4,
            Self::Str => 5,
            Self::List(_) | Self::Strings | Self::Bytes => 6,
            Self::Map | Self::Keyed | Self::Groups => 7,
            Self::Time => 8,
            Self::Duration => 9,
            Self::Zone => 10,
            Self::Func => 11,
        }
    }

    /// Go's name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unknown | Self::Nil => "unknown",
            Self::Any => "interface {}",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Str => "string",
            Self::Bytes => "[]uint8",
            Self::List(_) => "[]interface {}",
            Self::Strings => "[]string",
            Self::Map => "map[string]interface {}",
            Self::Keyed => "map[interface {}]interface {}",
            Self::Groups => "map[interface {}][]interface {}",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Zone => "*time.Location",
            Self::Named(name) => name,
            Self::Func => "func(...interface {}) (interface {}, error)",
        }
    }
}
