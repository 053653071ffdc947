//! Expressions without a promotion: the names of a file, and those of Kargo's functions that need nothing else.

use crate::expr::{
    Env, Host, HostError, Value,
    kargo::{FUNCTIONS, FreightView, Functions, NoLookups, STEP_FUNCTIONS, Source, Tried},
};

/// Names and values.
pub struct Alone {
    names: Vec<(String, Value)>,
}

/// Functions that look at their arguments only.
const PURE: [&str; 2] = ["semverParse", "semverDiff"];

/// Says of Kargo's other functions that they need a promotion, instead of finding nothing.
struct Refusing;

impl Host for Refusing {
    fn call(
        &self,
        name: &str,
        arguments: &[Value],
        env: &Env<'_>,
    ) -> Option<Result<Value, HostError>> {
        if PURE.contains(&name) {
            let nothing = FreightView::default();
            return Functions::new(&nothing, &NoLookups).call(name, arguments, env);
        }
        let kargos = FUNCTIONS.contains(&name) || STEP_FUNCTIONS.contains(&name);
        kargos.then(|| {
            Err(HostError::new(
                "it looks at a promotion: name one with --promotion",
            ))
        })
    }

    fn names(&self) -> Vec<&'static str> {
        FUNCTIONS.iter().chain(&STEP_FUNCTIONS).copied().collect()
    }
}

impl Alone {
    /// With these names.
    pub fn new(names: Vec<(String, Value)>) -> Self {
        Self { names }
    }

    /// Evaluates; `over` are names that win.
    pub fn evaluate(&self, source: &Source, over: Vec<(String, Value)>) -> Result<Tried, String> {
        let mut env = Env::new()
            .with_host(&Refusing)
            .at(jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC));
        for (name, value) in self.names.iter().cloned().chain(over) {
            env.set(name, value);
        }
        source.evaluate(&env).map_err(|why| why.full())
    }
}
