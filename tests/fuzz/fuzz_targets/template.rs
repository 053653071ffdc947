//! Any text as a template: it is rendered, or says why not; text without expressions comes back as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use tidewaiter::expr::{
    Env, Host, HostError, Value, show,
    template::{eval_json, eval_json_hiding, eval_string, is_template},
};

/// `plain()` gives the text itself.
struct Texts(String);

impl Host for Texts {
    fn call(&self, name: &str, _: &[Value], _: &Env<'_>) -> Option<Result<Value, HostError>> {
        (name == "plain").then(|| Ok(Value::from(self.0.as_str())))
    }
}

fuzz_target!(|text: &str| {
    let texts = Texts(text.to_owned());
    let env = || {
        Env::new()
            .with_host(&texts)
            .with("s", Value::from(text))
            .with("n", Value::Int(7))
            .with(
                "m",
                Value::map([("k", Value::list(vec![Value::Float(0.5), Value::Nil]))]),
            )
    };

    // The text as a template.
    let whole = eval_string(text, &env());
    if !is_template(text) {
        assert_eq!(whole.as_ref().unwrap().value.as_str(), Some(text));
    }

    // In a configuration: the same, keys stay, and nothing is hidden where there are no secrets.
    let config = json!({ text: [text, 1, { "k": text }] });
    let rendered = eval_json(&config, &env());
    let shown = eval_json_hiding(&config, &env());
    match (&rendered, &shown) {
        (Ok(rendered), Ok(shown)) => {
            assert_eq!(rendered, shown);
            assert!(rendered.get(text).is_some());
        }
        (Err(_), Err(_)) => {}
        _ => panic!("{rendered:?} but {shown:?}"),
    }

    // The text as a result: typed by its look, never changed otherwise.
    let result = eval_string("${{ s }}", &env()).unwrap().value;
    let again = eval_string("${% plain() %}", &env()).unwrap().value;
    // As JSON: NaN is not equal to itself.
    assert_eq!(show::json(&result), show::json(&again));
    if let Some(result) = result.as_str() {
        // Between quotes it is the text between them, or, with space around it, a string of JSON.
        assert!(result == text || text.trim_start().starts_with('"'));
    }

    // Quoted it is text, and plain text is itself.
    let quoted = eval_string("${{ quote(s) }}", &env()).unwrap().value;
    let quoted = quoted.as_str().unwrap();
    if text
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\')
    {
        assert_eq!(quoted, text);
    }

    // Around an expression, everything is kept.
    if !is_template(text) && !text.ends_with("$") && !text.ends_with("${") {
        let around = eval_string(&format!("x{text}${{{{ 'y' }}}}{text}z"), &env());
        assert_eq!(
            around.unwrap().value.as_str(),
            Some(&*format!("x{text}y{text}z"))
        );
    }
});
