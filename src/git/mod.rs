//! Git without checkouts: objects through git2, network through the `git` command.
