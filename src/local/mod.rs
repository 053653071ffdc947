//! The API server inside the process: routes, store, watches, patches, socket.
