use super::*;
use crate::expr::program::parse;

fn told(source: &str) -> Vec<String> {
    let tell = |mention: Mention| {
        let mut text = mention.name.clone();
        if let Some(arguments) = &mention.call {
            let arguments: Vec<_> = arguments
                .iter()
                .map(|text| text.clone().unwrap_or("?".into()))
                .collect();
            text.push_str(&format!("({})", arguments.join(",")));
        }
        for member in &mention.path {
            text.push_str(if member.optional { "?." } else { "." });
            text.push_str(
                member
                    .name
                    .as_deref()
                    .unwrap_or(if member.cut { ":" } else { "*" }),
            );
            text.push_str(if member.method { "()" } else { "" });
        }
        text.push_str(if mention.defaulted { " defaulted" } else { "" });
        text.push_str(if mention.conditional {
            " conditional"
        } else {
            ""
        });
        text
    };
    parse(source)
        .unwrap()
        .mentions()
        .into_iter()
        .map(tell)
        .collect()
}

#[test]
fn names_and_calls_with_their_paths() {
    for (source, expected) in [
        ("outputs.a.b", vec!["outputs.a.b"]),
        (r#"outputs["my-step"]["c"]"#, vec!["outputs.my-step.c"]),
        (
            "outputs.a?.b.c ?? vars.d",
            vec!["outputs.a?.b?.c defaulted", "vars.d conditional"],
        ),
        ("outputs[vars.x].y", vec!["vars.x", "outputs.*.y"]),
        (
            r#"imageFrom("r", warehouse("w")).Tag[:7]"#,
            vec!["warehouse(w)", "imageFrom(r,?).Tag.:"],
        ),
        ("let a = vars.b; a.c + d", vec!["vars.b", "d"]),
        (
            "filter(outputs.x.list, .name == vars.n)",
            vec!["outputs.x.list", "vars.n"],
        ),
        (
            "always() && status('p') == 'x' ? outputs.p.y : ''",
            vec![
                "always()",
                "status(p) conditional",
                "outputs.p.y conditional",
            ],
        ),
        (
            "semverParse(vars.v).Major()",
            vec!["vars.v", "semverParse(?).Major()"],
        ),
    ] {
        assert_eq!(told(source), expected, "{source}");
    }
}

#[test]
fn every_function_of_the_tables_is_there() {
    use crate::expr::env::{Env, Host};
    use crate::expr::kargo::{FreightView, Functions, NoLookups, StepsView};
    let (freight, steps) = (FreightView::default(), StepsView::default());
    let functions = Functions::new(&freight, &NoLookups).with_steps(&steps);
    for name in FUNCTIONS
        .iter()
        .chain(&STEP_FUNCTIONS)
        .filter(|name| **name != "$env")
    {
        assert!(functions.call(name, &[], &Env::new()).is_some(), "{name}");
    }
    for name in TEXT_FUNCTIONS {
        assert!(
            crate::expr::template::functions::call(name, &[]).is_some(),
            "{name}"
        );
    }
    assert!(builtin_names().any(|name| name == "trimPrefix"));
}
