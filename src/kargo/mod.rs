//! Kargo's resources and ours as Rust types, with their names, labels and annotations.
//!
//! One file per kind. Reading is lenient (missing, null and unknown fields, unknown phases); writing is exact:
//! `schema` lists the kinds, and a test holds what we write against Kargo's own schemas.

pub mod approval;
pub mod artifact;
pub mod freight;
pub mod lenient;
pub mod meta;
pub mod name;
pub mod phase;
pub mod project;
pub mod project_config;
pub mod promotion;
pub mod resource;
pub mod schema;
pub mod stage;
pub mod step;
pub mod task;
pub mod time;
pub mod warehouse;

pub use approval::{Approval, ApprovalRequest};
pub use freight::Freight;
pub use name::{
    Alias, ApprovalName, FreightAlias, FreightName, ProjectName, PromotionName, RequestName,
    StageName, StepKind, Uid, WarehouseName,
};
pub use phase::{HealthState, Phase, StepStatus, VerificationPhase};
pub use project::Project;
pub use project_config::ProjectConfig;
pub use promotion::Promotion;
pub use stage::Stage;
pub use step::PromotionStep;
pub use task::{ClusterPromotionTask, PromotionTask};
pub use time::Timestamp;
pub use warehouse::Warehouse;
