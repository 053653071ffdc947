//! Where things are in the window; shared by the drawing and by what scrolls.

use ratatui::layout::{Rect, Size};

use super::state::{Place, Screen, State};

/// Below this one line says that the window is too small.
pub const MIN: Size = Size {
    width: 40,
    height: 8,
};

/// The parts of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Parts {
    pub header: Rect,
    pub body: Rect,
    pub rule: Rect,
    pub footer: Rect,
}

/// The parts of a window of that size; none where it is too small for them.
pub fn parts(size: Size) -> Option<Parts> {
    if size.width < MIN.width || size.height < MIN.height {
        return None;
    }
    let line = |y| Rect {
        x: 0,
        y,
        width: size.width,
        height: 1,
    };
    Some(Parts {
        header: line(0),
        body: Rect {
            x: 0,
            y: 1,
            width: size.width,
            height: size.height - 3,
        },
        rule: line(size.height - 2),
        footer: line(size.height - 1),
    })
}

/// The parts of a Promotion's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PromotionParts {
    pub title: Rect,
    pub steps: Rect,
    pub rule: Rect,
    pub text: Rect,
}

/// The parts of a Promotion's screen: as many steps as there are, but at most half, and the rest for the text.
pub fn promotion(body: Rect, steps: usize) -> PromotionParts {
    let steps = steps.max(1);
    let most = (body.height.saturating_sub(2) / 2).max(1);
    let steps = u16::try_from(steps).unwrap_or(u16::MAX).min(most);
    let row = |y: u16, height: u16| Rect {
        y: body.y + y,
        height,
        ..body
    };
    PromotionParts {
        title: row(0, 1),
        steps: row(1, steps),
        rule: row(1 + steps, 1),
        text: row(2 + steps, body.height.saturating_sub(2 + steps)),
    }
}

/// How many steps a Promotion has, as far as is known.
pub fn steps(state: &State, key: &super::message::Key) -> usize {
    state
        .detail
        .of(key)
        .map_or(0, |detail| detail.promotion.spec.steps.len())
}

/// Rows of a table, or lines of a text, that the window shows at once.
pub fn page(state: &State) -> usize {
    let Some(parts) = parts(state.size) else {
        return 1;
    };
    let height = match (state.place(), state.screen()) {
        (Place::Promotions | Place::Approvals | Place::Stages | Place::Freight, _) => {
            parts.body.height - 1
        }
        (_, Screen::Promotion(open)) => promotion(parts.body, steps(state, &open.key)).text.height,
        _ => parts.body.height,
    };
    usize::from(height).max(1)
}
