//! `http-download`: a file from a server into the workspace. What came is kept, so that it is not asked for again.

use std::{io::Read, time::Duration};

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;

use super::{
    files,
    http::{
        BODY_MAX,
        answer::{self, Answer},
        client::{self, Answered, Request, SendError},
        config::{self, Pair},
        untrusted,
    },
    schema::{Object, Shape, some_text, text, typed},
};
use crate::{
    engine::{
        fetched::Kept,
        step::{Class, Files, Outcome, Step, StepCx, StepError},
        workspace::Kind,
    },
    git::{id::BlobId, objects::Objects, path::RepoPath},
    kargo::StepKind,
};

/// See the module.
pub struct HttpDownload;

/// The largest file, in bytes.
pub const FILE_MAX: u64 = 100 << 20;

const TIMEOUT: Duration = Duration::from_secs(300);

fn shape() -> Shape {
    Object::new()
        .required("url", some_text())
        .required("outPath", some_text())
        .optional("allowOverwrite", Shape::Flag)
        .optional("errorExpression", text())
        .optional("headers", config::pairs())
        .optional("queryParams", config::pairs())
        .optional("insecureSkipTLSVerify", Shape::Flag)
        .optional("timeout", config::duration())
        .into()
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    url: String,
    out_path: String,
    allow_overwrite: bool,
    error_expression: String,
    headers: Vec<Pair>,
    query_params: Vec<Pair>,
    #[serde(rename = "insecureSkipTLSVerify")]
    insecure_skip_tls_verify: bool,
    timeout: String,
}

impl Config {
    fn timeout(&self) -> Result<Duration, String> {
        config::span("timeout", &self.timeout, TIMEOUT)
    }

    fn request(&self) -> Result<Request, StepError> {
        Ok(Request {
            method: Method::GET,
            url: config::address(&self.url, &self.query_params)?,
            headers: config::headers(&self.headers)?,
            body: bytes::Bytes::new(),
            timeout: self.timeout().map_err(StepError::config)?,
            insecure: self.insecure_skip_tls_verify,
            proxy: None,
        })
    }
}

/// Goes through a file beside the store: many downloads at a time cost no memory.
async fn download(cx: &StepCx<'_>, config: &Config, request: &Request) -> Result<Kept, StepError> {
    let mut answered = client::send(request).await.map_err(failed)?;
    if !answered.status.is_success() {
        return Err(rejected(config, answered).await);
    }
    answered.fits(FILE_MAX, 0).map_err(failed)?;
    let unwritten =
        |error: std::io::Error| StepError::errored("cannot store the download").because(error);
    let beside = cx.fetched.store().parent().map(std::path::Path::to_owned);
    let file = tokio::task::spawn_blocking(move || {
        let beside = beside.unwrap_or_else(std::env::temp_dir);
        std::fs::create_dir_all(&beside).and_then(|()| tempfile::tempfile_in(&beside))
    });
    let file = file.await.map_err(|error| unwritten(error.into()))?;
    let mut file = tokio::fs::File::from_std(file.map_err(unwritten)?);
    let mut so_far = 0_u64;
    while let Some(piece) = answered.piece().await.map_err(failed)? {
        so_far = so_far.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        answered.fits(FILE_MAX, so_far).map_err(failed)?;
        file.write_all(&piece).await.map_err(unwritten)?;
    }
    file.flush().await.map_err(unwritten)?;
    let file = file.into_std().await;
    let store = move |objects: &Objects| {
        let blob = read_back(file).map(|bytes| objects.write_blob(&bytes));
        let blob = blob.map_err(unwritten)?;
        blob.map(Kept::Blob)
            .map_err(|error| StepError::errored("cannot store the download").because(error))
    };
    cx.fetched.put(request.url.as_str(), store).await
}

fn read_back(mut file: std::fs::File) -> std::io::Result<Vec<u8>> {
    use std::io::Seek;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a server means that does not give the file.
async fn rejected(config: &Config, answered: Answered) -> StepError {
    let (status, headers) = (answered.status, answered.headers.clone());
    let mut said = format!("HTTP request failed with status {status}");
    if !config.error_expression.is_empty() {
        let body = answered.body(BODY_MAX).await.unwrap_or_default();
        if let Ok(answer) = Answer::read(status, &headers, &body, "") {
            said = match answer.explained(said, &config.error_expression) {
                Ok(said) => said,
                Err(error) => return error,
            };
        }
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        StepError::transient(said)
    } else {
        StepError::errored(said)
    }
}

fn failed(error: SendError) -> StepError {
    match &error {
        SendError::Unusable { .. } => StepError::config(error.to_string()),
        SendError::TooLarge { limit, .. } => {
            StepError::failed(format!("download exceeds limit of {limit} bytes"))
        }
        SendError::Untrusted { .. } => untrusted(&error),
        SendError::Unreachable { .. } | SendError::NoAnswer { .. } => {
            StepError::transient(error.to_string())
        }
    }
}

async fn refuse_existing(files: &mut Files, at: &RepoPath) -> Result<(), StepError> {
    let at = at.clone();
    let look = files
        .edit(move |workspace| files::exists(workspace, &at, &format!("cannot download to {at}")));
    match look.await? {
        Kind::Absent => Ok(()),
        _ => Err(StepError::refused("file already exists")
            .hint("Set allowOverwrite: true to replace it")),
    }
}

#[async_trait]
impl Step for HttpDownload {
    fn kind(&self) -> StepKind {
        "http-download".into()
    }

    fn class(&self) -> Class {
        Class::Fetch
    }

    fn rests(&self) -> bool {
        true
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        if problems.is_empty()
            && let Ok(config) = typed::<Config>(config)
        {
            problems.extend(config.timeout().err());
        }
        problems
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        if !config.error_expression.is_empty() {
            answer::compiled("error expression", &config.error_expression)?;
        }
        let at = files::path("outPath", &config.out_path)?;
        let request = config.request()?;
        if !config.allow_overwrite {
            refuse_existing(cx.files, &at).await?;
        }
        let kept = match cx.fetched.get(request.url.as_str()).await? {
            Some(kept) => kept,
            None => download(&cx, &config, &request).await?,
        };
        let Kept::Blob(blob) = kept else {
            return Err(StepError::conflict(
                "what is kept of the download is no file",
            ));
        };
        let store = cx.fetched.store().to_owned();
        cx.files
            .edit(move |workspace| {
                let doing = format!("cannot write the download to {at}");
                let bytes = kept_bytes(&store, &blob)
                    .map_err(|error| StepError::transient(doing.clone()).because(error))?;
                workspace
                    .write(&at, &bytes, None)
                    .map_err(|error| files::failed(doing, error))
            })
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}

fn kept_bytes(
    store: &std::path::Path,
    blob: &BlobId,
) -> Result<Vec<u8>, crate::git::objects::ObjectsError> {
    Objects::open(store)?.read_blob(blob)
}

#[cfg(test)]
mod tests;
