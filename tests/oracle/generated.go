package main

import (
	"encoding/json"
	"fmt"
)

func init() {
	commands["generated"] = generated
}

// generated gives values to expressions of another file, and writes the values without the expressions.
func generated(arguments []string) error {
	path := "/work/shared/peer/expr-generated.json"
	if len(arguments) > 0 {
		path = arguments[0]
	}
	var cases []struct {
		ID   string                     `json:"id"`
		Expr string                     `json:"expr"`
		Env  map[string]json.RawMessage `json:"env"`
		// Only []int matters here: other types are as JSON shows them.
		EnvTypes map[string]string `json:"envTypes"`
	}
	if err := load(path, &cases); err != nil {
		return err
	}
	records := make([]record, 0, len(cases))
	for _, given := range cases {
		env := map[string]any{}
		for name, text := range given.Env {
			value, err := decode(text)
			if err != nil {
				return fmt.Errorf("%s: %w", given.ID, err)
			}
			if given.EnvTypes[name] == "[]int" {
				value = ints(value.([]any))
			}
			env[name] = value
		}
		records = append(records, answer(record{}.with("id", given.ID), given.Expr, env))
	}
	fmt.Printf("%d values\n", len(records))
	return save("generated.json", records)
}

func ints(items []any) []int {
	whole := make([]int, len(items))
	for at, item := range items {
		whole[at] = item.(int)
	}
	return whole
}
