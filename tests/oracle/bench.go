package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/expr-lang/expr"
)

func init() { commands["bench"] = bench }

// bench prints nanoseconds for benches/expr: compiling and running each expression of the corpus
// that it is given, and rendering a template of 200 of them.
func bench(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("say which corpus")
	}
	content, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	var corpus struct {
		Env         json.RawMessage
		Expressions []string
	}
	if err := json.Unmarshal(content, &corpus); err != nil {
		return err
	}
	decoded, err := decode(corpus.Env)
	if err != nil {
		return err
	}
	names := decoded.(map[string]any)
	var text strings.Builder
	for at := range 200 {
		text.WriteString("line: ${% " + corpus.Expressions[at%len(corpus.Expressions)] + " %}\n")
	}
	all, err := mean(func() error {
		for _, source := range corpus.Expressions {
			program, err := expr.Compile(source)
			if err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
			if _, err := expr.Run(program, names); err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	whole, err := mean(func() error {
		_, err := render(text.String(), names)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("{\"expression\": %f, \"template\": %f}\n", all/float64(len(corpus.Expressions)), whole)
	return nil
}

// mean is the nanoseconds of a call, over calls that fill two seconds.
func mean(work func() error) (float64, error) {
	if err := work(); err != nil {
		return 0, err
	}
	begun, calls := time.Now(), 0
	for time.Since(begun) < 2*time.Second {
		if err := work(); err != nil {
			return 0, err
		}
		calls++
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(calls), nil
}
