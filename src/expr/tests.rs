//! Tests of the language as a whole. `peer` compares with other programs' tables.

mod language;
mod limits;
mod oracle;
mod peer;
mod peer_kargo;
mod prints;
