//! Where tidewaiter keeps its files: mirrors in the cache, logs in the state folder, each overridable.

use std::path::{Path, PathBuf};

/// The folders of one user, by the XDG rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Mirrors and other things that can be made again.
    pub cache: PathBuf,
    /// Logs.
    pub state: PathBuf,
}

impl Folders {
    /// The folders of the process's user. `TIDEWAITER_CACHE_DIR` and `TIDEWAITER_STATE_DIR` win over
    /// `XDG_CACHE_HOME` and `XDG_STATE_HOME`, those over the home folder.
    pub fn of_user() -> Self {
        Self::from(|name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        })
    }

    fn from(get: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let home = get("HOME").unwrap_or_else(std::env::temp_dir);
        let folder = |own: &str, xdg: &str, below_home: &str| {
            get(own)
                .or_else(|| get(xdg).map(|base| base.join("tidewaiter")))
                .unwrap_or_else(|| home.join(below_home).join("tidewaiter"))
        };
        Self {
            cache: folder("TIDEWAITER_CACHE_DIR", "XDG_CACHE_HOME", ".cache"),
            state: folder("TIDEWAITER_STATE_DIR", "XDG_STATE_HOME", ".local/state"),
        }
    }

    /// Where the git mirrors are: with a local cluster beside its store, so that DIR is all there is.
    pub fn mirrors(&self, local: Option<&Path>) -> PathBuf {
        local.map_or_else(|| self.cache.join("mirrors"), |dir| dir.join("mirrors"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_variables_win_over_xdg_and_home() {
        let folders = |pairs: &'static [(&str, &str)]| {
            Folders::from(move |name| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| PathBuf::from(value))
            })
        };
        assert_eq!(
            folders(&[("HOME", "/h")]).cache,
            Path::new("/h/.cache/tidewaiter")
        );
        let given = folders(&[
            ("HOME", "/h"),
            ("XDG_CACHE_HOME", "/x"),
            ("TIDEWAITER_STATE_DIR", "/s"),
        ]);
        assert_eq!(
            (given.cache.as_path(), given.state.as_path()),
            (Path::new("/x/tidewaiter"), Path::new("/s"))
        );
        assert_eq!(
            given.mirrors(Some(Path::new("/d"))),
            Path::new("/d/mirrors")
        );
    }
}
