//! Look-ups for callers that cannot block: evaluate, see what was missing, fetch it, evaluate again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;

use super::super::env::HostError;
use super::Lookups;

/// One thing that an expression asked the cluster for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// A ConfigMap of the project.
    ConfigMap(String),
    /// A Secret of the project.
    Secret(String),
    /// A ConfigMap of the shared namespace.
    SharedConfigMap(String),
    /// A Secret of the shared namespace; answer only if it is `cred-type: generic`.
    SharedSecret(String),
    /// `status.metadata` of a Freight.
    FreightMetadata(String),
    /// `status` of a Freight.
    FreightStatus(String),
    /// `status.metadata` of a Stage.
    StageMetadata(String),
}

/// The cluster's answer to a [`Question`]; `None` inside means that there is no such object.
#[derive(Clone, Debug)]
pub enum Answer {
    /// For ConfigMaps and Secrets, these decoded.
    Data(Option<BTreeMap<String, String>>),
    /// For the rest.
    Json(Option<Json>),
    /// It could not be read, and why.
    Failed(String),
}

/// Answers fetched so far, and the questions that came up without one. An evaluation that asks
/// something new fails; its error means nothing until [`Prefetched::missing`] is empty.
#[derive(Debug, Default)]
pub struct Prefetched {
    answers: BTreeMap<Question, Answer>,
    missing: Mutex<BTreeSet<Question>>,
}

impl Prefetched {
    /// No answers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer; its question is no longer missing.
    pub fn answer(&mut self, question: Question, answer: Answer) {
        let missing = self
            .missing
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        missing.remove(&question);
        self.answers.insert(question, answer);
    }

    /// What has been asked and not answered.
    pub fn missing(&self) -> Vec<Question> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.iter().cloned().collect()
    }

    fn find(&self, question: Question) -> Result<&Answer, HostError> {
        if let Some(answer) = self.answers.get(&question) {
            return Ok(answer);
        }
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.insert(question);
        Err(HostError::new("not fetched yet"))
    }

    fn data(&self, question: Question) -> Result<Option<BTreeMap<String, String>>, HostError> {
        match self.find(question)? {
            Answer::Data(data) => Ok(data.clone()),
            Answer::Failed(why) => Err(HostError::new(why.as_str())),
            Answer::Json(_) => Err(HostError::new("the answer is of the wrong kind")),
        }
    }

    fn json(&self, question: Question) -> Result<Option<Json>, HostError> {
        match self.find(question)? {
            Answer::Json(json) => Ok(json.clone()),
            Answer::Failed(why) => Err(HostError::new(why.as_str())),
            Answer::Data(_) => Err(HostError::new("the answer is of the wrong kind")),
        }
    }
}

impl Lookups for Prefetched {
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.data(Question::ConfigMap(name.to_owned()))
    }
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.data(Question::Secret(name.to_owned()))
    }
    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.data(Question::SharedConfigMap(name.to_owned()))
    }
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.data(Question::SharedSecret(name.to_owned()))
    }
    fn freight_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        self.json(Question::FreightMetadata(name.to_owned()))
    }
    fn freight_status(&self, name: &str) -> Result<Option<Json>, HostError> {
        self.json(Question::FreightStatus(name.to_owned()))
    }
    fn stage_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        self.json(Question::StageMetadata(name.to_owned()))
    }
}
