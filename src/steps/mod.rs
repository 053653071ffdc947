//! Promotion steps, one file per `uses`, and the registry that names them.

pub mod yaml;
