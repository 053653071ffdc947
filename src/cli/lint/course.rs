//! The objects that are checked, and the steps of a Stage in order, with tasks in the place of the steps that name
//! them.

use super::source::{Node, Source};

/// The kinds that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Stage,
    PromotionTask,
    ClusterPromotionTask,
}

impl Kind {
    /// The kind that these two name, if it is one of ours.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        if !api_version.starts_with("kargo.akuity.io/") {
            return None;
        }
        [Self::Stage, Self::PromotionTask, Self::ClusterPromotionTask]
            .into_iter()
            .find(|known| known.name() == kind)
    }

    /// As objects say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage => "Stage",
            Self::PromotionTask => "PromotionTask",
            Self::ClusterPromotionTask => "ClusterPromotionTask",
        }
    }
}

/// An object in a file.
#[derive(Debug)]
pub struct Object<'s> {
    /// The file.
    pub source: &'s Source,
    /// All of it.
    pub node: &'s Node,
    /// Which kind.
    pub kind: Kind,
    /// What stands before its fields' paths: `items[2].` in a List.
    pub within: String,
}

impl<'s> Object<'s> {
    fn name(&self) -> &'s str {
        self.node.text_at(&["metadata", "name"])
    }

    fn namespace(&self) -> &'s str {
        self.node.text_at(&["metadata", "namespace"])
    }

    /// For people.
    pub fn label(&self) -> String {
        let (kind, name, namespace) = (self.kind.name(), self.name(), self.namespace());
        if namespace.is_empty() {
            format!("{kind} {name}")
        } else {
            format!("{kind} {namespace}/{name}")
        }
    }

    /// Where its steps are.
    fn steps_way(&self) -> (&'static [&'static str], &'static str) {
        match self.kind {
            Kind::Stage => (
                &["spec", "promotionTemplate", "spec"],
                "spec.promotionTemplate.spec.",
            ),
            _ => (&["spec"], "spec."),
        }
    }

    /// Its steps as they are written.
    pub fn steps(&self) -> &'s [Node] {
        let (way, _) = self.steps_way();
        let body = way.iter().try_fold(self.node, |node, name| node.get(name));
        body.and_then(|body| body.get("steps"))
            .map_or(&[], Node::items)
    }

    /// The path of a step.
    pub fn step_field(&self, index: usize) -> String {
        format!("{}{}steps[{index}]", self.within, self.steps_way().1)
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its value, where it has one.
    pub value: Option<&'s Node>,
    /// The object that it stands in.
    pub object: &'s Object<'s>,
    /// Its path there.
    pub field: String,
}

/// A step where a Promotion has it.
#[derive(Clone, Debug)]
pub struct Step<'s> {
    /// The object that it stands in.
    pub object: &'s Object<'s>,
    /// As it is written.
    pub node: &'s Node,
    /// Its path there.
    pub field: String,
    /// Its alias in the Promotion.
    pub alias: String,
    /// A task that is not known stands here.
    pub opaque: bool,
    /// Its variables, in the order of their evaluation.
    pub vars: Vec<Var<'s>>,
}

impl<'s> Step<'s> {
    /// The step kind.
    pub fn uses(&self) -> &'s str {
        self.node.text_at(&["uses"])
    }

    /// The configuration.
    pub fn config(&self) -> Option<&'s Node> {
        self.node.get("config").filter(|config| !config.is_null())
    }

    /// The condition.
    pub fn condition(&self) -> Option<&'s Node> {
        let found = self.node.get("if")?;
        found
            .text()
            .is_some_and(|text| !text.is_empty())
            .then_some(found)
    }

    /// Namespace and name of the alias.
    pub fn split(&self) -> (&str, &str) {
        self.alias.split_once("::").unwrap_or(("", &self.alias))
    }

    /// Whether its failure does not count.
    pub fn continues(&self) -> bool {
        self.node
            .get("continueOnError")
            .is_some_and(|node| node.json() == true)
    }
}

/// A task's variable that nobody gives.
#[derive(Debug)]
pub struct NotGiven<'s> {
    /// The step that names the task.
    pub step: Step<'s>,
    /// The variable.
    pub variable: &'s str,
    /// The task.
    pub task: String,
}

/// What a Promotion would run.
#[derive(Debug)]
pub struct Course<'s> {
    /// The Stage, or a task by itself.
    pub of: &'s Object<'s>,
    /// The Promotion's variables in order.
    pub vars: Vec<Var<'s>>,
    /// The steps in order.
    pub steps: Vec<Step<'s>>,
    /// The aliases of steps that name a known task.
    pub tasks: Vec<String>,
    /// What tasks lack.
    pub not_given: Vec<NotGiven<'s>>,
    /// A task by itself: what surrounds it is not known.
    pub alone: bool,
}

fn vars<'s>(object: &'s Object<'s>, holder: Option<&'s Node>, field: &str) -> Vec<Var<'s>> {
    let list = holder.and_then(|holder| holder.get("vars"));
    let items = list.map_or(&[][..], Node::items).iter().enumerate();
    items
        .map(|(index, item)| Var {
            name: item.text_at(&["name"]),
            value: item.get("value").filter(|value| !value.is_null()),
            object,
            field: format!("{}{field}vars[{index}].value", object.within),
        })
        .collect()
}

fn step<'s>(object: &'s Object<'s>, index: usize, node: &'s Node) -> Step<'s> {
    let field = object.step_field(index);
    let word = if node.get("task").is_some() {
        "task"
    } else {
        "step"
    };
    let alias = node.text_at(&["as"]).trim();
    let within = field.strip_prefix(&*object.within).unwrap_or(&field);
    Step {
        object,
        node,
        alias: if alias.is_empty() {
            format!("{word}-{}", index + 1)
        } else {
            alias.to_owned()
        },
        opaque: false,
        vars: vars(object, Some(node), &format!("{within}.")),
        field,
    }
}

/// The steps of a Stage; the tasks that it uses are marked in `used`.
pub fn of_stage<'s>(
    stage: &'s Object<'s>,
    tasks: &'s [Object<'s>],
    used: &mut [bool],
) -> Course<'s> {
    let spec = stage.node.get("spec");
    let template = spec
        .and_then(|spec| spec.get("promotionTemplate"))
        .and_then(|template| template.get("spec"));
    let mut course = Course {
        of: stage,
        vars: vars(stage, spec, "spec."),
        steps: Vec::new(),
        tasks: Vec::new(),
        not_given: Vec::new(),
        alone: false,
    };
    course
        .vars
        .extend(vars(stage, template, "spec.promotionTemplate.spec."));
    for (index, node) in stage.steps().iter().enumerate() {
        let outer = step(stage, index, node);
        let Some(reference) = node.get("task") else {
            course.steps.push(outer);
            continue;
        };
        let found = tasks.iter().position(|task| names(reference, stage, task));
        match found.and_then(|at| Some((tasks.get(at)?, used.get_mut(at)?))) {
            Some((task, used)) => {
                *used = true;
                course.put(&outer, task);
            }
            None => course.steps.push(Step {
                opaque: true,
                ..outer
            }),
        }
    }
    course
}

/// Whether the reference means this task.
fn names(reference: &Node, stage: &Object<'_>, task: &Object<'_>) -> bool {
    let kind = reference.text_at(&["kind"]);
    let kind = if kind.is_empty() {
        "PromotionTask"
    } else {
        kind
    };
    let here = task.kind == Kind::ClusterPromotionTask
        || task.namespace().is_empty()
        || stage.namespace().is_empty()
        || task.namespace() == stage.namespace();
    task.kind.name() == kind && task.name() == reference.text_at(&["name"]) && here
}

/// The steps of a task that no Stage among the files uses.
pub fn of_task<'s>(task: &'s Object<'s>) -> Course<'s> {
    let defaults = vars(task, task.node.get("spec"), "spec.");
    let steps = task.steps().iter().enumerate().map(|(index, node)| {
        let inner = step(task, index, node);
        Step {
            alias: format!("task::{}", inner.alias),
            vars: [defaults.clone(), inner.vars].concat(),
            ..inner
        }
    });
    Course {
        of: task,
        vars: Vec::new(),
        steps: steps.collect(),
        tasks: Vec::new(),
        not_given: Vec::new(),
        alone: true,
    }
}

impl<'s> Course<'s> {
    /// Puts a task's steps in the place of the step that names it, as a Promotion gets them.
    fn put(&mut self, outer: &Step<'s>, task: &'s Object<'s>) {
        let filled = |var: &Var<'_>| var.value.is_some_and(|value| value.text() != Some(""));
        let given =
            |vars: &[Var<'_>], name: &str| vars.iter().any(|var| var.name == name && filled(var));
        let mut around = Vec::new();
        for var in vars(task, task.node.get("spec"), "spec.") {
            if given(&self.vars, var.name) {
                continue;
            }
            if filled(&var) {
                around.push(var);
            } else if !given(&outer.vars, var.name) {
                self.not_given.push(NotGiven {
                    step: outer.clone(),
                    variable: var.name,
                    task: task.label(),
                });
                // So that it is said once, and not at every use too.
                around.push(var);
            }
        }
        around.extend(outer.vars.iter().cloned());
        self.tasks.push(outer.alias.clone());
        for (index, node) in task.steps().iter().enumerate() {
            let inner = step(task, index, node);
            self.steps.push(Step {
                alias: format!("{}::{}", outer.alias, inner.alias),
                vars: [around.clone(), inner.vars].concat(),
                ..inner
            });
        }
    }
}
