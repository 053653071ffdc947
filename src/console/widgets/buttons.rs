//! A row of buttons; the one that the cursor is on has brackets too, so that it can be told without reverse video.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{super::theme::Theme, put};

/// Draws the buttons in a line.
pub fn draw(buffer: &mut Buffer, area: Rect, theme: Theme, labels: &[&str], at: Option<usize>) {
    let mut x = area.x + 1;
    for (index, label) in labels.iter().enumerate() {
        let (text, style) = if at == Some(index) {
            (format!("[ {label} ]"), theme.cursor())
        } else {
            (format!("  {label}  "), Style::new())
        };
        x = put(buffer, area, x, area.y, &text, style) + 2;
    }
}
