//! Goes through every text of a course that may hold expressions: variables, conditions, configurations.

use std::collections::BTreeMap;

use super::{
    codes::Code,
    config,
    course::{Course, Step, Var},
    finding::{Finding, Report},
    kinds::{self, Raw},
    names, order,
    source::{Content, Node},
    values,
    whole::At,
};
use crate::{
    engine::{shape::Shape, step::Registry},
    expr::{
        self, Program, Span,
        reading::Mention,
        template::{self, Piece},
    },
    steps::BuiltIn,
};

/// What a text is for: decides what its expressions see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A variable of the Stage or of its template.
    PromotionVar,
    /// A variable of a step or a task.
    StepVar,
    /// A step's `if`.
    Condition,
    /// A step's `config`.
    Config,
    /// A field of `config` that is an expression without delimiters.
    Raw(Raw),
}

/// A variable that is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'s> {
    /// Its text, where that has no expressions.
    pub text: Option<&'s str>,
    /// A secret goes into it.
    pub secret: bool,
}

/// The variables so far.
pub type Vars<'s> = BTreeMap<&'s str, Known<'s>>;

/// One text.
pub struct Site<'a, 's> {
    /// The steps around it.
    pub course: &'a Course<'s>,
    /// Whose text it is; none for the Promotion's variables.
    pub step: Option<usize>,
    /// What it is for.
    pub place: Place,
    /// Which object, step and field.
    pub at: At<'a, 's>,
    /// The text.
    pub node: &'s Node,
    /// The variables that it sees.
    pub vars: &'a Vars<'s>,
}

/// One expression of a text.
pub struct Part<'t> {
    /// Without delimiters.
    pub text: &'t str,
    /// Where it begins in the text, in bytes.
    pub offset: usize,
    /// Parsed.
    pub program: Program,
    /// It is all there is.
    pub alone: bool,
}

impl<'a, 's> Site<'a, 's> {
    /// The step.
    pub fn step(&self) -> Option<&'a Step<'s>> {
        self.course.steps.get(self.step?)
    }

    /// Says something about these bytes of the text.
    pub fn finding(
        &self,
        offset: usize,
        code: Code,
        message: String,
        hint: impl Into<String>,
    ) -> Finding {
        let at = At {
            place: self.at.object.source.place_in(self.node, offset),
            ..self.at.clone()
        };
        at.finding(code, message, hint)
    }

    /// The same about a part of an expression.
    pub fn about(
        &self,
        part: &Part<'_>,
        span: Span,
        code: Code,
        message: String,
        hint: impl Into<String>,
    ) -> Finding {
        self.finding(part.offset + span.start, code, message, hint)
    }
}

/// Everything in the course.
pub fn check(course: &Course<'_>, registry: &BuiltIn, report: &mut Report) {
    let mut vars = Vars::new();
    for var in &course.vars {
        let known = variable(course, None, var, &vars, report);
        vars.insert(var.name, known);
    }
    for (index, step) in course.steps.iter().enumerate() {
        if step.opaque {
            continue;
        }
        let mut vars = vars.clone();
        for var in &step.vars {
            let known = variable(course, Some(index), var, &vars, report);
            vars.insert(var.name, known);
        }
        let at = |field: &str| At {
            object: step.object,
            via: course.of,
            step: &step.alias,
            field: format!("{}.{field}", step.field),
            place: super::source::Place::default(),
        };
        if let Some(node) = step.condition() {
            let site = Site {
                course,
                step: Some(index),
                place: Place::Condition,
                at: at("if"),
                node,
                vars: &vars,
            };
            let parts = parts(&site, report);
            for part in &parts {
                names::check(&site, part, report);
            }
            order::condition(&site, &parts, report);
        }
        if let Some(node) = step.config() {
            let shape = registry
                .find(&step.uses().into())
                .map_or(Shape::Any, |kind| kind.shape());
            let walk = Walk {
                course,
                index,
                step,
                vars: &vars,
                shape: &shape,
            };
            walk.node(node, &mut Vec::new(), &at, report);
        }
    }
}

struct Walk<'a, 's> {
    course: &'a Course<'s>,
    index: usize,
    step: &'a Step<'s>,
    vars: &'a Vars<'s>,
    shape: &'a Shape,
}

impl<'a, 's> Walk<'a, 's> {
    fn node(
        &self,
        node: &'s Node,
        way: &mut Vec<String>,
        at: &dyn Fn(&str) -> At<'a, 's>,
        report: &mut Report,
    ) {
        match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    way.push(index.to_string());
                    self.node(item, way, at, report);
                    way.pop();
                }
            }
            Content::Map(entries) => {
                for entry in entries {
                    way.push(entry.name.clone());
                    self.node(&entry.value, way, at, report);
                    way.pop();
                }
            }
            Content::Scalar { .. } => {
                if let Some(text) = node.text() {
                    self.text(
                        node,
                        text,
                        way,
                        at(&format!("config.{}", way.join("."))),
                        report,
                    );
                }
            }
        }
    }

    fn text(
        &self,
        node: &'s Node,
        text: &str,
        way: &[String],
        at: At<'a, 's>,
        report: &mut Report,
    ) {
        let raw = kinds::raw(self.step.uses(), way).filter(|_| !template::is_template(text));
        let site = Site {
            course: self.course,
            step: Some(self.index),
            place: raw.map_or(Place::Config, Place::Raw),
            at,
            node,
            vars: self.vars,
        };
        if raw.is_some() {
            if let Some(part) = parse(&site, text, 0, true, report) {
                names::check(&site, &part, report);
            }
            return;
        }
        let parts = parts(&site, report);
        let secret = parts
            .iter()
            .any(|part| values::takes_secret(part, self.vars));
        if secret && kinds::is_shown(self.step.uses(), way) {
            report.add(values::shown(&site));
        }
        let shape = config::shape_of(self.shape, way);
        values::retyped(&site, &parts, shape, report);
        values::quoted_inside(&site, &parts, report);
        for part in &parts {
            names::check(&site, part, report);
            order::commit_ids(&site, part, report);
        }
    }
}

fn variable<'s>(
    course: &Course<'s>,
    step: Option<usize>,
    var: &Var<'s>,
    vars: &Vars<'s>,
    report: &mut Report,
) -> Known<'s> {
    let Some((node, text)) = var.value.and_then(|node| Some((node, node.text()?))) else {
        return Known::default();
    };
    // What a task's own variable is in is the task, whatever step it is evaluated for.
    let alias = step
        .and_then(|step| course.steps.get(step))
        .map_or("", |step| &*step.alias);
    let site = Site {
        course,
        step,
        place: if step.is_some() {
            Place::StepVar
        } else {
            Place::PromotionVar
        },
        at: At {
            object: var.object,
            via: course.of,
            step: alias,
            field: var.field.clone(),
            place: super::source::Place::default(),
        },
        node,
        vars,
    };
    let parts = parts(&site, report);
    values::retyped(&site, &parts, None, report);
    values::quoted_inside(&site, &parts, report);
    for part in &parts {
        names::check(&site, part, report);
    }
    Known {
        text: (!template::is_template(text)).then_some(text),
        secret: parts.iter().any(|part| values::takes_secret(part, vars)),
    }
}

/// The expressions of a text; what is wrong with its delimiters and their syntax is said.
fn parts<'s>(site: &Site<'_, 's>, report: &mut Report) -> Vec<Part<'s>> {
    let text = site.node.text().unwrap_or_default();
    let pieces = template::pieces(text);
    let alone = matches!(
        pieces.as_slice(),
        [Piece::Expression { .. }] | [Piece::Expression { .. }, Piece::Text("\n")]
    );
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(_) => {}
            Piece::Expression { text, at } => parts.extend(parse(site, text, at, alone, report)),
            Piece::Empty { at } => report.add(site.finding(
                at,
                Code::ExpressionEmpty,
                "an expression without content: what follows it is taken as it is".to_owned(),
                "write an expression, or take the delimiters out",
            )),
            Piece::Unclosed { at, end } => report.add(site.finding(
                at,
                Code::ExpressionUnclosed,
                format!("the expression has no end: {end} is missing"),
                "an expression ends with the first }} behind ${{, or with %} behind ${%",
            )),
        }
    }
    parts
}

fn parse<'t>(
    site: &Site<'_, '_>,
    text: &'t str,
    offset: usize,
    alone: bool,
    report: &mut Report,
) -> Option<Part<'t>> {
    match expr::parse(text) {
        Ok(program) => Some(Part {
            text,
            offset,
            program,
            alone,
        }),
        Err(error) => {
            let cut = site.place != Place::Config || !text.contains('{');
            let hint = if cut {
                ""
            } else {
                "an expression that has }} in it is written between ${% and %}"
            };
            let message = format!(
                "the expression {:?} does not parse: {}",
                text.trim(),
                error.message
            );
            report.add(site.finding(
                offset + error.span.start,
                Code::ExpressionSyntax,
                message,
                hint,
            ));
            None
        }
    }
}

/// All mentions of a text's expressions.
pub fn mentions(parts: &[Part<'_>]) -> Vec<Mention> {
    parts
        .iter()
        .flat_map(|part| part.program.mentions())
        .collect()
}
