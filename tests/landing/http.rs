//! http: a Secret's password reaches the server by git's own helper protocol, and nobody else's does.

use std::fs;

use tidewaiter::git::{
    credentials::{Credential, Login},
    land::Landers,
    transport::Trouble,
    url::RepoUrl,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

use crate::support::*;

/// Refuses everybody, and tells which logins it was shown.
async fn closed_door() -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut chunk).await {
                    Ok(count @ 1..) => request.extend_from_slice(&chunk[..count]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&request).into_owned();
            let login = text
                .lines()
                .find_map(|l| l.strip_prefix("Authorization: "))
                .unwrap_or("none")
                .to_owned();
            sender.send(login).unwrap();
            let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\
                          Connection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (port, receiver)
}

fn seen(receiver: &mut mpsc::UnboundedReceiver<String>) -> Vec<String> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

/// A user with a helper, a `.netrc`, and a header of their own for every server.
fn world_of_a_user() -> World {
    let mut world = World::new();
    let home = world.dir.path().join("home");
    script(
        &home.join("helper"),
        "echo \"$1\" >> \"$(dirname \"$0\")/asked\"; cat >> \"$(dirname \"$0\")/told\"\n\
        test \"$1\" = get && printf 'username=me\\npassword=mine\\n'",
    );
    fs::write(home.join(".netrc"), "default login me password netrc\n").unwrap();
    let config = home.join(".gitconfig");
    let text = format!(
        "[credential]\n\thelper = {}\n",
        home.join("helper").display()
    );
    fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    world.restart_with([("GIT_CONFIG_GLOBAL", config.as_str())]);
    world
}

#[tokio::test]
async fn a_secret_goes_alone() {
    let world = world_of_a_user();
    let (port, mut logins) = closed_door().await;
    let url: RepoUrl = format!("http://127.0.0.1:{port}/o/r").parse().unwrap();
    let login = Login::Password {
        username: "u".into(),
        password: "s3cret".into(),
    };
    let credential = Credential::Secret {
        scope: "a@1".into(),
        login,
    };
    let mirror = world.mirrors.mirror(&url, &credential).await.unwrap();
    let error = Landers::default()
        .land(request(writer(&mirror, "a"), "main"))
        .await
        .unwrap_err();
    assert_eq!(
        error.trouble(),
        Some(Trouble::Unauthorised),
        "{}",
        whole(&error)
    );
    assert!(!whole(&error).contains("s3cret"), "{}", whole(&error));
    let logins = seen(&mut logins);
    let ours = "Basic dTpzM2NyZXQ=";
    assert!(
        logins.iter().all(|login| login == "none" || login == ours),
        "{logins:?}"
    );
    assert!(logins.iter().any(|login| login == ours), "{logins:?}");
    assert!(
        !world.dir.path().join("home/asked").exists(),
        "the user's helper was asked, or told our token"
    );
}

#[tokio::test]
async fn the_login_of_an_address_goes_alone_too() {
    let world = world_of_a_user();
    let (port, mut logins) = closed_door().await;
    let url: RepoUrl = format!("http://u:s3cret@127.0.0.1:{port}/o/r")
        .parse()
        .unwrap();
    let mirror = world.mirrors.mirror(&url, &Credential::User).await.unwrap();
    let error = mirror.fetch(&[branch("main")]).await.unwrap_err();
    assert!(!whole(&error).contains("s3cret"), "{}", whole(&error));
    assert!(seen(&mut logins).contains(&"Basic dTpzM2NyZXQ=".to_owned()));
    assert!(!world.dir.path().join("home/asked").exists());
}

#[tokio::test]
async fn the_users_own_helper_answers_for_the_user() {
    let world = world_of_a_user();
    fs::remove_file(world.dir.path().join("home/.netrc")).unwrap();
    let (port, mut logins) = closed_door().await;
    let url: RepoUrl = format!("http://127.0.0.1:{port}/o/r").parse().unwrap();
    let mirror = world.mirrors.mirror(&url, &Credential::User).await.unwrap();
    mirror.fetch(&[branch("main")]).await.unwrap_err();
    assert!(seen(&mut logins).contains(&"Basic bWU6bWluZQ==".to_owned()));
}
