//! The demo's repositories and objects.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::colleague::{Colleague, Files, Trouble};
use crate::{
    cli::apply as documents,
    cluster::{
        Connection,
        apply::{self, Applied},
        find,
    },
    git::objects::Objects,
    kargo::FreightName,
};

const SHOP: &str = include_str!("../../../assets/demo/shop.yaml");
const PAY: &str = include_str!("../../../assets/demo/pay.yaml");

/// The demo's folder and who else writes to its repositories.
pub struct World {
    dir: PathBuf,
    operator: String,
    /// The other writer.
    pub colleague: Colleague,
}

impl World {
    /// The world kept in `dir`, with `operator` among those who may approve.
    pub fn open(dir: &Path, operator: &str) -> Result<Self, Trouble> {
        let colleague = Colleague::new(&dir.join("colleague"))?;
        Ok(Self {
            dir: dir.to_owned(),
            operator: operator.to_owned(),
            colleague,
        })
    }

    /// The monorepo.
    pub fn platform(&self) -> PathBuf {
        self.dir.join("repos/platform.git")
    }

    /// The site, where release notes go.
    pub fn site(&self) -> PathBuf {
        self.dir.join("repos/site.git")
    }

    /// Makes what is not there yet; false if everything was.
    pub async fn prepare(&self, connection: &Connection) -> Result<bool, Trouble> {
        if !find::projects(&connection.client).await?.is_empty() {
            return Ok(false);
        }
        for repository in [self.platform(), self.site()] {
            Objects::open_or_create(&repository)?;
        }
        self.colleague
            .push(
                &self.platform(),
                "Cleo",
                "The platform's values",
                platform_files(),
            )
            .await?;
        let readme = vec![(
            "README.md".to_owned(),
            Some("# What we released\n".to_owned()),
        )];
        self.colleague
            .push(&self.site(), "Cleo", "The site", readme)
            .await?;
        for text in [SHOP, PAY] {
            let text = text
                .replace("@PLATFORM@", &self.platform().display().to_string())
                .replace("@SITE@", &self.site().display().to_string())
                .replace("@OPERATOR@", &self.operator);
            for object in documents::parse(&text)? {
                apply::apply(&connection.client, object, None).await?;
            }
        }
        Ok(true)
    }

    /// Creates a piece of Freight with one image, as Kargo's Warehouse would, and returns its name.
    pub async fn freight(
        &self,
        connection: &Connection,
        project: &str,
        warehouse: &str,
        tag: &str,
        alias: &str,
    ) -> Result<FreightName, Trouble> {
        let object = json!({
            "apiVersion": "kargo.akuity.io/v1alpha1",
            "kind": "Freight",
            "metadata": { "generateName": "freight-", "namespace": project },
            "alias": alias,
            "origin": { "kind": "Warehouse", "name": warehouse },
            "images": [{ "repoURL": format!("registry.example.com/{project}/{warehouse}"), "tag": tag }],
        });
        match apply::apply(&connection.client, object, None).await? {
            Applied::Created(name) | Applied::Configured(name) | Applied::Unchanged(name) => {
                Ok(name.rsplit('/').next().unwrap_or(&name).into())
            }
        }
    }
}

/// Values of one environment; `tagged` is whether the key that the promotion sets is there.
fn values(replicas: u32, tagged: bool) -> String {
    let tag = if tagged {
        "\n  tag: 2.2.9   # keep equal to the chart"
    } else {
        ""
    };
    format!(
        "# Values of shop in one environment.\nimage:\n  name: registry.example.com/shop/app{tag}\n\nreplicas: {replicas}\nresources:\n  cpu: 100m\n  memory: 128Mi\n"
    )
}

/// The file of one environment of shop.
pub fn values_path(environment: &str) -> String {
    format!("apps/shop/{environment}/values.yaml")
}

fn platform_files() -> Files {
    let mut files: Files = ["test-eu", "test-us", "uat", "prod"]
        .iter()
        .map(|environment| {
            (
                values_path(environment),
                Some(values(2, *environment != "uat")),
            )
        })
        .collect();
    let kustomization = "# The payment API in user acceptance.\nresources:\n- ../base\nimages:\n- name: registry.example.com/pay/api\n  newTag: \"1.3\"   # set by promotion\n";
    files.push((
        "apps/pay/uat/kustomization.yaml".into(),
        Some(kustomization.into()),
    ));
    files.push((
        "README.md".into(),
        Some("# Platform\n\nOne branch, many writers.\n".into()),
    ));
    files
}

/// The file that makes the promotion to uat work.
pub fn mended() -> Files {
    vec![(values_path("uat"), Some(values(2, true)))]
}

/// A change of the same file that the gate's promotion changes, in another place.
pub fn more_replicas() -> Files {
    vec![(values_path("prod"), Some(values(4, true)))]
}
