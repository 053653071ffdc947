//! Reading what other versions and other tools wrote: a null or a wrong shape in a status is an absence.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// `null` reads as the type's default.
pub fn null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Anything that cannot be read (an unparsable time, a number for a text) is as if it were absent.
pub fn maybe<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}

/// A list without its null entries; `null` is the empty list.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items = Option::<Vec<Option<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(items.into_iter().flatten().collect())
}
