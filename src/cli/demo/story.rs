//! What happens in the demo. Played at once with `--plain`; paced for a person otherwise.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    sync::broadcast,
    time::{Instant, sleep},
};

use super::{
    colleague::Trouble,
    world::{World, mended, more_replicas},
};
use crate::{
    cli::executor::Happening,
    cluster::{
        Connection,
        act::{self, What},
        answer,
        find::{self, Scope},
    },
    kargo::{
        ApprovalRequest, FreightName, Phase, ProjectName, Promotion, StageName,
        approval::{Decision, RequestPhase},
    },
    rules::admission::User,
};

/// How long one deed may take before the story is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the story has come to when a person takes over.
struct Opening {
    prod: Promotion,
    uat: Promotion,
}

/// Prints one line per event until nobody tells any more.
pub async fn tell(mut happenings: broadcast::Receiver<Happening>) {
    let start = Instant::now();
    loop {
        match happenings.recv().await {
            Ok(happening) => println!(
                "{:>6.2}s  {}",
                start.elapsed().as_secs_f32(),
                happening.line()
            ),
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                println!("… {missed} events not shown")
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// All of it, with two people answering the gate.
pub async fn to_the_end(world: &World, connection: &Connection) -> Result<(), Trouble> {
    let opening = open(world, connection, Duration::ZERO).await?;
    expect(connection, &opening.uat, &Phase::Failed).await?;
    let retried = act::retry(&connection.client, &opening.uat).await?;
    expect(connection, &retried, &Phase::Succeeded).await?;
    answer_as(
        connection,
        &opening.prod,
        "bob",
        &["shop-owners"],
        "ship it 🚀\nsee you on Monday",
    )
    .await?;
    expect(connection, &opening.prod, &Phase::Succeeded).await
}

/// The opening at a person's pace, then new Freight from time to time; the person answers and retries.
pub async fn paced(world: World, connection: Connection, fresh: bool) {
    let told = async {
        if fresh {
            open(&world, &connection, Duration::from_secs(4)).await?;
        }
        for patch in 2..20 {
            sleep(Duration::from_secs(25)).await;
            let (tag, alias) = (
                format!("2.3.{patch}"),
                format!(
                    "{}-petrel",
                    WORDS.get(patch % WORDS.len()).unwrap_or(&"grey")
                ),
            );
            let freight = world
                .freight(&connection, "shop", "app", &tag, &alias)
                .await?;
            both_tests(&connection, &freight).await?;
        }
        Ok::<(), Trouble>(())
    };
    if let Err(trouble) = told.await {
        tracing::warn!("the demo's story stopped: {trouble}");
    }
}

const WORDS: &[&str] = &[
    "brisk", "amber", "still", "early", "plain", "swift", "north", "green",
];

async fn open(world: &World, connection: &Connection, pause: Duration) -> Result<Opening, Trouble> {
    let client = &connection.client;
    let shop = ProjectName::from("shop");
    let older = world
        .freight(connection, "shop", "app", "2.3.0", "calm-otter")
        .await?;
    let newer = world
        .freight(connection, "shop", "app", "2.3.1", "red-heron")
        .await?;

    // Production gets the older one by a manual approval, and waits for two people.
    let scope = Scope::Project(shop.clone());
    let stage = find::stage(client, &scope, &StageName::from("prod")).await?;
    act::approve_freight(
        client,
        &find::freight(client, &scope, older.as_str()).await?,
        &stage,
    )
    .await?;
    let prod = promote(connection, "prod", &older).await?;
    gate(connection, &prod).await?;
    sleep(pause).await;

    // Two Stages write to one branch at the same moment.
    let tests = both_tests(connection, &newer).await?;
    for promotion in &tests {
        expect(connection, promotion, &Phase::Succeeded).await?;
    }
    sleep(pause).await;

    // The other project promotes by itself as soon as there is Freight.
    world
        .freight(connection, "pay", "api", "1.4", "blue-finch")
        .await?;
    automatic(connection).await?;
    sleep(pause).await;

    // One fails: its file lacks the key. Then somebody mends the file.
    let uat = promote(connection, "uat", &newer).await?;
    expect(connection, &uat, &Phase::Failed).await?;
    sleep(pause).await;
    world
        .colleague
        .push(
            &world.platform(),
            "Cleo",
            "uat: the tag has a place",
            mended(),
        )
        .await?;

    // Somebody changes the very file that production's promotion has changed: only a replay can solve that.
    world
        .colleague
        .push(
            &world.platform(),
            "Cleo",
            "prod: four replicas",
            more_replicas(),
        )
        .await?;
    sleep(pause).await;
    answer_as(connection, &prod, "ann", &["platform-leads"], "looks fine").await?;
    Ok(Opening { prod, uat })
}

async fn promote(
    connection: &Connection,
    stage: &str,
    freight: &FreightName,
) -> Result<Promotion, Trouble> {
    let what = What::Freight(freight.clone());
    Ok(act::promote(
        &connection.client,
        &"shop".into(),
        &stage.into(),
        &what,
        BTreeMap::new(),
    )
    .await?)
}

async fn both_tests(
    connection: &Connection,
    freight: &FreightName,
) -> Result<[Promotion; 2], Trouble> {
    let (eu, us) = tokio::join!(
        promote(connection, "test-eu", freight),
        promote(connection, "test-us", freight)
    );
    Ok([eu?, us?])
}

/// Waits until `look` finds something.
async fn until<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T, Trouble>
where
    F: Future<Output = Result<Option<T>, Trouble>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if Instant::now() > end {
            return Err(format!("{what} did not come within {PATIENCE:?}").into());
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits for the end of a promotion and says whether it is the one that was expected.
async fn expect(
    connection: &Connection,
    promotion: &Promotion,
    phase: &Phase,
) -> Result<(), Trouble> {
    let scope = Scope::Project(promotion.project());
    let api = scope.api::<Promotion>(&connection.client);
    let ended = until(&format!("the end of {}", promotion.name()), || async {
        Ok(Some(api.get(promotion.name()).await?)
            .filter(|promotion| promotion.status.phase.is_terminal()))
    })
    .await?;
    if ended.status.phase == *phase {
        Ok(())
    } else {
        Err(format!(
            "{} is {} instead of {phase}: {}",
            ended.name(),
            ended.status.phase,
            ended.status.message
        )
        .into())
    }
}

/// Waits for the promotion that pay/uat makes by itself.
async fn automatic(connection: &Connection) -> Result<(), Trouble> {
    let scope = Scope::Project("pay".into());
    let made = until("the automatic promotion of pay/uat", || async {
        Ok(find::list::<Promotion>(&connection.client, &scope)
            .await?
            .into_iter()
            .next())
    })
    .await?;
    expect(connection, &made, &Phase::Succeeded).await
}

async fn gate(connection: &Connection, promotion: &Promotion) -> Result<ApprovalRequest, Trouble> {
    until(&format!("the gate of {}", promotion.name()), || async {
        let requests = find::requests_of(&connection.client, promotion).await?;
        Ok(requests
            .into_iter()
            .find(|request| request.status.phase == RequestPhase::Open))
    })
    .await
}

/// Answers a gate as somebody else: the local cluster lets its owner act for others, and records it.
async fn answer_as(
    connection: &Connection,
    promotion: &Promotion,
    user: &str,
    groups: &[&str],
    message: &str,
) -> Result<(), Trouble> {
    let request = gate(connection, promotion).await?;
    let other = connection
        .acting_as(user, groups)
        .ok_or("only a local cluster can be acted on as somebody else")?;
    let who: &User = &other.who;
    let digest = request.spec.change.digest.clone();
    answer::check(&other.client, &request, who, Decision::Approve, message).await?;
    let stored = answer::answer(
        &other.client,
        &request,
        who,
        Decision::Approve,
        &digest,
        message,
    )
    .await?;
    match answer::verdict(&connection.client, &stored, PATIENCE).await? {
        Some(status) if status.counted == Some(true) => Ok(()),
        other => Err(format!("the answer of {user} was not counted: {other:?}").into()),
    }
}
