//! Numbers and bools as Go's `strconv` reads and writes them.

/// A number as written in an expression.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Literal {
    Int(i64),
    Float(f64),
}

/// Reads a number token. `Err` is the message.
pub(in super::super) fn literal(token: &str) -> Result<Literal, String> {
    let text = token.replace('_', "");
    let lower = text.to_ascii_lowercase();
    let int = |digits: &str, radix: u32, what: &str| {
        i64::from_str_radix(digits, radix)
            .map(Literal::Int)
            .map_err(|why| {
                let reason = match why.kind() {
                    std::num::IntErrorKind::PosOverflow => "value out of range",
                    _ => "invalid syntax",
                };
                format!("invalid {what} literal: strconv.ParseInt: parsing {text:?}: {reason}")
            })
    };
    if let Some(digits) = lower.strip_prefix("0x") {
        return int(digits, 16, "hex");
    }
    if lower.contains(['.', 'e']) {
        let plain = lower
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.e".contains(c));
        return match text.parse::<f64>() {
            Ok(number) if plain && number.is_finite() => Ok(Literal::Float(number)),
            Ok(_) if plain => Err(format!(
                "invalid float literal: strconv.ParseFloat: parsing {text:?}: value out of range"
            )),
            _ => Err(format!(
                "invalid float literal: strconv.ParseFloat: parsing {text:?}: invalid syntax"
            )),
        };
    }
    if let Some(digits) = lower.strip_prefix("0b") {
        return int(digits, 2, "binary");
    }
    if let Some(digits) = lower.strip_prefix("0o") {
        return int(digits, 8, "octal");
    }
    int(&text, 10, "integer")
}

/// `math.Pow`: whole exponents by squaring and the rest by logarithm, as Go does, because a library's
/// power differs in the last digit.
pub(in super::super) fn power(base: f64, exponent: f64) -> f64 {
    let (size, special) = (exponent.abs(), exponent == 0.0 || base == 1.0);
    let fraction = size.fract();
    if special || !base.is_normal() || size >= 1e15 || (fraction != 0.0 && base < 0.0) {
        return base.powf(exponent);
    }
    if size == 0.5 {
        let root = base.sqrt();
        return if exponent < 0.0 { 1.0 / root } else { root };
    }
    let mut left = size.floor();
    let mut product = 1.0_f64;
    if fraction != 0.0 {
        let mut part = fraction;
        if part > 0.5 {
            part -= 1.0;
            left += 1.0;
        }
        product = (part * base.ln()).exp();
    }
    let (mut square, mut square_scale) = split(base);
    let mut scale = 0_i64;
    while left > 0.0 {
        // Beyond any exponent that a float has: the result is zero or infinite by now.
        if square_scale.abs() > 1 << 12 {
            scale += square_scale;
            break;
        }
        if left % 2.0 != 0.0 {
            product *= square;
            scale += square_scale;
        }
        square *= square;
        square_scale *= 2;
        if square < 0.5 {
            square += square;
            square_scale -= 1;
        }
        left = (left / 2.0).floor();
    }
    if exponent < 0.0 {
        product = 1.0 / product;
        scale = -scale;
    }
    scaled(product, scale)
}

/// A normal number as a fraction of at least a half and a power of two.
fn split(number: f64) -> (f64, i64) {
    let bits = number.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1022;
    let fraction = f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52);
    (fraction, exponent)
}

/// `number * 2^scale`, rounded once.
fn scaled(number: f64, scale: i64) -> f64 {
    let power = |scale: i64| {
        let biased = u64::try_from(scale + 1023).unwrap_or(0).min(0x7ff);
        f64::from_bits(biased << 52)
    };
    match scale {
        1025.. => number * f64::INFINITY,
        1024 => number * 2.0 * power(1023),
        -1022..=1023 => number * power(scale),
        -1140..=-1023 => number * power(scale + 120) * power(-120),
        _ => number * 0.0,
    }
}

/// `strconv.ParseFloat(text, 64)`: also hex floats, underscores between digits, `Inf`, `NaN`.
/// `None` where Go reports an error, which includes numbers beyond the range.
pub(in super::super) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let lower = unsigned.to_ascii_lowercase();
    if lower == "inf" || lower == "infinity" {
        return Some(sign * f64::INFINITY);
    }
    if lower == "nan" {
        return (unsigned.len() == text.len()).then_some(f64::NAN);
    }
    if !underscores_separate_digits(&lower) {
        return None;
    }
    let digits = lower.replace('_', "");
    if let Some(hex) = digits.strip_prefix("0x") {
        return parse_hex_float(hex).map(|number| sign * number);
    }
    if !digits
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.e".contains(c))
    {
        return None;
    }
    // The sign was taken off: a second one is not Go's syntax.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number: f64 = digits.parse().ok()?;
    number.is_finite().then_some(sign * number)
}

fn underscores_separate_digits(lower: &str) -> bool {
    let (hex, mut digit_before, body) = match lower.strip_prefix("0x") {
        Some(body) => (true, true, body),
        None => (false, false, lower),
    };
    let mut underscore_before = false;
    for c in body.chars() {
        let digit = c.is_ascii_digit() || (hex && c.is_ascii_hexdigit());
        if c == '_' {
            if !digit_before {
                return false;
            }
            (digit_before, underscore_before) = (false, true);
            continue;
        }
        if underscore_before && !digit {
            return false;
        }
        (digit_before, underscore_before) = (digit, false);
    }
    !underscore_before
}

/// What follows `0x`; the exponent is mandatory.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if exponent_digits.is_empty() || !exponent_digits.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = exponent
        .parse::<i64>()
        .unwrap_or(if exponent.starts_with('-') {
            -100_000
        } else {
            100_000
        })
        .clamp(-100_000, 100_000);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0.0_f64;
    for c in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(c.to_digit(16)?);
    }
    let shift = exponent - 4 * i64::try_from(fraction.len()).ok()?;
    // In two halves, so that neither factor leaves the range before the product does.
    let half = i32::try_from(shift / 2).ok()?;
    let rest = i32::try_from(shift - shift / 2).ok()?;
    let number = number * 2.0_f64.powi(half) * 2.0_f64.powi(rest);
    number.is_finite().then_some(number)
}

/// `strconv.ParseBool`.
pub(in super::super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// `encoding/json`'s form of a finite float.
pub(in super::super) fn json_float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{number}");
    }
    exponential(number, 1)
}

/// `%v` of a float.
pub(in super::super) fn print_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let shortest = format!("{number:e}");
    let exponent: i32 = shortest
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    // Without a precision Go changes to exponents early: 1000000.0 prints as 1e+06.
    if !(-4..6).contains(&exponent) {
        return exponential(number, 2);
    }
    format!("{number}")
}

fn exponential(number: f64, exponent_digits: usize) -> String {
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>exponent_digits$}")
}
