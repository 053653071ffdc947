//! Who asks, and what they are told about themselves.

use super::Call;
use super::reply::{self, ReplyBody};
use super::route::IdentityReview;
use crate::local::status::ApiError;
use crate::local::user::UserInfo;
use http::{HeaderMap, Method, Response};
use serde_json::{Value, json};

const AS_USER: &str = "impersonate-user";
const AS_UID: &str = "impersonate-uid";
const AS_GROUP: &str = "impersonate-group";

/// The user behind a connection, or whom the request says to act as.
pub(super) fn of(user: &UserInfo, headers: &HeaderMap) -> Result<UserInfo, ApiError> {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .filter(|text| !text.is_empty())
            .collect()
    };
    let groups = all(AS_GROUP);
    let uid = all(AS_UID).into_iter().next();
    let Some(name) = all(AS_USER).into_iter().next() else {
        if groups.is_empty() && uid.is_none() {
            return Ok(user.clone());
        }
        return Err(ApiError::bad_request(
            "requested groups or uid to act as without a user to act as",
        ));
    };
    Ok(user.acting_as(&UserInfo {
        uid,
        groups,
        ..UserInfo::named(&name)
    }))
}

/// Headers that make a request act as a user.
pub(crate) fn act_as(user: &UserInfo, headers: &mut HeaderMap) -> Result<(), http::Error> {
    headers.insert(AS_USER, http::HeaderValue::from_str(&user.name)?);
    if let Some(uid) = &user.uid {
        headers.insert(AS_UID, http::HeaderValue::from_str(uid)?);
    }
    for group in &user.groups {
        headers.append(AS_GROUP, http::HeaderValue::from_str(group)?);
    }
    Ok(())
}

/// Answers a review: here everybody may do everything that admission does not refuse.
pub(super) fn review(call: &Call, what: IdentityReview) -> Result<Response<ReplyBody>, ApiError> {
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let mut review = call.json()?;
    let status = match what {
        IdentityReview::Who => json!({"userInfo": user_info(&call.user)}),
        IdentityReview::MayI | IdentityReview::MayThey => json!({
            "allowed": true,
            "reason": "a local cluster allows what admission does not refuse",
        }),
    };
    let map = review
        .as_object_mut()
        .ok_or_else(|| ApiError::bad_request("the body is not an object of Kubernetes"))?;
    map.insert("status".to_owned(), status);
    Ok(reply::json(201, review))
}

fn user_info(user: &UserInfo) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if let Some(map) = info.as_object_mut() {
        if let Some(uid) = &user.uid {
            map.insert("uid".to_owned(), uid.as_str().into());
        }
        if let Some(by) = &user.impersonated_by {
            map.insert("extra".to_owned(), json!({"impersonatedBy": [by]}));
        }
    }
    info
}
