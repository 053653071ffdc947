//! What a change means to promotions that run or wait.

use super::PromotionKey;
use crate::kargo::promotion::AbortRequest;

/// One consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A person wants it to end.
    Abort(PromotionKey, AbortRequest),
    /// It is gone, or going.
    Gone(PromotionKey),
    /// What it waits for may be there.
    Wake(PromotionKey),
}
