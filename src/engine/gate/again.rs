//! Back to a gate whose answers were given for another change.

use serde_json::Value;

use crate::{
    engine::{
        journal::{GateRecord, Replayed},
        replay::Again,
        runner::{Flow, Runner, Stopped},
        tools::What,
        workspace::{Mount, WorkspaceState},
    },
    kargo::{Alias, StepStatus, Timestamp},
};

impl Runner {
    /// A push found that the change is another one now: back to the gate that asked about it, with the files as they
    /// are on the new base.
    pub(in crate::engine) async fn back_to_gate(
        &mut self,
        push: &Alias,
        gate: &Alias,
        again: Again,
    ) -> Result<Flow, Stopped> {
        let why = "the branch moved, and the change is another one now";
        let at = self
            .course
            .steps
            .iter()
            .position(|step| step.alias == *gate)
            .unwrap_or(0);
        let undone: Vec<Alias> = self
            .course
            .steps
            .iter()
            .skip(at)
            .map(|step| step.alias.clone())
            .collect();
        // Later gates, too: what they asked about is undone.
        let mut rounds = std::collections::BTreeMap::new();
        for alias in &undone {
            if let Some(gate) = self
                .ledger
                .journal
                .steps
                .get(alias)
                .and_then(|s| s.gate.as_ref())
            {
                rounds.insert(alias.clone(), gate.round);
                self.withdraw(alias, why).await;
            }
        }
        let now = Timestamp::now();
        self.ledger
            .status
            .step_execution_metadata
            .retain(|entry| !undone.contains(&entry.alias) || entry.alias == *gate);
        let entry = self.entry(gate);
        entry.status = Some(StepStatus::Running);
        entry.finished_at = None;
        entry.message = format!("asks again: {why}");
        let mut state = self.ledger.status.state_map();
        state.extend(again.outputs);
        for alias in &undone {
            state.remove(alias.as_str());
            self.journal().steps.remove(alias);
        }
        self.ledger.status.state = Some(Value::Object(state));
        let record = self.journal().step(gate);
        record.ran = Some(true);
        record.clock = Some(now);
        for (alias, round) in rounds {
            self.journal().step(&alias).gate = Some(GateRecord {
                again: why.to_owned(),
                round,
                ..GateRecord::default()
            });
        }
        self.rebased(&again.state);
        self.journal().note_replay(Replayed {
            step: push.clone(),
            reason: why.to_owned(),
            ..Replayed::default()
        });
        self.journal().workspace = Some(again.state);
        self.touch();
        self.write().await?;
        self.tell(Some(gate), What::GateNews(why.to_owned()));
        Ok(Flow::Back(gate.clone()))
    }

    /// What clones are recorded to have found is what the files stand on now.
    fn rebased(&mut self, state: &WorkspaceState) {
        for record in self.ledger.journal.steps.values_mut() {
            for found in &mut record.found {
                let of =
                    |mount: &&Mount| mount.mirror == found.mirror && mount.branch == found.branch;
                if let (Some(mount), Some(_)) = (state.mounts.iter().find(of), &found.branch) {
                    found.commit.clone_from(&mount.base);
                }
            }
        }
    }
}
