//! Pieces that screens and dialogs are drawn from.

pub mod buttons;
pub mod diff;
pub mod grid;
pub mod page;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

/// Draws `text` from (x, y) on, at most up to the right edge of `area`; gives the column after it.
pub fn put(buffer: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
    if x >= area.right() || y >= area.bottom() || y < area.top() {
        return x;
    }
    let (x, _) = buffer.set_stringn(x, y, text, usize::from(area.right() - x), style);
    x
}
