//! SSH: connections shared within a credential scope, keys in private files, the user's ways left alone.

use std::fs;

use tidewaiter::git::{
    credentials::{Credential, Login},
    mirror::Mirror,
    url::RepoUrl,
};

use crate::support::*;

/// An `ssh` that notes how it was called, shows a key that it is given, and runs the command here.
const SSH: &str = r#"
dir=$(dirname "$0")
case $1 in
-V) echo 'OpenSSH_9.2p1 fake' >&2; exit;;
-G) cat "$dir/ssh-config" 2>/dev/null; exit 0;;
esac
echo "$*" >> "$dir/calls"
for last; do
    if [ "$was" = -i ]; then stat -c '%a' "$last" >> "$dir/modes"; cat "$last" >> "$dir/keys"; fi
    was=$last
done
exec sh -c "$last"
"#;

struct Ssh {
    world: World,
    bin: std::path::PathBuf,
}

impl Ssh {
    fn new(extra: &[(&str, &str)]) -> Self {
        let mut world = World::new();
        let bin = world.dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        script(&bin.join("ssh"), SSH);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let env = extra.iter().copied().chain([("PATH", path.as_str())]);
        world.restart_with(env);
        Self { world, bin }
    }

    fn url(&self) -> RepoUrl {
        format!("ssh://git@h.example{}", self.world.remote())
            .parse()
            .unwrap()
    }

    async fn fetch(&self, credential: &Credential) -> std::sync::Arc<Mirror> {
        let mirror = self
            .world
            .mirrors
            .mirror(&self.url(), credential)
            .await
            .unwrap();
        for _ in 0..2 {
            let tips = mirror.fetch(&[branch("main")]).await.unwrap();
            assert_eq!(
                tips.get(&branch("main")).commit(),
                self.world.remote_tip("main").as_ref()
            );
        }
        mirror
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.bin.join("calls")).unwrap();
        fs::remove_file(self.bin.join("calls")).unwrap();
        calls.lines().map(str::to_owned).collect()
    }
}

fn control_path(call: &str) -> Option<&str> {
    call.split(' ')
        .find_map(|word| word.strip_prefix("ControlPath="))
}

fn key(scope: &str) -> Credential {
    Credential::Secret {
        scope: scope.to_owned(),
        login: Login::SshKey("KEY".to_owned()),
    }
}

#[tokio::test]
async fn a_scope_shares_its_connections_with_nobody_else() {
    let ssh = Ssh::new(&[]);
    ssh.fetch(&Credential::User).await;
    let user = ssh.calls();
    ssh.fetch(&key("a@1")).await;
    let a = ssh.calls();
    ssh.fetch(&key("b@1")).await;
    let b = ssh.calls();
    let paths: Vec<_> = [&user, &a, &b]
        .map(|calls| control_path(&calls[0]).unwrap())
        .into();
    for (calls, path) in [&user, &a, &b].into_iter().zip(&paths) {
        assert!(
            calls.len() >= 2 && calls.iter().all(|call| control_path(call) == Some(path)),
            "{calls:?}"
        );
        assert!(
            path.ends_with("/%C") && path.len() - 2 + 40 + 17 < 108,
            "{path}"
        );
    }
    assert!(
        paths[0] != paths[1] && paths[1] != paths[2] && paths[0] != paths[2],
        "{paths:?}"
    );
    assert!(!user[0].contains("IdentitiesOnly") && a[0].contains("IdentitiesOnly=yes"));
    assert!(
        a[0].starts_with("-F none "),
        "other keys of the user's configuration would be offered: {}",
        a[0]
    );
    let modes = fs::read_to_string(ssh.bin.join("modes")).unwrap();
    assert!(modes.lines().all(|mode| mode == "600"), "{modes}");
    assert!(
        fs::read_to_string(ssh.bin.join("keys"))
            .unwrap()
            .lines()
            .all(|line| line == "KEY")
    );
    let left = fs::read_dir(ssh.world.dir.path().join("more-mirrors/keys"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "key files go with their command");
}

#[tokio::test]
async fn the_users_own_sharing_is_left_alone() {
    let ssh = Ssh::new(&[]);
    fs::write(
        ssh.bin.join("ssh-config"),
        "controlmaster auto\ncontrolpath /home/u/cm\n",
    )
    .unwrap();
    ssh.fetch(&Credential::User).await;
    assert!(ssh.calls().iter().all(|call| control_path(call).is_none()));
    // A Secret's login must not come in by the user's connection.
    ssh.fetch(&key("a@1")).await;
    assert!(
        ssh.calls()
            .iter()
            .all(|call| control_path(call).is_some_and(|path| path != "/home/u/cm"))
    );
}

#[tokio::test]
async fn the_users_own_ssh_command_is_left_alone() {
    let ssh = Ssh::new(&[("GIT_SSH_COMMAND", "ssh -v"), ("GIT_SSH_VARIANT", "ssh")]);
    ssh.fetch(&Credential::User).await;
    assert!(
        ssh.calls()
            .iter()
            .all(|call| control_path(call).is_none() && call.starts_with("-v"))
    );
}
