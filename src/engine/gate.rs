//! wait-for-approval: people are asked about the change, and their answers counted.
//!
//! The question is an ApprovalRequest; answers are Approvals; the rules are `rules::approval`. A gate closes by the
//! write of the Promotion's journal: what is not in it then is late. `answers` tells the objects what became of them.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    course::Course,
    journal::{GateRecord, ledger::LedgerError, limits},
    port::{Kind, PortError, PortExt, patiently},
    runner::{
        Flow, LONGEST_WAIT, Runner, Stopped,
        one::{Ready, deadline},
    },
    step::{Files, Question, StepError},
    tools::{Verification, What},
    workspace::{Workspace, WorkspaceState},
};
use crate::{
    git::{diff::Limits, url::RepoUrl},
    kargo::{
        Alias, Approval, ApprovalRequest, PromotionStep, StepStatus, Timestamp,
        approval::{ApprovalRequestSpec, Base, Change, ChangedFile, PromotionId, RequestPhase},
        meta,
        promotion::AbortRequest,
    },
    rules::{
        approval::{self as rules, Answer, Standing, Verdict},
        who::{Directory, parse_claims},
    },
};

mod again;
mod answers;

pub use answers::{mark_one, withdraw_one};

/// What a push of all checkouts would change now.
pub async fn change(course: &Course, state: &WorkspaceState) -> Result<Change, StepError> {
    let mut files = Files::new(state.clone(), course.tools.paths());
    let look = |workspace: &mut Workspace| {
        workspace
            .change(Limits::default())
            .map_err(|error| StepError::errored("cannot compare the change").because(error))
    };
    let found = files.edit(look).await?;
    let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    let changed = found.files.iter().map(|file| ChangedFile {
        path: file.path.clone(),
        mode: file
            .mode
            .map(|mode| mode.as_str().to_owned())
            .unwrap_or_default(),
        added: count(file.added),
        removed: count(file.removed),
    });
    let bases = state.mounts.iter().map(|mount| Base {
        repo_url: mount
            .repo_url
            .parse::<RepoUrl>()
            .map(|url| url.to_string())
            .unwrap_or_default(),
        branch: mount
            .branch
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        commit: mount
            .base
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    });
    let diff = course.scope.redact(&found.text);
    Ok(Change {
        files: changed.collect(),
        diff,
        digest: found.digest,
        bases: bases.collect(),
    })
}

/// The question's name: the same after a crash between asking and recording that it was asked.
fn name_of(promotion: &str, alias: &Alias, round: u32) -> String {
    let tail = crate::kargo::artifact::hex(&<sha1::Sha1 as sha1::Digest>::digest(
        alias.as_str().as_bytes(),
    ));
    let tail = format!(".{}-{round}", tail.get(..8).unwrap_or_default());
    let room = 253 - tail.len();
    let head = promotion
        .get(..room.min(promotion.len()))
        .unwrap_or(promotion);
    format!("{}{tail}", head.trim_end_matches(['.', '-']))
}

impl Runner {
    /// Asks, or looks whether there are answers.
    pub(super) async fn ask(
        &mut self,
        step: &PromotionStep,
        ready: Ready,
        question: Question,
    ) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        if step.continue_on_error {
            let why =
                "a gate cannot have continueOnError: whoever rejects must be heard".to_owned();
            return self.end(step, StepStatus::Failed, why).await;
        }
        if question.supersede && self.newer_waits {
            let actor = "a newer Promotion of the Stage".to_owned();
            let request = AbortRequest {
                action: "terminate".into(),
                actor,
                ..AbortRequest::default()
            };
            return self.abort(&request).await.map(Flow::Over);
        }
        let asked = self
            .journal()
            .step(alias)
            .gate
            .clone()
            .filter(GateRecord::is_asked);
        let request = match asked {
            Some(gate) => {
                let (course, name) = (self.course.clone(), gate.request.clone());
                let call = || {
                    course
                        .tools
                        .port
                        .get::<ApprovalRequest>(&course.project, name.as_str())
                };
                let found = patiently(call)
                    .await
                    .map_err(|source| self.port_error(source))?;
                match found.filter(|found| found.uid() == gate.uid) {
                    Some(request) => request,
                    None => {
                        let again = "the question was deleted".to_owned();
                        self.journal().step(alias).gate = Some(GateRecord {
                            again,
                            round: gate.round,
                            ..GateRecord::default()
                        });
                        match self.open(alias, &ready, &question).await? {
                            Ok(request) => request,
                            Err(error) => return self.failed(step, ready.limits, &error).await,
                        }
                    }
                }
            }
            None => match self.open(alias, &ready, &question).await? {
                Ok(request) => request,
                Err(error) => return self.failed(step, ready.limits, &error).await,
            },
        };
        self.count(step, request, &question).await
    }

    fn port_error(&self, source: PortError) -> Stopped {
        Stopped::Ledger(LedgerError::Port {
            promotion: self.course.promotion.clone(),
            source,
        })
    }

    /// Makes the question and records it.
    async fn open(
        &mut self,
        alias: &Alias,
        ready: &Ready,
        question: &Question,
    ) -> Result<Result<ApprovalRequest, StepError>, Stopped> {
        let state = self.ledger.journal.workspace.clone().unwrap_or_default();
        let change = match change(&self.course, &state).await {
            Ok(change) => change,
            Err(error) => return Ok(Err(error)),
        };
        let before = self.journal().step(alias).gate.clone().unwrap_or_default();
        let now = Timestamp::now();
        let spec = ApprovalRequestSpec {
            stage: self.course.stage.clone(),
            promotion: PromotionId {
                name: self.course.promotion.clone(),
                uid: self.course.uid.clone(),
            },
            step: alias.clone(),
            approvers: question.approvers.clone(),
            min_approvals: question.min_approvals,
            exclude_creator: question.exclude_creator,
            creator: self
                .ledger
                .promotion()
                .annotation(meta::CREATE_ACTOR)
                .unwrap_or_default()
                .to_owned(),
            deadline: ready.limits.timeout.map(|limit| now.plus(limit)),
            change,
        };
        let (request, round) = self.make(alias, spec, before.round + 1).await?;
        self.journal().step(alias).gate = Some(GateRecord {
            request: request.request_name(),
            uid: request.uid(),
            digest: request.spec.change.digest.clone(),
            asked_at: Some(now),
            counted: Vec::new(),
            round,
            again: before.again,
            settled: false,
        });
        self.boundary(&format!("{alias}:asked:before"))?;
        self.write().await?;
        self.boundary(&format!("{alias}:asked"))?;
        self.tell(Some(alias), What::GateOpened);
        Ok(Ok(request))
    }

    /// Stores the question. One of the same name is ours from before a crash, if it asks the same.
    async fn make(
        &mut self,
        alias: &Alias,
        spec: ApprovalRequestSpec,
        mut round: u32,
    ) -> Result<(ApprovalRequest, u32), Stopped> {
        let (course, project) = (self.course.clone(), self.course.project.clone());
        loop {
            let name = name_of(self.course.promotion.as_str(), alias, round);
            let labels = [(
                meta::STAGE.to_owned(),
                meta::label_value(self.course.stage.as_str()),
            )];
            let metadata = kube::core::ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(project.to_string()),
                labels: Some(labels.into()),
                ..kube::core::ObjectMeta::default()
            };
            let wanted = ApprovalRequest::new(metadata, spec.clone());
            match patiently(|| course.tools.port.post(&project, &wanted)).await {
                Ok(made) => return Ok((made, round)),
                Err(PortError::Conflict { .. }) => {}
                Err(source) => return Err(self.port_error(source)),
            }
            let call = || course.tools.port.get::<ApprovalRequest>(&project, &name);
            let there = patiently(call)
                .await
                .map_err(|source| self.port_error(source))?;
            let same = |there: &ApprovalRequest| {
                let asked = &there.spec;
                asked.promotion == spec.promotion
                    && asked.change.digest == spec.change.digest
                    && asked.approvers == spec.approvers
                    && asked.min_approvals == spec.min_approvals
                    && asked.exclude_creator == spec.exclude_creator
                    && there.status.phase == RequestPhase::Open
            };
            match there {
                // One that is closed already was answered, or taken back, for an earlier turn of this gate.
                Some(there) if same(&there) => return Ok((there, round)),
                Some(_) => round += 1,
                None => {}
            }
        }
    }

    /// Counts the answers that there are.
    async fn count(
        &mut self,
        step: &PromotionStep,
        request: ApprovalRequest,
        question: &Question,
    ) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        let directory = self.directory(&request.spec).await?;
        let course = self.course.clone();
        let call = || course.tools.port.all::<Approval>(Some(&course.project));
        let approvals = patiently(call)
            .await
            .map_err(|source| self.port_error(source))?;
        let verified = course.tools.settings.verification != Verification::Required;
        let given: Vec<Answer<'_>> = approvals
            .iter()
            .map(|approval| Answer { approval, verified })
            .collect();
        let gate = self.journal().step(alias).gate.clone().unwrap_or_default();
        let verdict = rules::count(
            &request,
            &gate.counted,
            &given,
            &directory,
            Timestamp::now(),
        );
        let news = verdict.counted != gate.counted;
        self.journal().step(alias).gate = Some(GateRecord {
            counted: verdict.counted.clone(),
            ..gate.clone()
        });
        let said = match gate.again.as_str() {
            "" => verdict.message.clone(),
            again => format!("{}; asks again: {again}", verdict.message),
        };
        self.put_output(step, responses(&verdict));
        if verdict.standing != Standing::Open {
            return self.close(step, request, &verdict, &approvals, &said).await;
        }
        let entry = self.entry(alias);
        entry.status = Some(StepStatus::Running);
        entry.message = limits::message(&said);
        entry.error_count = 0;
        self.touch();
        self.write().await?;
        self.boundary(&format!("{alias}:counted"))?;
        if news {
            self.tell(Some(alias), What::GateNews(said.clone()));
        }
        answers::mark(&course, &approvals, &verdict.marks).await;
        answers::update(
            &course,
            &request,
            RequestPhase::Open,
            &verdict.counted,
            &said,
        )
        .await;
        let look = Instant::now() + question.poll.min(LONGEST_WAIT);
        let until = request.spec.deadline.map_or(look, |at| {
            look.min(deadline(
                Timestamp::now(),
                Timestamp::now().until(at.plus(ONE_SECOND)),
            ))
        });
        Ok(Flow::Wait {
            until: Some(until),
            what: said,
        })
    }

    /// The gate closes: by this write.
    async fn close(
        &mut self,
        step: &PromotionStep,
        request: ApprovalRequest,
        verdict: &Verdict,
        approvals: &[Approval],
        said: &str,
    ) -> Result<Flow, Stopped> {
        let (status, phase) = answers::end_of(verdict.standing);
        self.tell(Some(&step.alias), What::GateNews(said.to_owned()));
        let flow = self.end(step, status, said.to_owned()).await?;
        let course = self.course.clone();
        answers::mark(&course, approvals, &verdict.marks).await;
        answers::update(&course, &request, phase, &verdict.counted, said).await;
        if let Some(gate) = &mut self.journal().step(&step.alias).gate {
            gate.settled = true;
        }
        self.touch();
        Ok(flow)
    }

    /// Who the rules may speak of.
    async fn directory(&self, spec: &ApprovalRequestSpec) -> Result<Directory, Stopped> {
        let course = &self.course;
        let mut roles = std::collections::BTreeMap::new();
        let mut readable = true;
        for rule in spec.approvers.iter().filter(|rule| !rule.role.is_empty()) {
            let key = super::port::Key::new(Kind::ServiceAccount, &course.project, &rule.role);
            match patiently(|| course.tools.port.read(&key)).await {
                Ok(account) => {
                    let pointer =
                        format!("/metadata/annotations/{}", meta::CLAIMS.replace('/', "~1"));
                    let text = account
                        .as_ref()
                        .and_then(|account| account.pointer(&pointer))
                        .and_then(Value::as_str);
                    roles.insert(
                        rule.role.clone(),
                        text.and_then(|text| parse_claims(text).ok())
                            .unwrap_or_default(),
                    );
                }
                Err(PortError::Forbidden { .. }) => readable = false,
                Err(PortError::Gone { .. }) => {}
                Err(source) => return Err(self.port_error(source)),
            }
        }
        Ok(Directory {
            project: course.project.clone(),
            identity: course.tools.settings.identity.clone(),
            roles: readable.then_some(roles),
        })
    }
}

/// Answers with a time in whole seconds may be as late as this and in time.
const ONE_SECOND: std::time::Duration = std::time::Duration::from_secs(1);

/// The step's output.
fn responses(verdict: &Verdict) -> Map<String, Value> {
    let mut output = Map::new();
    let list: Vec<Value> = verdict
        .counted
        .iter()
        .map(|counted| json!(counted.response()))
        .collect();
    output.insert(
        "responses".into(),
        limits::without_nulls(Value::Array(list)),
    );
    output
}

#[cfg(test)]
mod tests;
