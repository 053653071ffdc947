//! Our own kinds: who may write a question and an answer, as the policy that `install` ships.

use crate::kargo::{Approval, meta};

use super::{Denial, Operation, Request, View, object};

/// Name of the ValidatingAdmissionPolicy; refusals carry it, so that its presence can be tried.
pub const POLICY: &str = "approvals.tidewaiter.dev";

/// Who takes objects away on behalf of the cluster.
const CLEANERS: [&str; 2] = [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

fn denied(request: &Request<'_>, problem: &str) -> Denial {
    let text = format!("ValidatingAdmissionPolicy '{POLICY}' denied request: {problem}");
    request.denied(403, "Forbidden", text)
}

fn may_delete(request: &Request<'_>) -> bool {
    request.by_executor() || CLEANERS.contains(&request.user.name.as_str())
}

/// Whether one may write an Approval, or its status, or take it away.
pub fn validate_answer(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.subresource.is_some() {
        return executor_only(
            request,
            "the status of an Approval is written by the executor",
        );
    }
    match request.operation {
        Operation::Delete if may_delete(request) => Ok(()),
        Operation::Delete => Err(denied(
            request,
            "an Approval is deleted by the executor only",
        )),
        Operation::Update => no_strings(request),
        Operation::Create => {
            signed_by_requester(request)?;
            no_strings(request)?;
            let stage = object::text(request.object()?, &["spec", "stage"]);
            let group = meta::KARGO_GROUP;
            if view.authorized(
                request.user,
                "approve",
                group,
                "stages",
                request.namespace,
                stage,
            ) {
                return Ok(());
            }
            Err(denied(
                request,
                &format!("you may not approve Promotions to Stage {stage:?}"),
            ))
        }
    }
}

/// Whether one may write an ApprovalRequest, or its status, or take it away.
pub fn validate_question(request: &Request<'_>) -> Result<(), Denial> {
    match request.operation {
        Operation::Delete if may_delete(request) => Ok(()),
        Operation::Delete => executor_only(
            request,
            "an ApprovalRequest is deleted by the executor only",
        ),
        _ => executor_only(
            request,
            "an ApprovalRequest is written by the executor only",
        ),
    }
}

fn executor_only(request: &Request<'_>, problem: &str) -> Result<(), Denial> {
    if request.by_executor() {
        Ok(())
    } else {
        Err(request.forbidden(problem))
    }
}

/// Neither an owner that takes it away with itself nor a finalizer that keeps it.
fn no_strings(request: &Request<'_>) -> Result<(), Denial> {
    for field in ["ownerReferences", "finalizers"] {
        if !object::list(request.object()?, &["metadata", field]).is_empty() {
            return Err(denied(request, &format!("an Approval has no {field}")));
        }
    }
    Ok(())
}

/// Nobody signs for another.
fn signed_by_requester(request: &Request<'_>) -> Result<(), Denial> {
    let answer: Approval = request.read(request.object()?)?;
    let (spec, user) = (&answer.spec, request.user);
    if spec.user != user.name {
        return Err(denied(request, "spec.user is not the requester"));
    }
    if !spec.uid.is_empty() && user.uid.as_ref() != Some(&spec.uid) {
        return Err(denied(request, "spec.uid is not the requester's"));
    }
    if let Some(group) = spec
        .groups
        .iter()
        .find(|group| !user.groups.contains(group))
    {
        return Err(denied(
            request,
            &format!("the requester is not in the group {group:?}"),
        ));
    }
    if spec.impersonated_by != user.impersonated_by.as_deref().unwrap_or_default() {
        return Err(denied(
            request,
            "spec.impersonatedBy is not who acts for the requester",
        ));
    }
    Ok(())
}
