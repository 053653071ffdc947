//! Kargo's own tables: `kargo-expr.json`.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::Value as Json;

use super::peer::{table, value};
use crate::expr::env::{Env, Host, HostError};
use crate::expr::kargo::{
    Artifact, Chart, Commit, Context, Freight, FreightView, Functions, Image, Lookups, Origin,
    Outcome, Scope, StepMeta, StepsView, Subscription, Var, step_metas, task,
};
use crate::expr::template;
use crate::expr::value::Value;

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// The objects that the source's fake API holds.
struct Objects<'c> {
    objects: &'c [Json],
    direct: bool,
}

impl Objects<'_> {
    fn find(&self, kind: &str, name: &str) -> Option<&Json> {
        self.objects
            .iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    fn data(&self, kind: &str, name: &str) -> Option<BTreeMap<String, String>> {
        let object = self.find(kind, name)?;
        let generic = object["metadata"]["labels"]["kargo.akuity.io/cred-type"] == "generic";
        if kind == "Secret" && !self.direct && !generic {
            return None;
        }
        let data = object["data"].as_object()?;
        Some(
            data.iter()
                .map(|(key, json)| {
                    let given = text(json);
                    let decoded = match kind {
                        "Secret" => base64::engine::general_purpose::STANDARD
                            .decode(given)
                            .map(|bytes| String::from_utf8(bytes).unwrap())
                            .unwrap(),
                        _ => given,
                    };
                    (key.clone(), decoded)
                })
                .collect(),
        )
    }
}

impl Lookups for Objects<'_> {
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("ConfigMap", name))
    }
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("Secret", name))
    }
    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("ConfigMap", name))
    }
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("Secret", name))
    }
    fn freight_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        let found = self.find("Freight", name);
        Ok(found.and_then(|freight| freight["status"].get("metadata").cloned()))
    }
    fn freight_status(&self, name: &str) -> Result<Option<Json>, HostError> {
        Ok(self
            .find("Freight", name)
            .map(|freight| freight["status"].clone()))
    }
    fn stage_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        let found = self.find("Stage", name);
        Ok(found.and_then(|stage| stage["status"].get("metadata").cloned()))
    }
}

fn origin(json: &Json) -> Origin {
    Origin {
        kind: text(&json["kind"]),
        name: text(&json["name"]),
    }
}

fn freight(json: &Json) -> Freight {
    Freight {
        origin: origin(&json["origin"]),
        commits: list(&json["commits"])
            .iter()
            .map(|json| Commit {
                repo_url: text(&json["repoURL"]),
                id: text(&json["id"]),
                ..Commit::default()
            })
            .collect(),
        images: list(&json["images"])
            .iter()
            .map(|json| Image {
                repo_url: text(&json["repoURL"]),
                tag: text(&json["tag"]),
                ..Image::default()
            })
            .collect(),
        charts: list(&json["charts"])
            .iter()
            .map(|json| Chart {
                repo_url: text(&json["repoURL"]),
                name: text(&json["name"]),
                version: text(&json["version"]),
                ..Chart::default()
            })
            .collect(),
        artifacts: list(&json["artifacts"])
            .iter()
            .map(|json| Artifact {
                subscription_name: text(&json["subscriptionName"]),
                version: text(&json["version"]),
                ..Artifact::default()
            })
            .collect(),
    }
}

fn subscription(json: &Json) -> Subscription {
    if let Some(git) = json.get("git") {
        return Subscription::Git {
            repo_url: text(&git["repoURL"]),
        };
    }
    if let Some(image) = json.get("image") {
        return Subscription::Image {
            repo_url: text(&image["repoURL"]),
        };
    }
    if let Some(chart) = json.get("chart") {
        return Subscription::Chart {
            repo_url: text(&chart["repoURL"]),
            name: text(&chart["name"]),
        };
    }
    Subscription::Other {
        name: text(&json["name"]),
    }
}

fn freight_view(requests: &Json, items: Vec<Freight>, objects: &[Json]) -> FreightView {
    FreightView {
        requested: list(requests)
            .iter()
            .map(|request| origin(&request["origin"]))
            .collect(),
        warehouses: objects
            .iter()
            .filter(|object| object["kind"] == "Warehouse")
            .map(|object| {
                let subscriptions = list(&object["spec"]["subscriptions"]);
                (
                    text(&object["metadata"]["name"]),
                    subscriptions.iter().map(subscription).collect(),
                )
            })
            .collect(),
        freight: items,
        ..FreightView::default()
    }
}

fn steps(alias: &Json, metas: &Json) -> StepsView {
    StepsView {
        current_alias: text(alias),
        metas: list(metas)
            .iter()
            .map(|json| StepMeta {
                alias: text(&json["alias"]),
                status: text(&json["status"]),
                continue_on_error: json["continueOnError"] == true,
                ..StepMeta::default()
            })
            .collect(),
    }
}

fn vars(json: &Json) -> Vec<Var> {
    list(json)
        .iter()
        .map(|json| Var {
            name: text(&json["name"]),
            value: text(&json["value"]),
        })
        .collect()
}

fn scope<'o>(case: &Json, lookups: &'o Objects<'o>) -> Scope<'o> {
    let context = &case["context"];
    let items = context["freight"]["items"].as_object();
    let items = items.into_iter().flatten().map(|(_, json)| freight(json));
    Scope {
        context: Context {
            project: text(&context["project"]),
            promotion: text(&context["promotion"]),
            stage: text(&context["stage"]),
            freight: text(&context["targetFreightRef"]["name"]),
            freight_warehouse: text(&context["targetFreightRef"]["origin"]["name"]),
            actor: text(&context["actor"]),
            ..Context::default()
        },
        promotion_vars: vars(&context["vars"]),
        step_vars: vars(&case["step"]["vars"]),
        outputs: context["state"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(alias, json)| (alias.clone(), value(json)))
            .collect(),
        steps: steps(&case["step"]["as"], &context["stepExecutionMetadata"]),
        target: None,
        freight: freight_view(
            &context["freightRequests"],
            items.collect(),
            lookups.objects,
        ),
        lookups,
        now: None,
    }
}

/// Numbers compare by value here: Go's JSON does not tell 42 from 42.0.
fn check_result(case: &Json, result: Result<Value, String>) -> Result<(), String> {
    let error = &case["error"];
    if !error.is_null() {
        let message = match result {
            Ok(value) => return Err(format!("no error but {value:?}")),
            Err(message) => message,
        };
        let missing = list(&error["contains"])
            .iter()
            .find(|part| !message.contains(part.as_str().unwrap()));
        return match missing {
            Some(part) => Err(format!("{message:?} lacks {part}")),
            None => Ok(()),
        };
    }
    let got = result?;
    for check in list(&case["checks"]) {
        check_part(&got, check)?;
    }
    if case["wantNotNull"] == true && got.is_nil() {
        return Err("nil".to_owned());
    }
    if case["wantEmpty"] == true {
        let json = got.to_json()?;
        let empty = json == Json::Object(serde_json::Map::new()) || json == "";
        return if empty {
            Ok(())
        } else {
            Err(format!("{json} is not empty"))
        };
    }
    match case.get("want") {
        Some(want) if Value::from_json(&got.to_json()?) != value(want) => {
            Err(format!("{got:?} instead of {want}"))
        }
        _ => Ok(()),
    }
}

fn check_part(got: &Value, check: &Json) -> Result<(), String> {
    let mut part = got.clone();
    for key in list(&check["at"]) {
        let key = key.as_str().unwrap();
        part = match &part {
            Value::Map(map) => map.get(key).cloned().unwrap_or(Value::Nil),
            Value::Record(record) => record.get(key).cloned().unwrap_or(Value::Nil),
            other => return Err(format!("{other:?} has no {key}")),
        };
    }
    let shown = part.as_str().unwrap_or_default().to_owned();
    let wanted = check["value"].as_str().unwrap_or_default();
    let holds = match check["op"].as_str().unwrap() {
        "equals" => part == value(&check["value"]),
        "contains" => shown.contains(wanted),
        "endsWith" => shown.ends_with(wanted),
        "jsonEquals" => {
            let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
            parse(&shown) == parse(wanted)
        }
        other => return Err(format!("unknown check {other}")),
    };
    if holds {
        Ok(())
    } else {
        Err(format!("{part:?} fails {check}"))
    }
}

fn template_case(case: &Json) -> Result<Value, String> {
    let mut env = Env::new();
    for (name, json) in case["env"].as_object().unwrap() {
        env.set(name, value(json));
    }
    let text = match case["template"].as_str() {
        Some(json) => json.to_owned(),
        None => {
            let yaml = case["yamlTemplate"].as_str().unwrap();
            let json: Json = serde_saphyr::from_str(yaml).unwrap();
            json.to_string()
        }
    };
    template::eval_json_text(&text, &env)
        .map(|json| Value::from_json(&json))
        .map_err(|why| why.full())
}

fn function_case(case: &Json) -> Result<Value, String> {
    let objects = Objects {
        objects: list(&case["objects"]),
        direct: case["hasDirectAccess"] == true,
    };
    let items = list(&case["freight"]).iter().map(freight).collect();
    let view = freight_view(&case["freightRequests"], items, objects.objects);
    let steps = steps(&case["currentStepAlias"], &case["stepExecutionMetadata"]);
    let functions = Functions::new(&view, &objects).with_steps(&steps);
    let arguments: Vec<Value> = list(&case["args"])
        .iter()
        .map(|json| match json.get("kind") {
            Some(_) => {
                let name = Value::from(text(&json["name"]));
                let env = Env::new();
                functions.call("warehouse", &[name], &env).unwrap().unwrap()
            }
            None => value(json),
        })
        .collect();
    let name = case["func"].as_str().unwrap();
    functions
        .call(name, &arguments, &Env::new())
        .unwrap()
        .map_err(|why| why.to_string())
}

fn scope_case(case: &Json, kind: &str) -> Result<Value, String> {
    fn open<T>(outcome: Outcome<T>) -> Result<T, String> {
        outcome.result.map_err(|why| why.full())
    }
    let objects = Objects {
        objects: list(&case["objects"]),
        direct: true,
    };
    let scope = scope(case, &objects);
    match kind {
        "vars" => open(scope.vars()),
        "step-config" => {
            open(scope.config(&case["step"]["config"])).map(|json| Value::from_json(&json))
        }
        _ => {
            let condition = case["step"]["if"].as_str();
            open(scope.should_run(condition)).map(|runs| Value::Bool(!runs))
        }
    }
}

/// The parts of the environment; `vars` and `outputs` go in as they are and prove nothing.
fn environment_case(case: &Json) -> Result<Value, String> {
    let objects = Objects {
        objects: &[],
        direct: true,
    };
    let mut scope = scope(case, &objects);
    // The table names these after two Go structs that hold the same.
    let given = |one: &Json, other: &Json| text(if one.is_null() { other } else { one });
    let context = &case["context"];
    scope.context.step_alias = given(&context["currentStepMetadata"]["alias"], &context["alias"]);
    scope.context.actor = given(&context["actor"], &context["promotionActor"]);
    scope.context.freight_alias = text(&context["targetFreightAlias"]);
    scope.context.ui_base_url = text(&context["uiBaseURL"]);
    scope.context.rollback = context["rollback"] == true;
    let mut environment = vec![("ctx", scope.context.to_value())];
    if let Some(target) = case["context"].get("target") {
        environment.push(("target", value(target)));
    }
    for option in list(&case["options"]) {
        let argument = &option["args"][0];
        match option["option"].as_str().unwrap() {
            "vars" => environment.push(("vars", value(argument))),
            "outputs" => environment.push(("outputs", value(argument))),
            "stepMetas" => {
                let metas = steps(&Json::Null, &argument["stepExecutionMetadata"]).metas;
                environment.push(("stepMetas", step_metas(&metas)));
            }
            "taskOutputs" => {
                let outputs = option["args"][1].as_object().into_iter().flatten();
                let outputs = outputs
                    .map(|(alias, json)| (alias.clone(), value(json)))
                    .collect();
                if let Some(task) = task(argument.as_str().unwrap(), &outputs) {
                    environment.push(("task", task));
                }
            }
            other => panic!("unknown option {other}"),
        }
    }
    Ok(Value::map(environment))
}

#[test]
fn kargo_table_holds() {
    let Some(cases) = table("kargo-expr.json") else {
        return;
    };
    let mut run = 0;
    let mut failures = Vec::new();
    for case in &cases {
        let kind = case["kind"].as_str().unwrap();
        let result = match kind {
            "json-template" => template_case(case),
            "function" => function_case(case),
            "vars" | "step-config" | "should-skip" => scope_case(case, kind),
            "env" => environment_case(case),
            // The engine's: what the orchestrator makes of steps, and the step context.
            "final-phase" | "step-context" => continue,
            other => panic!("unknown kind of case {other}"),
        };
        run += 1;
        if let Err(why) = check_result(case, result) {
            failures.push(format!("{}: {}\n    {why}", case["id"], case["name"]));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {run} cases differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!(run, 182);
}
