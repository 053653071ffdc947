//! Rows and objects for tests.

use jiff::tz::TimeZone;
use ratatui::{buffer::Buffer, layout::Rect, layout::Size};
use serde_json::json;

use crate::{
    kargo::{
        ApprovalRequest, Phase, Promotion, StepStatus, Timestamp,
        approval::{ApproverRule, RequestPhase},
        artifact::Origin,
        stage::{FreightRequest, FreightSources},
    },
    rules::{
        rows::{FreightRow, PromotionRow, RequestRow, StageRow, StepRow},
        who::Person,
    },
};

use super::{
    keymap::Chord,
    message::{Change, Effect, FeedEvent, Message},
    state::{Context, State},
    theme::Theme,
    update::update,
    view::view,
};

/// The moment at which tests play.
pub const NOW: &str = "2026-06-01T12:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// So many seconds before now.
pub fn ago(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp(
        jiff::Timestamp::from_second(now().as_second() - seconds).unwrap(),
    ))
}

pub fn context() -> Context {
    Context {
        person: Person {
            name: "ann".into(),
            uid: String::new(),
            groups: vec!["leads".into()],
        },
        place: "prod-eu".into(),
        project: None,
        readonly: false,
        executing: false,
        zone: TimeZone::UTC,
        theme: Theme::default(),
        now,
    }
}

pub fn promotion(project: &str, stage: &str, name: &str) -> PromotionRow {
    PromotionRow {
        project: project.into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        resource_version: "1".into(),
        stage: stage.into(),
        shard: "tide".into(),
        freight: "0123456789abcdef0123456789abcdef01234567".into(),
        phase: Phase::Running,
        message: String::new(),
        step: Some(step(5, "push", "git-push")),
        steps: 6,
        creator: "kubernetes:ann".into(),
        created_at: ago(120),
        started_at: ago(100),
        finished_at: None,
        aborting: false,
        retry_of: None,
    }
}

pub fn step(number: usize, alias: &str, kind: &str) -> StepRow {
    StepRow {
        number,
        alias: alias.into(),
        kind: kind.into(),
        status: Some(StepStatus::Running),
        message: String::new(),
        error_count: 0,
        started_at: ago(90),
    }
}

pub fn request(project: &str, stage: &str, promotion: &str, step: &str) -> RequestRow {
    RequestRow {
        project: project.into(),
        name: format!("{promotion}-{step}").into(),
        uid: format!("uid-{promotion}-{step}").into(),
        stage: stage.into(),
        promotion: promotion.into(),
        promotion_uid: format!("uid-{promotion}").into(),
        step: step.into(),
        phase: RequestPhase::Open,
        approvers: vec![ApproverRule {
            claim: "groups".into(),
            value: "leads".into(),
            ..ApproverRule::default()
        }],
        min_approvals: 2,
        exclude_creator: false,
        creator: "kubernetes:bob".into(),
        responses: Vec::new(),
        message: String::new(),
        deadline: None,
        digest: format!("sha256:{promotion}-{step}"),
        files: 1,
        added: 1,
        removed: 1,
        created_at: ago(720),
    }
}

pub fn stage(project: &str, name: &str) -> StageRow {
    StageRow {
        project: project.into(),
        name: name.into(),
        uid: format!("uid-{project}-{name}").into(),
        shard: "tide".into(),
        control_flow: false,
        requests: vec![FreightRequest {
            origin: Origin::warehouse("app"),
            sources: FreightSources {
                direct: true,
                ..FreightSources::default()
            },
        }],
        freight_summary: String::new(),
        freight: Vec::new(),
        health: "Healthy".into(),
        current_promotion: None,
        last_promotion: None,
        auto_promotion: false,
        verifying: false,
        ready_message: String::new(),
        created_at: ago(86_400),
    }
}

pub fn freight(project: &str, alias: &str, tag: &str) -> FreightRow {
    FreightRow {
        project: project.into(),
        name: format!("{alias}-0123456789").into(),
        uid: format!("uid-{alias}").into(),
        alias: alias.into(),
        origin: Origin::warehouse("app"),
        artifacts: vec![format!("app:{tag}")],
        reference: serde_json::from_value(json!({
            "images": [{ "repoURL": "registry.example/app", "tag": tag }],
        }))
        .unwrap(),
        created_at: ago(3_600),
        status: Default::default(),
    }
}

/// A whole Promotion that waits at its gate, with the row's name and uid.
pub fn whole_promotion(row: &PromotionRow) -> Promotion {
    serde_json::from_value(json!({
        "metadata": { "name": row.name.as_str(), "namespace": row.project.as_str(), "uid": row.uid.as_str() },
        "spec": {
            "stage": row.stage.as_str(), "freight": row.freight.as_str(),
            "steps": [
                { "uses": "git-clone", "as": "clone" },
                { "uses": "yaml-update", "as": "update", "config": { "path": "apps/prod/values.yaml" } },
                { "uses": "delete", "as": "tidy", "if": "${{ false }}" },
                { "uses": "wait-for-approval", "as": "gate" },
                { "uses": "git-push", "as": "push" },
            ],
        },
        "status": {
            "phase": "Running", "currentStep": 3, "startedAt": "2026-06-01T11:48:00Z",
            "stepExecutionMetadata": [
                { "alias": "clone", "status": "Succeeded", "message": "main at 74291c2",
                  "startedAt": "2026-06-01T11:48:00.1Z", "finishedAt": "2026-06-01T11:48:00.5Z" },
                { "alias": "update", "status": "Succeeded",
                  "startedAt": "2026-06-01T11:48:00.500Z", "finishedAt": "2026-06-01T11:48:00.502Z" },
                { "alias": "tidy", "status": "Skipped", "startedAt": "2026-06-01T11:48:01Z", "finishedAt": "2026-06-01T11:48:01Z" },
                { "alias": "gate", "status": "Running", "message": "1 of 2 approvals", "startedAt": "2026-06-01T11:48:00Z" },
            ],
            "state": { "update": { "commitMessage": "Set image.tag" } },
        },
    }))
    .unwrap()
}

/// A whole request of the row's name, uid and digest.
pub fn whole_request(row: &RequestRow) -> ApprovalRequest {
    serde_json::from_value(json!({
        "metadata": {
            "name": row.name.as_str(), "namespace": row.project.as_str(), "uid": row.uid.as_str(),
            "creationTimestamp": "2026-06-01T11:48:00Z",
        },
        "spec": {
            "stage": row.stage.as_str(), "promotion": { "name": row.promotion.as_str(), "uid": row.promotion_uid.as_str() },
            "step": row.step.as_str(), "approvers": [{ "claim": "groups", "value": "leads" }], "minApprovals": 2,
            "creator": "kubernetes:bob",
            "change": {
                "files": [{ "path": "apps/prod/values.yaml", "mode": "100644", "added": 1, "removed": 1 }],
                "diff": "--- a/apps/prod/values.yaml\n+++ b/apps/prod/values.yaml\n@@ -1,2 +1,2 @@\n image:\n-  tag: 2.3.0\n+  tag: 2.3.1\n",
                "digest": row.digest,
                "bases": [{ "repoURL": "https://git.example/cd", "branch": "main", "commit": "74291c2aaaaaaaaaaaaa" }],
            },
        },
    }))
    .unwrap()
}

/// A console in a test: messages and keys in, pictures and effects out.
pub struct Play {
    pub state: State,
    pub effects: Vec<Effect>,
}

impl Play {
    pub fn new(width: u16, height: u16) -> Self {
        Self::with(context(), width, height)
    }

    pub fn with(context: Context, width: u16, height: u16) -> Self {
        Self {
            state: State::new(context, Size { width, height }),
            effects: Vec::new(),
        }
    }

    pub fn send(&mut self, message: Message) -> &mut Self {
        let effects = update(&mut self.state, message);
        self.effects.extend(effects);
        self
    }

    pub fn feed(&mut self, event: FeedEvent) -> &mut Self {
        self.send(Message::Feed(event))
    }

    pub fn promotions(&mut self, rows: Vec<PromotionRow>) -> &mut Self {
        self.feed(FeedEvent::Promotions(Change::Page(rows)))
            .feed(FeedEvent::Promotions(Change::ListDone))
    }

    pub fn requests(&mut self, rows: Vec<RequestRow>) -> &mut Self {
        self.feed(FeedEvent::Requests(Change::Page(rows)))
            .feed(FeedEvent::Requests(Change::ListDone))
    }

    pub fn stages(&mut self, rows: Vec<StageRow>) -> &mut Self {
        self.feed(FeedEvent::Stages(Change::Page(rows)))
            .feed(FeedEvent::Stages(Change::ListDone))
    }

    pub fn freight(&mut self, rows: Vec<FreightRow>) -> &mut Self {
        self.feed(FeedEvent::Freight(Change::Page(rows)))
            .feed(FeedEvent::Freight(Change::ListDone))
    }

    /// Presses keys: single characters, and names in angle brackets, as `jj<enter><ctrl-d>`.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let (name, after) = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                Some((name, after)) => (name.to_owned(), after),
                None => (first.to_string(), &rest[first.len_utf8()..]),
            };
            let name = if name == " " {
                "space".to_owned()
            } else {
                name
            };
            let chord = Chord::parse(&name).unwrap_or_else(|| panic!("no key {name:?}"));
            self.send(Message::Input(crossterm::event::Event::Key(chord.event())));
            rest = after;
        }
        self
    }

    pub fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.send(Message::Input(crossterm::event::Event::Resize(
            width, height,
        )))
    }

    pub fn picture(&self) -> Buffer {
        let Size { width, height } = self.state.size;
        let mut buffer = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width,
            height,
        });
        view(&self.state, &mut buffer);
        buffer
    }

    /// The picture as lines without trailing spaces.
    pub fn lines(&self) -> Vec<String> {
        lines(&self.picture())
    }

    pub fn shows(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// The effects since the last time.
    pub fn took(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}

/// A picture as lines; the second column of a wide character is left out.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|y| {
            let mut line = String::new();
            let mut x = area.left();
            while x < area.right() {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(super::text::width(symbol).max(1)).unwrap();
            }
            line.trim_end().to_owned()
        })
        .collect()
}
