//! Who is asking: the OS user, or whom they act as.

use std::{process::Command, sync::OnceLock};

/// The requester as admission and audit see it. The uid is the OS user's number, none for most
/// users that are acted as.
pub type UserInfo = crate::rules::admission::User;

/// Whom to act as, as a command line says it: nobody else by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Another user's name.
    pub user: Option<String>,
    /// Groups to have instead of one's own.
    pub groups: Vec<String>,
}

impl Identity {
    /// The user to act as; none for oneself. Groups alone are had by oneself.
    pub(crate) fn user_of(&self, os_user: &UserInfo) -> Option<UserInfo> {
        let name = match &self.user {
            Some(name) => name.as_str(),
            None if self.groups.is_empty() => return None,
            None => os_user.name.as_str(),
        };
        let mut user = UserInfo::named(name);
        user.groups.splice(0..0, self.groups.iter().cloned());
        Some(user)
    }
}

/// Why the OS user could not be found out.
#[derive(Debug, thiserror::Error)]
#[error("asking the system who user {uid} is")]
pub struct UserError {
    uid: u32,
    #[source]
    source: std::io::Error,
}

/// What every authenticated requester of a cluster belongs to.
const AUTHENTICATED: &str = "system:authenticated";

impl UserInfo {
    /// A user by name alone, in the group of everybody who is authenticated.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            uid: None,
            groups: vec![AUTHENTICATED.to_owned()],
            impersonated_by: None,
        }
    }

    /// A service account, with the groups that Kubernetes gives it.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            uid: None,
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                AUTHENTICATED.to_owned(),
            ],
            impersonated_by: None,
        }
    }

    /// The account of the executor on a local cluster, which is the control plane there.
    #[must_use]
    pub fn executor() -> Self {
        Self::service_account("tidewaiter", "executor")
    }

    /// The user that runs this process, with the groups that `id` reports; asked once per process.
    ///
    /// # Errors
    /// When the `id` command cannot be run or does not know the user.
    pub fn of_process() -> Result<Self, UserError> {
        // Each asking starts three processes, and a start asks twice.
        static KNOWN: OnceLock<UserInfo> = OnceLock::new();
        if let Some(known) = KNOWN.get() {
            return Ok(known.clone());
        }
        let user = Self::of_uid(rustix::process::geteuid().as_raw())?;
        Ok(KNOWN.get_or_init(|| user).clone())
    }

    fn of_uid(uid: u32) -> Result<Self, UserError> {
        let name = id(uid, "-un")?.trim().to_owned();
        let mut groups = group_names(uid)?;
        groups.push(AUTHENTICATED.to_owned());
        Ok(Self {
            name,
            uid: Some(uid.to_string()),
            groups,
            impersonated_by: None,
        })
    }

    /// `self` acting as `other`: what a request with impersonation headers runs as.
    #[must_use]
    pub fn acting_as(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let mut acting = other.clone();
        if !acting.groups.iter().any(|g| g == AUTHENTICATED) {
            acting.groups.push(AUTHENTICATED.to_owned());
        }
        acting.impersonated_by = Some(
            self.impersonated_by
                .clone()
                .unwrap_or_else(|| self.name.clone()),
        );
        acting
    }
}

/// Group names may hold spaces (directory services): then the names cannot be told apart in the
/// output, and the numbers are asked for one by one.
fn group_names(uid: u32) -> Result<Vec<String>, UserError> {
    let numbers: Vec<String> = words(&id(uid, "-G")?);
    let names = words(&id(uid, "-Gn")?);
    if names.len() == numbers.len() {
        return Ok(names);
    }
    let table = std::fs::read_to_string("/etc/group").unwrap_or_default();
    Ok(numbers
        .into_iter()
        .map(|number| name_in_table(&table, &number).unwrap_or(number))
        .collect())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Looks a number up in text of the form of `/etc/group`: `name:password:number:members`.
fn name_in_table(table: &str, number: &str) -> Option<String> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    })
}

fn id(uid: u32, flag: &str) -> Result<String, UserError> {
    let failed = |source| UserError { uid, source };
    let output = Command::new("id")
        .arg(flag)
        .arg(uid.to_string())
        .env("LC_ALL", "C")
        .output()
        .map_err(failed)?;
    // `id -Gn` fails where one group has no name, yet prints the others' and that one's number.
    if output.stdout.is_empty() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(std::io::Error::other(words)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_a_name_and_groups() {
        let user = UserInfo::of_process().unwrap();
        assert!(!user.name.is_empty());
        assert!(user.groups.len() >= 2, "{user:?}");
    }

    #[test]
    fn a_group_is_found_by_number() {
        let table = "root:x:0:\ndomain users:x:513:ann,bob\n";
        assert_eq!(name_in_table(table, "513").as_deref(), Some("domain users"));
        assert_eq!(name_in_table(table, "51"), None);
    }

    #[test]
    fn acting_as_keeps_the_first_actor() {
        let ann = UserInfo::named("ann");
        let as_bob = ann.acting_as(&UserInfo::named("bob"));
        assert_eq!(as_bob.impersonated_by.as_deref(), Some("ann"));
        let as_cid = as_bob.acting_as(&UserInfo::named("cid"));
        assert_eq!(as_cid.impersonated_by.as_deref(), Some("ann"));
        assert_eq!(ann.acting_as(&ann), ann);
    }
}
