//! The one table of resource kinds: everything the server knows about a kind is here or derived
//! from its Rust type.

/// A resource kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// API group, empty for core.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// `/status` exists: it and the main resource ignore each other's half.
    pub(crate) status: bool,
    /// Whether objects count their generation; core kinds here do not.
    pub(crate) generation: bool,
    /// Whether a PUT may come without a resourceVersion.
    pub(crate) unconditional_put: bool,
    pub(crate) name_rule: NameRule,
}

/// What a name of a kind may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Labels joined by dots, 253 characters.
    Subdomain,
    /// One label, 63 characters.
    Label,
}

/// Position in [`KINDS`]: the part of a key that says which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KindId(u16);

impl KindId {
    /// The id that sorts right after this one, for the end of a range.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

const KARGO: &str = "kargo.akuity.io";
const OURS: &str = "tidewaiter.dev";
const ALPHA: &str = "v1alpha1";

const CUSTOM: Kind = Kind {
    group: KARGO,
    version: ALPHA,
    plural: "",
    singular: "",
    kind: "",
    short_names: &[],
    namespaced: true,
    status: true,
    generation: true,
    unconditional_put: false,
    name_rule: NameRule::Subdomain,
};

const CORE: Kind = Kind {
    group: "",
    version: "v1",
    status: false,
    generation: false,
    unconditional_put: true,
    ..CUSTOM
};

/// Every kind that is served.
pub(crate) static KINDS: &[Kind] = &[
    Kind {
        plural: "projects",
        singular: "project",
        kind: "Project",
        namespaced: false,
        // A Project's name becomes a namespace's.
        name_rule: NameRule::Label,
        ..CUSTOM
    },
    Kind {
        plural: "projectconfigs",
        singular: "projectconfig",
        kind: "ProjectConfig",
        ..CUSTOM
    },
    Kind {
        plural: "warehouses",
        singular: "warehouse",
        kind: "Warehouse",
        ..CUSTOM
    },
    Kind {
        plural: "freights",
        singular: "freight",
        kind: "Freight",
        ..CUSTOM
    },
    Kind {
        plural: "stages",
        singular: "stage",
        kind: "Stage",
        ..CUSTOM
    },
    Kind {
        plural: "promotions",
        singular: "promotion",
        kind: "Promotion",
        short_names: &["promo", "promos"],
        ..CUSTOM
    },
    Kind {
        plural: "promotiontasks",
        singular: "promotiontask",
        kind: "PromotionTask",
        short_names: &["promotask", "promotasks"],
        status: false,
        ..CUSTOM
    },
    Kind {
        plural: "clusterpromotiontasks",
        singular: "clusterpromotiontask",
        kind: "ClusterPromotionTask",
        short_names: &["clusterpromotask", "clusterpromotasks"],
        namespaced: false,
        status: false,
        ..CUSTOM
    },
    Kind {
        group: OURS,
        plural: "approvalrequests",
        singular: "approvalrequest",
        kind: "ApprovalRequest",
        ..CUSTOM
    },
    Kind {
        group: OURS,
        plural: "approvals",
        singular: "approval",
        kind: "Approval",
        ..CUSTOM
    },
    Kind {
        group: "argoproj.io",
        plural: "applications",
        singular: "application",
        kind: "Application",
        short_names: &["app", "apps"],
        status: false,
        ..CUSTOM
    },
    Kind {
        plural: "namespaces",
        singular: "namespace",
        kind: "Namespace",
        short_names: &["ns"],
        namespaced: false,
        status: true,
        name_rule: NameRule::Label,
        ..CORE
    },
    Kind {
        plural: "secrets",
        singular: "secret",
        kind: "Secret",
        ..CORE
    },
    Kind {
        plural: "configmaps",
        singular: "configmap",
        kind: "ConfigMap",
        short_names: &["cm"],
        ..CORE
    },
    Kind {
        plural: "events",
        singular: "event",
        kind: "Event",
        short_names: &["ev"],
        ..CORE
    },
    Kind {
        plural: "serviceaccounts",
        singular: "serviceaccount",
        kind: "ServiceAccount",
        short_names: &["sa"],
        ..CORE
    },
    Kind {
        group: "coordination.k8s.io",
        plural: "leases",
        singular: "lease",
        kind: "Lease",
        unconditional_put: false,
        ..CORE
    },
];

impl Kind {
    /// `promotions.kargo.akuity.io`, or `secrets` for core kinds.
    pub(crate) fn resource(&self) -> String {
        dotted(self.plural, self.group)
    }

    /// `Promotion.kargo.akuity.io`, or `Secret` for core kinds.
    pub(crate) fn group_kind(&self) -> String {
        dotted(self.kind, self.group)
    }

    /// `kargo.akuity.io/v1alpha1`, or `v1` for core kinds.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.plural == "namespaces"
    }
}

fn dotted(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

/// All kinds with their ids.
pub(crate) fn all() -> impl Iterator<Item = (KindId, &'static Kind)> {
    KINDS
        .iter()
        .zip(0u16..)
        .map(|(kind, position)| (KindId(position), kind))
}

/// The kind of an id.
pub(crate) fn by_id(id: KindId) -> Option<&'static Kind> {
    KINDS.get(usize::from(id.0))
}

/// The kind served at a group, version and plural.
pub(crate) fn by_plural(
    group: &str,
    version: &str,
    plural: &str,
) -> Option<(KindId, &'static Kind)> {
    all().find(|(_, k)| k.group == group && k.version == version && k.plural == plural)
}

/// The kind of a plural alone: plurals are unique in the table (a test holds it).
pub(crate) fn by_plural_alone(plural: &str) -> Option<(KindId, &'static Kind)> {
    all().find(|(_, k)| k.plural == plural)
}

/// The kind that an `apiVersion` and `kind` name, as owner references do.
pub(crate) fn by_kind(api_version: &str, kind: &str) -> Option<(KindId, &'static Kind)> {
    all().find(|(_, k)| k.kind == kind && k.api_version() == api_version)
}

/// The kind of a resource name such as `promotions.kargo.akuity.io`.
pub(crate) fn by_resource(resource: &str) -> Option<(KindId, &'static Kind)> {
    all().find(|(_, k)| k.resource() == resource)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn plurals_and_short_names_are_unique() {
        let plurals: BTreeSet<_> = KINDS.iter().map(|k| k.plural).collect();
        assert_eq!(plurals.len(), KINDS.len());
        let shorts: Vec<_> = KINDS.iter().flat_map(|k| k.short_names).collect();
        assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
    }

    #[test]
    fn resource_names_lead_back_to_the_kind() {
        for (id, kind) in all() {
            assert_eq!(by_resource(&kind.resource()).map(|(i, _)| i), Some(id));
            assert_eq!(
                by_kind(&kind.api_version(), kind.kind).map(|(i, _)| i),
                Some(id)
            );
        }
    }
}
