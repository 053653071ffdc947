//! A text of many lines, of which the window shows some.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    super::{state::Scroll, text, theme::Theme},
    put,
};

/// Lines of text, each with one style; made safe and wrapped as they are added.
#[derive(Clone, Debug)]
pub struct Page {
    width: usize,
    theme: Theme,
    lines: Vec<(String, Style)>,
}

impl Page {
    /// An empty page as wide as `width`.
    pub fn new(width: u16, theme: Theme) -> Self {
        Self {
            width: usize::from(width.saturating_sub(2)).max(1),
            theme,
            lines: Vec::new(),
        }
    }

    /// What the terminal can show.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Adds text, wrapped so that nothing of it is lost.
    pub fn text(&mut self, content: &str, style: Style) {
        self.indented("", content, style);
    }

    /// Adds text behind `lead`, which stands before its first line and leaves room before the others.
    pub fn indented(&mut self, lead: &str, content: &str, style: Style) {
        let taken = text::width(lead).min(self.width.saturating_sub(8));
        let pad = " ".repeat(taken);
        for (index, line) in text::wrap(content, self.width - taken, self.theme.ascii)
            .into_iter()
            .enumerate()
        {
            let lead = if index == 0 { lead } else { &pad };
            self.lines.push((format!("{lead}{line}"), style));
        }
    }

    /// Adds a line that says what follows.
    pub fn heading(&mut self, content: &str) {
        self.text(content, self.theme.strong());
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.lines.push((String::new(), Style::new()));
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Draws the lines from `scroll` on, and at the right edge how much is above and below.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, scroll: Scroll) {
        let height = usize::from(area.height);
        let last = self.lines.len().saturating_sub(height);
        let top = if scroll.follow {
            last
        } else {
            scroll.top.min(last)
        };
        for (y, (line, style)) in (area.y..).zip(self.lines.iter().skip(top).take(height)) {
            put(buffer, area, area.x + 1, y, line, *style);
        }
        let (up, down) = if self.theme.ascii {
            ("^", "v")
        } else {
            ("▲", "▼")
        };
        if area.width > 0 && area.height > 1 {
            let edge = area.right() - 1;
            if top > 0 {
                put(buffer, area, edge, area.y, up, self.theme.dim());
            }
            if top < last {
                put(
                    buffer,
                    area,
                    edge,
                    area.bottom() - 1,
                    down,
                    self.theme.dim(),
                );
            }
        }
    }
}
