//! The API server inside the process: Kubernetes' HTTP API over a store in one folder.
//!
//! What is above the HTTP layer cannot tell it from a cluster: [`LocalCluster::client`] gives an
//! ordinary `kube::Client`, [`attach`] the same from whichever process asks first.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `kinds` | the one table of resource kinds |
//! | `schema` | what a kind may contain: pruning, defaults, validation |
//! | `user`, `status` | who asks, and refusals in the form that clients read |
//! | `names`, `selector`, `object` | names and labels, selectors, reading object metadata |
//! | `store/` | objects in memory, their recent history, and the file that keeps them |
//! | `write/` | what a create, update, patch or delete makes of an object: pure |
//! | `http/` | routes, lists, watches, discovery: requests in, responses out |
//! | `admission`, `kargo_rules` | the door through which rules are asked, and Kargo's behind it |
//! | `background/` | what a cluster does by itself: garbage, namespaces, Projects |
//! | `cluster`, `place`, `socket`, `attach` | opening a folder, its paths and lock, its socket, joining either way |

mod admission;
mod attach;
mod background;
mod cluster;
mod http;
mod kargo_rules;
mod kinds;
mod names;
mod object;
mod place;
mod schema;
mod selector;
mod socket;
mod status;
mod store;
mod user;
mod write;

pub use admission::{Admission, AdmitAll, Denial, Operation, Review, View};
pub use attach::{AttachError, Attached, attach, attach_with, connect};
pub use cluster::{LocalCluster, Options};
pub use kargo_rules::KargoRules;
pub use schema::{Flaw, look_over};
pub use socket::{SocketError, SocketGuard};
pub use store::OpenError;
pub use user::{Identity, UserError, UserInfo};
