//! Where tidewaiter keeps its files, and the settings a person may change.
