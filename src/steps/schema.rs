//! What steps say of their configuration, and how they read it: the shapes are the engine's, the values are typed
//! here.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use crate::engine::shape::{Object, Shape, email, list, matching, some_text, text};
use crate::engine::step::StepError;

/// The identity of a commit, as git steps take it.
pub fn author() -> Shape {
    Object::new()
        .required("name", some_text())
        .required("email", email())
        .optional("signingKey", text())
        .into()
}

/// The configuration as the step's own type, whole floats as integers. It has passed the check, so an error here means
/// that the two disagree.
pub fn typed<T: DeserializeOwned>(config: &Value) -> Result<T, StepError> {
    let config = if config.is_null() {
        Value::Object(Map::new())
    } else {
        with_integers(config)
    };
    serde_json::from_value(config)
        .map_err(|error| StepError::config("the configuration cannot be read").because(error))
}

fn with_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            match number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 9e15)
            {
                Some(float) => Value::from(float as i64),
                None => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(with_integers).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), with_integers(value)))
            .collect(),
        other => other.clone(),
    }
}

/// Serde's `deserialize_with` for an exclusive option: empty and null are absent.
pub fn unless_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text: Option<String> = serde::Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_arrive_as_integers() {
        #[derive(Debug, serde::Deserialize)]
        struct Config {
            tries: u32,
            #[serde(default, deserialize_with = "unless_empty")]
            name: Option<String>,
        }
        let config: Config = typed(&json!({"tries": 42.0, "name": ""})).unwrap();
        assert_eq!((config.tries, config.name), (42, None));
        assert!(
            typed::<Config>(&json!({"tries": 4.5}))
                .unwrap_err()
                .sentence()
                .contains("4.5")
        );
    }
}
