package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/Masterminds/semver/v3"
	"github.com/expr-lang/expr"
)

func init() { commands["versions"] = versions }

// versions evaluates versions.corpus.json with Kargo's functions on semantic versions, over the
// library that Kargo uses.
func versions([]string) error {
	content, err := os.ReadFile("versions.corpus.json")
	if err != nil {
		return err
	}
	var sources []string
	if err := json.Unmarshal(content, &sources); err != nil {
		return err
	}
	results := make([]record, 0, len(sources))
	for _, source := range sources {
		result := record{}.with("expr", source)
		text, err := version(source)
		if err != nil {
			result = result.with("error", err.Error())
		} else {
			result = result.with("json", text)
		}
		results = append(results, result)
	}
	return save("versions.json", results)
}

// version is an expression's result as JSON.
func version(source string) (string, error) {
	program, err := expr.Compile(
		source,
		expr.Function("semverParse", func(arguments ...any) (any, error) {
			return semver.NewVersion(arguments[0].(string))
		}, new(func(string) *semver.Version)),
		expr.Function("semverDiff", func(arguments ...any) (any, error) {
			return difference(arguments[0].(string), arguments[1].(string)), nil
		}, new(func(string, string) string)),
	)
	if err != nil {
		return "", err
	}
	result, err := expr.Run(program, map[string]any{})
	if err != nil {
		return "", err
	}
	made, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	return string(made), nil
}

// difference names the first part that differs.
func difference(left, right string) string {
	a, err := semver.NewVersion(left)
	if err != nil {
		return "Incomparable"
	}
	b, err := semver.NewVersion(right)
	if err != nil {
		return "Incomparable"
	}
	parts := []struct {
		name   string
		differ bool
	}{
		{"Major", a.Major() != b.Major()},
		{"Minor", a.Minor() != b.Minor()},
		{"Patch", a.Patch() != b.Patch()},
		{"Metadata", a.Metadata() != b.Metadata()},
	}
	for _, part := range parts {
		if part.differ {
			return part.name
		}
	}
	return "None"
}
