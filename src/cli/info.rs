//! `info` and `man`: paths, versions, and what we are connected to; the manual page.

use clap::CommandFactory;
use serde_json::{Value, json};

use super::{
    Done, Exit, Failure,
    args::{Cli, Format, Global, Info},
    output, session,
};
use crate::{cluster::Setting, config::Folders, git::command};

/// Runs `info`. What cannot be reached is said as a line, not as a failure: this verb is for finding out.
pub async fn run(global: &Global, args: &Info) -> Done {
    let folders = Folders::of_user();
    let connection = session::connect(global).await;
    let git = command::Git::usual()
        .version()
        .await
        .map(|version| version.to_string());
    let (place, user, groups, error) = match &connection {
        Ok(connection) => {
            let setting = if connection.setting == Setting::Local {
                "local cluster"
            } else {
                "cluster"
            };
            let who = connection.who.clone();
            (
                format!("{setting}: {}", connection.place),
                who.name,
                who.groups,
                None,
            )
        }
        Err(failure) => (
            "not connected".to_owned(),
            String::new(),
            Vec::new(),
            Some(failure.sentence.clone()),
        ),
    };
    let facts = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "connected": place,
        "error": error,
        "user": user,
        "groups": groups,
        "project": global.namespace,
        "git": git.as_ref().map_or_else(ToString::to_string, Clone::clone),
        "mirrors": folders.mirrors(global.local.as_deref()),
        "log": folders.state.join("tidewaiter.log"),
    });
    let text = match args.output {
        Format::Json | Format::Yaml => output::document(&facts, args.output)?,
        _ => lines(&facts),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn lines(facts: &Value) -> String {
    let Some(map) = facts.as_object() else {
        return String::new();
    };
    map.iter()
        .filter_map(|(name, value)| {
            let value = match value {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                Value::Array(items) => items
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
                other => other.to_string(),
            };
            (!value.is_empty()).then(|| format!("{name:<10} {}\n", output::visible(&value)))
        })
        .collect()
}

/// The chapters of the manual that no flag tells.
const MANUAL: &str = include_str!("../../assets/manual.md");

/// Prints the manual page in roff: the commands from their definition, then the chapters.
pub fn manual() -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| {
            Failure::new(
                Exit::Failed,
                format!("cannot make the manual page: {error}"),
            )
        })?;
    output::print(&format!(
        "{}{}",
        String::from_utf8_lossy(&page),
        roff(MANUAL)
    ))?;
    Ok(Exit::Done)
}

/// The few forms of Markdown that the manual uses, as roff: headings, list items, paragraphs, code in backticks
/// or indented by four.
fn roff(markdown: &str) -> String {
    let mut page = String::new();
    for block in markdown.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(code) = block.strip_prefix("    ") {
            let code = code.replace('\\', "\\e").replace('-', "\\-");
            page.push_str(&format!(".RS 4\n.nf\n\\&{code}\n.fi\n.RE\n"));
            continue;
        }
        let (macro_name, text) = match (block.strip_prefix("# "), block.strip_prefix("- ")) {
            (Some(heading), _) => (".SH ", heading.to_uppercase()),
            (_, Some(item)) => (".IP \\(bu 2\n", item.to_owned()),
            _ => (".PP\n", block.to_owned()),
        };
        let text = text.replace('\\', "\\e").replace('-', "\\-");
        let mut bold = false;
        page.push_str(macro_name);
        for part in text.split('`') {
            page.push_str(if bold { "\\fB" } else { "" });
            page.push_str(part);
            page.push_str(if bold { "\\fR" } else { "" });
            bold = !bold;
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_becomes_a_page() {
        let page = roff("# One `two`\n\nA-b `c`\n- item\n\n    run -x\n");
        assert_eq!(
            page,
            ".SH ONE \\fBTWO\\fR\n.PP\nA\\-b \\fBc\\fR\n.IP \\(bu 2\nitem\n.RS 4\n.nf\n\\&run \\-x\n.fi\n.RE\n"
        );
        assert!(MANUAL.starts_with("# "));
    }

    #[test]
    fn the_manual_names_exactly_the_steps_that_there_are() {
        use crate::engine::step::Registry;
        let named = MANUAL
            .split_once("The steps are ")
            .and_then(|(_, rest)| rest.split_once(", with the names"))
            .map(|(named, _)| named.replace(" and ", ", "))
            .unwrap();
        let named: std::collections::BTreeSet<&str> = named.split(", ").collect();
        let kinds = crate::steps::registry().kinds();
        assert_eq!(named, kinds.iter().map(|kind| kind.as_str()).collect());
    }
}
