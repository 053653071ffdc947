//! What a caller supplies to an expression: names, functions, explanations, the time, and what is secret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Zoned;

use super::access;
use super::template::functions;
use super::value::{Key, Map, MapKind, Value};

/// Functions that the caller brings. The language's own functions win over names given here.
pub trait Host {
    /// Runs the function; `None` if there is none of that name.
    fn call(
        &self,
        name: &str,
        arguments: &[Value],
        env: &Env<'_>,
    ) -> Option<Result<Value, HostError>>;
}

/// Why a host's function failed, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

impl HostError {
    /// An error of these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// The surroundings of an evaluation.
#[derive(Default)]
pub struct Env<'a> {
    document: Option<Value>,
    names: BTreeMap<String, Value>,
    hosts: Vec<&'a dyn Host>,
    notes: BTreeMap<String, String>,
    sensitive: BTreeSet<String>,
    now: Option<Zoned>,
    secrets: Mutex<Secrets>,
}

#[derive(Default)]
struct Secrets {
    /// Set by a secret's use, cleared by whoever asks.
    touched: bool,
    texts: BTreeSet<String>,
}

/// Shorter texts would redact half the log.
const SHORTEST_SECRET: usize = 4;

impl<'a> Env<'a> {
    /// Nothing but the language.
    pub fn new() -> Self {
        Self::default()
    }

    /// A document: its keys are the names, and `$env` is all of it, which need not be a map.
    pub fn of(document: Value) -> Self {
        Self {
            document: Some(document),
            ..Self::default()
        }
    }

    /// Gives a top-level name a value, instead of what it had.
    pub fn set(&mut self, name: impl Into<String>, value: Value) {
        self.names.insert(name.into(), value);
    }

    /// Gives `vars.<name>` a value and keeps the other vars.
    pub(super) fn set_var(&mut self, name: &str, value: Value) {
        let mut entries = match self.names.get("vars") {
            Some(Value::Map(vars)) => vars.entries().clone(),
            _ => BTreeMap::new(),
        };
        entries.insert(Key::Str(name.into()), value);
        let vars = Map::new(MapKind::Named, entries);
        self.set("vars", Value::Map(Arc::new(vars)));
    }

    /// [`Env::set`] for chains.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Value) -> Self {
        self.set(name, value);
        self
    }

    /// Adds functions; those added first win.
    #[must_use]
    pub fn with_host(mut self, host: &'a dyn Host) -> Self {
        self.hosts.push(host);
        self
    }

    /// What `now()` gives. Without it `now()` is an error: an expression reads no clock by itself.
    #[must_use]
    pub fn at(mut self, now: Zoned) -> Self {
        self.now = Some(now);
        self
    }

    /// Why the value at a path such as `outputs.push` may be nil, e.g. `step "push" was skipped`.
    /// Added to the error when an expression reads a member of it.
    pub fn note(&mut self, path: impl Into<String>, note: impl Into<String>) {
        self.notes.insert(path.into(), note.into());
    }

    /// Says that `vars.<name>` came from a secret, so that whatever reads it counts as secret too.
    pub fn mark_sensitive_var(&mut self, name: impl Into<String>) {
        self.sensitive.insert(name.into());
    }

    /// Every text that came from a secret so far, and every result made with one; for redaction.
    pub fn secrets(&self) -> Vec<String> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.texts.iter().cloned().collect()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let of_document = match &self.document {
            Some(Value::Map(map)) => map.get(name).is_some(),
            _ => false,
        };
        of_document || self.names.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.names.get(name)
    }

    /// What a top-level name means; nil where there is none, and an error where the document has no keys.
    pub(super) fn meaning(&self, name: &str) -> Result<Value, String> {
        match (self.names.get(name), &self.document) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some(document)) => access::fetch(document, &Value::from(name)),
            (None, None) => Ok(Value::Nil),
        }
    }

    pub(super) fn all(&self) -> Value {
        if let Some(document) = &self.document {
            return document.clone();
        }
        Value::map(
            self.names
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        )
    }

    pub(super) fn now(&self) -> Option<&Zoned> {
        self.now.as_ref()
    }

    pub(super) fn note_on(&self, path: &str) -> Option<String> {
        if let Some(note) = self.notes.get(path) {
            return Some(note.clone());
        }
        let (parent, alias) = path.rsplit_once('.')?;
        (parent == "outputs" || parent == "task.outputs")
            .then(|| format!("there is no output of a step {alias:?}"))
    }

    pub(super) fn call(&self, name: &str, arguments: &[Value]) -> Option<Result<Value, HostError>> {
        self.hosts
            .iter()
            .find_map(|host| host.call(name, arguments, self))
            .or_else(|| functions::call(name, arguments))
    }

    /// A member of a top-level name was read: remember if that is a sensitive var.
    pub(super) fn noticed(&self, name: &str, member: &str) {
        if name == "vars" && self.sensitive.contains(member) {
            self.touch();
        }
    }

    /// `vars` was used whole, so any sensitive one may be in the result.
    pub(super) fn noticed_all(&self, name: &str) {
        if name == "vars" && !self.sensitive.is_empty() {
            self.touch();
        }
    }

    fn touch(&self) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.touched = true;
    }

    /// Remembers the texts inside a secret value.
    pub(super) fn remember_secret(&self, value: &Value) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.touched = true;
        collect(value, &mut secrets.texts);
    }

    /// Remembers a result that a secret went into. A number or a bool tells too little to redact.
    pub(super) fn remember_result(&self, value: &Value) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        collect(value, &mut secrets.texts);
    }

    /// Whether a secret was used since this was last asked.
    pub(super) fn take_touched(&self) -> bool {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut secrets.touched)
    }
}

fn collect(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Str(text) => {
            let text = text.trim();
            if text.len() >= SHORTEST_SECRET {
                into.insert(text.to_owned());
            }
        }
        Value::List(list) => list.items().iter().for_each(|item| collect(item, into)),
        Value::Map(map) => map
            .entries()
            .values()
            .for_each(|value| collect(value, into)),
        _ => {}
    }
}
