//! Who is who: people as Kubernetes names them, against the claims and roles that approval rules speak of.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kargo::{ProjectName, approval::ApproverRule};

/// A person (or a ServiceAccount) as the API server authenticated them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// User name, exact to the byte.
    pub name: String,
    /// Empty where there is none.
    pub uid: String,
    /// Groups; in an answer only those that the rules name.
    pub groups: Vec<String>,
}

impl Person {
    /// Whether both are one person: equal uid, or names that differ at most in ASCII case.
    pub fn is(&self, other: &Self) -> bool {
        (!self.uid.is_empty() && self.uid == other.uid)
            || self.name.eq_ignore_ascii_case(&other.name)
    }
}

/// How the API server makes user names of claims: the executor's `identity` configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// What stands before the claim in a user's name.
    pub username_prefix: String,
    /// What stands before the claim in a group's name.
    pub groups_prefix: String,
    /// `email` or `sub`; empty where nobody said, then the name is taken for both.
    pub username_claim: String,
}

/// Claims by their name, each with the values of which one is enough.
pub type Claims = BTreeMap<String, Vec<String>>;

/// The claims of the annotation of a ServiceAccount: a JSON object of texts or lists of texts.
pub fn parse_claims(annotation: &str) -> Result<Claims, serde_json::Error> {
    let map: BTreeMap<String, Value> = serde_json::from_str(annotation)?;
    let words = |value: Value| match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    Ok(map
        .into_iter()
        .map(|(claim, value)| (claim, words(value)))
        .collect())
}

/// What is known of a Project's people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// The Project, for names of ServiceAccounts.
    pub project: ProjectName,
    /// How names are made.
    pub identity: Identity,
    /// Claims by role (ServiceAccount); none where they may not be read.
    pub roles: Option<BTreeMap<String, Claims>>,
}

/// Whether a rule speaks of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It names a role whose claims may not be read here.
    Unknown,
}

impl Directory {
    /// Whether `rule` speaks of `person`. A rule without claim and role speaks of nobody.
    pub fn matches(&self, rule: &ApproverRule, person: &Person) -> Match {
        if rule.role.is_empty() {
            return if self.has_claim(person, &rule.claim, &rule.value) {
                Match::Yes
            } else {
                Match::No
            };
        }
        if person.name == format!("system:serviceaccount:{}:{}", self.project, rule.role) {
            return Match::Yes;
        }
        let Some(roles) = &self.roles else {
            return Match::Unknown;
        };
        let claims = roles.get(&rule.role).into_iter().flatten();
        let mut pairs =
            claims.flat_map(|(claim, values)| values.iter().map(move |value| (claim, value)));
        if pairs.any(|(claim, value)| self.has_claim(person, claim, value)) {
            Match::Yes
        } else {
            Match::No
        }
    }

    /// Whether the claim has, or contains, the value.
    fn has_claim(&self, person: &Person, claim: &str, value: &str) -> bool {
        if value.is_empty() {
            return false;
        }
        if claim == "groups" {
            return person
                .groups
                .iter()
                .any(|group| bare(group, &self.identity.groups_prefix) == Some(value));
        }
        self.names_by(claim) && bare(&person.name, &self.identity.username_prefix) == Some(value)
    }

    /// Whether user names are made of this claim.
    fn names_by(&self, claim: &str) -> bool {
        match self.identity.username_claim.as_str() {
            "" => matches!(claim, "email" | "sub"),
            configured => claim == configured,
        }
    }

    /// Whether `person` is who the `create-actor` annotation names; none where that cannot be told.
    pub fn is_creator(&self, creator: &str, person: &Person) -> Option<bool> {
        let (kind, name) = creator.split_once(':')?;
        let claim = match kind {
            "kubernetes" => return Some(person.name.eq_ignore_ascii_case(name)),
            "controller" => return None,
            "subject" => "sub",
            claim => claim,
        };
        // Without a configured claim a user's name may be anything; taking it for an e-mail address would let
        // creators pass whose names are made otherwise.
        if self.identity.username_claim != claim {
            return None;
        }
        let bare = bare(&person.name, &self.identity.username_prefix);
        Some(bare.is_some_and(|bare| bare.eq_ignore_ascii_case(name)))
    }

    /// Those of a person's groups that `rules` name, at most 16: what an answer carries. Where roles cannot be read,
    /// a rule with a role adds none.
    pub fn groups_named(&self, rules: &[ApproverRule], person: &Person) -> Vec<String> {
        let named = |group: &&String| {
            let alone = Person {
                groups: vec![(*group).clone()],
                ..Person::default()
            };
            rules
                .iter()
                .any(|rule| self.matches(rule, &alone) == Match::Yes)
        };
        person
            .groups
            .iter()
            .filter(named)
            .take(16)
            .cloned()
            .collect()
    }
}

/// The name without its prefix; none where it has another prefix or belongs to the system.
fn bare<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let bare = name.strip_prefix(prefix)?;
    let reserved = |name: &str| name.starts_with("system:");
    (!reserved(name) && !reserved(bare)).then_some(bare)
}

#[cfg(test)]
mod tests;
