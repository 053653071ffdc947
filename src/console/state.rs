//! Everything the console knows. Only [`super::update`] changes it; [`super::view`] draws it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::tz::TimeZone;
use ratatui::layout::Size;

use crate::{
    kargo::{ApprovalRequest, ProjectName, Timestamp},
    rules::{
        permissions::Action,
        rows::{FreightRow, PromotionRow, RequestRow, StageRow},
        who::{Directory, Person},
    },
};

use super::{
    clock::Clock,
    dialogs::Dialog,
    index::Index,
    message::{ActionId, Detail, FeedState, Key, Kind},
    prompt::Prompt,
    sort::{Column, Sort, View},
    table::Table,
    theme::Theme,
    watch::Watched,
};

/// Lines of the executor that are kept.
const LOG_MAX: usize = 2_000;
/// Errors that are kept.
const TROUBLES_MAX: usize = 200;

/// What the console is told at its start and does not change.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who sits here, as the API server knows them.
    pub person: Person,
    /// Where this is: `prod-eu`, `local ./demo`.
    pub place: String,
    /// Show only this Project at first.
    pub project: Option<ProjectName>,
    /// Whether nothing may be changed.
    pub readonly: bool,
    /// Whether promotions run in this process.
    pub executing: bool,
    /// The person's time zone.
    pub zone: TimeZone,
    /// What the terminal can show.
    pub theme: Theme,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Which screen; what belongs to it is in [`Screen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Place {
    Promotions,
    Promotion,
    Approvals,
    Request,
    Stages,
    Freight,
    Log,
    Errors,
    Help,
}

impl Place {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Promotions,
        Self::Promotion,
        Self::Approvals,
        Self::Request,
        Self::Stages,
        Self::Freight,
        Self::Log,
        Self::Errors,
        Self::Help,
    ];

    /// The kind whose news the screen depends on.
    pub fn kind(self) -> Kind {
        match self {
            Self::Approvals | Self::Request => Kind::Requests,
            Self::Stages => Kind::Stages,
            Self::Freight => Kind::Freight,
            _ => Kind::Promotions,
        }
    }
}

/// A screen that is open.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Screen {
    /// A table.
    List(Kind),
    Promotion(Box<OpenPromotion>),
    Request(Box<OpenRequest>),
    Log(Scroll),
    Errors(Scroll),
    Help(Scroll),
}

/// How far a text is scrolled, in drawn lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The first line in the window; drawn at most so far that the window is full.
    pub top: usize,
    /// Whether it stays at the end as lines come.
    pub follow: bool,
}

/// A Promotion with its steps.
#[derive(Debug)]
pub struct OpenPromotion {
    /// Which; the whole of it is in [`State::detail`].
    pub key: Key,
    /// The step that the cursor is on.
    pub step: usize,
    /// Whether nobody moved the cursor yet: then it follows the promotion.
    pub following: bool,
    /// Whether keys scroll the text below instead of choosing a step.
    pub reading: bool,
    /// Whether the text below is the whole change instead of the step's.
    pub whole: bool,
    /// The text below.
    pub scroll: Scroll,
}

/// A request with its change.
#[derive(Debug)]
pub struct OpenRequest {
    /// Which; the whole of it is in [`State::request`].
    pub key: Key,
    /// The text.
    pub scroll: Scroll,
}

impl Screen {
    /// Which it is.
    pub fn place(&self) -> Place {
        match self {
            Self::List(Kind::Promotions) => Place::Promotions,
            Self::List(Kind::Requests) => Place::Approvals,
            Self::List(Kind::Stages) => Place::Stages,
            Self::List(Kind::Freight) => Place::Freight,
            Self::Promotion(_) => Place::Promotion,
            Self::Request(_) => Place::Request,
            Self::Log(_) => Place::Log,
            Self::Errors(_) => Place::Errors,
            Self::Help(_) => Place::Help,
        }
    }
}

/// One thing per kind.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct PerKind<T> {
    pub promotions: T,
    pub stages: T,
    pub freight: T,
    pub requests: T,
}

impl<T> PerKind<T> {
    /// That of `kind`.
    pub fn get(&self, kind: Kind) -> &T {
        match kind {
            Kind::Promotions => &self.promotions,
            Kind::Stages => &self.stages,
            Kind::Freight => &self.freight,
            Kind::Requests => &self.requests,
        }
    }

    /// That of `kind`, to be changed.
    pub fn get_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::Promotions => &mut self.promotions,
            Kind::Stages => &mut self.stages,
            Kind::Freight => &mut self.freight,
            Kind::Requests => &mut self.requests,
        }
    }
}

/// How a table is narrowed and sorted.
#[derive(Clone, Debug)]
pub struct Lens {
    /// Text that rows must have, as typed.
    pub filter: String,
    /// The same in lower case.
    pub low: String,
    /// The order.
    pub sort: Sort,
}

impl Lens {
    fn by(column: Column) -> Self {
        Self {
            filter: String::new(),
            low: String::new(),
            sort: Sort::by(column),
        }
    }
}

impl Default for Lens {
    fn default() -> Self {
        Self::by(Column::Age)
    }
}

/// The tables.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Tables {
    pub promotions: Table<PromotionRow>,
    pub stages: Table<StageRow>,
    pub freight: Table<FreightRow>,
    pub requests: Table<RequestRow>,
    pub index: Index,
}

/// How a result is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Tone {
    Note,
    Good,
    Bad,
}

/// The line above the footer.
#[derive(Clone, Debug)]
pub struct Flash {
    /// How it is meant.
    pub tone: Tone,
    /// What it says.
    pub text: String,
    /// When it goes by itself; a failure stays until somebody dismisses it.
    pub until: Option<Timestamp>,
}

/// Something that went wrong.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
    /// What may help; may be empty.
    pub hint: String,
}

/// See the module.
#[derive(Debug)]
pub struct State {
    /// What does not change.
    pub context: Context,
    /// The moment that is shown.
    pub now: Timestamp,
    /// The window.
    pub size: Size,
    /// The one Project that is shown, or all.
    pub project: Option<ProjectName>,
    /// The rows.
    pub tables: Tables,
    /// How good the news of each kind is.
    pub feeds: PerKind<FeedState>,
    /// How each table is narrowed and sorted.
    pub lenses: PerKind<Lens>,
    /// The screens, the last one on top; never empty.
    screens: Vec<Screen>,
    /// The whole Promotion that is looked at.
    pub detail: Watched<Detail>,
    /// The whole request that is looked at.
    pub request: Watched<ApprovalRequest>,
    /// What lies over the screen and takes the keys.
    pub dialog: Option<Dialog>,
    /// The line that is being typed.
    pub prompt: Option<Prompt>,
    /// The line above the footer.
    pub flash: Option<Flash>,
    /// What went wrong, oldest first.
    pub troubles: VecDeque<Trouble>,
    /// What the executor in this process does, oldest first.
    pub log: VecDeque<(Timestamp, String)>,
    /// Actions that have no answer yet, and what they do.
    pub pending: BTreeMap<ActionId, Pending>,
    next_action: u64,
    /// What is known of the people of each Project; without it no rule with a role can be judged.
    pub directories: HashMap<ProjectName, Directory>,
    /// What the cluster is known to refuse in each Project, with its reason.
    pub refused: HashMap<ProjectName, BTreeMap<Action, String>>,
    /// Whether times are told in UTC.
    pub utc: bool,
    /// Whether the next frame is drawn on an empty window.
    pub redraw_all: bool,
    /// Whether the person wants the shell.
    pub suspend: bool,
}

/// An action without an answer.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What is being done, as `approving prod`.
    pub text: String,
    /// The Promotion that is to be retried, for the question that may come back.
    pub retry: Option<Key>,
}

impl State {
    /// The state at the start.
    pub fn new(context: Context, size: Size) -> Self {
        Self {
            now: (context.now)(),
            project: context.project.clone(),
            context,
            size,
            tables: Tables::default(),
            feeds: PerKind::default(),
            lenses: PerKind {
                stages: Lens::by(Column::Stage),
                ..PerKind::default()
            },
            screens: vec![Screen::List(Kind::Promotions)],
            detail: Watched::default(),
            request: Watched::default(),
            dialog: None,
            prompt: None,
            flash: None,
            troubles: VecDeque::new(),
            log: VecDeque::new(),
            pending: BTreeMap::new(),
            next_action: 0,
            directories: HashMap::new(),
            refused: HashMap::new(),
            utc: false,
            redraw_all: false,
            suspend: false,
        }
    }

    /// What the terminal can show.
    pub fn theme(&self) -> Theme {
        self.context.theme
    }

    /// A clock for one frame.
    pub fn clock(&self) -> Clock {
        Clock::at(
            self.now,
            if self.utc {
                TimeZone::UTC
            } else {
                self.context.zone.clone()
            },
        )
    }

    /// The screen on top.
    pub fn screen(&self) -> &Screen {
        static BOTTOM: Screen = Screen::List(Kind::Promotions);
        self.screens.last().unwrap_or(&BOTTOM)
    }

    /// The screen on top, to be changed.
    pub fn screen_mut(&mut self) -> Option<&mut Screen> {
        self.screens.last_mut()
    }

    /// Which screen is on top.
    pub fn place(&self) -> Place {
        self.screen().place()
    }

    /// How many screens are open.
    pub fn depth(&self) -> usize {
        self.screens.len()
    }

    /// Opens a screen over the others.
    pub fn push(&mut self, screen: Screen) {
        self.screens.push(screen);
    }

    /// Closes the screen on top, unless it is the last.
    pub fn pop(&mut self) {
        if self.screens.len() > 1 {
            self.screens.pop();
        }
    }

    /// Closes every screen and opens one.
    pub fn replace(&mut self, screen: Screen) {
        self.screens = vec![screen];
    }

    /// The screens, the top first.
    pub fn layers(&self) -> impl Iterator<Item = &Screen> {
        self.screens.iter().rev()
    }

    /// The open Promotion, on whatever layer.
    pub fn open_promotion(&mut self) -> Option<&mut OpenPromotion> {
        self.screens
            .iter_mut()
            .rev()
            .find_map(|screen| match screen {
                Screen::Promotion(open) => Some(&mut **open),
                _ => None,
            })
    }

    /// What narrows and orders the table of `kind`, beside the tables themselves.
    pub fn split(&mut self, kind: Kind) -> (View<'_>, TablesMut<'_>) {
        let lens = self.lenses.get(kind);
        let Tables {
            promotions,
            stages,
            freight,
            requests,
            index,
        } = &mut self.tables;
        let view = View {
            project: self.project.as_ref(),
            filter: &lens.low,
            sort: lens.sort,
            index,
        };
        (
            view,
            TablesMut {
                promotions,
                stages,
                freight,
                requests,
            },
        )
    }

    /// Starts an action that is to be answered.
    pub fn begin(&mut self, pending: Pending) -> ActionId {
        if self
            .flash
            .as_ref()
            .is_some_and(|flash| flash.until.is_some())
        {
            self.flash = None;
        }
        self.next_action += 1;
        let id = ActionId(self.next_action);
        self.pending.insert(id, pending);
        id
    }

    /// Tells something for a while.
    pub fn note(&mut self, tone: Tone, text: impl Into<String>) {
        let until = Some(self.now.plus(std::time::Duration::from_secs(6)));
        self.flash = Some(Flash {
            tone,
            text: text.into(),
            until,
        });
    }

    /// Tells a failure, and keeps it.
    pub fn trouble(&mut self, text: impl Into<String>, hint: impl Into<String>) {
        let (text, hint) = (text.into(), hint.into());
        let line = if hint.is_empty() {
            text.clone()
        } else {
            format!("{text} ({hint})")
        };
        self.flash = Some(Flash {
            tone: Tone::Bad,
            text: line,
            until: None,
        });
        self.troubles.push_back(Trouble {
            at: self.now,
            text,
            hint,
        });
        while self.troubles.len() > TROUBLES_MAX {
            self.troubles.pop_front();
        }
    }

    /// Keeps a line of the executor.
    pub fn happened(&mut self, line: String) {
        self.log.push_back((self.now, line));
        while self.log.len() > LOG_MAX {
            self.log.pop_front();
        }
    }
}

/// The tables, to be changed.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct TablesMut<'a> {
    pub promotions: &'a mut Table<PromotionRow>,
    pub stages: &'a mut Table<StageRow>,
    pub freight: &'a mut Table<FreightRow>,
    pub requests: &'a mut Table<RequestRow>,
}
