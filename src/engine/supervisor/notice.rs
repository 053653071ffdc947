//! What a change means to promotions that run or wait.

use super::PromotionKey;
use crate::{
    engine::port::Key,
    kargo::{Uid, promotion::AbortRequest},
};

/// One consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A person wants it to end.
    Abort(PromotionKey, AbortRequest),
    /// It is gone, or going; with its uid where it had not ended.
    Gone(PromotionKey, Option<Uid>),
    /// An answer to a question that is closed.
    Late(Key),
    /// A question whose Promotion is not known here, or is over.
    Orphan(Key),
    /// What it waits for may be there.
    Wake(PromotionKey),
}
