//! Servers with rules: the one at fault is found, the others land, the words are kept.

use futures::future::join_all;
use tidewaiter::git::{
    land::{LandBudget, LandError, LandRequest, Landers},
    transport::Trouble,
    url::RepoUrl,
};

use crate::support::*;

const NO_SECRETS_PLEASE: &str = r#"
while read old new ref; do
    range="$old..$new"; case $old in 000000*) range=$new;; esac
    if git log --format=%s "$range" | grep -q FORBIDDEN; then
        echo 'policy 7: a message must not say that' >&2; exit 1
    fi
done"#;

#[tokio::test(flavor = "multi_thread")]
async fn one_refused_commit_does_not_take_the_batch_with_it() {
    let world = World::new();
    world.hook("pre-receive", NO_SECRETS_PLEASE);
    let (mirror, landers) = (world.mirror().await, Landers::default());
    let all = (0..20).map(|n| {
        let mut writer = writer(&mirror, &format!("f{n:02}"));
        if n == 13 {
            writer.message = "FORBIDDEN".to_owned();
        }
        landers.land(request(writer, "main"))
    });
    for (n, ended) in join_all(all).await.into_iter().enumerate() {
        match ended {
            Err(LandError::Refused { words, .. }) if n == 13 => {
                assert!(
                    words.contains("policy 7: a message must not say that"),
                    "{words}"
                );
            }
            Ok(_) if n != 13 => {}
            other => panic!("{n}: {other:?}"),
        }
    }
    assert_eq!(world.files("main").len(), 20);
    let counts = world.counts();
    assert_eq!((counts.refusals, counts.commits_landed), (1, 19));
    assert!(counts.pushes <= 14, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_branch_is_not_searched_for_the_one_at_fault() {
    let world = World::new();
    world.hook(
        "pre-receive",
        "echo 'GitLab: You are not allowed to push code to protected branches on this project.' >&2; exit 1",
    );
    let (mirror, landers) = (world.mirror().await, Landers::default());
    let all = (0..20).map(|n| landers.land(request(writer(&mirror, &format!("f{n:02}")), "main")));
    for ended in join_all(all).await {
        let Err(LandError::Refused { words, .. }) = ended else {
            panic!("{ended:?}")
        };
        assert!(words.contains("not allowed to push code"), "{words}");
    }
    assert!(world.counts().pushes <= 4, "{:?}", world.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stood_on_a_refused_member_tries_again_without_it() {
    let world = World::new();
    world.hook("pre-receive", NO_SECRETS_PLEASE);
    let (mirror, landers) = (world.mirror().await, Landers::default());
    let mut first = writer(&mirror, "first");
    first.before = Some(std::sync::Arc::new(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200))
    }));
    let mut bad = writer(&mirror, "bad");
    bad.message = "FORBIDDEN".to_owned();
    let mut after = writer(&mirror, "after");
    after.conflicts_with = Some("bad".to_owned());
    let ended =
        join_all([first, bad, after].map(|writer| landers.land(request(writer, "main")))).await;
    assert!(ended[0].is_ok() && ended[2].is_ok(), "{ended:?}");
    assert!(
        matches!(ended[1], Err(LandError::Refused { .. })),
        "{ended:?}"
    );
    assert_eq!(world.files("main"), ["README", "after", "first"]);
}

#[tokio::test]
async fn a_remote_that_is_not_there() {
    let world = World::new();
    let url: RepoUrl = "/nonexistent/r.git".parse().unwrap();
    let mirror = world
        .mirrors
        .mirror(&url, &tidewaiter::git::credentials::Credential::User)
        .await
        .unwrap();
    let error = Landers::default()
        .land(request(writer(&mirror, "a"), "main"))
        .await
        .unwrap_err();
    assert_eq!(
        error.trouble(),
        Some(Trouble::NotFound),
        "{}",
        whole(&error)
    );
}

#[tokio::test]
async fn passwords_stay_out_of_every_error() {
    let world = World::new();
    let url: RepoUrl = "http://u:s3cret@127.0.0.1:1/o/r".parse().unwrap();
    let mirror = world
        .mirrors
        .mirror(&url, &tidewaiter::git::credentials::Credential::User)
        .await
        .unwrap();
    let error = mirror.fetch(&[branch("main")]).await.unwrap_err();
    assert!(!whole(&error).contains("s3cret"), "{}", whole(&error));
    assert!(whole(&error).contains("127.0.0.1"), "{}", whole(&error));
    let budget = LandBudget {
        max_attempts: 2,
        time: std::time::Duration::from_millis(1500),
    };
    let error = Landers::default()
        .land(LandRequest {
            budget,
            ..request(writer(&mirror, "a"), "main")
        })
        .await
        .unwrap_err();
    assert!(!whole(&error).contains("s3cret"), "{}", whole(&error));
    assert!(!mirror.path().display().to_string().contains("s3cret"));
    assert!(!format!("{mirror:?}").contains("s3cret"));
    let config = std::fs::read_to_string(mirror.path().join("config")).unwrap();
    assert!(!config.contains("127.0.0.1"), "{config}");
}
