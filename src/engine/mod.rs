//! Running promotions: supervisor, runner, journal, replay, keeper, workspace.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`supervisor`] | watches Stages and Promotions, starts and wakes what can go on, knows when nothing can |
//! | [`runner`] | one promotion: its steps in order |
//! | [`step`] | what a step is |
//! | [`scope`] | what a promotion's expressions see |
//! | [`workspace`] | the files that it works on |
//! | [`journal`] | its record, within limits |
//! | [`landing`] | commits onto a branch: rebased, or by [`replay`] |
//! | [`replay`] | its steps again on another base |
//! | [`gate`] | people asked, and their answers counted |
//! | [`keeper`] | a Stage's bookkeeping |
//! | [`port`] | the cluster, as one small trait |
//! | [`repositories`], [`fetched`] | where commits and other content come from |
//! | [`course`], [`tools`] | what a promotion and its replays share; what all share |

pub mod course;
pub mod fetched;
pub mod gate;
pub mod journal;
pub mod keeper;
pub mod landing;
pub mod port;
pub mod record;
pub mod replay;
pub mod repositories;
pub mod runner;
pub mod scope;
pub mod shape;
pub mod step;
pub mod supervisor;
pub mod tools;
pub mod workspace;

#[cfg(test)]
pub mod fixture;

/// An error and its causes as one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}
