//! The kinds that this program defines as types, each with its schema: what a server would keep, and prune.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};

use super::{
    Approval, ApprovalRequest, ClusterPromotionTask, Freight, Project, ProjectConfig, Promotion,
    PromotionTask, Stage, Warehouse,
};

/// One kind, as the API server's tables need it.
pub struct Kind {
    /// API group.
    pub group: &'static str,
    /// `Promotion`.
    pub kind: &'static str,
    /// `promotions`.
    pub plural: &'static str,
    /// Other names that people type.
    pub short_names: &'static [&'static str],
    /// Whether objects live in a Project's namespace.
    pub namespaced: bool,
    /// Whether `/status` is a subresource.
    pub has_status: bool,
    /// The schema of the whole object; `serde_json::Value` places accept anything.
    pub schema: fn() -> Schema,
}

fn schema_of<T: schemars::JsonSchema>() -> Schema {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    SchemaGenerator::new(settings).into_root_schema_for::<T>()
}

macro_rules! kind {
    ($type:ident, $group:expr, $plural:literal, $short:expr, $namespaced:literal, $status:literal) => {
        Kind {
            group: $group,
            kind: stringify!($type),
            plural: $plural,
            short_names: $short,
            namespaced: $namespaced,
            has_status: $status,
            schema: schema_of::<$type>,
        }
    };
}

/// All of them.
pub const KINDS: &[Kind] = &[
    kind!(Project, "kargo.akuity.io", "projects", &[], false, true),
    kind!(
        ProjectConfig,
        "kargo.akuity.io",
        "projectconfigs",
        &[],
        true,
        true
    ),
    kind!(Warehouse, "kargo.akuity.io", "warehouses", &[], true, true),
    kind!(Freight, "kargo.akuity.io", "freights", &[], true, true),
    kind!(Stage, "kargo.akuity.io", "stages", &[], true, true),
    kind!(
        Promotion,
        "kargo.akuity.io",
        "promotions",
        &["promo", "promos"],
        true,
        true
    ),
    kind!(
        PromotionTask,
        "kargo.akuity.io",
        "promotiontasks",
        &["promotask", "promotasks"],
        true,
        false
    ),
    kind!(
        ClusterPromotionTask,
        "kargo.akuity.io",
        "clusterpromotiontasks",
        &["clusterpromotask", "clusterpromotasks"],
        false,
        false
    ),
    kind!(
        ApprovalRequest,
        "tidewaiter.dev",
        "approvalrequests",
        &["requests"],
        true,
        true
    ),
    kind!(Approval, "tidewaiter.dev", "approvals", &[], true, true),
];

#[cfg(test)]
mod tests;
