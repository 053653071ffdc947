//! Logs: where they go and how verbose they are.
