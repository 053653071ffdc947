//! Answering a gate: an Approval object that names the request and the change that was looked at.

use std::time::Duration;

use kube::{Api, Client, api::PostParams};

use super::{Error, Kind, error::Doing, limit, people};
use crate::{
    kargo::{
        Approval, ApprovalRequest, Timestamp,
        approval::{ApprovalSpec, ApprovalStatus, Decision},
    },
    rules::{admission::User, approval, rows::RequestRow},
};

/// Longest comment, in bytes.
pub const COMMENT_MAX: usize = 4096;

/// Checks what can be checked before anything is sent: that the request is open, in time, and this user's to answer.
pub async fn check(
    client: &Client,
    request: &ApprovalRequest,
    who: &User,
    decision: Decision,
    message: &str,
) -> Result<(), Error> {
    let project = request.project();
    let refuse = |kind: Kind, why: String| {
        let gate = format!(
            "gate {} of {project}/{}",
            request.spec.step, request.spec.promotion.name
        );
        Err(Error::new(kind, format!("cannot answer {gate}"), why))
    };
    if message.len() > COMMENT_MAX {
        let length = message.len();
        let why = format!("the comment has {length} bytes; at most {COMMENT_MAX} are kept");
        return refuse(Kind::Invalid, why);
    }
    let directory = people::directory(client, &project).await;
    let person = people::person(who);
    match approval::may_answer(
        &RequestRow::of(request),
        &person,
        decision,
        &directory,
        Timestamp::now(),
    ) {
        Ok(()) => Ok(()),
        Err(reason) => refuse(Kind::Forbidden, reason.to_string()),
    }
}

/// Stores the answer. It names the request by uid and the change by digest: what was looked at, nothing later.
pub async fn answer(
    client: &Client,
    request: &ApprovalRequest,
    who: &User,
    decision: Decision,
    digest: &str,
    message: &str,
) -> Result<Approval, Error> {
    let directory = people::directory(client, &request.project()).await;
    let spec = ApprovalSpec {
        request: request.request_name(),
        request_uid: request.uid(),
        stage: request.spec.stage.clone(),
        decision,
        digest: digest.to_owned(),
        message: message.to_owned(),
        user: who.name.clone(),
        uid: who.uid.clone().unwrap_or_default(),
        groups: directory.groups_named(&request.spec.approvers, &people::person(who)),
        impersonated_by: who.impersonated_by.clone().unwrap_or_default(),
    };
    let (project, promotion) = (request.project(), &request.spec.promotion.name);
    let api: Api<Approval> = Api::namespaced(client.clone(), project.as_str());
    api.create(&PostParams::default(), &Approval::answer(request, spec))
        .await
        .doing(|| {
            format!(
                "cannot answer gate {} of {project}/{promotion}",
                request.spec.step
            )
        })
}

/// Waits until the executor has said whether the answer counts; none where it did not within `limit`.
pub async fn verdict(
    client: &Client,
    approval: &Approval,
    limit: Duration,
) -> Result<Option<ApprovalStatus>, Error> {
    let api: Api<Approval> = Api::namespaced(client.clone(), approval.project().as_str());
    limit::poll(limit, || async {
        let now = api
            .get(approval.name())
            .await
            .doing(|| format!("cannot get approval {}", approval.name()))?;
        Ok(now.status.counted.is_some().then_some(now.status))
    })
    .await
}
