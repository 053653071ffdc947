//! Label and field selectors of lists and watches.

use super::names;
use super::object::Key;
use std::collections::BTreeMap;

/// One demand on the labels.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// One demand on `metadata.name` or `metadata.namespace`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldDemand {
    field: Field,
    value: String,
    equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
}

/// Which objects a list or watch wants; empty wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Demand>,
    fields: Vec<FieldDemand>,
}

impl Selector {
    /// Reads both selectors of a request.
    ///
    /// The error is the sentence for a 400.
    pub(crate) fn parse(labels: &str, fields: &str) -> Result<Self, String> {
        Ok(Self {
            labels: parse_labels(labels)?,
            fields: parse_fields(fields)?,
        })
    }

    /// The same, for one object alone.
    pub(crate) fn and_name(mut self, name: &str) -> Self {
        self.fields.push(FieldDemand {
            field: Field::Name,
            value: name.to_owned(),
            equal: true,
        });
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, key: &Key, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|d| d.holds(labels)) && self.fields.iter().all(|d| d.holds(key))
    }
}

impl Demand {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|v| values.contains(v)),
            // An object without the label is not in the set.
            Self::NotIn(key, values) => labels.get(key).is_none_or(|v| !values.contains(v)),
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
        }
    }
}

impl FieldDemand {
    fn holds(&self, key: &Key) -> bool {
        let actual = match self.field {
            Field::Name => &key.name,
            Field::Namespace => &key.namespace,
        };
        (*actual == self.value) == self.equal
    }
}

/// Splits at commas that are not inside parentheses.
fn split_demands(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
        .into_iter()
        .map(|p| p.trim().to_owned())
        .filter(|p| !p.is_empty())
        .collect()
}

fn parse_labels(text: &str) -> Result<Vec<Demand>, String> {
    split_demands(text)
        .iter()
        .map(|d| parse_demand(d))
        .collect()
}

fn label_key(text: &str) -> Result<String, String> {
    let text = text.trim();
    if names::is_qualified_key(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "unable to parse requirement: invalid label key {text:?}"
        ))
    }
}

fn label_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    if names::is_label_value(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "unable to parse requirement: invalid label value {text:?}"
        ))
    }
}

fn parse_demand(text: &str) -> Result<Demand, String> {
    if let Some(key) = text.strip_prefix('!') {
        return Ok(Demand::Absent(label_key(key)?));
    }
    if let Some((head, rest)) = text.split_once('(') {
        let values = rest
            .strip_suffix(')')
            .ok_or_else(|| format!("unable to parse requirement: no ')' in {text:?}"))?
            .split(',')
            .map(label_value)
            .collect::<Result<Vec<_>, _>>()?;
        let mut words = head.split_whitespace();
        let key = label_key(words.next().unwrap_or(""))?;
        return match (words.next(), words.next()) {
            (Some("in"), None) => Ok(Demand::In(key, values)),
            (Some("notin"), None) => Ok(Demand::NotIn(key, values)),
            _ => Err(format!("unable to parse requirement: {text:?}")),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok(Demand::NotIn(label_key(key)?, vec![label_value(value)?]));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Ok(Demand::In(label_key(key)?, vec![label_value(value)?]));
    }
    Ok(Demand::Exists(label_key(text)?))
}

fn parse_fields(text: &str) -> Result<Vec<FieldDemand>, String> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    parts
        .map(|part| {
            let (field, value, equal) = if let Some((f, v)) = part.split_once("!=") {
                (f, v, false)
            } else if let Some((f, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (f, v, true)
            } else {
                return Err(format!("invalid field selector: {part:?}"));
            };
            let field = match field.trim() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                other => return Err(format!("field label not supported: {other}")),
            };
            Ok(FieldDemand {
                field,
                value: value.trim().to_owned(),
                equal,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::kinds;

    fn picks(labels: &str, fields: &str) -> bool {
        let (kind, _) = kinds::by_plural_alone("promotions").unwrap();
        let object = BTreeMap::from([
            ("stage".to_owned(), "prod".to_owned()),
            ("kargo.akuity.io/shard".to_owned(), "eu".to_owned()),
        ]);
        Selector::parse(labels, fields)
            .unwrap()
            .matches(&Key::new(kind, "shop", "p1"), &object)
    }

    #[test]
    fn label_selectors() {
        for (text, expected) in [
            ("", true),
            ("stage=prod", true),
            ("stage==prod", true),
            ("stage=uat", false),
            ("stage!=uat", true),
            ("absent!=x", true),
            ("stage!=prod", false),
            ("stage in (uat, prod)", true),
            ("stage in (uat)", false),
            ("stage notin (uat,test)", true),
            ("absent notin (x)", true),
            ("stage", true),
            ("absent", false),
            ("!absent", true),
            ("!stage", false),
            ("stage in (prod,uat),kargo.akuity.io/shard=eu", true),
            ("stage=prod,kargo.akuity.io/shard=us", false),
        ] {
            assert_eq!(picks(text, ""), expected, "{text:?}");
        }
    }

    #[test]
    fn field_selectors() {
        for (text, expected) in [
            ("metadata.name=p1", true),
            ("metadata.name=p2", false),
            ("metadata.name!=p1", false),
            ("metadata.namespace=shop,metadata.name==p1", true),
            ("metadata.namespace!=shop", false),
        ] {
            assert_eq!(picks("", text), expected, "{text:?}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_sentence() {
        for (labels, fields) in [
            ("a in b", ""),
            ("a in (b", ""),
            ("a within (b)", ""),
            ("a=b c", ""),
            ("", "spec.stage=prod"),
            ("", "metadata.name"),
        ] {
            assert!(
                Selector::parse(labels, fields).is_err(),
                "{labels:?} {fields:?}"
            );
        }
    }
}
