//! A repository as large as a company's: many files, a long history, made in a moment by `git fast-import`.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::World;

/// A file of the large repository.
pub fn file(n: usize) -> String {
    format!("apps/a{:02}/f{n:04}/values.yaml", n % 50)
}

fn text(n: usize, tag: usize) -> String {
    format!("image:\n  name: app{n}\n  tag: v{tag}   # of {n}\nreplicas: 3\n")
}

/// A bare repository with this many files on main, and this many commits.
pub fn repository(world: &World, name: &str, files: usize, commits: usize) -> PathBuf {
    let bare = world.path().join(format!("{name}.git"));
    world.git(
        world.path(),
        &["init", "-q", "--bare", &bare.display().to_string()],
    );
    let mut stream = String::new();
    for commit in 0..commits.max(1) {
        let message = format!("change {commit}\n");
        write!(
            stream,
            "commit refs/heads/main\nmark :{}\ncommitter Test <test@example.com> {} +0000\ndata {}\n{message}",
            commit + 1,
            1_700_000_000 + commit * 60,
            message.len()
        )
        .unwrap();
        if commit > 0 {
            writeln!(stream, "from :{commit}").unwrap();
        }
        let changed = if commit == 0 {
            0..files
        } else {
            commit % files..commit % files + 1
        };
        for n in changed {
            let text = text(n, commit);
            write!(
                stream,
                "M 100644 inline {}\ndata {}\n{text}",
                file(n),
                text.len()
            )
            .unwrap();
        }
    }
    import(&bare, stream.as_bytes());
    bare
}

fn import(bare: &Path, stream: &[u8]) {
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(bare)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(child.wait().unwrap().success());
}
