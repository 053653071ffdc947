//! Auto-promotion: whether it is on for a Stage, what it would promote, and why it stands down.

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use crate::kargo::{
    Freight, FreightName, Phase, ProjectConfig, Promotion, PromotionName, Stage, Timestamp,
    artifact::Origin,
    meta,
    project_config::{PromotionPolicy, StageSelector},
    stage::{FreightRequest, Hold},
};

use super::{availability, rows::PromotionRow};

/// Why a policy cannot be applied; auto-promotion is off then.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A name pattern of another form.
    #[error("the policy's name pattern {pattern:?} cannot be read")]
    Pattern {
        /// As it was written.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An operator that selectors do not have.
    #[error("the policy's label selector has the unknown operator {0:?}")]
    Operator(String),
}

/// Whether a Project's policies switch it on for `stage`: the first policy that matches decides.
pub fn enabled(config: Option<&ProjectConfig>, stage: &Stage) -> Result<bool, PolicyError> {
    for policy in config
        .iter()
        .flat_map(|config| &config.spec.promotion_policies)
    {
        if matches(policy, stage)? {
            return Ok(policy.auto_promotion_enabled);
        }
    }
    Ok(false)
}

fn matches(policy: &PromotionPolicy, stage: &Stage) -> Result<bool, PolicyError> {
    match &policy.stage_selector {
        None => Ok(!policy.stage.is_empty() && policy.stage == stage.name()),
        Some(selector) => {
            Ok(name_matches(&selector.name, stage.name())? && labels_match(selector, stage)?)
        }
    }
}

fn name_matches(pattern: &str, name: &str) -> Result<bool, PolicyError> {
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| PolicyError::Pattern {
        pattern: pattern.to_owned(),
        source,
    };
    match pattern.split_once(':') {
        _ if pattern.is_empty() => Ok(true),
        Some(("glob", glob)) => {
            let glob = globset::Glob::new(glob).map_err(|error| unreadable(error.into()))?;
            Ok(glob.compile_matcher().is_match(name))
        }
        Some(("regex" | "regexp", regex)) => {
            let regex = regex::Regex::new(regex).map_err(|error| unreadable(error.into()))?;
            Ok(regex.is_match(name))
        }
        _ => Ok(pattern == name),
    }
}

/// Whether a policy's name for its Stages can be read: a name, or `glob:`, `regex:` or `regexp:` and a pattern.
pub fn check_name(pattern: &str) -> Result<(), PolicyError> {
    match pattern.split_once(':') {
        Some((word, _)) if !["glob", "regex", "regexp"].contains(&word) => {
            let source = format!("{word:?} is not one of glob, regex, regexp").into();
            Err(PolicyError::Pattern {
                pattern: pattern.to_owned(),
                source,
            })
        }
        _ => name_matches(pattern, "").map(drop),
    }
}

fn labels_match(selector: &StageSelector, stage: &Stage) -> Result<bool, PolicyError> {
    for (key, value) in &selector.match_labels {
        if stage.label(key) != Some(value) {
            return Ok(false);
        }
    }
    for rule in &selector.match_expressions {
        let found = stage.label(&rule.key);
        let listed =
            found.is_some_and(|found| rule.values.iter().flatten().any(|value| value == found));
        let holds = match rule.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            other => return Err(PolicyError::Operator(other.to_owned())),
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What auto-promotion would promote to `stage` of one origin: the newest of what is available or, where the Stage
/// matches its upstream, the one piece that is upstream now.
pub fn candidate<'a>(
    stage: &Stage,
    origin: &Origin,
    freight: &'a [Freight],
    now: Timestamp,
) -> Option<&'a Freight> {
    let request = stage
        .spec
        .requested_freight
        .iter()
        .find(|request| request.origin == *origin)?;
    let available = freight.iter().filter(|freight| {
        freight.origin == *origin && availability::available(stage, freight, now).is_ok()
    });
    if follows_upstream(request) {
        let mut there = available.filter(|freight| {
            request
                .sources
                .stages
                .iter()
                .any(|upstream| freight.status.currently_in.contains_key(upstream))
        });
        let first = there.next();
        // Two at once means that the upstream Stage changes over just now.
        return first.filter(|_| there.next().is_none());
    }
    available.max_by(|a, b| newer(a, b))
}

fn follows_upstream(request: &FreightRequest) -> bool {
    let options = request.sources.auto_promotion_options.as_ref();
    options.is_some_and(|options| options.selection_policy == "MatchUpstream")
}

/// By discovery, the later greater; of two at once the one whose name sorts last.
fn newer(a: &Freight, b: &Freight) -> Ordering {
    let key = |freight: &Freight| freight.discovered_at.or(freight.created_at());
    key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name()))
}

/// What a person's Promotion means for auto-promotion of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It is of something else than the candidate: auto-promotion of the origin stands still from then on.
    Hold(Origin),
    /// It is of the candidate: a hold is lifted.
    Resume(Origin),
}

impl Intent {
    /// The annotation that says so, and its value.
    pub fn annotation(&self) -> (&'static str, String) {
        match self {
            Self::Hold(origin) => (meta::AUTO_PROMOTION_HOLD, origin.key()),
            Self::Resume(origin) => (meta::AUTO_PROMOTION_RESUME, origin.key()),
        }
    }
}

/// What promoting `chosen` by hand will mean; none where auto-promotion is off (also by a policy that cannot be
/// read, which must not stop a person) or the Freight is not among `freight`.
pub fn intent(
    config: Option<&ProjectConfig>,
    stage: &Stage,
    chosen: &FreightName,
    freight: &[Freight],
    now: Timestamp,
) -> Option<Intent> {
    if !enabled(config, stage).unwrap_or_default() {
        return None;
    }
    let origin = freight
        .iter()
        .find(|one| one.freight_name() == *chosen)?
        .origin
        .clone();
    match candidate(stage, &origin, freight, now) {
        Some(candidate) if candidate.freight_name() == *chosen => Some(Intent::Resume(origin)),
        _ => Some(Intent::Hold(origin)),
    }
}

/// Why nothing is promoted although a candidate is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandDown {
    /// A person put the origin on hold by promoting something else.
    Held(PromotionName),
    /// It is there already.
    Current,
    /// A Promotion of it has not ended, or its success has not been recorded yet.
    Underway(PromotionName),
    /// The newest Promotion of it did not succeed; trying again for ever would help nobody.
    EndedBadly(PromotionName, Phase),
}

impl fmt::Display for StandDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(by) => write!(f, "on hold since {by}"),
            Self::Current => write!(f, "already there"),
            Self::Underway(by) => write!(f, "{by} is under way"),
            Self::EndedBadly(by, phase) => {
                write!(f, "{by} ended {phase}; promote it by hand to try again")
            }
        }
    }
}

/// Whether the candidate is to be promoted now. `promotions` are all of the Stage; `holds` as [`effective_holds`].
pub fn decide(
    stage: &Stage,
    origin: &Origin,
    candidate: &FreightName,
    promotions: &[PromotionRow],
    holds: &BTreeMap<String, Hold>,
) -> Result<(), StandDown> {
    if let Some(hold) = holds.get(&origin.key()) {
        return Err(StandDown::Held(hold.promotion_name.clone()));
    }
    let current = stage.status.freight_history.first();
    if current.is_some_and(|current| {
        current
            .items
            .get(&origin.key())
            .is_some_and(|item| item.name == *candidate)
    }) {
        return Err(StandDown::Current);
    }
    if let Some(turn) = &stage.status.current_promotion
        && turn
            .freight
            .as_ref()
            .is_some_and(|freight| freight.name == *candidate)
    {
        return Err(StandDown::Underway(turn.name.clone()));
    }
    let recorded = stage.status.last_promotion.as_ref().map(|last| &last.name);
    let mut newest_ended: Option<&PromotionRow> = None;
    for row in promotions
        .iter()
        .filter(|row| row.freight == *candidate && row.stage == stage.stage_name())
    {
        let unrecorded =
            row.phase == Phase::Succeeded && recorded.is_none_or(|recorded| row.name > *recorded);
        if !row.phase.is_terminal() || unrecorded {
            return Err(StandDown::Underway(row.name.clone()));
        }
        if newest_ended
            .is_none_or(|newest| (newest.created_at, &newest.name) < (row.created_at, &row.name))
        {
            newest_ended = Some(row);
        }
    }
    match newest_ended {
        Some(row) if row.phase != Phase::Succeeded => {
            Err(StandDown::EndedBadly(row.name.clone(), row.phase.clone()))
        }
        _ => Ok(()),
    }
}

/// What an ended Promotion makes of the Stage's holds. An aborted one changes nothing.
pub fn apply_intent(holds: &mut BTreeMap<String, Hold>, promotion: &Promotion, now: Timestamp) {
    if !promotion.status.phase.is_terminal() || promotion.status.phase == Phase::Aborted {
        return;
    }
    intend(holds, promotion, now);
}

/// The holds that count now: those recorded, then the newest intent of each origin among the Promotions that are not
/// recorded yet, ended or not. So auto-promotion does not overtake a person who has just asked for something else.
/// Holds mean something only while auto-promotion is on; where it is off, the Stage's are cleared.
pub fn effective_holds<'a>(
    stage: &Stage,
    promotions: impl IntoIterator<Item = &'a Promotion>,
    now: Timestamp,
) -> BTreeMap<String, Hold> {
    let mut holds = stage.status.auto_promotion_holds.clone();
    let recorded = stage.status.last_promotion.as_ref().map(|last| &last.name);
    let mut newer: Vec<&Promotion> = promotions
        .into_iter()
        .filter(|promotion| {
            promotion.spec.stage == stage.stage_name() && promotion.status.phase != Phase::Aborted
        })
        .filter(|promotion| recorded.is_none_or(|recorded| promotion.promotion_name() > *recorded))
        .collect();
    newer.sort_by(|a, b| a.name().cmp(b.name()));
    for promotion in newer {
        intend(&mut holds, promotion, now);
    }
    holds
}

/// Lifts or makes the hold that the Promotion is marked with.
fn intend(holds: &mut BTreeMap<String, Hold>, promotion: &Promotion, now: Timestamp) {
    if let Some(key) = promotion.annotation(meta::AUTO_PROMOTION_RESUME) {
        holds.remove(key);
    }
    insert_hold(holds, promotion, now);
}

fn insert_hold(holds: &mut BTreeMap<String, Hold>, promotion: &Promotion, now: Timestamp) {
    let Some(key) = promotion.annotation(meta::AUTO_PROMOTION_HOLD) else {
        return;
    };
    let Some((kind, name)) = key.split_once('/') else {
        return;
    };
    let hold = Hold {
        freight_name: promotion.spec.freight.clone(),
        origin: Origin {
            kind: kind.to_owned(),
            name: name.to_owned(),
        },
        promotion_name: promotion.promotion_name(),
        actor: promotion
            .annotation(meta::CREATE_ACTOR)
            .unwrap_or_default()
            .to_owned(),
        created_at: promotion.created_at().or(Some(now)),
    };
    holds.insert(key.to_owned(), hold);
}

#[cfg(test)]
mod tests;
