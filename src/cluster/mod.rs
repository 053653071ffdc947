//! Everything said to Kubernetes: connect, watch, act, identity and permissions, lease.
