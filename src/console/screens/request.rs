//! One request: who is asked, who answered, and exactly the change that is asked about.

use ratatui::style::Style;

use crate::{
    kargo::{ApprovalRequest, approval::RequestPhase},
    rules::{approval::policy, rows::RequestRow},
};

use super::{
    super::{
        clock::Clock,
        message::FileCount,
        state::{OpenRequest, State},
        verdict,
        widgets::{diff, page::Page},
    },
    approvals,
};

/// The whole screen is one text.
pub fn page(state: &State, open: &OpenRequest, clock: &Clock, width: u16) -> Page {
    let theme = state.theme();
    let mut page = Page::new(width, theme);
    let Some(request) = state.request.of(&open.key) else {
        page.text(
            state.request.error.as_deref().unwrap_or("loading"),
            theme.dim(),
        );
        return page;
    };
    let row = RequestRow::of(request);
    let (mark, word) = approvals::state_of(row.phase);
    page.heading(&format!(
        "{}/{}  {} of {}",
        row.project, row.stage, row.step, row.promotion
    ));
    page.text(
        &format!("{} {word}, {}", theme.sign(mark), approvals::answers(&row)),
        theme.mark(mark),
    );
    if !request.status.message.is_empty() {
        page.text(&request.status.message, Style::new());
    }
    add(&mut page, state, request, clock);
    page
}

/// Adds who is asked, who answered, and the change.
pub fn add(page: &mut Page, state: &State, request: &ApprovalRequest, clock: &Clock) {
    let theme = page.theme();
    let row = RequestRow::of(request);
    match verdict::may_answer(state, &row) {
        Ok(()) => page.text("you may answer: a approve, n reject", theme.warn()),
        Err(why) if row.phase == RequestPhase::Open => {
            page.text(&format!("you cannot approve: {why}"), theme.dim())
        }
        // What became of it is said above.
        Err(_) => {}
    }
    if let Some(deadline) = row.deadline.filter(|_| row.phase == RequestPhase::Open) {
        match clock.left(deadline) {
            Some(left) => page.text(
                &format!("until {} ({left} left)", clock.time(deadline)),
                Style::new(),
            ),
            None => page.text(
                &format!("expired at {}", clock.time(deadline)),
                theme.warn(),
            ),
        }
    }
    who(page, &row, request, clock);
    let change = &request.spec.change;
    page.gap();
    page.heading(&format!(
        "What will be pushed: {}",
        diff::summary(theme, row.files, row.added.into(), row.removed.into())
    ));
    for base in &change.bases {
        let commit: String = base.commit.chars().take(12).collect();
        page.text(
            &format!("to {} of {}, now at {commit}", base.branch, base.repo_url),
            theme.dim(),
        );
    }
    let files: Vec<FileCount> = change.files.iter().map(FileCount::from).collect();
    diff::files(page, &files);
    page.gap();
    diff::lines(page, &change.diff);
    page.text(&format!("digest {}", change.digest), theme.dim());
}

fn who(page: &mut Page, row: &RequestRow, request: &ApprovalRequest, clock: &Clock) {
    let theme = page.theme();
    let spec = &request.spec;
    page.indented(
        "needs    ",
        &policy(&spec.approvers, spec.min_approvals, spec.exclude_creator),
        Style::new(),
    );
    page.indented("made by  ", &row.creator, Style::new());
    for response in &row.responses {
        let at = response.time.map(|at| clock.time(at)).unwrap_or_default();
        page.indented(
            "answer   ",
            &format!("{} by {} at {at}", response.action, response.user),
            theme.strong(),
        );
        if !response.message.is_empty() {
            page.indented("         ", &response.message, Style::new());
        }
    }
}
