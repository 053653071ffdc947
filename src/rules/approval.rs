//! Counting answers to a gate: which count and why, whether the gate is open, and what is still needed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kargo::{
    Approval, ApprovalName, ApprovalRequest, Timestamp,
    approval::{ApprovalRequestSpec, ApproverRule, CountReason, Decision, RequestPhase, Response},
};

use super::{
    rows::RequestRow,
    who::{Directory, Match, Person},
};

/// An answer that counts, as the journal keeps it: it stays even if its object goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counted {
    /// The Approval's name.
    pub approval: ApprovalName,
    /// Who.
    pub user: String,
    /// Empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Yes or no.
    pub decision: Decision,
    /// When the server stored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Indexes of the rules that speak of this person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<usize>,
    /// Other names and uids under which the same person answered again: without them two entries of one person could
    /// count as two once those answers are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Known>,
}

/// A name and uid that a person is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// User name.
    pub user: String,
    /// Empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

impl Known {
    fn person(&self) -> Person {
        Person {
            name: self.user.clone(),
            uid: self.uid.clone(),
            groups: Vec::new(),
        }
    }
}

impl Counted {
    /// As the step's output and the request's status have it.
    pub fn response(&self) -> Response {
        let action = match self.decision {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
        };
        Response {
            user: self.user.clone(),
            action: action.into(),
            time: self.time,
            message: self.message.clone(),
        }
    }

    /// Everything that this person is known by.
    fn people(&self) -> Vec<Person> {
        let first = Known {
            user: self.user.clone(),
            uid: self.uid.clone(),
        };
        std::iter::once(&first)
            .chain(&self.also)
            .map(Known::person)
            .collect()
    }

    fn is_of(&self, person: &Person) -> bool {
        self.people().iter().any(|one| one.is(person))
    }

    /// Remembers what the person is known by, too.
    fn learn(&mut self, person: &Person) {
        let exactly = |one: &Person| one.name == person.name && one.uid == person.uid;
        if !self.people().iter().any(exactly) {
            self.also.push(Known {
                user: person.name.clone(),
                uid: person.uid.clone(),
            });
        }
    }
}

/// One answer, and whether it is proved to be genuine.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Answer<'a> {
    pub approval: &'a Approval,
    pub verified: bool,
}

/// Where the gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// More answers are needed.
    Open,
    /// Enough people approved.
    Approved,
    /// Somebody rejected.
    Rejected,
    /// Its time ran out before.
    Expired,
}

/// The whole set of answers, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Where the gate stands.
    pub standing: Standing,
    /// What counts: first what the journal has, then what is new, by time. To be journalled.
    pub counted: Vec<Counted>,
    /// What became of each answer to this request.
    pub marks: Vec<(ApprovalName, CountReason)>,
    /// For people: `1 of 2 approvals; needs platform-leads`.
    pub message: String,
}

/// Counts. `journalled` is what counted before; `directory` knows the Project's people.
pub fn count(
    request: &ApprovalRequest,
    journalled: &[Counted],
    answers: &[Answer<'_>],
    directory: &Directory,
    now: Timestamp,
) -> Verdict {
    let spec = &request.spec;
    let mut counted = journalled.to_vec();
    let mut marks = Vec::new();
    let mut mine: Vec<&Answer<'_>> = answers
        .iter()
        .filter(|answer| answer.approval.spec.request_uid == request.uid())
        .collect();
    mine.sort_by_key(|answer| (answer.approval.created_at(), answer.approval.name()));
    let closed = standing(spec, &counted, directory) != Standing::Open;
    for answer in mine {
        let name: ApprovalName = answer.approval.name().into();
        let known = journalled.iter().any(|one| one.approval == name);
        let reason = if known {
            CountReason::Counted
        } else {
            take(spec, answer, closed, &mut counted, directory)
        };
        marks.push((name, reason));
    }
    let mut standing = standing(spec, &counted, directory);
    if standing == Standing::Open && spec.deadline.is_some_and(|deadline| now > deadline) {
        standing = Standing::Expired;
    }
    let mut message = message(standing, spec, &counted, directory);
    let unverified = marks
        .iter()
        .filter(|(_, reason)| *reason == CountReason::Unverified)
        .count();
    if standing == Standing::Open && unverified > 0 {
        message.push_str(&format!(
            "; {unverified} not counted, as the approval policy is not in force"
        ));
    }
    Verdict {
        standing,
        counted,
        marks,
        message,
    }
}

/// Adds a new answer to what counts, or says why not.
fn take(
    spec: &ApprovalRequestSpec,
    answer: &Answer<'_>,
    closed: bool,
    counted: &mut Vec<Counted>,
    directory: &Directory,
) -> CountReason {
    let person = person_of(answer.approval);
    if let Some(reason) = judge(spec, answer, &person, directory) {
        return reason;
    }
    // Of one person one answer counts; only a rejection still does after one's own approval.
    let repeats =
        |one: &Counted| one.decision == Decision::Reject || decision(answer) == Decision::Approve;
    let repeated = counted.iter().any(|one| one.is_of(&person) && repeats(one));
    match (repeated, closed) {
        (false, true) => CountReason::Late,
        (false, false) => {
            counted.push(entry(answer.approval, spec, &person, directory));
            CountReason::Counted
        }
        (true, closed) => {
            if let Some(first) = counted.iter_mut().find(|one| !closed && one.is_of(&person)) {
                first.learn(&person);
            }
            CountReason::Duplicate
        }
    }
}

fn decision(answer: &Answer<'_>) -> Decision {
    answer.approval.spec.decision
}

fn person_of(approval: &Approval) -> Person {
    let spec = &approval.spec;
    Person {
        name: spec.user.clone(),
        uid: spec.uid.clone(),
        groups: spec.groups.clone(),
    }
}

/// Why an answer cannot count, whoever else has answered.
fn judge(
    spec: &ApprovalRequestSpec,
    answer: &Answer<'_>,
    person: &Person,
    directory: &Directory,
) -> Option<CountReason> {
    let late = |deadline| answer.approval.created_at().is_some_and(|at| at > deadline);
    if !answer.verified {
        Some(CountReason::Unverified)
    } else if answer.approval.spec.digest != spec.change.digest {
        Some(CountReason::Stale)
    } else if spec.deadline.is_some_and(late) {
        Some(CountReason::Late)
    } else if !eligible(&spec.approvers, person, directory) {
        Some(CountReason::Ineligible)
    } else if decision(answer) == Decision::Approve
        && spec.exclude_creator
        && directory.is_creator(&spec.creator, person) == Some(true)
    {
        Some(CountReason::Creator)
    } else {
        None
    }
}

fn eligible(rules: &[ApproverRule], person: &Person, directory: &Directory) -> bool {
    rules.is_empty() || !rules_of(rules, person, directory).is_empty()
}

fn rules_of(rules: &[ApproverRule], person: &Person, directory: &Directory) -> Vec<usize> {
    let speaks = |(index, rule)| (directory.matches(rule, person) == Match::Yes).then_some(index);
    rules.iter().enumerate().filter_map(speaks).collect()
}

fn entry(
    approval: &Approval,
    spec: &ApprovalRequestSpec,
    person: &Person,
    directory: &Directory,
) -> Counted {
    Counted {
        approval: approval.name().into(),
        user: person.name.clone(),
        uid: person.uid.clone(),
        decision: approval.spec.decision,
        time: approval.created_at(),
        message: approval.spec.message.clone(),
        rules: rules_of(&spec.approvers, person, directory),
        also: Vec::new(),
    }
}

/// How many different people approved: whoever is the same as one of them through a third is the same, too.
fn distinct(counted: &[Counted]) -> usize {
    let mut groups: Vec<Vec<Person>> = Vec::new();
    for one in counted {
        let people = one.people();
        let same = |group: &Vec<Person>| {
            group
                .iter()
                .any(|other| people.iter().any(|person| person.is(other)))
        };
        let (merged, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(same);
        groups = others;
        groups.push(merged.into_iter().flatten().chain(people).collect());
    }
    let approved = |group: &&Vec<Person>| {
        let mut yes = counted
            .iter()
            .filter(|one| one.decision == Decision::Approve);
        yes.any(|one| group.iter().any(|person| one.is_of(person)))
    };
    groups.iter().filter(approved).count()
}

/// How many people must approve: one more where the creator is excluded but cannot be told from others.
fn needed(spec: &ApprovalRequestSpec, directory: &Directory) -> usize {
    let least = usize::try_from(spec.min_approvals.max(1)).unwrap_or(usize::MAX);
    least.saturating_add(usize::from(creator_unclear(spec, directory)))
}

fn creator_unclear(spec: &ApprovalRequestSpec, directory: &Directory) -> bool {
    spec.exclude_creator
        && directory
            .is_creator(&spec.creator, &Person::default())
            .is_none()
}

/// Required rules that no counted approval satisfies.
fn missing<'s>(spec: &'s ApprovalRequestSpec, counted: &[Counted]) -> Vec<&'s ApproverRule> {
    let met = |index: &usize| {
        counted
            .iter()
            .any(|one| one.decision == Decision::Approve && one.rules.contains(index))
    };
    let rules = spec.approvers.iter().enumerate();
    rules
        .filter(|(index, rule)| rule.required && !met(index))
        .map(|(_, rule)| rule)
        .collect()
}

fn standing(spec: &ApprovalRequestSpec, counted: &[Counted], directory: &Directory) -> Standing {
    if counted.iter().any(|one| one.decision == Decision::Reject) {
        Standing::Rejected
    } else if distinct(counted) >= needed(spec, directory) && missing(spec, counted).is_empty() {
        Standing::Approved
    } else {
        Standing::Open
    }
}

fn rule_name(rule: &ApproverRule) -> &str {
    if rule.role.is_empty() {
        &rule.value
    } else {
        &rule.role
    }
}

fn message(
    standing: Standing,
    spec: &ApprovalRequestSpec,
    counted: &[Counted],
    directory: &Directory,
) -> String {
    if let Some(no) = counted.iter().find(|one| one.decision == Decision::Reject) {
        let words = if no.message.is_empty() {
            String::new()
        } else {
            format!(": {}", no.message)
        };
        return format!("rejected by {}{words}", no.user);
    }
    let mut text = format!(
        "{} of {} approvals",
        distinct(counted),
        needed(spec, directory)
    );
    if creator_unclear(spec, directory) {
        text.push_str(" (one more, as who made the Promotion cannot be told)");
    }
    let missing = missing(spec, counted);
    if !missing.is_empty() {
        let names: Vec<&str> = missing.into_iter().map(rule_name).collect();
        text.push_str(&format!("; needs {}", names.join(", ")));
    }
    if let (Standing::Expired, Some(deadline)) = (standing, spec.deadline) {
        text.push_str(&format!("; expired at {deadline}"));
    }
    text
}

/// The rules in words: what a gate without rules means is said, not implied.
pub fn policy(approvers: &[ApproverRule], min_approvals: u32, exclude_creator: bool) -> String {
    let count = min_approvals.max(1);
    let people = if count == 1 {
        "1 approval".to_owned()
    } else {
        format!("{count} approvals")
    };
    let names: Vec<String> = approvers.iter().map(rule_text).collect();
    let whom = if names.is_empty() {
        "anyone who can see the Promotion".to_owned()
    } else {
        names.join(" or ")
    };
    let not = if exclude_creator {
        ", not of who made the Promotion"
    } else {
        ""
    };
    format!("{people} of {whom}{not}")
}

fn rule_text(rule: &ApproverRule) -> String {
    let who = match (rule.role.as_str(), rule.claim.as_str()) {
        ("", "groups") => format!("group {}", rule.value),
        ("", claim) => format!("{claim} {}", rule.value),
        (role, _) => format!("role {role}"),
    };
    if rule.required {
        format!("{who} (required)")
    } else {
        who
    }
}

/// Why a person need not try to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The gate has closed.
    Closed(RequestPhase),
    /// Its time has run out.
    Expired(Timestamp),
    /// The rules do not name the person; what they say.
    Ineligible(String),
    /// The person made the Promotion.
    Creator,
    /// The person has answered.
    Answered,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(RequestPhase::Approved) => write!(f, "it is approved already"),
            Self::Closed(RequestPhase::Rejected) => write!(f, "it was rejected"),
            Self::Closed(RequestPhase::Withdrawn) => write!(f, "the question was withdrawn"),
            Self::Closed(_) => write!(f, "it is closed"),
            Self::Expired(at) => write!(f, "expired at {at}"),
            Self::Ineligible(policy) => write!(f, "you are not among its approvers: {policy}"),
            Self::Creator => write!(f, "you made this Promotion and may not approve it"),
            Self::Answered => write!(f, "you have answered"),
        }
    }
}

/// Whether it makes sense that `person` answers; the executor decides. Where a role's claims cannot be read, it does.
pub fn may_answer(
    request: &RequestRow,
    person: &Person,
    decision: Decision,
    directory: &Directory,
    now: Timestamp,
) -> Result<(), Reason> {
    if request.phase == RequestPhase::Expired {
        return Err(request
            .deadline
            .map_or(Reason::Closed(request.phase), Reason::Expired));
    }
    if request.phase != RequestPhase::Open {
        return Err(Reason::Closed(request.phase));
    }
    if let Some(deadline) = request.deadline.filter(|deadline| now > *deadline) {
        return Err(Reason::Expired(deadline));
    }
    let named = request
        .approvers
        .iter()
        .any(|rule| directory.matches(rule, person) != Match::No);
    if !request.approvers.is_empty() && !named {
        let policy = policy(
            &request.approvers,
            request.min_approvals,
            request.exclude_creator,
        );
        return Err(Reason::Ineligible(policy));
    }
    let approving = decision == Decision::Approve;
    if approving
        && request.exclude_creator
        && directory.is_creator(&request.creator, person) == Some(true)
    {
        return Err(Reason::Creator);
    }
    let mine = |response: &Response| response.user.eq_ignore_ascii_case(&person.name);
    if approving && request.responses.iter().any(mine) {
        return Err(Reason::Answered);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
