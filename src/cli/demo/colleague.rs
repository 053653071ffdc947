//! Somebody else with push access: changes files on a branch as any other writer would, with mirrors and a queue
//! that know nothing of the executor's.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::git::{
    branch::BranchName,
    command::{Git, GitSettings},
    commit::{HeaderKey, NewCommit, Person},
    counters::Counters,
    credentials::Credential,
    id::CommitId,
    land::{LandBudget, LandRequest, LandSettings, Landers, Member, NotPlaced, Placed},
    mirror::{Mirror, Mirrors},
    objects::Objects,
    path::RepoPath,
    tree::{Mode, Node, edit::Edits},
    url::RepoUrl,
};

/// What may go wrong in the demo's own git work.
pub type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Files by path; none deletes one.
pub type Files = Vec<(String, Option<String>)>;

/// The other writer.
pub struct Colleague {
    mirrors: Mirrors,
    landers: Landers,
    branch: BranchName,
}

impl Colleague {
    /// Keeps its mirrors in `dir`.
    pub fn new(dir: &Path) -> Result<Self, Trouble> {
        let git = Git::new(GitSettings::default(), Counters::default());
        Ok(Self {
            mirrors: Mirrors::open(dir, git)?,
            landers: Landers::new(LandSettings::default()),
            branch: "main".parse()?,
        })
    }

    async fn mirror(&self, repository: &Path) -> Result<Arc<Mirror>, Trouble> {
        let url: RepoUrl = repository.display().to_string().parse()?;
        Ok(self.mirrors.mirror(&url, &Credential::User).await?)
    }

    /// Commits `files` onto main and pushes it.
    pub async fn push(
        &self,
        repository: &Path,
        author: &str,
        message: &str,
        files: Files,
    ) -> Result<CommitId, Trouble> {
        let mirror = self.mirror(repository).await?;
        let header = HeaderKey {
            promotion_uid: "colleague".into(),
            step: ulid::Ulid::generate().to_string(),
        };
        let edit = Edit {
            objects: mirror.path().to_owned(),
            author: Person {
                name: author.to_owned(),
                email: format!("{}@example.com", author.to_lowercase()),
            },
            message: message.to_owned(),
            files,
            header: header.clone(),
        };
        let landed = self
            .landers
            .land(LandRequest {
                mirror,
                branch: self.branch.clone(),
                create: true,
                header,
                budget: LandBudget {
                    time: Duration::from_secs(60),
                    ..LandBudget::default()
                },
                member: Arc::new(edit),
                progress: None,
            })
            .await?;
        Ok(landed.head)
    }

    /// The commits on main, newest first, each with its message and whose it is.
    pub async fn history(&self, repository: &Path) -> Result<Vec<Seen>, Trouble> {
        let mirror = self.mirror(repository).await?;
        let tips = mirror.fetch(std::slice::from_ref(&self.branch)).await?;
        let objects = Objects::open(mirror.path())?;
        let mut next = tips.get(&self.branch).commit().cloned();
        let mut seen = Vec::new();
        while let Some(id) = next {
            let commit = objects.commit(&id)?;
            next = commit.parents.first().cloned();
            seen.push(Seen {
                message: commit.message.trim().to_owned(),
                header: commit.header,
            });
        }
        Ok(seen)
    }

    /// A file on main, as text.
    pub async fn read(&self, repository: &Path, path: &str) -> Result<Option<String>, Trouble> {
        let mirror = self.mirror(repository).await?;
        let tips = mirror.fetch(std::slice::from_ref(&self.branch)).await?;
        let objects = Objects::open(mirror.path())?;
        let tree = objects.tree_of(tips.get(&self.branch).commit())?;
        let crate::git::tree::Found::Node(node) = objects.find(&tree, &RepoPath::parse(path)?)?
        else {
            return Ok(None);
        };
        let Some(blob) = node.blob_id() else {
            return Ok(None);
        };
        Ok(Some(String::from_utf8(objects.read_blob(&blob)?)?))
    }
}

/// A commit as the demo's check sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its message.
    pub message: String,
    /// Whose it is.
    pub header: Option<HeaderKey>,
}

/// Puts files onto whatever the tip is.
struct Edit {
    objects: std::path::PathBuf,
    author: Person,
    message: String,
    files: Files,
    header: HeaderKey,
}

impl Edit {
    fn onto(&self, tip: Option<&CommitId>) -> Result<CommitId, Trouble> {
        let objects = Objects::open(&self.objects)?;
        let mut edits = Edits::new();
        for (path, content) in &self.files {
            let node = match content {
                Some(text) => Some(Node::leaf(
                    Mode::File,
                    &objects.write_blob(text.as_bytes())?,
                )?),
                None => None,
            };
            edits.put(&RepoPath::parse(path)?, node);
        }
        let tree = objects.edit(&objects.tree_of(tip)?, &edits)?;
        Ok(objects.make_commit(&NewCommit {
            parent: tip,
            tree: &tree,
            message: &self.message,
            author: &self.author,
            author_time: crate::kargo::Timestamp::now().as_second(),
            committer: &self.author,
            header: Some(&self.header),
        })?)
    }
}

#[async_trait]
impl Member for Edit {
    async fn place(&self, tip: Option<&CommitId>, _round: u32) -> Result<Placed, NotPlaced> {
        let commit = self.onto(tip).map_err(NotPlaced::Failed)?;
        Ok(Placed::Commits {
            commits: vec![commit],
            replayed: false,
        })
    }
}
