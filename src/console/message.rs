//! What comes into the console, and what it asks for. Nothing else crosses its border.

use std::collections::BTreeMap;

use crossterm::event::Event;

use crate::{
    kargo::{
        Alias, ApprovalRequest, FreightName, ProjectName, Promotion, PromotionName, RequestName,
        StageName, Timestamp, Uid, approval::ChangedFile,
    },
    rules::{
        permissions,
        rows::{FreightRow, PromotionRow, RequestRow, StageRow},
        who::Directory,
    },
};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// A key, a paste, a new size of the window.
    Input(Event),
    /// A text on the screen that tells a time is due for another look.
    Tick,
    /// News of listed objects.
    Feed(FeedEvent),
    /// The whole Promotion that is open; sent again whenever it changes.
    Detail(Box<Detail>),
    /// The Promotion that is open could not be read.
    DetailFailed {
        /// The Promotion asked for.
        uid: Uid,
        /// One sentence.
        error: String,
    },
    /// The whole request that was asked for; sent again whenever it changes.
    Request(Box<ApprovalRequest>),
    /// The request that was asked for could not be read.
    RequestFailed {
        /// The request asked for.
        uid: Uid,
        /// One sentence.
        error: String,
    },
    /// An action is done.
    Done {
        /// Which.
        id: ActionId,
        /// What became of it, one sentence.
        text: String,
    },
    /// An action was refused or did not work.
    Failed {
        /// Which.
        id: ActionId,
        /// One sentence.
        text: String,
        /// What may help; may be empty.
        hint: String,
    },
    /// A retry was not made: the Stage's template is no longer what the Promotion was made from.
    TemplateDiffers {
        /// Which action.
        id: ActionId,
        /// What differs, a sentence each (`rules::retry::differences`).
        differences: Vec<String>,
    },
    /// What is known of a Project's people.
    Directory(Directory),
    /// What the cluster will refuse this person in a Project, with its reason; replaces what was known.
    Refused {
        /// The Project.
        project: ProjectName,
        /// Actions that will be refused; what is not in it is tried.
        refused: BTreeMap<permissions::Action, String>,
    },
    /// Something went wrong that no action asked for; it stays readable in the errors.
    Trouble(String),
    /// One line of the executor in this process.
    Happening(String),
    /// The process was told something from outside.
    Signal(Signal),
}

/// Signals that the console answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: leave, and hand over what runs.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
    /// SIGINT from outside.
    Interrupt,
}

impl Signal {
    /// Its number on every system we run on.
    pub fn number(self) -> i32 {
        match self {
            Self::HangUp => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

/// A Promotion with the changes that its steps made.
#[derive(Clone, Debug)]
pub struct Detail {
    /// The object as it is now.
    pub promotion: Promotion,
    /// What each step changed, where that is known here; in the order of the steps.
    pub changes: Vec<StepChange>,
    /// Everything that was or will be pushed, where that is known here.
    pub whole: Option<FileDiff>,
}

/// What one step changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepChange {
    /// The step.
    pub alias: Alias,
    /// The change.
    pub change: FileDiff,
}

/// Files that differ, and how. The maker of it bounds its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Every file that differs.
    pub files: Vec<FileCount>,
    /// Unified diff; may be cut, then it says so.
    pub diff: String,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCount {
    /// Path in the workspace.
    pub path: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

impl From<&ChangedFile> for FileCount {
    fn from(file: &ChangedFile) -> Self {
        Self {
            path: file.path.clone(),
            added: file.added,
            removed: file.removed,
        }
    }
}

/// News of the objects of one kind, or of how good that news is.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum FeedEvent {
    Promotions(Change<PromotionRow>),
    Stages(Change<StageRow>),
    Freight(Change<FreightRow>),
    Requests(Change<RequestRow>),
    State(Kind, FeedState),
}

/// News of the objects of one kind. A list that is made again never empties the table: its rows replace what is
/// there as they come, and what has not come by [`Change::ListDone`] goes then.
#[derive(Clone, Debug)]
pub enum Change<R> {
    /// A page of a list, the first of which begins it.
    Page(Vec<R>),
    /// The list is complete. Without a page before it, there are no objects.
    ListDone,
    /// Objects made or changed.
    Upsert(Vec<R>),
    /// An object that is gone.
    Delete(Key),
}

/// The kinds that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Promotions,
    Stages,
    Freight,
    Requests,
}

/// How good the news of a kind is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FeedState {
    /// Nothing has come yet, or the first list goes on.
    #[default]
    Loading,
    /// Changes come as they happen.
    Live,
    /// The connection is lost.
    StaleSince {
        /// When the last news came.
        since: Timestamp,
        /// The last real error.
        error: String,
    },
    /// We may not see these.
    Forbidden(String),
    /// The cluster has no such kind.
    Absent(String),
}

/// An object, beyond doubt: one of the same name made later is another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its Project.
    pub project: ProjectName,
    /// Its name, of whatever kind.
    pub name: String,
    /// Its uid.
    pub uid: Uid,
}

/// Ties the result of an action to what was asked; unique within a run of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u64);

/// What the console wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Fetch the Promotion and keep sending it ([`Message::Detail`]). Replaces the one asked for before.
    OpenPromotion(Key),
    /// The Promotion asked for is no longer looked at.
    CloseDetail,
    /// Fetch the request and keep sending it ([`Message::Request`]). Replaces the one asked for before.
    FetchRequest(Key),
    /// The request asked for is no longer looked at.
    CloseRequest,
    /// Do something to the cluster; answered with [`Message::Done`] or [`Message::Failed`].
    Act {
        /// For the answer.
        id: ActionId,
        /// What.
        action: Action,
    },
    /// Put this on the clipboard, byte for byte.
    Copy(String),
    /// Leave. Not sent: the loop ends with it.
    Quit(Leave),
}

/// Something done to the cluster, with the object captured when the dialog opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Approve(Answer),
    Reject(Answer),
    Retry {
        promotion: Key,
        with_current_template: bool,
    },
    Abort {
        promotion: Key,
    },
    Promote {
        project: ProjectName,
        stage: StageName,
        freight: FreightName,
    },
    Refresh {
        promotion: Key,
    },
    Verify {
        project: ProjectName,
        stage: StageName,
    },
}

/// One person's answer to one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub project: ProjectName,
    /// Its name.
    pub request: RequestName,
    /// Its uid.
    pub uid: Uid,
    /// Digest of the change that the person saw.
    pub digest: String,
    /// The person's words, byte for byte; may be empty.
    pub message: String,
}

/// What becomes of the promotions that run in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// None runs here, or they are brought to their end first.
    Finish,
    /// Another executor takes over where this one stops.
    HandOver,
    /// Stop where they are.
    Stop,
}

/// A row as the tables need it.
pub trait Row {
    /// Which object it is.
    fn key(&self) -> Key;
}

/// The parts of a row's key, borrowed.
pub trait RowName {
    /// Its Project.
    fn project_name(&self) -> &ProjectName;
    /// Its name.
    fn name_text(&self) -> &str;
    /// Its uid.
    fn uid(&self) -> &Uid;
}

macro_rules! row {
    ($($row:ty),+) => {$(
        impl RowName for $row {
            fn project_name(&self) -> &ProjectName {
                &self.project
            }
            fn name_text(&self) -> &str {
                self.name.as_str()
            }
            fn uid(&self) -> &Uid {
                &self.uid
            }
        }
        impl Row for $row {
            fn key(&self) -> Key {
                Key { project: self.project.clone(), name: self.name.as_str().to_owned(), uid: self.uid.clone() }
            }
        }
    )+};
}
row!(PromotionRow, StageRow, FreightRow, RequestRow);

impl Key {
    /// The name as a Promotion's.
    pub fn promotion_name(&self) -> PromotionName {
        self.name.as_str().into()
    }
}
