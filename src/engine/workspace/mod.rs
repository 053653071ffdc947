//! The files that a promotion works on: git trees, mounted at paths.
