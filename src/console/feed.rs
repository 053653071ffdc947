//! News of listed objects into the tables.

use super::{
    message::{Change, FeedEvent, FeedState, Kind},
    state::{State, Tables},
};

/// Takes in one piece of news.
pub fn apply(state: &mut State, event: FeedEvent) {
    let kind = match &event {
        FeedEvent::Promotions(_) => Kind::Promotions,
        FeedEvent::Stages(_) => Kind::Stages,
        FeedEvent::Freight(_) => Kind::Freight,
        FeedEvent::Requests(_) => Kind::Requests,
        FeedEvent::State(kind, _) => *kind,
    };
    let lists_done = matches!(
        event,
        FeedEvent::Promotions(Change::ListDone)
            | FeedEvent::Stages(Change::ListDone)
            | FeedEvent::Freight(Change::ListDone)
            | FeedEvent::Requests(Change::ListDone)
    );
    match event {
        FeedEvent::Promotions(change) => {
            state.tables.index.promotion(&change);
            let (view, tables) = state.split(kind);
            tables.promotions.apply(change, &view);
        }
        FeedEvent::Stages(change) => {
            state.tables.index.stages(&change);
            let (view, tables) = state.split(kind);
            tables.stages.apply(change, &view);
            let Tables { index, stages, .. } = &mut state.tables;
            if index.pipelines(stages) {
                reshape(state, kind);
            }
        }
        FeedEvent::Freight(change) => {
            state.tables.index.freight(&change);
            let (view, tables) = state.split(kind);
            tables.freight.apply(change, &view);
        }
        FeedEvent::Requests(change) => {
            let Tables {
                index, requests, ..
            } = &mut state.tables;
            index.request(&change, requests);
            let (view, tables) = state.split(kind);
            tables.requests.apply(change, &view);
        }
        FeedEvent::State(kind, feed) => {
            *state.feeds.get_mut(kind) = feed;
            return;
        }
    }
    if lists_done && *state.feeds.get(kind) == FeedState::Loading {
        *state.feeds.get_mut(kind) = FeedState::Live;
    }
    // Promotions are found and sorted by their Freight's alias, which may have come only now.
    if kind == Kind::Freight && lists_done {
        reshape(state, Kind::Promotions);
    }
}

/// Filters and sorts one table anew.
pub fn reshape(state: &mut State, kind: Kind) {
    let (view, tables) = state.split(kind);
    match kind {
        Kind::Promotions => tables.promotions.reshape(&view),
        Kind::Stages => tables.stages.reshape(&view),
        Kind::Freight => tables.freight.reshape(&view),
        Kind::Requests => tables.requests.reshape(&view),
    }
}

/// Filters and sorts every table anew.
pub fn reshape_all(state: &mut State) {
    for kind in [
        Kind::Promotions,
        Kind::Stages,
        Kind::Freight,
        Kind::Requests,
    ] {
        reshape(state, kind);
    }
}
