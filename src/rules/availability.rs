//! Whether a piece of Freight may be promoted to a Stage: the one rule, the same at admission, at run time and in
//! lists (Kargo's own listing differs from its admission, and is not followed).

use std::fmt;

use crate::kargo::{
    Freight, Stage, StageName, Timestamp,
    artifact::Origin,
    freight::FreightStatus,
    stage::{FreightRequest, FreightSources},
};

use super::durations::{GoDuration, human};

/// Why Freight is not available to a Stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The Stage takes nothing of that origin.
    NotRequested(Origin),
    /// The Stage names neither the Warehouse nor any Stage as its source.
    NoSource,
    /// It was verified in none of these Stages, of which one (or, if `all`, every one) is needed.
    NotVerified {
        /// The Stages in which it was not verified.
        stages: Vec<StageName>,
        /// Whether every one is needed.
        all: bool,
    },
    /// It was verified but has not stayed long enough.
    Soaking {
        /// Where.
        stage: StageName,
        /// How much longer.
        left: GoDuration,
        /// When it will have; none where it has left that Stage and no longer soaks.
        until: Option<Timestamp>,
    },
    /// The Stage's `requiredSoakTime` cannot be read.
    BadSoakTime(String),
}

impl Unavailable {
    /// When waiting alone will have changed this.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Soaking { until, .. } => *until,
            _ => None,
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRequested(origin) => {
                write!(f, "the Stage takes no Freight of {}", origin.key())
            }
            Self::NoSource => write!(f, "the Stage names no source for this Freight"),
            Self::NotVerified { stages, all } => {
                let names: Vec<&str> = stages.iter().map(StageName::as_str).collect();
                write!(
                    f,
                    "not verified in {}",
                    names.join(if *all { " and " } else { " or " })
                )
            }
            Self::Soaking {
                stage,
                left,
                until: Some(_),
            } => write!(f, "soaks {} more in {stage}", human(left.to_std())),
            Self::Soaking {
                stage,
                left,
                until: None,
            } => {
                write!(
                    f,
                    "left {stage} {} before its soak time",
                    human(left.to_std())
                )
            }
            Self::BadSoakTime(text) => write!(f, "the Stage's soak time {text:?} cannot be read"),
        }
    }
}

/// Whether `freight` may be promoted to `stage` now; both in one Project.
pub fn available(stage: &Stage, freight: &Freight, now: Timestamp) -> Result<(), Unavailable> {
    check(
        &stage.stage_name(),
        &stage.spec.requested_freight,
        &freight.origin,
        &freight.status,
        now,
    )
}

/// The same on the parts that rows have too.
pub fn check(
    stage: &StageName,
    requests: &[FreightRequest],
    origin: &Origin,
    status: &FreightStatus,
    now: Timestamp,
) -> Result<(), Unavailable> {
    let mut refusal = Unavailable::NotRequested(origin.clone());
    for request in requests.iter().filter(|request| request.origin == *origin) {
        if status.approved_for.contains_key(stage) || request.sources.direct {
            return Ok(());
        }
        match upstream(&request.sources, status, now) {
            Ok(()) => return Ok(()),
            Err(why) => refusal = why,
        }
    }
    Err(refusal)
}

/// Whether it came through the Stages that are named as sources.
fn upstream(
    sources: &FreightSources,
    status: &FreightStatus,
    now: Timestamp,
) -> Result<(), Unavailable> {
    if sources.stages.is_empty() {
        return Err(Unavailable::NoSource);
    }
    let required = match sources.required_soak_time.as_str() {
        "" => GoDuration::default(),
        text => text
            .parse()
            .map_err(|_| Unavailable::BadSoakTime(text.to_owned()))?,
    };
    let all = sources.availability_strategy == "All";
    let unverified: Vec<StageName> = sources
        .stages
        .iter()
        .filter(|stage| !status.verified_in.contains_key(*stage))
        .cloned()
        .collect();
    let waits: Vec<Unavailable> = sources
        .stages
        .iter()
        .filter(|stage| status.verified_in.contains_key(*stage))
        .filter_map(|stage| soak_left(stage, required, status, now))
        .collect();
    let done = sources.stages.len() - unverified.len() - waits.len();
    if (all && done == sources.stages.len()) || (!all && done > 0) {
        return Ok(());
    }
    let left = |wait: &Unavailable| match wait {
        Unavailable::Soaking { left, until, .. } => (until.is_none(), *left),
        _ => (true, GoDuration::default()),
    };
    let worst = if all {
        waits.into_iter().max_by_key(left)
    } else {
        waits.into_iter().min_by_key(left)
    };
    match worst {
        Some(wait) if !all || unverified.is_empty() => Err(wait),
        _ => Err(Unavailable::NotVerified {
            stages: unverified,
            all,
        }),
    }
}

/// What is missing of the soak time in a Stage where it was verified; none where it was long enough.
fn soak_left(
    stage: &StageName,
    required: GoDuration,
    status: &FreightStatus,
    now: Timestamp,
) -> Option<Unavailable> {
    let longest = status
        .verified_in
        .get(stage)
        .and_then(|verified| verified.longest_soak.parse::<GoDuration>().ok())
        .unwrap_or_default();
    let since = status
        .currently_in
        .get(stage)
        .and_then(|current| current.since);
    let current = since
        .map(|since| GoDuration::from(since.until(now)))
        .unwrap_or_default();
    if longest.max(current) >= required {
        return None;
    }
    let until = since.map(|since| since.plus(required.to_std()));
    // Where it is still there, only the present stay grows.
    let soaked = if until.is_some() { current } else { longest };
    let left = required.to_std().saturating_sub(soaked.to_std());
    Some(Unavailable::Soaking {
        stage: stage.clone(),
        left: left.into(),
        until,
    })
}

#[cfg(test)]
mod tests;
