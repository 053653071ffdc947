//! What was found, collected once per place, and how it is printed.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{
    codes::{Code, Severity},
    source::{Place, Source},
};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, as it was named.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// How bad.
    pub severity: Severity,
    /// What.
    pub code: Code,
    /// In which object, such as `Stage shop/prod`; empty where there is none.
    pub object: String,
    /// The alias of the step, or "".
    pub step: String,
    /// The field's path in the object, or "".
    pub field: String,
    /// The object through which it matters, where that is another one.
    pub via: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
    seen: BTreeSet<(String, Place, Code, String)>,
}

impl Report {
    /// Adds a finding, unless the same was found at that place before (a task used by several Stages).
    pub fn add(&mut self, finding: Finding) {
        let key = (
            finding.file.clone(),
            finding.place,
            finding.code,
            finding.message.clone(),
        );
        if self.seen.insert(key) {
            self.findings.push(finding);
        }
    }

    /// Adds one that belongs to a file as a whole.
    pub fn add_to_file(
        &mut self,
        source: &Source,
        place: Place,
        code: Code,
        message: String,
        hint: &str,
    ) {
        self.add(Finding {
            file: source.name.clone(),
            place,
            severity: code.severity(),
            code,
            object: String::new(),
            step: String::new(),
            field: String::new(),
            via: String::new(),
            message,
            hint: hint.to_owned(),
        });
    }

    /// Sorted by file and place.
    pub fn into_findings(mut self) -> Vec<Finding> {
        self.findings.sort();
        self.findings
    }
}

impl Finding {
    /// In the form of compilers, the hint on a line of its own.
    pub fn line(&self) -> String {
        let (file, place) = (&self.file, self.place);
        let (severity, code) = (self.severity.word(), self.code.name());
        let mut text = format!(
            "{file}:{}:{}: {severity}[{code}]: ",
            place.line, place.column
        );
        // Writing to a String cannot fail.
        if !self.object.is_empty() {
            let _ = write!(text, "{}", self.object);
            if !self.step.is_empty() {
                let _ = write!(text, ", step {}", self.step);
            }
            if !self.via.is_empty() {
                let _ = write!(text, " (in {})", self.via);
            }
            text.push_str(": ");
        }
        text.push_str(&self.message);
        if !self.hint.is_empty() {
            let _ = write!(text, "\n    hint: {}", self.hint);
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "file": self.file,
            "line": self.place.line,
            "column": self.place.column,
            "severity": self.severity.word(),
            "code": self.code.name(),
            "object": self.object,
            "step": self.step,
            "field": self.field,
            "via": self.via,
            "message": self.message,
            "hint": self.hint,
        })
    }
}
