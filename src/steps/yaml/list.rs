//! Adding and removing entries, for `kustomize-set-image`.
