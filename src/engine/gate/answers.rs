//! What the objects say became of them: marks on Approvals, phases of ApprovalRequests. The Promotion's journal is the
//! truth; these are written after it, and again at its end where that was cut short.

use serde_json::json;

use crate::{
    engine::{
        course::Course,
        port::{Port, PortError, PortExt},
        runner::{Runner, verdict},
    },
    kargo::{
        Alias, Approval, ApprovalName, ApprovalRequest, ProjectName, StepStatus, Timestamp,
        approval::{ApprovalRequestStatus, ApprovalStatus, CountReason, RequestPhase},
    },
    rules::approval::{Counted, Standing},
};

/// How a step ends, and its question.
pub fn end_of(standing: Standing) -> (StepStatus, RequestPhase) {
    match standing {
        Standing::Approved => (StepStatus::Succeeded, RequestPhase::Approved),
        Standing::Rejected => (StepStatus::Failed, RequestPhase::Rejected),
        Standing::Expired => (StepStatus::Failed, RequestPhase::Expired),
        Standing::Open => (StepStatus::Running, RequestPhase::Open),
    }
}

/// Marks the answers of which the mark is another.
pub async fn mark(course: &Course, approvals: &[Approval], marks: &[(ApprovalName, CountReason)]) {
    for (name, reason) in marks {
        let Some(approval) = approvals
            .iter()
            .find(|approval| approval.name() == name.as_str())
        else {
            continue;
        };
        if approval.status.reason != Some(*reason) {
            mark_one(
                course.tools.port.as_ref(),
                &course.project,
                approval,
                *reason,
            )
            .await;
        }
    }
}

/// Marks one answer.
pub async fn mark_one(
    port: &dyn Port,
    project: &ProjectName,
    approval: &Approval,
    reason: CountReason,
) {
    let status = ApprovalStatus {
        counted: Some(reason == CountReason::Counted),
        reason: Some(reason),
        at: Some(Timestamp::now()),
    };
    let version = approval
        .metadata
        .resource_version
        .clone()
        .unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
    match port
        .patch_status::<Approval>(project, approval.name(), patch)
        .await
    {
        Ok(_) | Err(PortError::Conflict { .. } | PortError::Gone { .. }) => {}
        Err(error) => {
            tracing::warn!(
                approval = approval.name(),
                error = &error as &dyn std::error::Error,
                "an answer could not be marked"
            );
        }
    }
}

/// Writes how far a question has come.
pub async fn update(
    course: &Course,
    request: &ApprovalRequest,
    phase: RequestPhase,
    counted: &[Counted],
    said: &str,
) {
    let status = ApprovalRequestStatus {
        phase,
        responses: counted.iter().map(Counted::response).collect(),
        message: said.to_owned(),
    };
    write(course.tools.port.as_ref(), request, status).await;
}

/// Takes a question back of which nothing but itself is left; what was answered stays in it.
pub async fn withdraw_one(port: &dyn Port, request: &ApprovalRequest, why: &str) {
    let status = ApprovalRequestStatus {
        phase: RequestPhase::Withdrawn,
        message: why.to_owned(),
        ..request.status.clone()
    };
    write(port, request, status).await;
}

async fn write(port: &dyn Port, request: &ApprovalRequest, status: ApprovalRequestStatus) {
    let (mut current, project) = (request.clone(), request.project());
    // Nobody but us writes it, so one more look is enough.
    for _ in 0..2 {
        if current.status == status {
            return;
        }
        let version = current
            .metadata
            .resource_version
            .clone()
            .unwrap_or_default();
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        match port
            .patch_status::<ApprovalRequest>(&project, current.name(), patch)
            .await
        {
            Ok(_) | Err(PortError::Gone { .. }) => return,
            Err(PortError::Conflict { .. }) => {}
            Err(error) => {
                tracing::warn!(
                    request = current.name(),
                    error = &error as &dyn std::error::Error,
                    "a question could not be updated"
                );
                return;
            }
        }
        match port.get::<ApprovalRequest>(&project, current.name()).await {
            Ok(Some(found)) => current = found,
            _ => return,
        }
    }
}

impl Runner {
    /// Takes a question back.
    pub(super) async fn withdraw(&mut self, gate: &Alias, why: &str) {
        self.settle(gate, RequestPhase::Withdrawn, why).await;
    }

    /// Writes the end of every question that does not say it yet: after a crash in the middle, or at an early end.
    pub(in crate::engine) async fn settle_gates(&mut self, why: &str) {
        let open: Vec<Alias> = self
            .ledger
            .journal
            .steps
            .iter()
            .filter(|(_, record)| {
                record
                    .gate
                    .as_ref()
                    .is_some_and(|gate| gate.is_asked() && !gate.settled)
            })
            .map(|(alias, _)| alias.clone())
            .collect();
        for alias in open {
            let entry = self.entry(&alias).clone();
            let phase = match entry.status {
                Some(StepStatus::Succeeded) => RequestPhase::Approved,
                Some(StepStatus::Failed) if verdict::is_over(&entry) => RequestPhase::Rejected,
                _ => RequestPhase::Withdrawn,
            };
            let said = if phase == RequestPhase::Withdrawn {
                why.to_owned()
            } else {
                entry.message
            };
            self.settle(&alias, phase, &said).await;
        }
    }

    async fn settle(&mut self, gate: &Alias, phase: RequestPhase, said: &str) {
        let Some(record) = self
            .journal()
            .step(gate)
            .gate
            .clone()
            .filter(|record| record.is_asked())
        else {
            return;
        };
        let course = self.course.clone();
        match course
            .tools
            .port
            .get::<ApprovalRequest>(&course.project, record.request.as_str())
            .await
        {
            Ok(Some(request)) if request.uid() == record.uid => {
                let rejected = record
                    .counted
                    .iter()
                    .any(|one| one.decision == crate::kargo::approval::Decision::Reject);
                let phase = if phase == RequestPhase::Rejected && !rejected {
                    RequestPhase::Expired
                } else {
                    phase
                };
                update(&course, &request, phase, &record.counted, said).await;
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(request = %record.request, error = &error as &dyn std::error::Error, "a question could not be closed");
            }
        }
        if let Some(record) = &mut self.journal().step(gate).gate {
            record.settled = true;
        }
    }
}
