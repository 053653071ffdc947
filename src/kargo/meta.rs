//! Kargo's labels, annotations and finalizer, and how names become label values.

use sha2::{Digest, Sha256};

/// API group of Kargo's kinds.
pub const KARGO_GROUP: &str = "kargo.akuity.io";
/// API group of our kinds.
pub const GROUP: &str = "tidewaiter.dev";

/// Label: which controller or executor is responsible.
pub const SHARD: &str = "kargo.akuity.io/shard";
/// Label (shortened) and annotation (whole) of a Promotion: its Stage.
pub const STAGE: &str = "kargo.akuity.io/stage";
/// Label of a Freight: its alias.
pub const ALIAS: &str = "kargo.akuity.io/alias";
/// Label `"true"` of a Project's namespace.
pub const PROJECT: &str = "kargo.akuity.io/project";
/// Label of a Secret that holds credentials: git, helm, image or generic.
pub const CRED_TYPE: &str = "kargo.akuity.io/cred-type";
/// Annotation of a Promotion: who made it, `kubernetes:<user>` and the like.
pub const CREATE_ACTOR: &str = "kargo.akuity.io/create-actor";
/// Annotation: a token that asks for another look; echoed in `status.lastHandledRefresh`.
pub const REFRESH: &str = "kargo.akuity.io/refresh";
/// Annotation: asks a Promotion or a Stage's verification to stop.
pub const ABORT: &str = "kargo.akuity.io/abort";
/// Annotation of a Stage: asks for another verification.
pub const REVERIFY: &str = "kargo.akuity.io/reverify";
/// Annotation of a Promotion: origin that this one puts on hold for auto-promotion.
pub const AUTO_PROMOTION_HOLD: &str = "kargo.akuity.io/auto-promotion-hold";
/// Annotation of a Promotion: origin whose hold this one lifts.
pub const AUTO_PROMOTION_RESUME: &str = "kargo.akuity.io/auto-promotion-resume";
/// Annotation `"true"` of a Promotion that goes back.
pub const ROLLBACK: &str = "kargo.akuity.io/rollback";
/// Annotation of an Argo CD Application: `project:stage` that may change it.
pub const AUTHORIZED_STAGE: &str = "kargo.akuity.io/authorized-stage";
/// Annotation: text for people.
pub const DESCRIPTION: &str = "kargo.akuity.io/description";
/// Annotation of a ServiceAccount: claims whose bearers have this Kargo role, as JSON.
pub const CLAIMS: &str = "rbac.kargo.akuity.io/claims";
/// Prefix of the annotations on Events.
pub const EVENT_PREFIX: &str = "event.kargo.akuity.io/";
/// Finalizer of Stages, Projects and their namespaces.
pub const FINALIZER: &str = "kargo.akuity.io/finalizer";

/// Annotation of a Promotion that we created: the request that made it, so that a repeated POST is noticed.
pub const REQUEST_ID: &str = "tidewaiter.dev/request-id";
/// Annotation of a Promotion made by `retry`: the name of the one that it repeats.
pub const RETRY_OF: &str = "tidewaiter.dev/retry-of";

/// Longest label value that Kubernetes takes, in bytes.
const LABEL_MAX: usize = 63;

/// `name` as a label value: itself, or where longer than 63 bytes its start, a dash and 8 hexadecimal digits of its
/// SHA-256 (as Kargo shortens).
pub fn label_value(name: &str) -> String {
    if name.len() <= LABEL_MAX {
        return name.to_owned();
    }
    let hash = Sha256::digest(name.as_bytes());
    let digits: String = hash
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut cut = LABEL_MAX - digits.len() - 1;
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{digits}", name.get(..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_start_and_a_hash() {
        assert_eq!(label_value("prod"), "prod");
        let (a, b) = (
            label_value(&"a".repeat(64)),
            label_value(&format!("{}b", "a".repeat(63))),
        );
        assert_eq!(a.len(), 63);
        assert!(a.starts_with(&"a".repeat(54)) && a.as_bytes()[54] == b'-');
        assert_ne!(a, b);
        assert!(label_value(&"ü".repeat(40)).len() <= 63);
    }
}
