package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"go.yaml.in/yaml/v3"
)

func init() { commands["templates"] = templates }

// templates evaluates templates/*.json by Kargo's rules for text with expressions in it, over the
// engine, the number parser and the encoders that Kargo uses.
func templates([]string) error {
	files, err := filepath.Glob("templates/*.json")
	if err != nil {
		return err
	}
	var results []record
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var rows []struct {
			ID       string
			Template string
			Env      json.RawMessage
		}
		if err := json.Unmarshal(content, &rows); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, row := range rows {
			result := record{}.with("id", row.ID).with("template", row.Template)
			names := map[string]any{}
			if row.Env != nil {
				var env bytes.Buffer
				if err := json.Compact(&env, row.Env); err != nil {
					return fmt.Errorf("%s: %w", row.ID, err)
				}
				result = append(result, field{"env", env.String()})
				decoded, err := decode(row.Env)
				if err != nil {
					return fmt.Errorf("%s: %w", row.ID, err)
				}
				names = decoded.(map[string]any)
			}
			value, err := render(row.Template, names)
			if err != nil {
				results = append(results, result.with("error", err.Error()))
				continue
			}
			result = result.with("type", kind(value)).with("value", value)
			// What a step's configuration could not be written with.
			if _, err := json.Marshal(value); err != nil {
				result = result.with("unwritable", err.Error())
			}
			results = append(results, result)
		}
	}
	return save("templates.json", results)
}

// closers are the ends of expressions by what starts them.
var closers = map[string]string{"${{": "}}", "${%": "%}"}

// opening finds the first start of an expression; -1 where there is none.
func opening(text string) int {
	for at := range text {
		if at+3 <= len(text) && closers[text[at:at+3]] != "" {
			return at
		}
	}
	return -1
}

// render is a templated text's typed value. A text without expressions is itself.
func render(template string, names map[string]any) (any, error) {
	if opening(template) < 0 {
		return template, nil
	}
	var whole strings.Builder
	rest := template
	for at := opening(rest); at >= 0; at = opening(rest) {
		closer := closers[rest[at:at+3]]
		source, after, closed := strings.Cut(rest[at+3:], closer)
		if !closed {
			return nil, fmt.Errorf("unclosed expression: expected %q", closer)
		}
		whole.WriteString(rest[:at])
		rest = after
		if source == "" {
			// Taken for the end of all expressions.
			break
		}
		text, err := spliced(source, names)
		if err != nil {
			return nil, err
		}
		whole.WriteString(text)
	}
	whole.WriteString(rest)
	return retyped(whole.String()), nil
}

// spliced is an expression's result as it stands in the text.
func spliced(source string, names map[string]any) (string, error) {
	text := new(func(any) string)
	program, err := expr.Compile(
		source,
		expr.Function("quote", one(quote), text),
		expr.Function("unsafeQuote", one(wrapped), text),
		expr.Function("asYAML", one(func(value any) (any, error) {
			made, err := yaml.Marshal(value)
			return `"` + string(made) + `"`, err
		}), text),
		expr.Function("asJSON", one(func(value any) (any, error) {
			made, err := json.MarshalIndent(value, "", "  ")
			return `"` + string(made) + "\n\"", err
		}), text),
	)
	if err != nil {
		return "", err
	}
	result, err := expr.Run(program, names)
	if err != nil {
		return "", err
	}
	if already, is := result.(string); is {
		return already, nil
	}
	made, err := json.Marshal(result)
	return string(made), err
}

func one(of func(any) (any, error)) func(...any) (any, error) {
	return func(arguments ...any) (any, error) { return of(arguments[0]) }
}

func quote(value any) (any, error) {
	if text, is := value.(string); is {
		return strconv.Quote(text), nil
	}
	return wrapped(value)
}

func wrapped(value any) (any, error) {
	made, err := json.Marshal(value)
	return `"` + string(made) + `"`, err
}

// retyped gives a finished text its type: quoted, number, bool, JSON, and else text.
func retyped(text string) any {
	body, newline := strings.CutSuffix(text, "\n")
	if inner, begins := strings.CutPrefix(body, `"`); begins {
		if inner, ends := strings.CutSuffix(inner, `"`); ends {
			if newline {
				inner += "\n"
			}
			return inner
		}
	}
	if number, err := strconv.ParseFloat(body, 64); err == nil {
		return number
	}
	if flag, err := strconv.ParseBool(body); err == nil {
		return flag
	}
	var parsed any
	if json.Unmarshal([]byte(body), &parsed) == nil {
		return parsed
	}
	return text
}
