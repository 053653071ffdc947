//! What makes a plain struct a Kubernetes resource.

/// Implements `kube::Resource` and a constructor for a struct with `api_version`, `kind` and `metadata` fields.
macro_rules! resource {
    ($type:ident, $group:literal, $plural:literal, $scope:ident) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($type).into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1alpha1".into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }

        impl $type {
            fn default_api_version() -> String {
                concat!($group, "/v1alpha1").to_owned()
            }
            fn default_kind() -> String {
                stringify!($type).to_owned()
            }

            /// `metadata.name`, empty where the server has not named it yet.
            pub fn name(&self) -> &str {
                self.metadata.name.as_deref().unwrap_or_default()
            }

            /// `metadata.namespace`, the Project; empty for cluster-scoped objects.
            pub fn project(&self) -> crate::kargo::ProjectName {
                self.metadata
                    .namespace
                    .as_deref()
                    .unwrap_or_default()
                    .into()
            }

            /// `metadata.uid`, empty where the object was never stored.
            pub fn uid(&self) -> crate::kargo::Uid {
                self.metadata.uid.as_deref().unwrap_or_default().into()
            }

            /// The value of an annotation.
            pub fn annotation(&self, key: &str) -> Option<&str> {
                self.metadata
                    .annotations
                    .as_ref()?
                    .get(key)
                    .map(String::as_str)
            }

            /// The value of a label.
            pub fn label(&self, key: &str) -> Option<&str> {
                self.metadata.labels.as_ref()?.get(key).map(String::as_str)
            }

            /// When the server stored it first.
            pub fn created_at(&self) -> Option<crate::kargo::Timestamp> {
                self.metadata
                    .creation_timestamp
                    .as_ref()
                    .map(|time| crate::kargo::Timestamp(time.0))
            }

            /// Whether it is on its way out (`deletionTimestamp` is set).
            pub fn is_deleting(&self) -> bool {
                self.metadata.deletion_timestamp.is_some()
            }
        }
    };
}

pub(crate) use resource;
