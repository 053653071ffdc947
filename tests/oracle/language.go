package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/expr-lang/expr"
)

func init() {
	commands["language"] = language
}

// A group is expressions about one thing. Each @NAME in them is replaced by every text of that slot.
type group struct {
	ID    string              `json:"id"`
	Env   string              `json:"env"`
	Exprs []string            `json:"exprs"`
	Slots map[string][]string `json:"slots"`
}

func language([]string) error {
	environments, err := environments("envs.json")
	if err != nil {
		return err
	}
	paths, err := filepath.Glob("corpus/*.json")
	if err != nil {
		return err
	}
	sort.Strings(paths)
	var records []record
	seen := map[string]bool{}
	for _, path := range paths {
		var groups []group
		if err := load(path, &groups); err != nil {
			return err
		}
		for _, group := range groups {
			if seen[group.ID] {
				return fmt.Errorf("%s: there are two groups %q", path, group.ID)
			}
			seen[group.ID] = true
			if _, known := environments[group.Env]; !known {
				return fmt.Errorf("%s: group %q names the unknown environment %q", path, group.ID, group.Env)
			}
			for at, source := range group.expressions() {
				id := fmt.Sprintf("%s/%d", group.ID, at+1)
				entry := record{}.with("id", id).with("expr", source).with("env", group.Env)
				records = append(records, answer(entry, source, environments[group.Env]))
			}
		}
	}
	fmt.Printf("%d expressions\n", len(records))
	return save("language.json", records)
}

func load(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// environments are the named sets of variables that expressions run with.
func environments(path string) (map[string]map[string]any, error) {
	var raw map[string]map[string]json.RawMessage
	if err := load(path, &raw); err != nil {
		return nil, err
	}
	all := map[string]map[string]any{"": {}}
	for name, variables := range raw {
		all[name] = map[string]any{}
		for variable, text := range variables {
			value, err := decode(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s.%s: %w", path, name, variable, err)
			}
			all[name][variable] = value
		}
	}
	return all, nil
}

var slot = regexp.MustCompile(`@[A-Z]+`)

func (g group) expressions() []string {
	var all []string
	for _, source := range g.Exprs {
		all = append(all, g.filled(source)...)
	}
	return all
}

func (g group) filled(source string) []string {
	name := slot.FindString(source)
	if name == "" {
		return []string{source}
	}
	var all []string
	for _, text := range g.Slots[name[1:]] {
		all = append(all, g.filled(strings.ReplaceAll(source, name, text))...)
	}
	return all
}

// answer compiles and runs as Kargo does, and adds what came of it.
func answer(entry record, source string, env map[string]any) record {
	program, err := expr.Compile(source)
	if err != nil {
		return entry.with("error", message(err)).with("stage", "compile")
	}
	value, err := expr.Run(program, env)
	if err != nil {
		return entry.with("error", message(err)).with("stage", "run")
	}
	return entry.with("type", kind(value)).with("value", value)
}

// message is what is wrong and where, without the drawing or the stack below.
func message(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
