//! What a plain scalar means to `sigs.k8s.io/yaml`, which Kargo reads with: YAML 1.1 as goyaml.v2 has it, and every
//! number a float, since it goes through JSON. Dates stay texts.

use crate::expr::Value;

/// The value of an untagged plain scalar.
pub fn meaning(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Nil,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
        text => number(text).map_or_else(|| Value::from(text), Value::Float),
    }
}

/// The number that a plain scalar is, if it is one: decimal, octal by a leading zero, hexadecimal, binary, a float.
pub fn number(text: &str) -> Option<f64> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    let plain = text.replace('_', "");
    whole(&plain).or_else(|| float(&plain))
}

fn whole(text: &str) -> Option<f64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(digits) = lower.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (2, digits)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (8, digits)
    } else if let Some(digits) = lower.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        (8, digits)
    } else {
        (10, lower.as_str())
    };
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()? as f64;
    Some(if negative { 0.0 - number } else { number })
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let like = unsigned.contains(|c: char| c.is_ascii_digit())
        && unsigned
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    like.then(|| text.parse().ok())?
}

/// What a number is called as a key.
pub fn key(number: f64) -> String {
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_they_mean_in_kargo() {
        let numbers = [
            ("1", 1.0),
            ("-12", -12.0),
            ("+3", 3.0),
            ("010", 8.0),
            ("0o10", 8.0),
            ("08", 8.0),
            ("0x1F", 31.0),
            ("0b101", 5.0),
            ("-0b1", -1.0),
            ("1_000", 1000.0),
            ("1.50", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-2", 0.01),
            ("18446744073709551615", 18_446_744_073_709_551_615.0),
            ("123456789012345678901234567890", 1.234_567_890_123_456_8e29),
        ];
        for (text, number) in numbers {
            assert_eq!(meaning(text), Value::Float(number), "{text}");
        }
        for text in [
            "1.2.3",
            "2001-01-01",
            "12:30",
            "1e",
            "e5",
            "0x",
            "0xG",
            "-",
            "+",
            ".",
            "1,5",
            "--1",
            "1d",
            "Null ",
            "nULL",
            "1+2",
            "<<",
            "inf",
            "nan",
            "_1",
            "=",
        ] {
            assert_eq!(meaning(text), Value::from(text), "{text}");
        }
        for (text, flag) in [
            ("yes", true),
            ("y", true),
            ("On", true),
            ("off", false),
            ("N", false),
            ("FALSE", false),
        ] {
            assert_eq!(meaning(text), Value::Bool(flag), "{text}");
        }
        assert!(meaning("~").is_nil() && meaning("").is_nil());
        assert!(matches!(meaning(".NaN"), Value::Float(float) if float.is_nan()));
        assert_eq!(meaning("-.inf"), Value::Float(f64::NEG_INFINITY));
    }
}
