//! What a caller supplies to an expression: names, functions, explanations, the time, and what is secret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Zoned;

use super::access;
use super::builtins;
use super::suggest;
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

    /// The names of its functions, for whoever misspelt one.
    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }
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
    unknown: Mutex<BTreeSet<String>>,
    /// Bytes that templates have written.
    written: AtomicUsize,
}

#[derive(Default)]
struct Secrets {
    /// Set by a secret's use, cleared by whoever asks.
    touched: bool,
    texts: BTreeSet<String>,
}

/// Shorter texts would redact half the log.
const SHORTEST_SECRET: usize = 4;

/// Text that the templates of one evaluation may make. An object in Kubernetes has at most 1.5 MiB.
const MOST_WRITTEN: usize = 32 << 20;

/// Names that were not there, of which so many are remembered.
const UNKNOWN_KEPT: usize = 20;

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

    /// Counts what a template writes; false when that is more than any configuration needs.
    pub(super) fn may_write(&self, bytes: usize) -> bool {
        self.written.fetch_add(bytes, Ordering::Relaxed) <= MOST_WRITTEN.saturating_sub(bytes)
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
            (None, None) => {
                self.remember_unknown(name.to_owned());
                Ok(Value::Nil)
            }
        }
    }

    fn remember_unknown(&self, path: String) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown.len() < UNKNOWN_KEPT {
            unknown.insert(path);
        }
    }

    /// What was read so far that is not there, and so was nil: `vars.x is nil: there is no var "x"`.
    pub fn unknown(&self) -> Vec<String> {
        let unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown
            .iter()
            .map(|path| match self.note_on(path) {
                Some(note) => format!("{path} is nil: {note}"),
                None => format!("{path} is nil"),
            })
            .collect()
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
        let Some((parent, name)) = path.rsplit_once('.') else {
            let names = self.names.keys().map(String::as_str);
            return (!self.has(path))
                .then(|| format!("there is no name {path:?}{}", suggest::hint(path, names)));
        };
        let members = self.members(parent)?;
        if members.contains(&name) {
            return None;
        }
        let hint = suggest::hint(name, members);
        let what = match parent {
            "outputs" | "task.outputs" => format!("there is no output of a step {name:?}"),
            "vars" => format!("there is no var {name:?}"),
            "stepMetas" => format!("there is no step {name:?} before this one"),
            _ if hint.is_empty() => return None,
            _ => format!("{parent} has no {name}"),
        };
        Some(what + &hint)
    }

    /// The keys of the map at a dotted path.
    fn members(&self, path: &str) -> Option<Vec<&str>> {
        let mut parts = path.split('.');
        let mut value = self.names.get(parts.next()?)?;
        for part in parts {
            let Value::Map(map) = value else {
                return None;
            };
            value = map.get(part)?;
        }
        let Value::Map(map) = value else {
            return None;
        };
        let names = map.entries().keys().filter_map(|key| match key {
            Key::Str(name) => Some(&**name),
            _ => None,
        });
        Some(names.collect())
    }

    pub(super) fn call(
        &self,
        name: &str,
        arguments: &[Value],
        in_template: bool,
    ) -> Option<Result<Value, HostError>> {
        self.hosts
            .iter()
            .find_map(|host| host.call(name, arguments, self))
            .or_else(|| in_template.then(|| functions::call(name, arguments))?)
    }

    /// For the error about a function that is not there: which one may be meant.
    pub(super) fn similar_function(&self, name: &str, in_template: bool) -> String {
        let own = self.hosts.iter().flat_map(|host| host.names());
        let template = functions::NAMES.iter().copied().filter(|_| in_template);
        let meant = suggest::closest(name, own.chain(template).chain(builtins::names()));
        match meant {
            Some(meant) => format!("; did you mean {meant}()?"),
            None if !in_template && functions::NAMES.contains(&name) => {
                "; it works in templates (${{ }}) only".to_owned()
            }
            None => String::new(),
        }
    }

    /// A member of a top-level name was read: remember if that is a sensitive var.
    pub(super) fn noticed(&self, name: &str, member: &str) {
        if name == "vars" && self.sensitive.contains(member) {
            self.touch();
        }
    }

    /// A member of a top-level name was nil: remember it if it is not there at all.
    pub(super) fn was_nil(&self, name: &str, member: &str) {
        if let Some(Value::Map(map)) = self.names.get(name)
            && map.get(member).is_none()
        {
            self.remember_unknown(format!("{name}.{member}"));
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
