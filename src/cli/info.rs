//! `info` and `man`: paths, versions, and what we are connected to; the manual page.

use clap::CommandFactory;
use serde_json::{Value, json};

use super::{Done, Exit, Failure, args::{Cli, Format, Global, Info}, output, session};
use crate::{cluster::Setting, config::Folders, git::command};

/// Runs `info`. What cannot be reached is said as a line, not as a failure: this verb is for finding out.
pub async fn run(global: &Global, args: &Info) -> Done {
    let folders = Folders::of_user();
    let connection = session::connect(global).await;
    let git = command::Git::locate().map(|git| git.version().to_string());
    let (place, user, groups, error) = match &connection {
        Ok(connection) => {
            let setting = if connection.setting == Setting::Local { "local cluster" } else { "cluster" };
            let who = connection.who.clone();
            (format!("{setting}: {}", connection.place), who.name, who.groups, None)
        }
        Err(failure) => ("not connected".to_owned(), String::new(), Vec::new(), Some(failure.sentence.clone())),
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
    let Some(map) = facts.as_object() else { return String::new() };
    map.iter()
        .filter_map(|(name, value)| {
            let value = match value {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                other => other.to_string(),
            };
            (!value.is_empty()).then(|| format!("{name:<10} {}\n", output::visible(&value)))
        })
        .collect()
}

/// Prints the manual page in roff.
pub fn manual() -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot make the manual page: {error}")))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}
