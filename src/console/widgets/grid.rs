//! A table: a line of column names, rows, and the row under the cursor.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    super::{text, theme::Theme},
    put,
};

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub head: &'static str,
    /// Its columns on the screen; 0 takes what is left over.
    pub width: u16,
    /// Whether its texts stand at its right edge.
    pub right: bool,
    /// Whether the table is sorted by it, and from its other end.
    pub sorted: Option<bool>,
}

/// A column of fixed width; 0 takes what is left over.
pub fn column(head: &'static str, width: u16) -> Column {
    Column {
        head,
        width,
        right: false,
        sorted: None,
    }
}

/// What one row says in one column; made safe already.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Cell {
    pub text: String,
    pub style: Style,
}

impl Cell {
    /// Text without a style of its own.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            style: Style::new(),
        }
    }

    /// Text with a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

/// Takes from every column the room that neither its name nor any row in the window needs; the column that takes
/// what is left over gets it.
pub fn snug(columns: &mut [Column], rows: &[Vec<Cell>]) {
    for (index, column) in columns.iter_mut().enumerate() {
        let head = text::width(column.head) + usize::from(column.sorted.is_some());
        let widest = rows
            .iter()
            .filter_map(|row| row.get(index))
            .map(|cell| text::width(&cell.text))
            .fold(head, usize::max);
        column.width = column.width.min(u16::try_from(widest).unwrap_or(u16::MAX));
    }
}

/// Draws the table; `rows` are those in the window, `cursor` is one of them.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    columns: &[Column],
    rows: &[Vec<Cell>],
    cursor: Option<usize>,
) {
    let fixed: u16 = columns.iter().map(|column| column.width + 1).sum();
    let spare = area.width.saturating_sub(fixed + 1);
    let width = |column: &Column| {
        if column.width == 0 {
            spare
        } else {
            column.width
        }
    };
    let mut x = area.x + 1;
    for column in columns {
        let mark = match (column.sorted, theme.ascii) {
            (None, _) => "",
            (Some(false), false) => "↓",
            (Some(true), false) => "↑",
            (Some(false), true) => "v",
            (Some(true), true) => "^",
        };
        let head = Cell::styled(format!("{}{mark}", column.head), theme.strong());
        cell(
            buffer,
            area,
            (x, area.y),
            Column {
                width: width(column),
                ..*column
            },
            &head,
            theme.ascii,
        );
        x += width(column) + 1;
    }
    for (index, row) in rows.iter().enumerate() {
        let Some(y) = u16::try_from(index + 1)
            .ok()
            .map(|down| area.y + down)
            .filter(|y| *y < area.bottom())
        else {
            break;
        };
        let mut x = area.x + 1;
        for (column, content) in columns.iter().zip(row) {
            cell(
                buffer,
                area,
                (x, y),
                Column {
                    width: width(column),
                    ..*column
                },
                content,
                theme.ascii,
            );
            x += width(column) + 1;
        }
        if cursor == Some(index) {
            buffer.set_style(
                Rect {
                    x: area.x,
                    y,
                    width: area.width,
                    height: 1,
                },
                theme.cursor(),
            );
        }
    }
}

fn cell(
    buffer: &mut Buffer,
    area: Rect,
    (x, y): (u16, u16),
    column: Column,
    content: &Cell,
    ascii: bool,
) {
    let width = usize::from(column.width);
    let shown = text::cut(&content.text, width, ascii);
    let missing = width.saturating_sub(text::width(&shown));
    let indent = if column.right {
        u16::try_from(missing).unwrap_or_default()
    } else {
        0
    };
    put(buffer, area, x + indent, y, &shown, content.style);
}
